"""One assistant turn as it comes: the only place where deltas are made and the message grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, Literal

from deltaparse.partial import MalformedOutput, UsageError

from .call_ids import CallPlace, IdFactory, made_id
from .code_block import CodeBlock
from .deltas import ContentDelta, Delta, ReasoningDelta, ToolCallDelta, arguments_deltas
from .message import Content, Issue, Message, Reasoning, ToolCall
from .policies import Policies
from .run import Run, Uncollected
from .tally import Seen, Tally

__all__ = ["Turn", "Verdict"]

Verdict = Literal["call", "text", "drop"]
"""What becomes of a call, once its name is known."""


LENIENT = Policies(tool_in_reasoning="reasoning")
"""The policies of a draft."""


class Turn:
    """The sink of the sub-parsers.

    `out` takes the deltas until they are handed out; `run` is the part that is open. `tools` are
    the functions that may be called, each with the JSON Schema of its arguments; None for any.
    `only` is the one that `tool_choice` names. `natural` says, once the input is closed, whether
    the turn ended by itself or was cut off. Without `collect`, the message is not kept. With
    `offset`, which says how much of the output was read, content is JSON that was asked for, and
    loses the code block that it is wrapped in.
    """

    __slots__ = (
        "_block",
        "_collect",
        "_id_factory",
        "_inline_open",
        "_mended",
        "_prompt",
        "_runs",
        "_written",
        "arguments",
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
        "run",
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
        self._collect = collect
        # Bound once, so that a sink can be told from another by `is`.
        self.content: Callable[[str], None] = self._content
        self.reasoning: Callable[[str], None] = self._reasoning
        self.arguments: Callable[[str], None] = self._arguments
        self._block = CodeBlock(self._content, self.issue, offset) if offset else None
        if self._block is not None:
            self.content = self._block.write
        if reasoning_output != "separate":
            self.reasoning = self._inline if reasoning_output == "inline" else self.content
        self.tally = Tally()
        self._written = 0
        self._mended = False
        self._inline_open = False
        # None while the prompt is read, and in drafts: their calls are not handed out.
        self._id_factory: IdFactory | None = None
        self._prompt = ""
        self._runs: list[Run] = []
        self.run: Run | None = None

    def draft(self) -> Turn:
        """A turn with the same rules, for a look at text whose meaning is not known yet."""
        draft = Turn(tools=self.tools, parallel=True, policies=LENIENT)
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
        self.run = None

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
        run = self._begin(
            Run(
                ToolCall,
                arguments_deltas(index),
                self.arguments,
                self._sheet(),
                index,
                call_id,
                name,
            )
        )
        run.repaired, self._mended = self._mended, False
        run.span = (max(offset, 0), max(offset, 0))
        self.calls += 1
        self.out.append(ToolCallDelta(index, call_id, name))

    def _arguments(self, text: str) -> None:
        """Hand out a piece of the arguments of the call that is open."""
        run = self.run
        if text and run is not None:
            make, write = run.make, run.write
            self.out.append(make(text))
            write(text)

    @property
    def open_arguments(self) -> str:
        """The arguments of the open call so far."""
        return self.run.text.getvalue() if self.run is not None else ""

    def end_call(self, *, complete: bool, end: int = 0) -> None:
        """The open call ends, at the offset `end`; `complete` says that it is whole."""
        if self.run is not None:
            self.run.complete = complete
            self.run.span = (self.run.span[0], max(end, *self.run.span))
            self.run = None
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
        self._mended = self.run is None or self.run.kind is not ToolCall

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
        if not self._collect:
            raise UsageError("the message was not collected: make the parser with collect=True")
        return Message([run.part() for run in self._runs])

    def seen(self) -> Seen:
        """How much has come of each kind of part."""
        return self.tally.seen(self._characters)

    def start(self, id_factory: IdFactory, prompt: str) -> None:
        """The prompt is read: drop what it gave. A call that it left open is announced."""
        self._id_factory = id_factory
        self._prompt = prompt
        if not self._runs and not self.issues:
            return
        self.out.clear()
        self.issues.clear()
        self._runs.clear()
        self.calls = self._written = 0
        self.tally.start(0)
        run = self.run
        if run is not None and run.kind is ToolCall:
            self.begin_call(run.name, run.call_id, 0)
        else:
            self.run = None

    def _content(self, text: str) -> None:
        """Hand out content as it is."""
        if not text:
            return
        run = self.run
        if run is None or run.kind is not Content:
            sink = None if self._block else self.content
            run = self._begin(Run(Content, ContentDelta, sink, self._sheet()))
        self.out.append(ContentDelta(text))
        write = run.write
        write(text)

    def _end_content(self) -> None:
        if self._block is not None:
            self._block.end()

    def _reasoning(self, text: str) -> None:
        if not text:
            return
        run = self.run
        if run is None or run.kind is not Reasoning:
            run = self._begin(Run(Reasoning, ReasoningDelta, self.reasoning, self._sheet()))
        self.out.append(ReasoningDelta(text))
        write = run.write
        write(text)

    def _inline(self, text: str) -> None:
        if text and not self._inline_open:
            self._inline_open = True
            self._content("<think>")
        self._content(text)

    @property
    def _characters(self) -> int:
        """How many characters were handed out."""
        return self._written + (self._runs[-1].text.tell() if self._runs else 0)

    def _sheet(self) -> StringIO | Uncollected:
        return StringIO() if self._collect else Uncollected()

    def _begin(self, run: Run) -> Run:
        self._written = self._characters
        if not self._collect:
            self._runs.clear()
        self._runs.append(run)
        self.run = run
        return run
