"""Sections of a turn: the text between them, and the spans of their parts."""

from __future__ import annotations

import pytest

from deltaparse import (
    CodeFormat,
    Content,
    MalformedOutput,
    Policies,
    Reasoning,
    StreamParser,
    get_format,
)
from deltaparse.stream.reading.tool_calls import dispatch
from deltaparse.stream.tokens.traced_parser import TracedParser

from ...strategies.wire_by_hand import (
    CALL,
    DELIMITED,
    LIST,
    OTHER,
    TAGS,
    UNMARKED,
    WRAPPED,
    calls,
    fed,
    kinds,
)
from ...strategies.wire_channels import HARMONY
from ..invariants import run

F = ("f", '{"a": 1}')
IN_JSON = '{"name": "f", "arguments": {"a": 1}}'
BARE = IN_JSON.replace("arguments", "parameters")
CODE = TAGS.replace(code=CodeFormat(start="<|code|>", function="python"))


def test_possible_marker_at_the_end_is_content():
    parser = fed(TAGS, "<")
    assert (parser.message.content, parser.issues) == ("<", [])


def test_code_marker_after_the_turn_end_is_text():
    text = "a<|end|><|code|>\n"
    parser = fed(CODE, text)
    assert parser.message.content == text
    assert kinds(parser) == ["text_after_end", "text_after_end"]


@pytest.mark.parametrize("prompt", ["", "<|start|>model\n<think>\n"])
def test_call_in_unclosed_reasoning_has_its_span(prompt):
    text = "<think>\nso "[8 if prompt else 0 :] + CALL
    (tried,) = fed(TAGS, text, prompt=prompt).attempts
    assert text[slice(*tried.span)] == CALL.removesuffix("\n</call>")


def test_header_of_another_role_is_awaited():
    fmt = get_format("llama3_json")
    header = "<|start_header_id|>{}<|end_header_id|>\n\n"
    text = "a<|eot_id|>" + header.format("assistant") + header.format("user")
    call = '{"name": "f", "parameters": {}}'
    assert fed(fmt, text + call, tools=[{"name": "f"}]).message.tool_calls == []
    start = '<|start|>user\n<call>\n{"name": "f", "arguments": {}}\n</call>'
    for before in ("a<|end|><|start|>model\n", "a<|end|>"):
        parser = fed(TAGS, before + start)
        assert (parser.message.content, calls(parser)) == ("a" + start, [])


@pytest.mark.parametrize(
    ("fmt", "head"), [(TAGS, ""), (HARMONY, "<|channel|>final<|message|>")], ids=["turn", "message"]
)
def test_whitespace_before_json_calls_is_not_buffered(fmt, head):
    parser = StreamParser(fmt, calls="json", collect=False)
    parser.feed(head)
    for _ in range(1000):
        parser.feed(" " * 8)
        assert parser.held < 1000


@pytest.mark.parametrize("cut", range(len(CALL)))
def test_call_in_reasoning_continues_from_the_prompt(cut):
    begun, rest = CALL[:cut], CALL[cut:]
    reasoned = fed(TAGS, rest, prompt="<|start|>model\n<think>\n" + begun)
    assert calls(reasoned) == calls(fed(TAGS, rest, prompt="<|start|>model\n" + begun))
    assert calls(reasoned) == [F] * (cut < len(CALL.removesuffix("\n</call>")))


def test_call_in_reasoning_of_the_prompt_is_not_emitted():
    prompt = f"<|start|>model\n<think>\n{CALL} so {OTHER[:9]}"
    parser = fed(TAGS, OTHER[9:], prompt=prompt)
    assert [call.name for call in parser.message.tool_calls] == ["g"]
    parser = fed(TAGS, OTHER[9:] + "\n</think>\n\nx", prompt=prompt)
    assert parser.message.reasoning_content == OTHER[9:]


