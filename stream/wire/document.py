"""Dataclasses as versioned JSON documents, and copies with changed parts.

Values are checked against the types of the fields, so a new field needs no code here. All functions
raise `FormatError` with the path of the mistake.
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
"""The version of the documents. It increases if the meaning of a field changes."""

Data = TypeVar("Data")


def to_json(data: Any) -> str:
    """Return a dataclass as a JSON document: the version, then all fields."""
    # The version is first, so that people see it.
    document = {"version": VERSION, **asdict(data)}
    # `Switches` is a mapping but not a dict, so it needs `default`.
    return json.dumps(document, ensure_ascii=False, indent=2, default=dict)


def from_json(kind: type[Data], text: str) -> Data:
    """Return the dataclass described by a JSON document. Missing fields get their defaults.

    A document without a version is hand-written, and has the current version.

    Args:
        kind: the dataclass.
        text: the JSON document.

    Raises:
        FormatError: the document is invalid or has another version.
    """
    try:
        document = json.loads(text)
    # `json` raises RecursionError for deeply nested documents.
    except (TypeError, ValueError, RecursionError) as error:
        message = f"a wire format must be a JSON document: {error}"
        raise FormatError(message) from error
    if isinstance(document, dict):
        version = document.pop("version", VERSION)
        # True equals 1, but is not a version.
        if type(version) is not int or version != VERSION:
            message = f"unknown version of a wire format: {version!r:.20}, expected {VERSION}"
            raise FormatError(message)
    made: Data = _made(kind, document, "format")
    return made


def replaced(data: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `dataclasses.replace` for changes to the fields of a format.

    Args:
        data: the dataclass to change.
        changes: new values by field. A group may be given completely, or as a mapping with only the
            changed fields of the group.

    Raises:
        FormatError: a field does not exist, or a value has the wrong type.
    """
    known = _names(type(data))
    # `dataclasses.replace` would raise TypeError for an unknown field.
    for name in changes:
        if name not in known:
            raise FormatError(f"a wire format has no field {name!r}, expected one of: {known}")
    return {
        name: _changed(getattr(data, name), change, name)
        if isinstance(change, Mapping) and is_dataclass(getattr(data, name))
        else change
        for name, change in changes.items()
    }


def _changed(group: Any, changes: Mapping[str, Any], where: str) -> Any:
    """Return a group with some fields changed."""
    values = {name: getattr(group, name) for name in _names(type(group))}
    # The group is created again, so its checks run on the changed values.
    return _made(type(group), values | dict(changes), where)


def _made(kind: Any, value: Any, where: str) -> Any:
    """Return a `kind` (a dataclass, enum, str, bool or tuple of strings) from a JSON value."""
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise FormatError(f"{where} must be an object, not {type(value).__name__}")
        group: Any = kind
        hints = _hints(group)
        for name in value:
            # Unknown fields are errors, because they are mostly misspelled.
            if name not in hints:
                raise FormatError(f"{where} has no {name!r}, expected one of: {', '.join(hints)}")
        parts = {name: _made(hints[name], part, f"{where}.{name}") for name, part in value.items()}
        return kind(**parts)  # type: ignore[operator]
    # Before `isinstance`, which does not accept parametrized types.
    if kind == tuple[str, ...]:
        return texts(value, where)
    # Values from Python may already have the type.
    if isinstance(value, kind):
        return value
    # `Switches` and enumerations convert plain JSON values.
    if kind is Switches:
        return Switches(value)
    if issubclass(kind, StrEnum):
        return chosen(kind, value, where)
    raise FormatError(f"{where} must be {kind.__name__}, not {value!r:.200}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields."""
    # Cached, because resolving annotations is slow.
    known = get_type_hints(kind)
    return {name: known[name] for name in _names(kind)}


def _names(kind: Any) -> list[str]:
    """Return the names of a dataclass's fields."""
    return [field.name for field in fields(kind)]
