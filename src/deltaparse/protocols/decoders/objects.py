"""The input of a decoder: events as mappings, as objects of a client, or as bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from deltaparse.partial import TextDecoder, UsageError

from ..request_errors import understood

__all__ = ["Objects", "read_objects"]

Objects = Iterable[Any] | Mapping[str, Any] | str | bytes
"""Input of a decoder: mappings, objects with pydantic's dump methods, or the text or bytes of
server-sent events, cut anywhere. A single mapping is a complete response."""

LINE_END = re.compile("\r\n|\n|\r")
DONE = "[DONE]"
BYTE_ORDER_MARK = "\ufeff"
"""An optional start of a stream, which is skipped."""


def read_objects(given: Objects, read: Callable[[Mapping[str, Any]], None], what: str) -> None:
    """Read all objects of the input. `what` names them in errors.

    Raises:
        UsageError: an object is not a mapping.
    """
    for one in objects(given):
        with understood(one, what):
            read(one)


def objects(given: Objects) -> Iterator[Mapping[str, Any]]:
    """Iterate over the JSON objects of the input.

    Raises:
        UsageError: the input has an unsupported type.
    """
    items: Iterable[Any] = given
    if isinstance(given, (Mapping, str, bytes, bytearray)) or hasattr(given, "model_dump"):
        items = (given,)
    lines = Lines()
    for item in items:
        if isinstance(item, (str, bytes, bytearray)):
            yield from lines.feed(item if isinstance(item, str) else bytes(item))
        elif isinstance(item, Mapping):
            yield item
        elif hasattr(item, "model_dump"):
            yield item.model_dump(exclude_unset=True)
        else:
            raise UsageError(
                f"{item!r:.80} is not an event: expected a mapping, a model, text or bytes"
            )
    yield from lines.finish()


class Lines:
    """Parser of server-sent events in chunks, which returns their data."""

    def __init__(self) -> None:
        self._decoder = TextDecoder()
        self._chunks: list[str] = []
        self._data: list[str] = []
        self._begun = False

    def feed(self, chunk: str | bytes) -> Iterator[Mapping[str, Any]]:
        """Read a chunk, and iterate over the events that it completes."""
        text = self._decoder.feed(chunk)
        if "\n" not in text and "\r" not in text:
            self._chunks.append(text)
            return iter(())
        text = "".join([*self._chunks, text])
        # A final "\r" may be the first half of a line end.
        end = len(text) - text.endswith("\r")
        *lines, rest = LINE_END.split(text[:end])
        self._chunks = [rest + text[end:]]
        return self._read(lines)

    def finish(self) -> Iterator[Mapping[str, Any]]:
        """Iterate over the event that the end of the stream completes."""
        last = "".join(self._chunks) + self._decoder.finish()
        return self._read([*LINE_END.split(last), ""])

    def _read(self, lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
        for text in lines:
            line = text if self._begun else text.removeprefix(BYTE_ORDER_MARK)
            self._begun = True
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            elif not line and self._data:
                data, self._data = "\n".join(self._data), []
                found = None if data.strip() == DONE else _loads(data)
                if isinstance(found, Mapping):
                    yield found


def _loads(data: str) -> Any:
    """Read the data of an event. None if the stream was truncated in it."""
    try:
        return json.loads(data)
    except ValueError:
        return None
