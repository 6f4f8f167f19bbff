"""Where what came back parts from what should have, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from ..abbreviate import quoted

__all__ = ["calls_part", "texts_part"]

LONGEST_QUOTE = 80
"""Characters of a text that are shown."""

BEFORE = 20
"""Characters that are shown of what two long texts begin with alike."""


def calls_part(
    got: Sequence[tuple[str, object]], want: Sequence[tuple[str, object]], *, elements: bool
) -> str:
    """Say where calls differ first, each a name and arguments; "" if they do not.

    Values that are written as `elements` do not show all: there an empty text, an empty object and
    an empty list are alike, and null may be left out.
    """
    for (name, given), (wanted, arguments) in zip(got, want, strict=False):
        if name != wanted:
            return f"a call of {name!r}, not {wanted!r}"
        one, other = (_kept(given), _kept(arguments)) if elements else (given, arguments)
        if one != other:
            return _arguments_part(one, other)
    return f"{_count(got)}, not {len(want)}" if len(got) != len(want) else ""


def texts_part(got: str, want: str) -> str:
    """Say how two texts differ, long ones from where they do.

    White space at their edges makes no difference, for it is the template's; "" if nothing does.
    """
    got, want = got.strip(), want.strip()
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(got, want, strict=False)))
    start = max(alike - BEFORE, 0) if max(len(got), len(want)) > LONGEST_QUOTE else 0
    one, other = (f"{'...' * bool(start)}{_head(text[start:])}" for text in (got, want))
    return f"{one}, not {other}" if got != want else ""


def _arguments_part(got: object, want: object, path: tuple[str, ...] = ()) -> str:
    """Say where two values differ first, in the innermost object."""
    if isinstance(got, Mapping) and isinstance(want, Mapping):
        return _members_part(got, want, path)
    place = f"argument {'.'.join(path)!r}" if path else "arguments"
    texts = isinstance(got, str) and isinstance(want, str)
    words = texts_part(str(got), str(want)) if texts else ""
    return f"{place} {words or f'{_short(got)}, not {_short(want)}'}"


def _members_part(got: Mapping[str, Any], want: Mapping[str, Any], path: tuple[str, ...]) -> str:
    """Say where two objects differ first: a member that is missing, too many, or not the same."""
    more = [repr(".".join((*path, key))) for key in got if key not in want]
    for key in want:
        if key not in got:
            return f"no argument {'.'.join((*path, key))!r}" + "".join(
                f", but {one}" for one in more[:1]
            )
        if got[key] != want[key]:
            return _arguments_part(got[key], want[key], (*path, key))
    return f"an argument {more[0]} too many"


def _kept(value: Any) -> Any:
    """A value without what elements do not show."""
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
