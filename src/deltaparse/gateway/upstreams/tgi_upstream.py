"""Text Generation Inference's endpoint `/generate_stream`, with one event per token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .upstream import (
    Generation,
    Reader,
    Received,
    Upstream,
    Way,
    logprob_entry,
    read_reason,
    usage_of,
)

__all__ = ["TGI"]

NAMES = {"temperature", "top_k", "frequency_penalty", "repetition_penalty", "seed"}


class TGI(Upstream):
    """`/generate_stream`. The only supported constraint is JSON of a schema."""

    kind = "tgi"
    path = "/generate_stream"

    @property
    def ways(self) -> frozenset[Way]:
        """The supported ways of constraining a model."""
        return frozenset({"schema"})

    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the body of a streaming request.

        The server rejects a temperature of 0 and a `top_p` of 1. They are omitted, with the same
        meaning.
        """
        sampling = generation.sampling
        asked: dict[str, Any] = {
            "max_new_tokens": sampling.max_tokens,
            "return_full_text": False,
            "details": True,
            "do_sample": bool(sampling.temperature is None or sampling.temperature),
        }
        asked |= {name: value for name, value in sampling.numbers().items() if name in NAMES}
        if not asked.get("temperature"):
            asked.pop("temperature", None)
        if sampling.top_p is not None and 0 < sampling.top_p < 1:
            asked["top_p"] = sampling.top_p
        if sampling.stop:
            asked["stop"] = list(sampling.stop)
        if sampling.logprobs:
            asked["top_n_tokens"] = sampling.logprobs
        if generation.constraint is not None and generation.constraint.schema is not None:
            asked["grammar"] = {"type": "json", "value": generation.constraint.schema}
        return {"inputs": generation.prompt, "parameters": asked, "stream": True}

    def reader(self) -> Reader:
        """Return a reader of one stream's events."""
        return _read

    def tokenizing(self, text: str, model: str | None, *, special: bool) -> dict[str, Any]:
        """Return the body of a request to `/tokenize`."""
        del model, special
        return {"inputs": text, "parameters": {}}


def _read(event: Mapping[str, Any]) -> Received:
    token, details = event["token"], event.get("details")
    text, ids = token["text"], [token["id"]] if "id" in token else ()
    logprobs: tuple[dict[str, Any], ...] = ()
    if token.get("logprob") is not None:
        top = [logprob_entry(o["text"], o["logprob"], None) for o in event.get("top_tokens") or ()]
        logprobs = (logprob_entry(text, token["logprob"], top),)
    if event.get("generated_text") is None and details is None:
        return Received(text, 1, ids=ids, logprobs=logprobs)
    details = details or {}
    reason = details.get("finish_reason") or "eos_token"
    return Received(
        text,
        1,
        read_reason(reason),
        None if reason == "stop_sequence" else "",
        usage_of(details.get("input_length"), details.get("generated_tokens")),
        done=True,
        ids=ids,
        logprobs=logprobs,
    )