def test_call_in_reasoning_of_the_prompt_is_not_buffered():
    prompt = f"<|start|>model\n<think>\n{CALL}"
    parser = StreamParser(TAGS, prompt=prompt, collect=False)
    parser.feed("so\n</think>\n\n")
    for _ in range(100):
        parser.feed("text " * 10)
        assert parser.held < 100


def test_call_in_delimited_reasoning_is_a_call():
    parser = fed(DELIMITED, "hm " + CALL)
    assert (parser.message.reasoning_content, calls(parser)) == ("hm ", [F])


def test_truncated_marker_after_a_call_in_reasoning():
    parser = fed(TAGS, "<think>\n a " + CALL.removesuffix("/call>"))
    assert (parser.message.content, calls(parser)) == ("", [F])
    assert kinds(parser) == ["tool_in_reasoning", "cut_marker"]


def test_whitespace_after_a_call_in_reasoning_is_kept():
    assert fed(TAGS, f"<think>\n a {CALL}\n b").message.content == "\n b"


def test_whitespace_alone_is_content():
    assert fed(TAGS, " \n").message.content == " \n"


def test_turn_end_after_a_turn_end_is_text():
    parser = fed(TAGS, "<|end|><|start|>model\n<|end|> more")
    assert parser.message.content == "<|end|> more"
    assert kinds(parser) == ["repeated_marker", "text_after_end", "text_after_end"]


def test_closer_at_the_start_is_content():
    parser = fed(TAGS, "</call>?")
    assert (parser.message.content, parser.issues) == ("</call>?", [])


def test_turn_end_before_a_closer_is_content():
    parser = fed(TAGS, "a<|end|></call>b" + CALL)
    assert (parser.message.content, calls(parser)) == ("a<|end|></call>b", [F])
    assert kinds(parser) == ["text_after_end", "text_after_end"]
    assert fed(TAGS, "a<|end|></call>b<call>c").message.content == "a<|end|></call>b<call>c"


@pytest.mark.parametrize("several", [False, True])
def test_header_after_the_end_starts_a_message(several):
    fmt = TAGS.replace(turn={"several_messages": several})
    parser = fed(fmt, "a<|end|><|start|>model\n" + CALL)
    assert (parser.message.content, calls(parser)) == ("a", [F])
    assert kinds(parser) == ([] if several else ["repeated_marker", "text_after_end"])


def test_reasoning_end_before_a_json_call_is_not_a_stray_marker():
    parser = fed(TAGS, '</think>\n\n{"name": "f", "arguments": {"a": 1}}', calls="json")
    assert (calls(parser), parser.issues) == ([F], [])


def test_part_after_a_text_part_may_be_calls():
    fmt = get_format("functionary_v32")
    parser = fed(fmt, 'all\nSo:\n>>> x\n{"a": 2}\n>>>all\nYes>>>f\n{"a": 1}')
    assert parser.message.content == 'So:\n>>> x\n{"a": 2}\nYes'
    assert calls(parser) == [F]


def found(parser):
    """Return the kind and span of each issue."""
    return [(issue.kind, issue.span) for issue in parser.issues]


def test_header_at_the_start_is_a_repetition():
    parser = fed(TAGS, "<|start|>model\nhi")
    assert parser.message.content == "hi"
    assert found(parser) == [("repeated_marker", (0, 15))]


@pytest.mark.parametrize("before", ["", "<think>\nhm</think>", IN_JSON])
@pytest.mark.parametrize("space", [200, 256, 257, 520])
def test_json_calls_allow_any_leading_whitespace(before, space):
    parser = fed(TAGS, before + " " * space + IN_JSON, calls="json")
    behind_call = before == IN_JSON
    assert calls(parser) == [F] * (1 + behind_call)
    kept = (space - 1) // 256 * 256
    assert parser.message.content == " " * kept
    spans = [(len(before) + at, len(before) + at + 256) for at in range(0, kept, 256)]
    assert found(parser) == [("text_after_tool_call", span) for span in spans] * behind_call


