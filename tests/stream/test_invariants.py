"""The eight invariants of a stream, for formats, messages and ways of cutting drawn at random."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Policies, StreamParser, ToolCallDelta, aiter_deltas, iter_deltas, parse

from ..strategies.wire_json_and_tags import (
    TOOLS,
    Written,
    formats,
    is_unmarked,
    markers_of,
    tagged_formats,
    turns,
    write,
)
from ..support import as_joined, joined
from .invariants import check_1_and_2, check_3, check_4, check_5, run


@st.composite
def written(draw):
    """A format, a turn, and the turn's text with or without its end marker."""
    fmt = draw(formats())
    turn = draw(turns(fmt))
    end = draw(st.sampled_from(["", *fmt.turn.ends]))
    return fmt, turn, write(fmt, turn) + end


@st.composite
def soups(draw):
    """A format and text made of its markers, of pieces of them and of JSON, in any order."""
    fmt = draw(formats())
    pieces = [text for marker in markers_of(fmt) for text in (marker, marker.strip())]
    pieces += [marker[:cut] for marker in pieces for cut in (1, 3) if marker[:cut]]
    call = '{"name": "f", "arguments": {"a": "<b>", "n": 12.5e-2}}'
    pieces += [call, f"[{call}, {call}]", call[:30], '{"f": {}}', '"id": "7"', "{", "}", "]", ","]
    pieces += ['{"name": "f", "why": ["x"], "type": 1, "arguments": [1, "y"], "name": "g"}']
    pieces += ['{"name": "f", "arguments": "{\\"a\\": 12} z"}', '{"name": "f", "arguments": "[1, ']
    pieces += ["f", "1", "True", '"x"', "s", "n"]
    pieces += ["text", " ", "\n", "<", "[", "é😀", '"', "\\", "a < b"]
    return fmt, "".join(draw(st.lists(st.sampled_from(pieces), max_size=14)))


