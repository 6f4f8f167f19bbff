"""llama-server's own endpoint `/completion`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaparse.grammar import Grammar, Trigger

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

__all__ = ["LlamaCpp", "gbnf_body"]

NAMES = {"repetition_penalty": "repeat_penalty"}

TRIGGERS = {"token": 0, "word": 1, "pattern": 2}
"""llama.cpp's numbers for the kinds of triggers."""


class LlamaCpp(Upstream):
    """`/completion`. Its text includes the special tokens listed in `preserved_tokens`."""

    kind = "llama.cpp"
    path = "/completion"

    @property
    def ways(self) -> frozenset[Way]:
        """The supported ways of constraining a model."""
        return frozenset({"grammar", "triggers"})

    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the body of a streaming request."""
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
        if sampling.logprobs is not None:
            body["n_probs"] = max(sampling.logprobs, 1)
        if generation.constraint is not None and generation.constraint.grammar is not None:
            body |= gbnf_body(generation.constraint.grammar)
        return body

    def reader(self) -> Reader:
        """Return a reader of one stream's events."""
        return _read

    def tokenizing(self, text: str, model: str | None, *, special: bool) -> dict[str, Any]:
        """Return the body of a request to `/tokenize`."""
        del model
        return {"content": text, "add_special": special, "parse_special": True}


def gbnf_body(grammar: Grammar) -> dict[str, Any]:
    """Return the members of a llama-server request for a grammar."""
    body = {"grammar": grammar.text, "preserved_tokens": list(grammar.preserved_tokens)}
    if not grammar.lazy:
        return body
    triggers = [_trigger(trigger) for trigger in grammar.triggers]
    return {**body, "grammar_lazy": True, "grammar_triggers": triggers}


def _trigger(trigger: Trigger) -> dict[str, Any]:
    said: dict[str, Any] = {"type": TRIGGERS[trigger.kind], "value": trigger.value}
    return said | {"token": int(trigger.value)} if trigger.kind == "token" else said


def _read(event: Mapping[str, Any]) -> Received:
    text, ids = event["content"], event.get("tokens") or ()
    logprobs = [_entry(one) for one in event.get("completion_probabilities") or ()]
    usage = usage_of(event.get("tokens_evaluated"), event.get("tokens_predicted"))
    if not event.get("stop"):
        return Received(text, len(ids), usage=usage, ids=ids, logprobs=logprobs)
    stop_type = event.get("stop_type")
    if stop_type is None:  # older servers
        stop_type = next(
            (kind for kind in ("limit", "eos", "word") if event.get(f"stopped_{kind}")), "none"
        )
    # In streams, the last event repeats the log probabilities of all events.
    return Received(
        text,
        len(ids),
        read_reason(stop_type),
        event.get("stopping_word") or "",
        usage,
        done=True,
        ids=ids,
        logprobs=logprobs if text else (),
    )


def _entry(said: Mapping[str, Any]) -> dict[str, Any]:
    top = [logprob_entry(one["token"], one["logprob"], None) for one in said["top_logprobs"]]
    return logprob_entry(said["token"], said["logprob"], top)
