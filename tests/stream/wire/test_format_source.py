"""Tests of arguments that are a format or its name."""

from __future__ import annotations

import pytest

from deltaparse import UsageError, WireFormat, get_format
from deltaparse.stream.wire.format_source import as_format


def test_format_or_name_is_accepted():
    fmt = WireFormat()
    assert as_format(fmt) is fmt
    assert as_format("hermes") is get_format("hermes")
    with pytest.raises(UsageError, match="no format is called 'herms'"):
        as_format("herms")


@pytest.mark.parametrize("text", ["{% if a %}", "<s>{{ b }}", "{% if a %}{{ b }}"])
def test_template_as_format_raises_with_a_hint(text):
    with pytest.raises(UsageError, match=r"a chat template \(pass analyze\(template\)"):
        as_format(text)


@pytest.mark.parametrize("text", ["Let me see.", "x\ny", "a b " * 5_000])
def test_output_as_format_raises_a_short_message(text):
    with pytest.raises(UsageError, match=r"the order is parse\(text, fmt\)") as found:
        as_format(text)
    assert len(str(found.value)) < 200


def test_long_name_is_truncated_in_the_message():
    with pytest.raises(UsageError, match="no format is called 'xxx") as found:
        as_format("x" * 10_000)
    assert len(str(found.value)) < 200


@pytest.mark.parametrize("given", [None, 3, b"hermes", {"turn": {}}])
def test_other_object_as_format_raises_with_its_type(given):
    with pytest.raises(
        UsageError, match=rf"a WireFormat \(see analyze\), not {type(given).__name__}"
    ):
        as_format(given)
