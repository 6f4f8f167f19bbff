"""Phases T1 to T7, A1 and A2: how a template writes tool calls, and in which family of ways."""

from __future__ import annotations

from dataclasses import replace

from deltaparse.stream import ContentFormat, ReasoningFormat, ToolsFormat

from ..probes import FUNCTIONS, TOOLS, call, user
from ..trace import phase
from ..turns import Turns
from .call_texts import CallTexts, ToolsFinding
from .json_calls import find_json_calls
from .pythonic import find_pythonic
from .tagged import find_tagged

__all__ = ["find_tool_calls"]

NOT_RENDERED = "the template does not render tool calls"
NOT_UNDERSTOOD = (
    "tool calls are rendered, but their syntax was not understood: describe it with "
    "fmt.replace(tools=..., function=..., arguments=...), or take a named format"
)


@phase("T1-T7, A1, A2")
def find_tool_calls(
    turns: Turns, reasoning: ReasoningFormat, content: ContentFormat
) -> ToolsFinding:
    """Find how calls are written, if the template shows any.

    JSON is looked for first, for it is certain: what is read off is checked by a parser. Then
    calls in Python, of which the signs are few; anything else is a name and its arguments with
    markers round them.
    """
    shown = turns.render([user()], tools=TOOLS)
    supports = shown is not None and all(name in shown for name in FUNCTIONS)
    none = ToolsFinding(format=ToolsFormat(supports_tools=supports))
    calls = CallTexts(turns, reasoning, content)
    if FUNCTIONS[0] not in calls.turn(call()):
        return replace(none, issues=(NOT_RENDERED,)) if supports else none
    found = find_json_calls(calls) or find_pythonic(calls) or find_tagged(calls)
    if found is None:
        return replace(none, issues=(NOT_UNDERSTOOD,))
    return replace(none, issues=found.issues) if found.issues else found
