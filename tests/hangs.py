"""Alarms that make endless code fail instead of blocking later tests, if the system has them.

The first alarm counts CPU seconds of this process, so a busy machine causes no false alarm. An
endless wait uses no CPU time, so a second alarm counts seconds of the clock, with a higher limit.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 20
"""CPU seconds for one input. Inputs take milliseconds, so only endless loops reach it."""
LONGEST_TEST = 500
"""CPU seconds for one test, which may try many inputs. Hypothesis shrinks for up to 300."""
WAITS, TEST_WAITS = 30, 3
"""Factors for the limits by the clock, since other programs run too."""


class Hang(BaseException):
    """Raised in code that runs too long; the parser would catch an `Exception` as internal."""


def _raise(signum: int, frame: object) -> None:
    raise Hang("still waiting" if signum == signal.SIGALRM else "still running")


@contextmanager
def no_hang() -> Iterator[None]:
    """Raise `Hang` in a body that runs longer than `LONGEST` seconds."""
    with _alarms(LONGEST, WAITS):
        yield


@contextmanager
def no_hanging_test() -> Iterator[None]:
    """Raise `Hang` in a test that runs longer than `LONGEST_TEST` seconds.

    It is raised repeatedly, since Hypothesis runs a failing input again.
    """
    with _alarms(LONGEST_TEST, TEST_WAITS, again=LONGEST):
        yield


@contextmanager
def _alarms(seconds: float, waits: float, *, again: float = 0) -> Iterator[None]:
    """Set both alarms in a body, and suspend the alarms of an outer body meanwhile."""
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
