"""Token roles in calls of every format family, and stray tokens."""

from __future__ import annotations

import json
from collections import deque

import pytest

from deltaparse import (
    MalformedOutput,
    Policies,
    StreamParser,
    TokenParser,
    UsageError,
    get_format,
)

from ...strategies.token_texts import CALL, HERMES, QWEN, TOOLS, Ids, Text
from ...strategies.wire_by_hand import ELEMENTS


def by_role(text, parser):
    """Return the text of each role."""
    found = {}
    for token, role in zip(text.tokens, parser.roles, strict=True):
        found[role] = found.get(role, "") + token
    return found


FAMILIES = {
    "JSON": (
        QWEN,
        {
            "content": "Hi!",
            "marker": '\n<tool_call>\n{"name": "", "arguments": }\n</tool_call>',
            "name": "f",
            "arguments": '{"a": "x"}',
            "end": "<|im_end|>",
        },
    ),
    "JSON in tags": (
        Text(
            get_format("mistral_small"),
            ["[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "</s>"],
            ["[TOOL_CALLS]", "f", "[CALL_ID]", "123456789", "[ARGS]", '{"a"', ': "x"}', "</s>"],
        ),
        {
            "marker": "[TOOL_CALLS][CALL_ID]123456789[ARGS]",
            "name": "f",
            "arguments": '{"a": "x"}',
            "end": "</s>",
        },
    ),
    "tags": (
        Text(
            get_format("qwen3_coder"),
            HERMES,
            ["<tool_call>", "\n<function=", "f", ">\n", "<parameter=", "a", ">\n", "x", "y", "\n"],
            ["</parameter>\n", "</function>\n", "</tool_call>", "<|im_end|>"],
        ),
        {
            "marker": "<tool_call>\n<function=>\n<parameter=>\n\n</parameter>\n</function>\n"
            "</tool_call>",
            "name": "f",
            "arguments": "axy",
            "end": "<|im_end|>",
        },
    ),
    "elements": (
        Text(
            ELEMENTS,
            ["<jobs>", "</jobs>", "<|end|>"],
            ["<jobs>", '<job of="', "f", '">', "<", "a", ">", "x", "</", "a>", "</job>", "</jobs>"],
        ),
        {
            "marker": '<jobs><job of="">' + "<></a></job></jobs>",
            "name": "f",
            "arguments": "ax",
        },
    ),
    "Python": (
        Text(
            get_format("olmo3"),
            ["<function_calls>", "</function_calls>", "<|im_end|>"],
            ["<function_calls>", "f", "(", "a=", '"x', '"', ")", "</function_calls>", "<|im_end|>"],
        ),
        {
            "marker": "<function_calls>()</function_calls>",
            "name": "f",
            "arguments": 'a="x"',
            "end": "<|im_end|>",
        },
    ),
    "channels": (
        Text(
            get_format("gpt_oss"),
            ["<|channel|>", "<|message|>", "<|end|>", "<|start|>", "<|call|>", "<|constrain|>"],
            ["<|channel|>", "analysis", "<|message|>", "hm", "<|end|>", "<|start|>", "assistant"],
            ["<|channel|>", "commentary", " to=functions.", "f", " ", "<|constrain|>", "json"],
            ["<|message|>", '{"a"', ': "x"}', "<|call|>"],
        ),
        {
            "marker": "<|channel|>analysis<|message|><|end|><|start|>assistant<|channel|>commentary"
            " to=functions. <|constrain|>json<|message|><|call|>",
            "reasoning": "hm",
            "name": "f",
            "arguments": '{"a": "x"}',
        },
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_each_token_of_a_call_has_its_role(name):
    text, expected = FAMILIES[name]
    parser = text.read(tools=TOOLS)
    assert by_role(text, parser) == expected
    (call,) = parser.message.tool_calls
    assert call.complete
    assert json.loads(call.arguments)["a"].startswith("x")
    first, last = call.name_tokens
    assert "".join(text.tokens[first:last]) == "f"
    first, last = call.arguments_tokens
    assert set(parser.roles[first:last]) <= {"arguments", "marker"}
    assert parser.roles[first] == parser.roles[last - 1] == "arguments"


def test_roles_are_available_before_the_end():
    parser = QWEN.parser(tools=TOOLS)
    parser.feed(QWEN.ids[:2])
    assert parser.roles == ["content", "content"]
    assert [part.tokens for part in parser.message.parts] == [(0, 2)]


def test_spelled_markers_are_text_and_reported():
    text = Text(get_format("qwen3"), HERMES, ["The ", "<tool", "_call>", " tag", "<|im_end|>"])
    parser = text.read(tools=TOOLS)
    assert parser.message.content == "The <tool_call> tag"
    assert [(issue.kind, issue.span) for issue in parser.issues] == [("spelled_marker", (4, 15))]
    # Text cannot be a marker here, so it is not buffered.
    waiting = text.parser(tools=TOOLS)
    assert [len(waiting.feed(id)) for id in text.ids[:4]] == [1, 1, 1, 1]


SPELLED = Text(get_format("qwen3"), HERMES, ["<tool", "_call>", *CALL[1:-1], "</tool", "_call>"])


def test_either_parses_and_reports_spelled_calls():
    parser = SPELLED.read(tools=TOOLS, markers="either")
    (call,) = parser.message.tool_calls
    assert call.complete
    assert [issue.kind for issue in parser.issues] == ["spelled_marker"]
    assert QWEN.read(tools=TOOLS, markers="either").issues == []
    assert len(QWEN.read(tools=TOOLS, markers="either").message.tool_calls) == 1


def test_spelling_may_be_set_by_marker():
    ways = {"<tool_call>": "either", "</tool_call>": "text"}
    parser = SPELLED.read(tools=TOOLS, markers=ways)
    assert parser.message.tool_calls[0].complete
    assert SPELLED.read(tools=TOOLS, markers="text").message.tool_calls[0].complete
    assert SPELLED.read(tools=TOOLS).message.tool_calls == []


@pytest.mark.parametrize(
    ("markers", "words"),
    [("tokens", '"either"'), ({"<call>": "text"}, "'<tool_call>'"), ({"<think>": 1}, '"token"')],
)
def test_unknown_markers_and_spellings_are_refused(markers, words):
    with pytest.raises(UsageError, match=words):
        QWEN.parser(markers=markers)


def test_special_token_in_content_is_emitted_as_its_text():
    tokens = ["a", "<|im_start|>", "b", "</tool_call>", "c"]
    text = Text(get_format("qwen3"), HERMES, tokens)
    parser = text.read()
    assert parser.message.content == "".join(tokens)
    assert [issue.kind for issue in parser.issues] == ["stray_token", "stray_token"]
    assert parser.issues[0].span == (1, 13)
    dropped = text.read(policies=Policies(stray_token="drop"))
    assert dropped.message.content == "abc"
    assert dropped.roles == ["content", "dropped", "content", "dropped", "content"]
    with pytest.raises(MalformedOutput, match="im_start"):
        text.read(policies=Policies(stray_token="error"))


def test_special_token_in_arguments_is_escaped_as_json():
    special = ['<|"|>', *HERMES]
    tokens = [*CALL[:12], '<|"|>', "x", *CALL[13:]]
    parser = Text(get_format("qwen3"), special, tokens).read(tools=TOOLS)
    (call,) = parser.message.tool_calls
    assert json.loads(call.arguments) == {"a": '<|"|>x'}
    tokens = ["<tool_call>", "<function=", "f", "><parameter=", "a", ">", "x", '<|"|>']
    tokens += ["</parameter>", "</function>", "</tool_call>"]
    parser = Text(get_format("qwen3_coder"), special, tokens).read(tools=TOOLS)
    (call,) = parser.message.tool_calls
    assert json.loads(call.arguments) == {"a": 'x<|"|>'}


def test_unknown_ids_are_refused_before_any_id_is_read():
    parser = QWEN.parser()
    for ids in ([QWEN.ids[0], 99999], 99999, -1, "Hi", 1.5, [True]):
        with pytest.raises(UsageError):
            parser.feed(ids)
    assert parser.roles == []
    assert parser.message.parts == []
    parser.finish("stop")
    with pytest.raises(UsageError, match="finish"):
        parser.feed(QWEN.ids[0])


@pytest.mark.parametrize("behind", ["<|im_end|>", ""])
def test_half_a_character_is_buffered_and_replaced_at_the_end(behind):
    ids = Ids(HERMES)
    fed = [ids.of("é".encode()[:1]), ids.of("é".encode()[1:]), ids.of("€".encode()[:2])]
    fed += [ids.of_special(behind)] if behind else []
    parser = TokenParser(get_format("qwen3"), ids.vocabulary())
    assert [[delta.tokens for delta in parser.feed(id)] for id in fed[:2]] == [[], [(0, 2)]]
    for id in fed[2:]:
        parser.feed(id)
    parser.finish("stop")
    assert parser.message.content == "é\ufffd"
    assert parser.roles[:3] == ["content"] * 3
    assert [issue.kind for issue in parser.issues] == ["invalid_text"]


@pytest.mark.parametrize("as_ids", [True, False])
def test_prompt_sets_the_state_and_the_call_ids(as_ids):
    prompt = ["<|im_start|>", "assistant", "\n", "<think>", "\n"]
    output = ["hm", "</think>", "Hi", *CALL]
    text = Text(get_format("qwen3"), HERMES, prompt, output)
    parser = text.parser(prompt=text.ids[: len(prompt)] if as_ids else "".join(prompt))
    parser.feed(text.ids[len(prompt) :])
    parser.finish("stop")
    assert parser.message.reasoning_content == "hm"
    assert parser.message.content == "Hi"
    assert parser.issues == []
    plain = StreamParser(text.fmt, prompt="".join(prompt))
    plain.feed("".join(output))
    plain.finish("stop")
    assert parser.message == plain.message


@pytest.mark.parametrize("kept", [True, False])
def test_end_of_turn_tokens_may_be_left_out(kept):
    text = Text(get_format("qwen3"), HERMES, QWEN.tokens[: None if kept else -1])
    parser = text.read(tools=TOOLS)
    assert parser.finish_reason == "tool_calls"
    assert parser.issues == []
    assert ("end" in parser.roles) is kept


def test_token_parser_can_be_forked_and_restored():
    parser = QWEN.parser(tools=TOOLS, record=True, markers={"<tool_call>": "either"})
    parser.feed(QWEN.ids[:9])
    others = [parser.fork(), TokenParser.restore(parser.snapshot(), QWEN.vocabulary)]
    for other in (parser, *others):
        other.feed(QWEN.ids[9:])
        other.finish("stop")
        assert other.message == parser.message
        assert other.roles == parser.roles
    with pytest.raises(UsageError, match="TokenParser"):
        StreamParser.restore(parser.snapshot())
    text = StreamParser(QWEN.fmt, record=True)
    with pytest.raises(UsageError, match="StreamParser"):
        TokenParser.restore(text.snapshot(), QWEN.vocabulary)


def test_tokens_are_not_recorded_without_spans():
    parser = QWEN.parser(tools=TOOLS, spans=False)
    deltas = [delta for id in QWEN.ids for delta in parser.feed(id)]
    parser.finish("stop")
    assert {delta.tokens for delta in deltas} == {None}
    assert parser.message == QWEN.read(tools=TOOLS).message
    with pytest.raises(UsageError, match="spans=True"):
        parser.roles  # noqa: B018


def test_roles_are_recorded_without_a_message():
    parser = QWEN.parser(tools=TOOLS, collect=False)
    deltas = [delta for id in QWEN.ids for delta in parser.feed(id)]
    assert all(delta.tokens for delta in deltas)
    parser.finish("stop")
    assert len(parser.roles) == len(QWEN.ids)


def test_attempts_have_token_spans():
    text = Text(get_format("qwen3"), HERMES, CALL[:11])
    (attempt,) = text.read("length", tools=TOOLS).attempts
    assert attempt.status == "truncated"
    assert attempt.tokens == (0, 11)


def test_deltas_from_text_have_no_tokens():
    (delta,) = StreamParser(get_format("qwen3")).feed("Hi")
    assert delta.tokens is None
    with pytest.raises(AttributeError, match="token"):
        delta.token  # noqa: B018


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"vocabulary": {}}, "Vocabulary"),
        ({"fmt": "x"}, "no format is called"),
        ({"fmt": 7}, "WireFormat"),
        ({"spans": 1}, "spans"),
        ({"prompt": [99999]}, "99999"),
    ],
)
def test_bad_arguments_are_refused(arguments, error):
    with pytest.raises(UsageError, match=error):
        TokenParser(**{"fmt": QWEN.fmt, "vocabulary": QWEN.vocabulary} | arguments)


def test_inserted_tags_are_not_reported_as_spelled_markers():
    text = Text(get_format("qwen3"), HERMES, ["<think>", "hm", "</think>", "Hi"])
    parser = text.read(reasoning="inline")
    assert parser.message.content == "<think>hm</think>Hi"
    assert parser.issues == []
    assert parser.roles == ["marker", "reasoning", "marker", "content"]


@pytest.mark.parametrize("whole", [True, False])
def test_error_spans_count_decoded_text(whole):
    parser = QWEN.parser(tools=[{"name": "g"}], policies=Policies(unknown_tool="error"))
    with pytest.raises(MalformedOutput, match="'f'") as raised:
        deque(map(parser.feed, [QWEN.ids] if whole else QWEN.ids), maxlen=0)
    start, end = raised.value.span
    assert "".join(QWEN.tokens)[start:end] == "f"
