"""What stands in the way of a replay, and what to do: records that none could read, a wrong format.

A wrong `--format` makes a parser of every good server look bad, so the texts are asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import deltaparse as dp

from .log_records import log_outputs

if TYPE_CHECKING:
    from deltaparse.replay import Replayer, Tally

__all__ = ["hint"]

LOOKED_AT = 20
"""Records that are looked at."""

HOW = "how does the model write: --format NAME or --template SOURCE"

ENOUGH = 1 << 16
"""Characters of a text that are looked at."""


def hint(replayer: Replayer, tally: Tally, sources: list[str]) -> str:
    """Say what most likely is to be done, "" if all seems well."""
    if not tally.records:
        return "there is no record"
    none_read = tally.errors == tally.records
    called = tally.statuses.keys() - {"not_a_call"}
    if sources == ["-"] or called or not (none_read or replayer.format):
        return ""
    records = [one for _, one in islice(log_outputs(replayer, sources), LOOKED_AT)]
    texts = list(_texts(records))
    if not texts:
        return _layout(replayer, sources) if none_read else ""
    looks = _format(texts)
    if replayer.format is None:
        return "; ".join(filter(None, (HOW, looks)))
    return f"no call was found, but {looks}" if looks else ""


def _texts(records: list[object]) -> Iterator[str]:
    from deltaparse.replay import BadRecord
    from deltaparse.replay.records import read_record

    for record in records:
        try:
            text = read_record(record).text
        except BadRecord:
            continue
        if text:
            yield text[:ENOUGH].encode(errors="replace").decode()


def _format(texts: list[str]) -> str:
    """The format by name that finds calls in one of the texts."""
    for text in texts:
        found = next((one for one in dp.suggest_formats(text) if one.calls), None)
        if found is not None:
            return f"this looks like --format {found.name}: {found.why}"
    return ""


def _layout(replayer: Replayer, sources: list[str]) -> str:
    """The layout under which there are texts."""
    from deltaparse.replay import LAYOUTS, Replayer

    plain = Replayer(replayer.format, template=replayer.template)
    records = [one for _, one in islice(log_outputs(plain, sources), LOOKED_AT)]
    for name, paths in LAYOUTS.items():
        there = Replayer(replayer.format, template=replayer.template, fields=paths)
        found = [each for one in records if isinstance(one, Mapping) for each in there.outputs(one)]
        if any(_texts(found)):
            return f"this looks like --layout {name}"
    return "where is the raw text: --map text=PATH, or --layout NAME"
