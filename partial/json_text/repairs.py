"""The closed list of JSON repairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Note", "Repairs"]

Note = Callable[[str, int], object]
"""Takes the name of a repair, a field of `Repairs`, and its offset.

In Python text it may return False to refuse the repair, which breaks the text there."""


# Frozen, because one default instance is shared by all readers.
@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    r"""Switches for the repairs of JSON. All repairs are on by default.

    Attributes:
        single_quotes: `'x'` becomes `"x"`.
        python_literals: `True`, `False` and `None` become `true`, `false` and `null`.
        control_characters: a raw newline, tab or similar in a string becomes an escape.
        invalid_escapes: an escape unknown to JSON is replaced by its meaning (`\x41`), or its
            backslash is kept (`\d`).
        trailing_commas: a comma before a closing bracket is removed.
        non_finite: `NaN`, `Infinity` and `-Infinity` become `null`.
        comments: `// ...`, `# ...` and `/* ... */` are removed.
        unquoted_keys: `{a: 1}` becomes `{"a": 1}`.
    """

    single_quotes: bool = True
    python_literals: bool = True
    control_characters: bool = True
    invalid_escapes: bool = True
    trailing_commas: bool = True
    non_finite: bool = True
    comments: bool = True
    unquoted_keys: bool = True
