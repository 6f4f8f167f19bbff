"""Short hostile texts: overlapping markers, invalid characters, truncation at any character.

`test_hostile.py` has the long ones.
"""

from __future__ import annotations

import json
import re
from itertools import product

import pytest

from deltaparse import ReasoningFormat, ToolsFormat, TurnFormat, WireFormat

from ..strategies.call_patterns import FAMILIES, emitted, kinds, read

MARKERS = {
    "prefixes": ("<", "<<", "<<<", "<<<<", "<<<<<"),
    "prefixes, the other way": ("<<<<<", "<<<<", "<<<", "<<", "<"),
    "overlaps": ("aba", "bab", "abab", "baba", "ababa"),
    "one in the other": ("<a<b>>", "<b>", "<a<b", "b>>", "a<b>"),
    "all the same": ("<x>",) * 5,
    "JSON's own": ("{", "}", '"', "[", "]"),
    "white space and patterns": (" .*", ".*\n", "\n\n.", "(.)", "\\"),
}


@pytest.mark.parametrize("name", MARKERS)
def test_overlapping_markers_give_the_same_for_all_chunks(name):
    opening, closing, think, answer, end = MARKERS[name]
    fmt = WireFormat(
        turn=TurnFormat(ends=(end,)),
        reasoning=ReasoningFormat(mode="TAG_BASED", start=think, end=answer),
        tools=ToolsFormat(
            format="JSON_NATIVE",
            per_call_start=opening,
            per_call_end=closing,
            name_field="name",
            arguments_field="arguments",
        ),
    )
    chunks = [*MARKERS[name], '{"name": "f", "arguments": {"q": "w"}}', "w"]
    for text in map("".join, product(chunks, repeat=3)):
        whole = read(fmt, text)
        for size in (1, 2):
            parser = read(fmt, text, size)
            assert (parser.message, parser.issues) == (whole.message, whole.issues), text
        assert "internal_error" not in kinds(whole), text
        assert emitted(whole).count("w") >= text.count("w"), text


ODD = ["\0", "\ufeff", "\u202e", "\x1b[2J", "\x7f", "\U0010ffff"]
HALVES = ["\ud83d", "\ude00", "\ude00\ud83d"]
NO_UTF8 = [b"\xff", b"\xc3(", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\xbd", b"\xc0\x80", b"\x80"]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("odd", [*ODD, *HALVES, *NO_UTF8], ids=ascii)
def test_invalid_characters_and_bytes_are_reported(name, odd):
    family = FAMILIES[name]
    for part in filter(family.has, "nikv"):
        text = family.write(**{part: '"x@y"' if part == "v" else "x@y"})
        given = (
            text.encode().replace(b"@", odd) if isinstance(odd, bytes) else text.replace("@", odd)
        )
        whole = read(family.format, given)
        for size in (1, 2, 3):
            parser = read(family.format, given, size)
            assert (parser.message, parser.issues) == (whole.message, whole.issues)
        assert ("invalid_text" in kinds(whole)) == (odd not in ODD)
        assert "internal_error" not in kinds(whole)
        assert {"x", "y"} <= set(emitted(whole))
        json.dumps(whole.message.to_openai(), ensure_ascii=False).encode()
        for call in whole.message.tool_calls:
            assert not call.complete or json.loads(call.arguments)


VALUES = ['{"waw": ["wbw", 12345]}', "[1, 'wcw']", '"wdw"', "67890"]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("kind", [None, "number"])
def test_truncation_at_any_character_loses_no_word(name, value, kind):
    """Find each word before the truncation in the message or in an issue."""
    family = FAMILIES[name]
    parameters = {"type": "object", "properties": {"wkw": {"type": kind} if kind else {}}}
    tools = [{"name": "wnw", "parameters": parameters}]
    text = family.write(n="wnw", i="wiw", k="wkw", v=value)
    for cut in range(len(text) + 1):
        words = set(re.findall(r"w[a-z]w|12345|67890", text[:cut]))
        for reason in ("stop", "length"):
            found = emitted(read(family.format, text[:cut], reason=reason, tools=tools))
            assert {word for word in words if word not in found} == set(), text[:cut]


def test_truncated_string_delimiter_is_not_part_of_the_string():
    family = FAMILIES["quotes of its own"]
    text = family.write(v='<|"|>x<|"|>')
    whole = read(family.format, text).message.tool_calls[0].arguments
    for cut in range(text.index("x"), len(text)):
        (call,) = read(family.format, text[:cut], reason="length").message.tool_calls
        assert whole.startswith(call.arguments), text[:cut]
