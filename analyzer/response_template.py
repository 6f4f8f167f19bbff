"""A response template held against what a chat template renders, by transformers' own parser.

The turns are those that prove the wire format: awkward texts, values of each type, several calls,
under each switch, behind the prompts that the template makes. What our parser reads of them is what
went into them; so where transformers reads the same, the response template is the inverse of the
chat template as far as a proof goes, and where it does not, it is said what it loses. transformers
is not needed for anything else, and where it is missing nothing was proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from deltaparse.partial import FormatError, UsageError
from deltaparse.stream import CallIdPosition, Message, WireFormat, parse
from deltaparse.stream.finish_reasons import Reason

from .analysis import analyze
from .proof.conversations import NAMED_AS_MARKERS, PROOF_TOOLS
from .proof.shown import Shown
from .quoting import quoted, value_of
from .template.chat_template import ChatTemplate
from .trace import Trace
from .transformers_parser import Judge, Reader, judge

__all__ = ["ResponseTemplateCheck", "check_response_template"]

STREAMED = 5
"""Characters of the chunks in which a few turns are read again."""

CUT = (0.35, 0.6, 0.85)
"""Where in a turn it is cut off, as parts of its length."""

CUT_CALL = "a call that is cut off"
LONGEST_QUOTE = 70
MISSING, IDS = object(), object()
REASONING = ("thinking", "reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True)
class ResponseTemplateCheck:
    """The result of `check_response_template`.

    response_template:  the response template that was checked; None if none can be written.
    judge:    the parser that read the turns, "transformers 5.23.0"; "" if it is not installed:
              then nothing was proved.
    proved:   the turns that came back, by what is in them.
    lost:     what did not come back, in words.
    limits:   what the standard cannot express, so that no response template brings it back.
    """

    response_template: Mapping[str, Any] | None
    judge: str = ""
    proved: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is a response template, and nothing was found that it loses."""
        return self.response_template is not None and not self.lost


def check_response_template(
    template: ChatTemplate | str | object,
    response_template: Mapping[str, Any] | None = None,
    **switches: Any,
) -> ResponseTemplateCheck:
    """Hold a response template against what a chat template renders.

    Args:
        template: what `analyze` takes.
        response_template: the one that a checkpoint has; without, the one that
            `to_response_template` writes.
        switches: what `analyze` takes.

    Raises:
        TemplateError: the text is no Jinja template.
        UsageError: it is neither a `ChatTemplate` nor a str, or does not read a switch; the
            response template is no mapping.
    """
    given: object = response_template
    if given is not None and not isinstance(given, Mapping):
        kind = type(given).__name__
        raise UsageError(f"a response template is a dict, as a tokenizer's has it, not {kind}")
    for name in ("accept_suggestion", "cache", "trace"):
        if name in switches:
            raise UsageError(f"{name} is an argument of analyze(), not a switch of the template")
    trace = Trace()
    fmt = analyze(template, trace=trace, **switches)
    if response_template is None:
        # It needs `regex`, which `analyze` needs not.
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
    """Collects what comes of the turns; each sentence is said once, with the first turn in it."""

    def __init__(self, fmt: WireFormat, read: Reader) -> None:
        self.fmt = fmt
        self.read = read
        self.lost: dict[str, str] = {}
        self.limits: dict[str, str] = {}
        self.proved: dict[str, None] = {}

    def check(
        self, response_template: Mapping[str, Any], engine: Judge, shown: Sequence[Shown]
    ) -> ResponseTemplateCheck:
        """Read all turns, each kind of them in chunks and cut off too."""
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
        """What is lost of a whole turn, without what no response template could bring back."""
        ours = self._ours(one, text, "stop")
        theirs = self.read([self._to_its_end(one, text)], one.wire.prompt, _tools(one))
        ids = self.fmt.facts.writes_ids
        for problem, value in _problems(ours, theirs, ids=ids):
            beyond = self._beyond(one, ours, value)
            if beyond:
                self.limits.setdefault(beyond, one.turn.label)
            else:
                yield problem

    def _beyond(self, one: Shown, ours: Message, value: object) -> str:
        """What the standard has no words for, where that is why a value did not come back."""
        marks = self.fmt.arguments
        if self.fmt.facts.turn_in(one.wire.prompt) is None:
            return "a prompt that does not show where the turn begins"
        if value is IDS and self.fmt.call_id.position is CallIdPosition.POST_ARGS:
            return "ids behind the arguments"
        if isinstance(value, Mapping | list) and (marks.python_literals or marks.item):
            return "objects and lists that are not JSON"
        if any(issue.kind == "repaired_arguments" for issue in ours.issues):
            return "arguments that are not quite JSON"
        if one.turn.in_doubt:
            return "a text that holds what is a marker elsewhere, as only its place tells"
        if one.turn.label == NAMED_AS_MARKERS:
            return "an argument that has the name of a marker"
        end = self.fmt.facts.reasoning_in(self.fmt.facts.turn_so_far(one.wire.prompt))[1].strip()
        if ours.reasoning_content and ours.tool_calls and end not in one.wire.text:
            return "a call that ends reasoning"
        return ""

    def _to_its_end(self, one: Shown, text: str) -> str:
        """A turn without what stands behind its end, where no more of it does."""
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
            yield "in chunks, it is read differently"

    def _cut_off(self, one: Shown) -> None:
        """Note what is lost of a turn that is cut off in a text, or in a call."""
        wire, turn = one.wire, one.turn
        for said in (wire.reasoning, wire.content) if not turn.calls else ():
            at = wire.text.find(said) + len(said) // 2
            for problem, _ in self._cut_at(one, at) if said else ():
                self.lost.setdefault(f"cut off in a text: {problem}", turn.label)
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
    """What of a message another parser has otherwise, in words, with the value where it is one."""
    if isinstance(theirs, str):
        yield f"the whole message: {theirs}", None
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
        yield f"calls: of {_short(names)}, where it was of {_short(expected)}", None
        return
    for call, made, whole in zip(ours.tool_calls, found, calls, strict=True):
        yield from _arguments(value_of(call.arguments), made.get("arguments"))
        if ids and call.id != whole.get("id"):
            yield "ids of calls", IDS


def _arguments(mine: Any, other: Any) -> Iterator[tuple[str, object]]:
    if isinstance(other, str):
        yield "arguments: a text, not an object", None
    elif not isinstance(mine, Mapping) or not isinstance(other, Mapping):
        if mine != other:
            yield f"arguments: {_read_as(other, mine)}", None
    else:
        for key in dict.fromkeys((*mine, *other)):
            value, read = mine.get(key, MISSING), other.get(key, MISSING)
            if value != read or type(value) is not type(read):
                yield f"argument {key}: {_read_as(read, value)}", value


def _read_as(other: object, mine: object) -> str:
    """What was read in the place of something."""
    return f"read as {_short(other)}, where it was {_short(mine)}"


def _short(value: object) -> str:
    return "nothing" if value is MISSING else quoted(value, LONGEST_QUOTE)
