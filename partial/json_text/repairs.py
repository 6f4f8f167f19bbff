"""The closed list of repairs of JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Note", "Repairs"]

Note = Callable[[str, int], object]
"""Takes the name of a repair, which is a field of `Repairs`, and its offset.

In Python text it refuses the repair by returning False, and the text is broken there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    r"""Switches for the repairs of JSON; each is made unless it is switched off.

    Attributes:
        single_quotes: `'x'` becomes `"x"`.
        python_literals: `True`, `False` and `None` become `true`, `false` and `null`.
        control_characters: a raw newline, tab or the like in a string becomes an escape.
        invalid_escapes: an escape that JSON has not is written as what it means (`\x41`), or its
            backslash is kept (`\d`).
        trailing_commas: a comma before a closing bracket is left out.
        non_finite: `NaN`, `Infinity` and `-Infinity` become `null`.
        comments: `// ...`, `# ...` and `/* ... */` are left out.
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
