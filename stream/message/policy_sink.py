"""Where a turn is emitted to: the rules of the request make parts of what is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, NoReturn

from deltaparse.partial import Emit, MalformedOutput, UsageError, Window

from .beside import Beside
from .builder import InlineReasoning, MessageBuilder
from .deltas import ToolCallDelta
from .ids import PromptIds
from .json_fence import JsonFence
from .message import Content, Issue, Message, Reasoning, ToolCall
from .policies import Policies
from .provenance import Trail
from .reports import Attempts, Issues
from .request_rules import Rules

__all__ = ["Builds", "NotExact", "Sink", "Verdict"]

Verdict = Literal["call", "text", "drop"]
"""What becomes of a call, once its name is known."""

Builds = Callable[[Issues], tuple[MessageBuilder, Trail]]
"""Makes what builds the message where each part must know where it came from."""

LENIENT = Policies(tool_in_reasoning="reasoning")
"""The policies of a draft."""

EXACT = Policies(tool_in_reasoning="reasoning", malformed_arguments="strict")
"""Those of a draft that takes calls to the letter only."""

MOST_IDS = 64
"""How many ids are kept of the calls of a turn, where its message is not."""

NO_TEXTS: Sequence[str] = ()
NO_ISSUES: frozenset[str] = frozenset()


class NotExact(Exception):
    """What is read is not calls and nothing else, in the format's own spelling."""


