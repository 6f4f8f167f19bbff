"""The proof under one setting of a template: render, parse and compare turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from deltaparse.stream import ToolFormat, WireFormat, iter_deltas, parse
from deltaparse.stream.wire.escapes import escapes_of
from deltaparse.stream.wire.tag_markers import tagged_markers

from ..abbreviate import quoted, value_of
from ..assistant_turns import Turns
from ..diff import after
from ..phases.find_reasoning import ReasoningFinding
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
from .conversations import AT_THE_END, BEFORE, FEW, SHORT, Turn, tools_for
from .expected_output import RenderedTurn, answer_in, wire_for
from .mismatch import calls_part, texts_part
from .proved_turn import Wire

__all__ = ["RoundTrip", "beside", "difference"]

USUAL_IDS = ("functions.f:0", "call_a-1")
"""Typical ids of servers and models, with all their punctuation."""

LONGEST_STREAM = 6_000
"""Most characters of a turn parsed by characters. Real templates render 2,000."""

LONGEST_QUOTE = 160
"""Most characters quoted from a text that is not parsed back."""


UNKNOWN = {"orphan_marker", "odd_member", "unused_member"}
"""Issues that indicate a gap in the format."""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Turns rendered under one setting, and parsed."""

    turns: Turns
    render: Renderer
    reasoning: ReasoningFinding
    fmt: WireFormat
    known: dict[Hashable, tuple[Wire | None, str]] = field(default_factory=dict)

    def trailer(self, *, tools: bool) -> str:
        """Return the additional text at the end of conversations under this setting."""
        given = TOOLS if tools else None
        plain, shown = (
            render([user()], tools=given) or "" for render in (self.turns.render, self.render)
        )
        plain, shown = plain.partition(USER)[2], shown.partition(USER)[2]
        return shown[len(plain) :] if shown.startswith(plain) else ""

    def is_asked(self, turn: Turn, *, tools: bool, first: bool) -> bool:
        """Return True if a turn is tested. The first setting has more turns."""
        no_calls = self.fmt.tools.format is ToolFormat.NONE
        if no_calls and (turn.calls or turn.after_result):
            return False  # already reported by an issue
        if turn.reasoning and self.reasoning.issues and not self.fmt.derived.has_reasoning:
            return False  # already reported
        needed = bool(turn.calls) or turn.after_result
        return needed is tools or (tools and turn.label in (FEW if first else AT_THE_END))

    def fault(self, turn: Turn) -> str:
        """Render and parse a turn with tools, and return the error, or "".

        One successful place in the conversation is sufficient.
        """
        wrong = ""
        for _, written in self._wires(turn, tools=True):
            came, problem = self._first(turn, written, tools=True, streamed=False)
            if came is not None:
                return ""
            wrong = wrong or problem
        return wrong

    def outcome(self, turn: Turn, *, tools: bool, thorough: bool) -> tuple[Wire | None, str]:
        """Render and parse a turn.

        Args:
            turn: the turn.
            tools: True to render it with tools.
            thorough: False tests some turns only at the end of the conversation.

        Returns:
            A correct wire or None, and the first error or "". In each place of the conversation,
            one wire must be correct.
        """
        came, wrong = None, ""
        places = 1 if tools and not thorough and turn.label in AT_THE_END else 2
        for key, written in islice(self._wires(turn, tools=tools), places):
            if key not in self.known:
                streamed = thorough and turn.streamed and came is None
                self.known[key] = self._first(turn, written, tools=tools, streamed=streamed)
            wire, problem = self.known[key]
            came, wrong = came or wire, wrong or problem
        return came, wrong

    def _first(
        self, turn: Turn, written: Iterator[Wire], *, tools: bool, streamed: bool
    ) -> tuple[Wire | None, str]:
        """Return the first correct wire, or the error of the first wire."""
        first = ""
        for wire in dict.fromkeys(written):
            problem = difference(turn, wire, self.fmt, tools, streamed=streamed and not first)
            problem = problem or self._other_ids(turn, wire)
            if not problem:
                unknown = (
                    wire.put_back and self.reasoning.issues
                )  # reasoning is not confirmed by the template
                return replace(wire, reasoning="") if unknown else wire, ""
            first = first or problem
        return None, first

    def _other_ids(self, turn: Turn, wire: Wire) -> str:
        """Return the error of ids written by the model, or ""."""
        if not (wire.calls and self.fmt.derived.writes_ids):
            return ""
        for usual, end in _ends_in_ids(self.fmt):
            return f"id {usual!r} contains the end marker {end!r}, from {_short(wire.text)}"
        message = next(self.render.settings.style.applied([assistant("", calls=turn.calls)]))
        ids = [made["id"] for made in message["tool_calls"]]
        options: Any = {"finish_reason": "stop", "tools": tools_for(turn), "prompt": wire.prompt}
        whole = parse(wire.text, self.fmt, **options)
        for made, wanted in zip(whole.tool_calls, ids, strict=False):
            if wanted in wire.text and made.id != wanted:
                return f"id {made.id!r}, not {wanted!r}, from {_short(wire.text)}"
        return ""

    def _wires(self, turn: Turn, *, tools: bool) -> Iterator[tuple[Hashable, Iterator[Wire]]]:
        """Yield the renderings of a turn, at the end of a conversation and within it.

        Each has a key of all its properties that matter to the parser.
        """
        given = TOOLS if tools else None
        no_text = self.render.settings.style.content == ""
        if turn.without and self.fmt.content.requires_nonnull and no_text:
            return  # the template renders or refuses missing content
        results = [result(at % len(FUNCTIONS)) for at in range(len(turn.calls))]
        asked, behind = [*(BEFORE if turn.later else ()), user()], USER
        if turn.after_result:
            asked, behind = [*asked, assistant("", calls=[call()]), result()], RESULT
        prompt = self.render(asked, tools=given, prompt=True)
        trailer = self.trailer(tools=tools)
        for then in ([], [*results, user(NEXT_USER)]):
            rendered = self.render([*asked, self._message(turn), *then], tools=given)
            if rendered is None or rendered.count(behind) != 1:
                continue  # the turn's own results are indistinguishable from the earlier one
            rendered = rendered if then else rendered.removesuffix(trailer)
            answer = answer_in(rendered, behind)
            parts = [*self.turns.frame.bodies_and_ends(rendered, behind)]
            if then and not parts and not turn.calls:
                # The end is unknown here, so it is all text up to the start of the next message.
                ends = self.fmt.channels.ends
                parts = [*self.turns.frame.before_the_next(rendered, behind, ends)]
            own = rendered if then or not prompt else rendered.removeprefix(prompt)
            begun = own != rendered and RESULT not in own  # not after calls with results
            own = own.removesuffix(self.turns.frame.trailer)
            tail = prompt and prompt.rpartition(behind)[2]
            key = turn.label, tools, tail, after(rendered, behind)
            yield (
                key,
                (
                    wire_for(
                        RenderedTurn(turn, body, end, answer, shown),
                        prompt,
                        self.fmt,
                        own.removesuffix(end) if begun else None,
                    )
                    for body, end in parts
                    if (shown := sum(map(body.count, FUNCTIONS))) or not turn.calls
                ),
            )

    def _message(self, turn: Turn) -> Mapping[str, Any]:
        """Return the turn as a message, with its reasoning under every known key."""
        key = self.reasoning.key or REASONING_KEYS[0]
        said = assistant(turn.said, calls=turn.calls, reasoning=turn.reasoning, key=key)
        if turn.reasoning and "." not in key:
            said = {name: turn.reasoning for name in REASONING_KEYS if "." not in name} | said
        return said


