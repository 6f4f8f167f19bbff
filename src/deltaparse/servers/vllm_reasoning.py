"""vLLM's `ReasoningParser`; `vllm.py` makes its classes and registers them.

Answers in text come from a `ReasoningSplit`. Those in tokens are of the text that the tokens
decode to: a marker may be spelled of any tokens, and some of it may share one with its neighbour.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from deltaparse.partial import UsageError
from deltaparse.stream import ReasoningMode, WireFormat
from deltaparse.stream.wire.marker_tables import marker_tables

from .plugin import Options, format_of
from .reasoning_split import ReasoningSplit
from .vllm_results import VllmResults

__all__ = ["VllmReasoningParser"]


class VllmReasoningParser:
    """A `ReasoningParser`; `vllm_reasoning_parser` makes the class for a format.

    Args:
        tokenizer: the server's; `decode(ids)` is what is asked of it.
        args, kwargs: what else a version passes (`model_config`, `chat_template_kwargs`); unused.
    """

    source: ClassVar[Any]  # a FormatSource; a function among them is no method
    options: ClassVar[Options]
    results: ClassVar[VllmResults]
    call_ends_reasoning: ClassVar[bool] = False

    engine_based_streaming = True

    def __init__(self, tokenizer: Any = None, *args: Any, **kwargs: Any) -> None:
        del args
        self.model_tokenizer = tokenizer
        self._model_config = kwargs.get("model_config")
        self.wire_format: WireFormat = format_of(self.source, tokenizer)
        self._prompt = ""
        self._split: ReasoningSplit | None = None
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
        """Ask for the special tokens too, for markers are among them; return the request."""
        request.skip_special_tokens = False
        return request

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        """Start the output in the state in which its prompt ends."""
        self._prompt = self._decoded(prompt_token_ids)
        self._split = None

    def extract_reasoning(
        self, model_output: str, request: Any = None
    ) -> tuple[str | None, str | None]:
        """Return the reasoning of a whole output and all that follows, None for what is absent."""
        del request
        split = self._new(self._prompt or self._assumed(model_output))
        read, ended = split.feed(model_output), split.finish()
        return read[0] + ended[0] or None, read[1] + ended[1] or None

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
        del previous_text, current_text, previous_token_ids, current_token_ids, delta_token_ids
        if self._split is None:
            self._split = self._new()
        return self.results.split(*self._split.feed(delta_text))

    # Their names in older versions.
    extract_reasoning_content = extract_reasoning
    extract_reasoning_content_streaming = extract_reasoning_streaming

    def finish_streaming(self) -> Any:
        """End the output, or its reasoning; return what was held back, or None."""
        return None if self._split is None else self.results.split(*self._split.finish())

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Return whether reasoning is over in the output, or there was none."""
        return self._split is not None and self._split.ended

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Return whether reasoning is over at the end of a prompt or of an output.

        Of a prompt the last turn counts. Where its answer has not begun, it is not over.
        """
        return self._over(self._decoded(input_ids))

    def reasoning_ended_in_prompt(self, prompt_token_ids: Sequence[int]) -> bool:
        """Return whether the prompt has closed the reasoning of its last turn."""
        return self._over(self._decoded(prompt_token_ids))

    def is_reasoning_end_streaming(
        self, input_ids: Sequence[int], delta_ids: Iterable[int]
    ) -> bool:
        """Return whether reasoning ends in the last step, `delta_ids` of `input_ids`."""
        count = len(list(delta_ids))
        if not self.wire_format.facts.has_reasoning:
            return True
        tables = marker_tables(self.wire_format, calls=True)
        # A marker has no more tokens than bytes, of which a character has at most four.
        since = max(len(input_ids) - count, 0)
        first = max(since - 4 * tables.longest, 0)
        markers = tables.in_reasoning if self.call_ends_reasoning else tables.in_reasoning_only
        texts = self._decoded(input_ids[first:since]), self._decoded(input_ids[first:])
        before, now = (markers.find(text, final=True) for text in texts)
        return now[1] > now[0] and before[1] == before[0]

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

    def _assumed(self, output: str) -> str:
        """Return the prompt that an output must have had; "" for the format's own.

        Where a prompt closes reasoning or opens it, as the request wants, vLLM asks a reasoning
        parser only where it does not close it. A whole output shows whether it was opened.
        """
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
        """Return whether reasoning is over at the end of a text, a prompt if it looks like one."""
        is_prompt = self.wire_format.facts.turn_in(text) is not None
        split = self._new(text) if is_prompt else self._read(text)
        split.finish()
        return split.ended

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
