"""Tests of writing the headers of messages of a response template."""

from __future__ import annotations

import pytest
import regex

from deltaparse import get_format, to_response_template


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("<|start|>assistant<|channel|>analysis<|message|>", "thinking"),
        ("<|channel|>analysis<|message|>", "thinking"),
        ("<|channel|>analysis to=all<|message|>", "thinking"),
        ("<|channel|>final<|message|>", "content"),
        ("<|channel|>analysis2<|message|>", "content"),
        ("<|channel|>commentary to=user<|message|>", "content"),
        ("<|channel|>commentary to=assistant <|message|>", "content"),
        ("<|channel|>final <|constrain|>json<|message|>", "content"),
        ("<|channel|>commentary to=functions.f <|constrain|>json<|message|>", "tool_calls"),
        (" to=functions.f<|channel|>analysis<|message|>", "tool_calls"),
        ("<|start|>assistant to=functions.f<|channel|>commentary json<|message|>", "tool_calls"),
        ("<|channel|>commentary to=f<|message|>", None),
    ],
)
def test_header_selects_the_field_of_a_message(header, kind):
    fields = to_response_template(get_format("gpt_oss"))["fields"]
    found = {
        name for name, field in fields.items() if regex.fullmatch(field["open_pattern"], header)
    }
    assert found == ({kind} if kind else set())
    if kind == "tool_calls":
        assert regex.fullmatch(fields[kind]["open_pattern"], header)["name"] == "f"
    assert [fields[name]["content"] for name in ("thinking", "tool_calls", "content")] == [
        "text",
        "json",
        "text",
    ]
    for field in fields.values():
        for end in ("<|end|>", "<|call|> ", "\n<|return|>"):
            assert regex.fullmatch(field["close_pattern"], end)
        assert regex.match(field["close_pattern"], "<|start|>").end() == 0


def test_headers_without_a_namespace():
    fmt = get_format("gpt_oss").replace(function={"namespace": ""})
    opener = to_response_template(fmt)["fields"]["tool_calls"]["open_pattern"]
    assert (
        regex.fullmatch(opener, "<|channel|>a to=functions.f<|message|>")["name"] == "functions.f"
    )
    assert regex.fullmatch(opener, "<|channel|>a to=user<|message|>") is None
    assert regex.fullmatch(opener, "<|channel|>a to=users<|message|>")["name"] == "users"
    padded = fmt.replace(turn={"headers": ("<|start|>model\n",)})
    opener = to_response_template(padded)["fields"]["tool_calls"]["open_pattern"]
    assert regex.fullmatch(opener, "<|channel|>a to=model<|message|>") is None


@pytest.mark.parametrize("start", ["", " "])
def test_headers_without_a_start_marker(start):
    bare = {"recipient": " ", "reasoning": (), "start": start, "constrain": ""}
    plain = get_format("gpt_oss").replace(function={"namespace": ""}, channels=bare)
    fields = to_response_template(plain.replace(turn={"headers": ("<|a|>",)}))["fields"]
    assert regex.fullmatch(fields["content"]["open_pattern"], "<|channel|>analysis<|message|>")
    assert (
        regex.search(fields["tool_calls"]["open_pattern"], "<|channel|>a to=f<|message|>") is None
    )
    for header in ("<|channel|>analysis<|message|>", "<|channel|><|message|>"):
        assert regex.search(fields["thinking"]["open_pattern"], header) is None
    header = "<|channel|>a<|message|>"
    assert regex.search(fields["tool_calls"]["open_pattern"], header) is None
    assert regex.search(fields["content"]["open_pattern"], "so" + header).start() == 2
    assert regex.fullmatch(fields["content"]["close_pattern"], "<|end|>")
    assert regex.match(fields["content"]["close_pattern"], "so") is None
