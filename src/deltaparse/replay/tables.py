"""Text table of a tally: culprits, and classes by model, format, tool and truncation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from .classes import CLASSES
from .tally import NOTHING, Tally

__all__ = ["table"]

ROWS = 20
"""Maximum number of rows of a table. Further rows are only counted."""

WIDEST = 32
TITLES = {"model": "model", "format": "format", "tool": "tool", "truncation": "output"}
BLAMED = {
    "parser": "the server returned a different message",
    "model": "the model wrote a malformed call",
    "limit": "truncated",
    "nobody": "correct",
}


def table(tally: Tally) -> str:
    """Return the complete tally as text."""
    return "\n".join(_lines(tally)) + "\n"


def _columns(tally: Tally) -> list[str]:
    """Return the classes in the tally, the best one first."""
    (counts,) = tally.by[""].values() or (Counter[str](),)
    return [kind for kind in (*CLASSES, NOTHING) if counts[kind]]


def _answer(tally: Tally) -> str:
    """Return one line with the shares of the parser, the model and the token limit."""
    total = tally.verdicts.total()
    if not total:
        return "No output could be parsed."
    there = [(name, tally.verdicts[name]) for name in BLAMED if tally.verdicts[name]]
    return "; ".join(f"{_share(count, total)}: {BLAMED[name]}" for name, count in there) + "."


def _lines(tally: Tally) -> Iterator[str]:
    yield f"{tally.records} record{'s' * (tally.records != 1)}"
    if tally.errors:
        yield f"{tally.errors} could not be read:"
        yield from (f"  {example}" for example in tally.examples)
    yield _answer(tally)
    kinds = _columns(tally)
    if kinds == [NOTHING]:
        yield "Only the model was checked: no record has a server's message (`expected`)."
    for kind in Tally.KINDS[1:]:
        if tally.by[kind]:
            yield ""
            yield from _grid(TITLES[kind], tally.by[kind], kinds)
    total = tally.by[""].get("", Counter())
    yield from ("", *_grid("", {"all": total}, kinds)) if kinds else ()
    for title, counts in (("calls", tally.statuses), ("issues", tally.issues)):
        if counts:
            yield ""
            yield f"{title}: " + ", ".join(f"{name} {n}" for name, n in counts.most_common(ROWS))


def _grid(title: str, rows: Mapping[str, Counter[str]], kinds: list[str]) -> Iterator[str]:
    """Yield a table with one row per key, the most frequent first, and one column per class."""
    order = sorted(rows, key=lambda key: (-rows[key].total(), key))
    names = [_short(key) for key in order[:ROWS]]
    width = max(map(len, (title, *names)))
    widths = [max(len(kind), 7) for kind in kinds]
    heads = (f"{kind:>{wide}}" for kind, wide in zip(kinds, widths, strict=True))
    yield "  ".join((f"{title:{width}}", *heads)).rstrip()
    for name, key in zip(names, order[:ROWS], strict=True):
        cells = (f"{rows[key][kind]:>{wide}}" for kind, wide in zip(kinds, widths, strict=True))
        yield "  ".join((f"{name:{width}}", *cells))
    if len(order) > ROWS:
        yield f"and {len(order) - ROWS} more"


def _short(name: str) -> str:
    text = "".join(char if char.isprintable() else "?" for char in name)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def _share(count: int, total: int) -> str:
    return f"{count} ({100 * count / total:.1f} %)"
