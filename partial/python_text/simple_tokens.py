r"""The tokens of Python literals that need no thought, read in one loop.

The readers of `to_json.py` are generators, one in another: each token makes three or four of them,
and all are resumed with every chunk that ends in one. But most tokens are brackets, commas, names,
plain numbers, and strings without prefixes, and what each of them writes is known at sight. This
reads them, and does with the `Writer` what those readers do. What it does not know it leaves
unread, for them; they also go on in a string that was begun here. So both ways write the same text
with the same chunk, though not always in the same number of parts.

In each place one pattern reads the space and the token behind it, and the name of its last group
says which that is:

    string    from the quote to its end, with what proves that it is one
    begun     a quote, and what stands behind it up to an escape or another quote
    word      a number or a name              name      that of an argument, with its sign
    opener, closer, comma
    wait      nothing: what is unread is no token yet
    None      nothing: what is unread is for the other readers

What waits is looked at again with each chunk, so it is bounded; what is longer, the others read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from ..json_text.value_lane import LONG_STRING
from ..surrogates import SURROGATES
from ..waiting import Step
from ..window import Window
from .numbers import NAMES
from .strings import IN_STRING, STRING_RUNS
from .writer import LONG_VALUE, OPENERS, Writer

__all__ = ["simple_tokens"]

Match = Callable[[str, int], re.Match[str]]

SPACE = r"[ \t\n\r\f]*+"
NUMBER = r"-?(?:0|[1-9][0-9]{0,30}+)(?:\.[0-9]{1,30}+)?+"
WORD = rf"({'|'.join(NAMES)}|{NUMBER})(?=[^-+.\w(])(?P<word>)"
# A string is certain to be whole where no other can follow it that Python would join to it.
BEHIND_VALUE = rf"(?={SPACE}[,\]}})])"
BEHIND_KEY = f"{SPACE}:"
PLAIN = rf"[^'\"\\\x00-\x1f{SURROGATES}]*+"
CLOSER = r"(?P<closer>[\]})])"
CUT_WORD = r"(?=[-+.\w]{0,128}+\Z)(?P<wait>)"
CUT_STRING = r"(?=(?:{}[ \t\n\r\f]{{0,64}}+|\\(?:u[0-9a-fA-F]{{0,3}})?)?\Z)(?P<wait>)"


def _place(*tokens: str) -> Match:
    """What matches one of the tokens behind white space, or nothing."""
    return _match(f"{SPACE}(?:{'|'.join([*tokens, CLOSER, CUT_WORD, ''])})")


def _string(behind: str) -> str:
    return rf"(['\"])({PLAIN})(?:\1{behind}(?P<string>)|(?P<begun>))"


def _rest(behind: str) -> dict[str, Match]:
    """What matches the rest of a string, by its quote."""
    return {
        quote: _match(f"({run})(?:{quote}{behind}(?P<string>)|{CUT_STRING.format(quote)}|)")
        for quote, run in STRING_RUNS.items()
    }


def _match(pattern: str) -> Match:
    """Each of these patterns matches the empty text too, so it always matches."""
    return cast("Match", re.compile(pattern).match)


VALUE = _place(_string(BEHIND_VALUE), WORD, r"(?P<opener>[\[{(])")
KEY = _place(_string(BEHIND_KEY))
NAME = _place(r"([^\W\d][-.\w]{0,127}+)=(?P<name>)")
COMMA = _place("(?P<comma>,)")
REST_OF_VALUE, REST_OF_KEY = _rest(BEHIND_VALUE), _rest(BEHIND_KEY)


def simple_tokens(out: Writer) -> Step:
    """Return what reads tokens up to one that is not simple, or not all there.

    It returns what is to be emitted; if something else must read on, it has emitted that, and
    returns None. A bracket must be open.
    """
    emit = out.emit
    inside = 0

    def step(src: Window) -> str | None:
        nonlocal inside
        texts: list[str] = []
        out.emit = texts.append
        begun = out.quote
        waits = _read(src, out)
        out.emit = emit
        text = "".join(texts)
        if not waits or src.closed:
            if text:
                emit(text)
            return None
        # In a string that is longer than some chunks; for others it would not be worth it.
        inside = inside + 1 if begun and len(texts) == 1 and out.quote else 0
        if inside >= LONG_STRING and not out.slots:
            src.let_pass(IN_STRING[begun][1])
        return text

    return step


def _read(src: Window, out: Writer) -> bool:
    """Read tokens; return whether of what is unread nothing can be emitted before more comes."""
    text, frames = src.text, out.frames
    pos, end = src.pos, len(text)
    if src.base < 0 and not src.emits_prompt:
        return False
    write = out.write if out.slots else out.emit
    while frames:
        if pos == end:
            return True
        expects, quote = out.expects, out.quote
        is_key = expects == "key"
        if quote:
            if out.fresh:
                if text[pos] == quote:
                    return False
                out.fresh = False
            found = (REST_OF_KEY if is_key else REST_OF_VALUE)[quote](text, pos)
            src.pos = pos = found.end()
            kind = found.lastgroup
            if kind != "string":
                if found[1]:
                    write(found[1])
                return kind == "wait"
            out.quote, out.in_string = "", False
            out.expects = "value" if is_key else "comma"
            write(found[1] + ('": ' if is_key else '"'))
            continue
        if expects == "comma":
            found = COMMA(text, pos)
        elif is_key:
            found = (KEY if frames[-1].sign == ":" else NAME)(text, pos)
        else:
            found = VALUE(text, pos)
        kind, behind = found.lastgroup, found.end()
        if kind == "comma":
            if frames[-1] is LONG_VALUE:
                return False
            src.pos = pos = behind
            out.separate()
        elif kind == "closer":
            if text[behind - 1] != frames[-1].closer or expects == "value":
                return False
            src.pos = pos = behind
            out.close()
        elif kind == "opener":
            if len(frames) >= out.max_depth:
                return False
            src.pos = pos = behind
            out.open(OPENERS[text[behind - 1]])
            write = out.write
        elif kind == "wait" or kind is None:
            src.pos = behind
            return kind == "wait"
        else:
            src.pos = pos = behind
            comma, out.comma, out.in_member = out.comma, "", is_key
            if kind == "begun":
                out.in_string, out.quote, out.fresh = True, found[1], not found[2]
                write(f'{comma}"{found[2]}')
            elif kind == "string":
                out.expects = "value" if is_key else "comma"
                write(f'{comma}"{found[2]}' + ('": ' if is_key else '"'))
            elif is_key:
                out.expects = "value"
                write(f'{comma}"{found[1]}": ')
            else:
                out.expects = "comma"
                write(comma + NAMES.get(found[5], found[5]))
    return False
