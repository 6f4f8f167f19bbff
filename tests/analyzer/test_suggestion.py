"""Which named format is suggested to a template that renders no calls, and on what evidence."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, analyze

TURNS = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
LISTED = "{% if tools %}<|tool_list_start|>{{ tools | tojson }}<|tool_list_end|>{% endif %}" + TURNS
DESCRIBED = "{% if tools %}{{ tools | tojson }} Write <tool_call>{...}</tool_call>.{% endif %}"


@pytest.mark.parametrize(
    ("source", "tokens", "name"),
    [
        (DESCRIBED + TURNS, (), "hermes"),  # the markers of calls, in what the model is told
        (TURNS, ("<|tool_call_start|>", "<|tool_call_end|>"), "lfm2"),  # or among the tokens
        (LISTED, (), "lfm2"),  # a token that no other format has
        (TURNS, (), ""),
        ("{% if tools %}{{ tools | tojson }}{% endif %}" + TURNS, (), ""),
    ],
)
def test_a_format_is_suggested_where_exactly_one_fits(source, tokens, name):
    fmt = analyze(ChatTemplate(source, added_tokens=tokens))
    assert fmt.suggested == name
    assert not fmt.proved.calls


def test_what_is_suggested_is_not_verified_when_it_is_taken():
    fmt = analyze(LISTED, accept_suggestion=True)
    assert fmt.tools.format == "PYTHONIC"
    assert not fmt.verified
