"""Comparison of parsers with and without the fast path through calls."""

from __future__ import annotations

from contextlib import contextmanager
from unittest.mock import patch

from deltaparse import Policies, StreamParser, ToolCallDelta
from deltaparse.partial.json_text import lexer
from deltaparse.stream.reading.tool_calls import json_object_calls
from deltaparse.stream.wire.fast_patterns import FastPattern


def merged(deltas):
    """Join adjacent deltas of one kind, or of one call."""
    said = []
    for delta in deltas:
        if not isinstance(delta, ToolCallDelta):
            if said and type(said[-1]) is type(delta):
                said[-1] = type(delta)(said[-1].text + delta.text)
            else:
                said.append(delta)
        elif (
            said
            and isinstance(said[-1], list)
            and delta.name is None
            and said[-1][0] == delta.index
        ):
            said[-1][3] += delta.arguments
            said[-1][4] |= delta.last
        else:
            said.append([delta.index, delta.id, delta.name, delta.arguments, delta.last])
    return said


def read(fmt, chunks, reason, given):
    """Return the deltas of each chunk and the final state of a parser."""
    parser = StreamParser(fmt, **given)
    said, error = [], None
    try:
        said += ((parser.feed(text), parser.counts, parser.issue_count) for text in chunks)
        said.append((parser.finish(reason), parser.counts, parser.issue_count))
    except Exception as raised:  # noqa: BLE001 - a policy may raise; both parsers must
        error = repr(raised)
    if said and given.get("policies", Policies()).extra_calls == "text":
        # The two parsers may emit the whitespace of an extra call with different chunks.
        said = [([delta for deltas, *_ in said for delta in deltas], *said[-1][1:])]
    said = [(merged(deltas), *numbers) for deltas, *numbers in said]
    spans = [getattr(part, "span", None) for part in parser.message.parts]
    return said, error, parser.message, spans, parser.issues, parser.attempts


@contextmanager
def slow_path_only():
    never = patch.object(FastPattern, "match", lambda *_: None)
    no_wait = patch.object(FastPattern, "may_follow", lambda *_: False)
    no_call = patch.object(json_object_calls, "_whole_call", lambda *_: False)
    no_object = patch.object(lexer, "small_object", lambda *_: None)
    with never, no_wait, no_call, no_object:
        yield


def check_both_ways(fmt, chunks, reason, **given):
    short = read(fmt, chunks, reason, given)
    with slow_path_only():
        assert read(fmt, chunks, reason, given) == short
