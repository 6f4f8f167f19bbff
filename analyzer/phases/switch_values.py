"""Prompt texts that contain the value of a switch, and therefore differ for each value.

A text with a value is either an instruction without an end marker, e.g. `<|effort:high|>`, or a
start marker of reasoning with the value inside its tag.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..assistant_turns import Turns
from ..diff import after, segments
from ..probes import SWITCHED
from ..trace import phase
from .find_switches import MOST_SWITCHES, SwitchSetting, names_of_switches

__all__ = ["Holder", "holders"]

NAME = re.compile(r"\W+\w+")
"""The start of a marker, and its name."""
WORD = re.compile(r"[\w-]")


@dataclass(frozen=True, slots=True)
class Holder:
    """A marker, or a text between two markers, with a switch value inside.

    Attributes:
        switch: the name of the switch.
        before: the text before the value.
        behind: the text after the value.
        any_value: True if the template writes arbitrary values, not only known ones.
    """

    switch: str
    before: str
    behind: str
    any_value: bool = False

    def is_one(self, text: str) -> bool:
        """Return True if `text` is this text with some value."""
        core = text.strip()
        longer = len(self.before) + len(self.behind) < len(core)
        return longer and core.startswith(self.before) and core.endswith(self.behind)

    def opens_as(self, start: str) -> bool:
        """Return True if this text is the marker `start`, even with more text inside its tag."""
        name = NAME.match(start.strip())
        more = self.before.removeprefix(name[0]) if name else self.before
        return self.is_one(start) or (more not in ("", self.before) and not WORD.match(more))


@phase("S")
def holders(turns: Turns, settings: Sequence[SwitchSetting]) -> list[Holder]:
    """Find the prompt texts after the header that contain a switch value.

    One value is not sufficient, because a marker may contain the same word. The template must write
    arbitrary values, or two known ones.
    """
    base = turns.render.unswitched()
    found: Counter[Holder] = Counter()
    for one in settings:
        for name, value in one.switches[-1:]:
            if isinstance(value, str):
                prompt = base.under(one.context).prompt_tail()
                found.update(set(_held(turns, prompt, name, value)))
    kept = [one for one, times in found.items() if times > 1]
    for name in names_of_switches(base.template)[:MOST_SWITCHES]:
        # The prompt with True was rendered before: if values are written, it contains "true".
        if "true" in (base.under({name: True}).prompt_tail() or "").lower():
            free = name not in base.settings.context
            prompt = base.under({name: SWITCHED}).prompt_tail()
            kept += (replace(one, any_value=free) for one in _held(turns, prompt, name, SWITCHED))
    return kept


def _held(turns: Turns, prompt: str | None, name: str, value: str) -> Iterator[Holder]:
    """Yield the texts of a prompt that contain the value and at least one other word."""
    header = turns.frame.header.strip()
    for part in segments(after(prompt, header)) if prompt and header in prompt else ():
        before, held, behind = part.text.strip().partition(value)
        if held and any(map(str.isalnum, before + behind)):
            yield Holder(name, before, behind)
