"""One assistant turn as it comes: the only place where deltas are made and the message grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, Literal

from deltaparse.partial import MalformedOutput

from .call_ids import CallPlace, IdFactory, made_id
from .code_block import CodeBlock
from .deltas import ContentDelta, Delta, ReasoningDelta, ToolCallDelta
from .message import Content, Issue, Message, Part, Reasoning, ToolCall
from .policies import Policies
from .tally import Seen, Tally

__all__ = ["Turn", "Verdict"]

Verdict = Literal["call", "text", "drop"]
"""What becomes of a call, once its name is known."""


class _Run:
    """A part of the message while it grows."""

    __slots__ = (
        "call_id",
        "complete",
        "index",
        "kind",
        "name",
        "repaired",
        "span",
        "text",
        "write",
    )

    def __init__(self, kind: type[Part], index: int = 0, call_id: str = "", name: str = "") -> None:
        self.kind = kind
        self.text = StringIO()
        self.write = self.text.write
        self.index = index
        self.call_id = call_id
        self.name = name
        self.complete = False
        self.repaired = False
        self.span = (0, 0)

    def part(self) -> Part:
        text = self.text.getvalue()
        if self.kind is ToolCall:
            made = (self.call_id, self.name, text, self.complete, self.repaired)
            return ToolCall(*made, span=self.span)
        return Content(text) if self.kind is Content else Reasoning(text)


class Turn:
    """The sink of the sub-parsers.

    `out` takes the deltas until they are handed out. `tools` are the functions that may be
    called, each with the JSON Schema of its arguments; None for any. `only` is the one that
    `tool_choice` names. `natural` says, once the input is closed, whether the turn ended by
    itself or was cut off. With `offset`, which says how much of the output was read, content is
    JSON that was asked for, and loses the code block that it is wrapped in.
    """

    __slots__ = (
        "_block",
        "_id_factory",
        "_inline_open",
        "_mended",
        "_prompt",
        "_run",
        "_runs",
        "_written",
        "calls",
        "content",
        "issues",
        "natural",
        "only",
        "out",
        "parallel",
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
        offset: Callable[[], int] | None = None,
    ) -> None:
        self.out: list[Delta] = []
        self.issues: list[Issue] = []
        self.calls = 0
        self.natural = True
        self.seen_reasoning = False
        self.tools = tools
        self.only = only
        self.parallel = parallel
        self.policies = policies
        self.reasoning_output = reasoning_output
        outputs = {"separate": self._reasoning, "inline": self._inline, "raw": self._content}
        self.reasoning: Callable[[str], None] = outputs[reasoning_output]
        self._block = CodeBlock(self._content, self.issue, offset) if offset else None
        self.content: Callable[[str], None] = self._block.write if self._block else self._content
        self.tally = Tally()
        self._written = 0
        self._mended = False
        self._inline_open = False
        # None while the prompt is read, and in drafts: their calls are not handed out.
        self._id_factory: IdFactory | None = None
        self._prompt = ""
        self._runs: list[_Run] = []
        self._run: _Run | None = None

    def draft(self) -> Turn:
        """A turn with the same rules, for a look at text whose meaning is not known yet."""
        lenient = Policies(tool_in_reasoning="reasoning")
        draft = Turn(tools=self.tools, parallel=True, policies=lenient)
        draft.natural = self.natural
        return draft

    def open_reasoning(self, marker: str) -> None:
        """Reasoning begins; `marker` is what the model wrote to say so, "" if nothing."""
        self._end_content()
        self.seen_reasoning = True
        self.tally.enter("reasoning", self._characters)
        if self.reasoning_output == "raw":
            self._content(marker)

    def leave_reasoning(self) -> None:
        """The end marker of reasoning was seen; the white space after it may still come."""
        self.tally.enter("content", self._characters)

    def close_reasoning(self, marker: str) -> None:
        """Reasoning ends; `marker` is what the model wrote to say so, "" if nothing."""
        self.tally.enter("reasoning", self._characters)
        if self.reasoning_output == "raw":
            self._content(marker)
        elif self._inline_open:
            self._inline_open = False
            self._content("</think>")
        self.tally.enter("content", self._characters)

    def end_part(self) -> None:
        """A part ends here, also when one of the same kind follows."""
        self._end_content()
        self._run = None

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
        self.tally.enter("tool_calls", self._characters)
        index = self.calls
        if not call_id and self._id_factory is not None:
            place = CallPlace(name=name, index=index, offset=offset, prompt=self._prompt)
            call_id = made_id(self._id_factory, place)
        run = self._begin(_Run(ToolCall, index, call_id, name))
        run.repaired, self._mended = self._mended, False
        run.span = (max(offset, 0), max(offset, 0))
        self.calls += 1
        self.out.append(ToolCallDelta(index, call_id, name))

    def arguments(self, text: str) -> None:
        """Hand out a piece of the arguments of the call that is open."""
        if text and self._run is not None:
            self.out.append(ToolCallDelta(self._run.index, None, None, text))
            self._run.write(text)

    @property
    def open_arguments(self) -> str:
        """The arguments of the open call so far."""
        return self._run.text.getvalue() if self._run is not None else ""

    def end_call(self, *, complete: bool, end: int = 0) -> None:
        """The open call ends, at the offset `end`; `complete` says that it is whole."""
        if self._run is not None:
            self._run.complete = complete
            self._run.span = (self._run.span[0], max(end, *self._run.span))
            self._run = None
        self.tally.enter("content", self._characters)

    def issue(self, kind: str, span: tuple[int, int], detail: str, policy: str = "") -> None:
        """Record a decision; raise `MalformedOutput` where the policy in force says "error"."""
        self.issues.append(Issue(kind, span, detail))
        if kind == "repaired_arguments":
            self._mark_repaired()
        if policy == "error":
            raise MalformedOutput(detail, kind=kind, span=span)

    def _mark_repaired(self) -> None:
        """Mark the call that is open; between calls, the one before and the one that may come."""
        if self._runs and self._runs[-1].kind is ToolCall:
            self._runs[-1].repaired = True
        self._mended = self._run is None or self._run.kind is not ToolCall

    def finish(self, *, required: bool) -> None:
        """The input has ended; `required`: the turn was to have a call."""
        runs = [run for run in self._runs if run.text.tell()]
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
        return Message([run.part() for run in self._runs])

    def seen(self) -> Seen:
        """How much has come of each kind of part."""
        return self.tally.seen(self._characters)

    def start(self, id_factory: IdFactory, prompt: str) -> None:
        """The prompt is read: drop what it gave. A call that it left open is announced."""
        self._id_factory = id_factory
        self._prompt = prompt
        self.out.clear()
        self.issues.clear()
        self._runs.clear()
        self.calls = self._written = 0
        self.tally.start(0)
        run = self._run
        if run is not None and run.kind is ToolCall:
            self.begin_call(run.name, run.call_id, 0)
        else:
            self._run = None

    def _content(self, text: str) -> None:
        """Hand out content as it is."""
        if not text:
            return
        run = self._run
        if run is None or run.kind is not Content:
            run = self._begin(_Run(Content))
        self.out.append(ContentDelta(text))
        run.write(text)

    def _end_content(self) -> None:
        if self._block is not None:
            self._block.end()

    def _reasoning(self, text: str) -> None:
        if not text:
            return
        run = self._run
        if run is None or run.kind is not Reasoning:
            run = self._begin(_Run(Reasoning))
        self.out.append(ReasoningDelta(text))
        run.write(text)

    def _inline(self, text: str) -> None:
        if text and not self._inline_open:
            self._inline_open = True
            self._content("<think>")
        self._content(text)

    @property
    def _characters(self) -> int:
        """How many characters were handed out."""
        return self._written + (self._runs[-1].text.tell() if self._runs else 0)

    def _begin(self, run: _Run) -> _Run:
        self._written = self._characters
        self._runs.append(run)
        self._run = run
        return run