def test_marker_whitespace_is_not_text():
    parser = fed(TAGS, " " * 256 + CALL.replace("<call>", "\n<call>"), calls="json")
    assert (calls(parser), parser.message.content) == ([F], "")


def test_whitespace_before_a_marker_may_be_text():
    text = " " * 100 + "</think>b"
    parser = fed(TAGS, text)
    assert (parser.message.content, found(parser)) == (text, [("orphan_marker", (100, 108))])


def test_whitespace_before_reasoning_is_kept_in_raw_output():
    text = "a<|end|> <think>\nb\n</think>\n\nc"
    assert fed(TAGS, text, reasoning="raw").message.content == text.replace("<|end|>", "")
    assert fed(TAGS, text).message.parts == [Content("a"), Reasoning("b"), Content("c")]


def test_closer_after_text_is_reported():
    parser = fed(TAGS, f"a</call>{CALL}")
    assert (parser.message.content, calls(parser)) == ("a", [F])
    assert found(parser) == [("orphan_marker", (1, 8))]


def test_orphan_reasoning_end_detail():
    (issue,) = fed(TAGS, CALL + "</think>b").issues
    assert issue.detail.startswith("'</think>' does not end reasoning, and is not emitted; ")


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("<answer>a</answer>b<answer>c</answer>d", "abcd"),
        ("<plan>x</plan>a</answer>b<answer>c</answer>", "a</answer>bc"),
        ("a<answer>b<answer>c</answer></answer>", "ab<answer>c"),
        ("<answer>a</answer><plan>x</plan>b<answer>c</answer>d", "abcd"),
    ],
)
def test_content_markers_may_occur_more_than_once(text, content):
    assert fed(WRAPPED, text).message.content == content


@pytest.mark.parametrize("space", ["", "\n"])
@pytest.mark.parametrize("several", [False, True])
def test_closer_after_a_json_call_is_reported(space, several):
    fmt = TAGS.replace(turn={"several_messages": several})
    parser = fed(fmt, f"{IN_JSON}{space}</call>", calls="json")
    start = len(IN_JSON + space)
    assert (calls(parser), found(parser)) == ([F], [("stray_marker", (start, start + 7))])


@pytest.mark.parametrize("between", ["", " ", "\n", ",", ";", "; ", " ;\n"])
def test_separators_between_unmarked_calls(between):
    tools = [{"name": "f"}, {"name": "g"}]
    parser = fed(UNMARKED, BARE + between + BARE.replace('"f"', '"g"'), tools=tools)
    assert (calls(parser), parser.issues) == ([F, ("g", F[1])], [])


@pytest.mark.parametrize("end", [";", "; ", ",", "<|e"])
def test_truncated_separator_after_an_unmarked_call(end):
    parser = fed(UNMARKED, BARE + end, tools=[{"name": "f"}])
    assert (calls(parser), parser.message.content) == ([F], "")
    assert found(parser) == [("cut_marker", (len(BARE), len(BARE + end)))]


@pytest.mark.parametrize("text", [";x", "; no", " ;x", "x", ";;"])
def test_separator_before_text_is_content(text):
    parser = fed(UNMARKED, BARE + text, tools=[{"name": "f"}])
    assert (calls(parser), parser.message.content) == ([F], text)
    assert found(parser) == [("text_after_tool_call", (len(BARE), len(BARE + text)))]


def test_separator_at_the_start_of_the_turn_is_content():
    parser = fed(UNMARKED, ";", tools=[{"name": "f"}])
    assert (parser.message.content, parser.issues) == (";", [])


def test_unread_text_of_a_rejected_call():
    text = f"<think>\nhm{CALL}more{OTHER}"
    parser = StreamParser(TAGS, tools=[{"name": "f"}], policies=Policies(unknown_tool="error"))
    parser.feed(text)
    with pytest.raises(MalformedOutput):
        parser.finish("stop")
    assert parser.message.reasoning_content == "hm"
    assert (calls(parser), parser.message.content) == ([F], "more" + OTHER)


