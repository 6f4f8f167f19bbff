"""Multi-token markers, written as plain tags during the analysis.

The tokens of two kinds of markers occur in every marker, so the borders of a marker are unclear:

    <|open|>think<|sep|> ... <|close|>think<|sep|>     a word between two tokens
    ]<]ns[>[<call> ... ]<]ns[>[</call>                 one token before every tag

A comparison of renderings would cut these markers in the middle. Each is therefore rewritten as one
tag in the renderings, with private-use characters in place of the tokens. The findings are
rewritten back. Detection uses the function of the tokens, not their spelling. For pairs, the same
words follow two different tokens and precede a third. For prefixes, one token precedes the opening
and closing forms of the same tags, and never other text.
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
    """Tokens that form a marker only with the following text. Empty for most templates.

    Attributes:
        pairs: the tokens before and after a word.
        prefixes: the tokens before tags.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    prefixes: tuple[str, ...] = ()

    def plain(self, text: str) -> str:
        """Return the text with multi-token markers written as tags."""
        for at, (first, last) in enumerate(self.pairs):
            opened = f"<{chr(ord(OPEN) + at)}"
            pattern = re.escape(first) + r"(\w[^<>\n]*)" + re.escape(last)
            text = re.sub(pattern, rf"{opened}\g<1>{CLOSE}>", text)
        for prefix in self.prefixes:
            text = text.replace(f"{prefix}<", f"<{PREFIX}")
        return text

    def restored(self, text: str) -> str:
        """Return the text with the tags replaced by the original markers."""
        for at, (first, last) in enumerate(self.pairs):
            text = text.replace(f"<{chr(ord(OPEN) + at)}", first).replace(f"{CLOSE}>", last)
        for prefix in self.prefixes:
            text = text.replace(f"<{PREFIX}", f"{prefix}<")
        return text

    def restored_format(self, fmt: WireFormat) -> WireFormat:
        """Return the format with the tags replaced by the original markers."""
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
    """Find multi-token markers in a conversation that has reasoning, calls and results."""
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
