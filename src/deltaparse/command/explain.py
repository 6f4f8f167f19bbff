"""A wire format in words, for people.

For each group of fields what it says, then those that are not empty, the markers quoted, so that
white space is seen; a turn in this format, and its grammar; where the template shows the markers;
and whether it is proved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import deltaparse as dp

from .layout import ebnf, sample, sample_call

if TYPE_CHECKING:
    from deltaparse.analyzer import Trace

__all__ = ["explanation", "sample", "sample_call", "table", "trace_lines"]

# The words for a mode or family; what is not in here is shown by its own name.
WORDS = {
    ("reasoning", "NONE"): "none found",
    ("reasoning", "TAG_BASED"): "between two markers, both written by the model",
    ("reasoning", "DELIMITER"): "from the start of the turn up to a marker",
    ("reasoning", "FORCED_OPEN"): "opened by the prompt, ended by the model",
    ("reasoning", "FORCED_CLOSED"): "opened by the prompt, which closes it where thinking is off",
    ("reasoning", "TOOLS_ONLY"): "between two markers, only in turns with tool calls",
    ("content", "PLAIN"): "the text that is left",
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
"""The heads of the columns that say what was proved."""

SHOWN_BESIDE = 60
NOT_RENDERED = "the template does not render tool calls: "
NOTHING_RENDERED = "no template was rendered"
NO_REASONING_SHOWN = "no rendering shows it, its markers are those of prompts"
ABOUT_CALLS = re.compile(r"\b(?:calls?|value|strings|numbers|eos_token)\b")
ABOUT_REASONING = re.compile(r"\b(?:reasoning|opens)\b")
NOT_BACK = "did not come back"
CHANGED = {"instructions": "what the model is told", "prompt": "the prompt"} | {
    word: word for word in ("reasoning", "calls")
}
"""What a switch changes, in words."""

CAPITALS = "words in capitals stand for what the model says"
PROBES = "words like zqthiszq are those of the conversations that were rendered"


def explanation(fmt: dp.WireFormat, trace: Trace | None = None) -> str:
    """Say in several lines what a format is, how far it is proved, and what is not known.

    With the `trace` of its analysis, also where its markers were seen, and what came back.
    """
    lines = [*summary(fmt, trace), ""]
    lines += [line for name in GROUPS for line in _group(name, getattr(fmt, name))]
    lines += ["", f"A turn with all it can have, as the model writes it; {CAPITALS}:", ""]
    lines += [f"  | {line}".rstrip() for line in sample(fmt).strip("\n").split("\n")]
    lines += ["", "What the parser reads, in EBNF:", ""]
    lines += [f"  {line}" for line in ebnf(fmt).split("\n")]
    if trace is not None:
        lines += ["", f"Where the markers were seen first, between » and «; {PROBES}:", ""]
        lines += [f"  {line}" for line in evidence_lines(trace, fmt)]
        lines += ["", f"{len(trace.renderings)} renderings; parsed back, these came out the same:"]
        lines += [f"  - {label}" for label in trace.proved] or ["  none"]
    if fmt.verified:
        said = "Verified: conversations that the template rendered parse back the same"
        lines += ["", f"{said}." if fmt.proved.calls else f"{said}; it rendered no calls."]
    elif fmt.issues:
        lines += ["", "Not verified:", *(f"  - {issue}" for issue in fmt.issues)]
    else:
        lines += ["", "Not verified: no template was rendered."]
    return "\n".join(lines)


def summary(fmt: dp.WireFormat, trace: Trace | None = None) -> Iterator[str]:
    """Say in a sentence each whether calls and reasoning will work, and what the switches do."""
    counts = trace.conversations if trace is not None else {}
    yield f"Tool calls{_about_calls(fmt, counts.get('calls'))}"
    if fmt.suggested and not fmt.facts.has_calls:
        yield (
            f"What the template tells the model looks like the named format {fmt.suggested}: "
            "--accept reads calls so."
        )
    if fmt.proved.reasoning:
        said = _proved(fmt.proved.reasoning, counts.get("reasoning"))
        yield f"Reasoning will come apart from content: {said}."
    elif fmt.facts.has_reasoning:
        yield f"Reasoning: not proved: {_first(fmt, ABOUT_REASONING) or NO_REASONING_SHOWN}"
    elif (found := _first(fmt, ABOUT_REASONING)) and NOT_BACK not in found:
        yield f"Reasoning: not understood: {found}"
    if not fmt.proved.content:
        yield f"Content: not proved: {(fmt.issues or (NOTHING_RENDERED,))[0]}"
    for name, changes in fmt.switches.items():
        if changes:
            yield f"The switch {name} changes {_listed([CHANGED[word] for word in changes])}."


def _about_calls(fmt: dp.WireFormat, count: int | None) -> str:
    """Say whether calls will work, behind the words "Tool calls"."""
    found = _first(fmt, ABOUT_CALLS)
    if fmt.proved.calls:
        said = _proved(fmt.proved.calls, count)
        return f": {said}, but: {found}" if found else f" will work: {said}."
    if fmt.facts.has_calls:
        return f": not proved: {found or (fmt.issues or (NOTHING_RENDERED,))[0]}"
    if found.startswith(NOT_RENDERED):
        said = found.removeprefix(NOT_RENDERED).replace("it ", "the template ", 1)
        return f": not shown: {said}"
    if found:
        return f": not understood: {found}"
    if fmt.issues and not fmt.proved.content:
        return f": not known: {fmt.issues[0]}"
    return ": none, the template shows none."


def _first(fmt: dp.WireFormat, words: re.Pattern[str]) -> str:
    """The first issue that is about this, by what stands before its first colon; or ""."""
    return next((one for one in fmt.issues if words.search(one.partition(":")[0])), "")


def _listed(words: Sequence[str]) -> str:
    """Write several words as one: a, b and c."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _proved(settings: Sequence[str], count: int | None) -> str:
    """Say how it was proved."""
    if count is None:
        return f"proved with {'; '.join(settings)}"
    return f"proved on {count} conversation{'s' * (count != 1)}"


