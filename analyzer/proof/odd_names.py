"""Test of odd names: functions and arguments with markup in their names.

One call has all names, so a correct format costs one conversation. If it fails, parts of the names
are tested separately, and an issue lists the lost characters. The parser knows the tools, as it
does in an agent. Without tools, `<parameter=a>b>` is ambiguous: the argument may be `a>b`, or `a`
with a value that begins with `b>`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence

from deltaparse.stream import ToolFormat
from deltaparse.stream.wire.call_names import is_python_call_name

from ..probes import FUNCTIONS, call
from .conversations import WORDS, Turn
from .round_trip import RoundTrip, beside

__all__ = ["lost_names"]

ODD = (*string.punctuation, " ", "é", "你", "😀", "&amp;", "&quot;", "&#39;", "&lt;")
"""Characters in names: all ASCII punctuation, other letters, and entities."""

OF_FUNCTIONS = "calls with {odd} in function names"
OF_ARGUMENTS = "calls with {odd} in argument names"


def lost_names(trial: RoundTrip) -> Iterator[str]:
    """Yield descriptions of odd names that are not parsed back."""
    fmt = trial.fmt
    # Python names cannot contain most of the characters.
    python = fmt.tools.format is ToolFormat.PYTHONIC
    functions = [odd for odd in ODD if not python or is_python_call_name(_function(odd))]
    arguments = [odd for odd in ODD if not python or is_python_call_name(_argument(odd))]
    if not _problem(trial, functions, arguments):
        return
    lost = {
        OF_FUNCTIONS: _lost(functions, lambda some: _problem(trial, some, ())),
        OF_ARGUMENTS: _lost(arguments, lambda some: _problem(trial, (), some)),
    }
    for words, found in lost.items():
        if found:
            shown = ", ".join(map(repr, found))
            yield f"{words.format(odd=shown)} did not round-trip: {next(iter(found.values()))}"


def _lost(odd: Sequence[str], problem: Callable[[Sequence[str]], str]) -> dict[str, str]:
    """Return the error of each failing name. Tests halves, since most names do not fail."""
    found = problem(odd) if odd else ""
    if not found or len(odd) == 1:
        return dict.fromkeys(odd, found) if found else {}
    middle = len(odd) // 2
    return _lost(odd[:middle], problem) | _lost(odd[middle:], problem)


def _function(odd: str) -> str:
    return f"{FUNCTIONS[0]}x{odd}x"


def _argument(odd: str) -> str:
    return f"a{odd}b"


def _problem(trial: RoundTrip, functions: Sequence[str], arguments: Sequence[str]) -> str:
    """Return the error of a call with these names, or "".

    A call the template does not render is not an error.
    """
    made = call(0, dict.fromkeys(map(_argument, arguments), WORDS))
    if functions:
        name = _function("x".join(functions))
        made = {**made, "function": {**made["function"], "name": name}}
    turn = beside(Turn("odd names", calls=(made,), streamed=False), trial.render)
    return trial.fault(turn)
