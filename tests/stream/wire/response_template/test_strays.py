"""Tests of conditional close patterns of content."""

from __future__ import annotations

import copy

import pytest

from deltaparse import ContentMode, FormatError, from_response_template

from ....strategies.response_templates import QWEN

END = r"<\|im_end\|>"
OVER = r"(?<=</tool_call>\s*)</calls>"
HEADER = r"(?<=<\|im_end\|>\s*)<\|im_start\|>assistant"


def read(close, calls=r"(?:<calls>)?<tool_call>", closed=r"</tool_call>", **fields):
    template = copy.deepcopy(QWEN)
    given = template["fields"] | {"content": {"close_pattern": close}} | fields
    given["tool_calls"] |= {"open_pattern": calls, "close_pattern": closed}
    given["tool_calls"].pop("close", None)
    return from_response_template(template | {"fields": {k: v for k, v in given.items() if v}})


def test_section_end_after_the_last_call():
    assert read(END).tools.section_end == ""
    fmt = read(f"{END}|{OVER}")
    assert fmt.tools.section_end == "</calls>"
    assert fmt.turn.ends == ("<|im_end|>",)
    assert read(rf"{END}|(?<=</tool_call>\n)</calls>").tools.section_end == "</calls>"
    assert read(f"{END}|{OVER}\\s*</all>").tools.section_end == "</calls></all>"


@pytest.mark.parametrize("known", [HEADER, rf"{HEADER}\n", r"(?<=\A\s*)</think>"])
def test_known_conditional_markers_are_ignored(known):
    assert read(f"{END}|{known}") == read(END)
    assert read(f"{END}|{known}|{OVER}") == read(f"{END}|{OVER}")


@pytest.mark.parametrize("place", [r"\A", "</think>"])
def test_marker_after_reasoning_starts_content(place):
    start = rf"(?<={place}\s*)<answer>"
    fmt = read(f"{END}|{start}")
    assert fmt.content.mode is ContentMode.WRAPPED_WITH_REASONING
    assert (fmt.content.start, fmt.content.end) == ("<answer>", "")
    assert fmt.turn.ends == ("<|im_end|>",)
    fmt = read(f"{END}|</answer>|{start}")
    assert (fmt.content.start, fmt.content.end) == ("<answer>", "</answer>")
    assert fmt.turn.ends == ("<|im_end|>",)


@pytest.mark.parametrize(
    ("close", "options"),
    [
        (r"(?<=<x>)<y>", {}),
        (r"(?=<x>)<y>", {}),
        # The format has no section, or the end of the section is known.
        (OVER, {"calls": "<tool_call>"}),
        (r"(?<=</tool_call>)<y>", {"closed": r"</tool_call>(?:</calls>)?"}),
        # Content has only one start marker.
        (r"(?<=</think>)<y>|(?<=</think>)<z>", {}),
    ],
)
def test_other_conditions_raise(close, options):
    with pytest.raises(
        FormatError,
        match=r"field 'content': the conditional close pattern of '.*' is not supported",
    ):
        read(f"{END}|{close}", **options)


def test_content_start_after_reasoning_needs_a_turn_end():
    with pytest.raises(FormatError, match="'<y>' is not supported"):
        read(r"(?<=</think>)<y>")


def test_content_start_after_reasoning_needs_reasoning():
    with pytest.raises(FormatError, match="'<y>' is not supported"):
        read(rf"{END}|(?<=\A\s*)<y>", reasoning_content=None)


def test_conditional_list_separator_raises():
    each = {"function": {"name": "{name}", "arguments": "{arguments}"}}
    listed = QWEN["fields"]["tool_calls"] | {"transform_each": True, "transform": each}
    assert read(END, tool_calls=listed | {"repeats": False}).tools.separator == ", "
    with pytest.raises(FormatError, match="',' is not supported"):
        read(rf"{END}|(?<=</tool_call>\s*),", tool_calls=listed | {"repeats": False})
