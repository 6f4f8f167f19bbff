"""Templates that make little sense: whatever they write, the analysis reports something of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import WireFormat, analyze

from ..strategies import templates
from ..strategies.templates import OWN, compiles

SOURCES = list(templates.SOURCES.values())
REFUSE = "{{ raise_exception('no') }}"
MORE = [
    REFUSE,
    "{% if tools %}" + REFUSE + "{% endif %}",
    "{% if add_generation_prompt %}" + REFUSE + "{% endif %}",
    "{{ messages }}",
    "{{ messages[-1].content }}",
    "<think>",
    "</a>",
    "\n",
    " ",
]


@st.composite
def odd(draw):
    """A template with a tag or text or two left out, doubled, moved or put in."""
    parts = templates.TOKEN.findall(draw(st.sampled_from(SOURCES)))
    for _ in range(draw(st.integers(1, 3))):
        at, other = (draw(st.integers(0, len(parts) - 1)) for _ in range(2))
        match draw(st.sampled_from("empty quote more swap double".split())):  # noqa: SIM905
            case "empty":
                parts[at] = parts[at] if parts[at].startswith("{%") else ""
            case "quote":
                parts[at] = re.sub("'[^']*'", "''", parts[at], count=1)
            case "more":
                parts.insert(at, draw(st.sampled_from(MORE)))
            case "swap":
                parts[at], parts[other] = parts[other], parts[at]
            case "double":
                parts.insert(other, parts[at])
    return "".join(parts)


@settings(max_examples=60)
@given(source=odd().filter(compiles))
def test_something_is_reported_of_every_template(source):
    fmt = analyze(source)
    assert fmt.verified or fmt.issues
    assert WireFormat.from_json(fmt.to_json()) == fmt


ODD = {
    "the user's message shows only with an answer": (
        (
            "{% if messages | length > 1 %}{% for m in messages %}<{{ m.role }}>{{ m.content }}"
            "{% endfor %}{% endif %}"
        ),
        "renders no simple conversation",
    ),
    "nothing ends a message, but something follows the last answer": (
        (
            "{% for m in messages %}{{ '<a>' if m.role == 'assistant' }}{{ m.content }}{% endfor %}"
            "{{ '<x><a>' if messages[-1].role == 'assistant' or add_generation_prompt }}"
        ),
        None,
    ),
    "it refuses to be a prompt, and more follows an answer than ends it": (
        "{% if add_generation_prompt %}" + REFUSE + "{% endif %}" + OWN.reasoning_beside_calls_only,
        "renders no generation prompt",
    ),
    "what ends a turn is longer than a marker may be": (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}" + "and so on, " * 40 + "{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}",
        "do not form a valid format",
    ),
    "it writes nothing": (
        "{% for m in messages %}{% endfor %}",
        "renders no simple conversation",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_templates_that_were_too_odd(name):
    source, issue = ODD[name]
    fmt = analyze(source)
    assert fmt.verified is (issue is None)
    assert issue is None or any(issue in words for words in fmt.issues)
