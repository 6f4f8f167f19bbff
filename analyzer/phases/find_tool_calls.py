"""Phases T1 to T7, A1 and A2: find the syntax of tool calls, and its format family."""

from __future__ import annotations

import re
from dataclasses import replace

from deltaparse.stream import ContentFormat, ReasoningFormat, ToolsFormat

from ..assistant_turns import Turns
from ..diff import after, first_marker
from ..probes import (
    ABSENT,
    ARGUMENT,
    ARGUMENTS,
    CALL_IDS,
    CONTENT,
    FUNCTIONS,
    TOOLS,
    USER,
    VALUE,
    VALUES,
    assistant,
    call,
    told,
    user,
)
from ..renderer import CallStyle, Renderer
from ..trace import phase
from .call_texts import CallTexts, ToolsFinding
from .find_channels import header_marks
from .find_escapes import with_escapes
from .find_json_calls import find_json_calls
from .find_python_calls import find_pythonic
from .find_tagged_calls import find_tagged, without_numbers

__all__ = ["find_tool_calls", "not_rendered", "not_understood", "showing_calls"]

NOT_RENDERED = "the template does not render tool calls: {what}; {advice}"
ADVICE = (
    "describe them with fmt.replace(tools=..., function=..., arguments=...), "
    "or use a built-in format"
)
NOT_READ = "it renders the tools, but never reads the tool_calls of a message"
NOT_SHOWN = (
    "it reads the tool_calls of a message, but does not render them with any tried content, ids "
    "and arguments"
)
REFUSED = "it refuses {what}: {words}"
OUTSIDE = "it renders them outside of the assistant's turn, which begins with {header!r}"
NO_END_BEFORE_RESULT = (
    "it renders them only before a tool's result, and the start of the result is unknown"
)
NOT_UNDERSTOOD = (
    "tool calls are rendered, but their syntax was not understood{shown}: describe it with "
    "fmt.replace(tools=..., function=..., arguments=...), or use a built-in format"
)
LONGEST_SHOWN = 200
"""Most characters of a call shown in an issue."""


def not_understood(found: ToolsFinding) -> ToolsFinding:
    """Return a finding without a format, after a failed analysis."""
    tools = ToolsFormat(supports_tools=found.format.supports_tools)
    return ToolsFinding(format=tools, issues=(NOT_UNDERSTOOD.format(shown=""),))


def not_rendered(what: str) -> str:
    """Return the issue of a template without rendered calls, with its reason."""
    return NOT_RENDERED.format(what=what, advice=ADVICE)


STYLES = tuple(
    CallStyle(content, ids, answered=answered)
    for answered in (False, True)
    for ids in ("{id}", "call_{id}", "functions.{name}:{at}", "call_{at}_{id}")
    for content in ("", None, ABSENT, CONTENT)
)
"""Styles of messages with calls, tried until the template renders one."""


@phase("T1")
def showing_calls(render: Renderer) -> Renderer:
    """Return the renderer with a style of messages for which the template renders calls.

    Some templates render calls only with null content, or only with content. Some render only the
    id, with the name in it. Some refuse calls without results, or tools with few members. Without
    such a style, the renderer is unchanged.
    """
    if "tool_calls" not in render.template.keys:
        return render
    if render([user()], tools=TOOLS) is None:
        full = render.with_all_of_tools()
        render = full if full([user()], tools=TOOLS) is not None else render
    for style in STYLES:
        shown = render.styled(style)([user(), assistant("", calls=[call()])], tools=TOOLS)
        if shown and USER in shown and FUNCTIONS[0] in after(shown, USER):
            return render.styled(style)
    return render


