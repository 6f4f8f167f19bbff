"""Markers that are made of several tokens, written as plain tags while a template is read.

Two kinds of markers do not show where they begin and end, for their tokens stand in all of them:

    <|open|>think<|sep|> ... <|close|>think<|sep|>     a word between two tokens
    ]<]ns[>[<call> ... ]<]ns[>[</call>                 one token before every tag

What would be compared as text is cut in the middle of them. So each is written as a tag of its own
in what is rendered, with characters of private use in the places of the tokens, and written back in
what was found. Known by what they do, not by what they look like: the same words stand behind two
tokens, and before a third; the same tags, opening and closing, stand behind one token and nothing
else does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from deltaparse.stream import WireFormat

__all__ = ["Brackets", "find_brackets"]

TOKEN = r"<[^<>\s\w][^<>\s]{0,40}>"
WORD = re.compile(rf"({TOKEN})(\w[^<>\n]{{0,200}})(?=({TOKEN}))")
BEFORE_TAG = re.compile(
    r"(?=([^\w\s<>]{0,4}<?[^\w\s<>]{0,4}\w{1,40}[^\w\s<]{1,8})<(/?)(\w[\w.-]*))"
)
OPEN, CLOSE, PREFIX = "\ue001", "\ue00f", "\ue000"


@dataclass(frozen=True, slots=True)
class Brackets:
    """Tokens that only together with what follows them make a marker; none for most templates.

    `pairs` are what stands before a word and what stands behind it; `prefixes` stand before tags.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    prefixes: tuple[str, ...] = ()

    def plain(self, text: str) -> str:
        """Write the markers as tags."""
        for at, (first, last) in enumerate(self.pairs):
            opened = f"<{chr(ord(OPEN) + at)}"
            pattern = re.escape(first) + r"(\w[^<>\n]*)" + re.escape(last)
            text = re.sub(pattern, rf"{opened}\g<1>{CLOSE}>", text)
        for prefix in self.prefixes:
            text = text.replace(f"{prefix}<", f"<{PREFIX}")
        return text

    def restored(self, text: str) -> str:
        """Write the markers as they are."""
        for at, (first, last) in enumerate(self.pairs):
            text = text.replace(f"<{chr(ord(OPEN) + at)}", first).replace(f"{CLOSE}>", last)
        for prefix in self.prefixes:
            text = text.replace(f"<{PREFIX}", f"{prefix}<")
        return text

    def restored_format(self, fmt: WireFormat) -> WireFormat:
        """Write the markers of a format as they are."""
        if not (self.pairs or self.prefixes):
            return fmt
        written = json.loads(fmt.to_json(), object_hook=self._values)
        return WireFormat.from_json(json.dumps(written))

    def _values(self, made: dict[str, object]) -> dict[str, object]:
        return {key: self._value(value) for key, value in made.items()}

    def _value(self, value: object) -> object:
        if isinstance(value, str):
            return self.restored(value)
        return [self._value(part) for part in value] if isinstance(value, list) else value


def find_brackets(text: str) -> Brackets:
    """Find such tokens in a conversation that has all that one can have."""
    return Brackets(tuple(_pairs(text)), tuple(_prefixes(text)))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    words: dict[tuple[str, str], set[str]] = {}
    for found in WORD.finditer(text):
        words.setdefault((found[1], found[3]), set()).add(found[2].split()[0])
    for (first, last), said in words.items():
        others = [more for (one, end), more in words.items() if end == last and one != first]
        if any(len(said & more) > 1 for more in others):
            yield first, last


def _prefixes(text: str) -> Iterator[str]:
    tags: dict[str, dict[str, set[str]]] = {}
    for found in BEFORE_TAG.finditer(text):
        tags.setdefault(found[1], {}).setdefault(found[2], set()).add(found[3])
    for prefix, kinds in tags.items():
        both = kinds.get("", set()) & kinds.get("/", set())
        always = text.count(prefix) == text.count(f"{prefix}<")
        tag = re.fullmatch(r"<[^<>]*>", prefix)
        if len(both) > 1 and always and not tag and not prefix[0].isalnum():
            yield prefix
            return
