"""The records of logs, as `deltaparse replay` reads them, one output at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, cast

from .inputs import model_output

if TYPE_CHECKING:
    from deltaparse.replay import Replayer

__all__ = ["choice_of", "id_of", "log_outputs"]


def log_outputs(replayer: Replayer, names: str | Sequence[str]) -> Iterator[tuple[int, object]]:
    """Yield the outputs of files, each with the number of its record; of a record, its choices.

    All fields stand in their places, for `replayer.in_place()`. What is no JSON is a `ValueError`.

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
    """The id of an output as one types it, or the number of its record; with its choice, `17#1`."""
    id = record.get("id") if isinstance(record, Mapping) else None
    text = id if isinstance(id, str) else json.dumps(number if id is None else id, default=repr)
    choice = choice_of(record)
    return f"{text}#{choice.removeprefix('choice ')}" if choice else text


def choice_of(record: object) -> str:
    """Which of several outputs of a record this is, in words; "" for the only one."""
    choice = record.get("choice") if isinstance(record, Mapping) else None
    return f"choice {choice}" if isinstance(choice, int) else ""
