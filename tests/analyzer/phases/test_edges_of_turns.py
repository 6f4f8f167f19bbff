"""Headers of prompts that share only the end of the user's message."""

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
def test_user_message_end_becomes_the_header(source):
    fmt = analyze(source)
    assert fmt.verified
    assert fmt.turn.headers == ("[/ASK]",)
    for prompt, text in (("[ASK]Hi[/ASK]<t>", "hm</t>Dry."), ("[ASK]Hi[/ASK]", "<t>hm</t>Dry.")):
        message = parse(text, fmt, prompt=prompt, finish_reason="stop")
        assert (message.reasoning_content, message.content) == ("hm", "Dry.")


def test_content_start_is_excluded_from_the_reasoning_end():
    fmt = analyze(WRAPPED)
    assert fmt.verified
    assert (fmt.reasoning.end, fmt.content.start, fmt.content.end) == ("</t>", "<say>", "</say>")
    closed = parse("<say>Dry.</say>", fmt, prompt="[ASK]Hi[/ASK]<t></t>", finish_reason="stop")
    assert (closed.reasoning_content, closed.content) == ("", "Dry.")
