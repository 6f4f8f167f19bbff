"""SGLang's own `/generate`: each event has all of the text so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .upstream import Generation, Reader, Received, Upstream, read_reason

__all__ = ["SGLang"]


class SGLang(Upstream):
    """`/generate`.

    Args:
        adds_bos: as for every upstream.
        increments: whether events have what is new of the text, not all of it.
    """

    kind = "sglang"
    path = "/generate"

    def __init__(self, *, adds_bos: bool = False, increments: bool = False) -> None:
        super().__init__(adds_bos=adds_bos)
        self.increments = increments

    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the request for a stream."""
        sampling = generation.sampling
        numbers = sampling.numbers()
        if "seed" in numbers:
            numbers["sampling_seed"] = numbers.pop("seed")
        asked: dict[str, Any] = {
            "max_new_tokens": sampling.max_tokens,
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
            **numbers,
        }
        if sampling.stop:
            asked["stop"] = list(sampling.stop)
        if generation.grammar is not None:
            asked["ebnf"] = generation.grammar.text
        return {"text": generation.prompt, "stream": True, "sampling_params": asked}

    def reader(self) -> Reader:
        """Return what reads the events of one stream."""
        return _Reader(self.increments)


class _Reader:
    def __init__(self, increments: bool) -> None:
        self._increments = increments
        self._text = 0
        self._tokens = 0

    def __call__(self, event: Mapping[str, Any]) -> Received:
        text, about = event["text"], event["meta_info"]
        if not self._increments:
            # What was sent stays; the end of it may be half a character until it is whole.
            text, self._text = text[self._text :], max(self._text, len(text))
        made = about.get("completion_tokens")
        tokens = 0
        if isinstance(made, int):
            tokens, self._tokens = max(made - self._tokens, 0), made
        ended = about.get("finish_reason")
        if ended is None:
            return Received(text=text, tokens=tokens)
        if not isinstance(ended, Mapping):
            ended = {"type": ended}
        usage = None
        if isinstance(made, int):
            read = about.get("prompt_tokens") or 0
            usage = {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}
            if about.get("cached_tokens"):
                usage["prompt_tokens_details"] = {"cached_tokens": about["cached_tokens"]}
        stop = ended["matched"] if isinstance(ended.get("matched"), str) else ""
        reason = read_reason(ended.get("type"))
        return Received(text=text, tokens=tokens, reason=reason, stop=stop, usage=usage)
