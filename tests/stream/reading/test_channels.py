"""Messages in channels: their order, recorded responses, and variations by models."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    ChannelsFormat,
    CodeFormat,
    Content,
    MalformedOutput,
    Policies,
    Reasoning,
    StreamParser,
    TokenParser,
    ToolCall,
    parse,
)
from deltaparse.stream import parser as parser_module
from deltaparse.stream.reading import channels
from deltaparse.stream.reading.channel_header import MAX_HEADER
from deltaparse.stream.tokens.traced_parser import TracedParser

from ...corpus import needs_corpus, rows
from ...strategies.token_texts import Text, groups, tokenized
from ...strategies.wire_by_hand import CALL as CALL_IN_TAGS
from ...strategies.wire_by_hand import TAGS, calls, fed, kinds
from ...strategies.wire_channels import HARMONY, written
from ...support import as_joined, cuts, joined
from ..invariants import run

THINK = "<|channel|>analysis<|message|>hm<|end|>"
START = "<|start|>assistant"
CALL = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>'
FINAL = "<|channel|>final<|message|>Hello<|return|>"
INTO = "<|channel|>final<|message|>"
TOOLS = [{"name": "f"}]
PYTHON = HARMONY.replace(code=CodeFormat(function="python"))

# All chunk boundaries.


@given(case=written(), data=st.data())
def test_messages_round_trip_in_order(case, data):
    fmt, messages, wire = case
    parser, _ = run(fmt, data.draw(cuts(wire)))
    parts = [
        (part.name, json.loads(part.arguments)) if isinstance(part, ToolCall) else part
        for part in parser.message.parts
    ]
    shapes = {"content": Content, "reasoning": Reasoning}

    assert parts == [
        (message.name, message.values)
        if message.kind == "call"
        else shapes[message.kind](message.text)
        for message in messages
    ]


@pytest.mark.parametrize(
    "header",
    [
        "<|channel|>final<|message|>",
        "<|channel|>analysis<|message|>",
        '<|channel|>analysis to=functions.f<|message|>{"a": "',
        "<|channel|>analysis to=python<|message|>x",
        "<|channel|>analysis to=container.exec<|message|>x",
        "just text",
    ],
)
def test_plain_text_does_not_resume_the_reader(monkeypatch, header):
    resumes = []
    resume = StreamParser._resume
    monkeypatch.setattr(
        parser_module.StreamParser, "_resume", lambda self: resumes.append(1) or resume(self)
    )
    parser = StreamParser(PYTHON)
    parser.feed(header)
    before = len(resumes)
    for _ in range(1000):
        parser.feed("plain text, ")
    assert len(resumes) <= before + 1


# Recorded outputs.


RECORDED = [row for row in rows("vectors.jsonl") if row["template"] == "openai-gpt-oss-120b.jinja"]


@needs_corpus
@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["id"])
@pytest.mark.parametrize("no_tools", [None, []])
def test_recorded_responses_give_the_expected_message(row, no_tools):
    given, want = row["options"], row["expect"]
    parser = fed(
        HARMONY,
        row["input"],
        "length" if given["is_partial"] else "stop",
        tools=row["tools"] or no_tools,
        prompt=row["generation_prompt"],
        reasoning="raw" if given["reasoning_format"] == "none" else "separate",
        response_schema=given["json_schema"],
    )
    message = parser.message
    assert message.content == want["content"]
    assert message.reasoning_content == want["reasoning_content"]
    made = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
    expected = [(call["name"], json.loads(call["arguments"])) for call in want["tool_calls"]]
    assert made == expected


# Variations by models.

F = ("f", '{"a": 1}')
HEADERS = [
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
    "<|channel|>commentary to=functions.f<|constrain|>json<|message|>",
    "<|channel|>commentary to=functions.f json<|message|>",
    "<|channel|>analysis to=functions.f<|message|>",
    "<|channel|>final to=functions.f<|message|>",
    " to=functions.f<|channel|>commentary json<|message|>",
    " to=functions.f<|channel|>analysis<|message|>",
    "to=functions.f<|message|>",
    "<|channel|>commentary to= functions.f\n<|message|>",
    "<|constrain|>json<|channel|>commentary to=functions.f<|message|>",
    "<|start|>assistant to=functions.f<|channel|>commentary<|message|>",
    "<|start|>assistant<|channel|>commentary to=functions.f<|message|>",
    "<|start|> to=functions.f<|channel|>commentary<|message|>",
    "assistant to=functions.f<|channel|>commentary<|message|>",
    "assistant<|channel|>commentary to=functions.f<|message|>",
]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("end", ["<|call|>", "<|end|>", "<|return|>", "", "\n", START])
def test_header_may_have_its_parts_in_any_order(header, end):
    parser = fed(HARMONY, f'{THINK}{START}{header}{{"a": 1}}{end}', tools=TOOLS)
    assert calls(parser) == [F]
    assert parser.message.reasoning_content == "hm"
    assert parser.message.content == ""
    assert parser.message.tool_calls[0].complete
    assert parser.issues == []


@pytest.mark.parametrize(
    ("recipient", "tools", "made"),
    [
        ("f", TOOLS, "f"),
        ("functions.f", TOOLS, "f"),
        ("functions.f.g", None, "f.g"),
        ("f", None, None),
        ("functions.", None, None),
        ("container.exec", TOOLS, None),
        ("python", TOOLS, None),
    ],
)
def test_recipient_decides_if_a_message_is_a_call(recipient, tools, made):
    text = f'<|channel|>commentary to={recipient}<|message|>{{"a": 1}}<|call|>'
    parser = fed(HARMONY, text, tools=tools)
    assert [name for name, _ in calls(parser)] == ([made] if made else [])
    assert parser.message.content == ""
    assert kinds(parser) == ([] if made else ["foreign_recipient"])
    assert all('{"a": 1}' in issue.detail for issue in parser.issues)


@pytest.mark.parametrize("recipient", ["tools.f", "a.b.f"])
def test_foreign_namespace_is_removed_and_reported(recipient):
    text = f'<|channel|>commentary to={recipient}<|message|>{{"a": 1}}<|call|>'
    parser = fed(HARMONY, text, tools=TOOLS)
    assert calls(parser) == [F]
    (issue,) = parser.issues
    assert (issue.kind, recipient in issue.detail) == ("odd_header", True)


@pytest.mark.parametrize("recipient", ["assistant", "user", "all"])
def test_message_to_the_reader_follows_its_channel(recipient):
    text = f"<|channel|>{{}} to={recipient}<|message|>Hello<|end|>"
    assert fed(HARMONY, text.format("final")).message.parts == [Content("Hello")]
    assert fed(HARMONY, text.format("analysis")).message.parts == [Reasoning("Hello")]


def test_recipient_is_a_function_without_channels():
    fmt = HARMONY.replace(channels={"channel": "", "constrain": ""})
    parser = fed(fmt, f'{START} to=f<|message|>{{"a": 1}}<|call|>')
    assert (calls(parser), kinds(parser)) == ([F], [])


def test_namespace_alone_is_not_a_function():
    fmt = HARMONY.replace(channels={"channel": "", "constrain": ""})
    parser = fed(fmt, "to=functions.<|message|>{}<|call|>")
    assert (calls(parser), kinds(parser)) == ([], ["foreign_recipient"])
    (tried,) = fed(fmt, "to=functions.", "length").attempts
    assert (tried.name, tried.status) == ("", "truncated")


def test_the_last_channel_and_the_last_recipient_count():
    text = f"{THINK}{START}<|channel|>analysis to=f<|channel|>final to=user<|message|>Hello"
    parser = fed(HARMONY, text)
    assert parser.message.parts == [Reasoning("hm"), Content("Hello")]
    assert kinds(parser) == ["odd_header"]


def test_messages_are_separate_and_in_order():
    preamble = "<|channel|>commentary<|message|>I look.<|end|>"
    text = START.join([THINK, THINK.replace("hm", "so"), preamble, CALL, THINK, CALL, FINAL])
    parser = fed(HARMONY, text)
    first, second = (part for part in parser.message.parts if isinstance(part, ToolCall))
    parts = [Reasoning("hm"), Reasoning("so"), Content("I look."), first, Reasoning("hm"), second]
    assert parser.message.parts == [*parts, Content("Hello")]
    assert parser.issues == []


@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        " Hello",
        "Hello <|return|>",
        "assistant",
        "assistants know",
        "to",
        "to be or not",
        "<|chan",
        "<|channels|>",
        "Hello <|message",
        "a < b",
    ],
)
def test_text_in_place_of_a_header_is_content(text):
    for reason in ("stop", "length"):
        parser = fed(HARMONY, text, reason)
        assert parser.message.parts == [Content(text.removesuffix("<|return|>"))]
        assert parser.issues == []


def test_header_after_text_is_recognized():
    text = f"Hello<|channel|>analysis<|message|>hm<|end|>{START}Well<|message|>Bye<|return|>"
    parser = fed(HARMONY, text)
    assert parser.message.reasoning_content == "hm"
    assert parser.message.content == "HelloWellBye"
    bye = text.index("<|message|>Bye")
    assert [(issue.kind, issue.span) for issue in parser.issues] == [
        ("odd_header", (bye, bye + 11))
    ]


def test_header_without_its_first_marker_is_reported():
    parser = fed(HARMONY, f"analysis<|message|>hm<|end|>{START}<|message|>Bye<|return|>")
    assert (parser.message.content, kinds(parser)) == ("analysishmBye", ["odd_header"])
    assert fed(HARMONY, "<|message|>Bye<|return|>").issues == []


def test_end_markers_do_not_leak():
    for ends in ("<|return|>" * 3, "<|end|><|return|>", " <|return|>\n<|call|>\n"):
        parser = fed(HARMONY, FINAL + ends)
        assert (parser.message.content, parser.issues) == ("Hello", [])
        parser = fed(HARMONY, CALL + ends)
        assert (parser.message.content, calls(parser), parser.issues) == ("", [F], [])


@pytest.mark.parametrize("policy", ["keep", "drop", "error"])
def test_text_after_a_call(policy):
    policies = Policies(text_after_tool_call=policy)
    if policy == "error":
        with pytest.raises(MalformedOutput):
            parse(CALL + "Done.", HARMONY, policies=policies)
        return
    for text in (CALL + "Done.", CALL.replace("<|call|>", "Done.<|call|>")):
        parser = fed(HARMONY, text, policies=policies)
        assert parser.message.content == ("Done." if policy == "keep" else "")
        assert kinds(parser) == ["text_after_tool_call"]
    # A message after a call does not count as text after it.
    parser = fed(HARMONY, CALL + START + FINAL, policies=policies)
    assert (parser.message.content, parser.issues) == ("Hello", [])


def test_message_without_an_end_ends_at_the_next_message():
    text = START.join(part[: part.rindex("<")] for part in (THINK, CALL, FINAL))
    parser = fed(HARMONY, text)
    (call,) = parser.message.tool_calls
    assert parser.message.parts == [Reasoning("hm"), call, Content("Hello")]
    assert call.complete
    assert parser.issues == []


@pytest.mark.parametrize("options", [{"tools": []}, {"tools": TOOLS, "tool_choice": "none"}])
def test_call_without_tools_is_content(options):
    parser = fed(HARMONY, f"{THINK}{START}{CALL}", **options)
    assert parser.message.parts == [Reasoning("hm"), Content(CALL.removesuffix("<|call|>"))]
    assert parser.finish_reason == "stop"
    parser = fed(HARMONY, CALL.partition("ctions")[0], "length", **options)
    assert (kinds(parser), parser.attempts) == (["odd_header"], [])


def test_message_of_another_role_is_only_reported():
    result = "<|start|>functions.f to=assistant<|channel|>commentary<|message|>12<|end|>"
    parser = fed(HARMONY, CALL + result + START + FINAL)
    assert (parser.message.content, calls(parser)) == ("Hello", [F])
    assert kinds(parser) == ["foreign_role"]
    assert "12" in parser.issues[0].detail
    user = "<|start|>user<|message|>And now?<|end|>"
    assert fed(HARMONY, FINAL + user).message.content == "Hello"
    assert fed(HARMONY, FINAL + "<|start|>user says").message.content == "Hellouser says"


def test_tokens_of_a_message_of_another_role_are_dropped():
    special = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>"]
    own = ["<|channel|>", "final", "<|message|>", "Hello", "<|end|>"]
    tool = ["<|start|>", "functions.f", "<|channel|>", "commentary", "<|message|>", "12", "<|end|>"]
    roles = Text(HARMONY, special, own + tool).read().roles
    assert roles == [*["marker"] * 3, "content", *["marker"] * 2, *["dropped"] * 5, "marker"]


def test_any_role_is_accepted_without_headers():
    fmt = HARMONY.replace(turn={"headers": ()})
    assert fed(fmt, f"<|start|>model{THINK}<|start|>ai{FINAL}").message.parts == [
        Reasoning("hm"),
        Content("Hello"),
    ]
    fmt = HARMONY.replace(turn={"headers": ("[INST] model:\n",)}, channels={"start": ""})
    assert fed(fmt, f"{THINK}model{FINAL}").message.content == "Hello"


# Headers without a message.


@pytest.mark.parametrize(
    ("text", "reason", "kind", "content"),
    [
        ("<|channel|>final", "length", "odd_header", ""),
        ("<|channel|>final", "stop", "odd_header", ""),
        ("<|channel|>final<|end|>", "stop", "odd_header", ""),
        ("<|channel|>commentary to=funct", "length", "truncated_call", ""),
        ("<|channel|>commentary to=funct", None, "truncated_call", ""),
        ("<|channel|>final Hello there", "length", "odd_header", ""),
        ("<|channel|>final Hello there", "stop", "odd_header", "<|channel|>final Hello there"),
        ("<|channel|>final Hello<|end|>", "stop", "odd_header", "<|channel|>final Hello"),
        ("<|channel|>" + "x " * 2000, "stop", "odd_header", "<|channel|>" + "x " * 2000),
    ],
)
def test_a_header_without_a_message(text, reason, kind, content):
    parser = fed(HARMONY, text, reason)
    assert parser.message.content == content
    assert kinds(parser) == [kind]
    assert parser.finish_reason == ("length" if reason != "stop" else "stop")


def test_unknown_words_in_a_header_are_reported():
    parser = fed(HARMONY, "<|channel|>final I think so<|message|>Hello")
    assert parser.message.content == "Hello"
    (issue,) = parser.issues
    assert issue.kind == "odd_header"
    assert "I think so" in issue.detail


# Reasoning elsewhere.


def test_inline_and_raw_reasoning():
    text = START.join([THINK, THINK, CALL, FINAL])
    inline = fed(HARMONY, text, reasoning="inline").message
    assert inline.content == "<think>hm</think>" * 2 + "Hello"
    assert fed(HARMONY, text, reasoning="raw").message.content == THINK * 2 + "Hello"
    assert fed(HARMONY, THINK[:-5], "length", reasoning="raw").message.content == THINK[:-5]
    assert fed(HARMONY, THINK[:-7], "length", reasoning="inline").message.content == (
        "<think>hm</think>"
    )


@pytest.mark.parametrize("policy", ["reasoning", "copy", "error"])
def test_unclosed_reasoning_follows_the_policy(policy):
    policies = Policies(unclosed_reasoning=policy)
    text = THINK.removesuffix("<|end|>")
    if policy == "error":
        with pytest.raises(MalformedOutput):
            parse(text, HARMONY, policies=policies)
        return
    parser = fed(HARMONY, text, policies=policies)
    assert kinds(parser) == ["unclosed_reasoning"]
    assert parser.message.content == ("hm" if policy == "copy" else "")


# The state set by the prompt.


@pytest.mark.parametrize(
    ("prefill", "output", "parts"),
    [
        ("", FINAL, [Content("Hello")]),
        ("<|channel|>", FINAL.removeprefix("<|channel|>"), [Content("Hello")]),
        ("<|channel|>analysis<|message|>", "hm<|end|>" + START + FINAL, None),
        ("<|channel|>analysis<|message|>I", "hm<|end|>" + START + FINAL, None),
        (THINK + START, FINAL, [Content("Hello")]),
        ("<|channel|>final<|message|>So: ", "Hello<|return|>", [Content("Hello")]),
    ],
)
def test_prompt_sets_the_state(prefill, output, parts):
    prompt = f"<|start|>user<|message|>Hi <|call|><|end|>{START}{prefill}"
    message = fed(HARMONY, output, prompt=prompt).message
    assert message.parts == (parts or [Reasoning("hm"), Content("Hello")])


def test_call_started_in_the_prompt_is_complete():
    prompt = f'{START}<|channel|>commentary to=functions.f<|message|>{{"a": '
    parser = fed(HARMONY, "1}<|call|>", prompt=prompt)
    assert [(call.name, call.arguments) for call in parser.message.tool_calls] == [
        ("f", '{"a": 1}')
    ]


@pytest.mark.parametrize("behind", ["Wait: ", "Wait <|ca", " ", "Wait \n"])
def test_prompt_text_after_a_call_is_not_emitted(behind):
    message = fed(HARMONY, "Hello", prompt=f"{START}{CALL}{behind}").message
    assert message.parts == [Content("Hello")]


# Arguments.


@pytest.mark.parametrize(
    ("body", "arguments", "complete", "kind"),
    [
        ("{'a': True,}", '{"a": true}', True, "repaired_arguments"),
        ('{"a": [1<|call|>', '{"a": [1]}', True, "repaired_arguments"),
        ('{"a": 1}}<|call|>', '{"a": 1}', True, "repaired_arguments"),
        ('"{\\"a\\": 1}"<|call|>', '{"a": 1}', True, None),
        ("null<|call|>", "{}", True, None),
        ("<|call|>", "{}", True, "missing_arguments"),
        ("", "", False, "truncated_call"),
        ('{"a": "x', '{"a": "x', False, "truncated_call"),
        ("print(1)<|call|>", "", False, "malformed_arguments"),
        ("[1, 2]<|call|>", "", False, "malformed_arguments"),
        ('{"a": oops}<|call|>', '{"a": ', False, "malformed_arguments"),
    ],
)
def test_arguments_are_repaired_or_reported(body, arguments, complete, kind):
    text = f"<|channel|>commentary to=functions.f<|message|>{body}"
    parser = fed(HARMONY, text)
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == (arguments, complete)
    assert kinds(parser) == ([kind] if kind else [])
    assert parser.message.content == ""


@pytest.mark.parametrize("body", ["print(1)", '{"a": oops}', "[1]"])
def test_malformed_arguments_as_text(body):
    text = f"<|channel|>commentary to=functions.f<|message|>{body}<|call|>"
    policies = Policies(malformed_arguments="text")
    parser = fed(HARMONY, f"{text}{START}{FINAL}", policies=policies)
    assert parser.message.content == text + "Hello"
    assert parser.finish_reason == "stop"
    assert fed(HARMONY, CALL, policies=policies).message.tool_calls[0].arguments == F[1]


def test_markers_in_a_string_are_text():
    body = '{"a": "<|call|><|start|>assistant<|end|>"}'
    parser = fed(HARMONY, CALL.replace('{"a": 1}', body))
    assert calls(parser) == [("f", body)]


def test_the_end_marker_may_be_the_stop_string():
    for reason, finish in (("stop", "tool_calls"), (None, "tool_calls"), ("length", "length")):
        parser = fed(HARMONY, CALL.removesuffix("<|call|>"), reason)
        assert parser.finish_reason == finish
        assert parser.message.tool_calls[0].complete


def test_policies_on_calls():
    text = CALL.replace("functions.f", "functions.g")
    parser = fed(HARMONY, text, tools=TOOLS)
    assert (calls(parser)[0][0], kinds(parser)) == ("g", ["unknown_tool"])
    assert text[slice(*parser.issues[0].span)] == "g"
    policies = Policies(unknown_tool="text")
    parser = fed(HARMONY, text + START + CALL, tools=TOOLS, policies=policies)
    assert (parser.message.content, calls(parser)) == (text, [F])
    for before, kind in (("", "text_after_end"), (CALL + START, "text_after_tool_call")):
        parser = fed(HARMONY, before + text + "Done.", tools=TOOLS, policies=policies)
        assert (parser.message.content, kinds(parser)) == (text + "Done.", ["unknown_tool", kind])
    twice = CALL + START + CALL.replace("1", "2")
    policies = Policies(extra_calls="drop")
    parser = fed(HARMONY, twice, parallel_tool_calls=False, policies=policies)
    assert calls(parser) == [F]
    assert '{"a": 2}' in parser.issues[-1].detail
    policies = Policies(extra_calls="text")
    parser = fed(HARMONY, twice, parallel_tool_calls=False, policies=policies)
    assert '{"a": 2}' in parser.message.content
    assert parser.message.tool_calls[0].id != fed(HARMONY, twice).message.tool_calls[1].id


# Code.


code_texts = st.text('x"\\\n\t{}<|é😀 ()', max_size=20).filter(
    lambda code: code.strip() and "<|" not in code and code.lstrip(" \t\n")[0] != "{"
)


@given(code=code_texts, data=st.data())
def test_code_is_an_argument_verbatim(code, data):
    text = f"{THINK}{START}<|channel|>commentary to=python code<|message|>{code}<|call|>"
    parser, deltas = run(PYTHON, data.draw(cuts(text)))
    (call,) = parser.message.tool_calls
    assert json.loads(call.arguments) == {"code": code}
    assert call.complete
    assert parser.issues == []
    assert joined(deltas) == as_joined(parser.message)


def test_code_streams():
    parser = StreamParser(PYTHON)
    parser.feed("<|channel|>analysis to=functions.python<|message|>")
    emitted = "".join(delta.arguments for text in ("x", ' = "', "y") for delta in parser.feed(text))
    assert emitted == '{"code": "x = \\"y'
    assert "".join(delta.arguments for delta in parser.finish("stop")) == '"}'


@pytest.mark.parametrize(
    ("tools", "kind"),
    [(None, None), ([{"name": "python"}], None), (TOOLS, "foreign_recipient")],
)
def test_code_is_for_its_function_only(tools, kind):
    text = "<|channel|>analysis to=python<|message|>\n print(1)\n"
    parser = fed(PYTHON, text, tools=tools)
    assert kinds(parser) == ([kind] if kind else [])
    wanted = [] if kind else [("python", '{"code": "\\n print(1)\\n"}')]
    assert calls(parser) == wanted
    parser = fed(PYTHON, text.replace("print(1)", '{"code": "x"}'), tools=tools)
    assert calls(parser) == ([] if kind else [("python", '{"code": "x"}')])


def test_truncated_code_is_not_complete():
    text = "<|channel|>analysis to=python<|message|>print("
    parser = fed(PYTHON, text, "length")
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == ('{"code": "print(', False)
    assert call.healed() == {"code": "print("}
    assert kinds(parser) == ["truncated_call"]
    parser = fed(PYTHON, text, "length", policies=Policies(malformed_arguments="text"))
    assert parser.message.content == text


def test_format_with_only_a_message_marker_is_parsed():
    fmt = HARMONY.replace(channels=ChannelsFormat(message="<|message|>"))
    assert fed(fmt, "<|message|>a<|return|>b").message.content == "a<|return|>b"


def test_where_returns_the_active_sub_parsers():
    parser = StreamParser(HARMONY)
    parser.feed(CALL[:-12])
    assert parser.where() == (
        "channel_turn > to_function > call > object > json_arguments > repaired_json > json_value"
    )


@pytest.mark.parametrize("several", [False, True])
def test_header_after_the_end_continues_the_turn(several):
    fmt = HARMONY.replace(turn={"ends": ("<|end|>",), "several_messages": several})
    parser = fed(fmt, THINK + START + CALL, tools=TOOLS)
    assert calls(parser) == [("f", '{"a": 1}')]
    assert kinds(parser) == ([] if several else ["text_after_end"])
    assert kinds(fed(fmt, THINK + CALL, tools=TOOLS)) == ["text_after_end"]


@pytest.mark.parametrize(
    ("before", "behind", "issues"),
    [
        (f"{THINK}{START}{CALL}", f"{START}{CALL}", []),
        (f"{THINK}{START}{CALL}{START}", FINAL, []),
        (FINAL, f"{START}{CALL}", ["text_after_end"]),
        (FINAL, CALL, ["text_after_end"]),
        (FINAL, f"{START}{THINK}{START}{CALL}", ["text_after_end"]),
        (CALL.replace("<|call|>", "<|return|>"), f"{START}{CALL}", ["text_after_end"]),
        (FINAL, f"{START}{FINAL}", ["text_after_end"]),
        (THINK.replace("<|end|>", "<|return|>"), f"{START}{CALL}", ["text_after_end"]),
        (CALL.replace("<|call|>", "<|return|>"), " So.", ["text_after_end"]),
        (CALL, " So.", ["text_after_tool_call"]),
        (FINAL, "<|end|>\n", []),
    ],
)
def test_text_after_the_turn_end_is_reported(before, behind, issues):
    parser = fed(HARMONY, before + behind, tools=TOOLS)
    assert kinds(parser) == issues
    alone = fed(HARMONY, behind.removeprefix(START), tools=TOOLS)
    assert parser.message.content.endswith(alone.message.content.strip())
    count = (before + behind).count("<|constrain|>")
    assert calls(parser) == [F] * count


OWN = HARMONY.replace(tools=TAGS.tools)
"""A format with tagged calls in messages to functions."""
TO_F = "<|channel|>commentary to=f<|message|>"


def test_message_to_a_function_may_hold_tagged_calls():
    for between in (None, "", "\n", " \n\n"):
        text = CALL_IN_TAGS if between is None else CALL_IN_TAGS + between + CALL_IN_TAGS
        parser = fed(OWN, f"{TO_F}{text}<|call|>")
        assert calls(parser) == [("f", '{"a": 1}')] * text.count("<call>")
        assert (parser.message.content, parser.issues) == ("", [])


@pytest.mark.parametrize("space", [" ", "\n\n"])
def test_whitespace_before_a_tagged_call_in_a_message(space):
    parser = fed(OWN, f"{TO_F}{space}{CALL_IN_TAGS}<|call|>")
    assert (calls(parser), parser.message.content, parser.issues) == ([F], "", [])


def test_message_truncated_at_its_call_has_an_incomplete_call():
    parser = fed(OWN, TO_F + "<ca", "length")
    assert [(call.name, call.complete) for call in parser.message.tool_calls] == [("f", False)]
    assert kinds(parser) == ["truncated_call"]
    unknown = fed(OWN, TO_F + "<ca", "length", tools=[{"name": "g"}]).issues[1]
    start = TO_F.index("f<|message|>")
    assert (unknown.kind, unknown.span) == ("unknown_tool", (start, start + 1))
    # The header has the name, so the call is known before its own name.
    begins_another = OWN.replace(tools={"section_start": "<call>s", "section_end": "</call>s"})
    for fmt in (OWN, begins_another):
        (tried,) = fed(fmt, TO_F + "<call>", "length").attempts
        assert (tried.name, tried.status) == ("f", "truncated")


@pytest.mark.parametrize("policy", ["keep", "drop"])
def test_message_to_a_function_without_a_call_is_content(policy):
    text = TO_F + "what"
    policies = Policies(text_after_tool_call=policy)
    parser = fed(OWN, text + "<|end|>", policies=policies)
    assert (parser.message.content, parser.issues) == (text, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("final x", "kept as content"),
        ("final", "left out"),
        ("final x to=f", "kept as content"),
        ("final to=f", "kept as content"),
        ("final to=functions.f", "kept as content"),
    ],
)
@pytest.mark.parametrize("end", ["<|end|>", "<|return|>"])
def test_header_without_a_message_is_reported(text, said, end):
    fmt = HARMONY.replace(turn={"ends": ("<|return|>", "<|return|>all")})
    parser = fed(fmt, f"<|channel|>{text}{end}")
    (issue,) = parser.issues
    assert said in issue.detail
    assert (parser.message.content or "") == (f"<|channel|>{text}" if "kept" in said else "")


def test_turn_end_before_text_is_reported_as_content():
    (issue,) = fed(HARMONY, "a<|return|>b").issues
    assert (issue.kind, issue.span) == ("text_after_end", (1, 11))
    assert "is content" in issue.detail


def test_turn_end_after_a_line_break_is_reported():
    fmt = HARMONY.replace(turn={"ends": ("\n<|stop|>",)})
    for head in ("", INTO):
        parser = fed(fmt, head + "a\n<|stop|>b")
        assert parser.message.content == "a\n<|stop|>b"
        (issue,) = parser.issues
        assert (issue.kind, issue.span) == ("text_after_end", (len(head) + 2, len(head) + 10))


def test_text_in_later_messages_is_text_after_the_call():
    parser = fed(HARMONY, CALL + "x<|end|>y")
    assert parser.message.content == "xy"
    assert kinds(parser) == ["text_after_tool_call"] * 2


def test_marker_prefixing_another_may_end_a_response():
    fmt = HARMONY.replace(channels={"constrain": "<|channel|>as"})
    parser = fed(fmt, CALL.replace("<|constrain|>", "<|channel|>as") + "<|channel|>")
    assert (calls(parser), kinds(parser)) == ([F], ["odd_header"])


@pytest.mark.parametrize("space", [1, 250])
def test_whitespace_between_an_end_and_a_header_is_not_content(space):
    parser = fed(HARMONY, FINAL + " " * space + START)
    assert (parser.message.content, parser.issues) == ("Hello", [])


def test_messages_after_a_json_call_are_read():
    parser = fed(HARMONY, CALL + START + FINAL, calls="json", tools=TOOLS)
    assert (calls(parser), parser.message.content) == ([("f", '{"a": 1}')], "Hello")


@pytest.mark.parametrize("words", [0, 1, 2, 3])
def test_header_with_several_unknown_words_is_odd(words):
    parser = fed(HARMONY, f"<|channel|>final{' w' * words}<|message|>hi")
    assert parser.message.content == "hi"
    assert kinds(parser) == ["odd_header"] * (words > 1)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_header_length_is_limited(more):
    header = "<|channel|>" + "x" * (MAX_HEADER - len("<|channel|>") + more)
    parser = run(HARMONY, [header + "<|message|>hi"])[0]
    assert parser.message.content == ("hi" if more < 0 else header + "hi")
    # The extra character is text between the header and the message marker.
    assert kinds(parser) == ["odd_header"] * (more + 1)


def test_too_long_header_is_content_immediately():
    parser = StreamParser(HARMONY)
    header = "<|channel|>" + "x" * (MAX_HEADER - len("<|channel|>"))
    assert parser.feed(header[:-1]) == []
    assert joined(parser.feed(header[-1])).content == header


@pytest.mark.parametrize(
    ("namespace", "before", "name"),
    [("functions.", "  functions.", "g"), ("functions.", "   ", "to"), ("fn_", "  fn_", "g")],
    ids=["a name", "a name that is the marker", "a name that is a part of a word"],
)
def test_unknown_recipient_has_its_span(namespace, before, name):
    fmt = HARMONY.replace(function={"namespace": namespace}, channels={"channel": ""})
    text = f"to={before}{name} <|message|>{{}}<|call|>"
    (issue,) = fed(fmt, text, tools=TOOLS).issues
    start = text.index(f"{name} <|message|>")
    assert (issue.kind, issue.span) == ("unknown_tool", (start, start + len(name)))


def test_unknown_recipient_after_a_channel_has_its_span():
    text = "<|channel|>commentary to=  functions.g <|message|>{}<|call|>"
    (issue,) = fed(HARMONY, text, tools=TOOLS).issues
    assert (issue.kind, issue.span[0]) == ("unknown_tool", text.index("g <|message|>"))


def test_empty_recipient_is_the_reader():
    text = "<|channel|>final to=<|message|>Hello<|return|>"
    parser = fed(HARMONY, text, tools=TOOLS)
    assert (parser.message.parts, parser.issues) == ([Content("Hello")], [])


HEADER = "<|channel|>commentary to=functions.f<|message|>"


@pytest.mark.parametrize("tools", [None, TOOLS], ids=["any tools", "tools"])
@pytest.mark.parametrize("cut", range(1, len("<|message|>") + 1))
def test_truncated_marker_is_not_part_of_the_name(cut, tools):
    (tried,) = fed(HARMONY, HEADER[:-cut], "length", tools=tools).attempts
    assert (tried.name, tried.status) == ("f", "truncated")
    assert tried.span == (0, len(HEADER) - cut)


@pytest.mark.parametrize("end", ["", " ", "<|mess"])
def test_truncated_name_is_reported_as_far_as_known(end):
    (tried,) = fed(HARMONY, "<|channel|>commentary to=functions.get_we" + end, "length").attempts
    assert tried.name == "get_we"
    (tried,) = fed(HARMONY, "<|channel|>commentary to=<|mess", "length").attempts
    assert tried.name == ""
    (tried,) = fed(HARMONY, "<|channel|>commentary to=functions.f<<|channel|>", "length").attempts
    assert tried.name == "f<"
    (tried,) = fed(HARMONY.replace(channels={"channel": ""}), "to=<|mess", "length").attempts
    assert tried.name == ""


def test_role_repeated_after_the_prompt_is_dropped():
    parser = fed(HARMONY, f"assistant{FINAL}")
    assert (parser.message.content, parser.issues) == ("Hello", [])


def test_call_after_the_turn_end_is_reported_with_its_header():
    parser = fed(HARMONY, FINAL + START + HEADER + "{}<|call|>")
    (issue,) = parser.issues
    start = len(FINAL + START)
    assert (issue.kind, issue.span) == ("text_after_end", (start, start + len(HEADER)))
    assert issue.detail == "a call follows the end of the turn"
    assert calls(parser) == [("f", "{}")]


@pytest.mark.parametrize("end", ["<|call|>", "<|end|>", ""])
@pytest.mark.parametrize("space", ["", "\n"])
def test_end_of_a_text_call_is_text(end, space):
    text = HEADER + "{}" + end
    policies = Policies(unknown_tool="text")
    fmt = HARMONY.replace(channels={"start": f"{space}<|start|>"})
    parser = fed(fmt, text + space + START + FINAL, tools=[{"name": "g"}], policies=policies)
    assert parser.message.parts == [Content(text), Content("Hello")]
    (issue,) = parser.issues
    assert (issue.kind, issue.span[0]) == ("unknown_tool", text.index("f<|message|>"))


def test_call_in_reasoning_channel_without_tools_is_content():
    text = HEADER.replace("commentary", "analysis") + "{}"
    parser = fed(HARMONY, text, tools=TOOLS, tool_choice="none")
    assert parser.message.parts == [Content(text)]


@pytest.mark.parametrize("body", ["[1]", "oops"])
def test_body_without_an_object_leaves_an_empty_call(body):
    parser = fed(HARMONY, HEADER + body + "<|call|>")
    (call,) = parser.message.tool_calls
    assert (call.name, call.arguments, call.complete) == ("f", "", False)
    assert call.span == (0, len(HEADER + body))
    (issue,) = parser.issues
    assert issue.detail.startswith("not a JSON object in the call of 'f'")


def test_call_without_an_object_is_emitted_at_once():
    parser = StreamParser(HARMONY)
    assert [delta.name for delta in parser.feed(HEADER + "oops")] == ["f"]


def test_extra_brackets_after_arguments_are_removed():
    parser = fed(HARMONY, HEADER + "{}} ]x<|call|>")
    assert (calls(parser), parser.message.content) == ([("f", "{}")], "x")
    assert [(issue.kind, issue.detail) for issue in parser.issues] == [
        ("repaired_arguments", "left out: '}]'"),
        ("text_after_tool_call", "kept as content"),
    ]
    strict = fed(HARMONY, HEADER + "{}}<|call|>", policies=Policies(malformed_arguments="strict"))
    assert (calls(strict), strict.message.content) == ([("f", "{}")], "}")
    (issue,) = fed(HARMONY, HEADER + '{"a": oops}}<|call|>').issues
    assert issue.kind == "malformed_arguments"


@pytest.mark.parametrize("end", ["]stop]", "}stop}", "\n]stop]"])
@pytest.mark.parametrize("body", ["{}", "oops"])
def test_marker_with_a_bracket_is_not_an_extra_bracket(end, body):
    for ends in ({"channels": {"ends": (end,)}}, {"turn": {"ends": (end,)}}):
        parser = fed(HARMONY.replace(**ends), HEADER + body + end)
        assert (calls(parser), parser.message.content) == ([("f", body.strip("ops"))], "")
        assert kinds(parser) == ["malformed_arguments"] * (body == "oops")


def test_turn_end_has_its_own_role():
    text = FINAL + START + FINAL
    parser = TracedParser(HARMONY)
    parser.feed(text)
    parser.finish("stop")
    ends = [text[start:end] for start, end, role in parser.role_spans if role == "end"]
    assert ends == ["<|return|>", "<|return|>"]


def test_message_to_another_recipient_is_reported_with_its_header():
    text = "<|channel|>final to=bob<|message|>psst"
    parser = fed(HARMONY, text + "<|end|>" + START + FINAL)
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == ("foreign_recipient", (0, len(text)))
    assert parser.message.content == "Hello"


def test_foreign_message_is_reported_once(monkeypatch):
    def breaks(*_):
        raise ZeroDivisionError

    parser = StreamParser(HARMONY)
    parser.feed("<|channel|>final to=bob<|message|>psst<|end|>")
    monkeypatch.setattr(channels, "read_header", breaks)
    parser.feed(START + FINAL)
    told = [(issue.kind, "psst" in issue.detail) for issue in parser.issues]
    assert told == [("foreign_recipient", True), ("internal_error", False)]


@pytest.mark.parametrize("space", ["", "\n"])
def test_raw_reasoning_ended_by_a_message_has_no_end_marker(space):
    fmt = HARMONY.replace(channels={"start": f"{space}<|start|>"})
    text = "<|channel|>analysis<|message|>hm"
    parser = fed(fmt, f"{text}{space}{START}{FINAL}", reasoning="raw")
    content = "".join(part.text for part in parser.message.parts)
    assert content == text + "Hello"
    shown = fed(HARMONY, f"{text}<|end|>{START}{FINAL}", reasoning="raw").message.content
    assert shown == f"{text}<|end|>Hello"


def test_turn_end_inside_another_ends_a_message():
    parser = fed(HARMONY.replace(turn={"ends": ("~~",)}), "<|channel|>final<|message|>a~~~")
    assert parser.message.content == "a~"


@pytest.mark.parametrize(
    ("fmt", "recipient"),
    [
        (PYTHON, "functions.python"),
        (HARMONY.replace(code=CodeFormat(start="<|code|>", function="python")), "f"),
    ],
)
def test_code_is_an_argument_of_the_code_tool_only(fmt, recipient):
    text = f"<|channel|>analysis to={recipient}<|message|>x = 1<|call|>"
    assert calls(fed(fmt, text, tools=TOOLS)) == [(recipient.removeprefix("functions."), "")]


def test_code_needs_its_own_marker():
    fmt = HARMONY.replace(code=CodeFormat(start="<|code|>", function="python"))
    parser = fed(fmt, "<|channel|>analysis to=python<|message|>x = 1<|call|>")
    assert (calls(parser), kinds(parser)) == ([("python", "")], ["malformed_arguments"])


@pytest.mark.parametrize("name", ["functions.f", "python"])
def test_call_truncated_before_its_body_is_reported(name):
    parser = fed(PYTHON, f"<|channel|>analysis to={name}<|message|>", "length")
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete, kinds(parser)) == ("", False, ["truncated_call"])


@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        (HARMONY, f"<|channel|>final x<|end|>{START}{INTO}"),
        (HARMONY, f"{THINK}{START}{FINAL}{START}{INTO}"),
        (HARMONY, CALL[:-12]),
        (HARMONY, f"<|channel|>final to=functions.f<|message|><|call|>{START}{INTO}"),
        (PYTHON, f"<|channel|>analysis to=python<|message|>x<|call|>{START}{INTO}"),
        (OWN, f"{TO_F}{CALL_IN_TAGS}{CALL_IN_TAGS}<|call|>{START}{INTO}"),
        (OWN, f"{TO_F}what"),
    ],
)
def test_read_text_is_not_kept(fmt, text):
    parser = StreamParser(fmt, collect=False)
    parser.feed(text + '{"a": "')
    for _ in range(100):
        parser.feed("text " * 10)
        assert parser.held < 100


@pytest.mark.parametrize("reasoning", ["separate", "raw"])
@pytest.mark.parametrize("behind", ["more", START + FINAL, f"{START}{CALL} more"])
def test_each_character_has_its_final_role(reasoning, behind):
    text = THINK + behind
    parser = TracedParser(HARMONY, reasoning=reasoning)
    parser.feed(text)
    parser.finish("stop")
    message = parser.message
    thought = "" if reasoning == "raw" else message.reasoning_content
    said = {"content": message.content.removeprefix(THINK), "reasoning": thought or THINK}
    for role, whole in said.items():
        spans = [text[start:end] for start, end, what in parser.role_spans if what == role]
        assert "".join(spans) == whole


def test_name_follows_its_namespace():
    text = "<|channel|>commentary to=f.f<|message|>{}<|call|>"
    parser = TracedParser(HARMONY, tools=TOOLS)
    parser.feed(text)
    parser.finish("stop")
    at = text.index("f<|message|>")
    assert [span[:2] for span in parser.role_spans if span[2] == "name"] == [(at, at + 1)]


def test_name_from_the_prompt_has_no_span_in_the_response():
    prompt = f"{START}<|channel|>commentary to=functions.message"
    parser = TracedParser(HARMONY, prompt=prompt)
    parser.feed("<|message|>{}<|call|>")
    parser.finish("stop")
    assert [call.name for call in parser.message.tool_calls] == ["message"]
    assert "name" not in [role for _, _, role in parser.role_spans]


def test_tool_may_have_the_name_of_a_reader():
    text = "<|channel|>commentary to=all<|message|>{}<|call|>"
    assert calls(fed(HARMONY, text, tools=[{"name": "all"}])) == [("all", "{}")]


def test_channel_name_as_recipient_is_foreign():
    parser = fed(HARMONY, "<|channel|>final to=analysis<|message|>psst<|end|>")
    assert (parser.message.parts, kinds(parser)) == ([], ["foreign_recipient"])


def test_json_after_the_turn_end_is_not_a_call():
    text = '{"name": "f", "arguments": {}}'
    parser = fed(HARMONY, f"{FINAL}{START}{INTO}{text}", calls="json", tools=TOOLS)
    assert (calls(parser), parser.message.content) == ([], "Hello" + text)


def test_text_before_a_message_end_is_reported_as_content():
    (issue,) = fed(HARMONY, f"hm<|end|>{START}{FINAL}").issues
    assert (issue.kind, issue.span) == ("orphan_marker", (2, 2))
    assert ", and the text before it is content; " in issue.detail


def test_text_in_place_of_json_calls_is_kept():
    parser = fed(HARMONY, "<|start|>user", calls="json")
    assert (parser.message.content, kinds(parser)) == ("user", ["stray_text"])
    for policy in ("keep", "drop"):
        policies = Policies(text_after_tool_call=policy)
        parser = fed(HARMONY, "<|start|>user<|end|>more", calls="json", policies=policies)
        assert parser.message.content == "usermore"
        assert kinds(parser) == ["stray_text", "text_after_end"]


# Markers in the text of a message.

MARKERS = ["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|return|>"]
MARKERS += ["<|call|>", "<|start|>assistant", "<|channel|>final", "<|start|>{role}<|message|>"]
HEADERS_AND_ENDS = [INTO, START + INTO, "<|start|>user<|message|>", "<|end|>" + START]
sentences = st.lists(
    st.builds(
        str.format,
        st.sampled_from(["The `{}` token.", 'It is "{}".', "({})", " so\n", "'{}'"]),
        st.sampled_from([*MARKERS, *HEADERS_AND_ENDS]),
    )
    | st.builds(
        str.format, st.sampled_from(["Use {}, then.", "It was {}."]), st.sampled_from(MARKERS)
    ),
    min_size=1,
    max_size=3,
).map(" ".join)


def test_end_marker_after_a_space_ends_the_message_before_a_spaced_header():
    text = (
        f"<|channel|>analysis<|message|>so <|end|>{START}<|channel|> final<|message|>Hi<|return|>"
    )
    parser = fed(HARMONY, text)
    assert parser.message.reasoning_content == "so "


@given(thought=sentences, said=sentences, data=st.data())
def test_marker_in_a_sentence_is_text(thought, said, data):
    wire = f"<|channel|>analysis<|message|>{thought}<|end|>{START}{INTO}{said}<|return|>"
    parser, _ = run(HARMONY, data.draw(cuts(wire)))
    assert (parser.message.reasoning_content, parser.message.content) == (thought, said)
    special = set(data.draw(st.lists(st.sampled_from(MARKERS[:7]))))
    ids, vocabulary = tokenized(data, HARMONY, wire, special)
    tokens = TokenParser(HARMONY, vocabulary)
    for some in data.draw(groups(ids)):
        tokens.feed(some)
    tokens.finish("stop")
    assert tokens.message == parser.message


@given(said=sentences, data=st.data())
def test_marker_in_arguments_is_text(said, data):
    arguments = json.dumps({"a": said})
    wire = CALL.replace('{"a": 1}', arguments) + START + FINAL
    parser, _ = run(HARMONY, data.draw(cuts(wire)), tools=TOOLS)
    assert calls(parser) == [("f", arguments)]
    assert (parser.message.content, parser.issues) == ("Hello", [])


@pytest.mark.parametrize("code", ['print("<|end|>")', "x = '<|start|>'\n", "# `<|call|>`: end"])
def test_marker_in_code_is_text(code):
    text = f"<|channel|>analysis to=python<|message|>{code}<|call|>{START}{FINAL}"
    for cut in (1, 3, len(text)):
        parser, _ = run(PYTHON, [text[at : at + cut] for at in range(0, len(text), cut)])
        assert [json.loads(made) for _, made in calls(parser)] == [{"code": code}]
        assert parser.message.content == "Hello"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"hm{START}{FINAL}", [Reasoning("hm"), Content("Hello")]),
        (f"hm{START} {FINAL}", [Reasoning("hm"), Content("Hello")]),
        (f"hm{FINAL}", [Reasoning("hm"), Content("Hello")]),
        (f"it is `x`<|end|>{START}{FINAL}", [Reasoning("it is `x`"), Content("Hello")]),
        (f"it is `x`<|end|>{FINAL}", [Reasoning("it is `x`"), Content("Hello")]),
        (f"it is `x` <|end|>assistant{FINAL}", [Reasoning("it is `x` "), Content("Hello")]),
        ("hm<|end|>Hello", [Reasoning("hm"), Content("Hello")]),
        ("hm `x`<|end|>", [Reasoning("hm `x`")]),
        (f"hm `x`<|end|>{START}", [Reasoning("hm `x`")]),
        (f"hm{START}", [Reasoning("hm")]),
        ("hm<|return|>more", [Reasoning("hm<|return|>more")]),
        ("hm<|start|>a b c<|message|>", [Reasoning("hm<|start|>a b c<|message|>")]),
        ("hm<|channel|>fin", [Reasoning("hm<|channel|>fin")]),
    ],
)
def test_message_ends_at_a_header_or_an_end_marker(text, parts):
    for cut in (1, 4, len(text)):
        fed_in = [text[at : at + cut] for at in range(0, len(text), cut)]
        parser, _ = run(HARMONY, ["<|channel|>analysis<|message|>", *fed_in])
        assert parser.message.parts == parts


@pytest.mark.parametrize("header", [INTO, CALL])
def test_header_without_a_previous_end_is_reported(header):
    parser = fed(HARMONY, f"<|channel|>analysis<|message|>hm{header}", tools=TOOLS)
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == ("odd_header", (32, 43))
    assert (parser.message.reasoning_content, len(calls(parser))) == ("hm", int(header == CALL))
