"""What may stand in the place of a format: one, or the name of one."""

from __future__ import annotations

import pytest

from deltaparse import UsageError, WireFormat, get_format
from deltaparse.stream.wire.format_source import as_format


def test_a_format_and_the_name_of_one():
    fmt = WireFormat()
    assert as_format(fmt) is fmt
    assert as_format("hermes") is get_format("hermes")
    with pytest.raises(UsageError, match="no format is called 'herms'"):
        as_format("herms")


@pytest.mark.parametrize("text", ["{% if a %}", "<s>{{ b }}", "{% if a %}{{ b }}"])
def test_a_template_is_none(text):
    with pytest.raises(UsageError, match=r"a chat template \(pass analyze\(template\)"):
        as_format(text)


@pytest.mark.parametrize("text", ["Let me see.", "x\ny", "a b " * 5_000])
def test_an_output_in_the_place_of_a_format_is_told_in_short(text):
    with pytest.raises(UsageError, match=r"the order is parse\(text, fmt\)") as found:
        as_format(text)
    assert len(str(found.value)) < 200


def test_a_long_name_is_told_in_short():
    with pytest.raises(UsageError, match="no format is called 'xxx") as found:
        as_format("x" * 10_000)
    assert len(str(found.value)) < 200


@pytest.mark.parametrize("given", [None, 3, b"hermes", {"turn": {}}])
def test_another_thing_is_none_and_the_text_says_what_it_is(given):
    with pytest.raises(
        UsageError, match=rf"a WireFormat \(see analyze\), not {type(given).__name__}"
    ):
        as_format(given)
