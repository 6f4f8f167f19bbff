"""The table of bridges in docs/second-turn.md, written by `python -m` with this module."""

from __future__ import annotations

from pathlib import Path

from deltaparse import Message

from .bridged_turns import KINDS, TOOLS, returned, thoughts
from .open_templates import SOURCES, opened, written

PAGE = Path(__file__).parents[2] / "docs" / "second-turn.md"
SHOWN = ("content", "reasoning and content", "a call", "reasoning and a call")
HEAD = "| template | answer | thought, answer | call | thought, call |\n|---|---|---|---|---|\n"


def reason(name, kind):
    """Return why a turn of this kind has no bridge, "" if it has one, None without the turn."""
    one, message = opened(name), Message(KINDS[kind])
    tools = TOOLS if message.tool_calls else None
    known = written(one, message, tools) if one.has_calls or not tools else None
    if known is None or thoughts(one, known, tools) != message.reasoning_content:
        return None
    _, output, _ = known
    return one.template.why_no_bridge(output, returned(message), tools=tools, **one.context)


def row(name, letters):
    """Return the row of a template, and add new reasons to `letters`."""
    cells = []
    for kind in SHOWN:
        why = reason(name, kind)
        if why:
            why = why.partition(",")[0]
            why = letters.setdefault(why, chr(ord("a") + len(letters)))
        cells.append({"": "yes", None: ""}.get(why, why))
    return f"| {name.replace('_', ' ')} | {' | '.join(cells)} |\n"


def table():
    """Return the table with a legend of its letters."""
    letters: dict[str, str] = {}
    rows = [row(name, letters) for name in SOURCES]
    legend = "".join(f"- {letter}: {why}\n" for why, letter in letters.items())
    return f"{HEAD}{''.join(rows)}\n{legend}"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.partition(HEAD)[0] + table(), encoding="utf-8")
