"""Overhead of replay per record, counted: the parser determines the rate."""

from __future__ import annotations

import json
import sys

from deltaparse import StreamParser, Tools
from deltaparse.replay.blocks import BEGINNING, Block, written

from .records import FORMAT, REPLAYER, TEXT, TOOLS, record

RECORDS = 50
MOST = 200
"""Calls of functions, Python's and C's, for a record."""


def calls(function):
    counted = 0

    def watch(frame, event, argument):
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(before)
    return counted / RECORDS


def test_overhead_of_replay_is_small():
    expected = REPLAYER(record())["message"]
    given = record(model="m", expected=expected)
    block = Block(BEGINNING, BEGINNING, b"\n".join([json.dumps(given).encode()] * RECORDS))
    tools = Tools(TOOLS)

    def parsed():
        for _ in range(RECORDS):
            parser = StreamParser(FORMAT, tools=tools)
            parser.feed(TEXT)
            parser.finish("stop")
            assert parser.message is not None

    def replayed():
        written(REPLAYER, block)

    for function in (parsed, replayed):
        function()  # warm the caches, which are not counted
    assert 0 < calls(replayed) - calls(parsed) < MOST
