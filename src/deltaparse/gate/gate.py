"""`ToolGate`: both phases, and the telemetry of what they decide."""

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
    """Decides which calls of a model's output may be executed; in doubt, none.

    Args:
        tools: the allow-list: OpenAI tools, or their function objects. Each one's
            `parameters` is the JSON Schema that arguments must follow to the letter.
        fallbacks: which are tried: "json", "bracket". (): the primary format only.
        intents: what an output of a fallback must begin with. (): only `intent=True` opens them.
        max_snippet_bytes: the size of a candidate of a fallback.
        max_payload_bytes: the size of the arguments of a call in the primary format.
        max_calls: how many calls one output may make, in the primary format.
        on_telemetry: is called with each record; what it raises comes out of `validate`, and
            nothing is decided.

    A gate keeps nothing between outputs and may be shared. No output of a model makes it raise.

    Raises:
        UsageError: jsonschema is not installed; a schema is bad (the text names the tool and the
            place); an argument makes no sense.
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
            raise UsageError("on_telemetry is a function that takes a record, or None")
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
        # For pools of processes; schemas are compiled anew there.
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
        """Find what may be calls: phase one. Nothing in the result can be executed.

        Args:
            output: raw text, a `StreamParser` that read it and is finished, or its message.
            fmt: how the model writes, or the format's name: raw text is parsed with it, and only
                what the parser calls a call is a candidate. Without it, what stands in no
                quotation and no reasoning.
            intent: the model said elsewhere that it needs a tool; in an output of a fallback
                nothing else has to say it then.
            issues: of a parser, beside those that the parser or the message has itself.
            prompt: goes into the ids of candidates in raw text, so that two turns do not share
                them. With a format, the rendered prompt, as the parser takes it.
            finish_reason: the engine's, where text is parsed here. None, not known, counts as cut.
            stop_reason: what the engine stopped at, as `StreamParser.finish` takes it.

        Raises:
            UsageError: an argument of another type; a parser that is not finished or has no
                message; a format beside what is parsed already.
        """
        _check(prompt, str, "prompt is the rendered prompt as text")
        kinds = "text (bytes: decode them first), a StreamParser or a Message"
        _check(output, str | Message | StreamParser, f"a gate takes {kinds}")
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
            raise UsageError("fmt= is what raw text is parsed with; this is parsed already")
        if isinstance(output, StreamParser):
            if output.finish_reason is None:
                raise UsageError("the parser is not finished: call its finish() first")
            issues = [*output.issues, *issues]
            output = output.message
        return extract_message(
            output, self._extraction, issues=issues, intent=intent, prompt=prompt, parsed=parsed
        )

    def validate(self, candidates: Candidates) -> Decision:
        """Decide on all of the calls: phase two. They may be executed, or none and why not.

        The telemetry has been emitted when this returns.

        Raises:
            UsageError: for what `extract` did not return.
        """
        _check(candidates, Candidates, "validate() takes what extract() returned")
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
        """Extract and validate: both phases at once."""
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
        """Decide on one call as soon as it is whole, while the model still writes.

        It is held to the allow-list, to the schema, and to what its parser had to decide about it,
        as `decide` does. That all calls of an output pass, or none, does not hold then: a call that
        passed here may have been run when one behind it is refused, or when the output goes on
        behind its end. Where calls stand in no markers, text beside one may show that it is a
        mention: decide at the end of the turn there. Code fences and quotations around the call are
        not known yet, and `max_calls` is not applied.

        Args:
            call: a call of a parser's message whose last delta has come.
            issues: of its parser so far, beside those that the call has itself.

        Raises:
            UsageError: an argument of another type.
        """
        _check(call, ToolCall, "decide_call() takes a ToolCall")
        return self.validate(extract_call(call, issues))

    def report(
        self, decision: Decision, status: ResultStatus, *, call: ExecutableCall | None = None
    ) -> Telemetry:
        """Emit what became of running a call: "ok", "empty" or "error". Returns the record.

        `call` may be left out where there is one.

        Raises:
            UsageError: another status, or a call that is not one of the decision's.
        """
        if status not in get_args(ResultStatus):
            raise UsageError(f'status={status!r}: choose "ok", "empty" or "error"')
        if call is None and len(decision.calls) == 1:
            call = decision.calls[0]
        if call not in decision.calls:
            raise UsageError("report() is about one of decision.calls; name it with call=")
        record = decision.records[decision.calls.index(call)]
        record = replace(record, tool_result_status=status)
        emit(self._on_telemetry, [record], record)
        return record


def _check(value: object, kind: type | UnionType, rule: str) -> None:
    if not isinstance(value, kind):
        raise UsageError(f"{rule}, not {type(value).__name__}")


def _check_limit(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name}={value!r}: a whole number of at least 1")


def _intents(intents: Sequence[str]) -> tuple[str, ...]:
    if isinstance(intents, str) or not all(isinstance(intent, str) for intent in intents):
        raise UsageError('intents is a list of texts, such as ["CALL_TOOL"]')
    for intent in intents:
        if not intent or intent != intent.strip(SPACE) or intent == DENIAL:
            raise UsageError(f"{intent!r} is no marker of intent: a word without space around it")
    # The longest first: one may begin another.
    return tuple(sorted(intents, key=len, reverse=True))


def _fallbacks(fallbacks: Collection[str]) -> frozenset[str]:
    chosen = frozenset([fallbacks] if isinstance(fallbacks, str) else fallbacks)
    if not chosen <= set(FALLBACKS):
        raise UsageError(f'fallbacks={sorted(chosen)}: choose of "json" and "bracket", or ()')
    return chosen
