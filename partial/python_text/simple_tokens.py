r"""The tokens of Python literals that need no thought, read in one loop.

The readers of `to_json.py` are generators, one in another: each token makes three or four of them,
and all are resumed with every chunk that ends in one. But most tokens are brackets, commas, names,
plain numbers, and strings without prefixes, and what each of them writes is known at sight. This
reads them, and does with the `Writer` what those readers do. What it does not know it leaves
unread, for them; they also go on in a string that was begun here. So both ways write the same text
with the same chunk, though not always in the same number of parts.

Commas and closing brackets are told by their character. For all else one pattern in each place
reads the space and the token behind it, and the name of its last group says which that is:

    string    from its quote to its end, with what proves that; or an argument's name and its sign
    begun     a quote, and what stands behind it up to an escape or another quote
    word      a number or a name that is a value
    opener    an opening bracket
    space     only that, for a comma or a closing bracket stands behind it
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
BEFORE_SIGN = r"(?=[,\]})])(?P<space>)"
CUT_WORD = r"(?=[-+.\w]{0,128}+\Z)(?P<wait>)"
CUT_STRING = r"(?=(?:{}[ \t\n\r\f]{{0,64}}+|\\(?:u[0-9a-fA-F]{{0,3}})?)?\Z)(?P<wait>)"


def _place(*tokens: str) -> Match:
    """What matches one of the tokens behind white space, or nothing."""
    return _match(f"{SPACE}(?:{'|'.join([*tokens, BEFORE_SIGN, CUT_WORD, ''])})")


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
PLACES = {
    "element": VALUE,
    "value": VALUE,
    ":": _place(_string(BEHIND_KEY)),
    "=": _place(r"()([^\W\d][-.\w]{0,127}+)=(?P<string>)"),
    "comma": _place(),
}
"""By what is expected, and for a key, by the sign behind it."""
REST_OF_VALUE, REST_OF_KEY = _rest(BEHIND_VALUE), _rest(BEHIND_KEY)


def simple_tokens(out: Writer) -> Step:
    """Return what reads tokens up to one that is not simple, or not all there.

    It returns what is to be emitted; if something else must read on, it has emitted that, and
    returns None. A bracket must be open.
    """
    emit = out.emit
    texts: list[str] = []
    collect = texts.append
    inside = 0

    def step(src: Window) -> str | None:
        nonlocal inside
        if src.base < 0 and not src.emits_prompt:
            return None
        begun = out.quote
        out.emit = collect
        waits = _read(src, out)
        out.emit = emit
        written = "".join(texts)
        # In a string that is longer than some chunks; for others it would not be worth it.
        inside = inside + 1 if begun and begun == out.quote and len(texts) == 1 else 0
        texts.clear()
        if not waits or src.closed:
            if written:
                emit(written)
            return None
        if inside >= LONG_STRING and not out.slots:
            src.let_pass(IN_STRING[begun][1])
        return written

    return step


def _read(src: Window, out: Writer) -> bool:
    """Read tokens; return whether of what is unread nothing can be emitted before more comes."""
    text, frames, pos = src.text, out.frames, src.pos
    # What may be a tuple's is held back.
    end, write = len(text), out.write if out.slots else out.emit
    while pos < end:
        char, frame, expects, quote = text[pos], frames[-1], out.expects, out.quote
        is_key = expects == "key"
        if quote:
            if out.fresh and char == quote:
                return False
            out.fresh = False
            found = (REST_OF_KEY if is_key else REST_OF_VALUE)[quote](text, pos)
            src.pos = pos = found.end()
            run, kind = found[1], found.lastgroup
            if kind != "string":
                if run:
                    write(run)
                return kind == "wait"
            write(run + ('": ' if is_key else '"'))
            out.quote, out.in_string = "", False
            out.expects = "value" if is_key else "comma"
        elif char == frame.closer and expects != "value":
            src.pos = pos = pos + 1
            out.close()
            if not frames:
                return False
        elif char == "," and expects == "comma" and frame is not LONG_VALUE:
            src.pos = pos = pos + 1
            out.separate()
        else:
            found = PLACES[frame.sign if is_key else expects](text, pos)
            kind, behind = found.lastgroup, found.end()
            if kind == "wait":
                src.pos = behind
                return True
            if kind is None or behind == pos or (kind == "opener" and len(frames) >= out.max_depth):
                return False
            src.pos = pos = behind
            if kind == "opener":
                out.open(OPENERS[text[pos - 1]])
                write = out.write
            elif kind != "space":
                comma, out.comma, out.in_member = out.comma, "", is_key
                if kind == "word":
                    write(comma + NAMES.get(found[5], found[5]))
                    out.expects = "comma"
                elif kind == "begun":
                    write(f'{comma}"{found[2]}')
                    out.in_string, out.quote, out.fresh = True, found[1], not found[2]
                else:
                    write(f'{comma}"{found[2]}' + ('": ' if is_key else '"'))
                    out.expects = "value" if is_key else "comma"
    return True
