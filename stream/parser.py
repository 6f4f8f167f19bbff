"""The push parser: text in, deltas out."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal

from deltaparse.partial import MalformedOutput, Source, TextDecoder, UsageError, is_whole

from .deltas import Delta
from .format import ReasoningMode, WireFormat
from .grammar import assistant_turn
from .lexicon import lexicon
from .message import Issue, Message
from .policies import Policies
from .tally import Seen
from .turn import Turn

__all__ = ["StreamParser"]

ToolChoice = Literal["auto", "none", "required"] | Mapping[str, Any]
FinishReason = Literal["stop", "tool_calls", "length"]


class StreamParser:
    """Parses one turn of a model, fed as it comes, in pieces of any size.

    Args:
        fmt: how the model writes, from `analyze` or by hand. Shared freely between parsers.
        tools: the OpenAI tools of the request. None: any name may be called; []: tool syntax is
            plain text.
        prompt: the rendered prompt, or any tail of it that holds the generation prompt: a
            reasoning section that it opens or closes, or the beginning of an answer that it
            holds, sets the state to start in. Nothing of it comes out. Without it, the format's
            own generation prompt is taken.
        tool_choice: "auto"; "none" (tool syntax is plain text); "required" or an OpenAI tool
            choice object that names a function (what does not comply is an issue).
        parallel_tool_calls: False: a second call is what `Policies.extra_calls` says.
        reasoning: "separate" (deltas of its own); "inline" (in the content, between `<think>`
            and `</think>` whatever the model writes); "raw" (in the content, as the model
            wrote it).
        policies: what to do where the output is odd.
        response_schema: the JSON Schema that the content was asked to follow. JSON at the start
            of the turn is then content, also where calls stand in no markers, and a Markdown
            code block round it is left out.

    Raises:
        UsageError: an argument that makes no sense.
    """

    __slots__ = (
        "_alert",
        "_decoder",
        "_failed",
        "_finish_reason",
        "_out",
        "_required",
        "_source",
        "_steps",
        "_tally",
        "_turn",
        "format",
    )

    def __init__(
        self,
        fmt: WireFormat,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prompt: str = "",
        tool_choice: ToolChoice = "auto",
        parallel_tool_calls: bool = True,
        reasoning: Literal["separate", "inline", "raw"] = "separate",
        policies: Policies = Policies(),  # noqa: B008 - frozen
        response_schema: Mapping[str, Any] | None = None,
    ) -> None:
        _check(fmt, prompt, reasoning)
        known = None if tools is None else dict(map(_tool, tools))
        only = _choice(tool_choice, known)
        self.format = fmt
        self._required = tool_choice not in ("auto", "none")
        lex = lexicon(fmt, calls=tool_choice != "none" and known != {})
        if response_schema is not None and lex.bare:
            lex = lexicon(fmt, calls=False)
        tail = _turn_so_far(fmt, prompt)
        source = self._source = Source(offset=-len(tail))
        unwraps = response_schema is not None and reasoning != "raw"
        self._turn = Turn(
            tools=known,
            only=only,
            parallel=parallel_tool_calls,
            policies=policies,
            reasoning_output=reasoning,
            seed=prompt,
            offset=(lambda: source.offset) if unwraps else None,
        )
        self._out = self._turn.out
        self._tally = self._turn.tally
        self._steps: Generator[None, None, None] = assistant_turn(source, self._turn, lex)
        self._decoder = TextDecoder()
        # While half a character waits, and after the end: no piece is taken as it is.
        self._alert = False
        self._failed = False
        self._finish_reason: FinishReason | None = None
        if tail:
            source.feed(tail)
            self._resume()
            self._turn.forget()

    def feed(self, text: str | bytes) -> list[Delta]:
        """Take the next piece of the output; return what it makes certain, often nothing.

        Bytes are UTF-8 that may be cut anywhere. What is not UTF-8 becomes U+FFFD, and so does
        half of a surrogate pair whose other half does not follow; `finish` makes it an issue.

        Raises:
            UsageError: after `finish`.
            MalformedOutput: where a policy says "error".
        """
        # Most pieces are text as they are: a call would cost more than all these questions.
        if type(text) is not str or self._alert or not (text.isascii() or is_whole(text)):
            text = self._decode(text)
        self._tally.pieces += 1
        source = self._source
        wake = source.wake
        # Most text holds nothing that the sleeping parser waits for; it costs no resume.
        if wake is not None and wake(text) is None:
            source.pass_by(text)
        elif text:
            source.feed(text)
            self._resume()
        out = self._out
        deltas = out[:]
        out.clear()
        return deltas

    def finish(self, reason: Literal["stop", "length"] | None = None) -> list[Delta]:
        """Say that the output has ended; return the last deltas. A second call returns [].

        `reason` is the engine's: "length" when the output was cut off, "stop" when the model
        ended it, None when that is not known: then the text decides.

        Raises:
            UsageError: for another reason.
            MalformedOutput: where a policy says "error".
        """
        if reason not in ("stop", "length", "tool_calls", None):
            message = f'finish({reason!r}): the reason is "stop", "length" or None'
            raise UsageError(message)
        if self._finish_reason is not None:
            return []
        turn = self._turn
        turn.natural = reason != "length"
        self._finish_reason = "stop" if turn.natural else "length"
        self._end_text()
        self._resume()
        turn.finish(required=self._required)
        if reason is None and any(issue.kind == "truncated_call" for issue in turn.issues):
            self._finish_reason = "length"
        elif turn.natural and turn.calls:
            self._finish_reason = "tool_calls"
        deltas = turn.out[:]
        turn.out.clear()
        return deltas

    @property
    def message(self) -> Message:
        """The message so far."""
        return self._turn.message()

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the turn ended: "tool_calls" if by itself and with calls; None before `finish`."""
        return self._finish_reason

    @property
    def issues(self) -> list[Issue]:
        """What had to be decided so far."""
        return list(self._turn.issues)

    @property
    def in_reasoning(self) -> bool:
        """Whether the text that was read last belongs to reasoning, which is still open."""
        return self._tally.section == "reasoning"

    @property
    def seen(self) -> Seen:
        """How much has come of content, of reasoning and of tool calls: characters and pieces."""
        return self._turn.seen()

    def where(self) -> str:
        """The state: the names of the sub-parsers that are waiting, outermost first."""
        names = []
        steps: Any = self._steps
        while steps is not None and getattr(steps, "gi_frame", None) is not None:
            names.append(steps.gi_code.co_name.strip("_"))
            steps = steps.gi_yieldfrom
        return " > ".join(names) or "end"

    def __repr__(self) -> str:
        return f"<StreamParser at {self._source.offset}: {self.where()}>"

    def _resume(self) -> None:
        """Let the sub-parsers read what there is.

        They cannot be resumed after an exception, so whatever happens, the text that follows
        passes as content: no output is lost, not even to a bug of ours.
        """
        source = self._source
        if not self._failed:
            try:
                next(self._steps, None)
            except MalformedOutput:
                self._failed = True
                raise
            except Exception as error:  # noqa: BLE001 - a bug must not lose output
                self._failed = True
                span = (source.offset, source.offset)
                self._turn.issue("internal_error", span, f"{error!r}; the rest is content")
        if self._failed:
            self._turn.end_call(complete=False)
            self._turn.content(source.take(len(source.text)))

    def _decode(self, piece: str | bytes) -> str:
        """The text that a piece adds; refuses pieces after the end."""
        if self._finish_reason is not None:
            message = "feed() after finish(): a parser reads one turn; make a new one for the next"
            raise UsageError(message)
        decoder = self._decoder
        decoder.given = self._source.end
        text = decoder.feed(piece)
        self._alert = decoder.waiting
        return text

    def _end_text(self) -> None:
        """Give the source the last of the decoder, close it, and tell what was replaced."""
        source, decoder = self._source, self._decoder
        self._alert = True
        decoder.given = source.end
        source.feed(decoder.finish())
        source.closed = True
        if decoder.first_replaced is not None and decoder.last_replaced is not None:
            count = decoder.replaced
            what = "1 piece was" if count == 1 else f"{count} pieces were"
            span = decoder.first_replaced, decoder.last_replaced + 1
            self._turn.issue("invalid_text", span, f"{what} not UTF-8 and became U+FFFD")


