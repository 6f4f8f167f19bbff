"""What training and evaluation make of roles: loss masks, counts, log-probabilities.

parser = TokenParser(fmt, vocabulary, prompt=prompt_ids)
...
loss_mask(parser.roles)                                 # 1 for each token to learn from
token_counts(parser.roles)["reasoning"]                 # OpenAI's `reasoning_tokens`
part_values(parser.message, logprobs)                   # those of each part of the message
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from deltaparse.partial import UsageError

from ..message.deltas import Delta
from ..message.message import Message
from .token_parser import TokenParser
from .token_provenance import ROLES, TokenRole
from .vocabulary import Vocabulary

__all__ = ["DeltaTokens", "loss_mask", "openai_logprobs", "part_values", "token_counts"]

Value = TypeVar("Value")

TRAINED: frozenset[TokenRole] = frozenset(ROLES) - {"dropped"}


def loss_mask(
    roles: Iterable[TokenRole],
    *,
    keep: Collection[TokenRole] = TRAINED,
    prompt: int = 0,
    behind: int = 0,
) -> list[int]:
    """Make a mask for the loss of one turn: 1 for tokens with the roles to keep, 0 for others.

    `prompt` and `behind` are numbers of tokens before and behind the turn that the model did not
    write: they are 0. By default, all that the model wrote counts but what was dropped.

    >>> loss_mask(["reasoning", "marker", "content"], keep={"content"}, prompt=1)
    [0, 0, 0, 1]

    Raises:
        UsageError: a role that there is not.
    """
    unknown = sorted(set(keep) - set(ROLES))
    if unknown:
        raise UsageError(f"no roles: {unknown}; there are {', '.join(ROLES)}")
    return [0] * prompt + [int(role in keep) for role in roles] + [0] * behind


def token_counts(roles: Iterable[TokenRole]) -> dict[TokenRole, int]:
    """Count the tokens of each role.

    >>> token_counts(["reasoning", "reasoning", "content"])["reasoning"]
    2
    """
    counts = Counter(roles)
    return {role: counts[role] for role in ROLES}


def part_values(message: Message, values: Sequence[Value]) -> list[list[Value]]:
    """Cut values of tokens, such as log-probabilities, by the parts of the message.

    `values` has one for each token that was fed. A token that two parts share counts for both.

    Raises:
        UsageError: the message knows no tokens.
    """
    cut: list[list[Value]] = []
    for part in message.parts:
        if part.tokens is None:
            raise UsageError("the message knows no tokens: it is not from a TokenParser with spans")
        cut.append(list(values[slice(*part.tokens)]))
    return cut


class DeltaTokens:
    """Says which tokens each delta is made of, so that each token counts for one delta at most.

    A token counts for the first delta that has some of its text: its rest may come out with the
    next, or belong to a marker and never come out.

        tokens = DeltaTokens(parser)
        for id, value in zip(ids, logprobs):
            values.append(value)
            for delta, (start, end) in tokens.of(parser.feed(id)):
                send(delta, values[start:end])
    """

    def __init__(self, parser: TokenParser) -> None:
        """Begin to count the tokens of the parser whose deltas they will be.

        Raises:
            UsageError: the parser keeps nothing of tokens.
        """
        if not parser.knows_tokens:
            raise UsageError("the deltas know no tokens: make the parser with spans=True")
        self._next = 0

    def of(self, deltas: Iterable[Delta]) -> list[tuple[Delta, tuple[int, int]]]:
        """The deltas that were just returned, each with the half-open range of its tokens."""
        made = []
        for delta in deltas:
            start, end = delta.tokens or (0, 0)
            start = max(start, self._next) if start < end else self._next
            self._next = max(end, start)
            made.append((delta, (start, self._next)))
        return made


def openai_logprobs(
    vocabulary: Vocabulary,
    ids: Sequence[int],
    logprobs: Sequence[float],
    top: Sequence[Mapping[int, float]] = (),
) -> list[dict[str, Any]]:
    """Write log-probabilities as entries of OpenAI's `logprobs.content`.

    `top` has the likeliest tokens of each place, by their ids. A token that is a part of a
    character has U+FFFD in its text, and its bytes say which part.

    Raises:
        UsageError: the sequences differ in length, or the vocabulary has no such id.
    """
    if len(ids) != len(logprobs) or (top and len(top) != len(ids)):
        raise UsageError("ids, logprobs and top have one entry for each token")

    def entry(id: int, logprob: float) -> dict[str, Any]:
        token = vocabulary[id]
        text = token.decode(errors="replace")
        return {"token": text, "logprob": logprob, "bytes": list(token)}

    entries = []
    for place, (id, logprob) in enumerate(zip(ids, logprobs, strict=True)):
        others = sorted(top[place].items(), key=lambda item: -item[1]) if top else ()
        entries.append(entry(id, logprob) | {"top_logprobs": [entry(*item) for item in others]})
    return entries
