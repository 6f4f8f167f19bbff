"""Copies of the caller's values as plain types, so that templates cannot reach their methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from deltaparse.partial import UsageError

__all__ = ["plain_copy", "plain_dicts"]

# Methods of the plain types, because subclasses may define their own conversion.
SCALARS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
)
"""Subclassed types of scalars, with their conversion."""


def plain_copy(name: str, value: Any) -> Any:
    """Copy an argument called `name`.

    Raises:
        UsageError: the value contains itself or is nested too deeply.
    """
    try:
        return _plain(value)
    except RecursionError:
        raise UsageError(f"{name} must not contain itself or nest hundreds of levels") from None


def plain_dicts(name: str, values: object, example: str) -> list[dict[str, Any]]:
    """Copy a list of dicts. Error messages contain the `example` of a dict.

    Raises:
        UsageError: `values` is not a list of dicts, or cannot be copied.
    """
    if not isinstance(values, list | tuple):
        raise UsageError(
            f"{name} must be a list of dicts like {example}, not {type(values).__name__}"
        )
    copies: list[Any] = plain_copy(name, list(values))
    for index, copy in enumerate(copies):
        if not isinstance(copy, dict):
            kind = type(values[index]).__name__
            raise UsageError(f"{name}[{index}] must be a dict like {example}, not {kind}")
    return copies


def _plain(value: Any) -> Any:
    """Copy a value into plain types, because a template must not reach methods of other objects.

    A value without a plain form is replaced by the name of its type in angle brackets, as in
    transformers.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    for kind, plain in SCALARS:
        if isinstance(value, kind):
            return plain(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return _plain(_data_of(value))


def _data_of(value: object) -> object:
    """Return the data of an object, or the name of its type in angle brackets."""
    # A class has the attributes of its instances, but no data.
    if not isinstance(value, type):
        if is_dataclass(value):
            return {part.name: getattr(value, part.name) for part in fields(value)}
        dump = getattr(value, "model_dump", None)  # of a Pydantic model
        if callable(dump):
            return dump()
        if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
            return value.item()  # type: ignore[attr-defined]
    return f"<{type(value).__name__}>"
