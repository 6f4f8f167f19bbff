"""Formats as JSON documents: what a user reads in a file, and what is refused there."""

from __future__ import annotations

import json

import pytest

from deltaparse import FormatError, WireFormat

FMT = WireFormat().replace(turn={"ends": ("｜終｜",)})


def test_a_document_is_for_readers():
    lines = FMT.to_json().splitlines()
    assert lines[:2] == ["{", '  "version": 1,']
    assert '      "｜終｜"' in lines


def test_a_document_has_all_fields_and_says_the_same_in_ascii():
    document = json.loads(FMT.to_json())
    assert list(document) == ["version", *WireFormat.__dataclass_fields__]
    assert WireFormat.from_json(json.dumps(document)) == FMT


@pytest.mark.parametrize("version", [True, 1.0, "1", None, 2, [1]])
def test_another_version_is_refused(version):
    with pytest.raises(FormatError, match="version"):
        WireFormat.from_json(json.dumps({"version": version}))
