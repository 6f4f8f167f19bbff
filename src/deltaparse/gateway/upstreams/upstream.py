"""What a kind of upstream is asked and what it answers, in the words of the gateway."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeGuard

from deltaparse.grammar import Grammar
from deltaparse.stream.finish_reasons import how_it_ended

from ..faults import Fault
from ..sampling_parameters import Sampling

__all__ = [
    "Constraint",
    "Generation",
    "Reader",
    "Received",
    "Traits",
    "Upstream",
    "Way",
    "error_text",
    "is_count",
    "logprob_entry",
    "plain_usage",
    "read_reason",
    "read_stop",
    "token_count",
    "usage_of",
]

Reason = Literal["stop", "length", "content_filter"]

REASONS: dict[str, Reason] = {
    "natural": "stop",
    "cut": "length",
    "filtered": "content_filter",
}
"""The ways in which an output may end that is an answer."""


MOST = 2**53
"""A number of tokens is below it: greater ones clients do not read exactly."""

Way = Literal["grammar", "triggers", "tag", "schema"]
"""How an upstream holds a model: to a grammar from the start, to one from a trigger on, to a
structural tag, or to JSON of a schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """What a model is held to, in one of the ways that its upstream has.

    calls: how the calls of such an output are written, as a parser is told.
    """

    grammar: Grammar | None = None
    tag: Mapping[str, Any] | None = None
    schema: Mapping[str, Any] | None = None
    calls: Literal["format", "json"] = "format"


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What is to be generated: one choice of one request."""

    prompt: str
    model: str | None
    sampling: Sampling = field(default=Sampling())
    constraint: Constraint | None = None


class Received(NamedTuple):
    """What one event of an upstream says.

    text: more of the output.
    tokens: how many tokens the text is, 0 if that is not said.
    reason: why the output has ended, None if it goes on.
    stop: the stop string at which it ended, or the id of the stop token; "" if it did so by itself,
        None if that is not reported.
    usage: numbers of tokens, in OpenAI's shape, so far or in all.
    done: whether nothing follows.
    ids: the tokens of the text, as far as they are said.
    logprobs: an entry of OpenAI's `logprobs.content` for each token, where they were asked for.
    """

    text: str = ""
    tokens: int = 0
    reason: Reason | None = None
    stop: str | int | None = None
    usage: Mapping[str, Any] | None = None
    done: bool = False
    ids: Sequence[int] = ()
    logprobs: Sequence[dict[str, Any]] = ()


class Traits(NamedTuple):
    """The facts of an upstream that a request is understood by; see `Upstream`."""

    kind: str
    ways: frozenset[Way]
    adds_bos: bool


Reader = Callable[[Any], Received]
"""Reads the events of one stream, which are JSON values."""


class Upstream(ABC):
    """One kind of upstream. It keeps nothing of a request.

    Args:
        adds_bos: whether it puts the BOS token before a prompt that is text.
    """

    kind: ClassVar[str]
    path: ClassVar[str]

    def __init__(self, *, adds_bos: bool = False) -> None:
        self.adds_bos = adds_bos

    @property
    @abstractmethod
    def ways(self) -> frozenset[Way]:
        """How it holds a model to what is asked."""

    @property
    def traits(self) -> Traits:
        """Facts about it, for another process."""
        return Traits(self.kind, self.ways, self.adds_bos)

    @abstractmethod
    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the request for a stream."""

    @abstractmethod
    def reader(self) -> Reader:
        """Return what reads the events of one stream.

        It may raise anything where an event is not what this kind sends.
        """

    @abstractmethod
    def tokenizing(self, text: str, model: str | None, *, special: bool) -> dict[str, Any]:
        """Return the request to `/tokenize`; `special`: with what stands before every text."""


def token_count(answer: Any) -> int | None:
    """Return how many tokens `/tokenize` says that there are, in the answer of any kind."""
    tokens = answer.get("tokens") if isinstance(answer, Mapping) else answer
    return len(tokens) if isinstance(tokens, list) else None


def is_count(value: Any) -> TypeGuard[int]:
    """Return whether a value can be a number of tokens."""
    return type(value) is int and 0 <= value < MOST


def read_stop(stop: Any) -> str | int:
    """Return the stop string or the id of a stop token that an upstream reports, "" for neither."""
    return stop if type(stop) in (str, int) else ""


def usage_of(read: Any, made: Any) -> dict[str, Any] | None:
    """Return a usage of OpenAI's shape, None where the numbers are none."""
    if not is_count(made):
        return None
    if not is_count(read):
        return {"completion_tokens": made}
    return {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}


def logprob_entry(token: str, logprob: Any, top: Sequence[Any] | None = ()) -> dict[str, Any]:
    """Return an entry of OpenAI's `logprobs.content`.

    Args:
        token: its text.
        logprob: the logarithm of its probability.
        top: entries of the likeliest tokens in its place; None for an entry that is one of those.

    Raises:
        TypeError: the text or the number is none.
    """
    if not isinstance(token, str):
        raise TypeError("a token is text")
    data = token.encode(errors="replace")
    entry = {"token": token, "logprob": float(logprob), "bytes": list(data)}
    return entry if top is None else entry | {"top_logprobs": list(top)}


def read_reason(reason: Any) -> Reason:
    """Read why an output ended.

    Raises:
        Fault: it did not end well.
    """
    found = REASONS.get(how_it_ended(reason)) if isinstance(reason, str) else None
    if found is None:
        raise Fault(f"the upstream ended the answer: {reason!r:.80}", status=502)
    return found


def plain_usage(usage: Any) -> dict[str, Any] | None:
    """Return the numbers of tokens in a usage of OpenAI's shape, None where there are none."""
    if not isinstance(usage, Mapping):
        return None
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    found: dict[str, Any] = {name: n for name in names if is_count(n := usage.get(name))}
    for name in ("prompt_tokens_details", "completion_tokens_details"):
        if found and isinstance(details := usage.get(name), Mapping):
            if counts := {key: n for key, n in details.items() if is_count(n)}:
                found[name] = counts
    return found or None


def error_text(value: Any) -> str | None:
    """Return the words of an error in any server's shape, None where it is none."""
    if not isinstance(value, Mapping):
        return None
    error = value.get("error") or (value if value.get("object") == "error" else None)
    if error is None and value.get("detail"):
        error = value["detail"]
    if isinstance(error, Mapping):
        error = error.get("message") or error
    return None if error is None else f"{error}"[:500]
