"""One assistant turn as it comes: what the rules of the request make of what is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from deltaparse.partial import MalformedOutput, UsageError

from .builder import MessageBuilder, OpenPart
from .counts import Counts, RunningCounts
from .ids import CallPlace, IdFactory, made_id
from .json_fence import JsonFence
from .message import Content, Issue, Message, Reasoning, ToolCall
from .policies import Policies

__all__ = ["Sink", "Verdict"]

Verdict = Literal["call", "text", "drop"]
"""What becomes of a call, once its name is known."""


LENIENT = Policies(tool_in_reasoning="reasoning")
"""The policies of a draft."""


class Sink:
    """The sink of the sub-parsers.

    `content`, `reasoning` and `arguments` take text for the message, `parts` is what grows of it.

    `tools` are the functions that may be called, each with the JSON Schema of its arguments; None
    for any. `only` is the one that `tool_choice` names. `natural` says, once the input is closed,
    whether the turn ended by itself or was cut off. Without `collect`, the message is not kept.
    With `offset`, which says how much of the output was read, content is JSON that was asked for,
    and loses the code block that it is wrapped in.
    """

    # Nothing here refers to the turn itself, so that it goes when the parser goes.
    __slots__ = (
        "_block",
        "_collect",
        "_id_factory",
        "_mended",
        "_prompt",
        "arguments",
        "calls",
        "content",
        "issues",
        "natural",
        "only",
        "parallel",
        "parts",
        "policies",
        "reasoning",
        "reasoning_output",
        "seen_reasoning",
        "tally",
        "tools",
    )

    def __init__(
        self,
        *,
        tools: Mapping[str, Any] | None = None,
        only: str | None = None,
        parallel: bool = True,
        policies: Policies,
        reasoning_output: Literal["separate", "inline", "raw"] = "separate",
        collect: bool = True,
        offset: Callable[[], int] | None = None,
    ) -> None:
        self.issues: list[Issue] = []
        self.calls = 0
        self.natural = True
        self.seen_reasoning = False
        self.tools = tools
        self.only = only
        self.parallel = parallel
        self.policies = policies
        self.reasoning_output = reasoning_output
        self._collect = collect
        parts = self.parts = MessageBuilder(collect=collect)
        # Bound once, so that a sink can be told from another by `is`.
        self.content: Callable[[str], None] = parts.content
        self.reasoning: Callable[[str], None] = parts.reasoning
        self.arguments: Callable[[str], None] = parts.arguments
        self._block = JsonFence(parts.content, self.issues, offset) if offset else None
        if self._block is not None:
            self.content = self._block.write
        if reasoning_output == "inline":
            self.reasoning = parts.inline_reasoning
        elif reasoning_output == "raw":
            self.reasoning = self.content
        self.tally = RunningCounts()
        self._mended = False
        # None while the prompt is read, and in drafts: their calls are not handed out.
        self._id_factory: IdFactory | None = None
        self._prompt = ""

    def part_of(self, sink: Callable[[str], None]) -> OpenPart | None:
        """The open part, if all that `sink` takes goes there unchanged."""
        run = self.parts.run
        if run is None:
            return None
        if run.kind is ToolCall:
            own = self.arguments
        elif run.kind is Reasoning:
            own = self.reasoning
        else:
            own = self.content
        return run if sink is own and (self._block is None or run.kind is not Content) else None

    def draft(self) -> Sink:
        """A turn with the same rules, for a look at text whose meaning is not known yet."""
        draft = Sink(tools=self.tools, parallel=True, policies=LENIENT)
        draft.natural = self.natural
        return draft

    def open_reasoning(self, marker: str) -> None:
        """Reasoning begins; `marker` is what the model wrote to say so, "" if nothing."""
        self._end_content()
        self.seen_reasoning = True
        self.tally.enter("reasoning", self.parts.characters)
        if self.reasoning_output == "raw":
            self.parts.content(marker)

    def leave_reasoning(self) -> None:
        """The end marker of reasoning was seen; the white space after it may still come."""
        self.tally.enter("content", self.parts.characters)

    def close_reasoning(self, marker: str) -> None:
        """Reasoning ends; `marker` is what the model wrote to say so, "" if nothing."""
        self.tally.enter("reasoning", self.parts.characters)
        if self.reasoning_output == "raw":
            self.parts.content(marker)
        self.parts.close_inline_reasoning()
        self.tally.enter("content", self.parts.characters)

    def end_part(self) -> None:
        """A part ends here, also when one of the same kind follows."""
        self._end_content()
        self.parts.run = None

    def admit(self, name: str, span: tuple[int, int]) -> Verdict:
        """Say what becomes of a call of `name`, which stands at `span`."""
        if self.tools is not None and name not in self.tools:
            policy = self.policies.unknown_tool
            self.issue("unknown_tool", span, f"{name!r} is not one of the tools", policy)
            if policy == "text":
                return "text"
        elif self.only is not None and name != self.only:
            self.issue("wrong_tool", span, f"{name!r} was called, tool_choice names {self.only!r}")
        if self.calls and not self.parallel:
            extra = self.policies.extra_calls
            self.issue("extra_call", span, f"{name!r}: parallel calls are off", extra)
            if extra in ("text", "drop"):
                return extra
        return "call"

    def begin_call(self, name: str, call_id: str, offset: int) -> None:
        """Hand out a call's first delta. Without a `call_id` of the model's own, it gets one."""
        self._end_content()
        self.tally.enter("tool_calls", self.parts.characters)
        index = self.calls
        if not call_id and self._id_factory is not None:
            place = CallPlace(name=name, index=index, offset=offset, prompt=self._prompt)
            call_id = made_id(self._id_factory, place)
        run = self.parts.begin_call(index, call_id, name)
        run.repaired, self._mended = self._mended, False
        run.span = (max(offset, 0), max(offset, 0))
        self.calls += 1

    @property
    def open_arguments(self) -> str:
        """The arguments of the open call so far."""
        run = self.parts.run
        return run.text.getvalue() if run is not None else ""

    def end_call(self, *, complete: bool, end: int = 0) -> None:
        """The open call ends, at the offset `end`; `complete` says that it is whole."""
        run = self.parts.run
        if run is not None:
            run.complete = complete
            run.span = (run.span[0], max(end, *run.span))
            run.close()
            self.parts.run = None
        self.tally.enter("content", self.parts.characters)

    def issue(self, kind: str, span: tuple[int, int], detail: str, policy: str = "") -> None:
        """Record a decision; raise `MalformedOutput` where the policy in force says "error"."""
        self.issues.append(Issue(kind, span, detail))
        if kind == "repaired_arguments":
            self._mark_repaired()
        if policy == "error":
            raise MalformedOutput(detail, kind=kind, span=span)

    def _mark_repaired(self) -> None:
        """Mark the call that is open; between calls, the one before and the one that may come."""
        parts = self.parts
        if parts.runs and parts.runs[-1].kind is ToolCall:
            parts.runs[-1].repaired = True
        self._mended = parts.run is None or parts.run.kind is not ToolCall

    def finish(self, *, required: bool) -> None:
        """The input has ended; `required`: the turn was to have a call."""
        runs = [run for run in self.parts.runs if run.text.tell()]
        policy = self.policies.unclosed_reasoning
        unclosed = any(issue.kind == "unclosed_reasoning" for issue in self.issues)
        if unclosed and policy == "copy" and self.natural and not self.calls:
            if all(run.kind is Reasoning for run in runs):
                self.content("".join(run.text.getvalue() for run in runs))
        self._end_content()
        if required and self.natural and not self.calls:
            self.issue("missing_call", (0, 0), "tool_choice asked for a call")

    def message(self) -> Message:
        """The message so far."""
        if not self._collect:
            raise UsageError("the message was not collected: make the parser with collect=True")
        return Message([run.part() for run in self.parts.runs])

    def counts(self) -> Counts:
        """How much has come of each kind of part."""
        return self.tally.counts(self.parts.characters)

    def start(self, id_factory: IdFactory, prompt: str) -> None:
        """The prompt is read: drop what it gave. A call that it left open is announced."""
        self._id_factory = id_factory
        self._prompt = prompt
        parts = self.parts
        if not parts.runs and not self.issues:
            return
        parts.forget()
        self.issues.clear()
        self.calls = 0
        self.tally.start(0)
        run = parts.run
        if run is not None and run.kind is ToolCall:
            self.begin_call(run.name, run.call_id, 0)
        else:
            parts.run = None

    def _end_content(self) -> None:
        if self._block is not None:
            self._block.end()
