"""Invariants of every text in every format, shared by the properties of all families.

The numbers are those of the README. Checks for a single family are in the tests of that family.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import settings

from deltaparse import StreamParser, ToolCallDelta

from ..strategies.wire_families import FAMILIES
from ..support import as_joined, joined


def in_families(families=FAMILIES):
    """Parametrize a property over families, with half of the usual examples."""

    def mark(test):
        test = settings(max_examples=settings.default.max_examples // 2)(test)
        return pytest.mark.parametrize("family", families, ids=repr)(test)

    return mark


def run(fmt, texts, reason="stop", **options):
    """Return a finished parser and all of its deltas."""
    parser = StreamParser(fmt, **options)
    deltas = [delta for text in texts for delta in parser.feed(text)]
    return parser, deltas + parser.finish(reason)


def check_1_and_2(fmt, text, cuts, reason="stop", **options):
    """Check the sum of the deltas against the message, with equal issues for all cuts."""
    whole, deltas = run(fmt, [text], reason, **options)
    assert joined(deltas) == as_joined(whole.message)
    assert "internal_error" not in {issue.kind for issue in whole.issues}
    for issue in whole.issues:
        assert issue.detail
        assert 0 <= issue.span[0] <= issue.span[1] <= len(text)
    for texts in cuts:
        parser, deltas = run(fmt, texts, reason, **options)

        assert joined(deltas) == as_joined(parser.message)
        assert parser.message == whole.message
        assert parser.finish_reason == whole.finish_reason
        assert parser.issues == whole.issues


def check_3(fmt, text, **options):
    """Check that the result for a prefix is a prefix of the complete result."""
    final = joined(run(fmt, [text], **options)[1])
    parser = StreamParser(fmt, **options)
    deltas = []
    for char in text:
        deltas += parser.feed(char)
        content, reasoning, calls = joined(deltas)

        assert final[0].startswith(content)
        assert final[1].startswith(reasoning)
        for so_far, (call_id, name, whole) in zip(calls, final[2], strict=False):
            assert so_far[:2] == (call_id, name)
            assert whole.startswith(so_far[2])


def check_4(deltas):
    """Check that calls start once, with their id and complete name, and do not interleave."""
    calls = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    indices = [delta.index for delta in calls]
    assert indices == sorted(indices)
    assert set(indices) == set(range(len(set(indices))))
    for index in set(indices):
        first, *later = [delta for delta in calls if delta.index == index]
        assert first.id
        assert first.name
        assert all(delta.id is None and delta.name is None for delta in later)


def check_5(message):
    """Check that complete calls have an object as arguments, and others heal to one."""
    for call in message.tool_calls:
        assert isinstance(json.loads(call.arguments) if call.complete else call.healed(), dict)
