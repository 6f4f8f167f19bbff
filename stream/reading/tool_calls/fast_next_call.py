"""The next call behind one, where it begins as models write it."""

from __future__ import annotations

from deltaparse.partial import Steps

from ...wire.fast_next_patterns import next_usual_call
from ..checkpoint import Checkpoint
from ..reading import Reading

__all__ = ["usual_next"]


def usual_next(reading: Reading) -> Steps[Checkpoint | None]:
    """Read what ends a call and begins the next, up to its name or its brace, if both stand here.

    Returns a checkpoint from where the next begins; None where the reader of turns must look, and
    then nothing is read. See `wire/fast_next_patterns.py`.
    """
    src, sink, usual = reading.src, reading.sink, next_usual_call(reading.tables)
    if usual is None or sink.seen_end:
        return None
    while not (found := usual.match(src.text, src.pos)):
        if not usual.may_follow(src):
            return None
        yield
    src.pos = found.start(1)
    checkpoint = Checkpoint(src)
    src.pos = found.end()
    return checkpoint
