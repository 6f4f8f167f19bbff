"""State machine of parsers and their copies under any sequence of operations.

The input is a plausible turn in any format, with parts omitted, repeated or replaced by junk.
After each step the deltas must add up to the messages. At the end, each parser is compared with
a fresh parser of the complete text.
"""

from __future__ import annotations

import json
from itertools import groupby

import ijson.backends.python as ijson
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    precondition,
    rule,
)

from deltaparse import StreamParser, UsageError

from ..strategies.requests import options, reasons
from ..strategies.wire_families import any_text
from ..support import as_joined, joined

MOST = 4
"""The maximum number of parsers in one run."""

sizes = st.sampled_from([1, 2, 3, 5, 8, 20, 60])
junk = st.one_of(st.text(max_size=6), st.text("\ud83d\ude00aé"), st.binary(max_size=6))


def text_of(chunks):
    """Return the text of `str` and `bytes` chunks; runs of one type are decoded together."""
    text = ""
    for kind, run in groupby(filter(None, chunks), type):
        whole = kind().join(run)
        if kind is str:
            text += whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        else:
            text += whole.decode("utf-8", "replace")
    return text


def value(arguments):
    """Return the value of JSON arguments, after a comparison of two JSON parsers."""
    read = json.loads(arguments)
    if "inf" not in repr(read):  # ijson rejects numbers beyond the range of floats
        assert [read] == list(ijson.items(arguments.encode(), "", use_float=True))
    return read


class Watched:
    """A parser with its remaining chunks, past chunks and deltas."""

    def __init__(self, parser, rest, fed=(), deltas=()):
        self.parser, self.rest, self.fed, self.deltas = parser, rest, [*fed], [*deltas]
        self.reason = None

    def feed(self, *chunks):
        for chunk in chunks:
            self.deltas += self.parser.feed(chunk)
            self.fed.append(chunk)
        self.check()

    def finish(self, reason):
        self.reason = reason
        self.deltas += self.parser.finish(reason)
        self.check()

    def copy(self, parser):
        """Return the same record for a copy of the parser."""
        assert state(parser) == state(self.parser)
        return Watched(parser, self.rest, self.fed, self.deltas)

    def check(self):
        """Check that the deltas add up to the message, in the order of the calls."""
        message, seen = self.parser.message, self.parser.counts
        content, reasoning, calls = joined(self.deltas)
        assert (content, reasoning, calls) == as_joined(message)
        amounts = (seen.content, seen.reasoning, seen.tool_calls)
        given = len(content) + len(reasoning) + sum(len(call[2]) for call in calls)
        assert sum(amount.characters for amount in amounts) == given
        assert sum(amount.chunks for amount in amounts) == len(self.fed)


def state(parser):
    """Return all observable state of a parser."""
    end = parser.finish_reason, parser.where(), parser.in_reasoning
    return parser.message, parser.issues, parser.counts, *end


class ParserMachine(RuleBasedStateMachine):
    """Parsers of one format under random operations."""

    running = Bundle("running")
    ended = Bundle("ended")

    def __init__(self):
        super().__init__()
        self.watched = []

    @initialize(target=running, case=any_text, kw=options, reason=reasons)
    def begin(self, case, kw, reason):
        (self.fmt, self.text), self.kw, self.reason = case, kw, reason
        return self.added()

    @precondition(lambda self: len(self.watched) < MOST)
    @rule(target=running)
    def begin_another(self):
        return self.added()

    def added(self, watched=None):
        """Add a parser, or a new one, to the final comparison."""
        if watched is None:
            parser = StreamParser(self.fmt, record=True, **self.kw)
            watched = Watched(parser, self.text.encode())
        self.watched.append(watched)
        return watched

    @rule(parser=running, cuts=st.lists(sizes, min_size=1, max_size=9), as_bytes=st.booleans())
    def feed(self, parser, cuts, as_bytes):
        for size in cuts:
            chunk, parser.rest = parser.rest[:size], parser.rest[size:]
            parser.feed(chunk if as_bytes else chunk.decode("utf-8", "replace"))

    @rule(parser=running, chunk=junk)
    def feed_junk(self, parser, chunk):
        parser.feed(chunk)

    @rule(parser=running)
    def feed_again(self, parser):
        parser.feed(*parser.fed[-2:])

    @rule(parser=running, size=sizes)
    def leave_out(self, parser, size):
        parser.rest = parser.rest[size:]

    @precondition(lambda self: len(self.watched) < MOST)
    @rule(target=running, parser=running)
    def fork(self, parser):
        return self.added(parser.copy(parser.parser.fork()))

    @precondition(lambda self: len(self.watched) < MOST)
    @rule(target=running, parser=running)
    def restore(self, parser):
        return self.added(parser.copy(StreamParser.restore(parser.parser.snapshot())))

    @rule(target=ended, parser=consumes(running), reason=reasons)
    def finish(self, parser, reason):
        parser.finish(reason)
        return parser

    @rule(parser=ended, chunk=junk, reason=reasons)
    def go_on_after_the_end(self, parser, chunk, reason):
        before = state(parser.parser)
        with pytest.raises(UsageError):
            parser.parser.feed(chunk)
        assert parser.parser.finish(reason) == []
        assert state(parser.parser) == state(parser.parser.fork()) == before

    def teardown(self):
        for each in self.watched:
            if each.parser.finish_reason is None:
                each.feed(each.rest)
                each.finish(self.reason)
            assert each.parser.where() == "end"
            self.compare(each)

    def compare(self, watched):
        """Compare with parsers that were only fed: the same chunks, and the complete text."""
        parser = watched.parser
        same = StreamParser(self.fmt, **self.kw)
        deltas = [delta for chunk in watched.fed for delta in same.feed(chunk)]
        assert deltas + same.finish(watched.reason) == watched.deltas
        assert state(same) == state(parser)

        whole = StreamParser(self.fmt, **self.kw)
        whole.feed(text_of(watched.fed))
        whole.finish(watched.reason)
        assert whole.message == parser.message
        assert whole.finish_reason == parser.finish_reason
        assert whole.issues == [each for each in parser.issues if each.kind != "invalid_text"]
        assert "internal_error" not in {issue.kind for issue in parser.issues}
        for call in parser.message.tool_calls:
            assert isinstance(value(call.arguments) if call.complete else call.healed(), dict)


TestParsers = ParserMachine.TestCase
