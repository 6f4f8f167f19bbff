"""vLLM's `ReasoningParser`; `vllm.py` makes its classes and registers them.

Answers in text come from a `ReasoningSplit`. Those in tokens are of the text that the tokens
decode to: a marker may be spelled of any tokens, and some of it may share one with its neighbour.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from deltaparse.partial import UsageError
from deltaparse.stream import ContentMode, ReasoningMode, StreamParser, WireFormat
from deltaparse.stream.wire.marker_tables import marker_tables

from .plugin import Options, format_of
from .reasoning_split import ReasoningSplit
from .reasoning_steps import ReasoningSteps
from .rendered_prompts import rendered_prompt
from .special_tokens import with_special_tokens
from .vllm_results import VllmResults

__all__ = ["VllmReasoningParser"]


class KnowsItsParser(type):
    """A class that vLLM's `Parser` has as its `reasoning_parser_cls`, and knows what is beside it.

    Without a tool parser nobody reads what follows reasoning, so that this one has to.
    """

    def __get__(cls, instance: object, owner: type[Any] | None = None) -> type[Any]:
        """Return this class; one that reads whole answers where there is no tool parser."""
        if getattr(owner, "tool_parser_cls", cls) is not None:
            return cls
        return KnowsItsParser(cls.__name__, (cls,), {"alone": True, "__module__": __name__})


class VllmReasoningParser(metaclass=KnowsItsParser):
    """A `ReasoningParser`; `vllm_reasoning_parser` makes the class for a format.

    Args:
        tokenizer: the server's; `decode(ids)` is what is asked of it.
        args, kwargs: what else a version passes. Where no prompt is known, the `chat_template` of
            the tokenizer is asked with `chat_template_kwargs` how it ends.
    """

    source: ClassVar[Any]  # a FormatSource; a function among them is no method
    options: ClassVar[Options]
    results: ClassVar[VllmResults]
    call_ends_reasoning: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    """No tool parser reads what follows reasoning."""

    engine_based_streaming = True

    def __init__(self, tokenizer: Any = None, *args: Any, **kwargs: Any) -> None:
        del args
        self.model_tokenizer = tokenizer
        self._model_config = kwargs.get("model_config")
        self.wire_format: WireFormat = format_of(self.source, tokenizer)
        self._template_kwargs = kwargs.get("chat_template_kwargs") or {}
        self._prompt = ""
        self._split: ReasoningSplit | None = None
        self._answer: StreamParser | None = None
        self._strays = self.options.strays(self.wire_format, tokenizer)
        self._reasoning: list[str] = []
        self._flushed: tuple[str, str] | None = None
        self._steps: ReasoningSteps | None = None
        # A format that cannot be split is refused here, not in the middle of an output.
        self._new()

    @property
    def reasoning_start_str(self) -> str | None:
        """The start marker, for vLLM's grammars; None if there is none."""
        return self.wire_format.reasoning.start.strip() or None

    @property
    def reasoning_end_str(self) -> str | None:
        """The end marker; None if there is none."""
        return self.wire_format.reasoning.end.strip() or None

    def adjust_request(self, request: Any) -> Any:
        """Ask for the special tokens too, if markers are among them; return the request."""
        return with_special_tokens(request, self.wire_format, self.model_tokenizer)

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Start the output in the state in which its prompt ends."""
        self._prompt = self._decoded(prompt_token_ids)
        self._split = self._answer = None

    adjust_initial_state_from_prompt = set_prompt_token_ids

    def extract_reasoning(
        self, model_output: str, request: Any = None
    ) -> tuple[str | None, str | None]:
        """Return the reasoning of a whole output and all that follows, None for what is absent."""
        del request
        strays = self.options.strays(self.wire_format, self.model_tokenizer)
        output = strays.feed(model_output) + strays.finish()
        prompt = self._prompt or self._assumed(output)
        if self.alone:
            parser = self._whole_answer(prompt)
            parser.feed(output)
            parser.finish()
            message = parser.message
            return message.reasoning_content or None, message.content or None
        split = self._new(prompt)
        read, ended = split.feed(output), split.finish()
        reasoning, rest = read[0] + ended[0], read[1] + ended[1]
        return reasoning or None, rest or self._copied(reasoning, split) or None

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> Any:
        """Return what `delta_text` makes certain, as a `DeltaMessage`, or None."""
        del previous_text, current_text, previous_token_ids, current_token_ids
        text = self._strays.feed(delta_text, delta_token_ids)
        if self.alone:
            if self._answer is None:
                self._answer = self._whole_answer(self._prompt or self._assumed(""))
            return self.results.delta(self._answer.feed(text))
        if self._split is None:
            self._split = self._new()
        reasoning, rest = self._split.feed(text)
        self._reasoning.append(reasoning)
        return self.results.split(reasoning, rest)

    # Their names in older versions.
    extract_reasoning_content = extract_reasoning
    extract_reasoning_content_streaming = extract_reasoning_streaming

    def finish_streaming(self) -> Any:
        """End the output, or its reasoning; return what was held back, or None."""
        if self._answer is not None:
            held = self._strays.finish()
            deltas = self._answer.feed(held) if held else []
            return self.results.delta([*deltas, *self._answer.finish()])
        return None if self._split is None else self.results.split(*self._flush(self._split))

    def get_streaming_fallback_content(self, text: str, request: Any) -> str | None:
        """Return reasoning that is content too, since it was left open; None where it is not.

        Asked at the end of an output. `Policies(unclosed_reasoning="copy")` decides.
        """
        del text, request
        if self._split is None or self._split.ended:
            return None
        held = self._flushed = self._flush(self._split)
        return self._copied("".join([*self._reasoning, held[0]]), self._split) or None

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Return whether reasoning is over in the output, or there was none.

        Alone, it is never over: all that follows is for this parser.
        """
        return self._split is not None and self._split.ended

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Return whether reasoning is over at the end of a prompt.

        Of a prompt the last turn counts. Where its answer has not begun, it is not over.
        """
        if self.alone and self.wire_format.content.mode is not ContentMode.PLAIN:
            # vLLM would emit the markers round content: nobody else is asked for them.
            return False
        return self._over(self._decoded(input_ids))

    def reasoning_ended_in_prompt(self, prompt_token_ids: Sequence[int]) -> bool:
        """Return whether the prompt has closed the reasoning of its last turn."""
        return self._over(self._decoded(prompt_token_ids))

    def is_reasoning_end_streaming(
        self, input_ids: Sequence[int], delta_ids: Iterable[int]
    ) -> bool:
        """Return whether reasoning is over with the last step, `delta_ids` of `input_ids`.

        `input_ids` are the output so far, or the prompt with it.
        """
        if not self.wire_format.derived.has_reasoning:
            return True
        since = max(len(input_ids) - len(list(delta_ids)), 0)
        if self._steps is None or not self._steps.go_on(input_ids, since):
            prompt, start = self._prompt, 0
            before = self._decoded(input_ids[:since])
            if self._is_prompt(before):
                prompt, start = before, since
            self._steps = ReasoningSteps(self._new, self._decoded, prompt, start)
        return self._steps.over(input_ids, since)

    def extract_content_ids(self, input_ids: Sequence[int]) -> list[int]:
        """Return the tokens behind reasoning; none while it goes on."""
        text = self._decoded(input_ids)
        start, end = self.reasoning_start_str, self.reasoning_end_str
        if end and end in text and not (start and start in text):
            # vLLM asks for the tokens of one step, too: then reasoning was opened before.
            return list(input_ids[self._tokens_to(input_ids, text.index(end) + len(end)) :])
        split = self._read(text)
        return list(input_ids[self._tokens_to(input_ids, split.rest_at) :]) if split.ended else []

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Return how many tokens of an output are reasoning, without its markers."""
        split = self._read(self._decoded(token_ids))
        split.finish()
        start, end = split.span
        return max(self._tokens_to(token_ids, end) - self._tokens_to(token_ids, start), 0)

    def _new(self, prompt: str | None = None) -> ReasoningSplit:
        return ReasoningSplit(
            self.wire_format,
            prompt=prompt or self._prompt or self._assumed(""),
            call_ends_reasoning=self.call_ends_reasoning,
        )

    def _whole_answer(self, prompt: str) -> StreamParser:
        """Return what reads all of an answer to which no tool parser comes: calls are text."""
        policies = self.options.policies
        return StreamParser(self.wire_format, tools=[], prompt=prompt, policies=policies)

    def _flush(self, split: ReasoningSplit) -> tuple[str, str]:
        if self._flushed is not None:
            flushed, self._flushed = self._flushed, None
            return flushed
        read, ended = split.feed(self._strays.finish()), split.finish()
        return read[0] + ended[0], read[1] + ended[1]

    def _copied(self, reasoning: str, split: ReasoningSplit) -> str:
        """Return reasoning that was left open, where it is content too.

        Not where a call stands in it: the tool parser would take a draft for a call.
        """
        if split.ended or self.options.policies.unclosed_reasoning != "copy":
            return ""
        start, end = marker_tables(self.wire_format, calls=True).call_starts.find(
            reasoning, final=True
        )
        return "" if end > start else reasoning

    def _assumed(self, output: str) -> str:
        """Return the prompt that an output must have had; "" for the format's own.

        Where a prompt closes reasoning or opens it, as the request wants, a whole output shows
        whether it was opened.
        """
        if self._template_kwargs and getattr(self.model_tokenizer, "chat_template", None):
            rendered = rendered_prompt(self.model_tokenizer, self._template_kwargs)
            if rendered:
                return rendered
        reasoning, turn = self.wire_format.reasoning, self.wire_format.turn
        close = reasoning.end.strip()
        if reasoning.mode is not ReasoningMode.FORCED_CLOSED or close not in turn.generation_prompt:
            return ""
        before, end, _ = output.partition(close)
        opened = end and reasoning.start.strip() not in before
        header = turn.generation_prompt.partition(reasoning.start.strip() or close)[0]
        return (header or "\n") + (reasoning.start if opened else "")

    def _read(self, output: str) -> ReasoningSplit:
        split = self._new()
        split.feed(output)
        return split

    def _over(self, text: str) -> bool:
        """Return whether reasoning is over at the end of a text: a prompt, or an output.

        An output in which nothing shows that it is one is a prompt.
        """
        split = self._new(text)
        split.finish()
        return split.ended

    def _is_prompt(self, text: str) -> bool:
        """Return whether a text tells more than an output that has said nothing of reasoning."""
        reasoning, turn = self.wire_format.reasoning, self.wire_format.turn
        markers = filter(None, (reasoning.start.strip(), reasoning.end.strip()))
        shown = self.wire_format.derived.turn_in(text) is not None
        return bool(text) and (
            shown or not turn.headers or any(marker in text for marker in markers)
        )

    def _decoded(self, ids: Sequence[int]) -> str:
        if self.model_tokenizer is None:
            raise UsageError("tokens are read with a tokenizer: make the parser with one")
        decoded: str = self.model_tokenizer.decode(list(ids))
        return decoded

    def _tokens_to(self, ids: Sequence[int], offset: int) -> int:
        """Return how many of the tokens it takes to get as far as an offset of their text."""
        return bisect_left(
            range(len(ids)), offset, key=lambda count: len(self._decoded(ids[:count]))
        )
