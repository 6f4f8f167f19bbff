"""Templates with parts dropped, doubled, moved, replaced or truncated."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from .templates import TOKEN

MARKER = re.compile(r"<[^<>{}%'\"\s]{1,40}>|\[[A-Z_/]{2,30}\]")
OTHER_MARKERS = ["<call>", "</call>", "<think>", "[ACT]", "<|end|>", "<", ""]
TOKENS = ["{% if tools %}", "{% endif %}", "{% else %}", "{% endfor %}", "{{ '<x>' }}", "{{", "-%}"]
TOKENS += ["{{ bos_token }}", "{# #}", "{% set x = 1 %}", " ", "\n", "'", "}}", "text", "<think>"]


def part_of(draw, parts):
    """Draw a part of the text as two offsets, usually a short one."""
    start = draw(st.integers(0, len(parts)))
    return start, min(len(parts), start + draw(st.sampled_from([1, 1, 2, 5, 20])))


def changed(draw, source):
    """Draw the template with one change."""
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
    """Draw the template with a marker replaced by another, everywhere or once."""
    found = sorted(set(MARKER.findall(source)))
    if not found:
        return source
    old, new = draw(st.sampled_from(found)), draw(st.sampled_from(found + OTHER_MARKERS))
    return source.replace(old, new, draw(st.sampled_from([-1, 1])))


@st.composite
def mutated(draw, sources):
    """Draw a template with some changes."""
    source = draw(sources)
    for _ in range(draw(st.integers(1, 3))):
        source = changed(draw, source)
    return source
