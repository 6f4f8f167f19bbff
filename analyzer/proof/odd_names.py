"""Whether odd names come back: those of functions and of arguments that have markup in them.

One call has them all, so that a right format costs one conversation. If that does not come back,
each character is tried by itself, in either kind of name, and an issue says which are lost. The
parser knows the names, as it does in an agent: without tools, nobody could tell `<parameter=a>b>`
from an argument `a` that begins with `b>`.
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
"""What is in names: each character that markup is made of, other letters, and entities."""

OF_FUNCTIONS = "calls of functions whose names have {odd}"
OF_ARGUMENTS = "calls with arguments whose names have {odd}"


def lost_names(trial: RoundTrip) -> Iterator[str]:
    """Yield which odd names do not come back, and what comes instead."""
    fmt = trial.fmt
    # In Python, a name is a word.
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
            yield f"{words.format(odd=shown)} did not come back: {next(iter(found.values()))}"


def _lost(odd: Sequence[str], problem: Callable[[Sequence[str]], str]) -> dict[str, str]:
    """What is wrong with each that has a problem: halves are tried, for most have none."""
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
    """What is wrong with a call of such names that comes back, "" if nothing is.

    Nor if the template does not show it.
    """
    made = call(0, dict.fromkeys(map(_argument, arguments), WORDS))
    if functions:
        name = _function("x".join(functions))
        made = {**made, "function": {**made["function"], "name": name}}
    turn = beside(Turn("odd names", calls=(made,), streamed=False), trial.render)
    return trial.fault(turn)
