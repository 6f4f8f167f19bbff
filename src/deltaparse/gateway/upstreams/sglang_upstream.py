"""SGLang's own endpoint `/generate`. By default each event repeats the complete text so far."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .upstream import (
    Generation,
    Reader,
    Received,
    Upstream,
    Way,
    is_count,
    logprob_entry,
    read_reason,
    read_stop,
    usage_of,
)

__all__ = ["SGLang"]


class SGLang(Upstream):
    """`/generate`.

    Args:
        adds_bos: True if the upstream adds a BOS token.
        increments: True if events contain only the new text.
    """

    kind = "sglang"
    path = "/generate"

    def __init__(self, *, adds_bos: bool = False, increments: bool = False) -> None:
        super().__init__(adds_bos=adds_bos)
        self.increments = increments

    @property
    def ways(self) -> frozenset[Way]:
        """The supported ways of constraining a model."""
        return frozenset({"grammar", "tag"})

    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the body of a streaming request."""
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
        constraint = generation.constraint
        if constraint is not None and constraint.tag is not None:
            asked["structural_tag"] = json.dumps(constraint.tag)
        elif constraint is not None and constraint.grammar is not None:
            asked["ebnf"] = constraint.grammar.text
        body = {"text": generation.prompt, "stream": True, "sampling_params": asked}
        if sampling.logprobs is not None:
            body |= {"return_logprob": True, "top_logprobs_num": sampling.logprobs}
            body |= {"return_text_in_logprobs": True, "logprob_start_len": -1}
        return body

    def reader(self) -> Reader:
        """Return a reader of one stream's events."""
        return _Reader(self.increments)

    def tokenizing(self, text: str, model: str | None, *, special: bool) -> dict[str, Any]:
        """Return the body of a request to `/tokenize`."""
        del model
        return {"prompt": text, "add_special_tokens": special}


class _Reader:
    def __init__(self, increments: bool) -> None:
        self._increments = increments
        self._text = 0
        self._tokens = 0
        self._ids = 0
        self._logprobs = 0

    def __call__(self, event: Mapping[str, Any]) -> Received:
        text, about = event["text"], event["meta_info"]
        if not self._increments:
            # The new text starts after the emitted text. The end of the text may shrink while a
            # character is incomplete.
            text, self._text = text[self._text :], max(self._text, len(text))
        ids = event.get("output_ids") or ()
        if not self._increments:
            ids, self._ids = ids[self._ids :], len(ids)
        made = about.get("completion_tokens")
        tokens = 0
        if is_count(made):
            tokens, self._tokens = max(made - self._tokens, 0), made
        usage = usage_of(about.get("prompt_tokens"), made)
        if usage is not None and about.get("cached_tokens"):
            usage["prompt_tokens_details"] = {"cached_tokens": about["cached_tokens"]}
        logprobs = self._new_logprobs(about) if about.get("output_token_logprobs") else ()
        ended = about.get("finish_reason")
        if ended is None:
            return Received(text, tokens, usage=usage, ids=ids, logprobs=logprobs)
        if not isinstance(ended, Mapping):
            ended = {"type": ended}
        stop = read_stop(ended.get("matched"))
        reason = read_reason(ended.get("type"))
        return Received(text, tokens, reason, stop, usage, ids=ids, logprobs=logprobs)

    def _new_logprobs(self, about: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the entries of new tokens.

        In all lists, each item is `[logprob, id, text]`.
        """
        said: Sequence[Any] = about["output_token_logprobs"]
        tops: Sequence[Any] = about.get("output_top_logprobs") or [()] * len(said)
        start = 0 if self._increments else self._logprobs
        self._logprobs = len(said)
        return [
            logprob_entry(text, logprob, [logprob_entry(t, n, None) for n, _, t in top or ()])
            for (logprob, _, text), top in zip(said[start:], tops[start:], strict=True)
        ]
