"""Arguments between markers."""

from __future__ import annotations

import pytest

from deltaparse import ArgumentsFormat
from deltaparse.analyzer.phases.tagged_arguments import with_elements
from deltaparse.analyzer.probes import ARGUMENT, REPEATED, VALUES


@pytest.mark.parametrize(
    ("arguments", "suffix"),
    [
        (ArgumentsFormat(name_prefix="<", name_suffix=">"), ""),
        (ArgumentsFormat(name_prefix="<", name_suffix=">", value_suffix="</arg>"), ">"),
    ],
)
def test_no_name_is_repeated(arguments, suffix):
    assert with_elements(arguments, suffix, None) is arguments


def test_a_name_that_is_repeated_behind_its_value():
    made = ArgumentsFormat(name_prefix="<", name_suffix=">", value_suffix=f"</{REPEATED}>")
    found = with_elements(made, ">", lambda *_: "")
    assert (found.value_suffix, found.key_suffix, found.item) == ("</", ">", "")
    listed = f"<{ARGUMENT}><item>{VALUES[1]}</item><item>{VALUES[0]}</item></{ARGUMENT}>"
    assert with_elements(made, ">", lambda *_: listed).item == "item"