def beside(turn: Turn, render: Renderer) -> Turn:
    """Return the turn, with content if the template requires content with calls."""
    needs = turn.calls and not turn.content and render.settings.style.content
    return replace(turn, content=SHORT) if needs else turn


def difference(turn: Turn, wire: Wire, fmt: WireFormat, tools: bool, *, streamed: bool) -> str:
    """Return the first difference after parsing, or "".

    `streamed` is True to parse by characters, too.
    """
    if turn.content and not turn.calls and not (wire.content or wire.reasoning):
        return f"the template does not render it: {_short(wire.text)}"
    given = tools_for(turn) if tools else None
    options: Any = {"finish_reason": "stop", "tools": given, "prompt": wire.prompt}
    shown = (made["function"] for made in turn.calls[: wire.calls])
    expected = [
        (function["name"], _rendered(function["arguments"], wire, fmt)) for function in shown
    ]
    for end in dict.fromkeys(("", wire.end)):
        whole = parse(wire.text + end, fmt, **options)
        if streamed and end == wire.end and len(wire.text) < LONGEST_STREAM:
            deltas = iter_deltas(wire.text + end, fmt, **options)
            deque(deltas, 0)
            if deltas.parser.message != whole:
                return "parsing by characters gives a different message"
        calls = [(made.name, value_of(made.arguments)) for made in whole.tool_calls]
        for what, got, want in (
            ("reasoning", whole.reasoning_content, wire.reasoning),
            ("content", whole.content, wire.content),
        ):
            if parted := texts_part(got, want):
                return f"{what} {parted}, from {_short(wire.text + end)}"
        if parted := calls_part(calls, expected, elements=bool(fmt.arguments.item)):
            return f"{parted}, from {_short(wire.text + end)}"
        odd = {issue.kind for issue in whole.issues} & UNKNOWN
        if odd and not turn.in_doubt:
            return f"the parser reports {', '.join(sorted(odd))}, from {_short(wire.text + end)}"
    return ""


def _rendered(arguments: Mapping[str, Any], wire: Wire, fmt: WireFormat) -> dict[str, Any]:
    """Return the arguments as rendered by the template.

    Some templates omit null, and some trim unquoted strings.
    """
    plain = fmt.tools.format is ToolFormat.TAG_WITH_TAGGED and not fmt.arguments.quoted_strings
    escapes = escapes_of(fmt.arguments.value_escapes)

    def shown(value: Any) -> Any:
        cut = plain and isinstance(value, str) and escapes.write(value) not in wire.text
        return value.strip() if cut else value

    return {
        key: shown(value)
        for key, value in arguments.items()
        if value is not None or key in wire.text
    }


def _short(value: object) -> str:
    return quoted(value, LONGEST_QUOTE)


def _ends_in_ids(fmt: WireFormat) -> Iterator[tuple[str, str]]:
    """Yield typical ids with an id end marker in them, each with the marker."""
    if fmt.tools.format is not ToolFormat.JSON_NATIVE and not fmt.call_id.holds_name:
        ends = tagged_markers(fmt).id_ends.literals
        yield from ((usual, end) for usual in USUAL_IDS for end in ends if end in usual)
