"""Dataclasses as JSON documents with a version, and with parts replaced.

What is read is checked against the types of the fields, so a field that is added needs no line
here. All functions raise `FormatError`, which names the place of the mistake.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_type_hints

from deltaparse.partial import FormatError

from .groups import Switches, chosen, texts

__all__ = ["VERSION", "from_json", "replaced", "to_json"]

VERSION = 1
"""Of the documents: another one where a field means something else than it did."""

Data = TypeVar("Data")


def to_json(data: Any) -> str:
    """A dataclass as a JSON document, all its fields written out, behind the version."""
    document = {"version": VERSION, **asdict(data)}
    return json.dumps(document, ensure_ascii=False, indent=2, default=dict)


def from_json(kind: type[Data], text: str) -> Data:
    """The dataclass that a JSON document describes; what is left out has its default.

    A document without a version is one of this version, written by hand.
    """
    try:
        document = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"a wire format is a JSON document: {error}"
        raise FormatError(message) from error
    if isinstance(document, dict):
        version = document.pop("version", VERSION)
        if type(version) is not int or version != VERSION:
            message = f"a wire format of version {version!r:.20}: this deltaparse reads {VERSION}"
            raise FormatError(message)
    made: Data = _made(kind, document, "format")
    return made


def replaced(data: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `dataclasses.replace` for changes to the fields of a format.

    A group may be given whole, or as a mapping of those of its fields that change.
    """
    known = _names(type(data))
    for name in changes:
        if name not in known:
            raise FormatError(f"a wire format has no {name!r}; it has {known}")
    return {
        name: _changed(getattr(data, name), change, name)
        if isinstance(change, Mapping) and is_dataclass(getattr(data, name))
        else change
        for name, change in changes.items()
    }


def _changed(group: Any, changes: Mapping[str, Any], where: str) -> Any:
    """A group with some of its fields changed."""
    values = {name: getattr(group, name) for name in _names(type(group))}
    return _made(type(group), values | dict(changes), where)


def _made(kind: Any, value: Any, where: str) -> Any:
    """Make a `kind` (a dataclass, an enum, str, bool or tuple of str) of a JSON value."""
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise FormatError(f"{where} must be an object")
        group: Any = kind
        hints = _hints(group)
        for name in value:
            if name not in hints:
                raise FormatError(f"{where} has no {name!r}; it has {', '.join(hints)}")
        parts = {name: _made(hints[name], part, f"{where}.{name}") for name, part in value.items()}
        return kind(**parts)  # type: ignore[operator]
    if kind == tuple[str, ...]:
        return texts(value, where)
    if isinstance(value, kind):
        return value
    if kind is Switches:
        return Switches(value)
    if issubclass(kind, StrEnum):
        return chosen(kind, value, where)
    raise FormatError(f"{where} must be {kind.__name__}, not {value!r:.200}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """The types of a dataclass's fields."""
    known = get_type_hints(kind)
    return {name: known[name] for name in _names(kind)}


def _names(kind: Any) -> list[str]:
    """The names of a dataclass's fields."""
    return [field.name for field in fields(kind)]
