"""What stands around a turn."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate
from deltaparse.analyzer.phases.frame import find_frame
from deltaparse.analyzer.renderer import Renderer

from ...strategies.templates import OWN

INSTRUCT = """{% for message in messages %}{% if message.role == 'user' -%}
[ASK]{{ message.content }}[/ASK]
{%- elif message.role == 'tool' -%}
[GOT]{"content": {{ message.content }}, "id": "{{ message.tool_call_id }}"}[/GOT]
{%- elif message.tool_calls -%}
[CALLS]{{ message.tool_calls[0].function.name }}{{ eos_token }}
{%- else -%}
{{ message.content + eos_token }}
{%- endif %}{% endfor %}"""


def frame_of(source, **tokens):
    render = Renderer(ChatTemplate(source, **tokens))
    return render, find_frame(render)


def test_headers_ends_and_generation_prompt():
    _, frame = frame_of(OWN.reasoning_forced_open)
    assert [text.strip() for text in frame.turn.headers] == ["<a>"]
    assert frame.turn.ends == ("</a>",)
    assert frame.turn.generation_prompt.endswith("<a>[mind]\n")


def test_a_turn_that_begins_where_the_other_ends():
    _, frame = frame_of(INSTRUCT, eos_token="</s>")
    assert frame.turn.headers == ("[/ASK]", "[/GOT]")
    assert frame.turn.ends == ("</s>",)
    assert frame.turn.generation_prompt == "[/ASK]"


def test_without_an_end_the_next_user_is_one():
    assert frame_of(INSTRUCT)[1].turn.ends == ("[ASK]",)


def test_a_prompt_at_every_end_is_no_part_of_the_turn():
    _, frame = frame_of(OWN.reasoning_beside_calls_only)
    assert frame.turn.ends == ("</a>",)
    assert "<a>" in frame.trailer


@pytest.mark.parametrize("source", ["", "{{ raise_exception('no') }}"])
def test_no_frame(source):
    assert frame_of(source)[1] is None


def test_templates_that_list_the_tools_without_asking_are_given_some():
    assert frame_of(OWN.json_unmarked)[1] is not None
