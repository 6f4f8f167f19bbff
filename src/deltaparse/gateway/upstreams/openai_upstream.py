"""OpenAI's completions endpoint, as implemented by vLLM, SGLang, llama-server and others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from .llama_cpp_upstream import gbnf_body
from .upstream import (
    Constraint,
    Generation,
    Reader,
    Received,
    Upstream,
    Way,
    logprob_entry,
    read_reason,
    read_stop,
)

__all__ = ["GRAMMARS", "Grammars", "OpenAI"]

Grammars = Literal["structured_outputs", "guided", "gbnf", "none"]
GRAMMARS: dict[Grammars, frozenset[Way]] = {
    "structured_outputs": frozenset({"grammar", "tag"}),
    "guided": frozenset({"grammar"}),
    "gbnf": frozenset({"grammar", "triggers"}),
    "none": frozenset(),
}
"""The supported constraints by the server's grammar parameter.

The parameters are vLLM's, the one of vLLM before 0.12, and llama-server's. "none" means that the
server has no grammars, or that its parameter is unknown.
"""


class OpenAI(Upstream):
    """`/v1/completions`, with vLLM's parameters to keep special tokens and to add none.

    Args:
        adds_bos: True if the upstream adds a BOS token.
        grammars: the grammar parameter.
    """

    kind = "openai"
    path = "/v1/completions"

    def __init__(self, *, adds_bos: bool = False, grammars: Grammars = "none") -> None:
        super().__init__(adds_bos=adds_bos)
        self.grammars = grammars

    @property
    def ways(self) -> frozenset[Way]:
        """The supported ways of constraining a model."""
        return GRAMMARS[self.grammars]

    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the body of a streaming request."""
        sampling = generation.sampling
        body: dict[str, Any] = {
            "prompt": generation.prompt,
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
            "max_tokens": sampling.max_tokens,
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
            "add_special_tokens": False,
            "return_token_ids": True,
            **sampling.numbers(),
        }
        if generation.model is not None:
            body["model"] = generation.model
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if sampling.logprobs is not None:
            body["logprobs"] = sampling.logprobs
        if generation.constraint is not None:
            body |= self._held(generation.constraint)
        return body

    def reader(self) -> Reader:
        """Return a reader of one stream's events."""
        return _read

    def tokenizing(self, text: str, model: str | None, *, special: bool) -> dict[str, Any]:
        """Return the body of a request to `/tokenize`."""
        body = {"prompt": text, "add_special_tokens": special}
        return body if model is None else {**body, "model": model}

    def _held(self, constraint: Constraint) -> dict[str, Any]:
        """Return the members for a constraint."""
        if constraint.tag is not None:
            return {"structured_outputs": {"structural_tag": json.dumps(constraint.tag)}}
        if constraint.grammar is None:
            return {}
        if self.grammars == "gbnf":
            return gbnf_body(constraint.grammar)
        if self.grammars == "guided":
            return {"guided_grammar": constraint.grammar.text}
        return {"structured_outputs": {"grammar": constraint.grammar.text}}


def _read(event: Any) -> Received:
    usage = event.get("usage")
    if not event["choices"]:
        return Received(usage=usage)
    choice = event["choices"][0]
    text = choice.get("text") or ""
    ids = choice.get("token_ids") or ()
    said = choice.get("logprobs")
    logprobs = _entries(said) if said else ()
    count = len(ids) or len(logprobs)
    if choice.get("finish_reason") is None:
        return Received(text, count, usage=usage, ids=ids, logprobs=logprobs)
    # vLLM reports the stop string or the id of the stop token, and null for EOS. SGLang reports the
    # same as `matched_stop`, but EOS has an id there.
    name = next((name for name in ("stop_reason", "matched_stop") if name in choice), None)
    stop = read_stop(choice[name]) if name is not None else None
    reason = read_reason(choice["finish_reason"])
    return Received(text, count, reason, stop, usage, ids=ids, logprobs=logprobs)


def _entries(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read the log probabilities of completions: parallel lists, and a dictionary per top list."""
    tokens, numbers = said["tokens"], said["token_logprobs"]
    tops = said.get("top_logprobs") or [{}] * len(tokens)
    return [
        logprob_entry(
            token,
            0.0 if number is None else number,
            [logprob_entry(one, value, None) for one, value in (top or {}).items()],
        )
        for token, number, top in zip(tokens, numbers, tops, strict=True)
    ]
