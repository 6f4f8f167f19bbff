"""Random texts of a grammar, as written by a model with constrained decoding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Items
from random import Random

from hypothesis import strategies as st

from deltaparse.grammar import (
    Chars,
    Choice,
    Expr,
    GrammarRules,
    Literal,
    Ref,
    Repeat,
    Sequence,
    TextUntil,
    TextWithout,
    Token,
)
from deltaparse.grammar.rules.rules import JSON_SPACE, is_special
from deltaparse.partial import UsageError

__all__ = ["Sampler", "free_text", "texts_of"]

MORE = 3
"""Maximum number of repetitions above the required minimum."""

NEAR = 300
"""Number of characters of a range to draw from, starting with the first."""

ENDLESS = 1_000
"""Initial nesting depth of a rule."""

BEGUN = 3
"""Maximum length of a marker prefix in text. A longer one might contain a special token."""

WORDS = ("so", "x", "é😀", " ", "\n", "<", "<a", "{", '"', "[", "</", "|>", "1")
"""Pieces of raw text, in addition to prefixes of the forbidden markers."""


class Sampler:
    """Random generator of texts of a grammar.

    Args:
        grammar: the rules.
        size: the number of parts to draw freely, before the shortest way to the end is taken.

    Raises:
        UsageError: `grammar` is not a `GrammarRules`.
    """

    def __init__(self, grammar: GrammarRules, size: int = 60) -> None:
        if not isinstance(grammar, GrammarRules):
            raise UsageError(f"grammar must be gbnf(...).rules, not {type(grammar).__name__}")
        self._rules, self._size = grammar.rules, size
        self._heights = dict.fromkeys(grammar.rules, ENDLESS)
        known: dict[str, int] = {}
        while known != self._heights:
            known = self._heights
            self._heights = {name: self._height(body) for name, body in grammar.rules.items()}

    def text(self, random: Random) -> str:
        """Draw a text of the grammar. With Hypothesis's `random`, failing texts are shrunk."""
        return _Draw(self._rules, self._height, random, self._size).of(Ref("root"))

    def _height(self, expr: Expr) -> int:
        """Return the minimal nesting depth of rules in the expansion of `expr`."""
        match expr:
            case Sequence(parts):
                return max(map(self._height, parts), default=0)
            case Choice(options):
                return min(map(self._height, options))
            case Repeat(body, least, _):
                return self._height(body) if least else 0
            case Ref(name):
                return self._heights[name] + 1
            case Token(body):
                return self._height(body)
            case _:
                return 0


class _Draw:
    """State of drawing one text. `left` is the number of parts to draw freely."""

    def __init__(
        self,
        rules: Mapping[str, Expr],
        height: Callable[[Expr], int],
        random: Random,
        left: int,
    ) -> None:
        self._rules, self._height, self._random, self._left = rules, height, random, left

    def of(self, expr: Expr) -> str:
        self._left -= 1
        match expr:
            case Literal(text):
                return text
            case Chars(ranges):
                low, high = self._random.choice(ranges)
                return chr(self._random.randint(low, min(high, low + NEAR)))
            case Sequence(parts):
                return "".join(map(self.of, parts))
            case Choice(options):
                return self.of(self._random.choice(self._open(options)))
            case Repeat(body, least, most):
                most = least + MORE if most is None else min(most, least + MORE)
                count = self._random.randint(least, most) if self._left > 0 else least
                return "".join(self.of(body) for _ in range(count))
            case Ref(name):
                return self.of(self._rules[name])
            case Token(body):
                return self.of(body)
            case TextUntil(marker, others):
                return _of_size(self._random, expr, (marker, *others), marker)
            case TextWithout(others, end):
                return _of_size(self._random, expr, others, end, least=1)

    def _open(self, options: Items[Expr]) -> Items[Expr]:
        if self._left > 0:
            return options
        lowest = min(map(self._height, options))
        return [option for option in options if self._height(option) == lowest]


def _of_size(
    random: Random, raw: TextUntil | TextWithout, avoided: Items[str], end: str, *, least: int = 0
) -> str:
    """Draw raw text with an allowed number of characters."""
    text = free_text(random, avoided, end, least=least)
    if not raw.least and raw.most is None:
        return text
    text = text.removesuffix(end)[: raw.most]
    text += "y" * (raw.least - len(text))
    begun = text.lstrip(JSON_SPACE)[:1]
    lost = _holds(text, avoided, end) or (begun and begun in raw.not_first)
    return ("y" * max(raw.least, least) if lost else text) + end


def free_text(random: Random, avoided: Items[str], end: str = "", *, least: int = 0) -> str:
    """Draw raw text that ends with `end` and does not contain `avoided` before it."""
    begun = (marker[:BEGUN] for marker in avoided if len(marker) > BEGUN)
    words = [*WORDS, *(part for part in begun if not any(map(is_special, part)))]
    text = ""
    for _ in range(random.randint(least, 4)):
        longer = text + random.choice(words)
        if not _holds(longer, avoided, end):
            text = longer
    if len(text) < least:
        text = next(word for word in (*WORDS, "y", "z") if not _holds(word, avoided, end))
    return text + end


def _holds(text: str, avoided: Items[str], end: str) -> bool:
    """Return True if a marker starts in the text, before `end`."""
    whole = text + end
    return any(0 <= whole.find(marker) < len(text) for marker in avoided)


def texts_of(grammar: GrammarRules, size: int = 60) -> st.SearchStrategy[str]:
    """Draw texts of a grammar, such as `gbnf(...).rules`.

    Args:
        grammar: the rules.
        size: the number of parts to draw freely, before the shortest way to the end is taken.

    Raises:
        UsageError: `grammar` is not a `GrammarRules`.
    """
    return st.randoms(use_true_random=False).map(Sampler(grammar, size).text)
