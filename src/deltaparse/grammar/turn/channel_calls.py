"""Calls in messages with headers, for turns with several messages (`ChannelsFormat`).

    calls  = header body { end start role header body }
    header = channel word recipient name form message
           | recipient name channel word form message
    form   = [ "json" | constrain "json" ]
    body   = json | a call in the format's own syntax

A model may write some spaces between the parts of a header, and parsers skip them. The format does
not specify the channel of calls. Any word is therefore valid, and the model writes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from deltaparse.partial import UsageError
from deltaparse.stream import WireFormat
from deltaparse.stream.wire.channel_markers import ChannelMarkers
from deltaparse.stream.wire.spellings import leading, stripped

from ..rules.rulebook import RuleBook
from ..rules.rules import (
    EMPTY,
    Expr,
    Literal,
    TextWithout,
    chars,
    choice,
    literal,
    optional,
    repeat,
    seq,
    token,
)
from ..rules.text_until import text_until
from .offered_tools import Tool

__all__ = ["MAX_SPACES", "ChannelCalls"]

MAX_SPACES = 3
"""Most spaces between two parts of a header. Most models write zero or one."""

LETTERS = chars("az", "_")
WORD = token(repeat(LETTERS, 1, 20))
SPACES = token(repeat(Literal(" "), 1, MAX_SPACES))
GAP = optional(SPACES)


class ChannelCalls:
    """Builds messages of a turn: reasoning, content, and calls.

    `budget` is the most tokens of reasoning, or None for any number.
    """

    def __init__(
        self,
        fmt: WireFormat,
        tools: Iterable[Tool],
        rules: RuleBook,
        body: Callable[[Tool], Expr] = lambda _: EMPTY,
    ) -> None:
        self.channels = fmt.channels
        self.markers = ChannelMarkers(fmt)
        # A marker that also ends the turn is kept for the end, if the format has other end markers.
        ends = [end for end in fmt.channels.ends if end.strip() not in stripped(fmt.turn.ends)]
        self.ends = tuple(ends) or fmt.channels.ends
        self.turn_ends = fmt.turn.ends
        self.namespace = fmt.function.namespace
        self.tools = list(tools)
        self.rules = rules
        self.body = body
        self.budget: int | None = None
        role = next(iter(fmt.turn.headers), "")
        self.next = literal(role)

    def text(self, *, parallel: bool) -> Expr:
        """Return one call, or several if `parallel`, from the end of the turn's header on."""
        call = self.rules.add("call", choice(*map(self._call, self.tools)))
        if not parallel or not self.channels.ends or self.next == EMPTY:
            return call
        return seq(call, repeat(seq(self._end(), self.next, call)))

    def reasoning(self) -> Expr:
        """Return any number of reasoning messages, each with the start of the next.

        With a budget there is at most one message.
        """
        channels = self.channels
        marker = channels.channel if channels.channel.strip() else channels.recipient
        if not (channels.reasoning and channels.ends and marker.strip()):
            return EMPTY
        # Each name is a separate token, because a lexer cannot backtrack from a whole header to
        # another name.
        names = choice(*(token(literal(name)) for name in channels.reasoning))
        header = seq(literal(marker), names, literal(channels.message))
        message = seq(header, self._any_body(self.budget), self.next)
        # No notation can count the tokens of several messages together.
        return repeat(message) if self.budget is None else optional(message)

    def free(self, calls: Expr) -> Expr:
        """Return the whole turn: messages of any kind, optionally with `calls` at the end."""
        begins = (self.channels.start, self.channels.channel)
        marks = sorted(stripped((*begins, *self.channels.ends, *self.turn_ends)))
        answer = self.content(optional(TextWithout(tuple(marks))))
        if not self.channels.ends or self.next == EMPTY:
            return seq(self.reasoning(), choice(calls, answer))
        last = choice(calls, answer)
        messages = repeat(seq(self.content(self._any_body()), self.next))
        return seq(self.reasoning(), messages, self.reasoning(), last)

    def _any_body(self, most_tokens: int | None = None) -> Expr:
        # Without its start marker too, a header is read as the start of a message.
        marks = (*self.ends, *self.channels.ends, self.channels.start, self.channels.channel)
        ends = filter(None, dict.fromkeys(map(str.strip, marks)))
        return text_until(*ends, most_tokens=most_tokens)

    def content(self, body: Expr) -> Expr:
        """Return a content message, to a reader or on a channel not used for reasoning."""
        channels = self.channels
        if channels.readers and not channels.channel.strip():
            name = choice(*map(literal, channels.readers))
            return seq(literal(channels.recipient), name, literal(channels.message), body)
        if not channels.channel.strip():
            return seq(literal(channels.message), body)
        firsts = {name[:1] for name in channels.reasoning}
        first = chars(*(letter for letter in map(chr, range(97, 123)) if letter not in firsts))
        name = token(seq(first, repeat(LETTERS, 0, 20)))
        return seq(literal(channels.channel), name, self._form(), literal(channels.message), body)

    def _end(self) -> Expr:
        return choice(*map(literal, self.ends))

    def _call(self, tool: Tool) -> Expr:
        channels = self.channels
        name = self.namespace + tool.name
        # A header consists of words, so a name ends at any whitespace.
        free = self.markers.after_word.find(name, final=True) == (len(name), len(name))
        taken = () if channels.channel.strip() else (*channels.reasoning, *channels.readers)
        if name.split() != [name] or not free or name in taken:
            raise UsageError(f"tool {tool.name!r}: this name cannot be written in this format")
        if not channels.channel.strip():
            # Names are separate tokens, like the names of reasoning channels and readers.
            to = seq(literal(channels.recipient), token(literal(name)))
            return seq(to, literal(channels.message), self.body(tool))
        # A lexer takes all spaces as one token, so the recipient must not contain any of them.
        space = SPACES if leading(channels.recipient) else GAP
        to = seq(space, literal(channels.recipient.lstrip() + name))
        where = seq(literal(channels.channel), GAP, WORD)
        way = choice(seq(where, to), seq(to, GAP, where))
        return seq(way, self._form(), literal(channels.message), self.body(tool))

    def _form(self) -> Expr:
        """Return the header words for the form of the body, with the spaces around them."""
        json = literal("json")
        forms = [seq(SPACES, json, GAP)]
        if self.channels.constrain.strip():
            forms.append(seq(GAP, literal(self.channels.constrain.strip()), GAP, json, GAP))
        return choice(GAP, *forms)
