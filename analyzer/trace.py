"""Record of an analysis: each rendering with its phase, and the evidence in the renderings.

The trace does not take part in the analysis. The `Renderer` records its renderings under the label
of the running phase. Comparisons and evidence are computed afterwards from these records. They show
the text of the template, not an interpretation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from deltaparse.stream import WireFormat

from .diff import Split, split
from .format_markers import texts_of
from .probes import ARGUMENT, ARGUMENTS, CALL_IDS, CONTENT, FUNCTIONS, REASONING, USER
from .proof.proved_turn import Shown

__all__ = ["Comparison", "Evidence", "Rendering", "Trace", "phase"]

P = ParamSpec("P")
T = TypeVar("T")
Messages = Sequence[Mapping[str, Any]]

SHOWN_BY = {
    "turn": ("frame", CONTENT),
    "reasoning": ("R", REASONING),
    "content": ("C", CONTENT),
    "tools": ("T", FUNCTIONS[0]),
    "function": ("T", FUNCTIONS[0]),
    "arguments": ("T", ARGUMENT),
    "call_id": ("T", CALL_IDS[0]),
    "channels": ("", CONTENT),
    "code": ("T", FUNCTIONS[0]),
}
"""The prefix of the phase labels and the nearest probe, for each group of fields."""

BETWEEN = {("tools", "separator"): FUNCTIONS, ("arguments", "separator"): ARGUMENTS}
"""Fields whose texts are between two probes."""

WORD = re.compile(r"\w+")

CONTEXT = 48
"""Characters of context before and after a text in `Evidence`."""

USUAL = frozenset({"role", "content", "name", "tool_call_id", "tool_calls"})
MOST_KEYS = 3
PROMPTED = "generation prompt"
SWITCHED_ON = {"add_generation_prompt": PROMPTED, "tools": "tools"}
"""Words for enabled settings in the label of a conversation."""

LONGEST_TEXT = 32
"""Characters of a message's text in the label of a conversation."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """A conversation with its rendering.

    Attributes:
        phase: the label of the requesting phase. `deltaparse.analyzer.phases` lists them.
        parts: descriptions of the messages and settings of the conversation.
        text: the rendered text, or None if the template refused the conversation.
    """

    phase: str
    parts: tuple[str, ...]
    text: str | None

    @property
    def label(self) -> str:
        """Return the description of the conversation in one line."""
        return ", ".join(self.parts)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A rendering and the earlier rendering of the most similar conversation.

    Attributes:
        rendering: the later rendering.
        base: the earlier rendering, or None for the first rendering.
        diff: their difference, `base` on the left. None if either text is missing.
    """

    rendering: Rendering
    base: Rendering | None
    diff: Split | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The place in a rendering that shows a text of the format.

    Attributes:
        field: the field of the format, for example `reasoning.start`.
        text: the text of the field, stripped if it was found only without its outer whitespace.
        rendering: the rendering with the text.
        before: the characters before the text in the rendering.
        after: the characters after the text in the rendering.
    """

    field: str
    text: str
    rendering: Rendering
    before: str
    after: str


class Trace:
    """The record of one analysis. Pass an empty trace to `analyze`.

    Attributes:
        proved: labels of the turns that were parsed back correctly.
        disproved: descriptions of the failures of all other turns.
        conversations: for content, reasoning and calls, the number of conversations in which it
            was parsed back.
        rendered: for each phase, the number of conversations rendered for the first time.
        shown: the rendered turns with the labels in `proved`.
    """

    def __init__(self) -> None:
        self._notes: list[tuple[str, Messages, Mapping[str, Any], str | None]] = []
        self.proved: tuple[str, ...] = ()
        self.disproved: tuple[str, ...] = ()
        self.conversations: Mapping[str, int] = {}
        self.rendered: Counter[str] = Counter()
        self.shown: tuple[Shown, ...] = ()
        self._phase = "frame"

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Record all renderings in the body of a `with` statement under this label."""
        outer, self._phase = self._phase, name
        try:
            yield
        finally:
            self._phase = outer

    def note(self, messages: Messages, settings: Mapping[str, Any], text: str | None) -> None:
        """Record a rendering, even if it was recorded before."""
        self._notes.append((self._phase, messages, settings, text))

    def count(self) -> None:
        """Count a conversation at its first rendering."""
        self.rendered[self._phase] += 1

    @property
    def renderings(self) -> tuple[Rendering, ...]:
        """Return the distinct renderings of each phase, in order."""
        made: dict[Rendering, None] = {}
        for name, messages, settings, text in self._notes:
            parts = [_described(message) for message in messages]
            parts += [f"{key}={value}" for key, value in settings.items() if key not in SWITCHED_ON]
            parts += [words for key, words in SWITCHED_ON.items() if settings.get(key)]
            made[Rendering(name, tuple(parts), text)] = None
        return tuple(made)

    def comparisons(self) -> Iterator[Comparison]:
        """Yield each rendering with the earlier rendering of the most similar conversation."""
        earlier: dict[tuple[str, ...], Rendering] = {}
        for made in self.renderings:
            others = [other for other in earlier.values() if other.parts != made.parts]
            base = min(others, key=lambda other: _unlikeness(other, made), default=None)
            diff = None
            if base is not None and base.text is not None and made.text is not None:
                diff = split(base.text, made.text)
            yield Comparison(made, base, diff)
            if made.text is not None:
                earlier.setdefault(made.parts, made)

    def evidence(self, fmt: WireFormat) -> Iterator[Evidence]:
        """Yield the evidence for each text of a format.

        The evidence is the first rendering of its phase with the text and the related probe, or
        the first with the text. In it, the occurrence nearest to the probe is used. A separator is
        searched between two probes. The generation prompt is searched in prompts only.
        """
        renderings = [made for made in self.renderings if made.text]
        for group, name, text in texts_of(fmt):
            phase, probe = SHOWN_BY[group]
            two, prompted = BETWEEN.get((group, name)), name == "generation_prompt"
            for core in dict.fromkeys((text, text.strip())):
                places = [
                    (made, at)
                    for made in renderings
                    for at in _places(made, core, probe, two)
                    if not prompted or PROMPTED in made.parts
                ]
                if places:
                    best = min(places, key=lambda place: _unlike(place[0], phase, probe))
                    yield _seen(f"{group}.{name}", core, *best)
                    break


