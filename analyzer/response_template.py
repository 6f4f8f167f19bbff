"""Check of a response template against the renderings of a chat template.

The parser of transformers reads the turns that prove the wire format. They have awkward texts,
values of each type and several calls, under each switch, after the prompts of the template. Our
parser reads from each turn exactly the rendered message. If transformers reads the same message,
the response template inverts the chat template for this turn. Otherwise the difference is reported.
If transformers is not installed, no turn is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from deltaparse.partial import FormatError, UsageError
from deltaparse.stream import CallIdPosition, Message, WireFormat, parse
from deltaparse.stream.finish_reasons import Reason

from .abbreviate import quoted, value_of
from .analysis import analyze
from .proof.conversations import NAMED_AS_MARKERS, PROOF_TOOLS
from .proof.proved_turn import Shown
from .template.jinja_template import JinjaTemplate
from .trace import Trace
from .transformers_parser import Judge, Reader, judge

__all__ = ["ResponseTemplateCheck", "check_response_template"]

STREAMED = 5
"""Chunk size in characters for the turns that are also read in chunks."""

CUT = (0.35, 0.6, 0.85)
"""Positions at which turns are truncated, as fractions of their length."""

CUT_CALL = "a truncated call"
LONGEST_QUOTE = 70
MISSING, IDS = object(), object()
REASONING = ("thinking", "reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True)
class ResponseTemplateCheck:
    """The result of `check_response_template`.

    Attributes:
        response_template: the checked response template, or None if the format has none.
        judge: the parser that read the turns, for example "transformers 5.23.0". "" if it is not
            installed, in which case no turn was checked.
        proved: labels of the turns that were parsed correctly.
        lost: descriptions of the differences.
        limits: losses of any response template, because the standard cannot express these parts.
    """

    response_template: Mapping[str, Any] | None
    judge: str = ""
    proved: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Return True if there is a response template and no loss was found."""
        return self.response_template is not None and not self.lost


def check_response_template(
    template: JinjaTemplate | str | object,
    response_template: Mapping[str, Any] | None = None,
    **switches: Any,
) -> ResponseTemplateCheck:
    """Check that a response template parses everything a chat template renders.

    The turns are parsed with transformers, if it is installed.

    Args:
        template: a template, as for `analyze`.
        response_template: the response template of a checkpoint. Default: the result of
            `to_response_template`.
        switches: values for template switches, as for `analyze`.

    Returns:
        The checked response template with its proved turns, losses and limits.

    Raises:
        TemplateError: the template is not valid Jinja.
        UsageError: `template` has the wrong type or does not read one of the switches, or
            `response_template` is not a mapping.
    """
    given: object = response_template
    if given is not None and not isinstance(given, Mapping):
        kind = type(given).__name__
        raise UsageError(f"response_template must be a dict, as in a tokenizer, not {kind}")
    for name in ("accept_suggestion", "cache", "trace"):
        if name in switches:
            raise UsageError(f"{name} is an argument of analyze(), not a switch of the template")
    trace = Trace()
    fmt = analyze(template, trace=trace, **switches)
    if response_template is None:
        # Imported lazily, because it needs `regex` and `analyze` does not.
        from deltaparse.stream import response_template_limits, to_response_template

        try:
            response_template = to_response_template(fmt)
        except FormatError as error:
            return ResponseTemplateCheck(None, limits=(str(error),))
        issues, limits = fmt.issues, response_template_limits(fmt)
    else:
        issues, limits = (), ()
    engine = judge()
    if engine is None:
        return ResponseTemplateCheck(response_template, lost=issues, limits=limits)
    read = engine.reader(deepcopy(dict(response_template)))
    if isinstance(read, str):
        return ResponseTemplateCheck(response_template, engine.name, lost=(f"everything: {read}",))
    found = _Trial(fmt, read).check(response_template, engine, trace.shown)
    shown = (words for words in found.limits if not words.startswith(limits))
    return replace(found, lost=found.lost + issues, limits=(*limits, *shown))


