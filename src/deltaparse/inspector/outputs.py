"""Inspections of records: raw texts, records of a log, turns of the gateway."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from deltaparse.partial import DeltaParseError
from deltaparse.replay import BadRecord, Replayer
from deltaparse.replay.records import read_record
from deltaparse.replay.replayer import in_text
from deltaparse.stream import TokenParser, WireFormat
from deltaparse.stream.tokens.traced_parser import TracedParser

from .inspection import Inspection, inspect_output

__all__ = ["CHUNK", "inspect_record"]

CHUNK = 4
"""Chunk size in characters for outputs without recorded chunks: about one token."""

LONGEST_TITLE = 80


def inspect_record(
    record: object,
    replayer: Replayer,
    number: int = 0,
    *,
    chunk: int = CHUNK,
    format: str = "",
    note: str = "",
) -> Inspection:
    """Inspect the output of a record, as in `deltaparse.replay`.

    The output is fed in the recorded chunks, by token, or else `chunk` characters at a time.

    Args:
        record: the record.
        replayer: provides the format and the other parser arguments.
        number: the title of a record without an id.
        chunk: the chunk size in characters without recorded chunks and tokens.
        format: the displayed name of the format.
        note: a note for the reader.

    Returns:
        The inspection. That of an unreadable record has an `error` and no text.
    """
    title = str(number)
    try:
        if isinstance(record, ValueError):  # the line is not JSON
            raise BadRecord(str(record))
        mapped = replayer.mapped(record)
        if isinstance(mapped, Mapping) and mapped.get("id") is not None:
            title = _title(mapped["id"])
        inspection = _inspected(mapped, replayer, title, chunk, format)
    except DeltaParseError as error:
        inspection = Inspection(title, format, error=str(error))
    inspection.note = note
    return inspection


def _inspected(
    record: object, replayer: Replayer, title: str, chunk: int, format: str
) -> Inspection:
    """Inspect a record.

    Raises:
        DeltaParseError: the record cannot be read.
    """
    read = read_record(record)
    fmt, prompt, given = replayer.arguments(read)
    named = format or (read.format if isinstance(read.format, str) else _words(fmt))
    words: dict[str, Any] = {"title": title, "format": named}
    parser: TracedParser | TokenParser
    chunks: Iterable[Any]
    if read.token_ids is not None and replayer.source is not None and read.chunks is None:
        parser = TokenParser(fmt, replayer.vocabulary, prompt=prompt, **given)
        chunks, words["token_text"] = read.token_ids, replayer.vocabulary
    else:
        text, before = in_text(read, prompt)
        parser = TracedParser(fmt, prompt=before, **given)
        chunks = _cut(text, chunk) if read.chunks is None else read.chunks
    return inspect_output(parser, chunks, read.finish_reason, **words)


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _title(id: object) -> str:
    text = id if isinstance(id, str) else json.dumps(id, default=repr)
    return text if len(text) <= LONGEST_TITLE else f"{text[:LONGEST_TITLE]}…"


def _words(fmt: WireFormat) -> str:
    """Return a short description of a format without a name."""
    derived = fmt.derived
    kinds = [
        "channels" if derived.has_channels else "",
        "reasoning" if derived.has_reasoning else "",
        f"calls {fmt.tools.format.value}" if derived.has_calls else "",
    ]
    return ", ".join(filter(None, kinds))
