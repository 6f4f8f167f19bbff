"""Which of the formats that are known an output looks like.

"Zero calls parsed, but this looks like hermes": the markers of all formats are looked for in one
pass; each format of which a marker was found then parses the output, and says what it would find.
Formats that differ in the white space beside their markers alone count as one, for a parser reads
them alike. The cost is that of a parse for each that is left: linear in the output.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from deltaparse.partial import Markers, UsageError

from .iterate import parse
from .wire.format import WireFormat
from .wire.named.registry import all_formats, of_all_formats

__all__ = ["Suggestion", "call_markers", "suggest_formats"]

ENOUGH = 2
"""Markers of a format that make an output look like it, where it finds no call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A format that an output looks like.

    `calls` is how many calls it would find, `evidence` its markers that stand in the output (none
    where its calls stand in no markers), `also` the formats that read the output alike.
    """

    name: str
    calls: int
    evidence: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The evidence in words."""
        number = {0: "no calls", 1: "1 call"}.get(self.calls, f"{self.calls} calls")
        seen = ", ".join(map(repr, self.evidence)) or "a call without markers"
        return f"{number}; it holds {seen}"


@dataclass(frozen=True, slots=True)
class _Known:
    """A format; its `markers` of calls, without white space; all it has, as `written`."""

    name: str
    format: WireFormat
    markers: tuple[str, ...]
    written: tuple[str, ...]


def suggest_formats(text: str) -> list[Suggestion]:
    """Return the formats that an output looks like, the likeliest first; [] if there are none.

    Raises:
        UsageError: the output is not text.
    """
    if not isinstance(text, str):
        raise UsageError(f"an output is text, not {type(text).__name__}")
    known, literals = of_all_formats(_known)
    found = _standing(text, literals)
    alike: dict[object, list[_Known]] = {}
    for one in known:
        unmarked = one.format.derived.unmarked_calls and _begins_with_bracket(text, one.format)
        if unmarked or found.intersection(one.markers):
            alike.setdefault(_syntax(one.format), []).append(one)
    made = [_suggestion(text, found, group) for group in alike.values()]
    called = [suggestion for suggestion in made if suggestion.calls]
    likely = called or [one for one in made if len(one.evidence) >= ENOUGH]
    return sorted(likely, key=lambda one: (one.calls, len(one.evidence)), reverse=True)


def _begins_with_bracket(text: str, fmt: WireFormat) -> bool:
    """Whether a turn begins with what may be a call, maybe behind its header."""
    for header in fmt.turn.headers:
        text = text.removeprefix(header.strip())
    return text.lstrip().startswith(("{", "["))


def _suggestion(text: str, found: set[str], group: list[_Known]) -> Suggestion:
    """What the formats of a group, which read calls alike, make of the output."""
    # That one is named whose markers stand there white space and all.
    exact = {one.name: sum(marker in text for marker in one.written) for one in group}
    best = max(group, key=lambda one: exact[one.name])
    message = parse(text, best.format)
    evidence = dict.fromkeys(marker for marker in best.markers if marker in found)
    return Suggestion(
        name=best.name,
        calls=len(message.tool_calls),
        evidence=tuple(evidence),
        also=tuple(one.name for one in group if one is not best),
    )


def _known(formats: Iterable[tuple[str, WireFormat]]) -> tuple[list[_Known], Markers]:
    """The formats with their markers, and all the markers to look for."""
    known = []
    for name, fmt in formats:
        tools, openings = fmt.tools, _openings(fmt)
        markers = tuple(text.strip() for text in openings)
        closers = (tools.section_end, tools.per_call_end, fmt.reasoning.start, fmt.reasoning.end)
        known.append(_Known(name, fmt, markers, (*openings, *filter(None, closers))))
    return known, Markers(frozenset(marker for one in known for marker in one.markers))


def call_markers() -> dict[str, tuple[str, ...]]:
    """For each named format the markers that begin a call or a part of it, without white space."""
    return {name: tuple(text.strip() for text in _openings(fmt)) for name, fmt in all_formats()}


def _openings(fmt: WireFormat) -> Sequence[str]:
    """The markers that begin a call or what belongs to it, and are not those of reasoning."""
    channels, arguments = fmt.channels, fmt.arguments
    found = [channels.start, channels.channel, channels.message, channels.constrain]
    found += [*fmt.derived.openers, fmt.code.start]
    if fmt.derived.is_tagged:
        found += [fmt.function.name_suffix, arguments.name_prefix]
        found += [arguments.value_prefix, fmt.call_id.prefix]
    # A bracket or two stand in any text.
    return [text for text in found if len(text.strip()) > 2]


def _standing(text: str, literals: Markers) -> set[str]:
    """Which of the markers stand in the text, also within others."""
    found: set[str] = set()
    pos = 0
    while True:
        start, end = literals.find(text, pos, final=True)
        if start == end:
            break
        found.add(text[start:end])
        pos = end
    return {small for big in found for small in literals.literals if small in big}


def _syntax(fmt: WireFormat) -> object:
    """What formats have in common that read calls alike."""
    groups = (fmt.tools, fmt.function, fmt.arguments, fmt.call_id, fmt.channels, fmt.code)
    values = [getattr(group, part.name) for group in groups for part in fields(group)]
    return tuple(value.strip() if isinstance(value, str) else value for value in values)
