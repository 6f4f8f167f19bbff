"""Where a turn is emitted to: the rules of the request make parts of what is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NoReturn

from deltaparse.partial import Emit, MalformedOutput, UsageError, Window

from .builder import InlineReasoning, MessageBuilder
from .counts import Counts, RunningCounts, Section
from .deltas import ToolCallDelta, unplaced_deltas
from .ids import IdFactory, id_of_call
from .json_fence import JsonFence
from .message import Content, Issue, Message, Reasoning, ToolCall
from .policies import Policies
from .reports import Attempts, Issues
from .trail import Trail

__all__ = ["Builds", "NotExact", "Sink", "Verdict"]

Verdict = Literal["call", "text", "drop"]
"""What becomes of a call, once its name is known."""

Builds = Callable[[Issues, RunningCounts], tuple[MessageBuilder, Trail]]
"""Makes what builds the message where each part must know where it came from."""

LENIENT = Policies(tool_in_reasoning="reasoning")
"""The policies of a draft."""

EXACT = Policies(tool_in_reasoning="reasoning", malformed_arguments="strict")
"""Those of a draft that takes calls to the letter only."""


class NotExact(Exception):
    """What is read is not calls and nothing else, in the format's own spelling."""


class Sink:
    """What the sub-parsers emit to, and ask what the rules of the request are.

    `content`, `reasoning` and `arguments` take text for the message, which `builder` builds;
    `writers` are what text for each kind of part arrives at in the end. `attempts` has each call
    that was begun.

    `calls` counts the calls that were emitted; `call_is_text`: the last that ended was not, but is
    content by a policy, so that what closes it is content too.

    `tools` are the functions that may be called, each with the JSON Schema of its arguments; None
    for any. `allowed` are those that `tool_choice` names; `named` is the one that it names, if its
    arguments may stand alone. `natural` says, once the input is closed,
    whether the turn ended by itself or was cut off. Without `collect`, the message is not kept.
    With `offset`, which says how much of the output was read, content is JSON that was asked for,
    and loses the code block that it is wrapped in. `trail` is said what the text that is read was,
    where somebody asks.
    """

    # Nothing here refers to the sink itself, so that it goes when the parser goes.
    __slots__ = (
        "_collect",
        "_fence",
        "_id_factory",
        "_inline",
        "_prompt",
        "_reach",
        "_repaired_ahead",
        "_section",
        "_unclosed",
        "allowed",
        "amounts",
        "arguments",
        "attempts",
        "builder",
        "call_is_text",
        "calls",
        "content",
        "extra_members",
        "held",
        "issues",
        "named",
        "natural",
        "not_emitted",
        "open_text",
        "parallel",
        "policies",
        "reasoning",
        "seen_end",
        "seen_reasoning",
        "shows_markers",
        "tools",
        "trail",
        "writers",
    )

    def __init__(
        self,
        *,
        tools: Mapping[str, Any] | None = None,
        allowed: Collection[str] | None = None,
        named: str = "",
        parallel: bool = True,
        policies: Policies,
        reasoning_output: Literal["separate", "inline", "raw"] = "separate",
        collect: bool = True,
        offset: Callable[[], int] | None = None,
        builds: Builds | None = None,
    ) -> None:
        self.issues = Issues()
        self.attempts = Attempts()
        # For each kind of issue, up to where text is that one is about.
        self._reach: dict[str, int] = {}
        self.calls = 0
        self.call_is_text = False
        self.natural = True
        self.seen_reasoning = False
        self.seen_end = False
        # The marker of a call came out as text: so does what closes it.
        self.open_text = False
        self.tools = tools
        self.allowed = allowed
        self.named = named
        self.parallel = parallel
        self.policies = policies
        self.shows_markers = reasoning_output == "raw"
        self._collect = collect
        self.amounts = RunningCounts()
        self.trail: Trail | None = None
        if builds is None:
            builder = MessageBuilder(collect=collect)
        else:
            builder, self.trail = builds(self.issues, self.amounts)
        self.builder = builder
        # Bound once, so that what text goes to can be told from others by `is`.
        content, reasoning, arguments = builder.content, builder.reasoning, builder.arguments
        self.writers = {Content: content, Reasoning: reasoning, ToolCall: arguments}
        self._fence = JsonFence(content, self.issues, offset, self.trail) if offset else None
        inline = reasoning_output == "inline"
        self._inline = InlineReasoning(content, self.trail) if inline else None
        self.content: Emit = self._fence.write if self._fence is not None else content
        self.reasoning: Emit = self.content if self.shows_markers else self._inline or reasoning
        self.arguments: Emit = arguments
        self._repaired_ahead = False
        # Text that was read and is not emitted yet, or that an issue will report: the reader's,
        # and the open call's. Should a reader break, it is named in the issue that says so.
        self.held: Sequence[str] = ()
        # Where in the message the section of reasoning began; text of those that did not end.
        self._section = (0, 0)
        self._unclosed: tuple[str, ...] = ()
        self.not_emitted: Sequence[str] = ()
        self.extra_members: Sequence[str] = ()
        # None while the prompt is read, and in drafts: their calls are not emitted.
        self._id_factory: IdFactory | None = None
        self._prompt = ""

    def draft(self) -> Sink:
        """A sink with the same rules, for a look at text whose meaning is not known yet."""
        draft = Sink(tools=self.tools, named=self.named, parallel=True, policies=LENIENT)
        draft.natural = self.natural
        return draft

    def exact_draft(self) -> Sink:
        """A draft that takes nothing but calls: `NotExact` for text, and for any issue."""
        return ExactDraft(tools=self.tools, parallel=True, policies=EXACT)

    def reads(self, window: Window) -> None:
        """What is emitted next is read from this window."""
        if self.trail is not None:
            self.trail.reads(window)

    def open_reasoning(self, marker: str) -> None:
        """Reasoning begins; `marker` is what the model wrote to say so, "" if nothing."""
        self._end_content()
        self.seen_reasoning = True
        self._section = self.builder.place(Reasoning)
        self._enter("reasoning")
        if self.shows_markers:
            self.writers[Content](marker)

    def resume_reasoning(self) -> None:
        """Reasoning goes on behind a call that stood in it."""
        self._enter("reasoning")

    def keep_unclosed(self) -> None:
        """Keep the reasoning that is open, to be content too if the turn ends by itself."""
        self._unclosed += (self.builder.since(self._section, Reasoning),)

    def leave_reasoning(self) -> None:
        """The end marker of reasoning was seen; the white space after it may still come."""
        self._enter("content")

    def close_reasoning(self, marker: str) -> None:
        """Reasoning ends; `marker` is what the model wrote to say so, "" if nothing."""
        if self.shows_markers or self._inline is not None:
            self._enter("reasoning")
        if self.shows_markers:
            self.writers[Content](marker)
        if self._inline is not None:
            self._inline.close()
        self._enter("content")

    def _enter(self, section: Section) -> None:
        """Count what comes next for a section."""
        if section != self.amounts.section:
            self.amounts.enter(section, self.builder.characters)

    def end_part(self) -> None:
        """A part ends here, also when one of the same kind follows."""
        self._end_content()
        self.builder.open = None

    def admit(self, name: str, span: tuple[int, int]) -> Verdict:
        """Say what becomes of a call of `name`, which stands at `span`."""
        if self.tools is not None and name not in self.tools:
            self.unknown(name, span)
            if self.policies.unknown_tool == "text":
                return "text"
        elif self.allowed is not None and name not in self.allowed:
            named = " or ".join(map(repr, sorted(self.allowed)))
            self.issue("wrong_tool", span, f"{name!r} was called, tool_choice names {named}")
        if self.calls and not self.parallel:
            extra = self.policies.extra_calls
            self.issue("extra_call", span, f"{name!r}: parallel calls are off", extra)
            if extra in ("text", "drop"):
                return extra
        return "call"

    def unknown(self, name: str, span: tuple[int, int]) -> None:
        """Report that what is called `name`, which stands at `span`, is none of the tools."""
        policy = self.policies.unknown_tool
        self.issue("unknown_tool", span, f"{name!r} is not one of the tools", policy)

    def begin_call(self, name: str, call_id: str, offset: int) -> None:
        """Emit a call's first delta. Without a `call_id` of the model's own, it gets one."""
        self._end_content()
        self._enter("tool_calls")
        index = self.calls
        if not call_id and self._id_factory is not None:
            at = max(offset, 0)
            at = self.trail.decoded(at) if self.trail is not None else at
            call_id = id_of_call(self._id_factory, name, index, at, self._prompt)
        part = self.builder.begin_call(index, call_id, name, offset)
        part.repaired, self._repaired_ahead = self._repaired_ahead, False
        part.span = (offset, offset) if offset > 0 else (0, 0)
        self.calls += 1

    def complete_call(self) -> None:
        """The arguments of the open call are whole: its last delta says so."""
        part, out = self.builder.open, self.builder.out
        if part is None:
            return
        delta = out[-1] if out else None
        if not isinstance(delta, ToolCallDelta) or delta.index != self.calls - 1:
            delta = unplaced_deltas(self.calls - 1)("")
            out.append(delta)
        delta.last = True
        part.complete = True

    @property
    def open_arguments(self) -> str:
        """The arguments of the open call so far."""
        part = self.builder.open
        return part.text.getvalue() if part is not None else ""

    def end_call(self, *, complete: bool, end: int = 0) -> None:
        """The open call ends, at the offset `end`; `complete` says that it is whole."""
        part = self.builder.open
        self.not_emitted = self.extra_members = ()
        if part is not None:
            part.complete = complete
            start = part.span[0]
            part.span = (start, max(end, start))
            part.issues = frozenset(kind for kind, to in self._reach.items() if to > start)
            part.close()
            self.builder.open = None
        self._enter("content")

    def issue(self, kind: str, span: tuple[int, int], detail: str, policy: str = "") -> None:
        """Record a decision; raise `MalformedOutput` where the policy in force says "error".

        What stands before the output is the prompt's: nothing was decided about the model's text.
        """
        if span[0] < 0:
            if span[1] <= 0:
                return
            span = (0, span[1])
        self.issues.append(Issue(kind, span, detail))
        self._reach[kind] = max(span[1], self._reach.get(kind, 0))
        if kind == "repaired_arguments":
            self._mark_repaired()
        if policy == "error":
            raise MalformedOutput(detail, kind=kind, span=span)

    def _mark_repaired(self) -> None:
        """Mark the call that is open; between calls, the one before and the one that may come."""
        builder = self.builder
        if builder.parts and builder.parts[-1].kind is ToolCall:
            builder.parts[-1].repaired = True
        self._repaired_ahead = builder.open is None or builder.open.kind is not ToolCall

    def finish(self, *, required: bool) -> None:
        """The input has ended; `required`: the turn was to have a call."""
        if self.natural and self._unclosed:
            self._repeat("".join(self._unclosed))
        self._end_content()
        if required and not self.calls:
            self.issue("missing_call", (0, 0), "tool_choice asked for a call")

    def _repeat(self, text: str) -> None:
        """Emit what was emitted before as content."""
        if self.trail is not None:
            self.trail.silent = True
        self.content(text)
        if self.trail is not None:
            self.trail.silent = False

    def message(self) -> Message:
        """The message so far."""
        if not self._collect:
            raise UsageError("the message was not collected: make the parser with collect=True")
        return Message([part.part() for part in self.builder.parts], tuple(self.issues))

    def counts(self) -> Counts:
        """How much has come of each kind of part."""
        return self.amounts.counts(self.builder.characters)

    def start(self, id_factory: IdFactory, prompt: str, *, read: bool) -> None:
        """Drop what the prompt gave, if any was `read`, but for a call that it left open.

        That comes out whole, for who gets the second half of its arguments has no call.
        """
        self._id_factory = id_factory
        self._prompt = prompt
        builder = self.builder
        if not read or not (builder.parts or self.issues or self.attempts):
            return
        index, part = self.calls - 1, builder.open
        begun = [
            delta
            for delta in builder.out
            if isinstance(delta, ToolCallDelta) and delta.index == index
        ]
        builder.forget()
        self.issues.clear()
        self.attempts.clear()
        self._reach.clear()
        self.calls = 0
        self.amounts.start(0)
        if part is None or part.kind is not ToolCall:
            builder.open = None
            return
        self.begin_call(part.name, part.call_id, 0)
        builder.add_to_first("".join(delta.arguments for delta in begun))
        if begun[-1].last:
            self.complete_call()

    def _end_content(self) -> None:
        if self._fence is not None:
            self._fence.end()


class ExactDraft(Sink):
    """A sink that takes calls, and refuses all else."""

    __slots__ = ()

    def __init__(self, **rules: Any) -> None:
        super().__init__(**rules)
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
