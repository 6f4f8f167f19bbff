"""vLLM's `ReasoningParser`. `vllm.py` creates and registers the classes.

Text is read by a `ReasoningSplit`. Methods for tokens decode them and read the text, because a
marker may consist of any tokens and may share a token with adjacent text.
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
    """Metaclass for the `reasoning_parser_cls` of vLLM's `Parser`, to detect its tool parser.

    Without a tool parser, the reasoning parser must read the text after reasoning, too.
    """

    def __get__(cls, instance: object, owner: type[Any] | None = None) -> type[Any]:
        """Return this class, or without a tool parser a subclass for complete responses."""
        if getattr(owner, "tool_parser_cls", cls) is not None:
            return cls
        return KnowsItsParser(cls.__name__, (cls,), {"alone": True, "__module__": __name__})


class VllmReasoningParser(metaclass=KnowsItsParser):
    """A `ReasoningParser` for vLLM. `vllm_reasoning_parser` creates the class for a format.

    Args:
        tokenizer: the server's tokenizer, of which `decode(ids)` is used.
        args: ignored.
        kwargs: further arguments of some versions. If the prompt is unknown, it is rendered with
            the tokenizer's `chat_template` and `chat_template_kwargs`.
    """

    source: ClassVar[Any]  # a FormatSource, as a staticmethod if it is a function
    options: ClassVar[Options]
    results: ClassVar[VllmResults]
    call_ends_reasoning: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    """True without a tool parser for the text after reasoning."""

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
        # Unsupported formats raise an error here instead of in the middle of a response.
        self._new()

    @property
    def reasoning_start_str(self) -> str | None:
        """The start marker for vLLM's grammars, or None."""
        return self.wire_format.reasoning.start.strip() or None

    @property
    def reasoning_end_str(self) -> str | None:
        """The end marker, or None."""
        return self.wire_format.reasoning.end.strip() or None

    def adjust_request(self, request: Any) -> Any:
        """Set a request to keep special tokens if markers need them, and return it."""
        return with_special_tokens(request, self.wire_format, self.model_tokenizer)

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Set the prompt, which determines if reasoning is open at the start."""
        self._prompt = self._decoded(prompt_token_ids)
        self._split = self._answer = None

    adjust_initial_state_from_prompt = set_prompt_token_ids

    def extract_reasoning(
        self, model_output: str, request: Any = None
    ) -> tuple[str | None, str | None]:
        """Return the reasoning and the rest of a complete response, each or None if absent."""
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
        """Return the new reasoning and content in `delta_text` as a `DeltaMessage`, or None."""
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

    # Older versions of vLLM use these names.
    extract_reasoning_content = extract_reasoning
    extract_reasoning_content_streaming = extract_reasoning_streaming

    def finish_streaming(self) -> Any:
        """End the response or its reasoning, and return the buffered text, or None."""
        if self._answer is not None:
            held = self._strays.finish()
            deltas = self._answer.feed(held) if held else []
            return self.results.delta([*deltas, *self._answer.finish()])
        return None if self._split is None else self.results.split(*self._flush(self._split))

    def get_streaming_fallback_content(self, text: str, request: Any) -> str | None:
        """Return unclosed reasoning as content if `Policies(unclosed_reasoning="copy")` is set.

        Otherwise return None. vLLM calls this method at the end of a response.
        """
        del text, request
        if self._split is None or self._split.ended:
            return None
        held = self._flushed = self._flush(self._split)
        return self._copied("".join([*self._reasoning, held[0]]), self._split) or None

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Return True if the reasoning of the response is over or absent.

        Without a tool parser it is never over, because this parser reads the rest, too.
        """
        return self._split is not None and self._split.ended

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Return True if reasoning is over at the end of a prompt.

        Only the last turn counts. Before its response has begun, reasoning is not over.
        """
        if self.alone and self.wire_format.content.mode is not ContentMode.PLAIN:
            # With True, vLLM would emit the markers around content, because no parser reads them.
            return False
        return self._over(self._decoded(input_ids))

    def reasoning_ended_in_prompt(self, prompt_token_ids: Sequence[int]) -> bool:
        """Return True if the prompt has closed the reasoning of its last turn."""
        return self._over(self._decoded(prompt_token_ids))

    def is_reasoning_end_streaming(
        self, input_ids: Sequence[int], delta_ids: Iterable[int]
    ) -> bool:
        """Return True if reasoning is over after the last step.

        Args:
            input_ids: the token ids of the response so far, with or without the prompt.
            delta_ids: the token ids of the last step.
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
        """Return the token ids after reasoning, or [] while it continues."""
        text = self._decoded(input_ids)
        start, end = self.reasoning_start_str, self.reasoning_end_str
        if end and end in text and not (start and start in text):
            # vLLM also passes the tokens of a single step, with reasoning opened earlier.
            return list(input_ids[self._tokens_to(input_ids, text.index(end) + len(end)) :])
        split = self._read(text)
        return list(input_ids[self._tokens_to(input_ids, split.rest_at) :]) if split.ended else []

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Return the number of reasoning tokens in a response, without the markers."""
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
        """Return a parser for complete responses without a tool parser. Calls are text then."""
        policies = self.options.policies
        return StreamParser(self.wire_format, tools=[], prompt=prompt, policies=policies)

    def _flush(self, split: ReasoningSplit) -> tuple[str, str]:
        if self._flushed is not None:
            flushed, self._flushed = self._flushed, None
            return flushed
        read, ended = split.feed(self._strays.finish()), split.finish()
        return read[0] + ended[0], read[1] + ended[1]

    def _copied(self, reasoning: str, split: ReasoningSplit) -> str:
        """Return unclosed reasoning if the policy copies it to content, else "".

        Reasoning with a call is not copied, because the tool parser would read the draft as a call.
        """
        if split.ended or self.options.policies.unclosed_reasoning != "copy":
            return ""
        start, end = marker_tables(self.wire_format, calls=True).call_starts.find(
            reasoning, final=True
        )
        return "" if end > start else reasoning

    def _assumed(self, output: str) -> str:
        """Return the assumed prompt of a response, or "" for the format's own.

        If the request can make the prompt open or close reasoning, a complete response shows which
        of the two it was.
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
        """Return True if reasoning is over at the end of a prompt or a response.

        A text without evidence of a response is read as a prompt.
        """
        split = self._new(text)
        split.finish()
        return split.ended

    def _is_prompt(self, text: str) -> bool:
        """Return True if a text may be a prompt, or a response with reasoning markers."""
        reasoning, turn = self.wire_format.reasoning, self.wire_format.turn
        markers = filter(None, (reasoning.start.strip(), reasoning.end.strip()))
        shown = self.wire_format.derived.turn_in(text) is not None
        return bool(text) and (
            shown or not turn.headers or any(marker in text for marker in markers)
        )

    def _decoded(self, ids: Sequence[int]) -> str:
        if self.model_tokenizer is None:
            raise UsageError("reading tokens requires a tokenizer: pass one to the parser")
        decoded: str = self.model_tokenizer.decode(list(ids))
        return decoded

    def _tokens_to(self, ids: Sequence[int], offset: int) -> int:
        """Return the number of tokens up to an offset of their text."""
        return bisect_left(
            range(len(ids)), offset, key=lambda count: len(self._decoded(ids[:count]))
        )
