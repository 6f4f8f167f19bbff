"""`deltaparse formats`: the list, and one format of it."""

from __future__ import annotations

import json

from deltaparse import WireFormat, get_format, list_formats


def test_the_list_has_names_aliases_and_a_sample(tried):
    code, out, err = tried("formats")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert len(lines) == 2 * len(list_formats())
    names = "hermes, hermes2, hermes_2_pro: Hermes 2 and 3"
    hermes = lines[lines.index(names) + 1]
    assert hermes.startswith('    CONTENT<tool_call>\\n{"name": "NAME", "arguments": ')
    assert max(map(len, lines)) <= 190


def test_the_list_as_json(tried):
    _, out, _ = tried("formats", "--json")
    found = json.loads(out)
    assert list(found) == list(list_formats())
    assert found["qwen25"]["aliases"] == list(list_formats()["qwen25"])
    assert found["qwen25"]["models"] == "Qwen 2.5, Qwen 3"
    assert "<tool_call>\n" in found["hermes"]["sample"]


def test_one_format(tried):
    _, words, _ = tried("formats", "Hermes2")
    assert "<tool_call>" in words
    _, document, _ = tried("formats", "hermes", "--json")
    assert WireFormat.from_json(document) == get_format("hermes")


def test_unknown_name_is_rejected(tried):
    for argv in (("formats", "hermess"), ("parse", "--format", "hermess")):
        code, out, err = tried(*argv)
        assert (code, out) == (2, "")
        assert err.startswith("deltaparse: no format is called 'hermess'; did you mean 'hermes'")


def test_built_in_format_is_not_verified(tried):
    _, out, _ = tried("formats", "qwen3")
    assert out.endswith(
        "\nNot verified: hand-written format. Verify it with `deltaparse doctor MODEL`.\n"
    )
