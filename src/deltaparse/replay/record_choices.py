"""Choices of a record: several outputs of one request (`n`).

Raw texts are separated by a `*` in a path (`text=outputs.*.text`). Chunks and responses of
OpenAI's API are separated by the index of their choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Several", "by_choice", "choices_of"]


BY_INDEX = frozenset(("chunks", "expected"))
"""Fields with indexed choices."""


class Several(list[Any]):
    """Values of a field, one per choice."""


def by_choice(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Split a record into one record per choice, with the index of the choice as `choice`.

    A record with a single choice has no index.
    """
    apart = {}
    for name, value in record.items():  # cheap type checks first: most records have one choice
        if type(value) is Several or (name in BY_INDEX and type(value) in (dict, list)):
            values = _apart(name, value)
            if values is not None:
                apart[name] = values
    if not apart:
        return [record]
    indexes = sorted({index for values in apart.values() for index in values})
    shared = {name: value for name, value in record.items() if name not in apart}
    found: list[Mapping[str, Any]] = [
        shared | {name: values[index] for name, values in apart.items() if index in values}
        for index in indexes
    ]
    if len(found) == 1:
        return found
    return [{"choice": index, **one} for index, one in zip(indexes, found, strict=True)]


def choices_of(chunk: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the choices of a chunk or response of OpenAI's API, each with its index."""
    choices = chunk.get("choices") if isinstance(chunk, Mapping) else None
    for at, one in enumerate(choices if isinstance(choices, list) else ()):
        if isinstance(one, Mapping):
            index = one.get("index", at)
            yield (index if isinstance(index, int) else at), one


def _apart(name: str, value: Any) -> dict[int, Any] | None:
    """Return the value of a field for each index, or None if all choices share it."""
    if isinstance(value, Several):
        return dict(enumerate(value))
    if isinstance(value, dict):
        if name != "expected" or "choices" not in value:
            return None
        choices = dict(choices_of(value))
        return None if len(choices) < 2 else {at: {"choices": [choices[at]]} for at in choices}
    indexes = {index for chunk in value for index, _ in choices_of(chunk)}
    if len(indexes) < 2:
        return None
    return {index: [_only(chunk, index) for chunk in value] for index in indexes}


def _only(chunk: object, index: int) -> object:
    """Return a chunk with only the choice of this index. Other values are unchanged."""
    if not isinstance(chunk, Mapping) or "choices" not in chunk:
        return chunk
    return {**chunk, "choices": [one for at, one in choices_of(chunk) if at == index]}
