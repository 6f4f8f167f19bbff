"""Text Generation Inference's `/generate_stream`: an event for each token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .upstream import Generation, Reader, Received, Upstream, read_reason

__all__ = ["TGI"]

NAMES = {"temperature", "top_k", "frequency_penalty", "repetition_penalty", "seed"}


class TGI(Upstream):
    """`/generate_stream`. It takes schemas, but no grammars."""

    kind = "tgi"
    path = "/generate_stream"
    takes_grammars = False

    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the request for a stream.

        A temperature of 0, and a `top_p` of 1, are refused there: they stand for their absence.
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
        return {"inputs": generation.prompt, "parameters": asked, "stream": True}

    def reader(self) -> Reader:
        """Return what reads the events of one stream."""
        return _read


def _read(event: Mapping[str, Any]) -> Received:
    text, details = event["token"]["text"], event.get("details")
    if event.get("generated_text") is None and details is None:
        return Received(text=text, tokens=1)
    details = details or {}
    reason = details.get("finish_reason") or "eos_token"
    usage = None
    if isinstance(made := details.get("generated_tokens"), int):
        read = details.get("input_length") or 0
        usage = {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}
    stop = None if reason == "stop_sequence" else ""
    return Received(
        text=text, tokens=1, reason=read_reason(reason), stop=stop, usage=usage, done=True
    )
