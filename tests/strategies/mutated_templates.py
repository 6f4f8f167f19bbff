"""Templates with parts of them left out, said twice, moved, replaced or cut off."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from .templates import TOKEN

MARKER = re.compile(r"<[^<>{}%'\"\s]{1,40}>|\[[A-Z_/]{2,30}\]")
OTHER_MARKERS = ["<call>", "</call>", "<think>", "[ACT]", "<|end|>", "<", ""]
TOKENS = ["{% if tools %}", "{% endif %}", "{% else %}", "{% endfor %}", "{{ '<x>' }}", "{{", "-%}"]
TOKENS += ["{{ bos_token }}", "{# #}", "{% set x = 1 %}", " ", "\n", "'", "}}", "text", "<think>"]


def part_of(draw, parts):
    """A part of the text, as two places in it; mostly short."""
    start = draw(st.integers(0, len(parts)))
    return start, min(len(parts), start + draw(st.sampled_from([1, 1, 2, 5, 20])))


def changed(draw, source):
    """The template with one change to it."""
    by_token = draw(st.booleans())
    parts = TOKEN.findall(source) if by_token else source.splitlines(keepends=True)
    start, end = part_of(draw, parts)
    match draw(st.sampled_from(["drop", "double", "swap", "marker", "token", "cut", "span"])):
        case "drop":
            del parts[start:end]
        case "double":
            parts[end:end] = parts[start:end]
        case "swap":
            parts[start:end] = reversed(parts[start:end])
        case "marker":
            return with_marker(draw, source)
        case "token":
            parts.insert(start, draw(st.sampled_from(TOKENS)))
        case "cut":
            del parts[start:]
        case "span":
            start, end = part_of(draw, source)
            return source[:start] + source[end:]
    return "".join(parts)


def with_marker(draw, source):
    """The template with another marker in place of one, everywhere or once."""
    found = sorted(set(MARKER.findall(source)))
    if not found:
        return source
    old, new = draw(st.sampled_from(found)), draw(st.sampled_from(found + OTHER_MARKERS))
    return source.replace(old, new, draw(st.sampled_from([-1, 1])))


@st.composite
def mutated(draw, sources):
    """A template with some changes to it."""
    source = draw(sources)
    for _ in range(draw(st.integers(1, 3))):
        source = changed(draw, source)
    return source