@st.composite
def cuts(draw, text):
    """The text in pieces, some of them empty."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


options = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.sampled_from([None, [], TOOLS, [{"name": "f"}], [{"name": "get_weather"}]]),
        "reasoning": st.sampled_from(["separate", "inline", "raw"]),
        "parallel_tool_calls": st.booleans(),
        "policies": st.builds(
            Policies,
            tool_in_reasoning=st.sampled_from(["defer", "reasoning", "call"]),
            unclosed_reasoning=st.sampled_from(["reasoning", "copy"]),
            text_after_tool_call=st.sampled_from(["keep", "drop"]),
            unknown_tool=st.sampled_from(["pass", "text"]),
            malformed_arguments=st.sampled_from(["repair", "strict", "text"]),
            extra_calls=st.sampled_from(["flag", "drop", "text"]),
        ),
        "prompt": st.sampled_from(["", "<|header|>model\n", "<|header|>model\nHello <"]),
    },
)
reasons = st.sampled_from(["stop", "length", None])
either = st.one_of(written().map(lambda case: (case[0], case[2])), soups())


@given(case=written(), data=st.data())
def test_what_is_written_comes_back(case, data):
    fmt, turn, wire = case
    parser, deltas = run(fmt, data.draw(cuts(wire)), tools=TOOLS)
    content, reasoning, calls = joined(deltas)

    assert reasoning == turn.reasoning
    assert content == turn.content
    assert [(name, json.loads(text)) for _, name, text in calls] == list(turn.calls)
    if fmt.tools.id_field or fmt.call_id.position != "NONE":
        assert [call_id for call_id, _, _ in calls] == [f"id{at}" for at in range(len(calls))]
    assert all(call.complete for call in parser.message.tool_calls)
    assert parser.finish_reason == ("tool_calls" if turn.calls else "stop")
    assert parser.issues == []


@given(case=either, kw=options, data=st.data(), reason=reasons)
def test_1_and_2_the_sum_is_the_message_at_every_cut(case, kw, data, reason):
    fmt, text = case
    check_1_and_2(fmt, text, (list(text), data.draw(cuts(text))), reason, **kw)


@given(case=soups(), kw=options)
def test_3_nothing_is_retracted(case, kw):
    fmt, text = case
    check_3(fmt, text, **kw)


@given(case=either, reason=reasons)
def test_4_a_call_begins_once_and_calls_are_not_interleaved(case, reason):
    fmt, text = case
    check_4(run(fmt, list(text), reason)[1])


@given(case=written())
def test_5_arguments_parse_at_their_end_and_not_before(case):
    fmt, turn, wire = case
    _, deltas = run(fmt, list(wire), tools=TOOLS)
    calls = joined(deltas)[2]
    for (_, _, text), (_, values) in zip(calls, turn.calls, strict=True):
        assert text == json.dumps(values, ensure_ascii=False)
        for cut in range(len(text)):
            with pytest.raises(ValueError):
                json.loads(text[:cut])


@given(case=soups(), kw=options, reason=reasons)
def test_5_the_arguments_of_a_whole_call_are_an_object_whatever_was_written(case, kw, reason):
    fmt, text = case
    check_5(parse(text, fmt, finish_reason=reason, **kw))


@given(case=soups(), reason=reasons)
def test_6_text_without_a_marker_is_content_to_the_byte(case, reason):
    fmt, text = case
    for marker in markers_of(fmt):
        text = text.replace(marker.strip(), "")
    if (
        any(marker.strip() in text for marker in markers_of(fmt))
        or fmt.reasoning.mode == "DELIMITER"
    ):
        return
    if is_unmarked(fmt):
        text = "." + text.replace("{", "")
    assert parse(text, fmt, finish_reason=reason).content == text


@given(case=soups(), kw=options, reason=reasons)
def test_6_every_word_of_the_output_is_somewhere(case, kw, reason):
    """Each word is in the message or in an issue, wherever in the output it stands."""
    fmt, text = case
    words = [f"w{at}w" for at in range(6)]
    spots = range(0, len(text), max(1, len(text) // 5))
    for word, spot in zip(words, reversed(list(spots)), strict=False):
        text = text[:spot] + word + text[spot:]
    parser, deltas = run(fmt, [text], reason, **kw)
    content, reasoning, calls = joined(deltas)
    found = content + reasoning + "".join(name + args for _, name, args in calls)
    found += "".join(issue.detail for issue in parser.issues)
    found += "".join(call_id for call_id, _, _ in calls)
    assert [word for word in words if word in text and word not in found] == []


@given(case=soups())
def test_7_content_is_held_back_no_longer_than_a_marker(case):
    fmt, text = case
    literals = [marker.strip() for marker in markers_of(fmt)]
    for literal in literals:
        text = text.replace(literal, "")
    text = "." + text
    if fmt.reasoning.mode == "DELIMITER" or any(literal in text for literal in literals):
        return
    longest = max(len(text) for text in literals) + len(fmt.tools.content_separator) + 2
    parser = StreamParser(fmt)
    seen = ""
    for at, char in enumerate(text, 1):
        seen += joined(parser.feed(char))[0]
        assert text[:at].startswith(seen)
        assert at - len(seen) < longest


@given(case=written())
def test_7_arguments_are_held_back_no_longer_than_a_token(case):
    fmt, turn, wire = case
    waits = fmt.tools.id_field or fmt.tools.field_order[:1] == ("arguments",)
    waits = waits or fmt.call_id.position == "POST_ARGS" or fmt.tools.format == "TAG_WITH_TAGGED"
    if len(turn.calls) != 1 or waits or fmt.tools.arguments_as_text:
        return
    text = json.dumps(turn.calls[0][1], ensure_ascii=False)
    token = max(map(len, json.dumps(turn.calls[0][1]).split('"')))
    start = wire.index(text)
    parser = StreamParser(fmt)
    for char in wire[:start]:
        parser.feed(char)
    seen = ""
    for at, char in enumerate(text, 1):
        seen += "".join(delta.arguments for delta in parser.feed(char))
        assert text[:at].startswith(seen)
        assert at - len(seen) <= max(token, 6)


@given(fmt=tagged_formats(), text=st.text("ab<[/\n> é", max_size=60))
def test_7_a_string_in_tags_is_held_back_no_longer_than_what_ends_it(fmt, text):
    if fmt.tools.format != "TAG_WITH_TAGGED" or fmt.call_id.position == "POST_ARGS":
        return
    text = "é" + text  # which no marker has
    wire = write(fmt, Written("", "", (("f", {"s": text}),)))
    start = wire.rindex(text)
    longest = 2 * max(map(len, markers_of(fmt))) + 8
    parser = StreamParser(fmt, tools=TOOLS)
    seen = "".join(
        delta.arguments for delta in parser.feed(wire[:start]) if isinstance(delta, ToolCallDelta)
    )
    for at, char in enumerate(text, 1):
        seen += "".join(delta.arguments for delta in parser.feed(char))
        value = json.loads(seen + '"}')["s"] if seen.count('"') > 2 else ""
        assert text[:at].startswith(value)
        assert at - len(value) <= longest


@given(case=soups(), data=st.data())
def test_bytes_cut_anywhere_give_what_text_gives(case, data):
    fmt, text = case
    encoded = text.encode()
    whole = parse(text, fmt)
    assert parse(encoded, fmt) == whole
    pieces = [encoded[at : at + 1] for at in range(len(encoded))]
    parser, deltas = run(fmt, pieces, None)
    assert parser.message == whole
    assert joined(deltas) == as_joined(whole)


@given(case=either, kw=options)
def test_finish_and_message_may_be_asked_for_at_any_time(case, kw):
    fmt, text = case
    for cut in range(0, len(text), 7):
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


@given(case=written(), cut=st.integers(0, 200))
def test_a_cut_call_never_looks_whole_and_heals_to_what_was_there(case, cut):
    fmt, turn, wire = case
    message = parse(wire[:cut], fmt, finish_reason="length", tools=TOOLS)
    for call, (name, values) in zip(message.tool_calls, turn.calls, strict=False):
        assert call.name == name
        if call.complete:
            assert json.loads(call.arguments) == values
        else:
            assert call.healed().keys() <= values.keys()
            assert json.dumps(values, ensure_ascii=False).startswith(call.arguments)


@given(case=soups(), kw=options)
async def test_async_iterator_and_push_give_the_same(case, kw):
    fmt, text = case

    async def texts():
        for char in text:
            yield char

    pushed = run(fmt, list(text), None, **kw)[1]
    assert list(iter_deltas(list(text), fmt, **kw)) == pushed
    assert [delta async for delta in aiter_deltas(texts(), fmt, **kw)] == pushed


@given(one=soups(), other=soups())
def test_parsers_share_nothing_but_the_format(one, other):
    first, second = StreamParser(one[0]), StreamParser(one[0])
    for a, b in zip(one[1], other[1], strict=False):
        first.feed(a)
        second.feed(b)
    assert first.message == run_so_far(one[0], one[1][: len(other[1])])
    assert second.message == run_so_far(one[0], other[1][: len(one[1])])


def run_so_far(fmt, text):
    parser = StreamParser(fmt)
    parser.feed(text)
    return parser.message


@given(gap=st.integers(0, 200), case=written())
def test_7_white_space_is_held_back_no_longer_than_a_marker(gap, case):
    fmt, _, _ = case
    if fmt.reasoning.mode == "DELIMITER":
        return
    longest = max(map(len, markers_of(fmt))) + len(fmt.tools.content_separator)
    parser = StreamParser(fmt)
    got = joined(delta for _ in range(gap) for delta in parser.feed(" "))[0]
    assert gap - len(got) <= longest
