"""Responses as token ids: the invariants of text, roles, and text that looks like markers."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import fields, is_dataclass
from itertools import accumulate

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse import (
    ContentDelta,
    MalformedOutput,
    Policies,
    Reasoning,
    ReasoningDelta,
    StreamParser,
    TokenParser,
    UsageError,
    Vocabulary,
    get_format,
)
from deltaparse.partial import is_whole
from deltaparse.stream.fast_path import MOST_PASSED

from ...strategies.requests import options, policies, reasons
from ...strategies.token_texts import (
    QWEN,
    TOOLS,
    Ids,
    Text,
    cores_of,
    crossed,
    drawn_special,
    groups,
    ordinary,
    pattern_of,
    pieces,
    tokenized,
)
from ...strategies.wire_named import WIRES
from ...support import as_joined, joined
from ..invariants import FAMILIES, check_4, check_5, in_families

STRAY = "<|stray|>"


def run(parser, fed, reason="stop"):
    """Feed and finish a parser, and return all deltas."""
    deltas = [delta for ids in fed for delta in parser.feed(ids)]
    return deltas + parser.finish(reason)


def texts_in(made):
    """Yield all texts of deltas, parts, issues and attempts."""
    if isinstance(made, str):
        yield made
    elif is_dataclass(made):
        for one in fields(made):
            yield from texts_in(getattr(made, one.name))
    elif isinstance(made, (list, tuple)):
        for each in made:
            yield from texts_in(each)


def check_texts(parser, deltas):
    """Check that no result contains the character of a special token."""
    assert all(map(is_whole, texts_in([deltas, parser.message, parser.issues, parser.attempts])))


def check_spans(parser, deltas, count):
    """Check that spans are half-open, in order and not empty."""
    roles = parser.roles
    assert len(roles) == count
    last = (0, 1)
    for delta in deltas:
        start, end = delta.tokens
        assert 0 <= start < end <= count
        assert start >= last[0]
        assert end >= last[1]
        last = (start, end)
    last = (0, 1)
    for part in parser.message.parts:
        start, end = part.tokens
        assert 0 <= start < end <= count
        assert start >= last[1] - 1
        last = (start, end)
    for attempt in parser.attempts:
        start, end = attempt.tokens
        assert 0 <= start < end <= count


def places(parser):
    """Return the token ranges of parts and attempts, and the role spans."""
    parts = [
        (part.tokens, getattr(part, "name_tokens", None), getattr(part, "arguments_tokens", None))
        for part in parser.message.parts
    ]
    return parts, [attempt.tokens for attempt in parser.attempts], parser.role_spans


def check_text_places(parser, deltas, tokens):
    """Check that each delta of text has the tokens of its characters, if all text was read."""
    text, ends = b"".join(tokens).decode(), list(accumulate(map(len, tokens)))
    starts = list(accumulate((len(char.encode()) for char in text), initial=0))
    for role, kind in (("content", ContentDelta), ("reasoning", ReasoningDelta)):
        some = [delta for delta in deltas if isinstance(delta, kind)]
        spans = [range(one.start, one.end) for one in parser.role_spans if one.role == role]
        stand = [at for span in spans for at in span]
        if "".join(one.text for one in some) != "".join(text[at] for at in stand):
            continue
        passed = 0
        for delta in some:
            first, last = stand[passed], stand[passed + len(delta.text) - 1]
            passed += len(delta.text)
            start, end = bisect_right(ends, starts[first]), bisect_left(ends, starts[last + 1])
            assert delta.tokens == (start, end + 1)


@in_families()
@given(data=st.data(), policies=policies, reason=reasons)
def test_stray_token_is_emitted_as_its_text(family, data, policies, reason):
    """Check any position of the token, in emitted and in buffered text."""
    fmt, _, wire = data.draw(family.written)
    at = data.draw(st.integers(0, len(wire)))
    wire = f"{wire[:at]}{STRAY}{wire[at:]}"
    ids, vocabulary = tokenized(data, fmt, wire, {STRAY})
    parser = TokenParser(fmt, vocabulary, tools=family.tools[-1], policies=policies)
    deltas = run(parser, data.draw(groups(ids)), reason)
    text = StreamParser(fmt, tools=family.tools[-1], policies=policies)
    text.feed(wire)
    text.finish(reason)
    shown = repr([deltas, parser.message, parser.issues])
    check_texts(parser, deltas)
    # In the header of a message, a stray token has no meaning.
    assert STRAY in shown or STRAY not in repr([text.message, text.issues])


@in_families()
@given(data=st.data(), reason=reasons)
def test_tokens_give_the_same_turn_as_their_text(family, data, reason):
    fmt, _, wire = data.draw(family.written)
    check_same_turn(family, data, fmt, wire, drawn_special(data, fmt), reason)


@in_families([family for family in FAMILIES if family.name != "channels"])
@given(data=st.data(), reason=reasons)
def test_orphan_closer_is_dropped_from_tokens_and_text(family, data, reason):
    fmt, _, wire = data.draw(family.written)
    closers = {closer.strip() for closer in fmt.derived.closers}.intersection(cores_of(fmt)) - {""}
    assume(closers)
    wire += data.draw(st.sampled_from(["", "\n", " and "])) + data.draw(st.sampled_from([*closers]))
    check_same_turn(family, data, fmt, wire, drawn_special(data, fmt) | closers, reason)


def test_orphan_closer_token_is_dropped_with_an_issue():
    parser = Text(get_format("hermes"), ["</tool_call>"], ["Hi", "</tool_call>"]).read()
    assert parser.message.content == "Hi"
    (orphan,) = parser.issues
    assert orphan.kind == "orphan_marker"
    assert orphan.detail == "'</tool_call>' does not close a call, and is not emitted"
    assert parser.roles == ["content", "marker"]


def test_issue_quotes_a_token_as_its_text():
    parser = Text(get_format("hermes"), ["\n</tool_call>"], ["Hi", "\n</tool_call>"]).read()
    assert [one.detail for one in parser.issues] == [
        "'\\n</tool_call>' does not close a call, and is not emitted"
    ]


def check_same_turn(family, data, fmt, wire, special, reason):
    """Check that tokens give the same turn as their text."""
    assume(not crossed(fmt, wire, special))  # the expected turn is ambiguous
    ids, vocabulary = tokenized(data, fmt, wire, special)
    for tools in family.tools:
        text = StreamParser(fmt, tools=tools)
        text.feed(wire)
        text.finish(reason)
        parser = TokenParser(fmt, vocabulary, tools=tools)
        deltas = run(parser, data.draw(groups(ids)), reason)

        assert parser.message == text.message
        assert parser.finish_reason == text.finish_reason
        issues = [issue for issue in parser.issues if issue.kind != "stray_token"]
        assert issues == text.issues
        assert joined(deltas) == as_joined(parser.message)
        check_spans(parser, deltas, len(ids))


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_invariants_hold_for_any_grouping_of_ids(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    ids, vocabulary = tokenized(data, fmt, text, drawn_special(data, fmt))
    markers = data.draw(st.sampled_from(["token", "text", "either"]))
    whole = TokenParser(fmt, vocabulary, markers=markers, **kw)
    run(whole, [ids], reason)
    assert "internal_error" not in {issue.kind for issue in whole.issues}
    for fed in (ids, data.draw(groups(ids))):
        parser = TokenParser(fmt, vocabulary, markers=markers, **kw)
        deltas = run(parser, fed, reason)

        assert joined(deltas) == as_joined(parser.message)
        assert parser.message == whole.message
        assert parser.issues == whole.issues
        assert parser.roles == whole.roles
        assert parser.finish_reason == whole.finish_reason
        check_texts(parser, deltas)
        assert places(parser) == places(whole)
        check_text_places(parser, deltas, [vocabulary[id] for id in ids])
        check_4(deltas)
        check_5(parser.message)


@in_families()
@given(data=st.data())
def test_spelled_markers_are_content(family, data):
    """Check that text is content if all markers are tokens and no token occurs."""
    fmt, text = data.draw(family.texts)
    special = set(cores_of(fmt))
    ids = Ids(sorted(special))
    vocabulary = ids.vocabulary()
    parser = TokenParser(fmt, vocabulary, tools=[])
    run(parser, list(text.encode()))
    content, reasoning, calls = as_joined(parser.message)
    assert calls == []
    assert content + reasoning in text or reasoning + content == text


CALLS = {
    "hermes": '<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>',
    "qwen3_coder": "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n"
    "</tool_call>",
    "glm45": "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
    '<|tool_call_argument_begin|>{"a": "x"}<|tool_call_end|><|tool_calls_section_end|>',
    "mistral_small": '[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{"a": "x"}',
    "olmo3": '<function_calls>f(a="x")</function_calls>',
}


@pytest.mark.parametrize("name", CALLS)
@given(data=st.data())
def test_only_tokens_are_markers(name, data):
    fmt, call = get_format(name), CALLS[name]
    cores = cores_of(fmt)
    looks = st.lists(st.sampled_from([*cores, call, "a ", "<", "b\n", "{"]), max_size=6)
    content = "." + "".join(data.draw(looks)) + "."
    special = [core for core in cores if core in call]
    ids = Ids(sorted(cores))
    fed = [ids.of(part) for part in ordinary(data, content.encode())]
    fed += [
        ids.of_special(part) if isinstance(part, str) else ids.of(part)
        for part in pieces(data, call, set(special))
    ]
    parser = TokenParser(fmt, ids.vocabulary(), tools=[{"name": "f"}])
    run(parser, data.draw(groups(fed)))
    assert parser.message.content == content
    assert [(made.name, made.arguments) for made in parser.message.tool_calls] == [
        ("f", '{"a": "x"}')
    ]
    spelled = {core for core in cores if core in content}
    reported = [issue for issue in parser.issues if issue.kind == "spelled_marker"]
    assert bool(reported) == bool(spelled)
    assert {content[slice(*issue.span)] for issue in reported} == spelled


def cut(ids, text, special, missing=(), *, spelled=False):
    """Yield the ids of a text, with `missing` tokens spelled in ordinary ones or left out."""
    for part in re.split(f"({pattern_of(special)})", text):
        if part in special and part not in missing:
            yield ids.of_special(part)
        elif part not in special or spelled:
            yield from map(ids.of, (bytes([byte]) for byte in part.encode()))


NEARLY_JSON = [
    "{'a': 'it\\'s', 'b': True,}",
    "{a: 'b', \"c\": None}",
    '{"a": "say "hi" now"}',
    '{"a": “x”}',
    "{'a': 'x' 'y'}",
    '{"a": "line\nbreak", /* why */ "n": 01}',
    '{"a": [1, 2}',
    '{"a": nan, "b": .5}}',
    '{"a": "\\x41"}',
    '{"a" "b"}',
    '{"a": 1',
]
HEADS = [
    ("hermes", '<tool_call>\n{{"name": "f", "arguments": {}}}\n</tool_call>'),
    ("hermes", "<tool_call>\n{{'name': 'f', 'arguments': {}}}\n</tool_call>"),
    ("hermes", "<tool_call>\n{{arguments: {}, name: 'f'}}\n</tool_call>"),
    ("mistral", "[TOOL_CALLS][{{'name': 'f', 'arguments': {}, 'id': '123456789'}}]"),
    ("mistral_small", "[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{}"),
    ("gemma4", "<|tool_call>call:f{}<tool_call|>"),
    ("llama3_json", "{{'name': 'f', 'parameters': {}}}"),
    ("gpt_oss", "<|channel|>commentary to=functions.f<|message|>{}<|call|>"),
    ("glm45", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>"),
]


def spans_of_kinds(deltas):
    """Return the token ranges of all text deltas of a kind, and of each call."""
    found = {}
    for delta in deltas:
        key = type(delta), getattr(delta, "index", None)
        start, end = found.get(key, delta.tokens)
        found[key] = min(start, delta.tokens[0]), max(end, delta.tokens[1])
    return found


@pytest.mark.parametrize("arguments", NEARLY_JSON)
@pytest.mark.parametrize(("name", "head"), HEADS)
def test_repaired_calls_have_the_same_tokens_for_any_grouping(name, head, arguments):
    fmt, text = get_format(name), head.format(arguments)
    special = [core for core in fmt.preserved_tokens if core in text]
    ids, fed = Ids(special), []
    for part in re.split(f"({pattern_of(special)})" if special else "$", text):
        cuts = (part.encode()[at : at + 2] for at in range(0, len(part.encode()), 2))
        fed += [ids.of_special(part)] if part in special else map(ids.of, cuts)
    vocabulary = ids.vocabulary()
    for end in (len(fed), len(fed) - 2):
        check_groups(fmt, vocabulary, fed[:end])


def check_groups(fmt, vocabulary, ids):
    made = []
    for size in (1, 3, len(ids)):
        parser = TokenParser(fmt, vocabulary, tools=TOOLS)
        deltas = run(parser, [ids[at : at + size] for at in range(0, len(ids), size)])
        made.append((places(parser), parser.roles, parser.issues, spans_of_kinds(deltas)))
    assert all(one == made[0] for one in made)


def opener_tokens(fmt):
    """Return the markers in the openers of a format."""
    return [core for core in cores_of(fmt) if any(core in text for text in fmt.derived.openers)]


MARKED = sorted(name for name in WIRES if opener_tokens(get_format(name)))


@pytest.mark.parametrize("spelled", [True, False], ids=["spelled", "left out"])
@pytest.mark.parametrize("name", MARKED)
def test_call_does_not_start_without_its_special_token(name, spelled):
    """Check the start of a turn, after text, and after a section of calls."""
    fmt, wire = get_format(name), WIRES[name]
    cores = opener_tokens(fmt)
    for special in ([core] for core in cores) if len(cores) > 1 else []:
        check_openers(fmt, wire, special, spelled=spelled)
    check_openers(fmt, wire, cores, spelled=spelled)


def check_openers(fmt, wire, special, *, spelled):
    ids = Ids(special)
    openers = [core for core in special if core in wire.one]
    for before, calls in (("", 0), ("Hi ", 0), (wire.one, 1), (wire.two, 2 * bool(wire.two))):
        fed = [*cut(ids, before, special), *cut(ids, wire.one, special, openers, spelled=spelled)]
        parser = TokenParser(fmt, ids.vocabulary(), tools=TOOLS)
        run(parser, [fed] if openers else [])
        assert len(parser.message.tool_calls) == (calls if openers else 0)


LINES = ["<function=", "f", ">\n", "<parameter=", "a", ">\n", "x", "\n"]
LINES += ["</parameter>\n</function>\n"]
INVOKED = ['<invoke name="', "f", '">', '<parameter name="', "a", '">', "x"]
INVOKED += ["</parameter></invoke>"]
SECTION = ["<minimax:tool_call>", "</minimax:tool_call>"]


@pytest.mark.parametrize("name", ["qwen3_coder", "mimo", "nemotron3_nano", "step3p5"])
@pytest.mark.parametrize("before", [["Read: "], ["<tool_call>", *LINES, "</tool_call>"]])
def test_function_tag_without_its_special_token_is_content(name, before):
    tokens = ["<think>", "</think>", *before, *LINES, "."]
    text = Text(get_format(name), ["<tool_call>", "</tool_call>", "<think>", "</think>"], tokens)
    parser = text.read(tools=TOOLS)
    assert len(parser.message.tool_calls) == before.count("<tool_call>")
    assert parser.message.content.endswith("".join([*LINES, "."]))
    tolerant = text.read(tools=TOOLS, markers="either")
    assert len(tolerant.message.tool_calls) == tokens.count("<function=")


@pytest.mark.parametrize(
    ("name", "tokens", "made"),
    [
        ("hermes", ["<tool_call>", '{"name": "f", "arguments": {}}', '{"name": "f"}'], 1),
        ("hermes", ["<tool_call>", '[{"name": "f", "arguments": {}},', '{"name": "f"}]'], 2),
        ("olmo3", ["<function_calls>", "f()", "\n", "f()"], 2),
        ("lfm2", ["<|tool_call_start|>", "[f(), ", "f()]"], 2),
        ("qwen3_coder", ["<tool_call>", "<function=f></function>", "<function=f></function>."], 1),
    ],
)
def test_special_token_starts_one_call_list_or_section(name, tokens, made):
    check_calls(get_format(name), tokens, made)


def test_special_token_of_a_python_call_starts_one_call():
    tools = {"section_start": "", "section_end": "", "per_call_start": "<call>"}
    check_calls(get_format("olmo3").replace(tools=tools), ["<call>", "f()", "f()"], 1)


def check_calls(fmt, tokens, made):
    """Check the number of calls after the first token, which is special."""
    parser = Text(fmt, tokens[:1], tokens).read(tools=TOOLS)
    assert len(parser.message.tool_calls) == made
    assert parser.message.content == ("" if made == 2 else tokens[-1])


@pytest.mark.parametrize("policy", ["defer", "call"])
@pytest.mark.parametrize("opened", [[], ["<think>"]], ids=["content", "reasoning"])
def test_calls_in_a_section_need_no_own_special_token(opened, policy):
    tokens = [*opened, SECTION[0], "\n", *INVOKED, "\n", *INVOKED, "\n", SECTION[1]]
    fmt = get_format("minimax_m2").replace(turn={"generation_prompt": ""})
    text = Text(fmt, ["<think>", *SECTION], [*tokens, "\n", *INVOKED])
    for end in (len(tokens), len(text.ids)):
        parser = text.parser(tools=TOOLS, policies=Policies(tool_in_reasoning=policy))
        run(parser, text.ids[:end])
        assert len(parser.message.tool_calls) == 2
        assert [attempt.status for attempt in parser.attempts[:2]] == ["complete"] * 2


def spans(parser, fed):
    """Return the text and the tokens of each delta."""
    deltas = run(parser, fed)
    return [(getattr(one, "text", None) or one.arguments, one.tokens) for one in deltas]


SPELLED = [*("a", "b", "c<tool", "_call>\n", '{"name": "f",', ' "arguments": {"a": "x', "y")]
SPELLED += ['z"}}\n', "</tool_call>", "d", "<to", "e"]
QWEN3 = get_format("qwen3")


@pytest.mark.parametrize("again", [False, True], ids=["new", "known"])
def test_delta_has_exactly_its_source_tokens(again):
    text = Text(QWEN3, [], SPELLED)
    # The texts of tokens are cached the second time.
    if again:
        text.read(markers="text")
    first, *others = text.ids
    assert spans(text.parser(markers="text"), text.ids) == [
        *(("a", (0, 1)), ("b", (1, 2)), ("c", (2, 3)), ("", (2, 5)), ('{"a": "x', (4, 6))),
        *(("y", (6, 7)), ('z"}', (7, 8)), ("d", (9, 10)), ("<toe", (10, 12))),
    ]
    assert spans(text.parser(markers="text"), [first, others]) == [
        *(("a", (0, 1)), ("bc", (1, 3)), ("", (2, 5)), ('{"a": "xyz"}', (4, 8)), ("d<toe", (9, 12)))
    ]


@pytest.mark.parametrize("again", [False, True], ids=["new", "known"])
@pytest.mark.parametrize(
    ("tokens", "made"),
    [
        (["[f", "(b2", "=188", "3, "], [("1883", (2, 4))]),
        (["[", "f(a=", "[1", ", Non", "e])", "]"], [("1", (2, 4)), (", null]}", (3, 5))]),
        (["[f", '(a="', "a'b\"", ")]"], [("a'b", (2, 3)), ('"}', (2, 4))]),
        (['[f(a="', "a", "'b\")]"], [("a", (1, 2)), ("'b\"}", (2, 3))]),
    ],
    ids=["a number goes on", "a word goes on", "a string ends", "a string goes on and ends"],
)
def test_python_value_has_its_source_tokens(tokens, made, again):
    text = Text(get_format("pythonic"), [], tokens)
    if again:
        text.read(tools=TOOLS)
    assert spans(text.parser(tools=TOOLS), text.ids)[-len(made) :] == made


@pytest.mark.parametrize("again", [False, True], ids=["new", "known"])
def test_buffered_tail_of_a_token_keeps_its_token(again):
    text = Text(QWEN3, [], ["a", "b<", "tool"])
    if again:
        text.read(markers="text")
    parser = text.parser(markers="text")
    assert spans(parser, text.ids) == [("a", (0, 1)), ("b", (1, 2)), ("<tool", (1, 3))]


@pytest.mark.parametrize("again", [False, True], ids=["new", "known"])
def test_string_with_a_marker_prefix_ends_normally(again):
    head, name, args = "<|tool_call_begin|>", "functions.f:0", "<|tool_call_argument_begin|>"
    tokens = [head, name, args, '{"a": "x', "<", "y", '"', "}", "<|tool_call_end|>"]
    text = Text(get_format("kimi_k2"), [], tokens)
    if again:
        text.read(markers="text")
    (call,) = text.read(markers="text").message.tool_calls
    assert (call.arguments, call.complete, call.arguments_tokens) == ('{"a": "x<y"}', True, (3, 8))


def test_dropped_token_is_not_a_source_of_text():
    tokens = ["<tool_call>", '{"name": "f", "arguments": {"a": "x', "<think>", " y", '"}}']
    text = Text(QWEN3, ["<tool_call>", "<think>"], tokens)
    parser = text.parser(policies=Policies(stray_token="drop"))
    assert spans(parser, text.ids) == [
        *(("", (0, 2)), ('{"a": "x', (1, 2)), (" y", (3, 4)), ('"}', (4, 5)))
    ]


def test_held_counts_buffered_characters():
    text = Text(QWEN3, ["<think>"], ["<tool", "_c", "<think>", "a", "<|im"])
    parser, held = text.parser(markers="text"), []
    for id in text.ids:
        parser.feed(id)
        held.append(parser.held)
    assert held == [5, 7, 0, 0, 4]


@pytest.mark.parametrize("again", [False, True], ids=["new", "known"])
def test_half_a_character_is_emitted_before_the_next_text(again):
    ids = [97, 0xC3, 97, 98, 0xC3, 0xA9, 97]
    vocabulary = Ids([]).vocabulary()
    if again:
        run(TokenParser(QWEN3, vocabulary), ids)
    assert spans(TokenParser(QWEN3, vocabulary), ids) == [
        *(("a", (0, 1)), ("\ufffda", (1, 3)), ("b", (3, 4)), ("é", (4, 6)), ("a", (6, 7)))
    ]


@pytest.mark.parametrize("again", [False, True], ids=["new", "known"])
def test_policy_error_has_the_span_of_decoded_text(again):
    text = Text(QWEN3, ["<tool_call>"], ["<tool_call>", '{"name": "g"', ', "arguments": '])
    options = {"tools": [{"name": "f"}], "policies": Policies(unknown_tool="error")}
    if again:
        text.read()
    parser = text.parser(**options)
    parser.feed(text.ids[0])
    with pytest.raises(MalformedOutput, match="'g' is not one of the tools") as raised:
        deque(map(parser.feed, text.ids[1:]), maxlen=0)
    start, end = raised.value.span
    assert "".join(text.tokens)[start:end] == "g"


def test_policy_error_at_the_end_has_the_span_of_decoded_text():
    text = Text(QWEN3, ["<think>"], ["<think>", "hm"])
    parser = text.parser(policies=Policies(unclosed_reasoning="error"))
    deque(map(parser.feed, text.ids), maxlen=0)
    with pytest.raises(
        MalformedOutput, match="the turn ended before the end of reasoning"
    ) as raised:
        parser.finish("stop")
    assert raised.value.span == (9, 9)


@in_families()
@given(data=st.data())
def test_each_token_counts_as_a_chunk(family, data):
    """Check also tokens of a part of a character, like the bytes of a `StreamParser`."""
    fmt, text = data.draw(family.texts)
    ids, vocabulary = tokenized(data, fmt, text, drawn_special(data, fmt))
    parser = TokenParser(fmt, vocabulary, collect=data.draw(st.booleans()))
    plain = StreamParser(fmt)
    for count, id in enumerate(ids, 1):
        parser.feed(id)
        plain.feed(vocabulary[id])
        for counts in (parser.counts, plain.counts):
            fed = counts.content, counts.reasoning, counts.tool_calls
            assert sum(amount.chunks for amount in fed) == count


THOUGHT = Text(QWEN3, ["<think>", "</think>"], ["<think>", "hm", "</think>", "Hi"])


def test_raw_markers_are_not_stray_tokens():
    parser = THOUGHT.read(reasoning="raw")
    assert (parser.message.content, parser.issues) == ("<think>hm</think>Hi", [])


@pytest.mark.parametrize(
    ("options", "taken", "made"),
    [
        (
            {"reasoning": "inline"},
            4,
            [("<think>", (1, 1)), ("hm", (1, 2)), ("</think>", (3, 3)), ("Hi", (3, 4))],
        ),
        ({"reasoning": "inline"}, 2, [("<think>", (1, 1)), ("hm", (1, 2)), ("</think>", (2, 2))]),
        ({"policies": Policies(unclosed_reasoning="copy")}, 2, [("hm", (1, 2)), ("hm", (2, 2))]),
    ],
)
def test_inserted_text_has_an_empty_token_range(options, taken, made):
    ids = THOUGHT.ids[:taken]
    for fed in (ids, [ids]):
        parser = THOUGHT.parser(**options)
        assert spans(parser, fed) == made
    last = parser.message.parts[-1]
    assert last.tokens == (made[-1][1] if "policies" in options else (1, taken))


def test_copied_reasoning_after_a_fence_has_an_empty_token_range():
    text = Text(QWEN3, ["<think>", "</think>"], ["<think>", "``"])
    policies = Policies(unclosed_reasoning="copy")
    parser = text.parser(policies=policies, response_schema={"type": "object"})
    assert spans(parser, text.ids) == [("``", (1, 2)), ("``", (2, 2))]
    assert [part.tokens for part in parser.message.parts] == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("fmt", "tokens", "options", "made"),
    [
        # This closer is text, because the call is not JSON.
        (
            "hermes",
            ["<tool_call>", "no", "pe", "</tool", "_call>"],
            {},
            [("<tool_call>", (0, 1)), ("nope", (1, 3)), ("</tool_call>", (3, 5))],
        ),
        # Raw markers of channels are emitted, then read as headers.
        (
            "muse_glimmer",
            [" to=self<|message|>", "a\n", "b", "<|eom|>", "<|start|>", "assistant to=user", "<|x"],
            {"reasoning": "raw"},
            [(" to=self<|message|>", (0, 1)), ("a\nb", (1, 3)), ("<|eom|>", (3, 4))],
        ),
    ],
)
def test_text_has_its_own_tokens_for_any_grouping(fmt, tokens, options, made):
    text = Text(get_format(fmt), [], tokens)
    for size in (1, 2, 3, len(text.ids)):
        fed = [text.ids[at : at + size] for at in range(0, len(text.ids), size)]
        parser = text.parser(markers="text", **options)
        deltas = run(parser, fed)
        check_text_places(parser, deltas, [token.encode() for token in tokens])
        read = [(delta.text, delta.tokens) for delta in deltas]
        for shown, (start, end) in made:
            some = [one for one in read if one[1][0] >= start and one[1][1] <= end]
            assert "".join(part for part, _ in some) == shown


def test_truncated_call_has_the_tokens_of_its_arguments():
    tokens = ["[", "look_up", "(days=-7,", "among=[],", "\n", "op"]
    text = Text(get_format("pythonic"), [], tokens)
    for fed in (text.ids, [text.ids]):
        parser = text.parser(tools=[{"name": "look_up"}])
        run(parser, fed, "length")
        (call,) = parser.message.tool_calls
        assert (call.tokens, call.arguments_tokens) == ((0, 6), (2, 6))


def test_call_in_reasoning_kept_as_text_has_the_role_of_content():
    call = ['{"name": "g", ', '"arguments": {}}', "</tool_call>"]
    tokens = ["<think>", "a ", "<tool_call>", *call, " b", "</think>", "c"]
    text = Text(get_format("qwq"), [], tokens)
    policies = Policies(tool_in_reasoning="call", unknown_tool="text")
    parser = text.read(markers="text", tools=[{"name": "f"}], policies=policies)
    assert parser.message.content == "".join(["<tool_call>", *call, "c"])
    assert parser.roles == [
        *("marker", "reasoning", "content", "content", "content", "content"),
        *("reasoning", "marker", "content"),
    ]
    counts = parser.counts.content, parser.counts.reasoning
    assert [one.characters for one in counts] == [len(parser.message.content), len("a  b")]


def test_properties_include_bypassing_tokens():
    text = Text(QWEN3, ["<tool_call>"], ["Hi", " there", " <tool", "_call>", " and", " so"])
    parser = text.parser()
    ends = text.parser().ends
    for count, id in enumerate(text.ids, 1):
        parser.feed(id)
        so_far = len("".join(text.tokens[:count]))
        assert [span.end for span in parser.role_spans] == [so_far]
        ends.append(so_far)
        assert parser.ends == ends
    issues = text.parser()
    deque(map(issues.feed, text.ids), maxlen=0)
    assert [issue.kind for issue in issues.issues] == ["spelled_marker"]
    only_ends = text.parser()
    deque(map(only_ends.feed, text.ids), maxlen=0)
    assert only_ends.ends == ends


def test_reading_the_message_does_not_move_tokens():
    text = Text(QWEN3, [], ["Hi", " there", " you", " all"])
    # The texts of tokens are cached the second time.
    text.read()
    parser = text.parser()
    for place, id in enumerate(text.ids):
        (delta,) = parser.feed(id)
        assert delta.tokens == (place, place + 1)
        assert parser.message.parts[0].tokens == (0, place + 1)


HALVES = {id: bytes([id]) for id in range(256)} | {300: b"<think>", 301: b""}
HALVES = Vocabulary(HALVES, special=[300])
HALF = "é".encode()[0]


def test_token_without_text_gives_no_delta():
    parser = TokenParser(QWEN3, HALVES)
    assert [len(parser.feed(id)) for id in (97, 301, 98, 301, 301, 99)] == [1, 0, 1, 0, 0, 1]
    assert parser.ends == [1, 1, 2, 2, 2, 3]
    assert parser.counts.content.chunks == 6


def test_half_a_character_is_reported_with_its_span():
    parser = TokenParser(QWEN3, HALVES)
    run(parser, [97, 98, HALF, 97, 97, HALF, 300, 97])
    assert [issue.span for issue in parser.issues if issue.kind == "invalid_text"] == [(2, 6)]
    assert parser.message.content == "ab\ufffdaa\ufffd"


@pytest.mark.parametrize("between", [[*"é".encode()], [HALF, 300]], ids=["whole", "half"])
def test_tokens_after_half_a_character_are_recorded(between):
    ids = [97, *between, 97, 98]
    run(TokenParser(QWEN3, HALVES), ids)
    parser = TokenParser(QWEN3, HALVES, record=True)
    for id in ids:
        parser.feed(id)
    for other in (parser.fork(), TokenParser.restore(parser.snapshot(), HALVES)):
        assert other.message == parser.message
        assert other.ends == parser.ends


def test_prompt_may_start_and_end_within_a_character():
    header = b"<|im_start|>assistant\n"
    parser = TokenParser(QWEN3, HALVES, prompt=["é".encode()[1], *header, 300, HALF])
    parser.feed(97)
    assert parser.message.parts == [Reasoning("a")]


class NoDimensions:
    """A tensor without dimensions, as returned by `argmax`, whose `__iter__` raises."""

    ndim = 0

    def __init__(self, id):
        self.id = id

    def __index__(self):
        return self.id

    def __iter__(self):
        raise TypeError("iteration over a 0-d tensor")


def test_id_may_be_a_tensor_without_dimensions():
    parser = QWEN.parser()
    for id in QWEN.ids:
        parser.feed(NoDimensions(id))
    parser.finish("stop")
    assert parser.message == QWEN.read().message


@pytest.mark.parametrize("again", [False, True], ids=["new", "known"])
def test_record_has_each_token(again):
    if again:
        QWEN.read()
    whole, parser = QWEN.read(), QWEN.parser(record=True)
    for id in QWEN.ids[:-3]:
        parser.feed(id)
    for other in (parser, parser.fork(), TokenParser.restore(parser.snapshot(), QWEN.vocabulary)):
        run(other, [QWEN.ids[-3:]])
        assert (other.message, other.roles, other.ends) == (whole.message, whole.roles, whole.ends)


def test_prompt_may_be_any_iterable_of_ids():
    text = Text(QWEN3, ["<|im_start|>"], ["<|im_start|>", "assistant\n<think>\nh", "é", "!"])
    prompt, id = text.ids[:3], text.ids[3]
    for made in (prompt, tuple(prompt), iter(prompt), [*prompt[:2], *"é".encode()]):
        parser = text.parser(prompt=made, record=True)
        parser.feed(id)
        for other in (
            parser,
            parser.fork(),
            TokenParser.restore(parser.snapshot(), text.vocabulary),
        ):
            assert other.message.reasoning_content == "!"
            assert other.issues == []


def test_snapshot_requires_a_record_of_tokens():
    with pytest.raises(UsageError, match=r"^snapshot\(\) needs a record of the chunks"):
        QWEN.parser().snapshot()
    document = json.loads(QWEN.parser(record=True).snapshot())
    del document["tokens"]["spans"]
    for tokens in (None, {}, document["tokens"]):
        odd = json.dumps(document | {"tokens": tokens})
        with pytest.raises(UsageError, match="of a StreamParser: use"):
            TokenParser.restore(odd, QWEN.vocabulary)


@pytest.mark.parametrize("record", [False, True])
def test_format_property_is_the_given_format(record):
    assert TokenParser("qwen3", QWEN.vocabulary, record=record).format == QWEN3


def test_bypassing_tokens_are_settled_in_time():
    text = Text(QWEN3, [], ["a ", "b"])
    text.read()
    parser = text.parser()
    for _ in range(3 * MOST_PASSED):
        parser.feed(text.ids[0])
        assert len(parser._passed) <= MOST_PASSED
    assert parser.roles == ["content"] * 3 * MOST_PASSED
    assert parser.ends[-1] == 6 * MOST_PASSED


@pytest.mark.parametrize("wrong", ["Hi", b"Hi", ["a"], [None], None, [1.5], [True]])
def test_invalid_ids_are_refused(wrong):
    with pytest.raises(UsageError, match=r"feed\(\) takes (a token id or several|token ids), not"):
        QWEN.parser().feed(wrong)