class Traced(Protocol):
    """The first argument of a phase function."""

    @property
    def trace(self) -> Trace: ...


R = TypeVar("R", bound=Traced)


def phase(name: str) -> Callable[[Callable[Concatenate[R, P], T]], Callable[Concatenate[R, P], T]]:
    """Return a decorator that marks a function as a phase.

    Renderings of its first argument are recorded under this label.
    """

    def marked(find: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T]:
        @wraps(find)
        def traced(render: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
            with render.trace.phase(name):
                return find(render, *args, **kwargs)

        return traced

    return marked


def _places(
    made: Rendering, text: str, probe: str, two: Sequence[str] | None = None
) -> Iterator[int]:
    """Yield the offset, after the user's message, of the occurrence of a text nearest to a probe.

    With `two`, search only between these two probes.
    """
    whole = made.text or ""
    start = whole.find(USER)
    if two is not None:
        start = whole.find(two[0], max(start, 0))
        end = whole.find(two[1], max(start, 0))
        whole, probe = (whole[: end + len(two[1])], two[1]) if 0 <= start < end else ("", probe)
    near = whole.find(probe, max(start, 0))
    found = [at.start() for at in re.finditer(re.escape(text), whole) if at.start() > start]
    # Text inserted by the probes does not count as evidence.
    found = [at for at in found if not whole[:at].endswith(f"{USER} ")]
    if found:
        yield min(found, key=lambda at: max(near - at - len(text), at - near - len(probe)))


def _unlike(made: Rendering, phase: str, probe: str) -> tuple[bool, bool]:
    """Return a sort key for renderings as evidence of a group, the best first."""
    return probe not in (made.text or ""), not made.phase.startswith(phase)


def _seen(name: str, text: str, made: Rendering, at: int) -> Evidence:
    whole, end = made.text or "", at + len(text)
    return Evidence(name, text, made, whole[max(0, at - CONTEXT) : at], whole[end : end + CONTEXT])


def _described(message: Mapping[str, Any]) -> str:
    """Describe a message by its role and its parts."""
    content = message.get("content")
    said = [_short(content)] if content else []
    if not isinstance(content, str):
        said = ["null" if content is None else "parts"]
    more = [key for key in message if key not in USUAL]
    if more:
        words = "under many keys" if len(more) > MOST_KEYS else " and ".join(more)
        said.append(f"{words} {_short(message[more[0]])}")
    for made in message.get("tool_calls") or ():
        function = made["function"]
        given = function["arguments"]
        if isinstance(given, dict):
            given = ", ".join(f"{name}={_short(value)}" for name, value in given.items())
        said.append(f"{function['name']}({given})")
    return f"{message['role']}({', '.join(said)})"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def _unlikeness(one: Rendering, other: Rendering) -> int:
    """Count the differing words in the labels of two conversations."""
    words, others = (Counter(WORD.findall(made.label)) for made in (one, other))
    return (words - others).total() + (others - words).total()
