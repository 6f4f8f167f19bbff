"""Validated sampling parameters of a request, with names independent of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from .faults import Fault

__all__ = ["Sampling", "flag", "mapping", "member", "read_sampling", "whole_number"]

MOST_STOPS = 64
LONGEST_STOP = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling parameters. Missing ones are None.

    logprobs: the number of top log probabilities for each token, None for no log probabilities.
    """

    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    n: int = 1
    seed: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    logprobs: int | None = None

    def numbers(self) -> dict[str, float | int]:
        """Return the parameters of the request, by the names used by most upstreams."""
        names = (
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "presence_penalty",
            "frequency_penalty",
            "repetition_penalty",
            "seed",
        )
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def read_sampling(
    body: Mapping[str, Any], *, limits: tuple[str, ...], stop: str | None, choices: int
) -> Sampling:
    """Read the parameters.

    Args:
        body: the request.
        limits: names of the token limit in the protocol. The first existing member counts.
        stop: the name of the stop strings, None if the protocol has none.
        choices: the limit of choices.

    Raises:
        Fault: a parameter is invalid.
    """
    limit = next((name for name in limits if body.get(name) is not None), limits[0])
    return Sampling(
        max_tokens=whole_number(body, limit, least=1),
        stop=_stops(body, stop) if stop else (),
        n=(whole_number(body, "n", least=1, most=choices) or 1) if choices > 1 else 1,
        seed=whole_number(body, "seed"),
        temperature=_number(body, "temperature", 0, 100),
        top_p=_number(body, "top_p", 0, 1),
        top_k=whole_number(body, "top_k", least=-1),
        min_p=_number(body, "min_p", 0, 1),
        presence_penalty=_number(body, "presence_penalty", -2, 2),
        frequency_penalty=_number(body, "frequency_penalty", -2, 2),
        repetition_penalty=_number(body, "repetition_penalty", 0, 100),
    )


def flag(body: Mapping[str, Any], name: str) -> bool:
    """Return a boolean member, False if it is missing."""
    return bool(member(body, name, lambda value: isinstance(value, bool), "true or false"))


def member(body: Mapping[str, Any], name: str, fits: Callable[[Any], bool], words: str) -> Any:
    """Return a member, None if it is missing.

    Raises:
        Fault: the value is invalid.
    """
    value = body.get(name)
    if value is not None and not fits(value):
        raise Fault(f"{name} must be {words}, not {value!r:.80}", param=name)
    return value


def mapping(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object member, an empty object if it is missing."""
    return member(body, name, lambda value: isinstance(value, dict), "an object") or {}


def whole_number(
    body: Mapping[str, Any], name: str, *, least: int | None = None, most: int | None = None
) -> int | None:
    """Return an integer member, None if it is missing."""

    def fits(value: Any) -> bool:
        return (
            type(value) is int
            and (least is None or value >= least)
            and (most is None or value <= most)
        )

    bounds = f", at least {least}" if least is not None else ""
    bounds += f", at most {most}" if most is not None else ""
    found: int | None = member(body, name, fits, f"an integer{bounds}")
    return found


def _number(body: Mapping[str, Any], name: str, least: float, most: float) -> float | None:
    def fits(value: Any) -> bool:
        return type(value) in (int, float) and isfinite(value) and least <= value <= most

    found: float | None = member(body, name, fits, f"a number between {least} and {most}")
    return found


def _stops(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    def fits(value: Any) -> bool:
        texts = [value] if isinstance(value, str) else value
        return (
            isinstance(texts, list)
            and len(texts) <= MOST_STOPS
            and all(isinstance(text, str) and 0 < len(text) <= LONGEST_STOP for text in texts)
        )

    words = f"a string or up to {MOST_STOPS} strings, of 1 to {LONGEST_STOP} characters"
    found = member(body, name, fits, words)
    if found is None:
        return ()
    return (found,) if isinstance(found, str) else tuple(found)
