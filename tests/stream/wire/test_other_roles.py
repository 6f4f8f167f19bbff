"""Tests of the headers of other roles."""

from __future__ import annotations

import pytest

from deltaparse.stream.wire.other_roles import OtherRoles

CHATML = ("<|im_start|>assistant\n",)
ENDS = ("<|im_end|>",)


def found(headers, text, *, markers=(), pos=0, final=False):
    return OtherRoles(headers, markers).match(text, pos, final=final)


@pytest.mark.parametrize(
    ("headers", "text", "end"),
    [
        (CHATML, "<|im_start|>user\nHi", "<|im_start|>user"),
        (CHATML, "<|im_start|>tool_2<", "<|im_start|>tool_2"),
        (CHATML, "<|im_start|>" + "a" * 32 + "\n", "<|im_start|>" + "a" * 32),
        (CHATML, "<|im_start|>" + "a" * 33 + "\n", None),
        (CHATML, "<|im_start|>assistant\n", None),
        (CHATML, "<|im_start|>\n", None),
        (CHATML, "<|im_start>user\n", None),
        (CHATML, "user\n", None),
        # All places of the role have the same word.
        (("<model>[model]:",), "<user>[user]: Hi", "<user>[user]:"),
        (("<model>[model]:",), "<user>[tool]: Hi", None),
        # A word joined to the role does not belong to it.
        (("<|assistant_role|>",), "<|user_role|>", "<|user_role|>"),
        (("<|role_assistant|>",), "<|role_user|>", "<|role_user|>"),
        (("<|role_assistant|>",), "<|role_tool_2|>", "<|role_tool_2|>"),
        (("<|assistant1|>",), "<|user1|>", "<|user1|>"),
        (("<assistant>[assistant_1]",), "<tool_2>[tool_2_1]", "<tool_2>[tool_2_1]"),
        (("<|assistant_role|>",), "<|user_2_role|>", None),
        (("<|assistant|role|>",), "<|user_2|role|>", "<|user_2|role|>"),
        # The end of a header, from a tag on, counts as a header.
        (("Next:\n<|assistant|>",), "<|user|>", "<|user|>"),
        (("### Model:\n",), "### User:\n", "### User:"),
        # A header that begins with the role would match any word.
        (("assistant:",), "user:", None),
        # A single tag could be any HTML tag.
        (("<assistant>",), "<div>", None),
        (("<assistant>",), "<User>", "<User>"),
        (("[assistant]",), "[b]", None),
        (("<|assistant|>",), "<|b|>", "<|b|>"),
        ((), "<|user|>", None),
    ],
)
def test_header_of_another_role_is_matched(headers, text, end):
    size = -1 if end is None else len(end)
    assert found(headers, text, final=True) == found(headers, text) == size
    behind = -1 if end is None else len(end) + 2
    assert found(headers, f"so{text}", pos=2) == behind
    for cut in range(size):
        assert found(headers, text[:cut]) == 0
        assert found(headers, text[:cut], final=True) in (-1, cut)


WORDS = """user human system developer tool tools function functions observation
environment"""


@pytest.mark.parametrize("role", WORDS.split())
def test_common_role_names_match_in_plain_tags(role):
    assert found(("<assistant>",), f"<{role}>") == len(role) + 2


def test_role_at_the_end_may_be_incomplete():
    assert found(CHATML, "<|im_start|>user") == 0
    assert found(CHATML, "<|im_start|>user", final=True) == len("<|im_start|>user")
    assert found(CHATML, "<|im_start|>", final=True) == -1


def test_marker_of_the_format_is_not_a_header():
    assert found(CHATML, "<|im_end|>assistant\n") == len("<|im_end|>assistant")
    assert found(CHATML, "<|im_end|>assistant\n", markers=ENDS) == -1
    # The text may still become a marker.
    longer = ("<|im_start|>user<|x|>",)
    assert found(CHATML, "<|im_start|>user<|", markers=longer) == 0
    assert found(CHATML, "<|im_start|>user<|", markers=longer, final=True) == 16
    assert found(CHATML, "<|im_start|>user<y", markers=longer) == 16
    assert found(CHATML, "so<|im_start|>user<|", markers=longer, pos=2) == 2
    assert found(CHATML, "<|im_start|>user<|x|>", markers=longer) == -1


def test_repeated_match_returns_the_same():
    roles = OtherRoles(CHATML, ENDS)
    for _ in range(2):
        assert roles.match("<|im_start|>user\n", 0, final=False) == len("<|im_start|>user")
        assert roles.match("<|im_start|>assistant\n", 0, final=False) == -1
