"""Free text followed by optional calls.

    turn = text [calls]

A call cannot begin within the text: it excludes all markers of calls, reasoning and the end of the
turn. In formats with unmarked calls, the text begins differently from calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deltaparse.stream import ContentMode, ToolFormat, WireFormat
from deltaparse.stream.wire.marker_tables import marker_tables
from deltaparse.stream.wire.spellings import leading, stripped, trailing, word_core

from ..rules.prefixes import lead, without
from ..rules.rulebook import RuleBook
from ..rules.rules import (
    EMPTY,
    NOTHING,
    Expr,
    Literal,
    TextWithout,
    chars,
    choice,
    except_chars,
    is_special,
    literal,
    optional,
    repeat,
    seq,
    token,
)
from ..rules.text_until import text_until
from .offered_tools import Tool
from .triggers import words
from .turn_start import Thought, TurnStart

__all__ = ["FreeText", "headers_in_markup", "is_wrapped"]

WHITE = (" ", "\t", "\n", "\r")


def headers_in_markup(fmt: WireFormat) -> list[str]:
    """List repeated turn headers a model may write, without headers that look like prose."""
    texts = marker_tables(fmt, calls=True).at_start.literals
    return [text for text in texts if not text.strip()[:1].isalnum()]


def is_wrapped(fmt: WireFormat, start: TurnStart) -> bool:
    """Return True if content is between markers in a turn with this start."""
    mode = fmt.content.mode
    return mode is ContentMode.ALWAYS_WRAPPED or (
        mode is ContentMode.WRAPPED_WITH_REASONING and start.thought is not Thought.NONE
    )


class FreeText:
    """Builds text with calls after it: `own` in the format's syntax, or `code`.

    `reasoning` lists all reasoning markers.
    """

    def __init__(
        self,
        fmt: WireFormat,
        tools: Sequence[Tool],
        rules: RuleBook,
        own: Expr,
        code: Expr,
        reasoning: Iterable[str] = (),
    ) -> None:
        self._fmt = fmt
        self._tools = tools
        self._rules = rules
        self._words = words(fmt, tools)
        space = leading("".join(fmt.derived.openers))
        ways = [without(space, own, rules.rules)]
        if code != EMPTY:
            ways.append(without(leading(fmt.code.start), code, rules.rules))
        self._following = choice(*ways)
        self._calls = own if code == EMPTY else choice(own, code)
        marks = [*reasoning, fmt.code.start, *fmt.turn.ends]
        if fmt.content.mode is ContentMode.WRAPPED_WITH_CALLS:
            marks.append(fmt.content.start)
        # Stray closers and repeated headers would be reported as issues.
        closers = marker_tables(fmt, calls=True).stray_closers
        strays = (*closers, *headers_in_markup(fmt))
        cores = sorted(stripped((*fmt.derived.openers, *marks, *strays)))
        self._others = [core for core in cores if not any(core in word for word in self._words)]

    def turn(self, start: TurnStart) -> Expr:
        """Return the turn after reasoning."""
        fmt, rules = self._fmt, self._rules.rules
        written = start.written.lstrip()
        begun = without(written, self._calls, rules) if written.strip() else NOTHING
        content = fmt.content
        next_to_calls = content.mode is ContentMode.WRAPPED_WITH_CALLS
        if not is_wrapped(fmt, start) and not next_to_calls:
            return choice(begun, self._plain())
        opening = word_core(content.start)
        if opening and written.strip() and opening.startswith(written.strip()):
            opening = opening.removeprefix(written.strip())
        if not content.end.strip():
            answer = seq(literal(opening), self._plain())
        else:
            ends = text_until(content.end.strip(), *self._forbidden_after(content.end))
            after_end = seq(ends, optional(self._plain()))
            within = [seq(calls, literal(content.end)) for calls in self._to_calls(content.end)]
            answer = seq(literal(opening), choice(after_end, *within))
        if next_to_calls:
            answer = choice(answer, self._plain())
        if begun != NOTHING:
            return choice(begun, answer)
        space = token(repeat(chars(*WHITE), 1, 8))
        return choice(self._calls, seq(space, self._following), answer)

    def _forbidden_after(self, end: str) -> list[str]:
        return [other for other in (*self._words, *self._others) if other not in end]

    def _plain(self) -> Expr:
        """Return text outside of content markers, with optional calls after it."""
        if not self._fmt.derived.unmarked_calls:
            return optional(self._text())
        return optional(choice(self._calls, *self._other_text()))

    def _text(self) -> Expr:
        ways = [*self._to_calls(), *self._to_next_message()]
        return choice(*ways, TextWithout((*self._words, *self._others)))

    def _to_calls(self, *ends: str) -> list[Expr]:
        """Return text with calls after it, without `ends` in the text."""
        ways: list[Expr] = []
        for word in self._words:
            rest = without(word, self._following, self._rules.rules)
            if rest != NOTHING:
                more = [other for other in self._words if other not in word]
                others = dict.fromkeys((*more, *self._others, *map(str.strip, ends)))
                ways.append(seq(text_until(word, *others), rest))
        return ways

    def _to_next_message(self) -> list[Expr]:
        """Return text with calls in a later message, in formats with several messages."""
        turn, ways = self._fmt.turn, []
        for end in turn.ends if turn.several_messages and self._words else ():
            others = self._forbidden_after(end)
            for header in turn.headers:
                calls = lead(trailing(end) + header, self._calls, self._rules)
                ways.append(seq(text_until(end.strip(), *others), calls))
        return ways

    def _other_text(self) -> list[Expr]:
        """Return text that begins differently from unmarked calls."""
        tools = self._fmt.tools
        if tools.format is ToolFormat.PYTHONIC and not tools.array_wrapped:
            namespace = self._fmt.function.namespace
            heads = [f"{namespace}{tool.name}(" for tool in self._tools]
            return [TextWithout((*heads, *self._words, *self._others))]
        bracket = "[" if tools.array_wrapped else "{"
        space, marks = repeat(chars(*WHITE)), (*self._words, *self._others)
        begins = {mark[0] for mark in marks}
        ways = [seq(space, except_chars(chars(bracket, *begins, *WHITE)))]
        for letter in sorted(begins - {bracket}):
            # Text may begin like a marker if it continues differently.
            goes_on = {mark[1] for mark in marks if mark[0] == letter and len(mark) > 1}
            if not any(mark == letter for mark in marks) and not is_special(letter):
                ways.append(seq(space, Literal(letter), except_chars(chars(*goes_on, *begins))))
        return [seq(token(choice(*ways)), optional(self._text()))]
