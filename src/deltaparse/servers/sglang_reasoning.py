"""SGLang's reasoning detector: what comes before the detector of calls.

The methods are those of `BaseReasoningFormatDetector` in `sglang/srt/parser/reasoning_parser.py`,
as of SGLang 0.5.23. SGLang does not pass the prompt on: it says whether the prompt opened reasoning
(`force_reasoning`), and what of the answer the prompt already had (`previous_content`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from deltaparse.stream import ContentDelta, Delta, ReasoningDelta, StreamParser

from .plugin import Options, format_of
from .reasoning_split import ReasoningSplit

__all__ = ["ReasoningResult", "SglangReasoningDetector"]

SWITCHES = ("enable_thinking", "thinking")
"""The switches of templates that SGLang knows."""


@dataclass
class ReasoningResult:
    """What one step has made certain: text, and reasoning."""

    normal_text: str = ""
    reasoning_text: str = ""


class SglangReasoningDetector:
    """A reasoning detector; `sglang_reasoning_detector` makes the class for a format.

    Args:
        stream_reasoning: reasoning comes as it is written, not all at its end.
        force_reasoning: the prompt opened reasoning. By default: where the format's own does.
        continue_final_message, previous_content: the answer goes on from this text.
        force_nonempty_content: an answer that is all reasoning is content.
        tool_call_parser_active: a detector of calls reads what follows; without one this
            detector reads all of the answer.
        tokenizer: the server's.
    """

    source: ClassVar[Any]  # a FormatSource; a function among them is no method
    options: ClassVar[Options]
    results: ClassVar[type[Any]]
    call_ends_reasoning: ClassVar[bool] = False

    think_start_self_label = ""
    think_excluded_tokens: list[str] | None = None
    tool_start_token: str | None = None
    thinks_internally = False

    def __init__(
        self,
        stream_reasoning: bool = True,
        force_reasoning: bool | None = None,
        continue_final_message: bool = False,
        previous_content: str = "",
        force_nonempty_content: bool = False,
        tool_call_parser_active: bool = False,
        tokenizer: Any = None,
    ) -> None:
        # SGLang's own constructor is left out: it wants markers in one spelling.
        self.wire_format = fmt = format_of(self.source, tokenizer)
        self.think_start_token = fmt.reasoning.start.strip()
        self.think_end_token = fmt.reasoning.end.strip()
        self.stream_reasoning = stream_reasoning
        self.force_reasoning = bool(force_reasoning)
        self.reasoning_default = self._default()
        self._tokenizer = tokenizer
        self._reader_follows = tool_call_parser_active
        self._nonempty = force_nonempty_content
        self._prompt = self._assumed(force_reasoning)
        if continue_final_message:
            self._prompt += previous_content or ""
        self._withheld: list[str] = []
        self._has_content = False
        self._start()

    @property
    def in_reasoning(self) -> bool:
        """Whether reasoning has begun and is not over."""
        if self._answer is not None:
            return self._answer.in_reasoning
        return self._split is not None and self._split.opened and not self._split.closed

    _in_reasoning = in_reasoning

    def detect_and_parse(self, text: str) -> Any:
        """Return the reasoning and the rest of a whole output; keep nothing."""
        self._start()
        self._withheld, self._has_content = [], False
        first, last = self.parse_streaming_increment(text), self.finish()
        self._start()
        return self.results(
            normal_text=first.normal_text + last.normal_text,
            reasoning_text=first.reasoning_text + last.reasoning_text,
        )

    def parse_streaming_increment(self, new_text: str) -> Any:
        """Return what the next chunk makes certain."""
        return self._made(*self._read(self._strays.feed(new_text)))

    def finish(self) -> Any:
        """End the output; return what was held back."""
        reasoning, rest = self._read(self._strays.finish())
        if self._answer is not None:
            end = _texts(self._answer.finish())
        else:
            end = self._split.finish() if self._split is not None else ("", "")
        return self._made(reasoning + end[0], rest + end[1], last=True)

    def get_think_end_token_ids(self, tokenizer: Any) -> list[int]:
        """Return the tokens of the end marker."""
        ids: list[int] = tokenizer.encode(self.think_end_token, add_special_tokens=False)
        return ids

    def get_self_opened_think_start_token_ids(self, tokenizer: Any) -> list[int] | None:
        """Return the tokens of the start marker, where the model itself writes it."""
        if not self.think_start_token or self._opens(self.wire_format.turn.generation_prompt):
            return None
        ids: list[int] = tokenizer.encode(self.think_start_token, add_special_tokens=False)
        return ids

    def get_answer_frame(self) -> None:
        """Return None: nothing stands round an answer that a grammar would have to leave out."""

    def _start(self) -> None:
        fmt, policies = self.wire_format, self.options.policies
        self._strays = self.options.strays(fmt, self._tokenizer)
        self._split: ReasoningSplit | None = None
        self._answer: StreamParser | None = None
        if self._reader_follows and not fmt.derived.has_channels:
            self._split = ReasoningSplit(
                fmt, prompt=self._prompt, call_ends_reasoning=self.call_ends_reasoning
            )
        else:
            self._answer = StreamParser(fmt, tools=[], prompt=self._prompt, policies=policies)

    def _assumed(self, forced: bool | None) -> str:
        """Return a prompt that ends as the server says: with reasoning open, or not."""
        turn, reasoning = self.wire_format.turn, self.wire_format.reasoning
        header = next(iter(turn.headers), "")
        if forced is None:
            return turn.generation_prompt or header
        if forced:
            return header + reasoning.start
        # A format whose reasoning nothing opens has it closed by the prompt.
        return header if reasoning.start.strip() else header + reasoning.end

    def _default(self) -> str | None:
        """Return what SGLang goes by where it learns nothing from the template.

        "always": the prompt opens reasoning. A switch of these: it does unless a request turns it
        off. None: the model opens it itself.
        """
        fmt = self.wire_format
        if not self._opens(fmt.turn.generation_prompt):
            return None
        known = [name for name in SWITCHES if name in fmt.switches]
        # Of a named format it is not known whether its template has a switch: most have.
        return "".join(known[:1]) or ("always" if fmt.verified else SWITCHES[0])

    def _opens(self, prompt: str) -> bool:
        start, end = self.think_start_token, self.think_end_token
        return bool(start) and prompt.rfind(start) > prompt.rfind(end)

    def _read(self, text: str) -> tuple[str, str]:
        if self._split is not None:
            return self._split.feed(text)
        return _texts(self._answer.feed(text)) if self._answer is not None and text else ("", "")

    def _made(self, reasoning: str, rest: str, *, last: bool = False) -> Any:
        self._has_content = self._has_content or bool(rest)
        if not self.stream_reasoning or self._nonempty:
            self._withheld.append(reasoning)
            reasoning = ""
            if self._has_content or last:
                reasoning = "".join(self._withheld)
                self._withheld.clear()
        if last and self._nonempty and not self._has_content:
            reasoning, rest = "", reasoning
        return self.results(normal_text=rest, reasoning_text=reasoning)


def _texts(deltas: Iterable[Delta]) -> tuple[str, str]:
    """Return the reasoning and the content of deltas."""
    reasoning: list[str] = []
    content: list[str] = []
    for delta in deltas:
        if isinstance(delta, ReasoningDelta):
            reasoning.append(delta.text)
        elif isinstance(delta, ContentDelta):
            content.append(delta.text)
    return "".join(reasoning), "".join(content)
