"""Human-readable description of a wire format.

It lists each group of fields, with markers quoted to make whitespace visible. A sample turn and
its grammar follow. For an analyzed template, the evidence for each marker is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import deltaparse as dp

from .format_sample import ebnf, sample, sample_call

if TYPE_CHECKING:
    from deltaparse.analyzer import Trace

__all__ = ["explanation", "sample", "sample_call", "table", "trace_lines"]

# A mode without an entry is shown by its own name.
WORDS = {
    ("reasoning", "NONE"): "none found",
    ("reasoning", "TAG_BASED"): "between two markers, both written by the model",
    ("reasoning", "DELIMITER"): "from the start of the turn up to a marker",
    ("reasoning", "FORCED_OPEN"): "opened by the prompt, ended by the model",
    ("reasoning", "FORCED_CLOSED"): "opened by the prompt, and closed by it if thinking is off",
    ("reasoning", "TOOLS_ONLY"): "between two markers, only in turns with tool calls",
    ("content", "PLAIN"): "the remaining text",
    ("content", "ALWAYS_WRAPPED"): "between two markers",
    ("content", "WRAPPED_WITH_REASONING"): "between two markers in turns with reasoning",
    ("content", "WRAPPED_WITH_CALLS"): "between two markers in turns with tool calls",
    ("tools", "NONE"): "none found",
    ("tools", "JSON_NATIVE"): "name and arguments in one JSON object",
    ("tools", "TAG_WITH_JSON"): "the name between markers, the arguments a JSON object",
    ("tools", "TAG_WITH_TAGGED"): "the name, each key and each value between markers",
    ("tools", "PYTHONIC"): "calls written as in Python",
}
GROUPS = (
    *("turn", "reasoning", "content", "tools", "function", "arguments", "call_id", "channels"),
    "code",
)
MODES = ("mode", "format")
NAME_WIDTH = 48
PROVED = f"{'calls':<8}{'reason.':<8}{'content':<8}"
"""Headings of the columns for verified parts."""

SHOWN_NEXT_TO = 60
NOT_RENDERED = "the template does not render tool calls: "
NOTHING_RENDERED = "hand-written format, not derived from a template"
NO_REASONING_SHOWN = "the template never renders reasoning; the markers are from prompts"
ABOUT_CALLS = re.compile(r"\b(?:calls?|value|strings|numbers|eos_token)\b")
ABOUT_REASONING = re.compile(r"\b(?:reasoning|opens)\b")
NOT_BACK = "did not round-trip"
CHANGED = {"instructions": "the instructions", "prompt": "the prompt"} | {
    word: word for word in ("reasoning", "calls")
}
"""Names for the parts that a switch can change."""

CAPITALS = "words in capitals are placeholders"
PROBES = "words like zqthiszq are test strings"


def explanation(fmt: dp.WireFormat, trace: Trace | None = None) -> str:
    """Describe a format in several lines, including its verification and issues.

    Args:
        fmt: the format.
        trace: the trace of its analysis, which adds the evidence for markers and the round trips.
    """
    lines = [*summary(fmt, trace), ""]
    lines += [line for name in GROUPS for line in _group(name, getattr(fmt, name))]
    lines += ["", f"A complete turn in this format ({CAPITALS}):", ""]
    lines += [f"  | {line}".rstrip() for line in sample(fmt).strip("\n").split("\n")]
    lines += ["", "Grammar of a turn, in EBNF:", ""]
    lines += [f"  {line}" for line in ebnf(fmt).split("\n")]
    if trace is not None:
        lines += ["", f"First occurrence of each marker, between » and « ({PROBES}):", ""]
        lines += [f"  {line}" for line in evidence_lines(trace, fmt)]
        lines += ["", f"{len(trace.renderings)} renderings; these parse back unchanged:"]
        lines += [f"  - {label}" for label in trace.proved] or ["  none"]
    if fmt.verified:
        said = "Verified: the conversations that the template rendered parse back unchanged"
        lines += ["", f"{said}." if fmt.proved.calls else f"{said}; none had tool calls."]
    elif fmt.issues:
        lines += ["", "Not verified:", *(f"  - {issue}" for issue in fmt.issues)]
    else:
        lines += [
            "",
            "Not verified: hand-written format. Verify it with `deltaparse doctor MODEL`.",
        ]
    return "\n".join(lines)


def summary(fmt: dp.WireFormat, trace: Trace | None = None) -> Iterator[str]:
    """Yield one sentence each about tool calls, reasoning, content and switches."""
    counts = trace.conversations if trace is not None else {}
    yield f"Tool calls{_about_calls(fmt, counts.get('calls'))}"
    if fmt.suggested and not fmt.derived.has_calls:
        yield (
            f"The template's instructions resemble the built-in format {fmt.suggested}: "
            "use --accept to parse calls in it."
        )
    if fmt.proved.reasoning:
        said = _proved(fmt.proved.reasoning, counts.get("reasoning"))
        yield f"Reasoning will be separated from content: {said}."
    elif fmt.derived.has_reasoning:
        yield f"Reasoning: not verified: {_first(fmt, ABOUT_REASONING) or NO_REASONING_SHOWN}"
    elif (found := _first(fmt, ABOUT_REASONING)) and NOT_BACK not in found:
        yield f"Reasoning: not understood: {found}"
    if not fmt.proved.content:
        yield f"Content: not verified: {(fmt.issues or (NOTHING_RENDERED,))[0]}"
    for name, changes in fmt.switches.items():
        if changes:
            yield f"The switch {name} changes {_listed([CHANGED[word] for word in changes])}."


def _about_calls(fmt: dp.WireFormat, count: int | None) -> str:
    """Return the rest of the sentence that starts with "Tool calls"."""
    found = _first(fmt, ABOUT_CALLS)
    if fmt.proved.calls:
        said = _proved(fmt.proved.calls, count)
        return f": {said}, but: {found}" if found else f" will work: {said}."
    if fmt.derived.has_calls:
        return f": not verified: {found or (fmt.issues or (NOTHING_RENDERED,))[0]}"
    if found.startswith(NOT_RENDERED):
        said = found.removeprefix(NOT_RENDERED).replace("it ", "the template ", 1)
        return f": not rendered: {said}"
    if found:
        return f": not understood: {found}"
    if fmt.issues and not fmt.proved.content:
        return f": unknown: {fmt.issues[0]}"
    return ": none; the template renders no tool calls."


def _first(fmt: dp.WireFormat, words: re.Pattern[str]) -> str:
    """Return the first issue with one of the words before its first colon, or ""."""
    return next((one for one in fmt.issues if words.search(one.partition(":")[0])), "")


def _listed(words: Sequence[str]) -> str:
    """Join words as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _proved(settings: Sequence[str], count: int | None) -> str:
    """Return the evidence for a part: the number of conversations, or the settings."""
    if count is None:
        return f"verified with {'; '.join(settings)}"
    return f"verified on {count} conversation{'s' * (count != 1)}"


