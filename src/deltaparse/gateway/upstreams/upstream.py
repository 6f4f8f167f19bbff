"""What a kind of upstream is asked and what it answers, in the words of the gateway."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from deltaparse.grammar import Grammar
from deltaparse.stream.finish_reasons import how_it_ended

from ..faults import Fault
from ..sampling import Sampling

__all__ = [
    "Generation",
    "Reader",
    "Received",
    "Upstream",
    "error_text",
    "plain_usage",
    "read_reason",
]

Reason = Literal["stop", "length", "content_filter"]

REASONS: dict[str, Reason] = {
    "natural": "stop",
    "cut": "length",
    "filtered": "content_filter",
}
"""The ways in which an output may end that is an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What is to be generated: one choice of one request."""

    prompt: str
    model: str | None
    sampling: Sampling = field(default=Sampling())
    grammar: Grammar | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What one event of an upstream says.

    text: more of the output.
    tokens: how many tokens the text is, 0 if that is not said.
    reason: why the output has ended, None if it goes on.
    stop: the stop string at which it ended; "" if it did so by itself, None if that is not said.
    usage: numbers of tokens, in OpenAI's shape.
    done: whether nothing follows.
    """

    text: str = ""
    tokens: int = 0
    reason: Reason | None = None
    stop: str | None = None
    usage: Mapping[str, Any] | None = None
    done: bool = False


Reader = Callable[[Any], Received]
"""Reads the events of one stream, which are JSON values."""


class Upstream(ABC):
    """One kind of upstream. It keeps nothing of a request.

    Args:
        adds_bos: whether it puts the BOS token before a prompt that is text.
    """

    kind: ClassVar[str]
    path: ClassVar[str]
    takes_grammars: ClassVar[bool] = True

    def __init__(self, *, adds_bos: bool = False) -> None:
        self.adds_bos = adds_bos

    @abstractmethod
    def body(self, generation: Generation) -> dict[str, Any]:
        """Return the request for a stream."""

    @abstractmethod
    def reader(self) -> Reader:
        """Return what reads the events of one stream.

        It may raise anything where an event is not what this kind sends.
        """


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
    found: dict[str, Any] = {name: n for name in names if type(n := usage.get(name)) is int}
    for name in ("prompt_tokens_details", "completion_tokens_details"):
        if found and isinstance(details := usage.get(name), Mapping):
            found[name] = {key: n for key, n in details.items() if type(n) is int}
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
