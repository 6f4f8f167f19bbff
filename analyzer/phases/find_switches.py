"""Phase S: the switches of a template, and the effect of each.

A switch is a variable read by the template and set by the caller, e.g. `enable_thinking` or
`reasoning_effort`. Names do not identify switches. Each variable is set to true, to false, and to
the texts with which the template compares it. If a complete conversation renders the same under
all values, the variable is not a switch. If true is rejected, the variable may be a list, and is
set to a list of one word.
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
from ..template.jinja_template import JinjaTemplate
from ..template.template_capabilities import NOT_SWITCHES
from ..trace import phase

__all__ = [
    "MOST_SWITCHES",
    "SwitchSetting",
    "find_settings",
    "names_of_switches",
    "other_ends_of_calls",
    "situation",
    "switches_of",
    "views_with_reasoning",
]

MOST_SWITCHES = 24
"""Maximum number of variables tried per template. Real templates have at most seven."""

Views = tuple[str, str, str]

ENOUGH_TEXTS = 2
"""Number of comparison texts from which a variable is not also set to true."""

MOST_TEXTS = 6
"""Maximum number of texts tried for one variable."""

LIST, LISTED = (SWITCHED,), "[...]"
"""The value tried for list variables, and its form in messages."""


@dataclass(frozen=True, slots=True)
class SwitchSetting:
    """Switches with their values, and the effects of these values.

    The setting without switches is the default, and has no effects.

    Attributes:
        switches: the names and values of the switches.
        changes: the affected parts: "prompt", "reasoning", "calls", "instructions".
    """

    switches: tuple[tuple[str, Any], ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def context(self) -> dict[str, Any]:
        """The template variables of this setting."""
        return dict(self.switches)

    @property
    def label(self) -> str:
        """The setting as readable text."""
        return ", ".join(f"{name}={_word(value)}" for name, value in self.switches) or "default"

    @property
    def given(self) -> str:
        """The setting as Python keyword arguments."""
        shown = ((name, LISTED if value == LIST else repr(value)) for name, value in self.switches)
        return ", ".join(f"{name}={value}" for name, value in shown)

    @property
    def prompted(self) -> bool:
        """True for the default, and for settings with another prompt."""
        return not self.switches or "prompt" in self.changes

    @property
    def matters(self) -> bool:
        """True for the default, and for settings that change more than the instructions."""
        return not self.switches or bool(set(self.changes) - {"instructions"})


def names_of_switches(template: JinjaTemplate) -> list[str]:
    """Return the variables of a template that may be switches, sorted."""
    return sorted(template.switches - NOT_SWITCHES)


@phase("S")
def find_settings(render: Renderer) -> list[SwitchSetting]:
    """Find the settings that change a turn or its prompt, the default first.

    Some switches have an effect only if another switch is on. Switches without effect are tried
    again under the setting that shows reasoning.
    """
    given = render.settings.context
    names = [name for name in names_of_switches(render.template) if name not in given]
    names = names[:MOST_SWITCHES]
    found = [SwitchSetting(), *_tried(render, SwitchSetting(), names)]
    chosen = situation(render, found)
    if chosen.switches:
        known = {name for one in found for name, _ in one.switches}
        rest = [name for name in names if name not in known]
        found += _tried(render.under(chosen.context), chosen, rest)
    return found


def situation(render: Renderer, settings: list[SwitchSetting]) -> SwitchSetting:
    """Return the setting for reading the template: the first one that shows reasoning."""
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


def switches_of(
    names: Sequence[str], settings: Sequence[SwitchSetting]
) -> Mapping[str, tuple[str, ...]]:
    """Return all effects of the values of each switch; () for switches without effect."""
    found: dict[str, dict[str, None]] = {name: {} for name in names}
    for one in settings:
        if one.switches:
            found[one.switches[-1][0]].update(dict.fromkeys(one.changes))
    return {name: tuple(changes) for name, changes in found.items()}


def _tried(render: Renderer, base: SwitchSetting, names: Sequence[str]) -> Iterator[SwitchSetting]:
    """Yield the settings with an effect, as extensions of the renderer's setting `base`.

    Most switches are off by default, so all are first set to false together. Each one is set to
    false alone only if this has an effect. Switches that reject true, or change only the
    instructions, are not set to false. Variables compared with texts are set to these texts.
    """
    plain = _views(render)
    if plain is None:
        return
    choices = render.template.choices
    # Several texts: each one is as true as True itself.
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
                yield SwitchSetting((*base.switches, (name, value)), changes)


def _may_be_off(plain: Views, views: Views | None) -> bool:
    """Return True if false may have an effect: true changes more than the instructions."""
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
    render: Renderer, settings: Sequence[SwitchSetting], ends: Sequence[str]
) -> Iterator[str]:
    """Yield the markers that replace one of `ends` after calls under a setting."""
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
    """Return two renderings of a turn with reasoning: with content, and with a call."""
    called = render([user(), thinking("", [call()]), result()], tools=TOOLS) or ""
    return render([user(), thinking()]) or "", called


def _views(render: Renderer) -> Views | None:
    """Return the renderings to compare: the prompt, a turn with content, and a turn with calls."""
    prompt = render([user()], prompt=True)
    return None if prompt is None else (prompt, *views_with_reasoning(render))


def _changes(plain: Views, views: Views) -> Iterator[str]:
    """Yield the names of the affected parts; these names are stable."""
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
