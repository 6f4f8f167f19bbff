"""Strategies for model outputs in a format, with and without faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from deltaparse.analyzer.format_markers import confusing
from deltaparse.grammar import gbnf
from deltaparse.stream import ReasoningMode, WireFormat
from deltaparse.stream.wire.format_source import as_format

from .grammar_samples import free_text, texts_of

__all__ = ["markers_of", "outputs"]

EXAMPLE_TOOLS: Sequence[Mapping[str, Any]] = (
    {
        "name": "look_up",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "now": {"type": "boolean"},
                "among": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["city"],
        },
    },
    {"name": "say", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
)
"""Default tools."""

MOST_FAULTS = 3


def outputs(
    fmt: WireFormat | str,
    tools: Sequence[Mapping[str, Any]] | None = None,
    *,
    prompt: str = "",
    faults: bool = False,
) -> st.SearchStrategy[str]:
    """Draw model outputs: reasoning, content and calls in a format.

    The outputs are texts of the grammar of `deltaparse.grammar.gbnf`. So calls fit the schemas of
    their tools, except for keywords that the grammar cannot express.

    Args:
        fmt: the format, or its name.
        tools: the tools to call (default: two example tools). An empty list yields no calls.
        prompt: the rendered prompt of the output, or its end.
        faults: insert up to three faults: truncation, missing, doubled, incomplete or misplaced
            markers, and changed characters.

    Raises:
        UsageError: the format is unknown, or a tool is invalid.
    """
    fmt = as_format(fmt)
    offered = EXAMPLE_TOOLS if tools is None else tools
    rules = gbnf(fmt, offered, prompt=prompt, lazy=False).rules
    if rules is None:
        drawn = st.randoms(use_true_random=False).map(lambda random: _text(fmt, random))
    else:
        drawn = texts_of(rules)
    return _with_faults(drawn, markers_of(fmt)) if faults else drawn


@st.composite
def _with_faults(draw: st.DrawFn, drawn: st.SearchStrategy[str], markers: Sequence[str]) -> str:
    text, random = draw(drawn), draw(st.randoms(use_true_random=False))
    for _ in range(draw(st.integers(0, MOST_FAULTS))):
        text = _spoilt(text, markers, random)
    return text


def _text(fmt: WireFormat, random: Random) -> str:
    """Draw a turn without calls."""
    marks, markers = fmt.reasoning, markers_of(fmt)
    said = f"{fmt.content.start}{free_text(random, markers, least=1)}{fmt.content.end}"
    if marks.mode is ReasoningMode.TAG_BASED and random.randint(0, 1):
        return f"{marks.start}{free_text(random, markers)}{marks.end}{said}"
    return said


def markers_of(fmt: WireFormat) -> list[str]:
    """Return the markers of a format without outer whitespace, the longest first."""
    return sorted(confusing(fmt), key=len, reverse=True)


def _spoilt(text: str, markers: Sequence[str], random: Random) -> str:
    """Insert one fault into an output."""
    at, other = sorted((random.randint(0, len(text)), random.randint(0, len(text))))
    standing = [marker for marker in markers if marker in text]
    marker = random.choice(standing) if standing else ""
    match random.randint(0, 7):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + text[other:]
        case 2 if marker:
            return text.replace(marker, "", 1)
        case 3 if marker:
            return text.replace(marker, marker * 2, 1)
        case 4 if marker:
            return text.replace(marker, marker[: random.randint(0, len(marker))], 1)
        case 5 if markers:
            return text[:at] + random.choice(markers) + text[at:]
        case 6:
            return text[:at] + random.choice('{}[]",:\\\n <>/|0é\x00') + text[at + 1 :]
        case _:
            return text[:other] + text[at:]
