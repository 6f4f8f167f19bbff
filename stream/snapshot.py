"""What a parser was made of and fed, so that another can be brought into the same state.

The sub-parsers are generators, which cannot be copied: another parser reads the same once more.
That costs what the first reading did. As a JSON document, the record moves to another process:

    {"deltaparse": 1, "format": ..., "options": ..., "chunks": [...], "ids": [...], "finish": ...}

where a chunk of bytes is `{"bytes": base64}`, one of token ids a list, and `finish` is null or a
list with the reason, and with what the engine stopped at, if it said so. The record of a parser of
tokens has "tokens" besides: its prompt, and the like.
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
"""What a parser is fed: text, or the ids of tokens."""

VERSION = 1
OPTIONS = tuple(field.name for field in fields(Request) if field.init and field.name != "fmt")


class Recording:
    """The request of a parser and its prompt, what it was fed, the ids it made, and its end.

    `reasons` has what `finish` was called with, once it was: the reason, and what was stopped at.
    """

    __slots__ = ("chunks", "ids", "prompt", "reasons", "request")

    def __init__(self, request: Request, prompt: str, ids: ReplayedIds) -> None:
        self.request = request
        self.prompt = prompt
        self.ids = ids
        self.chunks: list[Chunk] = []
        self.reasons: list[tuple[str | None, StopReason]] = []

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a parser that is to read the same, ids and all."""
        ids = ReplayedIds(self.ids.factory, list(self.ids.made))
        named = {name: getattr(self.request, name) for name in ("fmt", *OPTIONS)}
        return named | {"prompt": self.prompt, "id_factory": ids, "record": True}

    def replay(self, feed: Callable[[Any], object], finish: Callable[..., object]) -> None:
        """Feed what was fed, and end what has ended; the deltas were emitted before."""
        # What raises did so the first time, and what had been read until then is still to come.
        for chunk in self.chunks:
            with suppress(MalformedOutput, UsageError):
                feed(chunk)
        for reason, stop in self.reasons:
            with suppress(MalformedOutput, UsageError):
                finish(reason, stop_reason=stop)

    def to_json(self, tokens: Mapping[str, Any] | None = None) -> str:
        """Write this record as a JSON document; `tokens` is what a parser of tokens adds.

        Raises:
            UsageError: the tools or the schema of the parser are no JSON.
        """
        named = {name: getattr(self.request, name) for name in OPTIONS}
        document = {
            "deltaparse": VERSION,
            "format": asdict(self.request.fmt),
            "options": named | {"prompt": self.prompt, "policies": asdict(self.request.policies)},
            "chunks": list(map(_to_json, self.chunks)),
            "ids": self.ids.made,
            "finish": next(map(_ended, self.reasons), None),
        }
        if tokens is not None:
            document["tokens"] = tokens
        try:
            return json.dumps(document, default=_plain, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"snapshot() needs tools and schemas that are JSON: {error}"
            ) from error

    @classmethod
    def from_json(cls, text: str, id_factory: IdFactory) -> Recording:
        """Read a record of text; ids that it does not have are made by `id_factory`.

        Raises:
            UsageError: `text` is not what `to_json` wrote, or the record of a parser of tokens.
        """
        record, tokens = cls.read(text, id_factory)
        if tokens is not None:
            raise UsageError(
                "a snapshot of a TokenParser: TokenParser.restore(snapshot, vocabulary)"
            )
        return record

    @classmethod
    def read(cls, text: str, id_factory: IdFactory) -> tuple[Recording, Any]:
        """Read a record, and what a parser of tokens added, None if it is of text."""
        try:
            document = json.loads(text)
            _check(document["deltaparse"])
            options = {name: document["options"][name] for name in OPTIONS}
            options["policies"] = Policies(**options["policies"])
            fmt = WireFormat.from_json(json.dumps(document["format"]))
            ids = ReplayedIds(id_factory, list(document["ids"]))
            prompt = document["options"]["prompt"]
            record = cls(Request(fmt=fmt, **options), prompt, ids)
            record.chunks += map(_from_json, document["chunks"])
            if document["finish"]:
                reason, stop = (*document["finish"], None)[:2]
                record.reasons.append((_reason(reason), stop_text(stop)))
        except UsageError:
            raise
        except (DeltaParseError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"no snapshot of a parser: {error!r}") from error
        return record, document.get("tokens")


def _check(version: object) -> None:
    if version != VERSION:
        raise UsageError(f"the snapshot is of version {version!r}, not {VERSION}")


def _to_json(chunk: Chunk) -> str | tuple[int, ...] | dict[str, str]:
    return {"bytes": b64encode(chunk).decode()} if isinstance(chunk, bytes) else chunk


def _from_json(chunk: Any) -> Chunk:
    if isinstance(chunk, list):
        return tuple(map(index, chunk))
    return chunk if isinstance(chunk, str) else b64decode(chunk["bytes"], validate=True)


def _ended(told: tuple[str | None, StopReason]) -> list[str | int | None]:
    reason, stop = told
    return [reason] if stop is None else [reason, stop]


def _reason(reason: Any) -> Any:
    if reason is None or isinstance(reason, str):
        return reason
    raise ValueError(reason)


def _plain(value: object) -> dict[Any, Any] | list[Any]:
    """Return a mapping that is no `dict` as one, and tools as a list."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Tools):
        return list(value)
    raise TypeError(f"{value!r} is no JSON")
