"""What a turn begins with, where prompts share no more than the end of the user's message."""

from __future__ import annotations

import pytest

from deltaparse import analyze, parse

ASKED = "{% for m in messages %}{% if m.role != 'assistant' %}[ASK]{{ m.content }}[/ASK]{% else %}"
CALLS = "{% for c in m.tool_calls or [] %}<c>{{ c.function | tojson }}</c>{% endfor %}"
END = "</s>{% endif %}{% endfor %}{% if add_generation_prompt %}"
PAIR = "<t>{{ m.reasoning_content or '' }}</t>"
OPENED = "{% if m.reasoning_content and deep %}" + PAIR + "{% else %}</t>{% endif %}"
SAID = "{{ m.content or '' }}"
ANSWER = "{% if m.content %}<say>{{ m.content }}</say>{% endif %}"
ALWAYS = ASKED + PAIR + SAID + CALLS + END + "<t>{{ '</t>' if brief }}{% endif %}"
EITHER = ASKED + OPENED + SAID + CALLS + END + "{{ '<t>' if deep else '</t>' }}{% endif %}"
WRAPPED = ASKED + PAIR + ANSWER + CALLS + END + "{{ '<t></t>' if brief }}{% endif %}"


@pytest.mark.parametrize("source", [ALWAYS, EITHER])
def test_what_ends_the_users_message_is_a_header(source):
    fmt = analyze(source)
    assert fmt.verified
    assert fmt.turn.headers == ("[/ASK]",)
    for prompt, text in (("[ASK]Hi[/ASK]<t>", "hm</t>Dry."), ("[ASK]Hi[/ASK]", "<t>hm</t>Dry.")):
        message = parse(text, fmt, prompt=prompt, finish_reason="stop")
        assert (message.reasoning_content, message.content) == ("hm", "Dry.")


def test_what_content_begins_with_is_no_part_of_the_end_of_reasoning():
    fmt = analyze(WRAPPED)
    assert fmt.verified
    assert (fmt.reasoning.end, fmt.content.start, fmt.content.end) == ("</t>", "<say>", "</say>")
    closed = parse("<say>Dry.</say>", fmt, prompt="[ASK]Hi[/ASK]<t></t>", finish_reason="stop")
    assert (closed.reasoning_content, closed.content) == ("", "Dry.")
