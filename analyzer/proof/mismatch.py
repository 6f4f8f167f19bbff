"""Descriptions of the first difference between actual and expected parts of a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from ..abbreviate import quoted

__all__ = ["calls_part", "texts_part"]

LONGEST_QUOTE = 80
"""Most characters shown of a text."""

BEFORE = 20
"""Characters shown of the common prefix of two long texts."""


def calls_part(
    got: Sequence[tuple[str, object]], want: Sequence[tuple[str, object]], *, elements: bool
) -> str:
    """Describe the first difference between two lists of calls, "" if they are equal.

    With `elements`, arguments are nested elements, which lose some distinctions. An empty text, an
    empty object and an empty list are then equal, and null may be omitted.

    Args:
        got: the parsed calls, as names and arguments.
        want: the expected calls.
        elements: True if values are written as nested elements.
    """
    for (name, given), (wanted, arguments) in zip(got, want, strict=False):
        if name != wanted:
            return f"a call of {name!r}, not {wanted!r}"
        one, other = (_kept(given), _kept(arguments)) if elements else (given, arguments)
        if one != other:
            return _arguments_part(one, other)
    return f"{_count(got)}, not {len(want)}" if len(got) != len(want) else ""


def texts_part(got: str, want: str) -> str:
    """Describe the difference between two texts, "" if they are equal.

    Long texts are shown from their first difference on. Whitespace at their edges is ignored, since
    the template adds or trims it.
    """
    got, want = got.strip(), want.strip()
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(got, want, strict=False)))
    start = max(alike - BEFORE, 0) if max(len(got), len(want)) > LONGEST_QUOTE else 0
    one, other = (f"{'...' * bool(start)}{_head(text[start:])}" for text in (got, want))
    return f"{one}, not {other}" if got != want else ""


def _arguments_part(got: object, want: object, path: tuple[str, ...] = ()) -> str:
    """Describe the first difference between two values, in the innermost object."""
    if isinstance(got, Mapping) and isinstance(want, Mapping):
        return _members_part(got, want, path)
    place = f"argument {'.'.join(path)!r}" if path else "arguments"
    texts = isinstance(got, str) and isinstance(want, str)
    words = texts_part(str(got), str(want)) if texts else ""
    return f"{place} {words or f'{_short(got)}, not {_short(want)}'}"


def _members_part(got: Mapping[str, Any], want: Mapping[str, Any], path: tuple[str, ...]) -> str:
    """Describe the first missing, additional or different member of two objects."""
    more = [repr(".".join((*path, key))) for key in got if key not in want]
    for key in want:
        if key not in got:
            return f"missing argument {'.'.join((*path, key))!r}" + "".join(
                f", but {one}" for one in more[:1]
            )
        if got[key] != want[key]:
            return _arguments_part(got[key], want[key], (*path, key))
    return f"unexpected argument {more[0]}"


def _kept(value: Any) -> Any:
    """Return a value without distinctions lost in elements."""
    if isinstance(value, Mapping):
        parts = {key: _kept(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part is not None} or ""
    if isinstance(value, list | tuple):
        return [_kept(part) for part in value] or ""
    return value


def _count(calls: Sequence[object]) -> str:
    return f"{len(calls)} call{'s' * (len(calls) != 1)}"


def _head(text: str) -> str:
    return f"{text[:LONGEST_QUOTE]!r}{'...' * (len(text) > LONGEST_QUOTE)}"


def _short(value: object) -> str:
    return quoted(value, LONGEST_QUOTE)