@phase("T1-T7, A1, A2")
def find_tool_calls(
    turns: Turns, reasoning: ReasoningFormat, content: ContentFormat
) -> ToolsFinding:
    """Find the syntax of calls, if the template renders any.

    JSON is tried first, because a parser verifies the result. Python calls are tried next, since
    they have few signs. Any other syntax is a name and arguments between markers.
    """
    # Some templates render tools only within a system message.
    shown = [turns.render(chat, tools=TOOLS) or "" for chat in ([user()], [told(), user()])]
    supports = any(all(name in text for name in FUNCTIONS) for text in shown)
    none = ToolsFinding(format=ToolsFormat(supports_tools=supports))
    calls = CallTexts(turns, reasoning, content)
    if header := _header_of_calls(calls):
        calls = replace(calls, header=header)
    if FUNCTIONS[0] not in calls.turn(call()):
        reads = "tool_calls" in turns.render.template.keys
        what = _refused(turns.render) or (NOT_SHOWN if reads else NOT_READ)
        if FUNCTIONS[0] in (turns.render.turn(content="", calls=[call()]) or "").partition(USER)[2]:
            what = OUTSIDE.format(header=turns.frame.header.strip())
            what = NO_END_BEFORE_RESULT if turns.render.settings.style.answered else what
        return replace(none, issues=(not_rendered(what),)) if supports or reads else none
    calls = without_numbers(calls)
    found = find_json_calls(calls)
    if found is None or found.issues:
        found = find_pythonic(calls) or find_tagged(calls) or found
    if found is None:
        return replace(none, issues=(NOT_UNDERSTOOD.format(shown=_shown(calls)),))
    arguments = replace(found.arguments, sorted_names=_sorts(calls))
    found = replace(found, arguments=arguments, addressed=calls.header is not None)
    if found.issues:
        return replace(none, issues=found.issues)
    return with_escapes(_with_own_end(found, turns), turns.render)


def _with_own_end(found: ToolsFinding, turns: Turns) -> ToolsFinding:
    """Return the finding, with a section end that resembles a turn end as a turn end."""
    tools = found.format
    closed = first_marker(tools.section_end)
    if closed not in map(first_marker, turns.frame.turn.ends):
        return found
    return replace(
        found, format=replace(tools, section_end=""), ends=(*found.ends, tools.section_end)
    )


def _refused(render: Renderer) -> str:
    """Return the template's refusal of tools or calls, with its message, or ""."""
    chats = {"tools": [user()], "calls": [user(), assistant("", calls=[call()])]}
    for what, chat in chats.items():
        if words := render.refusal(chat, TOOLS):
            return REFUSED.format(what=what, words=words)
    return ""


def _sorts(calls: CallTexts) -> bool:
    """Return True if the template sorts arguments by name."""
    given = dict(zip(reversed(ARGUMENTS), VALUES, strict=True))
    text = calls.turn(call(0, given))
    first, last = (text.find(value) for value in VALUES)
    return 0 <= last < first


def _shown(calls: CallTexts) -> str:
    """Return a rendered call, with placeholders for its parts."""
    text = calls(call())
    words = {FUNCTIONS[0]: "NAME", ARGUMENT: "KEY", VALUE: "VALUE", CALL_IDS[0]: "ID"}
    for probe, word in words.items():
        text = text.replace(probe, word)
    return f", {text[:LONGEST_SHOWN]!r}" if text else ""


def _header_of_calls(calls: CallTexts) -> re.Pattern[str] | None:
    """Return a pattern for call headers, if the header names the function like the call."""
    marks = header_marks(calls.reasoning, calls.content)
    before, _, body = calls.turn(call()).partition(FUNCTIONS[0])
    named = marks and before.endswith(marks.prefix.lstrip()) and body.startswith(marks.suffix)
    header = calls.turns.frame.header.strip()
    if marks is None or not named or not header or FUNCTIONS[0] not in body:
        return None
    first, prefix = re.escape(header), re.escape(marks.prefix.lstrip())
    end = re.escape(calls.reasoning.end.partition(header)[0].strip())
    names = "|".join(map(re.escape, FUNCTIONS))
    suffix = re.escape(marks.suffix)
    return re.compile(rf"(?:(?:{end})?\s*{first})?\s*{prefix}(?:{names}){suffix}")
