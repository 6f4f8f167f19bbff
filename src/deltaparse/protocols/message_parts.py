"""A message as runs, and as the deltas of a stream.

The deltas of a stream do not separate two adjacent parts of one kind, and no protocol requires it.
So a complete message is written with adjacent parts joined, as a client of the stream receives it.
"""

from __future__ import annotations

from collections.abc import Iterator

from deltaparse.stream import (
    Content,
    ContentDelta,
    Delta,
    Message,
    Reasoning,
    ReasoningDelta,
    ToolCall,
    ToolCallDelta,
)

__all__ = ["Run", "message_deltas", "message_runs"]

Run = Content | Reasoning | ToolCall


def message_runs(message: Message) -> Iterator[Run]:
    """Iterate over the parts of a message, with adjacent texts joined and without empty parts."""
    open_run: Content | Reasoning | None = None
    for part in message.parts:
        if isinstance(part, ToolCall):
            if open_run is not None:
                yield open_run
            open_run = None
            yield part
        elif part.text:
            if type(open_run) is type(part):
                part = type(part)(open_run.text + part.text)  # noqa: PLW2901
            elif open_run is not None:
                yield open_run
            open_run = part
    if open_run is not None:
        yield open_run


def message_deltas(message: Message) -> Iterator[Delta]:
    """Iterate over deltas that add up to a message, one for each run."""
    calls = 0
    for run in message_runs(message):
        if isinstance(run, ToolCall):
            delta = ToolCallDelta(calls, run.id, run.name, run.arguments, last=run.complete)
            calls += 1
            yield delta
        else:
            yield (ContentDelta if isinstance(run, Content) else ReasoningDelta)(run.text)
