"""Tests of formats as JSON documents."""

from __future__ import annotations

import json

import pytest

from deltaparse import FormatError, WireFormat

FMT = WireFormat().replace(turn={"ends": ("｜終｜",)})


def test_document_is_readable():
    lines = FMT.to_json().splitlines()
    assert lines[:2] == ["{", '  "version": 1,']
    assert '      "｜終｜"' in lines


def test_document_has_all_fields_and_round_trips_in_ascii():
    document = json.loads(FMT.to_json())
    assert list(document) == ["version", *WireFormat.__dataclass_fields__]
    assert WireFormat.from_json(json.dumps(document)) == FMT


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ([], "format must be an object"),
        ({"turn": []}, r"format\.turn must be an object"),
        ({"tool": {}}, r"format has no 'tool', expected one of: turn, reasoning, content"),
        ({"turn": {"end": []}}, r"format\.turn has no 'end', expected one of: headers, ends"),
        ({"turn": {"ends": ["a", 1]}}, r"format\.turn\.ends must be a tuple of strings"),
        ({"turn": {"several_messages": 1}}, r"format\.turn\.several_messages must be bool, not 1"),
        ({"tools": {"section_end": None}}, r"format\.tools\.section_end must be str, not None"),
        ({"tools": {"format": "XML"}}, r"format\.tools\.format must be one of NONE, JSON_NATIVE"),
        ({"switches": ["a"]}, "switches must map strings to tuples"),
        ({"verified": "yes"}, r"format\.verified must be bool, not 'yes'"),
    ],
)
def test_invalid_document_raises_with_its_place(document, says):
    with pytest.raises(FormatError, match=f"^{says}"):
        WireFormat.from_json(json.dumps(document))


def test_switches_are_replaced_as_a_whole():
    switches = {"think": ["prompt"], "tools": []}
    fmt = FMT.replace(switches=switches)
    assert dict(fmt.switches) == {"think": ("prompt",), "tools": ()}
    assert list(fmt.replace(switches={"think": []}).switches) == ["think"]
    assert WireFormat.from_json(fmt.to_json()) == fmt
    assert json.loads(fmt.to_json())["switches"] == switches


@pytest.mark.parametrize("version", [True, 1.0, "1", None, 2, [1]])
def test_other_version_raises(version):
    with pytest.raises(FormatError, match="version"):
        WireFormat.from_json(json.dumps({"version": version}))
