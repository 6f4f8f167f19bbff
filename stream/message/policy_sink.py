"""The sink of a turn: it applies the rules of the request and builds the message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Literal, NoReturn

from deltaparse.partial import Emit, MalformedOutput, UsageError, Window

from .builder import InlineReasoning, MessageBuilder
from .deltas import ToolCallDelta
from .ids import PromptIds
from .json_fence import JsonFence
from .message import Content, Issue, Message, Reasoning, ToolCall
from .policies import Policies
from .provenance import RoleRecorder
from .reports import Attempts, Issues, attempt_reports, issue_reports
from .request_rules import Rules
from .surrounding_text import SurroundingText

__all__ = ["Builds", "NotExact", "Sink", "Verdict"]

Verdict = Literal["call", "text", "drop"]
"""Result of a call, decided when its name is known."""

Builds = Callable[[Issues], tuple[MessageBuilder, RoleRecorder]]
"""Creates the builder of messages whose parts have tokens."""

LENIENT = Policies(tool_in_reasoning="reasoning")
"""The policies of a draft."""

EXACT = Policies(tool_in_reasoning="reasoning", malformed_arguments="strict")
"""The policies of a draft for exactly spelled calls."""

# Memory is bounded if the message is not collected.
MOST_IDS = 64
"""Number of kept ids of a turn, if its message is not kept."""

# Shared by all sinks, because a turn without calls needs no lists.
NO_TEXTS: Sequence[str] = ()
NO_ISSUES: frozenset[str] = frozenset()


class NotExact(Exception):
    """Raised if the text is more than calls, or if their spelling differs from the format's."""