def _check(fmt: object, prompt: object, reasoning: object) -> None:
    if not isinstance(fmt, WireFormat):
        message = f"the format is a WireFormat, from analyze(template), not {type(fmt).__name__}"
        raise UsageError(message)
    if not isinstance(prompt, str):
        message = f"prompt is the rendered prompt as text, not {type(prompt).__name__}"
        raise UsageError(message)
    if reasoning not in ("separate", "inline", "raw"):
        message = f'reasoning={reasoning!r}: choose "separate", "inline" or "raw"'
        raise UsageError(message)


def _tool(tool: object) -> tuple[str, Any]:
    """The name and the schema of an OpenAI tool, or of a bare function description."""
    function = tool.get("function", tool) if isinstance(tool, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str):
        message = f'a tool is {{"type": "function", "function": {{"name": ...}}}}, not {tool!r}'
        raise UsageError(message)
    return name, function.get("parameters")


def _choice(tool_choice: object, names: Mapping[str, Any] | None) -> str | None:
    """The function that `tool_choice` names, if it names one."""
    if tool_choice in ("auto", "none", "required"):
        return None
    if not isinstance(tool_choice, Mapping):
        message = f'tool_choice={tool_choice!r}: "auto", "none", "required" or a tool choice object'
        raise UsageError(message)
    name, _ = _tool(tool_choice)
    if names is not None and name not in names:
        message = f"tool_choice names {name!r}, which is not one of the tools"
        raise UsageError(message)
    return name


def _turn_so_far(fmt: WireFormat, prompt: str) -> str:
    """What the prompt holds of the assistant's turn: what follows the last header.

    Where the format names no header, only an opened reasoning section can be told.
    """
    prompt = prompt or fmt.turn.generation_prompt
    ends = [prompt.rfind(header) + len(header) for header in fmt.turn.headers if header in prompt]
    if ends:
        return prompt[max(ends) :]
    start = fmt.reasoning.start.strip()
    if fmt.turn.headers or not start:
        return prompt if fmt.turn.headers else ""
    if prompt:
        return prompt[prompt.rfind(start) :] if start in prompt else ""
    return start if fmt.reasoning.mode is ReasoningMode.FORCED_OPEN else ""
