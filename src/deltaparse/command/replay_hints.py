"""Hints for a failed replay: unreadable records or a wrong format.

A wrong `--format` makes correct server parsers look faulty, so the texts are checked for another
format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import deltaparse as dp

from .log_records import log_outputs

if TYPE_CHECKING:
    from deltaparse.replay import Replayer, Tally

__all__ = ["hint", "remedy"]

LOOKED_AT = 20
"""Number of records that are checked."""

HOW = "no format given: use --format NAME or --template SOURCE"

ENOUGH = 1 << 16
"""Number of characters of a text that are checked."""


def hint(replayer: Replayer, tally: Tally, sources: list[str]) -> str:
    """Return a suggestion of another format if no call was found, or "".

    Records without offered tools are skipped, because no calls are expected in them.
    """
    called = tally.statuses.keys() - {"not_a_call"}
    if sources == ["-"] or called or replayer.format is None:
        return ""
    records = _first(replayer, sources)
    offered = [one for one in records if not (isinstance(one, Mapping) and one.get("tools") == [])]
    looks = _format(list(_texts(offered)))
    return f"no call was found, but {looks}" if looks else ""


def remedy(replayer: Replayer, sources: list[str]) -> str:
    """Return an advice for the case that no record could be read, or "" if there is none."""
    if sources == ["-"]:
        return HOW if replayer.format is None else ""
    texts = list(_texts(_first(replayer, sources)))
    if not texts:
        return _layout(replayer, sources)
    if replayer.format is not None:
        return ""
    return "; ".join(filter(None, (HOW, _format(texts))))


def _first(replayer: Replayer, sources: list[str]) -> list[object]:
    """Return the first outputs."""
    return [one for _, one in islice(log_outputs(replayer, sources), LOOKED_AT)]


def _texts(records: list[object]) -> Iterator[str]:
    from deltaparse.replay import BadRecord
    from deltaparse.replay.records import read_record

    for record in records:
        # An unreadable record may still have a readable text.
        text = record.get("text") if isinstance(record, Mapping) else None
        with suppress(BadRecord):
            text = text or read_record(record).text
        if text and isinstance(text, str):
            yield text[:ENOUGH].encode(errors="replace").decode()


def _format(texts: list[str]) -> str:
    """Return a suggestion of a built-in format with calls in one of the texts, or ""."""
    for text in texts:
        found = next((one for one in dp.suggest_formats(text) if one.calls), None)
        if found is not None:
            return f"this looks like --format {found.name}: {found.why}"
    return ""


def _layout(replayer: Replayer, sources: list[str]) -> str:
    """Return a suggestion of a layout in which the records have texts, or "" without records."""
    from deltaparse.replay import LAYOUTS, Replayer

    plain = Replayer(replayer.format, template=replayer.template)
    records = [one for one in _first(plain, sources) if isinstance(one, Mapping)]
    for name, paths in LAYOUTS.items():
        there = Replayer(replayer.format, template=replayer.template, fields=paths)
        found = [each for one in records for each in there.outputs(one)]
        if any(_texts(found)):
            return f"this looks like --layout {name}"
    return "no raw text found: use --map text=PATH or --layout NAME" if records else ""
