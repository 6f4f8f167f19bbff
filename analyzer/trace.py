"""What an analysis looked at: each rendering, in which phase, and the evidence in them.

Nothing of it takes part in the analysis: the `Renderer` notes what it renders, under the label of
the phase whose function runs. Comparisons and evidence are made of the notes afterwards, so they
show what the template wrote, not what the analysis made of it.
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
from .format_texts import texts_of
from .probes import ARGUMENT, ARGUMENTS, CALL_IDS, CONTENT, FUNCTIONS, REASONING, USER
from .proof.shown import Shown

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
"""For each group of fields how the labels of its phases begin, and which probe is beside them."""

BETWEEN = {("tools", "separator"): FUNCTIONS, ("arguments", "separator"): ARGUMENTS}
"""The fields whose texts stand between two probes."""

WORD = re.compile(r"\w+")

CONTEXT = 48
"""Characters that are shown on either side of a text that is evidence."""

USUAL = frozenset({"role", "content", "name", "tool_call_id", "tool_calls"})
MOST_KEYS = 3
PROMPTED = "generation prompt"
SWITCHED_ON = {"add_generation_prompt": PROMPTED, "tools": "tools"}
"""What the label of a conversation has for settings that are on."""

LONGEST_TEXT = 32
"""Characters of a message's text that stand in the label of a conversation."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """A conversation, and what the template made of it.

    Attributes:
        phase: the label of the phase that asked for it; `deltaparse.analyzer.phases` lists them.
        parts: the messages and settings of the conversation, in words.
        text: what the template wrote; None where it refused.
    """

    phase: str
    parts: tuple[str, ...]
    text: str | None

    @property
    def label(self) -> str:
        """The conversation in one line."""
        return ", ".join(self.parts)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A rendering beside the earlier one of the conversation most like it.

    Attributes:
        rendering: the later one.
        base: the earlier one; None for the first.
        diff: their difference, `base` on the left; None where one of them is missing or refused.
    """

    rendering: Rendering
    base: Rendering | None
    diff: Split | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a text of the format was seen first.

    Attributes:
        field: its place in the format: `reasoning.start`.
        text: the text, without the white space round it where it was not seen with that.
        rendering: the rendering in which it stands.
        before: the characters before it there.
        after: the characters behind it there.
    """

    field: str
    text: str
    rendering: Rendering
    before: str
    after: str


class Trace:
    """The notes of one analysis: pass an empty one to `analyze`.

    Attributes:
        proved: the labels of the turns that came back when they were parsed.
        disproved: for each of the others, what was wrong.
        conversations: in how many conversations content, reasoning and calls came back.
        rendered: how many conversations each phase had rendered that none before had.
        shown: the turns that came back, as the template writes them.
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
        """Note under this label what is rendered in the body of a `with`."""
        outer, self._phase = self._phase, name
        try:
            yield
        finally:
            self._phase = outer

    def note(self, messages: Messages, settings: Mapping[str, Any], text: str | None) -> None:
        """Note a rendering, new or asked for again."""
        self._notes.append((self._phase, messages, settings, text))

    def count(self) -> None:
        """Count a conversation that is rendered for the first time."""
        self.rendered[self._phase] += 1

    @property
    def renderings(self) -> tuple[Rendering, ...]:
        """What was rendered, in order; what a phase asked for more than once stands once."""
        made: dict[Rendering, None] = {}
        for name, messages, settings, text in self._notes:
            parts = [_described(message) for message in messages]
            parts += [f"{key}={value}" for key, value in settings.items() if key not in SWITCHED_ON]
            parts += [words for key, words in SWITCHED_ON.items() if settings.get(key)]
            made[Rendering(name, tuple(parts), text)] = None
        return tuple(made)

    def comparisons(self) -> Iterator[Comparison]:
        """Yield each rendering beside the earlier one whose conversation differs in the least."""
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
        """Yield for each text of a format where it was seen first.

        That is the first rendering of its phase that has it and the probe that it goes with, or
        just it; there the place nearest to the probe. A separator is seen between two, and the
        generation prompt where there is one.
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
    """The first argument of a function that is a phase."""

    @property
    def trace(self) -> Trace: ...


R = TypeVar("R", bound=Traced)


def phase(name: str) -> Callable[[Callable[Concatenate[R, P], T]], Callable[Concatenate[R, P], T]]:
    """Mark a function as a phase: what its first argument renders is noted under this label."""

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
    """Where in the answer to the user's message a text stands nearest to a probe, if at all.

    `two`: between these.
    """
    whole = made.text or ""
    start = whole.find(USER)
    if two is not None:
        start = whole.find(two[0], max(start, 0))
        end = whole.find(two[1], max(start, 0))
        whole, probe = (whole[: end + len(two[1])], two[1]) if 0 <= start < end else ("", probe)
    near = whole.find(probe, max(start, 0))
    found = [at.start() for at in re.finditer(re.escape(text), whole) if at.start() > start]
    # What the analysis itself asked is no evidence.
    found = [at for at in found if not whole[:at].endswith(f"{USER} ")]
    if found:
        yield min(found, key=lambda at: max(near - at - len(text), at - near - len(probe)))


def _unlike(made: Rendering, phase: str, probe: str) -> tuple[bool, bool]:
    """How bad a rendering is as evidence for a group."""
    return probe not in (made.text or ""), not made.phase.startswith(phase)


def _seen(name: str, text: str, made: Rendering, at: int) -> Evidence:
    whole, end = made.text or "", at + len(text)
    return Evidence(name, text, made, whole[max(0, at - CONTEXT) : at], whole[end : end + CONTEXT])


def _described(message: Mapping[str, Any]) -> str:
    """A message in a few words: whose it is, and what is in it."""
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
        given = ", ".join(
            f"{name}={_short(value)}" for name, value in function["arguments"].items()
        )
        said.append(f"{function['name']}({given})")
    return f"{message['role']}({', '.join(said)})"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def _unlikeness(one: Rendering, other: Rendering) -> int:
    """By how many words the labels of two conversations differ."""
    words, others = (Counter(WORD.findall(made.label)) for made in (one, other))
    return (words - others).total() + (others - words).total()
