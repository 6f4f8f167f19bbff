"""The eight invariants of a stream, numbered as in the README, in every family of formats.

Formats, messages, chunks and options are drawn at random. `strategies/wire_families.py` has the
strategies of each family. Checks for a single family are in the tests of that family.
"""

from __future__ import annotations

import json
from ast import literal_eval
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Policies, StreamParser, aiter_deltas, iter_deltas, parse

from ..strategies.requests import options, reasons
from ..strategies.wire_families import FAMILIES
from ..strategies.wire_parts import markers_of
from ..support import as_joined, cuts, joined
from .invariants import check_1_and_2, check_3, check_4, check_5, in_families, run

HELD = 2
"""Characters that may be buffered in addition to a marker and the whitespace before it."""
GAP = "\t \t"
"""Whitespace that no marker ends with."""

streaming = [family for family in FAMILIES if family.streamed is not None]


@in_families()
@given(data=st.data())
def test_written_turns_round_trip(family, data):
    fmt, turn, wire = data.draw(family.written)
    for tools in family.tools:
        parser, deltas = run(fmt, data.draw(cuts(wire)), tools=tools)
        content, reasoning, calls = joined(deltas)

        assert reasoning == turn.reasoning
        assert content == turn.content
        assert [(name, json.loads(text)) for _, name, text in calls] == list(turn.calls)
        assert not turn.ids or [call_id for call_id, _, _ in calls] == list(turn.ids)
        assert all(call.complete for call in parser.message.tool_calls)
        assert parser.finish_reason == ("tool_calls" if turn.calls else "stop")
        assert {issue.kind for issue in parser.issues} <= family.issues
        assert not parser.in_reasoning


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_1_and_2_the_sum_is_the_message_at_every_cut(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    check_1_and_2(fmt, text, (list(text), data.draw(cuts(text))), reason, **kw)


@in_families()
@given(data=st.data(), kw=options)
def test_3_emitted_text_is_never_retracted(family, data, kw):
    check_3(*data.draw(family.texts), **kw)


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_4_a_call_begins_once_and_calls_are_not_interleaved(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    check_4(run(fmt, list(text), reason, **kw)[1])


@in_families()
@given(data=st.data())
def test_5_arguments_parse_at_their_end_and_not_before(family, data):
    fmt, turn, wire = data.draw(family.written)
    calls = joined(run(fmt, list(wire), tools=family.tools[0])[1])[2]
    assert len(calls) == len(turn.calls)
    for (_, _, text), (_, values) in zip(calls, turn.calls, strict=True):
        assert json.loads(text) == values
        for cut in range(len(text)):
            with pytest.raises(ValueError):
                json.loads(text[:cut])


@in_families(streaming)
@given(data=st.data())
def test_5_json_is_emitted_as_it_was_written(family, data):
    fmt, before, text = data.draw(family.streamed)
    (call,) = parse(before + text, fmt, tools=family.tools[0]).tool_calls
    assert call.arguments == text


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_5_complete_call_of_any_text_has_an_object(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    check_5(parse(text, fmt, finish_reason=reason, **kw))


@in_families()
@given(data=st.data(), reason=reasons)
def test_6_text_without_a_marker_is_content_verbatim(family, data, reason):
    fmt, opening, text = data.draw(family.plain)
    assert parse(opening + text, fmt, finish_reason=reason).content == text


@in_families()
@given(data=st.data())
def test_6_whitespace_after_a_call_is_content(family, data):
    fmt, _, text = data.draw(family.written, label="format, turn, text")
    tools = data.draw(st.sampled_from(family.tools))
    ends = sorted(filter(str.strip, map(str.rstrip, fmt.turn.ends)), key=len, reverse=True)
    text = text.rstrip()
    text = next((text.removesuffix(end) for end in ends if text.endswith(end)), text)
    alone, _ = run(fmt, [text], tools=tools)
    parser, _ = run(fmt, [text + GAP + "Word"], tools=tools)
    told = "text_after_tool_call" in {issue.kind for issue in parser.issues}
    same = parser.message.tool_calls == alone.message.tool_calls
    kept = parser.message.content.endswith(GAP + "Word")
    # In channel formats a header follows each message.
    assert kept or not (same and told) or fmt.derived.has_channels


@in_families()
@given(data=st.data(), reason=reasons)
def test_6_text_after_a_call_is_reported_and_kept_or_dropped(family, data, reason):
    fmt, _, text = data.draw(family.written, label="format, turn, text")
    begun = data.draw(st.integers(0, len(text)).map(lambda end: text[:end]), label="begun")
    text += data.draw(st.sampled_from(["", "\n", " Word "]), label="between") + begun
    ran = [
        run(fmt, [text], reason, tools=family.tools[0], policies=Policies(text_after_tool_call=way))
        for way in ("keep", "drop")
    ]
    kept, dropped = (parser for parser, _ in ran)
    told = [
        [issue for issue in parser.issues if issue.kind == "text_after_tool_call"]
        for parser in (kept, dropped)
    ]
    assert [issue.span for issue in told[0]] == [issue.span for issue in told[1]]
    left_out = "".join(literal_eval(issue.detail.removeprefix("dropped: ")) for issue in told[1])
    missing = Counter(kept.message.content or "") - Counter(dropped.message.content or "")
    assert missing == Counter(left_out)


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_6_no_word_of_the_response_is_lost(family, data, kw, reason):
    """Find each word of the response in the message or in an issue."""
    fmt, text = data.draw(family.soups)
    words = [f"w{at}w" for at in range(6)]
    spots = range(0, len(text) + 1, max(1, len(text) // 5))
    for word, spot in zip(words, reversed(list(spots)), strict=False):
        text = text[:spot] + word + text[spot:]
    parser, deltas = run(fmt, [text], reason, **kw)
    content, reasoning, calls = joined(deltas)
    found = content + reasoning + "".join("".join(call) for call in calls)
    found += "".join(issue.detail for issue in parser.issues) + family.passed_over(fmt, text)
    assert [word for word in words if word in text and word not in found] == []


def longest_marker(fmt):
    """Return the length of the longest marker, with the rest of a header after a role."""
    channels = fmt.channels
    parts = (channels.channel, channels.message, channels.constrain, channels.recipient)
    return max(map(len, markers_of(fmt))) + max(map(len, parts))


@in_families()
@given(data=st.data())
def test_7_content_is_buffered_up_to_the_length_of_a_marker(family, data):
    fmt, opening, text = data.draw(family.plain)
    longest = longest_marker(fmt) + len(fmt.tools.content_separator) + HELD
    parser = StreamParser(fmt)
    seen = joined(parser.feed(opening))[0]
    assert seen == ""
    for at, char in enumerate(text, 1):
        seen += joined(parser.feed(char))[0]
        assert text[:at].startswith(seen)
        assert at - len(seen) < longest


@in_families()
@given(data=st.data(), gap=st.integers(1, 200))
def test_7_whitespace_is_buffered_up_to_the_length_of_a_marker(family, data, gap):
    fmt, opening, _ = data.draw(family.plain)
    longest = longest_marker(fmt) + len(fmt.tools.content_separator) + HELD
    parser = StreamParser(fmt)
    parser.feed(opening)
    got = joined(delta for _ in range(gap) for delta in parser.feed(" "))[0]
    assert gap - len(got) < longest


@in_families(streaming)
@given(data=st.data())
def test_7_arguments_are_buffered_up_to_the_length_of_a_token(family, data):
    fmt, before, text = data.draw(family.streamed)
    token = max(map(len, json.dumps(json.loads(text)).split('"')))
    parser = StreamParser(fmt, tools=family.tools[0])
    parser.feed(before)
    seen = ""
    for at, char in enumerate(text, 1):
        seen += "".join(delta.arguments for delta in parser.feed(char))
        assert text[:at].startswith(seen)
        assert at - len(seen) <= max(token, 6)


@in_families()
@given(data=st.data())
def test_bytes_in_any_chunks_give_the_same_as_text(family, data):
    fmt, text = data.draw(family.texts)
    encoded = text.encode()
    whole = parse(text, fmt)
    assert parse(encoded, fmt) == whole
    parser, deltas = run(fmt, data.draw(cuts(encoded)), None)
    assert parser.message == whole
    assert joined(deltas) == as_joined(whole)


@in_families()
@given(data=st.data(), kw=options)
def test_finish_and_message_are_available_at_any_time(family, data, kw):
    fmt, text = data.draw(family.texts)
    for cut in range(0, len(text) + 1, 7):
        parser = StreamParser(fmt, **kw)
        deltas = parser.feed(text[:cut])
        assert joined(deltas) == as_joined(parser.message)
        for call in parser.message.tool_calls:
            assert not call.complete or isinstance(json.loads(call.arguments), dict)
        deltas += parser.finish("length")
        assert joined(deltas) == as_joined(parser.message)
        assert parser.finish_reason == "length"
        assert parser.finish("length") == []
        assert parser.where() == "end"
        assert not parser.in_reasoning


@in_families()
@given(data=st.data())
def test_truncated_call_is_incomplete_and_heals_to_its_values(family, data):
    fmt, turn, wire = data.draw(family.written)
    cut = data.draw(st.integers(0, len(wire)))
    message = parse(wire[:cut], fmt, finish_reason="length", tools=family.tools[0])
    assert len(message.tool_calls) <= len(turn.calls)
    for call, (name, values) in zip(message.tool_calls, turn.calls, strict=False):
        if call.name == fmt.code.function != name:
            # The truncated response does not yet distinguish a call after the code marker.
            assert not call.complete
            assert name.startswith(call.healed()[fmt.code.argument][: len(name)])
            continue
        assert call.name == name
        if call.complete:
            assert json.loads(call.arguments) == values
        else:
            assert call.healed().keys() <= values.keys()


@in_families()
@given(data=st.data(), kw=options)
async def test_async_iterator_and_push_give_the_same(family, data, kw):
    fmt, text = data.draw(family.texts)

    async def texts():
        for char in text:
            yield char

    pushed = run(fmt, list(text), None, **kw)[1]
    assert list(iter_deltas(list(text), fmt, **kw)) == pushed
    assert [delta async for delta in aiter_deltas(texts(), fmt, **kw)] == pushed


@in_families()
@given(data=st.data())
def test_parsers_share_only_the_format(family, data):
    fmt, text = data.draw(family.soups)
    _, other = data.draw(family.soups)
    first, second = StreamParser(fmt), StreamParser(fmt)
    for a, b in zip(text, other, strict=False):
        first.feed(a)
        second.feed(b)
    for parser, fed in ((first, text[: len(other)]), (second, other[: len(text)])):
        alone = StreamParser(fmt)
        alone.feed(fed)
        assert parser.message == alone.message
