r"""How JSON is spelled: compact JSON from any JSON while it streams, and lone surrogates.

Compact JSON is what `json.dumps(value, ensure_ascii=False, separators=(",", ":"))` writes, but
that numbers keep their spelling (`1e5` stays, and so does an integer beyond any float) and keys
that stand twice stay twice. Half of a surrogate pair cannot be sent as text: UTF-8 has no bytes
for it. In JSON text it stays the escape that it was (`\ud83d`), in a value it is U+FFFD.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from json.encoder import encode_basestring

from .lexer import HALF_PAIR, IN_STRING, match_end

__all__ = ["CompactJson", "compact_json", "escape_surrogates", "sound_json", "spelled"]

SURROGATE = re.compile("[\ud800-\udfff]")
# A pair, half of one, or another escape: so read, no backslash is taken for the wrong one's.
ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
HAS_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


# `json.dumps` would make an encoder at each call.
ENCODE = json.JSONEncoder(ensure_ascii=False).encode


def spelled(text: str) -> str:
    r"""Spell `text` as it stands in a JSON string.

    >>> print(spelled('a "b"\n'))
    a \"b\"\n
    """
    return encode_basestring(text)[1:-1]


class CompactJson:
    """Writes JSON compactly as it comes, in pieces that end between tokens or within a string.

    That is how `json_value` and its like hand it out. An escape that may be the first half of a
    surrogate pair waits for the next piece.
    """

    __slots__ = ("_emit", "_half", "_in_string")

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._in_string = False
        self._half = ""

    def write(self, text: str) -> None:
        """Take the next piece."""
        text = self._half + escape_surrogates(text)
        if self._in_string and '"' not in text and "\\" not in text:
            self._half = ""
            self._emit(text)
            return
        self._half = ""
        out: list[str] = []
        pos, end = 0, len(text)
        while pos < end:
            if self._in_string:
                stop = match_end(IN_STRING, text, pos)
                closes = stop < end
                half = None if closes or "\\u" not in text else HALF_PAIR.search(text, pos)
                if half:
                    stop = half.start(1)
                    self._half = text[stop:]
                out.append(_respelled(text[pos:stop]))
                if half:
                    break
            else:
                stop = text.find('"', pos)
                closes = stop >= 0
                stop = stop if closes else end
                out.append("".join(text[pos:stop].split()))
            if closes:
                out.append('"')
                self._in_string = not self._in_string
            pos = stop + closes
        if piece := "".join(out):
            self._emit(piece)


def compact_json(text: str) -> str:
    """Spell `text`, JSON that is cut between tokens or within a string, compactly."""
    out: list[str] = []
    CompactJson(out.append).write(text)
    return "".join(out)


def escape_surrogates(text: str) -> str:
    r"""The same JSON with each surrogate that stands in it as a character as its escape."""
    if text.isascii():
        return text
    return SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def sound_json(text: str) -> str:
    r"""The same JSON with U+FFFD for each half of a surrogate pair that stands alone.

    >>> sound_json(r'["\ud83d\ude00", "\ud83d"]')
    '["\\ud83d\\ude00", "\\ufffd"]'
    """
    text = escape_surrogates(text)
    if HAS_SURROGATE.search(text):
        text = ESCAPES.sub(lambda found: "\\ufffd" if found[1] else found[0], text)
    return text


def _respelled(body: str) -> str:
    """The inside of a string, each character in its shortest spelling."""
    if "\\" not in body:
        return body
    spelled = ENCODE(json.loads(f'"{body}"'))[1:-1]
    return escape_surrogates(spelled)
