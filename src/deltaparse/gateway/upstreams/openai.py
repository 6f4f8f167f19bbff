"""OpenAI's completions, as vLLM, SGLang, llama-server and others have them."""

from __future__ import annotations

from typing import Any

from .upstream import Generation, Reader, Received, Upstream, read_reason

__all__ = ["OpenAI"]


class OpenAI(Upstream):
    """`/v1/completions`, with the members by which vLLM keeps special tokens and adds none."""

    kind = "openai"
    path = "/v1/completions"

    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the request for a stream."""
        sampling = generation.sampling
        body: dict[str, Any] = {
            "prompt": generation.prompt,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": sampling.max_tokens,
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
            "add_special_tokens": False,
            **sampling.numbers(),
        }
        if generation.model is not None:
            body["model"] = generation.model
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if generation.grammar is not None:
            body["structured_outputs"] = {"grammar": generation.grammar.text}
        return body

    def reader(self) -> Reader:
        """Return what reads the events of one stream."""
        return _read


def _read(event: Any) -> Received:
    usage = event.get("usage")
    if not event["choices"]:
        return Received(usage=usage)
    choice = event["choices"][0]
    text = choice.get("text") or ""
    tokens = len(choice.get("token_ids") or ())
    if choice.get("finish_reason") is None:
        return Received(text=text, tokens=tokens, usage=usage)
    # vLLM says which stop string it was, None if it was none, and the id of a stop token.
    stop = None
    if "stop_reason" in choice:
        stop = choice["stop_reason"] if isinstance(choice["stop_reason"], str) else ""
    reason = read_reason(choice["finish_reason"])
    return Received(text=text, tokens=tokens, reason=reason, stop=stop, usage=usage)
