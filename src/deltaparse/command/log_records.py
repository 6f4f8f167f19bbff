"""Records of logs, read one output at a time as in `deltaparse replay`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, cast

from .inputs import model_output

if TYPE_CHECKING:
    from deltaparse.replay import Replayer

__all__ = ["choice_of", "id_of", "log_outputs"]


def log_outputs(replayer: Replayer, names: str | Sequence[str]) -> Iterator[tuple[int, object]]:
    """Yield the outputs of files as pairs of record number and output.

    A record with several choices yields several outputs. Fields are moved to their standard places,
    as `replayer.in_place()` expects. A record that is not JSON is yielded as a `ValueError`.

    Raises:
        UsageError: a file cannot be opened.
    """
    from deltaparse.replay.blocks import BEGINNING
    from deltaparse.replay.paths import found_sources
    from deltaparse.replay.sources import blocks_of, blocks_of_stream

    if names in ("-", ["-"]):
        with model_output("-") as file:
            for block in blocks_of_stream(cast(BinaryIO, file)):
                for number, record in block.records():
                    yield from ((number, one) for one in _outputs(replayer, record))
        return
    for block in blocks_of(found_sources(names), BEGINNING):
        for number, record in block.records():
            yield from ((number, one) for one in _outputs(replayer, record))


def _outputs(replayer: Replayer, record: object) -> list[object]:
    return [record] if isinstance(record, ValueError) else replayer.outputs(record)


def id_of(number: int, record: object) -> str:
    """Return the id of an output as typed by a user, such as `17`, or `17#1` for a choice.

    An output without an id has the number of its record.
    """
    id = record.get("id") if isinstance(record, Mapping) else None
    text = id if isinstance(id, str) else json.dumps(number if id is None else id, default=repr)
    choice = choice_of(record)
    return f"{text}#{choice.removeprefix('choice ')}" if choice else text


def choice_of(record: object) -> str:
    """Return the choice of an output, such as "choice 1", or "" for a single output."""
    choice = record.get("choice") if isinstance(record, Mapping) else None
    return f"choice {choice}" if isinstance(choice, int) else ""
