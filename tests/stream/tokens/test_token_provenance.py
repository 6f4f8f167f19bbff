"""The records of a token recorder, and the ranges, roles and issues derived from them."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaparse import MalformedOutput, Policies, TokenParser, Vocabulary, get_format
from deltaparse.stream.tokens.token_format import token_format
from deltaparse.stream.tokens.token_provenance import TokenRecorder

from ...strategies.token_texts import CALL, HERMES, TOOLS, Text
from ...strategies.wire_by_hand import TAGS

FMT = get_format("qwen3")


def test_span_of_one_role_is_recorded_once():
    texts = ["<think>", *["a", " <tool", " so"] * 300, "</think>", *["b", " <"] * 300, "<|im_end|>"]
    parser = Text(FMT, HERMES, texts).read()
    recorder = parser._recorder
    assert len(recorder._roles) < 10
    assert len(recorder._tail) < recorder._fmt.longest
    assert [span.role for span in parser.role_spans] == [
        *("marker", "reasoning", "marker", "content", "end")
    ]


def test_spelled_marker_is_reported_once_for_any_cut():
    spelled = "a <tool_call> b</tool_call><tool_call>"
    for size in (1, 2, 5, len(spelled)):
        texts = [spelled[at : at + size] for at in range(0, len(spelled), size)]
        text = Text(FMT, HERMES, texts)
        parser = text.parser()
        for id in text.ids:
            parser.feed(id)
            # Reading the message settles each token.
            assert parser.message.content
        issues = parser.issues
        assert issues == text.read().issues
        assert {issue.kind for issue in issues} == {"spelled_marker"}
        assert [spelled[slice(*issue.span)] for issue in issues] == [
            *("<tool_call>", "</tool_call>", "<tool_call>")
        ]


@pytest.mark.parametrize("first", ["<", "?", "!"])
def test_marker_suffix_at_the_start_is_not_a_spelled_marker(first):
    marker = f"{first}call>"
    fmt = TAGS.replace(tools={"per_call_start": marker})
    for text, count in ((marker, 1), (marker[1:], 0)):
        issues = Text(fmt, [marker], list(text)).read().issues
        assert [issue.kind for issue in issues] == ["spelled_marker"] * count


def test_stray_token_has_the_role_of_the_surrounding_text():
    text = Text(FMT, HERMES, ["a", "<|im_start|>", "b"])
    assert text.read().roles == ["content"] * 3
    text = Text(FMT, HERMES, ["<think>", "a", "<|im_start|>", "b", "</think>", "c"])
    assert text.read().roles == ["marker", *["reasoning"] * 3, "marker", "content"]
    dropped = text.read(policies=Policies(stray_token="drop"))
    assert dropped.roles == ["marker", *("reasoning", "dropped", "reasoning"), "marker", "content"]


def test_issue_quotes_special_tokens_and_keeps_backslashes():
    texts = ["a\\", "<|im_start|>", " \\\\", "<|im_end|>"]
    policies = Policies(text_after_tool_call="drop")
    parser = Text(FMT, HERMES, CALL, texts).read(tools=TOOLS, policies=policies)
    details = "".join(issue.detail for issue in parser.issues)
    assert repr("a\\<|im_start|> \\\\") in details
    spelled = ["\\ud800 ", "\\\\ud800"]
    parser = Text(FMT, HERMES, CALL, spelled).read(tools=TOOLS, policies=policies)
    assert repr("".join(spelled)) in parser.issues[0].detail


STRAY = "<|im_start|>"
PYTHONIC = get_format("pythonic")
JSON = ["<tool_call>", '{"name": "f", "arguments": {"a": "x', STRAY, " y", '"}}', "</tool_call>"]
NAME_BEHIND = [JSON[0], '{"arguments": {"a": "x', STRAY, " y", '"}, "name": "f"}', JSON[-1]]
TAGS_CODER = ["<tool_call>", "\n<function=f>\n<parameter=a>\nx", STRAY, " y\n</parameter>\n"]
TAGS_CODER += ["</function>\n", "</tool_call>"]
PYTHON = ["[f(a='x", STRAY, " y')]"]


@pytest.mark.parametrize("policy", ["repair", "text"])
@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        *(("qwen3", JSON), ("qwen3", NAME_BEHIND), ("qwen3_coder", TAGS_CODER)),
        ("pythonic", PYTHON),
    ],
)
def test_stray_token_in_arguments_is_emitted_as_its_text(name, tokens, policy):
    text = Text(get_format(name), HERMES, tokens)
    for fed in (text.ids, [text.ids]):
        parser = text.parser(tools=TOOLS, policies=Policies(malformed_arguments=policy))
        for ids in fed:
            parser.feed(ids)
        parser.finish("stop")
        (call,) = parser.message.tool_calls
        assert call.arguments == f'{{"a": "x{STRAY} y"}}'
        (issue,) = parser.issues
        start = "".join(tokens).index(STRAY)
        assert (issue.kind, issue.span) == ("stray_token", (start, start + len(STRAY)))
        assert f"'{STRAY}', token" in issue.detail
        assert issue.detail.endswith("is not a marker here, so it is kept as text")


@pytest.mark.parametrize("policy", ["repair", "text"])
@pytest.mark.parametrize("code", ["d800", "D805", "dc00", "dfff", "00e9"])
def test_escaped_surrogates_of_the_model_are_kept(policy, code):
    for spelled in (f"\\u{code}", f"\\\\u{code}"):
        tokens = [token.replace("x", f"{spelled} x") for token in JSON]
        parser = Text(FMT, HERMES, tokens).read(policies=Policies(malformed_arguments=policy))
        (call,) = parser.message.tool_calls
        assert call.arguments == f'{{"a": "{spelled} x{STRAY} y"}}'
        assert [issue.kind for issue in parser.issues] == ["stray_token"]


@pytest.mark.parametrize("backslashes", ["", r"\\", r"\\\\"])
def test_stray_token_in_python_strings_is_emitted_as_its_text(backslashes):
    tokens = [PYTHON[0] + backslashes, *PYTHON[1:]]
    text = Text(PYTHONIC, [STRAY, '"quoted"'], [*tokens[:2], '"quoted"', *tokens[2:]])
    for fed in (text.ids, [text.ids]):
        parser = text.parser(tools=TOOLS)
        for ids in fed:
            parser.feed(ids)
        (call,) = parser.message.tool_calls
        assert call.arguments == f'{{"a": "x{backslashes}{STRAY}\\"quoted\\" y"}}'


@given(st.lists(st.integers(0, 3), max_size=6), st.integers(0, 12), st.integers(-2, 9))
@example([1, 1, 1], 1, 0)
@example([1, 1, 1, 1, 1], 2, 0)
@example([1, 1, 1, 1, 1], 2, 2)
@example([1, 1, 1, 1, 1, 1], 4, 1)
@example([1, 1], 2, 0)
def test_tokens_of_a_span_are_all_that_overlap_with_the_span(sizes, behind, length):
    end = sum(sizes) - behind
    # The span may be empty, or start in the prompt.
    start = end - length
    recorder = TokenRecorder(
        token_format(FMT, Vocabulary({}), "token"), raw=False, stray="text", keeps=True
    )
    for size in sizes:
        recorder.token(size)
    ends = list(accumulate(sizes))
    assert recorder.end == sum(sizes)
    begun = max(start if start < end else end - 1, 0)
    first = next((at for at, one in enumerate(ends) if one > begun), None)
    last = next((at for at, one in enumerate(ends) if one >= end), None)
    expected = (first, last + 1) if end > 0 else None
    assert recorder.tokens(start, end) == expected


@pytest.mark.parametrize("count", [1, 3, 7, 8, 9, 40])
def test_ends_of_tokens_settled_together(count):
    texts = ["x" * (at % 4 + 1) for at in range(count)]
    parser = Text(FMT, HERMES, texts).read()
    assert parser.ends == list(accumulate(map(len, texts)))
    assert parser.roles == ["content"] * count


OUT_OF_PLACE = ["<tool_call>", "no ", STRAY, " so ", STRAY, " x", "</tool_call>", " y ", STRAY]


def test_stray_tokens_are_reported_with_their_spans():
    for text in (Text(FMT, HERMES, OUT_OF_PLACE), Text(FMT, HERMES, ["Hi", *OUT_OF_PLACE])):
        whole = "".join(text.tokens)
        parser = text.read()
        assert parser.message.content == whole
        assert {issue.kind for issue in parser.issues} == {"stray_token"}
        spans = sorted(issue.span for issue in parser.issues)
        assert [whole[slice(*span)] for span in spans] == [
            token for token in text.tokens if token in HERMES
        ]


def test_stray_tokens_in_buffered_arguments_have_their_spans():
    tokens = [*JSON[:3], "z", *JSON[2:]]
    text = Text(FMT, HERMES, tokens)
    whole = "".join(tokens)
    parser = text.read(policies=Policies(malformed_arguments="text"))
    (call,) = parser.message.tool_calls
    assert call.arguments == f'{{"a": "x{STRAY}z{STRAY} y"}}'
    assert [whole[slice(*issue.span)] for issue in parser.issues] == [STRAY, STRAY]
    assert len({issue.span for issue in parser.issues}) == 2


def test_escaped_surrogates_in_python_strings_are_kept():
    tokens = [PYTHON[0] + "\\ud9ff", *PYTHON[1:]]
    text = Text(PYTHONIC, HERMES, tokens)
    parser = text.read(tools=TOOLS, policies=Policies(malformed_arguments="text"))
    (call,) = parser.message.tool_calls
    assert call.arguments == f'{{"a": "x\\ud9ff{STRAY} y"}}'


def test_parts_have_their_token_ranges():
    tokens = ["<think>", "hm", " so", "</think>", "Hi", "!", *CALL]
    parser = Text(FMT, HERMES, tokens).read(tools=TOOLS, markers="either")
    assert [part.tokens for part in parser.message.parts] == [(1, 3), (4, 6), (6, len(tokens) - 2)]
    assert parser.issues == []


def test_spelled_call_after_special_tokens_is_reported():
    tokens = ["<think>", "hm", "</think>", *"<tool_call>", *CALL[1:-1], "</tool_call>"]
    parser = Text(FMT, HERMES, tokens).read(tools=TOOLS, markers="either")
    (issue,) = parser.issues
    assert issue.kind == "spelled_marker"
    assert "".join(tokens)[slice(*issue.span)].startswith("<tool_call>")


def test_stray_token_policy_drops_or_raises():
    text = Text(FMT, HERMES, ["a", STRAY, "b", STRAY, "c"])
    parser = text.read(policies=Policies(stray_token="drop"))
    assert parser.message.content == "abc"
    assert [issue.span for issue in parser.issues] == [(1, 13), (14, 26)]
    assert all(issue.detail.endswith("so it is dropped") for issue in parser.issues)
    with pytest.raises(MalformedOutput, match="is not a marker here") as raised:
        text.read(policies=Policies(stray_token="error"))
    assert (raised.value.kind, raised.value.span) == ("stray_token", (1, 13))


def test_attempt_names_contain_the_texts_of_special_tokens():
    for name, shown in ((["f", STRAY], f"f{STRAY}"), (["f\\ud9ff"], "f\ufffd")):
        call = ["<tool_call>", '{"name": "', *name, '", "arguments": {}}', "</tool_call>"]
        parser = Text(FMT, HERMES, call).read(tools=TOOLS)
        (attempt,) = parser.attempts
        assert attempt.name == shown
        assert f"{shown!r} is not one of the tools" in parser.issues[0].detail


def test_marker_split_by_other_tokens_is_not_a_spelled_marker():
    marker = "?call>"
    fmt = TAGS.replace(tools={"per_call_start": marker})
    gap = ["<think>", "</think>"]
    text = Text(fmt, [marker, *gap], ["a", *gap, *"call>", *gap, *"?call>"])
    assert [issue.kind for issue in text.read().issues].count("spelled_marker") == 1


def test_recorder_is_empty_without_spans():
    parser = Text(FMT, HERMES, ["<think>", "a", "</think>", *["b "] * 20]).read(spans=False)
    recorder = parser._recorder
    assert (len(recorder.ends), recorder._roles, recorder._last[:2]) == (0, [], (0, 0))
    assert recorder.end == 43


def test_arguments_begun_in_the_prompt_continue_as_arguments():
    prompt = '<|im_start|>assistant\n<tool_call>\n{"name": "f", "arguments": {"a": "lo'
    parser = Text(FMT, HERMES, ["ng", '"}', "}\n", "</tool_call>"]).read(tools=TOOLS, prompt=prompt)
    assert parser.role_spans == [(0, 4, "arguments"), (4, 18, "marker")]
    assert parser.roles == ["arguments", "arguments", "marker", "marker"]
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.arguments_tokens) == ('{"a": "long"}', (0, 2))
    assert (call.tokens, call.name_tokens) == ((0, 2), None)


def test_half_a_character_has_the_role_of_the_character():
    ids = [*"é".encode(), 300, *"é".encode(), 301, *"é".encode()]
    vocabulary = Vocabulary(
        {id: bytes([id]) for id in range(256)} | {300: b"<think>", 301: b"</think>"},
        special=[300, 301],
    )
    parser = TokenParser(FMT, vocabulary)
    parser.feed(ids)
    assert parser.roles == [
        *("content", "content", "marker", "reasoning", "reasoning", "marker", "content", "content")
    ]


def test_half_a_character_before_a_special_token_has_its_own_token():
    vocabulary = Vocabulary(
        {id: bytes([id]) for id in range(256)} | {300: b"<|im_end|>"}, special=[300]
    )
    parser = TokenParser(FMT, vocabulary)
    (delta,) = parser.feed([97, 98, 0xC3, 300])
    assert (delta.text, delta.tokens) == ("ab\ufffd", (0, 3))
    parser.finish("stop")
    assert parser.roles == ["content", "content", "content", "end"]


@pytest.mark.parametrize(
    ("head", "id", "name"),
    [
        (['{"id": "a', STRAY, '", "name": "f'], f"a{STRAY}", "f"),
        (['{"id": "a", "name": "f', STRAY], "a", f"f{STRAY}"),
        (['{"id": "f', STRAY, '", "name": "f'], f"f{STRAY}", "f"),
    ],
)
def test_token_in_an_id_or_name_is_emitted_as_its_text(head, id, name):
    tokens = ["<tool_call>", *head, '", "arguments": {}}\n', "</tool_call>"]
    parser = Text(FMT, [*HERMES, STRAY], tokens).read()
    (call,) = parser.message.tool_calls
    assert (call.id, call.name) == (id, name)
    (issue,) = [issue for issue in parser.issues if issue.kind == "stray_token"]
    assert "".join(tokens)[slice(*issue.span)] == STRAY


def test_token_in_an_id_with_the_name_is_in_both():
    tokens = ["<|tool_call_begin|>", "functions.f", STRAY, ":0"]
    tokens += ['<|tool_call_argument_begin|>{"a": 1}', "<|tool_call_end|>"]
    parser = Text(get_format("kimi_k2"), [STRAY], tokens).read(markers="text")
    (call,) = parser.message.tool_calls
    assert (call.id, call.name) == (f"functions.f{STRAY}:0", f"f{STRAY}")
    (issue,) = parser.issues
    assert (issue.kind, "".join(tokens)[slice(*issue.span)]) == ("stray_token", STRAY)


def test_marker_split_by_a_call_is_not_a_spelled_marker():
    parser = Text(FMT, HERMES, ["So <tool_"], CALL, ["call> and so"]).read(tools=TOOLS)
    assert parser.message.content == "So <tool_call> and so"
    assert "spelled_marker" not in {issue.kind for issue in parser.issues}


def test_escaped_surrogate_is_not_replaced_by_an_earlier_token():
    call = ["<tool_call>", '{"name": "f", "arguments": {"a": "', "\\udc00", '"}}', "</tool_call>"]
    text = Text(FMT, [*HERMES, "<|x|>"], ["<|x|>"], call)
    parser = text.parser(tools=TOOLS)
    parser.feed(text.ids)
    assert parser.message.tool_calls[0].arguments == '{"a": "\\udc00"}'


def test_name_like_an_escaped_surrogate_is_kept():
    for name in ("f\\ud9ff", "f\\udc00"):
        call = ["<tool_call>", f"\n<function={name}>\n", "</function>\n", "</tool_call>"]
        parser = Text(get_format("qwen3_coder"), HERMES, ["<|im_start|>", *call]).read()
        assert [one.name for one in parser.attempts] == [name]
        assert [one.name for one in parser.message.tool_calls] == [name]


@pytest.mark.parametrize("words", ["x", "x \\ud9ff "])
def test_issue_detail_contains_the_texts_of_tokens(words):
    tokens = [f'[f(a=("{words}', STRAY, "y"]
    issue = Text(get_format("pythonic"), [STRAY], tokens).read("length", tools=TOOLS).issues[0]
    assert issue.detail == f"in the call of 'f', not emitted: \"{words}{STRAY}y"


def test_call_from_the_prompt_has_no_tokens_before_its_first_delta():
    prompt = '<|im_start|>assistant\n<tool_call>\n{"name": "f", "arguments"'
    text = Text(FMT, HERMES, [":", " ", '{"a": 1}', "}\n", "</tool_call>"])
    parser, spans = text.parser(prompt=prompt), []
    for id in text.ids:
        parser.feed(id)
        spans += [part.tokens for part in parser.message.parts]
    assert spans == [None, None, *[(0, 3)] * 3]


@pytest.mark.parametrize("markers", ["token", "either"])
def test_raw_markers_are_emitted_unchanged(markers):
    tokens = ["<think>", "hm", "</think>", "Hi", STRAY, "<|x|>"]
    parser = Text(FMT, ["<think>", "</think>", STRAY, "<|x|>"], tokens).read(
        reasoning="raw", markers={"<think>": markers, "</think>": markers}
    )
    assert parser.message.content == "".join(tokens)
    assert [issue.span for issue in parser.issues] == [(31, 36)]
