"""Delimiters of quoted or foreign text: reasoning markers, quotation marks and turn markers.

The reasoning and end-of-turn markers are collected from all named formats, including registered
ones. Common elements for reasoning are added.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltaparse.stream.wire.format import WireFormat

__all__ = [
    "BOUNDARY",
    "CLOSES",
    "CURLY",
    "DOUBLE",
    "OPENS",
    "SPECIAL",
    "KnownMarkers",
    "known_markers",
]

BOUNDARY = r"(?![A-Za-z0-9_.:-])"
WORDS = ["thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad"]
"""Common elements for reasoning, in addition to the named formats."""

ELEMENT = re.compile(r"<([A-Za-z][A-Za-z0-9_.:-]*)>")
BEGUN = re.compile(r"<[^\W\d_][\w.:-]{0,63}+")
"""The possible beginning of an element."""

SPECIAL = re.compile(r"<[|｜][^<>\s]{1,64}+>")
"""A special token in the spelling of most vocabularies."""

HEADER = re.compile(r"\s*(\S*?[]>])(assistant|model|ai)\b", re.IGNORECASE)
"""A header of the model's turn: a marker, then the model's role."""

SPEAKER = re.compile(r"(?<![a-z])(?:assistant|chatbot|model|ai)(?![a-z])", re.IGNORECASE)
"""The model's role within a marker, e.g. `<|assistant|>`."""

OTHERS = "(?i:user|human|system|developer|tool|function|ipython|observation|environment)"
"""The other roles in such a marker."""

NOTHING = r"(?!)"

DOUBLE = {mark: family for family in ('"', "\uff02", "″", "“”„‟", "«»", "‹›") for mark in family}
"""Quotation marks that may open or close, with their families."""

CURLY = "‘‚‛"
"""Single quotation marks that are never apostrophes."""

BRACKETS = "「」『』｢｣《》〈〉〝〞〝〟﹁﹂﹃﹄❝❞❛❜❮❯❰❱⟨⟩⟪⟫\U0001f676\U0001f677"


def _directed() -> tuple[str, str]:
    """Return the opening and the closing quotation marks of all scripts, with CJK brackets."""
    others = {*DOUBLE, *CURLY, "’"}
    opening, closing = set(BRACKETS[::2]), set(BRACKETS[1::2])
    for mark in map(chr, range(0x80, 0x10000)):
        kind = unicodedata.category(mark)
        if kind in ("Pi", "Pf") and mark not in others:
            (opening if kind == "Pi" else closing).add(mark)
    return "".join(sorted(opening)), "".join(sorted(closing))


OPENS, CLOSES = _directed()


@dataclass(frozen=True, slots=True, eq=False)
class KnownMarkers:
    """Patterns for the markers of all named formats.

    Attributes:
        opens: begins reasoning.
        closes: ends reasoning.
        ends: ends the turn, or begins the message of another role.
        starts: begins another message of the turn.
        specials: the special tokens of headers and around content.
        elements: the beginnings of elements in these markers, in lower case.
        closers: the end of reasoning for each opening marker without a matching end tag. The keys
            are in lower case.
        last_close: ends reasoning, as a complete marker.
        all_ends: ends the turn.
    """

    opens: str
    closes: str
    ends: str
    starts: str
    specials: frozenset[str]
    elements: frozenset[str]
    closers: dict[str, re.Pattern[str]]
    last_close: re.Pattern[str]
    all_ends: re.Pattern[str]


def known_markers() -> KnownMarkers:
    """Return the markers of all formats registered so far."""
    from deltaparse.stream.wire.named.registry import of_all_formats  # lazy, because it reads files

    return of_all_formats(_known)


def _known(formats: Iterable[tuple[str, WireFormat]]) -> KnownMarkers:
    pairs: set[tuple[str, frozenset[str]]] = set()
    ends: set[str] = set()
    starts: set[str] = set()
    headers: set[str] = set()
    specials: set[str] = set()
    elements: set[str] = set()
    for _, fmt in formats:
        channels = fmt.channels
        pairs |= {(start.strip(), frozenset([end.strip()])) for start, end in fmt.reasoning.pairs}
        ends |= {end.strip() for end in fmt.turn.ends}
        starts.add(channels.start.strip())
        texts = (channels.start, channels.channel, channels.message, *channels.ends)
        texts += (fmt.content.start, fmt.content.end, fmt.turn.generation_prompt)
        specials.update(*map(SPECIAL.findall, (*texts, *fmt.turn.headers)))
        elements.update(*map(BEGUN.findall, map(str.lower, (*texts, *fmt.turn.headers))))
        headers.update(*(_of_others(header.strip()) for header in fmt.turn.headers))
        closing = frozenset(end.strip() for end in (channels.start, *channels.ends))
        # Formats without channels use recipients instead.
        before = (channels.channel or channels.recipient).strip()
        pairs |= {(f"{before}{name}", closing) for name in channels.reasoning}
    words, closes = set(WORDS), set[str]()
    ends_of: dict[str, set[str]] = {}
    for start, closing in pairs:
        own = set[str]()
        if element := ELEMENT.fullmatch(start):
            words.add(element[1])
            own.add(f"</{element[1]}>")
        if closing != own:
            ends_of.setdefault(start.lower(), own).update(closing)
            # One of several end markers may end other things, so it needs open reasoning.
            closes |= closing if len(closing) == 1 else set()
    names, closed = "|".join(map(re.escape, sorted(words))), _any(closes)
    return KnownMarkers(
        opens=rf"(?i:{_any(ends_of)}|<(?:{names}){BOUNDARY})",
        closes=rf"(?i:</(?:{names}){BOUNDARY}|{closed})",
        ends="|".join([_any(ends), *headers]),
        starts=_any(starts),
        specials=frozenset(specials),
        elements=frozenset(elements),
        closers={start: re.compile(f"(?i:{_any(closing)})") for start, closing in ends_of.items()},
        last_close=re.compile(rf"(?i:</(?:{names})[ \t]*+>|{closed})"),
        all_ends=re.compile(_any(ends)),
    )


def _of_others(header: str) -> Iterator[str]:
    """Yield patterns for headers of other roles, derived from a header of the model."""
    if found := HEADER.match(header):
        yield rf"{re.escape(found[1])}(?!{found[2]}\b)"
    if ">" in header and SPEAKER.search(header):
        yield OTHERS.join(map(re.escape, SPEAKER.split(header)))


def _any(texts: Iterable[str]) -> str:
    """Return a pattern for any of these texts, longest first. Without texts it never matches."""
    ordered = sorted((text for text in texts if text), key=len, reverse=True)
    return "|".join(map(re.escape, ordered)) or NOTHING
