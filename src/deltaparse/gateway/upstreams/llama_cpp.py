"""llama-server's own `/completion`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .upstream import Generation, Reader, Received, Upstream, read_reason

__all__ = ["LlamaCpp"]

NAMES = {"repetition_penalty": "repeat_penalty"}


class LlamaCpp(Upstream):
    """`/completion`: text with special tokens, for those in `preserved_tokens` too."""

    kind = "llama.cpp"
    path = "/completion"

    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the request for a stream."""
        sampling = generation.sampling
        numbers = {NAMES.get(name, name): value for name, value in sampling.numbers().items()}
        body: dict[str, Any] = {
            "prompt": generation.prompt,
            "stream": True,
            "n_predict": -1 if sampling.max_tokens is None else sampling.max_tokens,
            "cache_prompt": True,
            "return_tokens": True,
            **numbers,
        }
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if generation.grammar is not None:
            body["grammar"] = generation.grammar.text
            body["preserved_tokens"] = list(generation.grammar.preserved_tokens)
        return body

    def reader(self) -> Reader:
        """Return what reads the events of one stream."""
        return _read


def _read(event: Mapping[str, Any]) -> Received:
    text, tokens = event["content"], len(event.get("tokens") or ())
    if not event.get("stop"):
        return Received(text=text, tokens=tokens)
    stop_type = event.get("stop_type")
    if stop_type is None:  # as older servers say it
        stop_type = next(
            (kind for kind in ("limit", "eos", "word") if event.get(f"stopped_{kind}")), "eos"
        )
    usage = None
    if isinstance(predicted := event.get("tokens_predicted"), int):
        read = event.get("tokens_evaluated") or 0
        usage = {
            "prompt_tokens": read,
            "completion_tokens": predicted,
            "total_tokens": read + predicted,
        }
    word = event.get("stopping_word") or ""
    reason = "eos" if stop_type == "none" else stop_type
    return Received(
        text=text, tokens=tokens, reason=read_reason(reason), stop=word, usage=usage, done=True
    )
