"""Loss masks, token counts and log-probabilities by token role, for training and evaluation.

parser = TokenParser(fmt, vocabulary, prompt=prompt_ids)
...
loss_mask(parser.roles)                                 # 1 for each token to learn from
token_counts(parser.roles)["reasoning"]                 # OpenAI's `reasoning_tokens`
part_values(parser.message, logprobs)                   # the log-probabilities of each part
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

# Dropped tokens are not a part of the message that the model should learn.
TRAINED: frozenset[TokenRole] = frozenset(ROLES) - {"dropped"}


def loss_mask(
    roles: Iterable[TokenRole],
    *,
    keep: Collection[TokenRole] = TRAINED,
    prompt: int = 0,
    behind: int = 0,
) -> list[int]:
    """Return a loss mask for one turn: 1 for tokens with a role to keep, 0 for all others.

    >>> loss_mask(["reasoning", "marker", "content"], keep={"content"}, prompt=1)
    [0, 0, 0, 1]

    Args:
        roles: the roles of the tokens.
        keep: the roles to keep, by default all except "dropped".
        prompt: the number of tokens before the turn, masked with 0.
        behind: the number of tokens after the turn, masked with 0.

    Raises:
        UsageError: `keep` has an unknown role.
    """
    unknown = sorted(set(keep) - set(ROLES))
    # A misspelled role would silently mask all of its tokens.
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise UsageError(f"unknown role {names}: expected one of {', '.join(ROLES)}")
    return [0] * prompt + [int(role in keep) for role in roles] + [0] * behind


def token_counts(roles: Iterable[TokenRole]) -> dict[TokenRole, int]:
    """Return the number of tokens of each role.

    >>> token_counts(["reasoning", "reasoning", "content"])["reasoning"]
    2
    """
    counts = Counter(roles)
    # All roles, so that a caller needs no default.
    return {role: counts[role] for role in ROLES}


def part_values(message: Message, values: Sequence[Value]) -> list[list[Value]]:
    """Split values of tokens, e.g. log-probabilities, by the parts of the message.

    Args:
        message: the message of a `TokenParser`.
        values: one value for each token that was fed.

    Returns:
        The values of each part. A token shared by two parts counts for both.

    Raises:
        UsageError: the message has no token spans.
    """
    # Not split by delta, because the parts do not depend on the grouping of ids.
    cut: list[list[Value]] = []
    for part in message.parts:
        if part.tokens is None:
            raise UsageError(
                "this message has no token spans: it must be made by a TokenParser with spans=True"
            )
        cut.append(list(values[slice(*part.tokens)]))
    return cut


class DeltaTokens:
    """Assignment of tokens to deltas, each token to at most one delta.

    A token counts for the first delta with some of its text. The rest of its text may be emitted
    with the next delta, or belong to a marker and not be emitted.

        tokens = DeltaTokens(parser)
        for id, value in zip(ids, logprobs):
            values.append(value)
            for delta, (start, end) in tokens.of(parser.feed(id)):
                send(delta, values[start:end])
    """

    def __init__(self, parser: TokenParser) -> None:
        """Start counting for the deltas of a parser.

        Args:
            parser: a parser with `spans=True`.

        Raises:
            UsageError: the parser does not record token spans.
        """
        if not parser.knows_tokens:
            raise UsageError("token spans were not recorded: create the parser with spans=True")
        self._next = 0

    def of(self, deltas: Iterable[Delta]) -> list[tuple[Delta, tuple[int, int]]]:
        """Return each delta with the half-open range of its tokens.

        Args:
            deltas: the deltas of the last `feed` or `finish`. Pass all deltas, in order.
        """
        made = []
        # Deltas of inserted text have no tokens, so their range is empty.
        for delta in deltas:
            start, end = delta.tokens or (0, 0)
            # Earlier tokens have been counted, for a previous delta or for no delta.
            start = max(start, self._next) if start < end else self._next
            # The last token is counted now, even if the next delta has the rest of its text.
            self._next = max(end, start)
            made.append((delta, (start, self._next)))
        return made


def openai_logprobs(
    vocabulary: Vocabulary,
    ids: Sequence[int],
    logprobs: Sequence[float],
    top: Sequence[Mapping[int, float]] = (),
) -> list[dict[str, Any]]:
    """Convert log-probabilities to entries of OpenAI's `logprobs.content`.

    If a token is a part of a character, its text is U+FFFD, and its `bytes` are exact.

    Args:
        vocabulary: the tokens of the model.
        ids: the token ids.
        logprobs: the log-probability of each token.
        top: the most likely tokens at each position, as mappings of id to log-probability.

    Raises:
        UsageError: the sequences differ in length, or an id is not in the vocabulary.
    """
    if len(ids) != len(logprobs) or (top and len(top) != len(ids)):
        raise UsageError(
            "ids, logprobs and top must have the same length, not "
            f"{len(ids)}, {len(logprobs)} and {len(top)}"
        )

    def entry(id: int, logprob: float) -> dict[str, Any]:
        token = vocabulary[id]
        text = token.decode(errors="replace")
        # The bytes are exact, so that clients can join the parts of a character.
        return {"token": text, "logprob": logprob, "bytes": list(token)}

    entries = []
    for place, (id, logprob) in enumerate(zip(ids, logprobs, strict=True)):
        others = sorted(top[place].items(), key=lambda item: -item[1]) if top else ()
        entries.append(entry(id, logprob) | {"top_logprobs": [entry(*item) for item in others]})
    return entries
