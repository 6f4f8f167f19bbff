"""The policy "error": it raises at the right place and loses no text."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import MalformedOutput, Policies, StreamParser

from ..strategies.requests import reasons
from ..strategies.wire_by_hand import CALL, TAGS
from ..support import as_joined, cuts, joined
from .invariants import in_families

REFUSING = {
    "tool_in_reasoning",
    "unclosed_reasoning",
    "text_after_tool_call",
    "unknown_tool",
    "malformed_arguments",
    "duplicate_keys",
    "extra_calls",
}


def read(fmt, chunks, reason, **options):
    """Return a parser that was finished despite its exceptions, its deltas, and the errors."""
    parser, deltas, errors = StreamParser(fmt, **options), [], []
    for method, given_text in [
        *((parser.feed, chunk) for chunk in chunks),
        (parser.finish, reason),
    ]:
        try:
            deltas += method(given_text)
        except MalformedOutput as error:
            errors.append((error.kind, str(error)))
    # Collect the deltas from before the last error.
    with suppress(MalformedOutput):
        deltas += parser.finish(reason)
    return parser, deltas, errors


@in_families()
@given(data=st.data(), reason=reasons, refused=st.sets(st.sampled_from(sorted(REFUSING))))
def test_1_and_2_hold_if_a_policy_raises(family, data, reason, refused):
    fmt, text = data.draw(family.soups)
    options = {
        "policies": Policies(**dict.fromkeys(refused, "error")),
        "tools": data.draw(st.sampled_from(family.tools)),
        "parallel_tool_calls": data.draw(st.booleans()),
    }
    whole, deltas, errors = read(fmt, [text], reason, **options)
    assert joined(deltas) == as_joined(whole.message)
    parser, deltas, others = read(fmt, data.draw(cuts(text)), reason, **options)
    assert joined(deltas) == as_joined(whole.message)
    assert parser.message == whole.message
    assert (others, parser.finish_reason) == (errors, whole.finish_reason)
    assert parser.finish(reason) == []


@pytest.mark.parametrize("chunks", [["Sorry, that was wrong."], [*"Sorry, that was wrong."]])
def test_rejected_text_after_a_call_is_content(chunks):
    policies = Policies(text_after_tool_call="error")
    parser, deltas, errors = read(TAGS, [CALL, *chunks], "stop", policies=policies)
    assert errors == [("text_after_tool_call", "text after a call")]
    assert [part.text for part in parser.message.parts[1:]] == ["Sorry, that was wrong."]
    assert joined(deltas) == as_joined(parser.message)
    assert [issue.span for issue in parser.issues] == [(len(CALL), len(CALL))]


def test_second_finish_emits_the_text_before_an_error():
    policies = Policies(unclosed_reasoning="error")
    parser = StreamParser("qwq", policies=policies)
    assert [delta.text for delta in parser.feed("<think>abc <")] == ["abc "]
    with pytest.raises(MalformedOutput, match="ended before the end of reasoning"):
        parser.finish("length")
    assert parser.finish_reason == "length"
    assert [delta.text for delta in parser.finish("length")] == ["<"]
    assert parser.finish("length") == []
    assert parser.message.reasoning_content == "abc <"
