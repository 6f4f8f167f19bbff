"""Try targets on inputs that reach new code, with atheris.

    python fuzz/coverage_guided.py --seconds 60     the guided half of `fuzz.py`

An input is bytes, and hypothesis draws the arguments of a property from them. Inputs that reach new
code are kept in .fuzz/corpus/ for the next run. Each target has its own process, and the least
recently run target is first. Hypothesis keeps failing inputs as usual. Inputs that kill the process
are kept in .fuzz/ as bytes, and replayed by `--redo`.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from fuzz_targets import KEPT, ROOT, Target, find

CORPUS = KEPT / "corpus"
LOG = KEPT / "coverage_guided.log"
TURN = 3
"""Minimum seconds for a target, which starts with the inputs of earlier runs."""
LEAST = 10
"""Minimum seconds for a run, since instrumenting the package takes some."""
SEEDS, SEED_SIZE = 8, 1024
NEVER = 1_000_000
"""More seconds than any input takes."""
FAILED = 3
"""The exit status of a process with a failed target."""


class Run(NamedTuple):
    """The result of one target: inputs, seconds, and the reason of an abnormal exit."""

    name: str
    tried: int
    seconds: float
    ended: str


def is_possible() -> bool:
    """Return True if atheris is installed."""
    return find_spec("atheris") is not None


def raw(name: str = "*") -> list[Path]:
    """Return the inputs that killed the process of a target, or of any target."""
    return sorted(KEPT.glob(f"{name}.raw-*"))


def guided(seconds: float, match: str, *, redo: bool = False) -> list[Run]:
    """Run this module in another process, which instruments the package."""
    KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, LOG.open("w") as log:
        report = Path(folder) / "report.json"
        command = [sys.executable, __file__, "--seconds", str(seconds), "--match", match]
        command += ["--json", str(report), *["--redo"] * redo]
        done = subprocess.run(command, stdout=log, stderr=log, check=False)
        if done.returncode:
            raise SystemExit(f"fuzz/coverage_guided.py failed; see {LOG.relative_to(ROOT)}")
        return [Run(*row) for row in json.loads(report.read_text(encoding="utf-8"))]


def explore(found: list[Target], end: float) -> list[Run]:
    """Run the targets in turns until the time is over, least recently run first."""
    random.shuffle(found)
    found.sort(key=_last_turn)
    runs = []
    for at, target in enumerate(found):
        left = end - time.monotonic()
        if left < TURN / 2:
            break
        runs.append(_turn(target, max(TURN, int(left / (len(found) - at)))))
    return runs


def _last_turn(target: Target) -> float:
    folder = CORPUS / target.name
    return folder.stat().st_mtime if folder.is_dir() else 0


def _turn(target: Target, seconds: int) -> Run:
    """Run a target, starting with the kept inputs."""
    corpus = CORPUS / target.name
    if not corpus.is_dir():
        corpus.mkdir(parents=True)
        for at in range(SEEDS):
            (corpus / f"seed{at}").write_bytes(random.randbytes(SEED_SIZE))
    os.utime(corpus)
    limit = f"-max_total_time={max(1, seconds - 1)}"  # libFuzzer stops after the end of the second
    return _run(target, [limit, "-max_len=4096", "-len_control=0"], corpus)


def redo(found: list[Target]) -> list[Run]:
    """Replay inputs that killed the process, and delete the ones that no longer do."""
    runs = []
    for target in found:
        for path in raw(target.name):
            run = _run(target, [], path)
            if not run.ended:
                path.unlink()
            runs.append(run)
    return runs


def _run(target: Target, options: list[str], inputs: Path) -> Run:
    """Run libFuzzer in a forked process, where the package is already instrumented."""
    tried = mmap.mmap(-1, 8)  # shared with the child
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        _fuzz(target, [*options, str(inputs)], tried)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended = {0: "", FAILED: "failed under coverage guidance (--redo shows the failure)"}
    how = ended.get(code, f"its process was killed under coverage guidance, exit status {code}")
    return Run(target.name, int.from_bytes(tried[:8], "big"), time.monotonic() - start, how)


def _fuzz(target: Target, options: list[str], tried: mmap.mmap) -> NoReturn:
    """Run the target with libFuzzer in the child process, and exit."""
    import atheris

    one_input = target.one_input()

    def counted(data: bytes) -> None:
        code = None
        try:
            one_input(data)
        except pytest.skip.Exception:
            code = 0  # a required package is not installed
        except BaseException:  # noqa: BLE001 - hypothesis has kept it
            code = FAILED
        tried[:8] = target.tried.to_bytes(8, "big")
        if code is not None:
            os._exit(code)

    # Our own alarm reports hangs. libFuzzer's alarm would kill the process without an example. It
    # counts wall-clock time, and 0 does not disable it.
    limits = [f"-timeout={NEVER}", f"-report_slow_units={NEVER}", "-rss_limit_mb=2048"]
    limits.append(f"-artifact_prefix={KEPT / target.name}.raw-")
    atheris.Setup([sys.argv[0], "-verbosity=0", *limits, *options], counted)
    atheris.Fuzz()
    os._exit(0)


def arguments(about: str | None) -> argparse.ArgumentParser:
    """Return the arguments shared by both programs. `about` is the docstring of the program."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0] if about else None)
    parser.add_argument(
        "--seconds", type=float, default=60, help="run for this many seconds (default: 60)"
    )
    parser.add_argument("--redo", action="store_true", help="replay the kept inputs")
    parser.add_argument(
        "--match", default="", help="run only targets with this text in their names"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser


def main() -> int:
    """Run, and write the figures of each target."""
    options = arguments(__doc__).parse_args()
    end = time.monotonic() + options.seconds
    import atheris

    with atheris.instrument_imports(include=["deltaparse"]):
        found = find(options.match)
    runs = redo(found) if options.redo else explore(found, end)
    if options.json:
        options.json.write_text(json.dumps(runs), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
