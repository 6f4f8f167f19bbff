"""Checks of the invariants that hold for every output, in every format and chunking.

1   the deltas add up to the message
2   the message does not depend on the chunks
3   text emitted for a prefix of the output is never retracted
4   the first delta of a call has its index, id and name, and calls are consecutive
5   the arguments of a complete call are a JSON object, and no prefix of them is
6   an output without a marker is content
10  a complete call in a prefix of the output is the same call in the complete output
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis.strategies import SearchStrategy

from deltaparse.partial import UsageError
from deltaparse.stream import (
    ContentDelta,
    Delta,
    Message,
    ReasoningDelta,
    StreamParser,
    ToolCallDelta,
    WireFormat,
)
from deltaparse.stream.wire.format_source import as_format

from .cuts import cut_at
from .model_outputs import markers_of

__all__ = ["Added", "added", "as_added", "check_calls", "check_invariants"]

MOST_PLACES = 64
"""Maximum number of places at which an output is split, and truncated."""


class Added(NamedTuple):
    """Sum of deltas. A call has its id, its name and its arguments."""

    content: str
    reasoning: str
    calls: list[tuple[str, str, str]]


def check_invariants(
    fmt: WireFormat | str,
    text: str,
    tools: Sequence[Mapping[str, Any]] | None = None,
    *,
    finish_reason: str | None = "stop",
    chunkings: Iterable[Sequence[str]] = (),
    **options: Any,
) -> Message:
    """Check that parsing an output keeps the invariants, and return its message.

    The output is parsed at once, by character, and in two chunks for up to 64 places. It is also
    truncated at each place.

    Args:
        fmt: the format, or its name.
        text: the output.
        tools: the tools of the request.
        finish_reason: the engine's finish reason.
        chunkings: further lists of chunks of the output, e.g. drawn from `chunkings(text)`.
        options: further arguments of `StreamParser`, e.g. `prompt=`.

    Raises:
        AssertionError: an invariant is violated. The message has its number and the chunks.
        MalformedOutput: a policy in `options` is "error" and rejects the output.
        UsageError: `text` is not a string, or `chunkings` is a strategy.
    """
    fmt = as_format(fmt)
    if not isinstance(text, str):
        raise UsageError(f"text must be a str, not {type(text).__name__} (decode bytes first)")
    if isinstance(chunkings, SearchStrategy):
        raise UsageError(
            "chunkings must be lists of chunks, not a strategy: [data.draw(chunkings(text))]"
        )
    given = {"tools": tools, **options}
    whole, deltas = _run(fmt, [text], finish_reason, given)
    message = whole.message
    final = added(deltas)
    odd = next((issue for issue in message.issues if issue.kind == "internal_error"), None)
    assert odd is None, f"the parser failed: {odd}"
    assert final == as_added(message), f"1: the deltas add up to {final}, the message is {message}"
    check_calls(message)
    if not options.get("prompt"):
        _check_plain(fmt, text, message)
    places = _places(text)
    ways = [list(text), *(cut_at(text, [place]) for place in places), *chunkings]
    for chunks in ways:
        parser, deltas = _run(fmt, chunks, finish_reason, given)
        told = f"for the chunks {list(chunks)!r}"
        assert added(deltas) == as_added(parser.message), f"1: deltas are not the message {told}"
        assert parser.message == message, f"2: {parser.message}, not {message}, {told}"
        assert parser.issues == whole.issues, f"2: {parser.issues}, not {whole.issues}, {told}"
        assert parser.finish_reason == whole.finish_reason, f"2: other finish reason {told}"
    _check_beginnings(fmt, text, final, given)
    for place in places:
        _check_cut(fmt, text[:place], message, given)
    return message


def added(deltas: Iterable[Delta]) -> Added:
    """Add up deltas.

    Raises:
        AssertionError: a delta is empty, or its call was not started.
    """
    content: list[str] = []
    reasoning: list[str] = []
    calls: list[list[str]] = []
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            first = delta.name is not None
            assert bool(delta.id) is bool(delta.name) is first, f"4: {delta} lacks an id or a name"
            assert delta.index == len(calls) - (not first), f"4: {delta} after {len(calls)} calls"
            assert first or delta.arguments, f"1: {delta} is empty"
            if first:
                calls.append([delta.id or "", delta.name or "", ""])
            calls[-1][2] += delta.arguments
        else:
            assert delta.text, f"1: {delta} is empty"
            (content if isinstance(delta, ContentDelta) else reasoning).append(delta.text)
    return Added("".join(content), "".join(reasoning), [(i, n, a) for i, n, a in calls])


def as_added(message: Message) -> Added:
    """Return the expected sum of the deltas of a message."""
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    return Added(message.content, message.reasoning_content, calls)


def _run(
    fmt: WireFormat, chunks: Iterable[str], reason: str | None, given: Mapping[str, Any]
) -> tuple[StreamParser, list[Delta]]:
    parser = StreamParser(fmt, **given)
    deltas = [delta for chunk in chunks for delta in parser.feed(chunk)]
    return parser, deltas + parser.finish(reason)


def _places(text: str) -> list[int]:
    """Return places spread evenly over an output, all places of a short one."""
    step = max(1, len(text) // MOST_PLACES)
    return [*range(1, len(text), step)][:MOST_PLACES]


def check_calls(message: Message) -> None:
    """Check that the arguments of calls are complete, or can be healed.

    Raises:
        AssertionError: the arguments of a call are invalid.
    """
    for call in message.tool_calls:
        if call.complete:
            assert _is_object(call.arguments), f"5: {call} is complete, but not a JSON object"
            assert call.arguments[-1] == "}", f"5: {call} was complete before its last characters"
        else:
            assert isinstance(call.healed(), dict), f"5: {call} cannot be healed"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


LAST_WORD = re.compile(r"(?<=\W)\w+\Z")


def _check_plain(fmt: WireFormat, text: str, message: Message) -> None:
    by_itself = fmt.reasoning.mode in ("NONE", "TAG_BASED") and not fmt.derived.has_channels
    parts = message.tool_calls or message.reasoning_content
    marked = parts or any(marker in text for marker in markers_of(fmt))
    # A prompt may contain the start of the content marker: `>>>`, with `all` in the output.
    word = LAST_WORD.search(fmt.content.start.strip())
    marked = marked or bool(word and text.startswith(word[0]))
    if by_itself and not marked:
        assert message.content.strip() == text.strip(), f"6: content is {message.content!r}"


def _check_beginnings(fmt: WireFormat, text: str, final: Added, given: Mapping[str, Any]) -> None:
    """Check at each character that emitted text is never retracted."""
    parser = StreamParser(fmt, **given)
    content = reasoning = arguments = 0
    calls: list[tuple[str, str]] = []
    for at, char in enumerate(text, 1):
        for delta in parser.feed(char):
            match delta:
                case ContentDelta(part):
                    kept = final.content.startswith(part, content)
                    content += len(part)
                case ReasoningDelta(part):
                    kept = final.reasoning.startswith(part, reasoning)
                    reasoning += len(part)
                case ToolCallDelta():
                    if delta.name is not None:
                        calls.append((delta.id or "", delta.name))
                        arguments = 0
                    id, name, whole = final.calls[len(calls) - 1]
                    kept = calls[-1] == (id, name) and whole.startswith(delta.arguments, arguments)
                    arguments += len(delta.arguments)
            assert kept, f"3: {delta}, emitted after {text[:at]!r}, was retracted"


def _check_cut(fmt: WireFormat, beginning: str, message: Message, given: Mapping[str, Any]) -> None:
    """Check that a truncated output is not reported as complete."""
    parser, _ = _run(fmt, [beginning], "length", given)
    assert parser.finish_reason == "length", f"10: not truncated after {beginning!r}"
    whole = message.tool_calls
    for at, call in enumerate(parser.message.tool_calls):
        if call.complete:
            assert at < len(whole), f"10: {call} is not a call of the complete output"
            assert call.arguments == whole[at].arguments, f"10: {call}, cut after {beginning!r}"
        check_calls(parser.message)