@pytest.mark.parametrize("cut", range(1, len(CALL.removesuffix("\n</call>"))))
def test_prompt_part_of_a_call_in_reasoning(monkeypatch, cut):
    first_time = iter([dispatch.json_calls])

    def breaks_at_last(*args, **options):
        for reader in first_time:
            return reader(*args, **options)
        raise ZeroDivisionError

    monkeypatch.setattr(dispatch, "json_calls", breaks_at_last)
    parser = StreamParser(TAGS, prompt="<|start|>model\n<think>\n" + CALL[:cut])
    parser.feed(CALL[cut:])
    parser.finish("stop")
    assert (parser.message.content, calls(parser)) == (CALL[cut:], [])
    assert kinds(parser)[-1] == "internal_error"


def test_call_rejected_by_a_policy_is_incomplete():
    text = "<think>\nhm" + CALL.replace("1", "oops")
    policies = Policies(malformed_arguments="error")
    parser = StreamParser(TAGS, policies=policies)
    parser.feed(text)
    with pytest.raises(MalformedOutput):
        parser.finish("stop")
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == ('{"a": ', False)
    assert parser.message.content == "\n</call>"


@pytest.mark.parametrize(
    ("text", "content"), [("\nhi", "hi"), ("hi", "hi"), ("\n\nhi", "\nhi"), (" \nhi", " \nhi")]
)
def test_template_whitespace_before_content_is_removed(text, content):
    assert fed(TAGS.replace(content={"start": "\n"}), text).message.content == content


@pytest.mark.parametrize(
    ("text", "prompt", "content"),
    [
        ("b<answer>a</answer>", "", "b<answer>a</answer>"),
        ("<plan>x</plan>b<answer>a</answer>c", "", "bac"),
        ("x</plan>b<answer>a</answer>c", "<|start|>model\n<plan>", "bac"),
    ],
)
def test_content_markers_with_tagged_reasoning(text, prompt, content):
    modes = {"content": {"mode": "WRAPPED_WITH_REASONING"}, "reasoning": {"mode": "TAG_BASED"}}
    assert fed(WRAPPED.replace(**modes), text, prompt=prompt).message.content == content


def test_content_markers_after_delimited_reasoning():
    fmt = WRAPPED.replace(
        content={"mode": "WRAPPED_WITH_REASONING"}, reasoning={"mode": "DELIMITER", "start": ""}
    )
    parser = fed(fmt, "x</plan>b<answer>a</answer>c")
    assert (parser.message.reasoning_content, parser.message.content) == ("x", "bac")


def test_reasoning_end_that_doubles_as_turn_end_is_not_an_orphan():
    fmt = TAGS.replace(turn={"ends": ("</think>",)})
    for before in ("", "a", CALL):
        parser = fed(fmt, before + "</think>\n</think>")
        assert (parser.message.content, parser.issues) == (before * (before == "a"), [])


def test_text_part_makes_the_rest_text():
    text = 'So:\n>>> x\n{"a": 2}<|eot_id|>>>>f\n{"a": 1}'
    parser = fed(get_format("functionary_v32"), "all\n" + text)
    assert (parser.message.content, calls(parser)) == (text, [])


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_separator_in_the_prompt_may_start_a_truncated_call(reason):
    parser = fed(UNMARKED, " ", reason, prompt=f"<|start|>model\n{BARE};", tools=[{"name": "f"}])
    (issue,) = parser.issues
    assert (issue.kind, issue.span) == ("cut_marker", (0, 1))
    assert [one.status for one in parser.attempts] == ["truncated"] * (reason == "length")


@pytest.mark.parametrize("depth", [1, 2])
def test_only_the_end_of_output_truncates_a_marker(depth):
    thought = f"<think>\n a {CALL}" * depth
    parser = fed(TAGS, thought + "<<|end|>")
    assert (parser.message.content, calls(parser)) == ("<", [F] * depth)
    assert "cut_marker" in kinds(fed(TAGS, thought + "<"))


