"""Records of the arguments and chunks of a parser, for making another parser in the same state.

The sub-parsers are generators and cannot be copied. So the other parser reads the same chunks
again, at the same cost. A record is sent to another process as a JSON document:

    {"deltaparse": 1, "format": ..., "options": ..., "chunks": [...], "ids": [...], "finish": ...}

A chunk of bytes is `{"bytes": base64}`, a chunk of token ids is a list. `finish` is null or a list
with the finish reason, and with the stop reason if the engine reported one. The record of a
`TokenParser` also has "tokens", with its prompt and other arguments.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from operator import index
from typing import Any

from deltaparse.partial import DeltaParseError, MalformedOutput, UsageError

from .finish_reasons import StopReason, stop_text
from .message.ids import IdFactory, ReplayedIds
from .message.policies import Policies
from .request import Request
from .tools import Tools
from .wire.format import WireFormat

__all__ = ["Recording"]

Chunk = str | bytes | tuple[int, ...]
"""A chunk of a response: text, or token ids."""

# Increased with each incompatible change, so that an old process refuses a new document.
VERSION = 1
# Taken from the class, so that a new option is recorded too.
OPTIONS = tuple(field.name for field in fields(Request) if field.init and field.name != "fmt")


class Recording:
    """The request, prompt, chunks, call ids and end of a parser.

    Attributes:
        chunks: the chunks, as they were fed.
        ids: the id factory, with the ids that it made.
        prompt: the prompt.
        reasons: the finish reason and stop reason of `finish`, empty before the call.
        request: the options of the parser.
    """

    # Slots, because a recording server makes one object for each request.
    __slots__ = ("chunks", "ids", "prompt", "reasons", "request")

    def __init__(self, request: Request, prompt: str, ids: ReplayedIds) -> None:
        self.request = request
        self.prompt = prompt
        self.ids = ids
        self.chunks: list[Chunk] = []
        self.reasons: list[tuple[str | None, StopReason]] = []

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a parser in the same state, with the same call ids."""
        # A copy, because both parsers make further ids of their own.
        ids = ReplayedIds(self.ids.factory, list(self.ids.made))
        named = {name: getattr(self.request, name) for name in ("fmt", *OPTIONS)}
        return named | {"prompt": self.prompt, "id_factory": ids, "record": True}

    def replay(self, feed: Callable[[Any], object], finish: Callable[..., object]) -> None:
        """Feed the recorded chunks again, and finish if the parser had finished.

        The deltas are dropped, because the first parser has emitted them.
        """
        # The new parser must end in the same state, errors included.
        # An error was raised the first time too, and the following chunks were read all the same.
        for chunk in self.chunks:
            with suppress(MalformedOutput, UsageError):
                feed(chunk)
        for reason, stop in self.reasons:
            with suppress(MalformedOutput, UsageError):
                finish(reason, stop_reason=stop)

    def to_json(self, tokens: Mapping[str, Any] | None = None) -> str:
        """Return this record as a JSON document.

        Args:
            tokens: the additional arguments of a `TokenParser`.

        Raises:
            UsageError: the tools or the schema of the parser are not JSON.
        """
        named = {name: getattr(self.request, name) for name in OPTIONS}
        document = {
            "deltaparse": VERSION,
            # Plain types, because `json` cannot write dataclasses.
            "format": asdict(self.request.fmt),
            "options": named | {"prompt": self.prompt, "policies": asdict(self.request.policies)},
            "chunks": list(map(_to_json, self.chunks)),
            "ids": self.ids.made,
            "finish": next(map(_ended, self.reasons), None),
        }
        if tokens is not None:
            document["tokens"] = tokens
        # Mappings of other types than dict need a conversion for `json`.
        try:
            return json.dumps(document, default=_plain, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"snapshot() needs tools and schemas of JSON types: {error}"
            ) from error

    @classmethod
    def from_json(cls, text: str, id_factory: IdFactory) -> Recording:
        """Read the record of a `StreamParser`.

        Args:
            text: the document.
            id_factory: makes the ids of later calls.

        Raises:
            UsageError: `text` was not written by `to_json`, or is the record of a `TokenParser`.
        """
        record, tokens = cls.read(text, id_factory)
        if tokens is not None:
            raise UsageError(
                "the snapshot is of a TokenParser: use TokenParser.restore(snapshot, vocabulary)"
            )
        return record

    @classmethod
    def read(cls, text: str, id_factory: IdFactory) -> tuple[Recording, Any]:
        """Read a record, and the additional arguments of a `TokenParser` or None.

        Raises:
            UsageError: `text` was not written by `to_json`.
        """
        try:
            document = json.loads(text)
            # The version first, because the members of another version may differ.
            _check(document["deltaparse"])
            # Only known options, so that other members of the document have no effect.
            options = {name: document["options"][name] for name in OPTIONS}
            options["policies"] = Policies(**options["policies"])
            # Written as text again, because only `from_json` checks a format.
            fmt = WireFormat.from_json(json.dumps(document["format"]))
            # Recorded ids first, because a client may have received them.
            ids = ReplayedIds(id_factory, list(document["ids"]))
            prompt = document["options"]["prompt"]
            record = cls(Request(fmt=fmt, **options), prompt, ids)
            record.chunks += map(_from_json, document["chunks"])
            if document["finish"]:
                # The stop reason is optional.
                reason, stop = (*document["finish"], None)[:2]
                record.reasons.append((_reason(reason), stop_text(stop)))
        # More exact than the message of the next handler.
        except UsageError:
            raise
        except (DeltaParseError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"not a snapshot of a parser: {error!r}") from error
        return record, document.get("tokens")


def _check(version: object) -> None:
    if version != VERSION:
        raise UsageError(f"the snapshot has version {version!r}, but this release reads {VERSION}")


def _to_json(chunk: Chunk) -> str | tuple[int, ...] | dict[str, str]:
    # JSON has no bytes, and their text is unknown, because a chunk may end within a character.
    return {"bytes": b64encode(chunk).decode()} if isinstance(chunk, bytes) else chunk


def _from_json(chunk: Any) -> Chunk:
    # `index` refuses floats, which `int` would round.
    if isinstance(chunk, list):
        return tuple(map(index, chunk))
    # Validated, because the decoder ignores invalid characters by default.
    return chunk if isinstance(chunk, str) else b64decode(chunk["bytes"], validate=True)


def _ended(reasons: tuple[str | None, StopReason]) -> list[str | int | None]:
    reason, stop = reasons
    return [reason] if stop is None else [reason, stop]


def _reason(reason: Any) -> Any:
    if reason is None or isinstance(reason, str):
        return reason
    raise ValueError(reason)


def _plain(value: object) -> dict[Any, Any] | list[Any]:
    """Convert a mapping to a dict, and tools to a list, for `json.dumps`."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Tools):
        return list(value)
    raise TypeError(f"{value!r} is not JSON")
