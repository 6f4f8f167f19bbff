"""The proof of a format: render conversations that were no probes, parse the turns, compare."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Any

from deltaparse.stream import Message, StreamParser, ToolFormat, WireFormat

from ..cache import OUT_OF_TIME
from ..format_texts import confusing
from ..phases.reasoning import ReasoningFinding
from ..phases.switches import Setting
from ..probes import (
    FUNCTIONS,
    NEXT_USER,
    REASONING_KEYS,
    RESULT,
    TOOLS,
    USER,
    assistant,
    call,
    result,
    user,
)
from ..renderer import Renderer
from ..trace import phase
from ..turns import Turns
from .conversations import FEW, PROOF_TOOLS, SHORT, Turn, turns_in_doubt, turns_without
from .wires import Wire, answer_in, wires

__all__ = ["Proof", "prove", "verify"]

# A format is right if the parser reads with it what the model writes. There is no model here, but
# the template writes down what models have written: so a turn that is rendered and parsed must
# come back, to the character.
#
# It must not be a probe. The phases would have to be very wrong for those not to come back; formats
# fail on quotes, on a number among strings, on a second call, on no argument. So the turns are as
# awkward as turns may be (`conversations`), and the only words that they share with the probes are
# the names of the functions.
#
# It must not lie. What the template shows must come back, whether or not a phase has seen it:
# reasoning is given under every key that templates read, calls are given whether or not their
# form was found, and all of it under each switch that changes a turn or its prompt, behind the
# prompt that the template makes under that switch, with tools and without.
#
# It must not ask for more than a template can show, or right formats would fail:
#
# - A history is not what was written; `wires` says what was.
# - The last turn and one in the middle differ in some templates, and only one of them is as the
#   model writes it. It is enough if one comes back.
# - What would be a marker of the format itself is left out of texts: no parser could know better.
#
# Each turn is parsed with its end and without, as servers cut it off or do not. To go through it by
# the character takes many times as long, so only the first rendering of each turn does.

MAX_SECONDS = 2.0
"""Of processor time for the proof; that of real templates takes 0.1."""

TOO_LONG = f"{OUT_OF_TIME}: more than {MAX_SECONDS} s for the proof"
LONGEST_STREAM = 6_000
"""Characters of a turn that is parsed by the character; those of real templates have 2000."""

LONGEST_QUOTE = 160
"""Characters of a text that are shown when it did not come back."""

OTHERWISE = (
    "with {label}, calls are written in another way: analyze(template, {given}) finds out which"
)
FIRST_CALL = 6
"""The number of the first call, in ids that have one."""

MOST_SETTINGS = 6
"""Settings beside the first that are proved; real templates have four at most."""


@dataclass(slots=True)
class Proof:
    """What came back, and what did not.

    `labels` are those of the turns that did, under the settings the format was found in; `failed`
    say what is wrong with the others. The rest names for each part of a turn the settings under
    which it came back, and says in how many conversations.
    """

    labels: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    content: dict[str, int] = field(default_factory=dict)
    reasoning: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)

    def note(self, wire: Wire, setting: str) -> None:
        """Note what came back in a turn, under a setting."""
        for text, places in ((wire.content, self.content), (wire.reasoning, self.reasoning)):
            if text:
                places[setting] = places.get(setting, 0) + 1
        if wire.calls:
            self.calls[setting] = self.calls.get(setting, 0) + 1


def verify(
    turns: Turns, reasoning: ReasoningFinding, fmt: WireFormat
) -> tuple[list[str], list[str]]:
    """Parse with a format what the template renders under its first setting.

    Returns the labels of the turns that came back, and what is wrong with the others.
    """
    proof = prove(turns, reasoning, fmt, Setting(), [])
    return proof.labels, proof.failed


@phase("proof")
def prove(
    turns: Turns,
    reasoning: ReasoningFinding,
    fmt: WireFormat,
    chosen: Setting,
    others: Sequence[Setting],
    lost: Sequence[str] = (),
) -> Proof:
    """Parse with a format what the template renders, under the setting it was found in and others.

    The renderer of `turns` has that setting; `others` are rendered in its place. `lost` is what of
    arguments the template does not show.
    """
    proof, start = Proof(), thread_time()
    markers = confusing(fmt)
    awkward = [*turns_without(markers, lost), *([] if lost else turns_in_doubt(markers))]
    given = [_beside(turn, turns.render) for turn in awkward]
    few = [turn for turn in given if turn.label in FEW]
    base = turns.render.unswitched()
    # Other ids than those of the probes: a number in them is no part of a marker.
    base = base.styled(replace(base.style, first=FIRST_CALL))
    for at, setting in enumerate([chosen, *others[:MOST_SETTINGS]]):
        trial = _Trial(turns, base.under(setting.context), reasoning, fmt)
        for tools in (False, True):
            label = setting.label + ", tools" * tools
            for turn in given if at == 0 else few:
                if thread_time() - start > MAX_SECONDS:
                    proof.failed.append(TOO_LONG)
                    return proof
                if turn.calls and fmt.tools.format is ToolFormat.NONE:
                    continue  # an issue says that they were not understood
                if turn.reasoning and reasoning.issues and not fmt.facts.has_reasoning:
                    continue  # the same
                needed = bool(turn.calls) or turn.behind_result
                if needed is not tools and not (tools and turn.label in FEW):
                    continue
                if turn.behind_result and fmt.tools.format is ToolFormat.NONE:
                    continue
                wire, problem = trial.outcome(turn, tools=tools, thorough=at == 0 and turn.streamed)
                if problem:
                    where = "" if at == 0 else f" (with {setting.label})"
                    words = f"{turn.label} did not come back{where}: {problem}"
                    if turn.calls and at > 0 and "calls" in setting.changes:
                        words = OTHERWISE.format(
                            label=setting.label,
                            given=", ".join(f"{n}={v!r}" for n, v in setting.switches),
                        )
                    told = (words, f"{turn.label} did not")
                    if not any(text.startswith(told) for text in proof.failed):
                        proof.failed.append(words)
                elif wire is not None:
                    proof.note(wire, label)
                    shown = bool(wire.reasoning) or "reasoning" not in turn.label
                    if at == 0 and shown and turn.label not in proof.labels:
                        proof.labels.append(turn.label)
    broken = {text.partition(" did not come back")[0] for text in proof.failed}
    proof.labels = [label for label in proof.labels if label not in broken]
    return proof


@dataclass(frozen=True, slots=True)
class _Trial:
    """Turns rendered under one setting, and parsed."""

    turns: Turns
    render: Renderer
    reasoning: ReasoningFinding
    fmt: WireFormat

    def outcome(self, turn: Turn, *, tools: bool, thorough: bool) -> tuple[Wire | None, str]:
        """Render and parse a turn: a wire that came back, or what is wrong with the first."""
        first, at = "", 0
        for wire in dict.fromkeys(self._wires(turn, tools=tools)):
            problem = _difference(turn, wire, self.fmt, tools, streamed=thorough and at == 0)
            if not problem:
                return wire, ""
            first, at = first or problem, at + 1
        return None, first

    def _wires(self, turn: Turn, *, tools: bool) -> Iterator[Wire]:
        """The renderings of a turn, as the last of a conversation and before another."""
        given = TOOLS if tools else None
        if turn.without and self.fmt.content.requires_nonnull and self.render.style.content == "":
            return  # the template writes out that there is none, or refuses it
        results = [result(at % len(FUNCTIONS)) for at in range(len(turn.calls))]
        asked, behind = [user()], USER
        if turn.behind_result:
            asked, behind = [*asked, assistant("", calls=[call()]), result()], RESULT
        prompt = self.render(asked, tools=given, prompt=True)
        for then in ([], [*results, user(NEXT_USER)]):
            if turn.behind_result and then and turn.calls:
                continue  # its own results are told apart from that before it by nothing
            rendered = self.render([*asked, self._message(turn), *then], tools=given)
            if rendered is None or rendered.count(behind) != 1:
                continue
            parts = self.turns.frame.body_and_end(rendered, behind)
            if not parts:
                continue
            shown = sum(map(parts[0].count, FUNCTIONS))
            if shown or not turn.calls:
                answer = answer_in(rendered, behind)
                yield from wires(turn, *parts, answer, shown, prompt, self.fmt)

    def _message(self, turn: Turn) -> Mapping[str, Any]:
        """The turn as a message, with its reasoning under every key that templates read."""
        key = self.reasoning.key or REASONING_KEYS[0]
        said = assistant(turn.said, calls=turn.calls, reasoning=turn.reasoning, key=key)
        if turn.reasoning and "." not in key:
            said = {name: turn.reasoning for name in REASONING_KEYS if "." not in name} | said
        return said


def _beside(turn: Turn, render: Renderer) -> Turn:
    """The turn, with content where the template shows calls only beside some."""
    needs = turn.calls and not turn.content and render.style.content
    return replace(turn, content=SHORT) if needs else turn


def _difference(turn: Turn, wire: Wire, fmt: WireFormat, tools: bool, *, streamed: bool) -> str:
    """What is wrong with what comes back, "" if nothing; `streamed`: parse by characters too."""
    if turn.content and not turn.calls and not (wire.content or wire.reasoning):
        return f"the template does not show it: {_short(wire.text)}"
    given = PROOF_TOOLS if tools else None
    shown = (made["function"] for made in turn.calls[: wire.calls])
    expected = [
        (function["name"], _rendered(function["arguments"], wire, fmt)) for function in shown
    ]
    for end in dict.fromkeys(("", wire.end)):
        whole = _parse([wire.text + end], fmt, wire.prompt, given)
        if streamed and end == wire.end and len(wire.text) < LONGEST_STREAM:
            if _parse(list(wire.text + end), fmt, wire.prompt, given) != whole:
                return "whole and by characters, it is parsed differently"
        calls = [(made.name, _value(made.arguments)) for made in whole.tool_calls]
        compared: tuple[tuple[str, object, object], ...] = (
            ("reasoning", whole.reasoning_content, wire.reasoning),
            ("content", whole.content, wire.content),
            ("calls", calls, expected),
        )
        for what, got, want in compared:
            if not _alike(got, want, elements=bool(fmt.arguments.item)):
                return f"{what} {_short(got)}, not {_short(want)}, from {_short(wire.text + end)}"
    return ""


def _alike(got: object, want: object, *, elements: bool) -> bool:
    """Whether it came back, but for white space that the template has at the edges of a text.

    Values that are written as `elements` do not show all: there an empty text, an empty object and
    an empty list are alike, and null may be left out.
    """
    if isinstance(got, str) and isinstance(want, str):
        return got.strip() == want.strip()
    return _kept(got) == _kept(want) if elements else got == want


def _kept(value: object) -> object:
    if isinstance(value, Mapping):
        parts = {key: _kept(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part is not None} or ""
    if isinstance(value, list | tuple):
        return [_kept(part) for part in value] or ""
    return value


def _rendered(arguments: Mapping[str, Any], wire: Wire, fmt: WireFormat) -> dict[str, Any]:
    """The arguments as the template shows them: some trim strings that stand in no quotes."""
    plain = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED and not fmt.arguments.quoted_strings

    def shown(value: Any) -> Any:
        cut = plain and isinstance(value, str) and value not in wire.text
        return value.strip() if cut else value

    return {key: shown(value) for key, value in arguments.items()}


def _parse(
    texts: list[str], fmt: WireFormat, prompt: str, tools: list[dict[str, Any]] | None
) -> Message:
    parser = StreamParser(fmt, tools=tools, prompt=prompt)
    for text in texts:
        parser.feed(text)
    parser.finish("stop")
    return parser.message


def _value(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _short(value: object) -> str:
    text = repr(value)
    return (
        text
        if len(text) <= LONGEST_QUOTE
        else f"{text[: LONGEST_QUOTE // 2]}...{text[-LONGEST_QUOTE // 2 :]}"
    )