def evidence_lines(trace: Trace, fmt: dp.WireFormat) -> Iterator[str]:
    """Yield the first occurrence of each marker, with the marker between » and «."""
    for found in trace.evidence(fmt):
        before, after = (repr(text)[1:-1] for text in (found.before, found.after))
        yield f"{found.field:<27}{found.rendering.phase}: {found.rendering.label}"
        yield f"  ...{before}»{repr(found.text)[1:-1]}«{after}..."


def trace_lines(trace: Trace) -> Iterator[str]:
    """Yield each rendering of an analysis as a diff to the most similar one."""
    phase = ""
    for made in trace.comparisons():
        if made.rendering.phase != phase:
            phase = made.rendering.phase
            yield f"\n== {phase}"
        yield f"\n{made.rendering.label}"
        if made.rendering.text is None:
            yield "  the template rejects it"
        elif made.diff is None or made.base is None:
            yield f"  + {made.rendering.text!r}"
        elif not made.diff.left and not made.diff.right:
            yield f"  identical to {made.base.label}"
        else:
            yield f"  compared to {made.base.label}"
            yield f"  both begin  {_cut(made.diff.prefix, -1)}"
            yield from (f"  - {made.diff.left!r}",) * bool(made.diff.left)
            yield from (f"  + {made.diff.right!r}",) * bool(made.diff.right)
            yield f"  both end    {_cut(made.diff.suffix, 1)}"


def table(rows: Iterable[tuple[str, dp.WireFormat | str]]) -> Iterator[str]:
    """Yield a table with one line per format, then a legend of the modes.

    Args:
        rows: pairs of a name and a format, or an error message for a format that failed.
    """
    legend: dict[tuple[str, str], None] = {}
    yield f"{'template':<{NAME_WIDTH}}{'reasoning':<15}{'content':<16}{'tools':<17}{PROVED}verified"
    for name, fmt in rows:
        cut = name if len(name) < NAME_WIDTH else f"{name[: NAME_WIDTH - 4]}..."
        if isinstance(fmt, str):
            yield f"{cut:<{NAME_WIDTH}}{fmt}"
            continue
        tools = "CHANNELS" if fmt.derived.has_channels else str(fmt.tools.format)
        content = str(fmt.content.mode).replace("WRAPPED_WITH", "WITH")
        said = "yes" if fmt.verified else f"no: {fmt.issues[0] if fmt.issues else ''}"
        marks = [getattr(fmt.proved, part) for part in ("calls", "reasoning", "content")]
        proved = "".join(f"{'yes' if mark else '-':<8}" for mark in marks)
        yield f"{cut:<{NAME_WIDTH}}{fmt.reasoning.mode:<15}{content:<16}{tools:<17}{proved}{said}"
        modes = ("reasoning", fmt.reasoning.mode), ("content", fmt.content.mode)
        legend.update(dict.fromkeys([*modes, ("tools", fmt.tools.format)]))
    if legend:
        yield ""
    for group, mode in sorted(legend):
        yield f"{group + ' ' + mode:<32}{WORDS[group, mode]}"


def _cut(text: str, end: int) -> str:
    """Return the characters next to a difference: the last ones for -1, the first ones for 1."""
    if len(text) <= SHOWN_NEXT_TO:
        return repr(text)
    return f"...{text[-SHOWN_NEXT_TO:]!r}" if end < 0 else f"{text[:SHOWN_NEXT_TO]!r}..."


def _group(name: str, group: Any) -> Iterator[str]:
    """Yield the lines of one group of fields. An empty group has no lines."""
    if name == "code" and not group.function:
        return
    values = {part.name: getattr(group, part.name) for part in fields(group)}
    mode = next((str(values.pop(mode)) for mode in MODES if mode in values), "")
    shown = {field: value for field, value in values.items() if value and value != "NONE"}
    if mode:
        yield f"{name:<27}{WORDS.get((name, mode), mode)}"
    elif shown:
        yield name
    for field, value in shown.items():
        yield f"  {field:<25}{_shown(value)}".rstrip()


def _shown(value: Any) -> str:
    """Return a field's value as text, with markers quoted to make whitespace visible."""
    if value is True:
        return "yes"
    if isinstance(value, tuple):
        return ", ".join(map(repr, value))
    return str(value) if isinstance(value, dp.CallIdPosition) else repr(value)
