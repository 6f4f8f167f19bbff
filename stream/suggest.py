"""Suggestions of built-in formats for a response, e.g. if no calls were parsed.

The markers of all formats are searched in one pass. Each format with a marker in the response then
parses the response, and its calls are counted. Formats count as one if they differ only in the
whitespace around their markers, because a parser reads them alike. The cost is one parse for each
remaining format, so it is linear in the length of the response.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from deltaparse.partial import Markers, UsageError

from .iterate import parse
from .wire.format import WireFormat
from .wire.named.registry import all_formats, of_all_formats

__all__ = ["Suggestion", "call_markers", "suggest_formats"]

# More than one, because different formats share markers.
ENOUGH = 2
"""The number of markers needed to suggest a format without calls in the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A built-in format that could have produced a response.

    Attributes:
        name: the name of the format.
        calls: the number of calls that the format finds in the response.
        evidence: the markers of the format in the response, empty for unmarked calls.
        also: the names of other formats that read the response alike.
    """

    name: str
    calls: int
    evidence: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The evidence as a sentence."""
        number = {0: "no calls", 1: "1 call"}.get(self.calls, f"{self.calls} calls")
        seen = ", ".join(map(repr, self.evidence)) or "a call without markers"
        return f"{number}; it contains {seen}"


@dataclass(frozen=True, slots=True)
class _Known:
    """A format with its markers.

    Attributes:
        name: the name of the format.
        format: the format.
        markers: the markers of calls, without whitespace.
        written: all markers, with whitespace.
    """

    name: str
    format: WireFormat
    markers: tuple[str, ...]
    written: tuple[str, ...]


def suggest_formats(text: str) -> list[Suggestion]:
    """Guess which built-in formats could have produced a response, most likely first.

    Args:
        text: the response.

    Returns:
        The suggestions, [] if no format matches.

    Raises:
        UsageError: `text` is not a string.
    """
    if not isinstance(text, str):
        raise UsageError(f"the response must be a str, not {type(text).__name__}")
    # The markers of all formats are collected once, until a format is registered.
    known, literals = of_all_formats(_known)
    found = _standing(text, literals)
    alike: dict[object, list[_Known]] = {}
    for one in known:
        # Unmarked calls start with a bracket, so other text needs no parse.
        unmarked = one.format.derived.unmarked_calls and _begins_with_bracket(text, one.format)
        # Other formats are not tried, because a parse costs much more than the search.
        if unmarked or found.intersection(one.markers):
            alike.setdefault(_syntax(one.format), []).append(one)
    made = [_suggestion(text, found, group) for group in alike.values()]
    called = [suggestion for suggestion in made if suggestion.calls]
    # Markers are weak evidence, so they count only if no format finds a call.
    likely = called or [one for one in made if len(one.evidence) >= ENOUGH]
    return sorted(likely, key=lambda one: (one.calls, len(one.evidence)), reverse=True)


def _begins_with_bracket(text: str, fmt: WireFormat) -> bool:
    """Return True if a turn starts with a bracket, apart from its header."""
    # A recorded response may start with the header of the turn.
    for header in fmt.turn.headers:
        text = text.removeprefix(header.strip())
    return text.lstrip().startswith(("{", "["))


def _suggestion(text: str, found: set[str], group: list[_Known]) -> Suggestion:
    """Return the suggestion for a group of formats that read calls alike."""
    # The name is that of the format whose markers match with their whitespace.
    exact = {one.name: sum(marker in text for marker in one.written) for one in group}
    best = max(group, key=lambda one: exact[one.name])
    # One format is enough, because the others of the group find the same calls.
    message = parse(text, best.format)
    # A dict, because the order is that of the format, without duplicates.
    evidence = dict.fromkeys(marker for marker in best.markers if marker in found)
    return Suggestion(
        name=best.name,
        calls=len(message.tool_calls),
        evidence=tuple(evidence),
        also=tuple(one.name for one in group if one is not best),
    )


def _known(formats: Iterable[tuple[str, WireFormat]]) -> tuple[list[_Known], Markers]:
    """Return the formats with their markers, and the set of all markers."""
    known = []
    for name, fmt in formats:
        tools, openings = fmt.tools, _openings(fmt)
        markers = tuple(text.strip() for text in openings)
        closers = (tools.section_end, tools.per_call_end, fmt.reasoning.start, fmt.reasoning.end)
        known.append(_Known(name, fmt, markers, (*openings, *filter(None, closers))))
    return known, Markers(frozenset(marker for one in known for marker in one.markers))


def call_markers() -> dict[str, tuple[str, ...]]:
    """Return the markers, by built-in format, that start a call or a part of one.

    The markers are without whitespace.
    """
    return {name: tuple(text.strip() for text in _openings(fmt)) for name, fmt in all_formats()}


def _openings(fmt: WireFormat) -> Sequence[str]:
    """Return the markers that start a call or a part of one, except for reasoning markers."""
    channels, arguments = fmt.channels, fmt.arguments
    found = [channels.start, channels.channel, channels.message, channels.constrain]
    found += [*fmt.derived.openers, fmt.code.start]
    # Only tagged calls have markers around their arguments.
    if fmt.derived.is_tagged:
        found += [fmt.function.name_suffix, arguments.name_prefix]
        found += [arguments.value_prefix, fmt.call_id.prefix]
    # Markers of one or two characters, e.g. brackets, occur in any text.
    return [text for text in found if len(text.strip()) > 2]


def _standing(text: str, literals: Markers) -> set[str]:
    """Return the markers contained in the text, including markers within other markers."""
    found: set[str] = set()
    pos = 0
    while True:
        start, end = literals.find(text, pos, final=True)
        # An empty match means that no marker is left.
        if start == end:
            break
        found.add(text[start:end])
        pos = end
    # The search finds the longest marker only, so the shorter ones within it are added here.
    return {small for big in found for small in literals.literals if small in big}


def _syntax(fmt: WireFormat) -> object:
    """Return a key that is equal for formats that read calls alike."""
    # A parser accepts any whitespace at markers, so formats may differ in it.
    groups = (fmt.tools, fmt.function, fmt.arguments, fmt.call_id, fmt.channels, fmt.code)
    values = [getattr(group, part.name) for group in groups for part in fields(group)]
    return tuple(value.strip() if isinstance(value, str) else value for value in values)