def evidence_lines(trace: Trace, fmt: dp.WireFormat) -> Iterator[str]:
    """Say for each marker where it was seen first, the marker in double angles."""
    for found in trace.evidence(fmt):
        before, after = (repr(text)[1:-1] for text in (found.before, found.after))
        yield f"{found.field:<27}{found.rendering.phase}: {found.rendering.label}"
        yield f"  ...{before}»{repr(found.text)[1:-1]}«{after}..."


def trace_lines(trace: Trace) -> Iterator[str]:
    """Show each rendering of an analysis, as the difference to the one most like it."""
    phase = ""
    for made in trace.comparisons():
        if made.rendering.phase != phase:
            phase = made.rendering.phase
            yield f"\n== {phase}"
        yield f"\n{made.rendering.label}"
        if made.rendering.text is None:
            yield "  the template refuses it"
        elif made.diff is None or made.base is None:
            yield f"  + {made.rendering.text!r}"
        elif not made.diff.left and not made.diff.right:
            yield f"  the same as {made.base.label}"
        else:
            yield f"  beside      {made.base.label}"
            yield f"  both begin  {_cut(made.diff.prefix, -1)}"
            yield from (f"  - {made.diff.left!r}",) * bool(made.diff.left)
            yield from (f"  + {made.diff.right!r}",) * bool(made.diff.right)
            yield f"  both end    {_cut(made.diff.suffix, 1)}"


def table(rows: Iterable[tuple[str, dp.WireFormat | str]]) -> Iterator[str]:
    """Show many formats, a line each; a text in the place of one says why there is none."""
    legend: dict[tuple[str, str], None] = {}
    yield f"{'template':<{NAME_WIDTH}}{'reasoning':<15}{'content':<16}{'tools':<17}{PROVED}verified"
    for name, fmt in rows:
        cut = name if len(name) < NAME_WIDTH else f"{name[: NAME_WIDTH - 4]}..."
        if isinstance(fmt, str):
            yield f"{cut:<{NAME_WIDTH}}{fmt}"
            continue
        tools = "CHANNELS" if fmt.facts.has_channels else str(fmt.tools.format)
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
    """Return the end of a text that a difference is beside: -1 its last characters, 1 its first."""
    if len(text) <= SHOWN_BESIDE:
        return repr(text)
    return f"...{text[-SHOWN_BESIDE:]!r}" if end < 0 else f"{text[:SHOWN_BESIDE]!r}..."


def _group(name: str, group: Any) -> Iterator[str]:
    """Yield the lines of one group of fields, none if it says nothing."""
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
    """Write a field's value; white space in a marker must be seen."""
    if value is True:
        return "yes"
    if isinstance(value, tuple):
        return ", ".join(map(repr, value))
    return str(value) if isinstance(value, dp.CallIdPosition) else repr(value)
