"""The push parser: text in, deltas out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn

from deltaparse.partial import UsageError, Window, replace_surrogates

from .fast_path import MOST_PASSED, Feeder
from .finish_reasons import FinishReason, Reason, StopReason, how_it_ended, reason_text, stop_text
from .message.beside import Beside
from .message.counts import Counts
from .message.deltas import Delta
from .message.ids import IdFactory, PromptIds, ReplayedIds, call_id, check_id_factory
from .message.message import Attempt, Issue, Message
from .message.policies import Policies
from .message.policy_sink import Builds, Sink
from .missing_marker import called_without_marker
from .reading.assistant_turn import assistant_turn
from .reading.reading import Reading
from .request import (
    Request,
    ToolChoice,
    behind_reasoning,
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
    """What all parsers of a turn are, whatever they are fed with.

    Args:
        request: what is asked of the parser.
        prompt: the prompt, as it is read.
        id_factory: makes the ids of calls.
        record: keep what it is fed.
        decoded: the prompt as text, on which ids depend, where `prompt` is another.
        asked: the request as it was made, for the record, where `request` is another; the prompt
            is not in this record.
        builds: makes what builds the message, where it is not the usual.
    """

    __slots__ = ("_finish_reason", "_request", "format")

    def __init__(
        self,
        request: Request,
        prompt: str,
        id_factory: IdFactory,
        record: bool,
        decoded: str | None = None,
        asked: Request | None = None,
        builds: Builds | None = None,
    ) -> None:
        if type(prompt) is not str:
            check_prompt(prompt)
        if record is not False:
            check_flag("record", record)
        if id_factory is not call_id:
            check_id_factory(id_factory)
        kept: Recording | None = None
        if record:
            ids = id_factory if isinstance(id_factory, ReplayedIds) else ReplayedIds(id_factory, [])
            kept = Recording(asked or request, "" if asked else prompt, ids)
            id_factory = ids
        fmt = request.fmt
        tail, shown = fmt.derived.turn_shown(prompt)
        window = Window("", -len(tail))
        offset = (lambda: window.offset) if request.unwraps else None
        sink = Sink(request.rules, offset, builds)
        if request.tables.like_text and request.collect:
            sink.beside = Beside()
        steps = assistant_turn(Reading(window, sink, request.tables))
        # Not by `super()`, which takes as long as to make one of these.
        Feeder.__init__(self, window, sink, steps, kept)
        self.format = fmt
        self._request = request
        self._finish_reason: FinishReason | None = None
        sink.reads(window)
        if tail:
            # Half a character cannot be sent on. Of a prompt that was read for tokens, each that
            # is left stands for one (`token_format.py`).
            window.feed(replace_surrogates(tail) if decoded is None else tail)
            self._resume()
        sink.ids = PromptIds(id_factory, prompt if decoded is None else decoded)
        if tail:
            sink.drop_prompt()
        if not shown:
            request.report_prompt(sink)

    def finish(self, reason: Reason = None, *, stop_reason: StopReason = None) -> list[Delta]:
        """Say that the output has ended; return the last deltas. A second call returns [].

        `reason` is the engine's, in its own words: "stop", "eos_token", "end_turn" and others say
        that the model ended the turn, "length", "max_tokens", "abort" and others that it was cut
        off; `stream/finish_reasons.py` has them all. An unknown reason counts as cut, with an
        issue. A call is complete when its arguments are whole, whatever the reason. With "stop" the
        last closer may be missing, or a part of it, since engines leave out the string at which
        they stop; where an argument may be missing with it, the issue `missing_closer` says so.
        With None, when the reason is not known, nothing may be missing.

        `stop_reason` is the stop string at which the engine stopped, if it names one, or the id of
        the token, which a `TokenParser` knows. Where it holds the closer of a call, that is not
        missing. Without it, what SGLang's object has as `matched` is taken.

        Raises:
            UsageError: the reason is not a text, or `stop_reason` is neither a text nor an id.
            MalformedOutput: where a policy says "error".
        """
        text, stop = reason_text(reason), stop_text(stop_reason, reason)
        if self._finish_reason is not None:
            return self._emitted()
        self._refuse_reentry()
        if self._record is not None:
            self._record.reasons.append((text, stop))
        sink = self._sink
        sink.stop = self._as_read(stop)
        ended = how_it_ended(text)
        sink.natural = ended == "natural"
        cut = sink.cut = text is not None and not sink.natural
        try:
            self._end_text()
            sink.content(self._resume() or "")
            sink.finish(required=self._request.required and not cut)
            if cut and ended == "unknown":
                detail = f"{text!r} is no finish reason that is known: the turn counts as cut off"
                sink.issue("unknown_finish", (self._window.offset, self._window.offset), detail)
            self._report_unclosed()
            self._report_lost_marker()
        finally:
            self._finish_reason = self._reason(text, cut=cut)
        return self._emitted()

    def _as_read(self, stop: StopReason) -> str:
        """What the engine stopped at, as it is read; "" where that is not known."""
        return stop if isinstance(stop, str) else ""

    def _reason(self, text: str | None, *, cut: bool) -> FinishReason:
        """Return why the turn ended; `text` is the engine's word for it."""
        sink = self._sink
        unended = sink.has_issue("truncated_call") or (
            text is None and sink.has_issue("cut_marker")
        )
        if cut or unended:
            return "length"
        return "tool_calls" if sink.calls else "stop"

    def _report_unclosed(self) -> None:
        """Report that what closes the last call is missing, whose arguments are whole."""
        sink = self._sink
        if sink.natural and sink.unclosed is not None:
            name, end, closers = sink.unclosed
            if not swallowed(sink.stop, "", closers):
                detail = f"the output has no marker that closes the call of {name!r}"
                sink.issue("cut_marker", (end, end), detail)

    def _report_lost_marker(self) -> None:
        """Report content that begins like the call of a tool, where there is no call."""
        sink, request = self._sink, self._request
        if sink.attempted or not sink.tools or not request.has_calls:
            return
        if request.calls == "json":
            return  # nothing stands before such calls
        content = Message(sink.builder.so_far()).content
        tools = [{"name": name} for name in sink.tools]

        def read(fmt: WireFormat, text: str) -> Message:
            fmt, prompt = behind_reasoning(fmt)
            parser = StreamParser(fmt, tools=tools, prompt=prompt)
            parser.feed(text)
            return parser.message

        if name := called_without_marker(self.format, sink.tools, content, read):
            detail = (
                f"content begins like a call of {name!r}, without its marker: decode with "
                "skip_special_tokens=False, or feed ids to a TokenParser"
            )
            sink.issue("lost_marker", (0, self._window.end), detail)

    @property
    def message(self) -> Message:
        """The message so far.

        Raises:
            UsageError: the parser was made with `collect=False`.
        """
        self._settle()
        return self._sink.message()

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the turn ended: "tool_calls" if by itself and with calls; None before `finish`."""
        return self._finish_reason

    @property
    def issues(self) -> list[Issue]:
        """What had to be decided so far; see `Issue`."""
        return list(self._sink.issues)

    @property
    def attempts(self) -> list[Attempt]:
        """Every call that was begun so far, in order, and what became of it; see `Attempt`."""
        return list(self._sink.attempts)

    @property
    def in_reasoning(self) -> bool:
        """Whether the text that was read last belongs to reasoning, which is still open."""
        return self._builder.section == "reasoning"

    @property
    def held(self) -> int:
        """How many characters came and are held back, for what follows decides what they are."""
        return self._window.held + len(self._held)

    @property
    def counts(self) -> Counts:
        """How much has come of content, of reasoning and of tool calls: characters and chunks."""
        self._settle()
        return self._builder.counts()

    @property
    def issue_count(self) -> int:
        """How many `issues` there are: cheaper than to ask for them."""
        return self._sink.issues.kept

    def where(self) -> str:
        """The state: the names of the sub-parsers that are waiting, outermost first."""
        names = []
        steps: Any = self._steps
        while getattr(steps, "gi_frame", None) is not None:
            names.append(steps.gi_code.co_name.strip("_"))
            steps = steps.gi_yieldfrom
        return " > ".join(names) or "end"

    def __repr__(self) -> str:
        self._settle()
        return f"<{type(self).__name__} at {self._window.offset}: {self.where()}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        # Without this, a copy would share the sub-parsers with its original, and break both.
        raise UsageError(
            "a parser cannot be copied or pickled: make it with record=True, and use fork(), or "
            f"snapshot() and {type(self).__name__}.restore() for another process"
        )

    def _recorded(self, asked: str) -> Recording:
        if self._record is None:
            message = f"{asked} needs what was fed: make the parser with record=True"
            raise UsageError(message)
        return self._record


class StreamParser(TurnParser):
    """Parses one turn of a model, fed as it comes, in chunks of any size.

    Args:
        fmt: how the model writes, from `analyze` or by hand, or the name of a format, such as
            "hermes". Shared freely between parsers.
        tools: the tools of the request, in any shape that `Tools` reads, or `Tools`. None: any
            name may be called; []: tool syntax is plain text. In formats with unmarked calls, only
            their names tell calls from an answer that looks like one. With None, such a format's
            text counts as calls only if they fill a part of the turn, from one marker to the next,
            exactly as the format spells them; the parser holds that part back until it ends.
        prompt: the rendered prompt, or any tail of it that holds the generation prompt. What stands
            behind the last header of the assistant's turn sets the state to start in: a reasoning
            section that is opened or closed there, or the beginning of an answer. Nothing of the
            prompt is emitted, except a call that it began. In a prompt without a header, only the
            format's own generation prompt, at its very end, sets the state; the same holds where
            the header of another format stands behind it, for then only a user wrote it. Otherwise
            nothing of the prompt is read, and the issue `no_header` reports that. Without a prompt,
            and where nothing is read of it, the format's own generation prompt is taken. Half a
            character in it counts as U+FFFD.
        tool_choice: "auto" or None; "none" (tool syntax is plain text); "required" or "any", or
            a tool choice object, of OpenAI or of Anthropic, that names one function or the allowed
            ones (an output that does not comply leaves an issue).
        parallel_tool_calls: False: a second call is what `Policies.extra_calls` says.
        reasoning: "separate" (deltas of its own); "inline" (in the content, between `<think>`
            and `</think>` whatever the model writes); "raw" (in the content, as the model
            wrote it).
        policies: what to do where the output is odd.
        response_schema: the JSON Schema that the content was asked to follow. JSON at the start of
            the turn is then content, even in formats with unmarked calls, unless a call is
            required. A Markdown code block round it is left out.
        calls: how calls are written. "format": as the format has it. "json": the server
            constrained the model to write them as JSON that stands alone, as vLLM and SGLang do
            where a call is required: an object with a name and arguments (or `parameters`), a
            list of them, or, if `tool_choice` names one function, its arguments alone. They stand
            behind the reasoning, if there is any. Markers of the format's own calls and a code
            block round them are left out, with an issue; other text there is content, with an
            issue.
        id_factory: makes the id of a call to which the model gave none; called once for each.
            `nine_character_id` makes ids that Mistral's templates accept.
        record: keep what is fed, for `fork` and `snapshot`.
        collect: keep the message. With False, memory stays at a few kilobytes for any output;
            `message` is not available, policies that need it are refused, and `lost_marker` is not
            reported.

    Raises:
        UsageError: an argument that makes no sense.
    """

    __slots__ = ()

    def __init__(
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
        if type(fmt) is not WireFormat:
            fmt = as_format(fmt)
        request = request_for(
            fmt,
            tools,
            tool_choice,
            parallel_tool_calls,
            reasoning,
            policies,
            response_schema,
            calls,
            collect,
        )
        TurnParser.__init__(self, request, prompt, id_factory, record)

    def feed(self, text: str | bytes) -> list[Delta]:
        """Take the next chunk of the output; return what it makes certain, often nothing.

        Bytes are UTF-8 that may be cut anywhere. What is not UTF-8 becomes U+FFFD, and so does
        half of a surrogate pair whose other half does not follow; `finish` makes it an issue.

        Raises:
            UsageError: after `finish`.
            MalformedOutput: where a policy says "error".
        """
        quick, exact, passed, make = self._path
        try:
            if (
                text
                and len(passed) < MOST_PASSED
                and (quick(text) is None or (exact is not None and exact(text) is None))
            ):
                passed.append(text)
                return [make(text)]
        except TypeError:
            pass  # bytes, or what is no text at all: `_decode` tells
        return self._read(text)

    def fork(self) -> StreamParser:
        """Make a second parser in the same state, for a beam or a retry.

        It reads what this one was fed once more, so it costs what that did, and emits none of it
        again. Neither parser knows of the other; calls that are begun have one id in both.

        Raises:
            UsageError: the parser was made without `record=True`.
        """
        return self._replayed(self._recorded("fork()"))

    def snapshot(self) -> str:
        """Write the state as a JSON document, from which `restore` makes a parser elsewhere.

        It holds the format, the arguments of this parser and all that it was fed.

        Raises:
            UsageError: the parser was made without `record=True`, or tools that are not JSON.
        """
        return self._recorded("snapshot()").to_json()

    @classmethod
    def restore(cls, snapshot: str, *, id_factory: IdFactory = call_id) -> StreamParser:
        """Make the parser of a `snapshot`; of what it was fed, nothing is emitted again.

        `id_factory` makes the ids of calls that are still to come: a function is no JSON.

        Raises:
            UsageError: what is given is no snapshot.
        """
        return cls._replayed(Recording.from_json(snapshot, id_factory))

    @classmethod
    def _replayed(cls, record: Recording) -> StreamParser:
        """A parser that was fed what the record has."""
        parser = cls(**record.arguments())
        record.replay(parser.feed, parser.finish)
        return parser
