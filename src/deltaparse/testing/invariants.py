"""What holds for any output in any format, however it comes: checked for one output.

1   the deltas add up to the message
2   the message does not depend on how the output was cut
3   what was emitted for a beginning is the beginning of what is emitted for the whole
4   a call's first delta has its index, id and name; calls follow one another
5   the arguments of a whole call are one JSON object, and none of their beginnings is
6   an output without a marker is content
10  a call that is whole in a beginning of the output is the same call in all of it
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
from deltaparse.stream.wire.given import as_format

from .cuts import cut_at
from .model_outputs import markers_of

__all__ = ["Added", "added", "as_added", "check_calls", "check_invariants"]

MOST_PLACES = 64
"""Places in which an output is cut in two, and behind which it is cut off."""


class Added(NamedTuple):
    """What deltas add up to; of each call its id, its name and its arguments."""

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
    """Check that an output is parsed as any output must be; return its message.

    It is parsed whole, character by character, in two parts for up to 64 places, and cut off at
    each of these.

    Args:
        fmt: how the model writes, or the name of a format.
        text: the output.
        tools: the tools of the request.
        finish_reason: why the engine stopped.
        chunkings: further ways to cut the output, such as drawn from `chunkings(text)`.
        options: arguments of `StreamParser`, `prompt=` among them.

    Raises:
        AssertionError: an invariant does not hold; the text says which, and for which chunks.
        MalformedOutput: a policy of the `options` is "error".
        UsageError: what was given is no text, or no chunks.
    """
    fmt = as_format(fmt)
    if not isinstance(text, str):
        raise UsageError(f"an output is a text, not {type(text).__name__}; decode bytes first")
    if isinstance(chunkings, SearchStrategy):
        raise UsageError("chunkings= takes lists of chunks: data.draw(chunkings(text)) in a list")
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
        assert parser.finish_reason == whole.finish_reason, f"2: the finish reason differs {told}"
    _check_beginnings(fmt, text, final, given)
    for place in places:
        _check_cut(fmt, text[:place], message, given)
    return message


def added(deltas: Iterable[Delta]) -> Added:
    """Add deltas up.

    Raises:
        AssertionError: one of them is empty, or belongs to no call that was begun.
    """
    content: list[str] = []
    reasoning: list[str] = []
    calls: list[list[str]] = []
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            first = delta.name is not None
            assert bool(delta.id) is bool(delta.name) is first, f"4: {delta} has a half of its head"
            assert delta.index == len(calls) - (not first), f"4: {delta} behind {len(calls)} calls"
            assert first or delta.arguments, f"1: {delta} is empty"
            if first:
                calls.append([delta.id or "", delta.name or "", ""])
            calls[-1][2] += delta.arguments
        else:
            assert delta.text, f"1: {delta} is empty"
            (content if isinstance(delta, ContentDelta) else reasoning).append(delta.text)
    return Added("".join(content), "".join(reasoning), [(i, n, a) for i, n, a in calls])


def as_added(message: Message) -> Added:
    """Return what the deltas of a message add up to."""
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    return Added(message.content, message.reasoning_content, calls)


def _run(
    fmt: WireFormat, chunks: Iterable[str], reason: str | None, given: Mapping[str, Any]
) -> tuple[StreamParser, list[Delta]]:
    parser = StreamParser(fmt, **given)
    deltas = [delta for chunk in chunks for delta in parser.feed(chunk)]
    return parser, deltas + parser.finish(reason)


def _places(text: str) -> list[int]:
    """Places spread over an output, all of them where it is short."""
    step = max(1, len(text) // MOST_PLACES)
    return [*range(1, len(text), step)][:MOST_PLACES]


def check_calls(message: Message) -> None:
    """Check that the arguments of calls are whole, or can be healed.

    Raises:
        AssertionError: those of a call are not.
    """
    for call in message.tool_calls:
        if call.complete:
            assert _is_object(call.arguments), f"5: {call} is whole, and has no JSON object"
            assert call.arguments[-1] == "}", f"5: {call} was whole before its last characters"
        else:
            assert isinstance(call.healed(), dict), f"5: {call} cannot be healed"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


LAST_WORD = re.compile(r"(?<=\W)\w+\Z")


def _check_plain(fmt: WireFormat, text: str, message: Message) -> None:
    by_itself = fmt.reasoning.mode in ("NONE", "TAG_BASED") and not fmt.facts.has_channels
    parts = message.tool_calls or message.reasoning_content
    marked = parts or any(marker in text for marker in markers_of(fmt))
    # A prompt may end in the beginning of what content begins with: `>>>`, and behind it `all`.
    word = LAST_WORD.search(fmt.content.start.strip())
    marked = marked or bool(word and text.startswith(word[0]))
    if by_itself and not marked:
        assert message.content.strip() == text.strip(), f"6: content is {message.content!r}"


def _check_beginnings(fmt: WireFormat, text: str, final: Added, given: Mapping[str, Any]) -> None:
    """Check, at each character, that nothing is retracted."""
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
            assert kept, f"3: {delta}, emitted behind {text[:at]!r}, is not in the whole"


def _check_cut(fmt: WireFormat, beginning: str, message: Message, given: Mapping[str, Any]) -> None:
    """Check that what was cut off does not look whole."""
    parser, _ = _run(fmt, [beginning], "length", given)
    assert parser.finish_reason == "length", f"10: not cut off behind {beginning!r}"
    whole = message.tool_calls
    for at, call in enumerate(parser.message.tool_calls):
        if call.complete:
            assert at < len(whole), f"10: {call} is no call of the whole"
            assert call.arguments == whole[at].arguments, f"10: {call}, cut behind {beginning!r}"
        check_calls(parser.message)
