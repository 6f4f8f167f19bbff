"""Calls written in Python syntax: `[f(a="b")]`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deltaparse.stream import FunctionFormat, ToolFormat, ToolsFormat

from ..probes import ARGUMENT, FUNCTIONS, NUMBER, call
from .call_texts import CallTexts, ToolsFinding, between_calls, markers_of, parts_of

__all__ = ["find_pythonic"]

CLOSED = re.compile(r"([\"']?)\s*\)")
NAMESPACE = re.compile(r"[\w-]+\.\Z")
AWKWARD = 'zqit\'s "so" \\ zq'
ISSUES = {
    "strings": "the template writes strings without quotes",
    "escapes": "the template writes quotes in strings without escaping them",
    "numbers": "the template writes numbers as strings",
}
"""Descriptions of what a template loses when it renders calls."""


def find_pythonic(calls: CallTexts) -> ToolsFinding | None:
    """Find the markers around calls in Python syntax; return None if calls are written otherwise.

    Templates often render Python incorrectly: without quotes, without escapes, or with quotes
    around all values. Models write correct Python, so each loss is reported and excluded from
    verification.
    """
    one = parts_of(calls(call()))
    if one is None or one.within is None or one.between.strip() != "(":
        return None
    quote = one.within.strip().removeprefix("=").lstrip()
    closed = CLOSED.match(one.after)
    if closed is None or closed[1] != quote or "=" not in one.within:
        return None
    pair, closer = calls(call(), call(1)), closed[0]
    between, found = between_calls(pair, closer), NAMESPACE.search(one.before)
    separator, namespace = between or "", found[0] if found else ""
    if FUNCTIONS[1] in pair and not separator.endswith(namespace):
        namespace = ""
    before, after = one.before.removesuffix(namespace), one.after.removeprefix(closer)
    separator = separator.removesuffix(namespace)
    listed = before.rstrip().endswith("[") and after.lstrip().startswith("]")
    if listed:
        before, after = before.rstrip()[:-1], after.lstrip()[1:]
    ends: tuple[str, ...] = ()
    markers = markers_of(before, between, after)
    if not listed and markers.section_end.strip() and not markers.section_start.strip():
        # No section was opened, so this marker ends the turn.
        ends, after, separator = (markers.section_end.strip(),), markers.per_call_end, ""
    behind = None if before.strip() else calls.behind_content("[" if listed else FUNCTIONS[0])
    tools = ToolsFormat(
        format=ToolFormat.PYTHONIC,
        section_start=before,
        section_end=after,
        separator=separator,
        content_separator=calls.separator(before.strip(), default=behind or ""),
        behind_content=behind is not None and listed,
        array_wrapped=listed,
        supports_tools=True,
        supports_parallel_calls=FUNCTIONS[1] in pair,
    )
    lost = tuple(_lost(quote, calls))
    issues = tuple(f"{ISSUES[what]}: {LEFT_OUT}" for what in lost)
    function = FunctionFormat(namespace=namespace)
    return ToolsFinding(format=tools, function=function, ends=ends, lost=lost, losses=issues)


LEFT_OUT = "correct Python calls are parsed, but the calls in history were left out of verification"


def _lost(quote: str, calls: CallTexts) -> Iterator[str]:
    """Yield the kinds of argument values that the template renders incorrectly."""
    if not quote:
        yield "strings"
    elif AWKWARD in calls(call(0, {ARGUMENT: AWKWARD})):
        yield "escapes"
    if f"{quote}{NUMBER}{quote}" in calls(call(0, {ARGUMENT: NUMBER})) and quote:
        yield "numbers"
