"""Arguments between markers."""

from __future__ import annotations

import pytest

from deltaparse import ArgumentsFormat
from deltaparse.analyzer.phases.tagged_arguments import with_elements


@pytest.mark.parametrize(
    ("arguments", "suffix"),
    [
        (ArgumentsFormat(name_prefix="<", name_suffix=">"), ""),
        (ArgumentsFormat(name_prefix="<", name_suffix=">", value_suffix="</arg>"), ">"),
    ],
)
def test_no_name_is_repeated(arguments, suffix):
    assert with_elements(arguments, suffix, None) is arguments
