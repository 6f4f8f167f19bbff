"""Phase A3: find the escapes of characters in names, keys and strings.

One call is rendered with every markup character in its name, key and value, each between two words.
The text between two words is therefore the spelling of the character.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import replace

from deltaparse.stream import ToolFormat
from deltaparse.stream.wire.escapes import LONGEST_SPELLING, Escapes

from ..diff import after
from ..probes import USER, Message, call
from ..renderer import Renderer
from .call_texts import ToolsFinding

__all__ = ["with_escapes"]

CHARACTERS = (*string.punctuation, " ", "\t", "\n")
"""The tested characters. A table cannot list all other letters."""

TAGGED = (ToolFormat.TAG_WITH_JSON, ToolFormat.TAG_WITH_TAGGED)


def with_escapes(found: ToolsFinding, render: Renderer) -> ToolsFinding:
    """Return the finding with the escapes of names, keys and strings in markers of their own."""
    if found.format.format not in TAGGED:
        return found
    odd = call(0, {_spread("k"): _spread("v")})
    odd["function"]["name"] = _spread("n")
    shown = after(_rendered(render, odd), USER)
    function = replace(found.function, name_escapes=_spelled(shown, "n"))
    arguments = found.arguments
    if found.format.format is ToolFormat.TAG_WITH_TAGGED:
        arguments = replace(arguments, name_escapes=_spelled(shown, "k"))
        if not arguments.quoted_strings:
            arguments = replace(arguments, value_escapes=_spelled(shown, "v"))
    return replace(found, function=function, arguments=arguments)


def _rendered(render: Renderer, made: Message) -> str:
    return render.turn(content="", calls=[made]) or ""


def _word(letter: str, at: int) -> str:
    return f"zq{letter}{at}zq"


def _spread(letter: str) -> str:
    """Return a text with all characters, each between two words made of a letter."""
    parts = (_word(letter, at) + char for at, char in enumerate(CHARACTERS))
    return "".join(parts) + _word(letter, len(CHARACTERS))


def _spelled(shown: str, letter: str) -> tuple[str, ...]:
    """Return the table of escapes in a rendering, without irreversible ones."""
    spelled: dict[str, str] = {}
    _, found, rest = shown.partition(_word(letter, 0))
    for at, char in enumerate(CHARACTERS, 1):
        spelled[char], found, rest = rest.partition(_word(letter, at))
    if not found:
        return ()
    table = {char: text for char, text in spelled.items() if text not in ("", char)}
    table = {char: text for char, text in table.items() if len(text) <= LONGEST_SPELLING}
    while lost := _lost(table, spelled):
        for char in lost:
            del table[char]
    return tuple(text for pair in table.items() for text in pair)


def _lost(table: Mapping[str, str], spelled: Mapping[str, str]) -> set[str]:
    """Return the characters with an ambiguous spelling."""
    escapes = Escapes([text for pair in table.items() for text in pair])
    wrong = {char: text for char, text in spelled.items() if escapes.read(text) not in ("", char)}
    return {
        char
        for char, text in table.items()
        if any(char == other or text in written for other, written in wrong.items())
    }
