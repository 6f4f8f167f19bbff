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
LONGEST_TEST = 500
"""Seconds for one test, which may try many inputs. Hypothesis takes 300 to make one small."""
WAITS, TEST_WAITS = 30, 3
"""So many times as long may they take by the clock, beside other programs."""


class Hang(BaseException):
    """Raised in what runs too long. The parser would take an `Exception` for a bug of its own."""


def _raise(signum: int, frame: object) -> None:
    raise Hang("still waiting" if signum == signal.SIGALRM else "still running")


@contextmanager
def no_hang() -> Iterator[None]:
    """Raise `Hang` in a body that takes over `LONGEST` seconds."""
    with _alarms(LONGEST, WAITS):
        yield


@contextmanager
def no_hanging_test() -> Iterator[None]:
    """Raise `Hang` in a test that takes over `LONGEST_TEST` seconds.

    It is raised again in what goes on then: Hypothesis tries an input again that fails.
    """
    with _alarms(LONGEST_TEST, TEST_WAITS, again=LONGEST):
        yield


@contextmanager
def _alarms(seconds: float, waits: float, *, again: float = 0) -> Iterator[None]:
    """Have both alarms in a body; those of a body round it wait until this one is over."""
    if not hasattr(signal, "SIGPROF") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {signum: signal.signal(signum, _raise) for signum in (signal.SIGPROF, signal.SIGALRM)}
    left = {
        signal.ITIMER_PROF: signal.setitimer(signal.ITIMER_PROF, seconds, again),
        signal.ITIMER_REAL: signal.setitimer(signal.ITIMER_REAL, seconds * waits, again * waits),
    }
    try:
        yield
    finally:
        for timer in left:
            signal.setitimer(timer, 0)
        for signum, handler in before.items():
            signal.signal(signum, handler or signal.SIG_DFL)
        for timer, times in left.items():
            signal.setitimer(timer, *times)
