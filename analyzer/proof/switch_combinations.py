"""Settings for the proof, in addition to those found by the phases.

Phases render only a few conversations. The proof therefore tries every other value of a switch, all
switches without an effect together, and all pairs of settings. Only settings that change the
rendering of a complete conversation are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from ..phases.find_switches import SwitchSetting, names_of_switches
from ..probes import CONTENT, TOOLS, USER, Message, call, result, thinking, user
from ..renderer import Renderer

__all__ = ["other_settings"]

MOST_SWITCHES, MOST_VALUES = 12, 4
"""Most switches, and most texts for each, tried without a known effect."""


def other_settings(base: Renderer, known: Sequence[SwitchSetting]) -> Iterator[SwitchSetting]:
    """Yield settings besides `known`, each with a different rendering."""
    said = _whole(base)
    seen = {_shown(base, one, said) for one in [SwitchSetting(), *known]}
    more = [SwitchSetting((pair,)) for pair in _values(base, known)]
    idle = [one.switches[0][0] for one in more if one.switches[0][1] is True]
    more += [SwitchSetting(tuple((name, value) for name in idle)) for value in (True, False)]
    pairs = [
        SwitchSetting((*one.switches, *other.switches))
        for one, other in combinations([one for one in known if one.switches], 2)
        if not one.context.keys() & other.context.keys()
    ]
    for one in (*more, *pairs):
        if (shown := _shown(base, one, said)) not in seen:
            seen.add(shown)
            yield one


def _values(base: Renderer, known: Sequence[SwitchSetting]) -> Iterator[tuple[str, Any]]:
    """Iterate over switches with values outside the `known` settings."""
    template = base.template
    tried = {(name, repr(value)) for one in known for name, value in one.switches}
    for name in names_of_switches(template)[:MOST_SWITCHES]:
        for value in (True, False, *template.choices.get(name, ())[:MOST_VALUES]):
            if name not in base.settings.context and (name, repr(value)) not in tried:
                yield name, value


def _whole(base: Renderer) -> Sequence[Message]:
    """Return a conversation with all parts, with a single call if the template requires it."""
    for calls in ([call(), call(1)], [call()]):
        results = [result(at) for at in range(len(calls))]
        said = [user(), thinking(CONTENT, calls), *results, thinking()]
        if base(said, tools=TOOLS) is not None:
            return said
    return [user(), thinking()]


def _shown(base: Renderer, setting: SwitchSetting, said: Sequence[Message]) -> tuple[str, ...]:
    """Return the renderings of a prompt and of a conversation."""
    render = base.under(setting.context)
    texts = [
        render([user()], prompt=True),
        render(said, tools=TOOLS) or render([said[0], said[-1]]),
    ]
    return tuple((text or "").partition(USER)[2] for text in texts)
