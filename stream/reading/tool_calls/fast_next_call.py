"""The usual text between two calls."""

from __future__ import annotations

from deltaparse.partial import Steps

from ...wire.fast_next_patterns import read_fast_next_call
from ..checkpoint import Checkpoint
from ..reading import Reading

__all__ = ["fast_next"]


def fast_next(reading: Reading) -> Steps[Checkpoint | None]:
    """Read the closer of a call and the head of the next, up to its name or brace.

    Returns a checkpoint at the start of the next call, or None if the general reader must decide.
    Then all text stays unread. See `wire/fast_next_patterns.py`.
    """
    src, sink, usual = reading.src, reading.sink, read_fast_next_call(reading.tables)
    # A call after the end of the turn is reported, which only the general reader does.
    if usual is None or sink.seen_end:
        return None
    while not (found := usual.match(src.text, src.pos)):
        # The text cannot match any more, so waiting would only delay it.
        if not usual.may_follow(src):
            return None
        yield
    src.pos = found.start(1)
    checkpoint = Checkpoint(src)
    src.pos = found.end()
    return checkpoint
