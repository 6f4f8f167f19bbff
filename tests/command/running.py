"""The command as a separate process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def as_process(*argv, env=None, **options):
    """Run the command in a separate process with the same import path."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A shell ignores SIGINT for background jobs, and child processes inherit this.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"}
    names = ("NO_COLOR", "FORCE_COLOR")
    inherited = {key: value for key, value in os.environ.items() if key not in names}
    return subprocess.Popen(
        [sys.executable, "-m", "deltaparse", *argv],
        env=inherited | paths | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )
