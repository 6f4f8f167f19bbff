"""Calls that are written as calls in Python: `[f(a="b")]`."""

from __future__ import annotations

from deltaparse.stream import ToolFormat, ToolsFormat

from ..probes import FUNCTIONS, call
from .call_texts import CallTexts, ToolsFinding, between_calls, parts_of

__all__ = ["find_pythonic"]

QUOTES = ('"', "'")


def find_pythonic(calls: CallTexts) -> ToolsFinding | None:
    """Read off what stands round calls in Python; None if calls are not written like this."""
    one = parts_of(calls(call()))
    if one is None or one.within is None or one.between.strip() != "(":
        return None
    quote = one.within.strip().removeprefix("=")
    closer = f"{quote})"
    if quote not in QUOTES or not one.after.startswith(closer):
        return None
    pair = calls(call(), call(1))
    before, after = one.before, one.after.removeprefix(closer)
    listed = before.rstrip().endswith("[") and after.lstrip().startswith("]")
    if listed:
        before, after = before.rstrip()[:-1], after.lstrip()[1:]
    tools = ToolsFormat(
        format=ToolFormat.PYTHONIC,
        section_start=before,
        section_end=after,
        separator=between_calls(pair, closer) or "",
        content_separator=calls.separator(before.strip()),
        array_wrapped=listed,
        supports_tools=True,
        supports_parallel_calls=FUNCTIONS[1] in pair,
    )
    return ToolsFinding(format=tools)
