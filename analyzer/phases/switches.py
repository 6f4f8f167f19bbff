"""Phase S: the switches of a template, and what each of them changes.

A switch is a variable that the template reads and the caller may set: `enable_thinking`,
`reasoning_effort`. Whether a variable is one is not told by its name. Each is set to true, to false
and to the texts that the template compares it with, and one conversation that has all a
conversation can have is rendered; where nothing changes, it switches nothing. What it changes is
seen where it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..diff import after
from ..probes import CONTENT, FUNCTIONS, REASONING, TOOLS, USER, call, result, thinking, user
from ..renderer import Renderer
from ..trace import phase

__all__ = ["NOT_SWITCHES", "Setting", "find_settings", "matters", "prompted", "situation", "switches_of"]

NOT_SWITCHES = frozenset(
    {"add_generation_prompt", "bos_token", "documents", "eos_token", "messages", "tools"}
    | {"available_tools", "custom_tools", "functions", "continue_final_message"}
)
"""What a template reads that is no switch: what is in the conversation itself."""

MOST_SWITCHES = 24
"""Variables of one template that are tried: real ones have seven at most."""

MOST_TEXTS = 6
"""Texts that are tried for one variable."""

MOST_SETTINGS = 8
"""Settings in which a template is read and proved: real ones have six that change anything."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One switch, set to a value; `changes` is what comes of it: "prompt", "reasoning", ...

    The setting without a name is the default, and changes nothing.
    """

    name: str = ""
    value: Any = None
    changes: tuple[str, ...] = ()

    @property
    def context(self) -> dict[str, Any]:
        """What the template is rendered with."""
        return {self.name: self.value} if self.name else {}

    @property
    def label(self) -> str:
        """The setting in words."""
        if not self.name:
            return "default"
        value = str(self.value).lower() if isinstance(self.value, bool) else self.value
        return f"{self.name}={value}"


@phase("S")
def find_settings(render: Renderer) -> list[Setting]:
    """Find the settings that change something of a turn or its prompt, the default first."""
    found = [Setting()]
    plain = _views(render)
    if plain is None:
        return found
    names = sorted(render.template.switches - NOT_SWITCHES - render.context.keys())
    for name in names[:MOST_SWITCHES]:
        texts = render.template.choices.get(name, ())[:MOST_TEXTS]
        seen = {plain: None}
        for value in (True, False, *texts):
            views = _views(render.under({name: value}))
            if views is not None and views not in seen:
                seen[views] = None
                found.append(Setting(name, value, tuple(_changes(plain, views))))
    return found


def prompted(setting: Setting) -> bool:
    """Whether a setting is the default, or changes the prompt."""
    return not setting.name or "prompt" in setting.changes


def matters(setting: Setting) -> bool:
    """Whether a setting is the default, or changes more than the instructions."""
    return not setting.name or bool(set(setting.changes) - {"instructions"})


def situation(render: Renderer, settings: list[Setting]) -> Setting:
    """Choose the setting in which to read the template: the first that shows reasoning."""
    for one in settings:
        if one.name and "reasoning" not in one.changes:
            continue
        under = render.under(one.context)
        for calls in ((), (call(),)):
            said = thinking("" if calls else CONTENT, calls)
            shown = under([user(), said], tools=TOOLS if calls else None)
            if shown is not None and REASONING in shown:
                return one
    return settings[0]


def switches_of(settings: list[Setting]) -> Mapping[str, tuple[str, ...]]:
    """Name the switches, each with all that its values change."""
    found: dict[str, dict[str, None]] = {}
    for one in settings:
        if one.name:
            found.setdefault(one.name, {}).update(dict.fromkeys(one.changes))
    return {name: tuple(changes) for name, changes in found.items()}


Views = tuple[str, str, str]


def _views(render: Renderer) -> Views | None:
    """What a setting may change: the prompt, and the last turn with and without calls."""
    prompt = render([user()], prompt=True)
    said = render([user(), thinking()])
    called = render([user(), thinking("", [call()]), result()], tools=TOOLS)
    return None if prompt is None else (prompt, said or "", called or "")


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
    """What of a turn is reasoning, with what stands before and behind it."""
    return text if REASONING in text else ""
