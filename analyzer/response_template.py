"""A response template held against what a chat template renders, by transformers' own parser.

The turns are those that prove the wire format: awkward texts, values of each type, several calls,
under each switch, behind the prompts that the template makes. What our parser reads of them is what
went into them; so where transformers reads the same, the response template is the inverse of the
chat template as far as a proof goes, and where it does not, it is said what it loses. transformers
is not needed for anything else, and where it is missing nothing was proved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from deltaparse.partial import FormatError
from deltaparse.stream import Message, WireFormat, parse

from .analysis import analyze
from .proof.conversations import PROOF_TOOLS
from .proof.proof import Shown
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
MISSING = object()


@dataclass(frozen=True, slots=True)
class ResponseTemplateCheck:
    """What came of holding a response template against what a chat template renders.

    response_template:  what was checked; None where none can be written.
    judge:    the parser that read the turns, "transformers 5.23.0"; "" where it is not installed:
              then nothing was proved.
    proved:   the turns that came back, by what is in them.
    lost:     what did not come back, in words.
    limits:   what the standard has no words for, which no response template would bring back.
    """

    response_template: Mapping[str, Any] | None
    judge: str = ""
    proved: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is a response template, and nothing was seen that it loses."""
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
        UsageError: it is neither a `ChatTemplate` nor a str, or does not read a switch.
    """
    trace = Trace()
    fmt = analyze(template, trace=trace, **switches)
    written = response_template is None
    if response_template is None:
        from deltaparse.stream import to_response_template  # and `regex`, which `analyze` needs not

        try:
            response_template = to_response_template(fmt)
        except FormatError as error:
            return ResponseTemplateCheck(None, limits=(str(error),))
    engine = judge()
    if engine is None:
        return ResponseTemplateCheck(response_template, lost=fmt.issues if written else ())
    read = engine.reader(deepcopy(dict(response_template)))
    if isinstance(read, str):
        return ResponseTemplateCheck(response_template, engine.name, lost=(read,))
    return _Trial(fmt, read).check(response_template, engine, trace.shown, fmt.issues)


class _Trial:
    """Collects what comes of the turns; each sentence is said once, with the first turn in it."""

    def __init__(self, fmt: WireFormat, read: Reader) -> None:
        self.fmt = fmt
        self.read = read
        self.lost: dict[str, str] = {}
        self.limits: dict[str, str] = {}
        self.proved: dict[str, None] = {}

    def check(
        self,
        response_template: Mapping[str, Any],
        engine: Judge,
        shown: Sequence[Shown],
        issues: tuple[str, ...],
    ) -> ResponseTemplateCheck:
        """Read all turns, a few of them in chunks and cut off too."""
        broken: set[str] = set()
        streamed: set[str] = set()
        for one in shown:
            label, wire = one.turn.label, one.wire
            ends = dict.fromkeys((wire.end.rstrip(), ""))
            found = [problem for end in ends for problem in self._whole(one, wire.text + end)]
            if not found and label not in streamed:
                streamed.add(label)
                found += self._in_chunks(one)
                self._cut_off(one)
            if found:
                broken.add(label)
            else:
                self.proved[label] = None
            for problem in found:
                self.lost.setdefault(problem, label)
        return ResponseTemplateCheck(
            response_template,
            engine.name,
            tuple(label for label in self.proved if label not in broken),
            tuple(f"{words} ({label})" for words, label in self.lost.items()) + issues,
            tuple(f"{words} ({label})" for words, label in self.limits.items()),
        )

    def _whole(self, one: Shown, text: str) -> Iterator[str]:
        tools = PROOF_TOOLS if one.tools else None
        ours = parse(text, self.fmt, prompt=one.wire.prompt, tools=tools, finish_reason="stop")
        theirs = self.read([text], one.wire.prompt, tools)
        if isinstance(theirs, str):
            yield theirs
            return
        yield from _differences(ours, theirs, ids=self.fmt.facts.writes_ids)

    def _in_chunks(self, one: Shown) -> Iterator[str]:
        tools = PROOF_TOOLS if one.tools else None
        text, prompt = one.wire.text + one.wire.end.rstrip(), one.wire.prompt
        chunks = [text[at : at + STREAMED] for at in range(0, len(text), STREAMED)]
        if self.read(chunks, prompt, tools) != self.read([text], prompt, tools):
            yield "in chunks, it is read differently"

    def _cut_off(self, one: Shown) -> None:
        """Note what is lost of a turn that is cut off in a text, or in a call."""
        wire, turn = one.wire, one.turn
        in_texts = [text for text in (wire.reasoning, wire.content) if text and not turn.calls]
        for said in in_texts:
            at = wire.text.find(said) + len(said) // 2
            for problem in self._cut_at(one, at):
                self.lost.setdefault(f"cut off in a text: {problem}", turn.label)
        for part in CUT if turn.calls else ():
            for problem in self._cut_at(one, int(len(wire.text) * part)):
                if not any(words.startswith(CUT_CALL) for words in self.limits):
                    self.limits[f"{CUT_CALL}: {problem}"] = turn.label

    def _cut_at(self, one: Shown, at: int) -> Iterator[str]:
        tools = PROOF_TOOLS if one.tools else None
        text, prompt = one.wire.text[:at], one.wire.prompt
        ours = parse(text, self.fmt, prompt=prompt, tools=tools, finish_reason="length")
        theirs = self.read([text], prompt, tools)
        if isinstance(theirs, str):
            yield theirs
        else:
            yield from _differences(ours, theirs, ids=False)


def _differences(ours: Message, theirs: Mapping[str, Any], *, ids: bool) -> Iterator[str]:
    """What of a message another parser has otherwise, in words."""
    reasoning = next(
        (theirs[key] for key in ("thinking", "reasoning_content", "reasoning") if key in theirs), ""
    )
    for what, mine, other in (
        ("reasoning", ours.reasoning_content, reasoning),
        ("content", ours.content, theirs.get("content") or ""),
    ):
        if not isinstance(other, str) or mine.strip() != other.strip():
            yield f"{what}: {_short(other)}, not {_short(mine)}"
    calls = theirs.get("tool_calls") or []
    found = [call.get("function", {}) if isinstance(call, Mapping) else {} for call in calls]
    names, expected = [one.get("name") for one in found], [one.name for one in ours.tool_calls]
    if names != expected:
        yield f"calls: of {_short(names)}, not of {_short(expected)}"
        return
    for call, made, whole in zip(ours.tool_calls, found, calls, strict=True):
        yield from _arguments(_value(call.arguments), made.get("arguments"))
        if ids and call.id != whole.get("id"):
            yield "ids of calls"


def _arguments(mine: Any, other: Any) -> Iterator[str]:
    if isinstance(other, str):
        yield "arguments: a text, not an object"
    elif not isinstance(mine, Mapping) or not isinstance(other, Mapping):
        if mine != other:
            yield f"arguments: {_short(other)}, not {_short(mine)}"
    else:
        for key in dict.fromkeys((*mine, *other)):
            value, read = mine.get(key, MISSING), other.get(key, MISSING)
            if value != read or type(value) is not type(read):
                yield f"arguments: {key} is {_short(read)}, not {_short(value)}"


def _value(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _short(value: object) -> str:
    if value is MISSING:
        return "missing"
    text = repr(value)
    half = LONGEST_QUOTE // 2
    return text if len(text) <= LONGEST_QUOTE else f"{text[:half]}...{text[-half:]}"
