"""The push parser of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn

from deltaparse.partial import UsageError, Window, replace_surrogates

from .fast_path import MOST_PASSED, Feeder
from .finish_reasons import FinishReason, Reason, StopReason, how_it_ended, reason_text, stop_text
from .message.counts import Counts
from .message.deltas import Delta
from .message.ids import IdFactory, PromptIds, ReplayedIds, call_id, check_id_factory
from .message.message import Attempt, Issue, Message
from .message.policies import Policies
from .message.policy_sink import Builds, Sink
from .message.surrounding_text import SurroundingText
from .missing_marker import called_without_marker
from .reading.channels import channel_turn
from .reading.reading import Reading
from .reading.sections import sections
from .request import (
    Request,
    ToolChoice,
    after_reasoning,
    check_flag,
    check_prompt,
    request_for,
)
from .snapshot import Recording
from .wire.format import WireFormat
from .wire.format_source import as_format
from .wire.spellings import swallowed

__all__ = ["FinishReason", "StreamParser", "TurnParser"]


class TurnParser(Feeder):
    """The common base of all parsers of a turn, for text and for tokens.

    Args:
        request: the options of the parser.
        prompt: the prompt, as the sub-parsers read it.
        id_factory: makes the ids of calls.
        record: True to record the chunks for `fork` and `snapshot`.
        decoded: the prompt as text if it differs from `prompt`. Call ids depend on this text.
        asked: the original request, for the record, if it differs from `request`. The record then
            has no prompt.
        builds: makes the builder of the message, if it is not the default one.
    """

    # Slots, because a server makes one parser for each request.
    __slots__ = ("_finish_reason", "_request", "format")

    def __init__(
        self,
        request: Request,
        prompt: str,
        id_factory: IdFactory,
        record: bool,
        *,
        decoded: str | None = None,
        asked: Request | None = None,
        builds: Builds | None = None,
    ) -> None:
        # Tested in line, because a call for each argument would cost more than the checks.
        if type(prompt) is not str:
            check_prompt(prompt)
        if record is not False:
            check_flag("record", record)
        if id_factory is not call_id:
            check_id_factory(id_factory)
        kept: Recording | None = None
        if record:
            # A replay must give each call its old id, and a fork continues with the same ids.
            ids = id_factory if isinstance(id_factory, ReplayedIds) else ReplayedIds(id_factory, [])
            # A `TokenParser` records its prompt itself, as text or as ids.
            kept = Recording(asked or request, "" if asked else prompt, ids)
            id_factory = ids
        fmt = request.fmt
        tail, shown = fmt.derived.turn_shown(prompt)
        # Offsets of the prompt are negative, so that the response starts at 0.
        window = Window("", -len(tail))
        # Only a removed code block needs the offset, and a lambda costs time.
        offset = (lambda: window.offset) if request.unwraps else None
        sink = Sink(request.rules, offset, builds)
        # Only calls that look like text must be compared with the text around them.
        if request.tables.like_text and request.collect:
            sink.surrounding = SurroundingText()
        # A turn in channels has messages instead of sections.
        read = channel_turn if request.tables.derived.has_channels else sections
        steps = read(Reading(window, sink, request.tables))
        # Called without `super()`, which would cost as much as the whole call.
        Feeder.__init__(self, window, sink, steps, kept)
        self.format = fmt
        self._request = request
        self._finish_reason: FinishReason | None = None
        sink.reads(window)
        if tail:
            # Half a character cannot be encoded, so it is replaced. In the prompt of a TokenParser
            # each surrogate represents a special token (`token_format.py`).
            window.feed(replace_surrogates(tail) if decoded is None else tail)
            self._resume()
        # Set after the prompt was read, because the id of a call in the prompt is not made here.
        sink.ids = PromptIds(id_factory, prompt if decoded is None else decoded)
        if tail:
            # The prompt sets the state, and only a call that it left open is emitted.
            sink.drop_prompt()
        if not shown:
            request.report_prompt(sink)

    def finish(self, reason: Reason = None, *, stop_reason: StopReason = None) -> list[Delta]:
        """End the turn, and return the last deltas. A second call returns [].

        A call is complete if its arguments are complete, whatever the reason. Engines leave out the
        string at which they stop. So after a natural end the last closer, or a part of it, may be
        missing. If an argument may be missing with the closer, the issue `missing_closer` is
        reported. Without a `reason`, the closer must be present.

        Args:
            reason: the engine's finish reason, None if it is unknown. "stop", "eos_token",
                "end_turn" and others mean that the model ended the turn. "length", "max_tokens",
                "abort" and others mean that the turn was truncated. `stream/finish_reasons.py`
                lists them all. An unknown reason counts as truncated, and is reported as an issue.
            stop_reason: the stop string at which the engine stopped, if it reports one, or the id
                of the token (for a `TokenParser`). If the string contains the closer of a call, the
                closer counts as present. Default: the `matched` of SGLang's object.

        Returns:
            The deltas that became certain.

        Raises:
            UsageError: `reason` is not a string, or `stop_reason` is neither a string nor an id.
            MalformedOutput: a policy is "error".
        """
        # Read before anything else, so that an invalid argument leaves the parser unchanged.
        text, stop = reason_text(reason), stop_text(stop_reason, reason)
        # Not an error, so that callers may also finish in their error handlers.
        if self._finish_reason is not None:
            return self._emitted()
        self._refuse_reentry()
        if self._record is not None:
            self._record.reasons.append((text, stop))
        sink = self._sink
        # Set before the last text is read, because the readers check for missing closers.
        sink.stop = self._as_read(stop)
        ended = how_it_ended(text)
        sink.natural = ended == "natural"
        # None means that the caller does not know the reason, so it is not a truncation.
        cut = sink.cut = text is not None and not sink.natural
        try:
            self._end_text()
            # Text that the sub-parsers leave at the end must not be lost.
            sink.content(self._resume() or "")
            # In a truncated turn, the required call may have been in the missing text.
            sink.finish(required=self._request.required and not cut)
            if cut and ended == "unknown":
                detail = f"unknown finish reason {text!r}; the turn counts as truncated"
                sink.issue("unknown_finish", (self._window.offset, self._window.offset), detail)
            self._report_unclosed()
            self._report_lost_marker()
        finally:
            # Set even if a policy raised, because the turn has ended all the same.
            self._finish_reason = self._reason(text, cut=cut)
        return self._emitted()

    def _as_read(self, stop: StopReason) -> str:
        """Return the stop string as the sub-parsers would read it, "" if it is unknown."""
        return stop if isinstance(stop, str) else ""

    def _reason(self, text: str | None, *, cut: bool) -> FinishReason:
        """Return the finish reason of the turn, given that of the engine."""
        sink = self._sink
        # Without an engine's reason, only the text itself shows that it was truncated.
        unended = sink.has_issue("truncated_call") or (
            text is None and sink.has_issue("cut_marker")
        )
        if cut or unended:
            return "length"
        return "tool_calls" if sink.calls else "stop"

    def _report_unclosed(self) -> None:
        """Report a missing closer of the last call if its arguments are complete."""
        sink = self._sink
        if sink.natural and sink.unclosed is not None:
            name, end, closers = sink.unclosed
            # An engine removes the stop string, so a closer in it is not missing.
            if not swallowed(sink.stop, "", closers):
                detail = f"the closing marker of the call of {name!r} is missing"
                sink.issue("cut_marker", (end, end), detail)

    def _report_lost_marker(self) -> None:
        """Report content that starts like a call of a tool if the turn has no calls."""
        sink, request = self._sink, self._request
        # If any call was begun, the decoder has kept the markers.
        if sink.attempted or not sink.tools or not request.has_calls:
            return
        # JSON calls have no opening marker that could be lost.
        if request.calls == "json":
            return
        # Not `self.message`, which is not available with `collect=False`.
        content = Message(sink.builder.so_far()).content
        # Schemas are left out, because only the names are checked here.
        tools = [{"name": name} for name in sink.tools]

        def read(fmt: WireFormat, text: str) -> Message:
            # The content follows the reasoning, which this parser has already removed.
            fmt, prompt = after_reasoning(fmt)
            parser = StreamParser(fmt, tools=tools, prompt=prompt)
            parser.feed(text)
            return parser.message

        if name := called_without_marker(self.format, sink.tools, content, read):
            detail = (
                f"content starts like a call of {name!r} without its marker; decode with "
                "skip_special_tokens=False, or feed token ids to a TokenParser"
            )
            sink.issue("lost_marker", (0, self._window.end), detail)

    @property
    def message(self) -> Message:
        """The message so far.

        Raises:
            UsageError: the parser was made with `collect=False`.
        """
        # Bypassing chunks are missing in the message until they are settled.
        self._settle()
        return self._sink.message()

    @property
    def finish_reason(self) -> FinishReason | None:
        """The finish reason: "stop", "tool_calls", "length", or None before `finish`.

        "tool_calls" is a natural end of a turn with calls. "length" is a truncated turn.
        """
        return self._finish_reason

    @property
    def issues(self) -> list[Issue]:
        """The issues so far (see `Issue`)."""
        # A copy, because the caller may keep it while the parser goes on.
        return list(self._sink.issues)

    @property
    def attempts(self) -> list[Attempt]:
        """All calls begun so far, in order, each with its status (see `Attempt`)."""
        return list(self._sink.attempts)

    @property
    def in_reasoning(self) -> bool:
        """True if the last text that was read belongs to reasoning that is still open."""
        return self._builder.section == "reasoning"

    @property
    def held(self) -> int:
        """The number of buffered characters, whose meaning depends on the following text."""
        return self._window.held + len(self._held)

    @property
    def counts(self) -> Counts:
        """The characters and chunks so far of content, reasoning and tool calls."""
        # Bypassing chunks are not counted until they are settled.
        self._settle()
        return self._builder.counts()

    @property
    def issue_count(self) -> int:
        """The number of `issues`, without the cost of copying them."""
        return self._sink.issues.kept

    def where(self) -> str:
        """Return the state: the names of the waiting sub-parsers, outermost first."""
        names = []
        # The frame is gone when a generator has ended, which ends the chain.
        steps: Any = self._steps
        while getattr(steps, "gi_frame", None) is not None:
            names.append(steps.gi_code.co_name.strip("_"))
            steps = steps.gi_yieldfrom
        return " > ".join(names) or "end"

    def __repr__(self) -> str:
        # The window is not up to date while chunks bypass.
        self._settle()
        return f"<{type(self).__name__} at {self._window.offset}: {self.where()}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        # A copy would share the sub-parsers with its original, and break both.
        raise UsageError(
            "a parser cannot be copied or pickled: make it with record=True, and use fork(), or "
            f"snapshot() and {type(self).__name__}.restore() for another process"
        )

    def _recorded(self, asked: str) -> Recording:
        if self._record is None:
            message = f"{asked} needs a record of the chunks; make the parser with record=True"
            raise UsageError(message)
        return self._record


class StreamParser(TurnParser):
    """A push parser of one turn of a model, fed with chunks of any size.

    Args:
        fmt: the wire format of the model, from `analyze` or written by hand, or the name of a
            built-in format, e.g. "hermes". One format may be shared by any number of parsers.
        tools: the tools of the request, in any shape that `Tools` accepts. None: any name may be
            called. []: tool syntax is plain text. In formats with unmarked calls, only the names of
            the tools distinguish calls from an answer of the same form. In these formats with None,
            calls count only if they are spelled exactly as in the format and fill a part of the
            turn, from one marker to the next. The parser buffers that part until it ends.
        prompt: the rendered prompt, or any tail of it with the generation prompt. The text after
            the last header of the assistant's turn sets the initial state: an opened or closed
            reasoning section, or the beginning of an answer. The prompt is not emitted, except for
            a call that it began. If the prompt has no header, only the format's own generation
            prompt at its very end sets the state. The same applies if the header of another format
            follows, because then a user wrote the header. Otherwise the prompt is ignored, and the
            issue `no_header` is reported. If the prompt is missing or ignored, the format's
            generation prompt is used. Half a character in the prompt counts as U+FFFD.
        tool_choice: "auto" or None, "none" (tool syntax is plain text), "required" or "any", or a
            tool choice object of OpenAI or Anthropic with one function or the allowed functions. A
            response that does not comply is reported as an issue.
        parallel_tool_calls: if False, `Policies.extra_calls` applies to a second call.
        reasoning: "separate" (own deltas), "inline" (in the content, always between `<think>` and
            `</think>`) or "raw" (in the content, as the model wrote it).
        policies: how to handle malformed output.
        response_schema: the JSON Schema that was requested for the content. JSON at the start of
            the turn is then content, even in formats with unmarked calls, unless a call is
            required. A Markdown code block around the JSON is removed.
        calls: the syntax of calls. "format": the syntax of the format. "json": standalone JSON, for
            servers that constrain the model to it if a call is required, e.g. vLLM and SGLang. The
            JSON is an object with a name and arguments (or `parameters`), a list of these objects,
            or only the arguments if `tool_choice` names one function. It follows the reasoning, if
            any. The format's own call markers and a code block around the JSON are removed, with an
            issue. Any other text is content, with an issue.
        id_factory: makes the id of a call if the model wrote none. It is called once for each call.
            `mistral_call_id` makes ids that Mistral's templates accept.
        record: True to record the chunks, for `fork` and `snapshot`.
        collect: True to keep the message. If False, the parser needs only a few kilobytes of
            memory for any response. `message` is then not available, policies that need it are
            refused, and `lost_marker` is not reported.

    Raises:
        UsageError: an argument is invalid.
    """

    __slots__ = ()

    def __init__(  # noqa: PLR0913 - the public options
        self,
        fmt: WireFormat | str,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prompt: str = "",
        tool_choice: ToolChoice = "auto",
        parallel_tool_calls: bool = True,
        reasoning: Literal["separate", "inline", "raw"] = "separate",
        policies: Policies = Policies(),  # noqa: B008 - frozen
        response_schema: Mapping[str, Any] | None = None,
        calls: Literal["format", "json"] = "format",
        id_factory: IdFactory = call_id,
        record: bool = False,
        collect: bool = True,
    ) -> None:
        # Tested in line, because servers make a parser for each request.
        if type(fmt) is not WireFormat:
            fmt = as_format(fmt)
        options = (
            tools,
            tool_choice,
            parallel_tool_calls,
            reasoning,
            policies,
            response_schema,
            calls,
            collect,
        )
        request = request_for(fmt, options)
        TurnParser.__init__(self, request, prompt, id_factory, record)

    def feed(self, text: str | bytes) -> list[Delta]:
        """Parse the next chunk of the response.

        Args:
            text: a string, or UTF-8 bytes cut at any place. Invalid bytes become U+FFFD, and so
                does half of a surrogate pair if the other half does not follow. `finish` reports
                both as an issue.

        Returns:
            The deltas that became certain, often an empty list.

        Raises:
            UsageError: `finish` was called before.
            MalformedOutput: a policy is "error".
        """
        quick, exact, passed, make = self._path
        # Inlined, because nearly all chunks end here, and each call would cost them a tenth.
        try:
            if (
                # An empty chunk would become an empty delta.
                text
                and len(passed) < MOST_PASSED
                and (quick(text) is None or (exact is not None and exact(text) is None))
            ):
                passed.append(text)
                return [make(text)]
        # Searching bytes, or a value of another type, raises TypeError: `_decode` handles both.
        except TypeError:
            pass
        return self._read(text)

    def fork(self) -> StreamParser:
        """Make an independent parser in the same state, for a beam or a retry.

        The new parser reads all recorded chunks again without emitting deltas, at the same cost.
        Calls that were begun have the same id in both parsers.

        Raises:
            UsageError: the parser was made without `record=True`.
        """
        return self._replayed(self._recorded("fork()"))

    def snapshot(self) -> str:
        """Return the state as a JSON document, for `restore` in another process.

        The document has the format, the arguments of this parser and all chunks.

        Raises:
            UsageError: the parser was made without `record=True`, or its tools are not JSON.
        """
        return self._recorded("snapshot()").to_json()

    @classmethod
    def restore(cls, snapshot: str, *, id_factory: IdFactory = call_id) -> StreamParser:
        """Make a parser from a `snapshot`, without emitting its deltas again.

        Args:
            snapshot: the document.
            id_factory: makes the ids of later calls. A snapshot does not contain the function.

        Raises:
            UsageError: `snapshot` is not a snapshot.
        """
        return cls._replayed(Recording.from_json(snapshot, id_factory))

    @classmethod
    def _replayed(cls, record: Recording) -> StreamParser:
        """Make a parser, and feed it with the recorded chunks."""
        parser = cls(**record.arguments())
        record.replay(parser.feed, parser.finish)
        return parser
