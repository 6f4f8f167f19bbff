"""The choices of a record: one output each, where a request asked for several (`n`).

Raw texts are told apart by a `*` in a path (`text=outputs.*.text`), chunks and responses of
OpenAI's API by the index of their choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Several", "by_choice", "choices_of"]


BY_INDEX = frozenset(("chunks", "expected"))
"""Fields that have choices by their index."""


class Several(list[Any]):
    """What a field is for each of the choices."""


def by_choice(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a record of each choice, with its index as `choice`; the record, where it has one."""
    apart = {}
    for name, value in record.items():  # most records have nothing of that
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
    """What a field is for each index; None where it is the same for all."""
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
    """A chunk with the choice of this index, if it has it; what is no chunk stays."""
    if not isinstance(chunk, Mapping) or "choices" not in chunk:
        return chunk
    return {**chunk, "choices": [one for at, one in choices_of(chunk) if at == index]}