@pytest.mark.parametrize("behind", ["", "\n</cal more", "<|end|><|start|>model\n more"])
def test_reread_text_has_its_final_role(behind):
    text = f"hm {CALL}{behind}"
    parser = TracedParser(DELIMITED)
    parser.feed(text)
    parser.finish("stop")
    for role, said in (
        ("reasoning", parser.message.reasoning_content),
        ("content", parser.message.content),
        ("arguments", F[1]),
        ("end", behind[: behind.find(">") + 1]),
    ):
        spans = [text[start:end] for start, end, what in parser.role_spans if what == role]
        assert "".join(spans) == (said or "")


def test_bracket_after_a_call_is_a_truncated_marker():
    parser = fed(LIST, IN_JSON + "[", calls="json")
    assert (calls(parser), kinds(parser)) == ([F], ["cut_marker"])
    parser = fed(LIST, "[", calls="json")
    assert (parser.message.content, kinds(parser)) == ("[", ["stray_text"])
    assert [one.status for one in parser.attempts] == ["not_a_call"]


def test_reread_text_is_not_kept():
    parser = StreamParser(TAGS, collect=False)
    parser.feed(f"<think>\n a {CALL}<|end|><|start|>model\n")
    for _ in range(100):
        parser.feed("text " * 10)
        assert parser.held < 100


GEMMA = get_format("gemma4")


@pytest.mark.parametrize(
    ("text", "content", "reasoning"),
    [
        ("<|channel>final\nhello<channel|>", "hello", ""),
        ("<|channel>final\nhello", "hello", ""),
        ("<|channel>final hello<channel|>", " hello", ""),
        ("<|channel>\nhello<channel|>", "hello", ""),
        ("<|channel><channel|>hello", "hello", ""),
        ("<|channel>final<channel|>hello", "hello", ""),
        ("<|channel>final\nhello<channel|> there<turn|>", "hello there", ""),
        ("<|channel>thought\nhm<channel|><|channel>final\nhello<channel|>", "hello", "hm"),
        ("<|channel>final\nhello<|channel>thought\nhm<channel|>more", "hellomore", "hm"),
        ("Hi <|channel>final\nhello<channel|> there", "Hi hello there", ""),
        ("<|channel>final", "", ""),
        ("<|channel>", "", ""),
    ],
)
def test_unknown_section_is_content_without_its_markers(text, content, reasoning):
    for cut in (1, 3, len(text)):
        parser, _ = run(GEMMA, [text[at : at + cut] for at in range(0, len(text), cut)])
        assert (parser.message.content, parser.message.reasoning_content) == (content, reasoning)
        (issue,) = parser.issues
        assert (issue.kind, issue.span[0]) == ("odd_header", text.index(issue.detail.split("'")[1]))
    raw = fed(GEMMA, text.removesuffix("<turn|>"), reasoning="raw")
    assert raw.message.content == text.removesuffix("<turn|>")


@pytest.mark.parametrize(
    "text",
    [
        "The `<|channel>final\n` header",
        "Write <|channel>final before it",
        "a <|channel> b",
        "a<|channel>{name}\nb",
        "a<|channel>\nb",
    ],
)
def test_section_tag_in_a_sentence_is_content(text):
    for cut in (1, 3, len(text)):
        parser, _ = run(GEMMA, [text[at : at + cut] for at in range(0, len(text), cut)])
        assert (parser.message.content, parser.issues) == (text, [])


def test_unknown_section_may_contain_calls():
    text = "<|channel>commentary\nI look.<|tool_call>call:f{}<tool_call|><channel|>Done."
    parser = fed(GEMMA, text)
    assert (parser.message.content, len(parser.message.tool_calls)) == ("I look.Done.", 1)


def test_section_end_without_an_open_section_is_reported():
    assert kinds(fed(GEMMA, "<|channel>final\na<channel|>b<channel|>c")) == [
        "odd_header",
        "orphan_marker",
    ]
