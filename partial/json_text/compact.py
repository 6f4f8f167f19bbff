r"""Compact JSON, written from any JSON while it streams.

Compact JSON is the result of `json.dumps(value, ensure_ascii=False, separators=(",", ":"))`, with
two differences. Numbers keep their spelling (`1e5`, or an integer beyond any float). Duplicate keys
are kept. So it can be written in order, without the value, and the result for a prefix is a prefix
of the final result.

JSON spells half of a surrogate pair as an escape (`\ud83d`). JSON text keeps the escape. In a value
it becomes U+FFFD (`sound_json`).
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring

from ..bypass import Emit
from ..surrogates import escape_surrogates
from .lexer import IN_STRING, match_end, whole_end

__all__ = ["CompactJson", "compact_json", "sound_escapes", "sound_json", "spelled"]

# A pair, half a pair, or another escape. All escapes are matched, so that an escaped backslash
# does not start one.
ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
# A quick test without groups, because most texts have no such escape.
HAS_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def spelled(text: str) -> str:
    r"""Return `text` as the inside of a JSON string, without the quotation marks.

    >>> print(spelled('a "b"\n'))
    a \"b\"\n
    """
    # The function used by `json.dumps`, without the cost of an encoder object.
    return encode_basestring(text)[1:-1]


class CompactJson:
    """Writes compact JSON from chunks that end between tokens or inside a string.

    `json_value` and similar readers emit such chunks, so `CompactJson(emit).write` can be their
    `emit`. An escape that may be the first half of a surrogate pair waits for the next chunk.
    """

    __slots__ = ("_emit", "_half", "_in_string")

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._in_string = False
        self._half = ""

    def write(self, text: str) -> None:
        """Emit the next chunk as compact JSON."""
        text = self._half + escape_surrogates(text)
        self._half = ""
        # Fast path: inside a string without escapes, the text is already compact.
        if self._in_string and '"' not in text and "\\" not in text:
            self._emit(text)
            return
        out: list[str] = []
        pos, end = 0, len(text)
        while pos < end:
            if self._in_string:
                stop = match_end(IN_STRING, text, pos)
                closes = stop < end
                # The second half of the pair may be in the next chunk.
                if not closes and "\\u" in text:
                    stop = whole_end(text, pos)
                    self._half = text[stop:]
                out.append(_respelled(text[pos:stop]))
                # The rest is buffered, so the text of this chunk ends here.
                if self._half:
                    break
            else:
                stop = text.find('"', pos)
                closes = stop >= 0
                stop = stop if closes else end
                # Outside of strings, JSON has no significant whitespace.
                out.append("".join(text[pos:stop].split()))
            if closes:
                out.append('"')
                self._in_string = not self._in_string
            pos = stop + closes
        if compact := "".join(out):
            self._emit(compact)


def compact_json(text: str) -> str:
    """Return `text`, JSON that may be cut between tokens or inside a string, as compact JSON.

    >>> compact_json('{ "a" : [1, "b')
    '{"a":[1,"b'
    """
    out: list[str] = []
    CompactJson(out.append).write(text)
    return "".join(out)


def sound_json(text: str) -> str:
    r"""Return the JSON `text` with U+FFFD in place of each unpaired surrogate.

    >>> sound_json(r'["\ud83d\ude00", "\ud83d"]')
    '["\\ud83d\\ude00", "\\ufffd"]'
    """
    return sound_escapes(escape_surrogates(text))


def sound_escapes(text: str) -> str:
    r"""Return the JSON `text` with U+FFFD in place of each escape of an unpaired surrogate.

    >>> sound_escapes('["\\ud83d", "\ud83d"]') == '["\\ufffd", "\ud83d"]'
    True
    """
    # Most texts have no surrogates, and the substitution would visit every escape.
    if HAS_SURROGATE.search(text):
        text = ESCAPES.sub(lambda found: "\\ufffd" if found[1] else found[0], text)
    return text


def _respelled(body: str) -> str:
    """Return the inside of a string with each character in its shortest spelling."""
    # Without escapes, the spelling is already the shortest.
    if "\\" not in body:
        return body
    return escape_surrogates(spelled(json.loads(f'"{body}"')))
