"""Phase S: the switches of a template, and what each of them changes.

A switch is a variable that the template reads and the caller may set: `enable_thinking`,
`reasoning_effort`. Whether a variable is one is not told by its name. Each is set to true, to false
and to the texts that the template compares it with, and one conversation that has all a
conversation can have is rendered; where nothing changes, it switches nothing. What it changes is
seen where it does. One that must not be true may be a list: it is set to one of a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..diff import after, between, first_marker, segments, split
from ..probes import (
    CONTENT,
    FUNCTIONS,
    REASONING,
    RESULT,
    SWITCHED,
    TOOLS,
    USER,
    VALUE,
    call,
    result,
    thinking,
    user,
)
from ..renderer import Renderer
from ..template.chat_template import ChatTemplate
from ..template.what_is_read import NOT_SWITCHES
from ..trace import phase

__all__ = [
    "MOST_SWITCHES",
    "Setting",
    "find_settings",
    "names_of_switches",
    "other_ends_of_calls",
    "situation",
    "switches_of",
    "views_with_reasoning",
]

MOST_SWITCHES = 24
"""Variables of one template that are tried: real ones have seven at most."""

Views = tuple[str, str, str]

ENOUGH_TEXTS = 2
"""Texts that a variable is compared with, beyond which it is not set to true as well."""

MOST_TEXTS = 6
"""Texts that are tried for one variable."""

LIST, LISTED = (SWITCHED,), "[...]"
"""The value of a switch that is a list, and what people are shown of it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Switches with their values; `changes` is what comes of them: "prompt", "reasoning", ...

    The setting without switches is the default, and changes nothing.
    """

    switches: tuple[tuple[str, Any], ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def context(self) -> dict[str, Any]:
        """What the template is rendered with."""
        return dict(self.switches)

    @property
    def label(self) -> str:
        """The setting in words."""
        return ", ".join(f"{name}={_word(value)}" for name, value in self.switches) or "default"

    @property
    def given(self) -> str:
        """The setting as arguments in Python."""
        shown = ((name, LISTED if value == LIST else repr(value)) for name, value in self.switches)
        return ", ".join(f"{name}={value}" for name, value in shown)

    @property
    def prompted(self) -> bool:
        """Whether it is the default, or changes the prompt."""
        return not self.switches or "prompt" in self.changes

    @property
    def matters(self) -> bool:
        """Whether it is the default, or changes more than the instructions."""
        return not self.switches or bool(set(self.changes) - {"instructions"})


def names_of_switches(template: ChatTemplate) -> list[str]:
    """The variables of a template that may be switches."""
    return sorted(template.switches - NOT_SWITCHES)


@phase("S")
def find_settings(render: Renderer) -> list[Setting]:
    """Find the settings that change something of a turn or its prompt, the default first.

    Some switches do something only where another is on: those that change nothing are tried once
    more under the setting that shows reasoning.
    """
    names = [name for name in names_of_switches(render.template) if name not in render.context][
        :MOST_SWITCHES
    ]
    found = [Setting(), *_tried(render, Setting(), names)]
    chosen = situation(render, found)
    if chosen.switches:
        known = {name for one in found for name, _ in one.switches}
        rest = [name for name in names if name not in known]
        found += _tried(render.under(chosen.context), chosen, rest)
    return found


def situation(render: Renderer, settings: list[Setting]) -> Setting:
    """Choose the setting in which to read the template: the first that shows reasoning."""
    for one in settings:
        if one.switches and "reasoning" not in one.changes:
            continue
        under = render.under(one.context)
        for calls in ((), (call(),)):
            said = thinking("" if calls else CONTENT, calls)
            shown = under([user(), said], tools=TOOLS if calls else None)
            if shown is not None and REASONING in shown:
                return one
    return settings[0]


def switches_of(names: Sequence[str], settings: Sequence[Setting]) -> Mapping[str, tuple[str, ...]]:
    """Say of each switch all that its values change, nothing where they change nothing."""
    found: dict[str, dict[str, None]] = {name: {} for name in names}
    for one in settings:
        if one.switches:
            found[one.switches[-1][0]].update(dict.fromkeys(one.changes))
    return {name: tuple(changes) for name, changes in found.items()}


def _tried(render: Renderer, base: Setting, names: Sequence[str]) -> Iterator[Setting]:
    """The settings beyond `base`, which the renderer has, that change something.

    Most switches are off where nothing is said, so all are set to false at once before each is;
    but for those that refuse to be true, or change the instructions alone. What is compared with
    texts is set to those.
    """
    plain = _views(render)
    if plain is None:
        return
    choices = render.template.choices
    # One of several texts is as true as any.
    plainly = [name for name in names if len(choices.get(name, ())) < ENOUGH_TEXTS]
    on = {name: _views(render.under({name: True})) for name in plainly}
    off = [name for name, views in on.items() if name not in choices and _may_be_off(plain, views)]
    together = render.under(dict.fromkeys(off, False))
    if base.switches or not off or _views(together) == plain:
        off = []
    for name in names:
        texts = choices.get(name, ())[:MOST_TEXTS]
        seen = {plain: None}
        values: list[Any] = [True] if name in on else []
        values += [LIST] if values and on[name] is None else []
        values += [False] if name in off else []
        for value in (*values, *texts):
            views = on[name] if value is True else _views(render.under({name: value}))
            if views is None or views in seen or _is_written(value, plain, views):
                continue
            seen[views] = None
            if changes := tuple(_changes(plain, views)):
                yield Setting((*base.switches, (name, value)), changes)


def _may_be_off(plain: Views, views: Views | None) -> bool:
    """Return True if false may have an effect: true is accepted, and not only instructions change."""
    return views is not None and {*_changes(plain, views)} != {"instructions"}


def _is_written(value: object, plain: Views, views: Views) -> bool:
    """Return True if the value true or false is rendered: the variable is text, not a switch."""
    if not isinstance(value, bool):
        return False
    old, new = (
        any(str(value) in _behind(text, USER) for text in texts) for texts in (plain, views)
    )
    return new and not old


def _word(value: object) -> str:
    shown = LISTED if value == LIST else str(value)
    return shown.lower() if isinstance(value, bool) else shown


def other_ends_of_calls(
    render: Renderer, settings: Sequence[Setting], ends: Sequence[str]
) -> Iterator[str]:
    """Yield the markers that end a turn of calls under a setting, in the place of one of `ends`."""
    firsts = [first_marker(end) for end in ends]
    plain = between(views_with_reasoning(render)[1], VALUE, RESULT)
    if plain is None:
        return
    for one in settings:
        shown = between(views_with_reasoning(render.under(one.context))[1], VALUE, RESULT)
        if shown is not None:
            parted = split(plain, shown)
            other = segments(parted.right)
            if parted.left.strip() in firsts and len(other) == 1 and other[0].marker:
                yield parted.right


def views_with_reasoning(render: Renderer) -> tuple[str, str]:
    """What is rendered of a turn with reasoning: with content, and with a call."""
    called = render([user(), thinking("", [call()]), result()], tools=TOOLS) or ""
    return render([user(), thinking()]) or "", called


def _views(render: Renderer) -> Views | None:
    """Return the renderings to compare: the prompt, a turn with content, and a turn with calls."""
    prompt = render([user()], prompt=True)
    return None if prompt is None else (prompt, *views_with_reasoning(render))


def _changes(plain: Views, views: Views) -> Iterator[str]:
    """Name what is different, in words that stay."""
    parts = [[_behind(text, USER) for text in texts] for texts in (plain, views)]
    (prompt, said, called), (prompt2, said2, called2) = parts
    if prompt != prompt2:
        yield "prompt"
    if any(_thoughts(a) != _thoughts(b) for a, b in ((said, said2), (called, called2))):
        yield "reasoning"
    if _behind(called, FUNCTIONS[0]) != _behind(called2, FUNCTIONS[0]):
        yield "calls"
    before, before2 = ([text.partition(USER)[0] for text in texts] for texts in (plain, views))
    if before != before2:
        yield "instructions"


def _behind(text: str, probe: str) -> str:
    return after(text, probe) if probe in text else ""


def _thoughts(text: str) -> str:
    """Return the reasoning of a turn, with the text before it and after it up to the content."""
    before, found, behind = text.partition(REASONING)
    return before + found + behind.partition(CONTENT)[0] if found else ""