class Sink:
    """What the sub-parsers emit to, and ask what the rules of the request are.

    `content`, `reasoning` and `arguments` take text for the message, which `builder` builds;
    `writers` are what text for each kind of part arrives at in the end. `attempts` has each call
    that was begun; these and the `issues` are made when there is one, for most turns have none.

    `calls` counts the calls that were emitted; `call_is_text`: the last that ended was not, but is
    content by a policy, so that what closes it is content too. `in_call`: one is read, of which
    something was repaired before its first delta if `repaired_ahead`. `tools` and `policies` are
    those of the rules. `beside` notes text and calls, where calls look like text. `unclosed` is
    the last call, if the marker that closes it has not come: its name, its end and its closers.
    `ids` makes those of calls: None while the prompt is read, and in drafts, whose calls are not
    emitted. `trail` is said what the text that is read was, where somebody asks.

    Args:
        rules: those of the request.
        offset: says how much of the output was read, where the rules unwrap content.
        builds: makes what builds the message, where it is not the usual.
    """

    # Nothing here refers to the sink itself, so that it goes when the parser goes.
    __slots__ = (
        "_attempts",
        "_fence",
        "_ids",
        "_inline",
        "_issues",
        "_natural",
        "_original",
        "_section",
        "_stop",
        "_unclosed",
        "arguments",
        "beside",
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
        "repaired_ahead",
        "rules",
        "seen_end",
        "seen_reasoning",
        "shows_markers",
        "tools",
        "trail",
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
        self._issues: Issues | None = None
        self._attempts: Attempts | None = None
        self.calls = 0
        self.call_is_text = self.seen_reasoning = self.seen_end = False
        self.in_call = self.repaired_ahead = False
        self._natural = True
        # The engine said that the output was cut off.
        self.cut = False
        self._original: Sink | None = None
        # The marker of a call came out as text: so does what closes it.
        self.open_text = False
        self.trail: Trail | None = None
        self.beside: Beside | None = None
        if builds is None:
            self.builder = builder = MessageBuilder(rules.collect)
        else:
            self.builder, self.trail = builder, _ = builds(self.issues)
        # Bound once, so that what text goes to can be told from others by `is`.
        content, reasoning, arguments = builder.content, builder.reasoning, builder.arguments
        self.writers = {Content: content, Reasoning: reasoning, ToolCall: arguments}
        self.content: Emit = content
        self.reasoning: Emit = reasoning
        self.arguments: Emit = arguments
        self._fence = self._inline = None
        self.shows_markers = False
        if offset is not None or rules.reasoning != "separate":
            self._write_otherwise(offset)
        # Text that was read and is not emitted yet, or that an issue will report: the reader's,
        # and the open call's. Should a reader break, it is named in the issue that says so.
        self.held = self.not_emitted = self.extra_members = NO_TEXTS
        # Where in the message the section of reasoning began; text of those that did not end.
        self._section = (0, 0)
        self._unclosed: tuple[str, ...] = ()
        self.ids: PromptIds | None = None
        # What the engine stopped at, "" if it named nothing.
        self._stop = ""
        self.unclosed: tuple[str, int, Collection[str]] | None = None
        # The ids of the calls so far.
        self._ids: set[str] = set()

    def _write_otherwise(self, offset: Callable[[], int] | None) -> None:
        """Put what changes text between the readers and the builder."""
        if offset is not None:
            self._fence = JsonFence(self.content, self.issues, offset, self.trail)
            self.content = self._fence.write
        if self.rules.reasoning == "raw":
            self.shows_markers = True
            self.reasoning = self.content
        elif self.rules.reasoning == "inline":
            self.reasoning = self._inline = InlineReasoning(self.writers[Content], self.trail)

    @property
    def natural(self) -> bool:
        """Whether the turn ended by itself, once the input is closed; if not, it was cut off."""
        return self._natural if self._original is None else self._original.natural

    @natural.setter
    def natural(self, natural: bool) -> None:
        self._natural = natural

    @property
    def stop(self) -> str:
        """What the engine stopped at and left out, once the input is closed; "" if unknown."""
        return self._stop if self._original is None else self._original.stop

    @stop.setter
    def stop(self, stop: str) -> None:
        self._stop = stop

    @property
    def issues(self) -> Issues:
        """What had to be decided."""
        if self._issues is None:
            self._issues = Issues()
        return self._issues

    def has_issue(self, kind: str) -> bool:
        """Whether there is an issue of a kind."""
        return self._issues is not None and kind in self._issues.reach

    @property
    def attempts(self) -> Attempts:
        """The calls that were begun, and what became of them."""
        if self._attempts is None:
            self._attempts = Attempts()
        return self._attempts

    @property
    def attempted(self) -> int:
        """How many calls were begun."""
        return 0 if self._attempts is None else len(self._attempts)

    @property
    def named(self) -> str:
        """The function whose arguments may stand alone, "" for none."""
        return self.rules.named

    @property
    def parallel(self) -> bool:
        """Whether a second call is like others."""
        return self.rules.parallel

    def draft(self) -> Sink:
        """A sink with the same rules, for a look at text whose meaning is not known yet."""
        draft = Sink(Rules(LENIENT, self.tools, named=self.rules.named))
        draft._original = self
        return draft

    def exact_draft(self) -> Sink:
        """A draft that takes nothing but calls: `NotExact` for text, and for any issue."""
        return ExactDraft(self)

    def reads(self, window: Window) -> None:
        """What is emitted next is read from this window."""
        if self.trail is not None:
            self.trail.reads(window)

    def open_reasoning(self, marker: str) -> None:
        """Reasoning begins; `marker` is what the model wrote to say so, "" if nothing."""
        self._end_content()
        self.seen_reasoning = True
        self._section = self.builder.place(Reasoning)
        self.builder.enter("reasoning")
        if self.shows_markers:
            self.writers[Content](marker)

    def resume_reasoning(self) -> None:
        """Reasoning goes on behind a call that stood in it."""
        self.builder.enter("reasoning")

    def keep_unclosed(self) -> None:
        """Keep the reasoning that is open, to be content too if the turn ends by itself."""
        self._unclosed += (self.builder.text_since(self._section, Reasoning),)

    def leave_reasoning(self) -> None:
        """The end marker of reasoning was seen; the white space after it may still come."""
        self.builder.enter("content")

    def close_reasoning(self, marker: str) -> None:
        """Reasoning ends; `marker` is what the model wrote to say so, "" if nothing."""
        if self.shows_markers or self._inline is not None:
            self.builder.enter("reasoning")
        if self.shows_markers:
            self.writers[Content](marker)
        if self._inline is not None:
            self._inline.close()
        self.builder.enter("content")

    def end_part(self) -> None:
        """A part ends here, also when one of the same kind follows."""
        self._end_content()
        self.builder.end_part()

    def decide(self, name: str, where: Callable[[], tuple[int, int]]) -> Verdict:
        """Say what becomes of a call of `name`; `where` finds out where that stands."""
        if self.tools is not None and name not in self.tools:
            self.unknown(name, where())
            if self.policies.unknown_tool == "text":
                return "text"
        elif self.rules.allowed is not None and name not in self.rules.allowed:
            named = " or ".join(map(repr, sorted(self.rules.allowed)))
            self.issue("wrong_tool", where(), f"{name!r} was called, tool_choice names {named}")
        if self.calls and not self.rules.parallel:
            extra = self.policies.extra_calls
            self.issue("extra_call", where(), f"{name!r}: parallel calls are off", extra)
            if extra in ("text", "drop"):
                return extra
        return "call"

    def unknown(self, name: str, span: tuple[int, int]) -> None:
        """Report that what is called `name`, which stands at `span`, is none of the tools."""
        policy = self.policies.unknown_tool
        self.issue("unknown_tool", span, f"{name!r} is not one of the tools", policy)

    def begin_call(self, name: str, call_id: str, offset: int) -> None:
        """Emit a call's first delta. Without a `call_id` of the model's own, it gets one."""
        if self._fence is not None:
            self._fence.end()
        builder, index = self.builder, self.calls
        builder.enter("tool_calls")
        if not call_id and self.ids is not None:
            at = max(offset, 0)
            at = self.trail.decoded(at) if self.trail is not None else at
            call_id = self.ids.of(name, index, at)
        builder.begin_call(index, call_id, name, offset)
        builder.repaired = self.repaired_ahead
        self.calls = index + 1
        self.unclosed = None

    def is_repeated(self, call_id: str) -> bool:
        """Whether a call before had this id, which the model wrote; it is kept for the next."""
        ids = self._ids
        if call_id in ids:
            return True
        if self.rules.collect or len(ids) < MOST_IDS:
            ids.add(call_id)
        return False

    def complete_call(self) -> None:
        """The arguments of the open call are whole: its last delta says so."""
        self.builder.complete_call(self.calls - 1)

    @property
    def open_arguments(self) -> str:
        """The arguments of the open call so far."""
        return self.builder.open_text

    def end_call(self, *, complete: bool, end: int = 0) -> None:
        """The open call ends, at the offset `end`; `complete` says that it is whole."""
        builder = self.builder
        self.not_emitted = self.extra_members = NO_TEXTS
        issues = self._issues.behind(builder.start) if self._issues is not None else NO_ISSUES
        builder.end_call(end, issues, complete=complete)
        builder.enter("content")

    def issue(self, kind: str, span: tuple[int, int], detail: str, policy: str = "") -> None:
        """Record a decision; raise `MalformedOutput` where the policy in force says "error".

        What stands before the output is the prompt's: nothing was decided about the model's text.
        """
        if span[0] < 0:
            if span[1] <= 0:
                return
            span = (0, span[1])
        issues = self.issues
        issues.append(Issue(kind, span, detail))
        issues.reach[kind] = max(span[1], issues.reach.get(kind, 0))
        if kind == "repaired_arguments":
            self._mark_repaired()
        if policy == "error":
            raise MalformedOutput(detail, kind=kind, span=span)

    def _mark_repaired(self) -> None:
        """Mark the call that is read; between calls, the one right before."""
        if not self.in_call:
            if self.builder.mark_repaired():
                self.attempts.repair_last()
        elif self.builder.kind is ToolCall:
            self.builder.repaired = True
        else:
            self.repaired_ahead = True

    def finish(self, *, required: bool) -> None:
        """The input has ended; `required`: the turn was to have a call."""
        if self.natural and self._unclosed:
            if self.trail is not None:
                self.trail.silent = True  # what is copied has its tokens once, as reasoning
            self.content("".join(self._unclosed))
        self._end_content()
        if required and not self.calls:
            self.issue("missing_call", (0, 0), "tool_choice asked for a call")

    def message(self) -> Message:
        """The message so far."""
        if not self.rules.collect:
            raise UsageError("the message was not collected: make the parser with collect=True")
        unproven = self.beside is not None and self.beside.found
        parts, issues = self.builder.so_far(), tuple(self._issues or ())
        return Message(parts, issues, tuple(self._attempts or ()), unproven)

    def drop_prompt(self) -> None:
        """Drop what the prompt gave, but for a call that it left open, and a bug that it met.

        The call comes out whole, for who gets the second half of its arguments has no call.
        """
        builder = self.builder
        if not (builder.last or self._issues or self._attempts):
            return
        in_call, index = builder.kind is ToolCall, self.calls - 1
        begun = [
            delta
            for delta in builder.out
            if isinstance(delta, ToolCallDelta) and delta.index == index
        ]
        broken = [issue for issue in self.issues if issue.kind == "internal_error"]
        builder.forget()
        self.issues.clear()
        self.attempts.clear()
        self.calls = 0
        for issue in broken:
            self.issue(issue.kind, issue.span, issue.detail)
        if in_call:
            self.begin_call(builder.name, builder.call_id, 0)
            builder.add_to_first("".join(delta.arguments for delta in begun))
            if begun[-1].last:
                self.complete_call()

    def _end_content(self) -> None:
        if self._fence is not None:
            self._fence.end()


class ExactDraft(Sink):
    """A sink that takes calls, and refuses all else."""

    __slots__ = ()

    def __init__(self, original: Sink) -> None:
        super().__init__(Rules(EXACT, original.tools))
        self._original = original
        self.content = _refuse

    def issue(
        self,
        kind: str,  # noqa: ARG002
        span: tuple[int, int],  # noqa: ARG002
        detail: str,
        policy: str = "",  # noqa: ARG002
    ) -> NoReturn:
        """Refuse calls of which there is something to report."""
        raise NotExact(detail)


def _refuse(text: str) -> None:
    """Refuse text."""
    if text:
        raise NotExact(text)
