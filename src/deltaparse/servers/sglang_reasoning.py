"""SGLang's reasoning detector. It runs before the detector of tool calls.

The interface is `BaseReasoningFormatDetector` of SGLang 0.5.23, in
`sglang/srt/parser/reasoning_parser.py`. SGLang does not pass the prompt. It passes only
`force_reasoning`, if the prompt opened reasoning, and `previous_content`, the part of the response
already in the prompt.
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
"""Template switches supported by SGLang."""


@dataclass
class ReasoningResult:
    """New text and new reasoning in one step."""

    normal_text: str = ""
    reasoning_text: str = ""


class SglangReasoningDetector:
    """A reasoning detector for SGLang. `sglang_reasoning_detector` creates the class for a format.

    Args:
        stream_reasoning: emit reasoning incrementally, not only at its end.
        force_reasoning: the prompt opened reasoning (default: determined by the format's
            generation prompt).
        continue_final_message: the response continues `previous_content`.
        previous_content: the beginning of the response, already in the prompt.
        force_nonempty_content: emit a response of reasoning only as content.
        tool_call_parser_active: a tool-call detector reads the rest. Otherwise this detector reads
            the complete response.
        tokenizer: the server's tokenizer.
    """

    source: ClassVar[Any]  # a FormatSource, as a staticmethod if it is a function
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
        # SGLang's constructor is not called, because it allows only one spelling of each marker.
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
        """True if reasoning has begun and is not over."""
        if self._answer is not None:
            return self._answer.in_reasoning
        return self._split is not None and self._split.opened and not self._split.closed

    _in_reasoning = in_reasoning

    def detect_and_parse(self, text: str) -> Any:
        """Return the reasoning and the rest of a complete response, and reset the state."""
        self._start()
        self._withheld, self._has_content = [], False
        first, last = self.parse_streaming_increment(text), self.finish()
        self._start()
        return self.results(
            normal_text=first.normal_text + last.normal_text,
            reasoning_text=first.reasoning_text + last.reasoning_text,
        )

    def parse_streaming_increment(self, new_text: str) -> Any:
        """Return the new text and reasoning in the next chunk."""
        return self._made(*self._read(self._strays.feed(new_text)))

    def finish(self) -> Any:
        """End the response and return the buffered text and reasoning."""
        reasoning, rest = self._read(self._strays.finish())
        if self._answer is not None:
            end = _texts(self._answer.finish())
        else:
            end = self._split.finish() if self._split is not None else ("", "")
        return self._made(reasoning + end[0], rest + end[1], last=True)

    def get_think_end_token_ids(self, tokenizer: Any) -> list[int]:
        """Return the token ids of the end marker."""
        ids: list[int] = tokenizer.encode(self.think_end_token, add_special_tokens=False)
        return ids

    def get_self_opened_think_start_token_ids(self, tokenizer: Any) -> list[int] | None:
        """Return the token ids of the start marker if the model writes it itself, else None."""
        if not self.think_start_token or self._opens(self.wire_format.turn.generation_prompt):
            return None
        ids: list[int] = tokenizer.encode(self.think_start_token, add_special_tokens=False)
        return ids

    def get_answer_frame(self) -> None:
        """Return None, because answers have no frame for a grammar to exclude."""

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
        """Return a prompt with open reasoning if `forced`, or not open otherwise."""
        turn, reasoning = self.wire_format.turn, self.wire_format.reasoning
        header = next(iter(turn.headers), "")
        if forced is None:
            return turn.generation_prompt or header
        if forced:
            return header + reasoning.start
        # Reasoning without a start marker can only be closed in the prompt.
        return header if reasoning.start.strip() else header + reasoning.end

    def _default(self) -> str | None:
        """Return SGLang's default if it cannot detect the template's behavior.

        With "always", the prompt opens reasoning. With the name of a switch, it does unless a
        request disables the switch. With None, the model opens reasoning itself.
        """
        fmt = self.wire_format
        if not self._opens(fmt.turn.generation_prompt):
            return None
        known = [name for name in SWITCHES if name in fmt.switches]
        # The template of a named format is unknown, but most templates have a switch.
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
