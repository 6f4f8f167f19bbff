"""The tokens of Python literals that need no thought, read in one loop.

The readers of `to_json.py` are generators, one in another: each token makes three or four of them,
and all are resumed with every chunk that ends in one. But most tokens are brackets, commas, names,
plain numbers, and strings without prefixes, and what each of them writes is known at sight. This
reads them, and does with the `Writer` what those readers do. What it does not know it leaves
unread, for them; they also go on in a string that was begun here. So both ways write the same text
with the same chunk, though not always in the same number of parts.
"""

from __future__ import annotations

import re

from ..json_text.lexer import CUT_ESCAPE, match_end
from ..window import Window
from .numbers import NAMES
from .strings import IN_STRING, STRING_RUNS
from .writer import LONG_VALUE, OPENERS, Writer

__all__ = ["may_go_on", "read_simple"]

SPACE = r"[ \t\n\r\f]*+"
NUMBER = r"-?(?:0|[1-9][0-9]{0,30}+)(?:\.[0-9]{1,30}+)?+"
WORD = re.compile(rf"({'|'.join(NAMES)}|{NUMBER})(?=[^-+.\w(])").match
NAMED = re.compile(r"([^\W\d][-.\w]{0,127}+)=").match
SPACES = re.compile(SPACE)
# A string is certain to be whole where no other can follow it that Python would join to it.
BEHIND_VALUE = re.compile(rf"(?:'|\"){SPACE}(?=[,\]}})])").match
BEHIND_KEY = re.compile(rf"(?:'|\"){SPACE}:").match
RUNS = {quote: re.compile(run) for quote, run in STRING_RUNS.items()}
# What waits is looked at again with each chunk, so it is bounded; what is longer, the others read.
WORD_SO_FAR = re.compile(r"[-+.\w]{0,128}+").fullmatch
BEHIND_SO_FAR = re.compile(r"[ \t\n\r\f]{0,64}+").fullmatch


def read_simple(src: Window, out: Writer) -> None:
    """Read tokens up to one that is not simple, or not all there; a bracket must be open."""
    text, frames = src.text, out.frames
    while frames:
        if out.quote:
            if not _rest_of_string(src, out):
                return
            continue
        src.pos = pos = match_end(SPACES, text, src.pos)
        if pos == len(text):
            return
        frame, char, expects = frames[-1], text[pos], out.expects
        if char == frame.closer and expects != "value":
            src.pos = pos + 1
            out.close()
        elif expects == "comma":
            if char != "," or frame is LONG_VALUE:
                return
            src.pos = pos + 1
            out.separate()
        elif char in IN_STRING:
            if frame.sign == "=" and expects == "key":
                return
            src.pos = pos + 1
            out.begin('"')
            out.in_string, out.quote, out.fresh = True, char, True
        elif expects == "key":
            key = NAMED(text, pos) if frame.sign == "=" else None
            if not key:
                return
            src.pos = key.end()
            out.begin(f'"{key[1]}": ')
            out.expects = "value"
        elif char in OPENERS:
            if len(frames) >= out.max_depth:
                return
            src.pos = pos + 1
            out.open(OPENERS[char])
        else:
            value = WORD(text, pos)
            if not value:
                return
            src.pos = value.end()
            out.begin(NAMES.get(value[1], value[1]))
            out.expects = "comma"


def _rest_of_string(src: Window, out: Writer) -> bool:
    """Read on in a string that is open; return whether it ended."""
    text, quote = src.text, out.quote
    if out.fresh:
        if text[src.pos : src.pos + 1] in ("", quote):
            return False
        out.fresh = False
    end = match_end(RUNS[quote], text, src.pos)
    if end > src.pos:
        out.write(src.take(end))
    if text[end : end + 1] != quote:
        return False
    is_key = out.expects == "key"
    behind = (BEHIND_KEY if is_key else BEHIND_VALUE)(text, end)
    if not behind:
        return False
    src.pos = behind.end() if is_key else end + 1
    out.quote, out.in_string = "", False
    out.write('": ' if is_key else '"')
    out.expects = "value" if is_key else "comma"
    return True


def may_go_on(src: Window, out: Writer) -> bool:
    """Whether of what is unread nothing can be emitted before more comes."""
    if src.closed or not out.frames:
        return False
    text, pos = src.text, src.pos
    if not out.quote:
        return bool(WORD_SO_FAR(text, pos))
    if out.fresh or pos == len(text):
        return pos == len(text)
    if text[pos] == out.quote:
        return bool(BEHIND_SO_FAR(text, pos + 1))
    return CUT_ESCAPE.match(text, pos) is not None
