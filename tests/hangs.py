"""What never ends fails, where the system has alarms, and does not hold up all that comes after."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 20
"""Seconds for one input. This is no measure of speed: what ends at all does so in milliseconds."""


class Hang(BaseException):
    """Raised in what runs too long. The parser would take an `Exception` for a bug of its own."""


def _raise(signum: int, frame: object) -> None:
    raise Hang(f"still running after {LONGEST} seconds")


@contextmanager
def no_hang() -> Iterator[None]:
    """Raise `Hang` in a body that takes over `LONGEST` seconds; one in another does nothing."""
    alarms = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    if not alarms or signal.getsignal(signal.SIGALRM) is _raise:
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
