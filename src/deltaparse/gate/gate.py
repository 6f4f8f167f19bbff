"""`ToolGate`: both phases of the gate, and the telemetry of its decisions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import UnionType
from typing import Any, get_args

from deltaparse.partial import UsageError
from deltaparse.stream import Issue, Message, StreamParser, ToolCall, WireFormat
from deltaparse.stream.finish_reasons import Reason, StopReason

from .candidates import ExtractionRules, extract_call, extract_message, extract_text
from .decision import Candidates, Decision, ExecutableCall
from .fallbacks import DENIAL
from .schemas import allow_list
from .strict_arguments import SPACE
from .telemetry import ResultStatus, Telemetry, TelemetrySink, emit
from .validation import ValidationRules, decide

__all__ = ["ToolGate"]

FALLBACKS = ("json", "bracket")
INTENTS = ("need_tool: yes", "CALL_TOOL")


class ToolGate:
    """Fail-closed check of a response's calls before execution.

    A gate has no state between responses, so it may be shared. No response raises an exception.

    Args:
        tools: the allow-list, as OpenAI tools or their function objects. The arguments of a call
            must be valid under the JSON Schema in `parameters`.
        fallbacks: the enabled fallbacks, "json" and "bracket", or () for none.
        intents: the markers of intent, with one of which a fallback's response must begin. With (),
            fallbacks require `intent=True`.
        max_snippet_bytes: the maximum size of a fallback's candidate.
        max_payload_bytes: the maximum size of a call's arguments in the primary format.
        max_calls: the maximum number of calls in a response, in the primary format.
        on_telemetry: a function called with each record. Its exceptions propagate from `validate`,
            without a decision.

    Raises:
        UsageError: jsonschema is not installed, an argument is invalid, or a schema is invalid (the
            message contains the tool and the place).
    """

    __slots__ = ("_extraction", "_on_telemetry", "_tools", "_validation")

    def __init__(
        self,
        tools: Sequence[Mapping[str, Any]],
        *,
        fallbacks: Collection[str] = FALLBACKS,
        intents: Sequence[str] = INTENTS,
        max_snippet_bytes: int = 2048,
        max_payload_bytes: int = 65536,
        max_calls: int = 16,
        on_telemetry: TelemetrySink | None = None,
    ) -> None:
        _check_limit("max_snippet_bytes", max_snippet_bytes)
        _check_limit("max_payload_bytes", max_payload_bytes)
        _check_limit("max_calls", max_calls)
        if on_telemetry is not None and not callable(on_telemetry):
            raise UsageError("on_telemetry must be a function of one record, or None")
        self._extraction = ExtractionRules(
            intents=_intents(intents),
            fallbacks=_fallbacks(fallbacks),
            snippet_bytes=max_snippet_bytes,
        )
        allowed = allow_list(tools)
        self._tools = [tool.description() for tool in allowed.values()]
        self._validation = ValidationRules(
            tools=allowed,
            snippet_bytes=max_snippet_bytes,
            payload_bytes=max_payload_bytes,
            max_calls=max_calls,
        )
        self._on_telemetry = on_telemetry

    def __reduce__(self) -> tuple[partial[ToolGate], tuple[list[dict[str, Any]]]]:
        # Supports process pools. Compiled schemas cannot be pickled, so they are compiled again.
        made = partial(
            ToolGate,
            fallbacks=self._extraction.fallbacks,
            intents=self._extraction.intents,
            max_snippet_bytes=self._extraction.snippet_bytes,
            max_payload_bytes=self._validation.payload_bytes,
            max_calls=self._validation.max_calls,
            on_telemetry=self._on_telemetry,
        )
        return made, (self._tools,)

    def extract(
        self,
        output: str | Message | StreamParser,
        fmt: WireFormat | str | None = None,
        *,
        intent: bool = False,
        issues: Iterable[Issue] = (),
        prompt: str = "",
        finish_reason: Reason = None,
        stop_reason: StopReason = None,
    ) -> Candidates:
        """Return the candidate calls of a response (phase one). Candidates cannot be executed.

        Args:
            output: raw text, a finished `StreamParser`, or a `Message`.
            fmt: a format or its name, to parse raw text. Only the parser's calls are candidates
                then. If omitted, tags outside of quotations and reasoning are candidates.
            intent: the model stated its intent elsewhere. Fallbacks then need no intent marker.
            issues: additional issues of a parser. Issues of `output` itself are always included.
            prompt: with a format, the rendered prompt for the parser. Otherwise part of the ids
                of candidates, so that two turns have different ids.
            finish_reason: the engine's finish reason, if `fmt` is given. None counts as truncated.
            stop_reason: the engine's stop string or token id, as in `StreamParser.finish`.

        Returns:
            The candidates, for `validate`.

        Raises:
            UsageError: an argument has the wrong type, the parser is not finished or has no
                message, or a format is given with a parsed output.
        """
        _check(prompt, str, "prompt must be the rendered prompt as str")
        kinds = "text (decode bytes first), a StreamParser or a Message"
        _check(output, str | Message | StreamParser, f"output must be {kinds}")
        intent = intent is True
        parsed = not isinstance(output, Message)
        if isinstance(output, str):
            if fmt is None:
                return extract_text(output, self._extraction, intent=intent, prompt=prompt)
            parser = StreamParser(fmt, tools=self._tools, prompt=prompt)
            parser.feed(output)
            parser.finish(finish_reason, stop_reason=stop_reason)
            output = parser
        elif fmt is not None:
            raise UsageError("fmt= is only for raw text, but this output is already parsed")
        if isinstance(output, StreamParser):
            if output.finish_reason is None:
                raise UsageError("the parser is not finished: call its finish() first")
            issues = [*output.issues, *issues]
            output = output.message
        return extract_message(
            output, self._extraction, issues=issues, intent=intent, prompt=prompt, parsed=parsed
        )

    def validate(self, candidates: Candidates) -> Decision:
        """Decide whether all calls may be executed (phase two). Telemetry is emitted first.

        Args:
            candidates: the result of `extract`.

        Returns:
            All calls, or the reason of the refusal.

        Raises:
            UsageError: the argument is not a result of `extract`.
        """
        _check(candidates, Candidates, "candidates must be a result of extract()")
        decision = decide(candidates, self._validation)
        emit(self._on_telemetry, decision.records, decision.telemetry)
        return decision

    def decide(
        self,
        output: str | Message | StreamParser,
        fmt: WireFormat | str | None = None,
        *,
        intent: bool = False,
        issues: Iterable[Issue] = (),
        prompt: str = "",
        finish_reason: Reason = None,
        stop_reason: StopReason = None,
    ) -> Decision:
        """Extract and validate in one step. See `extract` for the arguments."""
        candidates = self.extract(
            output,
            fmt,
            intent=intent,
            issues=issues,
            prompt=prompt,
            finish_reason=finish_reason,
            stop_reason=stop_reason,
        )
        return self.validate(candidates)

    def decide_call(self, call: ToolCall, *, issues: Iterable[Issue] = ()) -> Decision:
        """Decide on one complete call while the model is still writing.

        The allow-list, the schema and the issues of the call are checked, as in `decide`.

        Some checks need the complete response. All-or-nothing does not hold: the call may have run
        before a later call is refused, or before text follows the end of the turn. Code fences and
        quotations around the call are still unknown. `max_calls` is not applied. For formats
        without call markers, use `decide` at the end of the turn, because surrounding text may show
        that the call is a mention.

        Args:
            call: a call of a parser's message, after its last delta.
            issues: additional issues of the parser so far.

        Returns:
            A decision on this call only.

        Raises:
            UsageError: an argument has the wrong type.
        """
        _check(call, ToolCall, "call must be a ToolCall")
        return self.validate(extract_call(call, issues))

    def report(
        self, decision: Decision, status: ResultStatus, *, call: ExecutableCall | None = None
    ) -> Telemetry:
        """Emit the result of running a call as a telemetry record.

        Args:
            decision: the decision with the call.
            status: "ok", "empty" or "error".
            call: one of `decision.calls` (optional if the decision has only one).

        Returns:
            The emitted record.

        Raises:
            UsageError: the status is unknown, or the call is not one of `decision.calls`.
        """
        if status not in get_args(ResultStatus):
            raise UsageError(f'status must be "ok", "empty" or "error", not {status!r}')
        if call is None and len(decision.calls) == 1:
            call = decision.calls[0]
        if call not in decision.calls:
            raise UsageError("call= must be one of decision.calls")
        record = decision.records[decision.calls.index(call)]
        record = replace(record, tool_result_status=status)
        emit(self._on_telemetry, [record], record)
        return record


def _check(value: object, kind: type | UnionType, rule: str) -> None:
    if not isinstance(value, kind):
        raise UsageError(f"{rule}, not {type(value).__name__}")


def _check_limit(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} must be an integer of at least 1, not {value!r}")


def _intents(intents: Sequence[str]) -> tuple[str, ...]:
    if isinstance(intents, str) or not all(isinstance(intent, str) for intent in intents):
        raise UsageError('intents must be a list of strings, e.g. ["CALL_TOOL"]')
    for intent in intents:
        if not intent or intent != intent.strip(SPACE) or intent == DENIAL:
            raise UsageError(f"an intent must have no whitespace around it, not {intent!r}")
    # The longest first, because one marker may be the prefix of another.
    return tuple(sorted(intents, key=len, reverse=True))


def _fallbacks(fallbacks: Collection[str]) -> frozenset[str]:
    chosen = frozenset([fallbacks] if isinstance(fallbacks, str) else fallbacks)
    if not chosen <= set(FALLBACKS):
        raise UsageError(f'fallbacks must be "json", "bracket", both or (), not {sorted(chosen)}')
    return chosen
