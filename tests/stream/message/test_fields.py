"""The fields in which servers put reasoning."""

from __future__ import annotations

import pytest

from deltaparse import ReasoningDelta, UsageError, parse
from deltaparse.stream.message.fields import reasoning_fields

from ...strategies.wire_by_hand import TAGS


def test_one_name_or_both():
    assert reasoning_fields("hm", "reasoning") == {"reasoning": "hm"}
    assert reasoning_fields("hm", "reasoning_content") == {"reasoning_content": "hm"}
    assert reasoning_fields("hm", "both") == {"reasoning": "hm", "reasoning_content": "hm"}


@pytest.mark.parametrize("name", ["thinking", "", None])
def test_another_name_is_refused_with_those_that_there_are(name):
    message = parse("<think>\nhm\n</think>\n\n", TAGS)
    for use in (message.to_openai, ReasoningDelta("hm").to_openai):
        with pytest.raises(UsageError, match='must be "reasoning_content", "reasoning" or "both"'):
            use(reasoning=name)
