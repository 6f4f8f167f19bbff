"""What stands in the way of a replay, and what to do: records that none could read, a wrong format.

A wrong `--format` makes a parser of every good server look bad, so the texts are asked.
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
"""Records that are looked at."""

HOW = "how does the model write: --format NAME or --template SOURCE"

ENOUGH = 1 << 16
"""Characters of a text that are looked at."""


def hint(replayer: Replayer, tally: Tally, sources: list[str]) -> str:
    """Say which format the outputs look like where no call was found, "" if all seems well.

    Where no tools were offered, none should be found.
    """
    called = tally.statuses.keys() - {"not_a_call"}
    if sources == ["-"] or called or replayer.format is None:
        return ""
    records = _first(replayer, sources)
    offered = [one for one in records if not (isinstance(one, Mapping) and one.get("tools") == [])]
    looks = _format(list(_texts(offered)))
    return f"no call was found, but {looks}" if looks else ""


def remedy(replayer: Replayer, sources: list[str]) -> str:
    """Say what is to be done where no record could be read, "" if that is not known."""
    if sources == ["-"]:
        return HOW if replayer.format is None else ""
    texts = list(_texts(_first(replayer, sources)))
    if not texts:
        return _layout(replayer, sources)
    if replayer.format is not None:
        return ""
    return "; ".join(filter(None, (HOW, _format(texts))))


def _first(replayer: Replayer, sources: list[str]) -> list[object]:
    """The first outputs."""
    return [one for _, one in islice(log_outputs(replayer, sources), LOOKED_AT)]


def _texts(records: list[object]) -> Iterator[str]:
    from deltaparse.replay import BadRecord
    from deltaparse.replay.records import read_record

    for record in records:
        # A record may have a text, and something else that cannot be read.
        text = record.get("text") if isinstance(record, Mapping) else None
        with suppress(BadRecord):
            text = text or read_record(record).text
        if text and isinstance(text, str):
            yield text[:ENOUGH].encode(errors="replace").decode()


def _format(texts: list[str]) -> str:
    """The format by name that finds calls in one of the texts."""
    for text in texts:
        found = next((one for one in dp.suggest_formats(text) if one.calls), None)
        if found is not None:
            return f"this looks like --format {found.name}: {found.why}"
    return ""


def _layout(replayer: Replayer, sources: list[str]) -> str:
    """The layout under which records have texts, "" where there is no record."""
    from deltaparse.replay import LAYOUTS, Replayer

    plain = Replayer(replayer.format, template=replayer.template)
    records = [one for one in _first(plain, sources) if isinstance(one, Mapping)]
    for name, paths in LAYOUTS.items():
        there = Replayer(replayer.format, template=replayer.template, fields=paths)
        found = [each for one in records for each in there.outputs(one)]
        if any(_texts(found)):
            return f"this looks like --layout {name}"
    return "where is the raw text: --map text=PATH, or --layout NAME" if records else ""
