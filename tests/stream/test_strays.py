"""Markers in answers about markup.

The text after a turn end, or after a closer without a call, decides if it is a marker. For a start
of reasoning the text before it decides. No text is lost in the middle of an answer.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deltaparse import Content, Reasoning, StreamParser, ToolGate, get_format, list_formats, parse
from deltaparse.stream.wire.spellings import tag_starts

from ..strategies.wire_by_hand import CALL, DELIMITED, OTHER, TAGS, WRAPPED, calls, fed, kinds
from ..strategies.wire_channels import HARMONY
from ..strategies.wire_named import WIRES
from ..strategies.wire_parts import markers_of
from ..support import cuts, joined
from .invariants import in_families, run

REASONING = {name: get_format(name).reasoning for name in list_formats() if name in WIRES}
STARTING = [name for name, reasoning in REASONING.items() if reasoning.start]
ENDING = [name for name, reasoning in REASONING.items() if reasoning.end]
SPACE = 256
"""The characters of whitespace that are buffered after a possible marker."""

gaps = st.sampled_from(["", " ", "\n", "\n\n  ", " " * SPACE])


@in_families()
@given(data=st.data(), gap=gaps)
def test_6_turn_end_before_text_is_content(family, data, gap):
    fmt, opening, text = data.draw(family.plain)
    end = data.draw(st.sampled_from(fmt.turn.ends or ("",))).strip()
    assume(end)
    text = f"{text.strip()}{end}{gap}.x"
    parser, _ = run(fmt, data.draw(cuts(opening + text)))
    assert parser.message.content == text
    assert "text_after_end" in kinds(parser)


@pytest.mark.parametrize("opening", ["", "<think>", "<think>a</think>"])
def test_turn_end_that_overlaps_a_rejected_one_is_a_marker(opening):
    parser = fed(TAGS.replace(turn={"ends": ("[e~[",)}), opening + "so [e~[e~[")
    assert parser.message.parts[-1].text == "so [e~"
    assert "text_after_end" in kinds(parser)


@in_families()
@given(data=st.data(), gap=gaps, behind=st.sampled_from(["", "header", "end"]))
def test_6_turn_end_before_markers_only_ends_the_turn(family, data, gap, behind):
    fmt, opening, text = data.draw(family.plain)
    ends = [end.strip() for end in fmt.turn.ends if end.strip()]
    assume(ends and text.strip()[-1:] != "<")
    # A header of plain words, e.g. `ASSISTANT:`, is text after a turn end.
    header = "".join(filter(tag_starts, fmt.turn.headers[:1])).lstrip()
    follows = {"": "", "header": header, "end": ends[0]}[behind]
    text = text.rstrip()
    parser, _ = run(fmt, data.draw(cuts(opening + text + ends[0] + gap + follows)))
    assert parser.message.content == text


@in_families()
@given(data=st.data(), gap=gaps)
def test_7_possible_marker_is_buffered_with_limited_whitespace(family, data, gap):
    fmt, opening, text = data.draw(family.plain)
    markers = [*fmt.turn.ends[:1], *fmt.derived.closers[:1]]
    marker = data.draw(st.sampled_from(markers or [""])).strip()
    parser = StreamParser(fmt)
    parser.feed(opening)
    fed_so_far, longest = "", max(map(len, markers_of(fmt))) + len(fmt.tools.content_separator) + 2
    seen = ""
    for char in f"{text}{marker}{gap}.{text}{gap}":
        fed_so_far += char
        seen += joined(parser.feed(char))[0]
        assert len(fed_so_far) - len(seen) <= longest + SPACE + len(marker)
    assert fed_so_far.startswith(seen)
    # More whitespace than the limit releases everything before it.
    for _ in range(2 * SPACE):
        seen += joined(parser.feed(" "))[0]
    assert seen.rstrip() == fed_so_far.rstrip()


@pytest.mark.parametrize("quote", ['"', "'", "`", "“", "«", "„", "‘", "```"])
@pytest.mark.parametrize("name", STARTING)
def test_quoted_reasoning_start_is_content(name, quote):
    fmt, opening = get_format(name), WIRES[name].says.partition("Hi")[0]
    start = fmt.reasoning.start.strip()
    text = f"Write {quote}{start}{quote} and it reasons."
    parser = fed(fmt, opening + text)
    assert parser.message.content == text
    assert parser.message.reasoning_content == ""


@pytest.mark.parametrize("before", ["Hi ", "Hi.\n", "(", "`x` ", "'\n"])
def test_unquoted_reasoning_start_is_a_marker(before):
    parser = fed(TAGS, f"{before}<think>hm</think>so")
    parts = [Content(before), Reasoning("hm"), Content("so")]
    assert parser.message.parts == parts
    assert fed(TAGS, "<think>`</think>`<think>`").message.content == "`<think>`"
    assert fed(TAGS, f"{CALL}`<think>` is").message.content == "`<think>` is"


def test_quotation_mark_on_the_fast_path_is_seen():
    text = "a long text that passes by, and ends with `"
    for collect in (True, False):
        for policies in ({}, {"response_schema": {}}):
            parser = StreamParser(TAGS, collect=collect, **policies)
            deltas = [delta for part in (text[:9], text[9:]) for delta in parser.feed(part)]
            deltas += [*parser.feed("<think>"), *parser.feed("` x"), *parser.finish("stop")]
            assert joined(deltas)[:2] == (text + "<think>` x", "")


@pytest.mark.parametrize("name", ENDING)
@pytest.mark.parametrize("reasoning", ["separate", "inline", "raw"])
def test_reasoning_end_without_a_start_is_reported(name, reasoning):
    fmt = get_format(name)
    end = fmt.reasoning.end.strip()
    opening = WIRES[name].says.partition("Hi")[0]
    text = f"I think so.\n{end}\nYes"
    parser = fed(fmt, opening + text, reasoning=reasoning)
    assert text in parser.message.content
    issue = next(issue for issue in parser.issues if issue.kind == "orphan_marker")
    assert "prompt=" in issue.detail
    if not opening:
        assert text[slice(*issue.span)] == end


def test_reasoning_end_at_the_start_is_empty_reasoning():
    for prompt in ("", "<|start|>model\n"):
        for text in ("</think>so", "\n</think>\n\nso"):
            parser = fed(TAGS, text, prompt=prompt)
            assert (parser.message.content.strip(), parser.issues) == ("so", [])
    assert "orphan_marker" in kinds(fed(TAGS, "</think></think>so"))


def test_orphan_reasoning_end_is_reported_at_any_place():
    closed = "<|start|>model\n<think>\n\n</think>\n\n"
    for text in (
        "hm</think>so",
        "hm\n</think>\n\nso",
        "</think>so",
        f"hm</think>{CALL}",
        f"{CALL}</think>",
    ):
        parser = fed(TAGS, text, prompt=closed)
        assert "orphan_marker" in kinds(parser)
        assert fed(TAGS, text, prompt="<|start|>model\n<think>\n").issues == [] or text[0] == "<"
    assert kinds(fed(DELIMITED, "a\n[FINAL]\nb\n[FINAL]\nc")) == ["orphan_marker"]
    assert kinds(fed(WRAPPED, "<answer>a</plan>b</answer>")) == ["orphan_marker"]
    assert fed(WRAPPED, "<answer>a</plan>b</answer>").message.content == "a</plan>b"
    forgotten = "hm<|end|><|start|>assistant<|channel|>final<|message|>so<|return|>"
    assert kinds(fed(HARMONY, forgotten)) == ["orphan_marker"]
    assert kinds(fed(HARMONY, "so<|return|>")) == []


def test_html_element_is_not_a_turn_end():
    fmt = get_format("mistral")
    for text in ("<p><s>old</s> new</p>", "<s>a</s><s>b</s>.", "`</s>`", "</s>\n\n- <b>x"):
        parser = fed(fmt, text)
        assert parser.message.content == text
        assert kinds(parser)[0] == "text_after_end"
    assert fed(fmt, "<p>old</s>").message.content == "<p>old"


@pytest.mark.parametrize(
    "text", ["<|end|>{}", "<|end|>\n{}", "a<|end|>b{}", "<think>a<|end|>b</think>{}"]
)
def test_call_after_a_possible_turn_end_fails_the_gate(text):
    gate = ToolGate([{"name": "f", "parameters": {"type": "object"}}])
    parser = fed(TAGS, text.format(CALL))
    assert "text_after_end" in kinds(parser)
    assert not gate.decide(parser).calls
    assert all("text_after_end" in call.issues for call in parser.message.tool_calls)


TURNS = {
    "hermes": ("<|im_end|>\n", "<|im_start|>user\n"),
    "llama3_json": ("<|eot_id|>", "<|start_header_id|>user<|end_header_id|>\n\n"),
    "glm45": ("<|user|>\n", "<|observation|>\n"),
    "deepseek_v3": ("<｜end▁of▁sentence｜>", "<｜User｜>"),
    "kimi_k2": ("<|im_end|>", "<|im_user|>user<|im_middle|>"),
    "gemma4": ("<turn|>\n", "<|turn>user\n"),
    "minimax_m2": ("[e~[\n", "]~b]user\n"),
    "granite": ("<|end_of_text|>\n", "<|start_of_role|>user<|end_of_role|>"),
    "apertus": ("<|assistant_end|>", "<|user_start|>"),
    "command_r7b": ("<|END_OF_TURN_TOKEN|>", "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>"),
    "seed_oss": ("<seed:eos>", "<seed:bos>user\n"),
}


@pytest.mark.parametrize("name", TURNS)
def test_text_after_the_header_of_another_role_is_not_a_call(name):
    fmt, wire = get_format(name), WIRES[name]
    opening = wire.says.partition("Hi")[0]
    end, header = TURNS[name]
    call = wire.one.removeprefix(opening)
    for behind in (call, f"so {call}", f"{end}{''.join(fmt.turn.headers[:1])}{call}"):
        parser = fed(fmt, f"{opening}Hi{end}{header}{behind}")
        assert parser.message.tool_calls == []
        assert "".join(parser.message.content.split()).startswith(f"Hi{header}".strip())
        assert "text_after_end" in kinds(parser)
    # Without the header it is a call after the end, which the gate rejects.
    again = fed(fmt, f"{opening}Hi{end}{''.join(fmt.turn.headers[:1])}{call}")
    assert "text_after_end" in kinds(again) or not again.message.tool_calls


def test_html_tag_is_not_a_header_of_another_role():
    fmt = TAGS.replace(turn={"headers": ("<assistant>",), "ends": ("</s>",)})
    assert fed(fmt, f"<s>a</s><b>c {CALL}").message.content.startswith("<s>a</s><b>c")
    assert fed(fmt, f"a</s><user>b {CALL}").message.tool_calls == []
    assert fed(fmt, f"a</s><user>b {CALL}").message.content == f"a<user>b {CALL}"


def test_turn_end_before_text_in_reasoning_is_reasoning():
    parser = fed(TAGS, f"<think>the <|end|> token</think>{CALL}")
    assert parser.message.reasoning_content == "the <|end|> token"
    assert len(calls(parser)) == 1
    deferred = fed(TAGS, f"<think>a{CALL}<|end|> b</think>c")
    assert deferred.message.parts == [Reasoning(f"a{CALL}<|end|> b"), Content("c")]
    unclosed = fed(TAGS, f"<think>a{CALL}<|end|>\n")
    assert unclosed.message.parts[0] == Reasoning("a")
    assert len(calls(unclosed)) == 1
    assert parse(f"a{OTHER}<|end|>", TAGS).content == "a"