class Sink:
    """Receives the text of sub-parsers and answers questions about the rules of the request.

    Args:
        rules: rules of the request.
        offset: returns the number of characters read. Given if the rules unwrap content.
        builds: creates another builder than the usual one.

    Attributes:
        content: receives text of the content.
        reasoning: receives text of the reasoning.
        arguments: receives text of the arguments.
        builder: builds the message.
        writers: the final receiver of text for each kind of part.
        attempts: the calls that the model began.
        issues: the decisions of the parser.
        calls: number of emitted calls.
        call_is_text: True if a policy made the last ended call content. Its closer is content too.
        in_call: True while a call is read.
        repaired_ahead: True if something in the call was repaired before its first delta.
        tools: tools of the rules.
        policies: policies of the rules.
        surrounding: records text and calls, if calls look like text.
        unclosed: name, end and closers of the last call, while its closing marker is missing.
        ids: makes the ids of calls. None while the prompt is read, and in drafts, because their
            calls are not emitted.
        recorder: receives the roles of text, if tokens are tracked.
    """

    # References to the sink itself would be cycles, and would delay its release.
    __slots__ = (
        "_attempts",
        "_fence",
        "_ids",
        "_inline",
        "_issues",
        "_natural",
        "_original",
        "_reach",
        "_section",
        "_stop",
        "_unclosed",
        "arguments",
        "builder",
        "call_is_text",
        "calls",
        "content",
        "cut",
        "extra_members",
        "held",
        "ids",
        "in_call",
        "not_emitted",
        "open_text",
        "policies",
        "reasoning",
        "recorder",
        "repaired_ahead",
        "rules",
        "seen_end",
        "seen_reasoning",
        "shows_markers",
        "surrounding",
        "tools",
        "unclosed",
        "writers",
    )

    _inline: InlineReasoning | None
    _fence: JsonFence | None

    def __init__(
        self,
        rules: Rules,
        offset: Callable[[], int] | None = None,
        builds: Builds | None = None,
    ) -> None:
        self.rules = rules
        self.tools = rules.tools
        self.policies = rules.policies
        # Created on demand, because most turns have neither issues nor attempts.
        self._issues: Issues | None = None
        # The last offset that issues of each kind are about.
        self._reach: dict[str, int] = {}
        self._attempts: Attempts | None = None
        self.calls = 0
        self.call_is_text = self.seen_reasoning = self.seen_end = False
        self.in_call = self.repaired_ahead = False
        self._natural = True
        # True if the engine reported truncation.
        self.cut = False
        # Drafts ask the original sink, which learns the finish reason later.
        self._original: Sink | None = None
        # The opening marker of a call was emitted as text, so its closer is text too.
        self.open_text = False
        self.recorder: RoleRecorder | None = None
        # Set only for formats whose calls look like text.
        self.surrounding: SurroundingText | None = None
        # Only parsers of tokens pay for the tracking of tokens.
        if builds is None:
            self.builder = builder = MessageBuilder(rules.collect)
        else:
            self.builder, self.recorder = builder, _ = builds(self.issues)
        # Bound once, because receivers are compared with `is`.
        content, reasoning, arguments = builder.content, builder.reasoning, builder.arguments
        # Filters may replace `content` and `reasoning` below, but not these.
        self.writers = {Content: content, Reasoning: reasoning, ToolCall: arguments}
        self.content: Emit = content
        self.reasoning: Emit = reasoning
        self.arguments: Emit = arguments
        self._fence = self._inline = None
        self.shows_markers = False
        # Most requests need no filter, so text goes to the builder directly.
        if offset is not None or rules.reasoning != "separate":
            self._write_otherwise(offset)
        # Text of the reader and of the open call that is not emitted yet, or belongs in an issue.
        # An internal error reports it, so that it is not lost.
        self.held = self.not_emitted = self.extra_members = NO_TEXTS
        # Start of the open section of reasoning, and the text of unclosed sections: the policy
        # "copy" emits it again.
        self._section = (0, 0)
        self._unclosed: tuple[str, ...] = ()
        self.ids: PromptIds | None = None
        # The stop string of the engine: it may be a missing closer.
        self._stop = ""
        self.unclosed: tuple[str, int, Collection[str]] | None = None
        # The ids of the model so far, to find repeated ones.
        self._ids: set[str] = set()

    def _write_otherwise(self, offset: Callable[[], int] | None) -> None:
        """Insert the filters of content and reasoning before the builder."""
        if offset is not None:
            self._fence = JsonFence(self.content, self.issues, offset, self.recorder)
            self.content = self._fence.write
        # With "raw" the markers and the text of reasoning are content.
        if self.rules.reasoning == "raw":
            self.shows_markers = True
            self.reasoning = self.content
        elif self.rules.reasoning == "inline":
            # Bypasses the fence filter: reasoning is not requested JSON.
            self.reasoning = self._inline = InlineReasoning(self.writers[Content], self.recorder)

    @property
    def natural(self) -> bool:
        """Return True if the turn ended by itself, False if it was truncated."""
        return self._natural if self._original is None else self._original.natural

    @natural.setter
    def natural(self, natural: bool) -> None:
        self._natural = natural

    @property
    def stop(self) -> str:
        """Return the stop string that the engine removed, "" if unknown or before the end."""
        return self._stop if self._original is None else self._original.stop

    @stop.setter
    def stop(self, stop: str) -> None:
        self._stop = stop

    @property
    def issues(self) -> Issues:
        """Return the decisions of the parser."""
        if self._issues is None:
            self._issues = issue_reports()
        return self._issues

    def has_issue(self, kind: str) -> bool:
        """Return True if there is an issue of a kind."""
        return kind in self._reach

    @property
    def attempts(self) -> Attempts:
        """Return the calls that the model began, with their results."""
        if self._attempts is None:
            self._attempts = attempt_reports()
        return self._attempts

    @property
    def attempted(self) -> int:
        """Return the number of calls that the model began."""
        # Does not create `Attempts`, because most turns have none.
        return 0 if self._attempts is None else len(self._attempts)

    @property
    def named(self) -> str:
        """Return the function whose arguments may be written without a call, or ""."""
        return self.rules.named

    @property
    def parallel(self) -> bool:
        """Return True if several calls are allowed."""
        return self.rules.parallel

    def draft(self) -> Sink:
        """Return a sink with the same rules, for text of unknown meaning."""
        # The policies of the request could raise for a call that turns out to be text.
        draft = Sink(Rules(LENIENT, self.tools, named=self.rules.named))
        draft._original = self
        return draft

    def exact_draft(self) -> Sink:
        """Return a draft for calls only, which raises `NotExact` for text and for issues."""
        return ExactDraft(self)

    def reads(self, window: Window) -> None:
        """Set the window of the text that is emitted next."""
        if self.recorder is not None:
            self.recorder.reads(window)

    def open_reasoning(self, marker: str) -> None:
        """Begin reasoning.

        Args:
            marker: the start marker as the model wrote it, or "".
        """
        # A code fence does not continue after reasoning.
        self._end_content()
        self.seen_reasoning = True
        # Needed if the section is not closed and the policy is "copy".
        self._section = self.builder.place(Reasoning)
        self.builder.enter("reasoning")
        if self.shows_markers:
            self.writers[Content](marker)

    def resume_reasoning(self) -> None:
        """Continue reasoning after a call inside it."""
        self.builder.enter("reasoning")

    def keep_unclosed(self) -> None:
        """Keep the open reasoning, which becomes content if the turn ends by itself."""
        self._unclosed += (self.builder.text_since(self._section, Reasoning),)

    def leave_reasoning(self) -> None:
        """Leave reasoning at its end marker. Whitespace may follow the marker."""
        self.builder.enter("content")

    def close_reasoning(self, marker: str) -> None:
        """End reasoning.

        Args:
            marker: the end marker as the model wrote it, or "".
        """
        # The end marker counts as reasoning, although `leave_reasoning` was called before.
        if self.shows_markers or self._inline is not None:
            self.builder.enter("reasoning")
        if self.shows_markers:
            self.writers[Content](marker)
        if self._inline is not None:
            self._inline.close()
        self.builder.enter("content")

    def end_part(self) -> None:
        """End a part, even if the next part is of the same kind."""
        # A code fence does not continue in the next part.
        self._end_content()
        self.builder.end_part()

    def decide(self, name: str, where: Callable[[], tuple[int, int]]) -> Verdict:
        """Decide if a call is emitted as a call, kept as text or dropped.

        Args:
            name: the called function.
            where: returns the span of the name.
        """
        if self.tools is not None and name not in self.tools:
            self.unknown(name, where())
            # Checked before `extra_calls`, because text does not count as a call.
            if self.policies.unknown_tool == "text":
                return "text"
        # A name outside of the tools has its own issue.
        elif self.rules.allowed is not None and name not in self.rules.allowed:
            named = " or ".join(map(repr, sorted(self.rules.allowed)))
            self.issue("wrong_tool", where(), f"{name!r} was called, but tool_choice is {named}")
        # The first call is always allowed.
        if self.calls and not self.rules.parallel:
            extra = self.policies.extra_calls
            self.issue(
                "extra_call",
                where(),
                f"a second call, of {name!r}, but parallel_tool_calls is False",
                extra,
            )
            if extra in ("text", "drop"):
                return extra
        return "call"

    def unknown(self, name: str, span: tuple[int, int]) -> None:
        """Report that a called function is not one of the tools."""
        policy = self.policies.unknown_tool
        self.issue("unknown_tool", span, f"{name!r} is not one of the tools", policy)

    def begin_call(self, name: str, call_id: str, offset: int) -> None:
        """Emit the first delta of a call. A call without an id of the model's own gets one."""
        # A code fence ends at a call at the latest.
        if self._fence is not None:
            self._fence.end()
        builder, index = self.builder, self.calls
        builder.enter("tool_calls")
        # Drafts have no ids, because their calls are not emitted.
        if not call_id and self.ids is not None:
            at = max(offset, 0)
            # Ids must not depend on the kind of parser, so the offset is that of the output as
            # text.
            at = self.recorder.decoded(at) if self.recorder is not None else at
            call_id = self.ids.of(name, index, at)
        builder.begin_call(index, call_id, name, offset)
        # Repairs before the first delta concern this call.
        builder.repaired = self.repaired_ahead
        self.calls = index + 1
        # `unclosed` is only about the last call.
        self.unclosed = None

    def is_repeated(self, call_id: str) -> bool:
        """Return True if an earlier call had this id of the model, and record the id."""
        ids = self._ids
        if call_id in ids:
            return True
        # With `collect` the message keeps all ids anyway.
        if self.rules.collect or len(ids) < MOST_IDS:
            ids.add(call_id)
        return False

    def complete_call(self) -> None:
        """Mark the last delta of the open call: its arguments are complete."""
        self.builder.complete_call(self.calls - 1)

    @property
    def open_arguments(self) -> str:
        """Return the arguments of the open call so far."""
        return self.builder.open_text

    def end_call(self, *, complete: bool, end: int = 0) -> None:
        """End the open call.

        Args:
            complete: True if the call is complete.
            end: end of the call in the output.
        """
        builder = self.builder
        # These texts belong to the closed call, and not to issues about later text.
        self.not_emitted = self.extra_members = NO_TEXTS
        issues = NO_ISSUES
        # Most calls have no issue, so the kinds are rarely computed.
        if self._reach:
            start = builder.start
            issues = frozenset(kind for kind, stop in self._reach.items() if stop > start)
        builder.end_call(end, issues, complete=complete)
        builder.enter("content")

    def issue(self, kind: str, span: tuple[int, int], detail: str, policy: str = "") -> None:
        """Report a decision about the output.

        Text before the output belongs to the prompt, so an issue about it is ignored.

        Args:
            kind: kind of the issue.
            span: range of the characters concerned.
            detail: the decision in words.
            policy: the option of the governing policy.

        Raises:
            MalformedOutput: the option is "error".
        """
        if span[0] < 0:
            if span[1] <= 0:
                return
            # Only the part of the output is the model's.
            span = (0, span[1])
        self.issues.append(Issue(kind, span, detail))
        # Spans may be reported out of order.
        self._reach[kind] = max(span[1], self._reach.get(kind, 0))
        # The gate refuses repaired calls, so each repair must mark its call.
        if kind == "repaired_arguments":
            self._mark_repaired()
        # Raised after the issue was recorded, so that it is in `parser.issues` too.
        if policy == "error":
            raise MalformedOutput(detail, kind=kind, span=span)

    def _mark_repaired(self) -> None:
        """Mark the current call as repaired. Between calls, mark the previous one."""
        # A repair between calls concerns the end of the previous one.
        if not self.in_call:
            if self.builder.mark_repaired():
                # An attempt that is only counted keeps its status.
                if (attempt := self.attempts.pop_last("complete")) is not None:
                    self.attempts.append(replace(attempt, status="repaired"))
        # The call has begun, so its part can be marked.
        elif self.builder.kind is ToolCall:
            self.builder.repaired = True
        else:
            self.repaired_ahead = True

    def finish(self, *, required: bool) -> None:
        """End the turn.

        Args:
            required: True if the turn must have a call.
        """
        # A truncated turn may have ended in the middle of reasoning, which is not an answer.
        if self.natural and self._unclosed:
            if self.recorder is not None:
                # The copied text already has its tokens, as reasoning.
                self.recorder.silent = True
            self.content("".join(self._unclosed))
        self._end_content()
        # Reported at the end, because calls may follow any text.
        if required and not self.calls:
            self.issue("missing_call", (0, 0), "tool_choice requires a call, but there was none")

    def message(self) -> Message:
        """Return the message so far.

        Raises:
            UsageError: the parser was created with `collect=False`.
        """
        if not self.rules.collect:
            raise UsageError(
                "the message was not collected, so create the parser with collect=True"
            )
        unproven = self.surrounding is not None and self.surrounding.found
        parts, issues = self.builder.so_far(), tuple(self._issues or ())
        return Message(parts, issues, tuple(self._attempts or ()), unproven)

    def drop_prompt(self) -> None:
        """Drop the parts of the prompt, except a call that it left open and internal errors.

        The open call is emitted from its beginning, because the second half of its arguments is
        useless alone.
        """
        builder = self.builder
        # Most prompts end with a header, so their parts are empty.
        if not (builder.last or self._issues or self._attempts):
            return
        # Read before `forget` clears the builder.
        in_call, index = builder.kind is ToolCall, self.calls - 1
        # The deltas of the prompt are dropped, but the open call needs their arguments.
        begun = [
            delta
            for delta in builder.out
            if isinstance(delta, ToolCallDelta) and delta.index == index
        ]
        # An internal error must be visible, even if the prompt caused it.
        broken = [issue for issue in self.issues if issue.kind == "internal_error"]
        builder.forget()
        # Decisions about the prompt are not decisions about the output.
        self.issues.clear()
        self._reach.clear()
        self.attempts.clear()
        self.calls = 0
        for issue in broken:
            self.issue(issue.kind, issue.span, issue.detail)
        if in_call:
            # The call began in the prompt, so it starts at offset 0 of the output.
            self.begin_call(builder.name, builder.call_id, 0)
            # Clients expect one first delta, so all deltas of the prompt become one.
            builder.add_to_first("".join(delta.arguments for delta in begun))
            # The prompt may already contain the complete arguments.
            if begun[-1].last:
                self.complete_call()

    def _end_content(self) -> None:
        if self._fence is not None:
            self._fence.end()


class ExactDraft(Sink):
    """A sink for calls that refuses everything else."""

    __slots__ = ()

    def __init__(self, original: Sink) -> None:
        super().__init__(Rules(EXACT, original.tools))
        self._original = original
        # Text next to calls shows that they may be a mention.
        self.content = _refuse

    def issue(
        self,
        kind: str,  # noqa: ARG002
        span: tuple[int, int],  # noqa: ARG002
        detail: str,
        policy: str = "",  # noqa: ARG002
    ) -> NoReturn:
        """Refuse a call with an issue."""
        raise NotExact(detail)


def _refuse(text: str) -> None:
    """Refuse text other than calls."""
    if text:
        raise NotExact(text)