class _Trial:
    """Results of reading the turns. Each problem is reported once, with its first turn."""

    def __init__(self, fmt: WireFormat, read: Reader) -> None:
        self.fmt = fmt
        self.read = read
        self.lost: dict[str, str] = {}
        self.limits: dict[str, str] = {}
        self.proved: dict[str, None] = {}

    def check(
        self, response_template: Mapping[str, Any], engine: Judge, shown: Sequence[Shown]
    ) -> ResponseTemplateCheck:
        """Read all turns. One turn of each kind is also read in chunks and truncated."""
        broken: set[str] = set()
        for one in shown:
            label = one.turn.label
            ends = dict.fromkeys((one.wire.end.rstrip(), ""))
            found = [problem for end in ends for problem in self._whole(one, one.wire.text + end)]
            if not found and label not in self.proved:
                found += self._in_chunks(one)
                self._cut_off(one)
            if found:
                broken.add(label)
            elif one.wire.reasoning or "reasoning" not in label:
                self.proved[label] = None
            for problem in found:
                self.lost.setdefault(problem, label)
        return ResponseTemplateCheck(
            response_template,
            engine.name,
            tuple(label for label in self.proved if label not in broken),
            tuple(f"{words} ({label})" for words, label in self.lost.items()),
            tuple(f"{words} ({label})" for words, label in self.limits.items()),
        )

    def _whole(self, one: Shown, text: str) -> Iterator[str]:
        """Yield the losses of a complete turn, except for limits of the standard."""
        ours = self._ours(one, text, "stop")
        theirs = self.read([self._to_its_end(one, text)], one.wire.prompt, _tools(one))
        ids = self.fmt.derived.writes_ids
        for problem, value in _problems(ours, theirs, ids=ids):
            beyond = self._beyond(one, ours, value)
            if beyond:
                self.limits.setdefault(beyond, one.turn.label)
            else:
                yield problem

    def _beyond(self, one: Shown, ours: Message, value: object) -> str:
        """Return the limit of the standard that caused a loss, or ""."""
        marks = self.fmt.arguments
        if self.fmt.derived.turn_in(one.wire.prompt) is None:
            return "a prompt that does not show where the turn begins"
        if value is IDS and self.fmt.call_id.position is CallIdPosition.POST_ARGS:
            return "ids after the arguments"
        if isinstance(value, Mapping | list) and (marks.python_literals or marks.item):
            return "objects and lists that are not JSON"
        if any(issue.kind == "repaired_arguments" for issue in ours.issues):
            return "arguments that are not quite JSON"
        if one.turn.in_doubt:
            return "a text that contains a marker, which only its position shows to be text"
        if one.turn.label == NAMED_AS_MARKERS:
            return "an argument that has the name of a marker"
        end = self.fmt.derived.reasoning_in(self.fmt.derived.turn_so_far(one.wire.prompt))[
            1
        ].strip()
        if ours.reasoning_content and ours.tool_calls and end not in one.wire.text:
            return "a call that ends reasoning"
        return ""

    def _to_its_end(self, one: Shown, text: str) -> str:
        """Return a turn up to its first end marker, if the remaining text is not part of it."""
        ends = [at for end in self.fmt.turn.ends if (at := text.find(end.strip())) >= 0]
        if not ends or self.fmt.turn.several_messages:
            return text
        cut = text[: min(ends)]
        same = self._ours(one, cut, "stop") == self._ours(one, text, "stop")
        return cut if same and len(text) - len(cut) > len(one.wire.end) else text

    def _ours(self, one: Shown, text: str, reason: Reason) -> Message:
        tools, prompt = _tools(one), one.wire.prompt
        return parse(text, self.fmt, finish_reason=reason, tools=tools, prompt=prompt)

    def _in_chunks(self, one: Shown) -> Iterator[str]:
        text = self._to_its_end(one, one.wire.text + one.wire.end.rstrip())
        chunks = [text[at : at + STREAMED] for at in range(0, len(text), STREAMED)]
        whole = self.read([text], one.wire.prompt, _tools(one))
        if self.read(chunks, one.wire.prompt, _tools(one)) != whole:
            yield "the result in chunks differs from the result at once"

    def _cut_off(self, one: Shown) -> None:
        """Record the losses of a turn truncated in a text or in a call."""
        wire, turn = one.wire, one.turn
        for said in (wire.reasoning, wire.content) if not turn.calls else ():
            at = wire.text.find(said) + len(said) // 2
            for problem, _ in self._cut_at(one, at) if said else ():
                self.lost.setdefault(f"truncated in a text: {problem}", turn.label)
        for part in CUT if turn.calls else ():
            for problem, _ in self._cut_at(one, int(len(wire.text) * part)):
                if not any(words.startswith(CUT_CALL) for words in self.limits):
                    self.limits[f"{CUT_CALL}: {problem}"] = turn.label

    def _cut_at(self, one: Shown, at: int) -> Iterator[tuple[str, object]]:
        text = one.wire.text[:at]
        ours = self._ours(one, text, "length")
        theirs = self.read([text], one.wire.prompt, _tools(one))
        return _problems(ours, theirs, ids=False)


def _tools(one: Shown) -> list[dict[str, Any]] | None:
    return PROOF_TOOLS if one.tools else None


def _problems(
    ours: Message, theirs: Mapping[str, Any] | str, *, ids: bool
) -> Iterator[tuple[str, object]]:
    """Yield the differences between two parsed messages, each with our value for an argument."""
    if isinstance(theirs, str):
        yield f"the complete message: {theirs}", None
        return
    reasoning = next((theirs[key] for key in REASONING if key in theirs), "")
    for what, mine, other in (
        ("reasoning", ours.reasoning_content, reasoning),
        ("content", ours.content, theirs.get("content") or ""),
    ):
        if not isinstance(other, str) or mine.strip() != other.strip():
            yield f"{what}: {_read_as(other, mine)}", None
    calls = theirs.get("tool_calls") or []
    found = [call.get("function", {}) if isinstance(call, Mapping) else {} for call in calls]
    names, expected = [one.get("name") for one in found], [one.name for one in ours.tool_calls]
    if names != expected:
        yield f"calls: read as {_short(names)} instead of {_short(expected)}", None
        return
    for call, made, whole in zip(ours.tool_calls, found, calls, strict=True):
        yield from _arguments(value_of(call.arguments), made.get("arguments"))
        if ids and call.id != whole.get("id"):
            yield "ids of calls", IDS


def _arguments(mine: Any, other: Any) -> Iterator[tuple[str, object]]:
    if isinstance(other, str):
        yield "arguments: read as a string, not an object", None
    elif not isinstance(mine, Mapping) or not isinstance(other, Mapping):
        if mine != other:
            yield f"arguments: {_read_as(other, mine)}", None
    else:
        for key in dict.fromkeys((*mine, *other)):
            value, read = mine.get(key, MISSING), other.get(key, MISSING)
            if value != read or type(value) is not type(read):
                yield f"argument {key}: {_read_as(read, value)}", value


def _read_as(other: object, mine: object) -> str:
    """Describe the difference between the actual and the expected value."""
    return f"read as {_short(other)} instead of {_short(mine)}"


def _short(value: object) -> str:
    return "missing" if value is MISSING else quoted(value, LONGEST_QUOTE)
