"""Tests of the fields for reasoning."""

from __future__ import annotations

import pytest

from deltaparse import ReasoningDelta, UsageError, parse
from deltaparse.stream.message.fields import reasoning_fields

from ...strategies.wire_by_hand import TAGS


def test_reasoning_fields_with_one_or_both_names():
    assert reasoning_fields("hm", "reasoning") == {"reasoning": "hm"}
    assert reasoning_fields("hm", "reasoning_content") == {"reasoning_content": "hm"}
    assert reasoning_fields("hm", "both") == {"reasoning": "hm", "reasoning_content": "hm"}


@pytest.mark.parametrize("name", ["thinking", "", None])
def test_unknown_reasoning_field_raises_with_the_valid_names(name):
    message = parse("<think>\nhm\n</think>\n\n", TAGS)
    for use in (message.to_openai, ReasoningDelta("hm").to_openai):
        with pytest.raises(UsageError, match='must be "reasoning_content", "reasoning" or "both"'):
            use(reasoning=name)
