"""The interface of upstreams: requests and events, independent of the kind of server."""

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
"""Finish reasons of a successful generation."""


MOST = 2**53
"""Upper limit of token counts. JavaScript clients cannot represent greater numbers exactly."""

Way = Literal["grammar", "triggers", "tag", "schema"]
"""Ways of constraining a model: a grammar from the start, a lazy grammar with triggers, a
structural tag, or JSON of a schema.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A constraint for a model, in one way supported by the upstream.

    calls: the notation of calls in the constrained output, passed to the parser.
    """

    grammar: Grammar | None = None
    tag: Mapping[str, Any] | None = None
    schema: Mapping[str, Any] | None = None
    calls: Literal["format", "json"] = "format"


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A request to an upstream, for one choice."""

    prompt: str
    model: str | None
    sampling: Sampling = field(default=Sampling())
    constraint: Constraint | None = None


class Received(NamedTuple):
    """The content of one upstream event.

    text: more output.
    tokens: the number of tokens of the text, 0 if not reported.
    reason: the finish reason, None if the output continues.
    stop: the matched stop string or the id of the stop token, "" for neither, None if not reported.
    usage: token counts in OpenAI's form, either so far or final.
    done: True for the last event.
    ids: token ids of the text, if reported.
    logprobs: an entry of OpenAI's `logprobs.content` for each token, if requested.
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
    """The facts about an upstream that are needed for parsing a request. See `Upstream`."""

    kind: str
    ways: frozenset[Way]
    adds_bos: bool


Reader = Callable[[Any], Received]
"""Reads the events (JSON values) of one stream."""


class Upstream(ABC):
    """One kind of upstream. It has no state of requests.

    Args:
        adds_bos: True if the server adds a BOS token to a text prompt.
    """

    kind: ClassVar[str]
    path: ClassVar[str]

    def __init__(self, *, adds_bos: bool = False) -> None:
        self.adds_bos = adds_bos

    @property
    @abstractmethod
    def ways(self) -> frozenset[Way]:
        """The supported ways of constraining a model."""

    @property
    def traits(self) -> Traits:
        """The facts about the upstream for another process."""
        return Traits(self.kind, self.ways, self.adds_bos)

    @abstractmethod
    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the body of a streaming request."""

    @abstractmethod
    def reader(self) -> Reader:
        """Return a reader of one stream's events.

        It may raise any exception for an invalid event.
        """

    @abstractmethod
    def tokenizing(self, text: str, model: str | None, *, special: bool) -> dict[str, Any]:
        """Return the body of a request to `/tokenize`. `special` includes the initial tokens."""


def token_count(answer: Any) -> int | None:
    """Return the number of tokens in a response of `/tokenize` of any kind."""
    tokens = answer.get("tokens") if isinstance(answer, Mapping) else answer
    return len(tokens) if isinstance(tokens, list) else None


def is_count(value: Any) -> TypeGuard[int]:
    """Return True if a value is a valid token count."""
    return type(value) is int and 0 <= value < MOST


def read_stop(stop: Any) -> str | int:
    """Return the stop string or token id reported by an upstream, "" for neither."""
    return stop if type(stop) in (str, int) else ""


def usage_of(read: Any, made: Any) -> dict[str, Any] | None:
    """Return a usage in OpenAI's form, None for invalid numbers."""
    if not is_count(made):
        return None
    if not is_count(read):
        return {"completion_tokens": made}
    return {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}


def logprob_entry(token: str, logprob: Any, top: Sequence[Any] | None = ()) -> dict[str, Any]:
    """Return an entry of OpenAI's `logprobs.content`.

    Args:
        token: the text of the token.
        logprob: its log probability.
        top: entries of the top tokens at its position, None for an entry of that list.

    Raises:
        TypeError: the text or the number is invalid.
    """
    if not isinstance(token, str):
        raise TypeError("a token must be a string")
    data = token.encode(errors="replace")
    entry = {"token": token, "logprob": float(logprob), "bytes": list(data)}
    return entry if top is None else entry | {"top_logprobs": list(top)}


def read_reason(reason: Any) -> Reason:
    """Read a finish reason.

    Raises:
        Fault: the generation failed.
    """
    found = REASONS.get(how_it_ended(reason)) if isinstance(reason, str) else None
    if found is None:
        raise Fault(f"the upstream ended the response with reason {reason!r:.80}", status=502)
    return found


def plain_usage(usage: Any) -> dict[str, Any] | None:
    """Return the token counts of a usage in OpenAI's form, None if there are none."""
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
    """Return the error message in a server's response, None if it is not an error."""
    if not isinstance(value, Mapping):
        return None
    error = value.get("error") or (value if value.get("object") == "error" else None)
    if error is None and value.get("detail"):
        error = value["detail"]
    if isinstance(error, Mapping):
        error = error.get("message") or error
    return None if error is None else f"{error}"[:500]
