"""What never ends fails, where the system has alarms, and does not hold up all that comes after.

An alarm counts the seconds that the processor works for this process, so none is false where the
machine has much else to do. What waits for what never comes takes no such seconds: a second alarm
counts those of the clock, many more.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 20
"""Seconds for one input. This is no measure of speed: what ends at all does so in milliseconds."""
WAITS = 30
"""So many times as long may it take by the clock, beside other programs."""


class Hang(BaseException):
    """Raised in what runs too long. The parser would take an `Exception` for a bug of its own."""


def _raise(signum: int, frame: object) -> None:
    waits = signum == signal.SIGALRM
    raise Hang(f"still {'waiting' if waits else 'running'} after {LONGEST * WAITS**waits} seconds")


@contextmanager
def no_hang() -> Iterator[None]:
    """Raise `Hang` in a body that takes over `LONGEST` seconds; one in another does nothing."""
    alarms = hasattr(signal, "SIGPROF") and threading.current_thread() is threading.main_thread()
    if not alarms or signal.getsignal(signal.SIGPROF) is _raise:
        yield
        return
    before = {signum: signal.signal(signum, _raise) for signum in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    signal.setitimer(signal.ITIMER_REAL, LONGEST * WAITS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for signum, handler in before.items():
            signal.signal(signum, handler or signal.SIG_DFL)
