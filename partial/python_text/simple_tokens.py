"""The simple tokens of Python literals, read in one loop.

The readers of `to_json.py` are nested generators: each token creates three or four of them, and all
are resumed with every chunk. But most tokens are brackets, commas, names, plain numbers, and
strings without prefixes, whose JSON is known immediately. This module reads them, and updates the
`Writer` as those readers do. Other tokens stay unread for those readers, which also finish a string
started here. So both ways write the same text with the same chunk, though in a different number of
parts.

Commas and closing brackets are recognized by their character. For other tokens, one pattern for
each place reads the space and the token. The name of its last group is the kind of token:

    string    a complete string, with proof of its end; or an argument's name and its sign
    begun     a quote, and the text after it up to an escape or another quote
    word      a number, or a name that is a value
    opener    empty: an opening bracket follows
    space     only space: a comma or a closing bracket follows
    wait      empty: the unread text is not a complete token yet
    None      empty: the unread text is for the other readers

Waiting text is examined again with each chunk, so its length is bounded. The other readers read
longer tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from ..bypass import Step
from ..json_text.value_lane import LONG_STRING
from ..surrogates import SURROGATES
from ..window import Window
from .python_numbers import NAMES
from .strings import IN_STRING, STRING_RUNS
from .writer import OPENERS, Expects, Writer

__all__ = ["simple_tokens"]

Match = Callable[[str, int], re.Match[str]]

SPACE = r"[ \t\n\r\f]*+"
# Only numbers with the same spelling in JSON. Others are converted by the general readers.
NUMBER = r"-?(?:0|[1-9][0-9]{0,30}+)(?:\.[0-9]{1,30}+)?+"
# The lookahead excludes longer words, calls and numbers with a sign after them.
WORD = rf"({'|'.join(NAMES)}|{NUMBER})(?=[^-+.\w(])(?P<word>)"
# A string is complete only if no other string can follow, because Python would join them.
AFTER_VALUE = rf"(?={SPACE}[,\]}})])"
AFTER_KEY = f"{SPACE}:"
# Without quotes, backslashes and control characters, the text needs no escapes in JSON.
PLAIN = rf"[^'\"\\\x00-\x1f{SURROGATES}]*+"
BEFORE_SIGN = r"(?=[,\]})])(?P<space>)"
# The length is bounded, because waiting text is matched again with each chunk.
CUT_WORD = r"(?=[-+.\w]{0,128}+\Z)(?P<wait>)"
CUT_STRING = r"(?=(?:{}[ \t\n\r\f]{{0,64}}+|\\(?:u[0-9a-fA-F]{{0,3}})?)?\Z)(?P<wait>)"


def _place(*tokens: str) -> Match:
    """Return a matcher for one of the tokens after whitespace, or for the empty text."""
    return _match(f"{SPACE}(?:{'|'.join([*tokens, BEFORE_SIGN, CUT_WORD, ''])})")


def _string(behind: str) -> str:
    return rf"(['\"])({PLAIN})(?:\1{behind}(?P<string>)|(?P<begun>))"


def _rest(behind: str) -> dict[str, Match]:
    """Return matchers for the rest of a string, by its quote."""
    return {
        quote: _match(f"({run})(?:{quote}{behind}(?P<string>)|{CUT_STRING.format(quote)}|)")
        for quote, run in STRING_RUNS.items()
    }


def _match(pattern: str) -> Match:
    """Return the `match` method of a pattern that matches the empty text too."""
    return cast("Match", re.compile(pattern).match)


VALUE = _place(_string(AFTER_VALUE), WORD, r"(?=[\[{])(?P<opener>)")
PLACES = {
    "element": VALUE,
    "value": VALUE,
    ":": _place(_string(AFTER_KEY)),
    "=": _place(r"()([^\W\d][-.\w]{0,127}+)=(?P<string>)"),
    "comma": _place(),
}
"""Matchers by the expected token; for a key, by the sign after it."""
REST_OF_VALUE = _rest(AFTER_VALUE)
REST = {"element": REST_OF_VALUE, "value": REST_OF_VALUE, "key": _rest(AFTER_KEY)}
"""Matchers for the rest of a string, by the role of the string."""
AFTER_STRING: dict[Expects, tuple[str, Expects]] = {
    "element": ('"', "comma"),
    "value": ('"', "comma"),
    "key": ('": ', "value"),
}
"""The text written after a string, and the token expected then."""


def simple_tokens(out: Writer) -> Step:  # noqa: C901, PLR0915 - one step
    """Return a step that reads tokens up to one that is not simple or not complete.

    The step returns the text to emit. If another reader must continue, it emits the text itself and
    returns None. A bracket must be open.
    """
    emit, frames, most = out.emit, out.frames, out.max_depth
    # The number of consecutive chunks in the same string.
    inside = 0

    def step(src: Window) -> str | None:  # noqa: C901, PLR0912, PLR0915 - calls cost more
        nonlocal inside
        frame = frames[-1]
        # Text in a possible tuple is buffered by the writer.
        # Only the general writer omits the prompt's part of a text.
        if out.slots or frame.odd or (src.base < 0 and not src.emits_prompt):
            return None
        text, pos, begun, expects, comma = src.text, src.pos, out.quote, out.expects, out.comma
        # `simple`: no unread text can be emitted before more text arrives.
        quote, end, written, simple = begun, len(text), "", True
        while pos < end:
            char = text[pos]
            if quote:
                # Two quotes are an empty string or the start of a triple-quoted one.
                if out.fresh and char == quote:
                    simple = False
                    break
                # From here on a quote ends the string.
                out.fresh = False
                found = REST[expects][quote](text, pos)
                pos, kind = found.end(), found.lastgroup
                if kind != "string":
                    written += found[1]
                    # An escape or an odd character needs the general reader.
                    simple = kind == "wait"
                    break
                behind, expects = AFTER_STRING[expects]
                written += found[1] + behind
                quote, begun = "", ""
            # After a key and its sign, a closing bracket is an error.
            elif char == frame.closer and expects != "value":
                written += frame.ends
                pos, expects = pos + 1, "comma"
                frames.pop()
                # The value is complete, or a parenthesis with undecided meaning is open again.
                if not frames or (frame := frames[-1]).odd:
                    simple = False
                    break
            elif char == "," and expects == "comma":
                # The comma is written with the next element, because it may be a trailing one.
                pos, comma, expects = pos + 1, ", ", "key" if frame.sign else "element"
            else:
                found = PLACES[frame.sign if expects == "key" else expects](text, pos)
                start, pos, kind = pos, found.end(), found.lastgroup
                # The sign after the space is handled by the branches above.
                if kind == "space" and pos > start:
                    continue
                if kind == "string":
                    behind, expects = AFTER_STRING[expects]
                    written += f'{comma}"{found[2]}{behind}'
                elif kind == "begun":
                    quote, out.fresh = found[1], not found[2]
                    written += f'{comma}"{found[2]}'
                elif kind == "word":
                    written += comma + NAMES.get(found[5], found[5])
                    expects = "comma"
                # Beyond the limit, the general reader reports the error.
                elif kind == "opener" and len(frames) < most:
                    frame = OPENERS[text[pos]]
                    frames.append(frame)
                    written += comma + frame.begins
                    pos, expects = pos + 1, "key" if frame.sign else "element"
                else:
                    simple = kind == "wait"
                    break
                comma = ""
        src.pos = pos
        out.quote, out.in_string, out.expects, out.comma = quote, bool(quote), expects, comma
        # At the end of the input the general readers decide if the text is truncated.
        if not simple or src.closed:
            if written:
                emit(written)
            return None
        # A lane pays off only in a string of several chunks.
        inside = inside + 1 if begun else 0
        if inside >= LONG_STRING:
            src.let_pass(IN_STRING[begun][1])
        return written

    return step
