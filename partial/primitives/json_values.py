"""A push parser for the values in a JSON text, each returned as soon as it is complete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import ijson

from ..errors import AFTER_FINISH, UsageError
from ..json_text.compact import sound_json
from ..json_text.lexer import (
    AFTER_COMMA,
    AFTER_VALUE,
    BROKEN,
    DONE,
    KEY,
    MAX_DEPTH,
    STRING,
    JsonLexer,
    JsonState,
    whole_end,
)
from .heal import JsonPath

__all__ = ["JsonValue", "JsonValues", "argument_events"]

# An exponent beyond any float, which `Decimal` may refuse.
HUGE = re.compile(r"[eE][-+]?0*+[0-9]{7}")
# A string, or a number with a huge exponent: groups for the sign, the first nonzero digit, and the
# sign of the exponent.
HUGE_NUMBER = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(-?)(?<![0-9.])[0.]*+([1-9]?)[0-9.]*+[eE]([-+]?)0*+[0-9]{7,}'
)


class JsonValue(NamedTuple):
    """A complete value and its path: keys and indices from the outside in."""

    path: JsonPath
    value: Any


class JsonValues:
    """Reads one JSON value in chunks, and returns each value in it when it is complete.

    Members precede their object. The top-level value is last, at the path (). Numbers are int or
    float. Half of a surrogate pair is U+FFFD. After invalid text no values follow, and `problem`
    has the reason. Fed with the `arguments` of a call's deltas, it lets an agent act on an argument
    before the call is finished.

    ijson makes the values, in C if available. It is fed complete strings only, because it would
    read a growing string from its start each time.

    Args:
        max_depth: the limit of open brackets.

    >>> values = JsonValues()
    >>> values.feed('{"path": "a.t'), values.feed('xt", "lines": [1, 2')
    ([], [JsonValue(path=('path',), value='a.txt'), JsonValue(path=('lines', 0), value=1)])
    >>> values.value
    {'path': 'a.txt', 'lines': [1]}
    """

    __slots__ = (
        "_events",
        "_finished",
        "_held",
        "_lexer",
        "_open",
        "_parser",
        "_path",
        "_root",
        "_shown",
        "_string",
    )

    def __init__(self, *, max_depth: int = MAX_DEPTH) -> None:
        # The lexer finds the places between tokens, because ijson must get complete strings only.
        self._lexer = JsonLexer(max_depth=max_depth, tracks=True)
        self._held = ""
        self._finished = False
        self._string: list[str] = []
        self._shown: tuple[int, str] = (0, "")
        # One list for all events, because ijson appends to it during `send`.
        self._events: Any = ijson.sendable_list()
        self._parser: Any = ijson.basic_parse_coro(self._events)
        self._path: list[str | int | None] = []
        # The open containers are kept, so a value is added without a walk from the root.
        self._open: list[Any] = []
        self._root: Any = None

    @property
    def state(self) -> JsonState:
        """The position of the end of the fed text in the value."""
        return self._lexer.state

    @property
    def _stands(self) -> JsonState | None:
        """The state, or the state before BROKEN, because a started string is still shown."""
        lexer = self._lexer
        # The start of the string was valid, so it remains part of the value.
        return lexer.broken_in if lexer.state is BROKEN else lexer.state

    @property
    def problem(self) -> str:
        """The reason why no more values follow; "" while the text is valid."""
        return self._lexer.problem

    @property
    def path(self) -> JsonPath:
        """The path at the end of the fed text."""
        path, state = self._path.copy(), self.state
        if state is AFTER_VALUE and isinstance(path[-1], int):
            path[-1] -= 1  # the index was incremented after the value
        elif state in (KEY, AFTER_COMMA) and self._lexer.stack[-1] == "{":
            path[-1] = None
        return tuple(path)

    @property
    def value(self) -> Any:
        """The value so far, with the start of an incomplete string, or None before it.

        The same object is returned each time and grows. Copy it to keep a state.
        """
        # Only an incomplete string is missing from the value built so far.
        if self._stands is not STRING:
            return self._root
        text = self._string_so_far()
        if not self._open:
            return text
        self._put(text)
        return self._root

    def feed(self, text: str) -> list[JsonValue]:
        """Read the next chunk, and return the values that it completes, in order.

        Raises:
            UsageError: the chunk is not a `str`, or follows `finish`.
        """
        # Bytes may be cut inside a character, so decoding is the task of `TextDecoder`.
        if not isinstance(text, str):
            raise UsageError(f"feed() takes str, not {type(text).__name__} (see TextDecoder)")
        if self._finished:
            raise UsageError(AFTER_FINISH)
        return self._read(text, final=False)

    def finish(self) -> list[JsonValue]:
        """End the input, and return a top-level number, which only the end completes."""
        self._finished = True
        return self._read("", final=True)

    def _read(self, text: str, *, final: bool) -> list[JsonValue]:
        """Scan the next chunk, and parse the part that ends between tokens."""
        lexer = self._lexer
        # Text after the value or after an error has no further values.
        if lexer.state is DONE or lexer.state is BROKEN:
            return []
        # The held text is an incomplete token with a limited length.
        text = self._held + text
        begun = lexer.passed
        end = lexer.scan(text, final=final)
        self._held = text[end:]
        text = text[:end]
        if self._stands in (STRING, KEY):
            start = lexer.opened - begun
            # The string began in an earlier chunk, so the chunk contains only its text.
            if start < 0:
                self._string.append(text)
                return []
            # ijson would read a growing string from its start with each chunk.
            found = self._parse(text[:start])
            self._string.append(text[start:])
            return found
        return self._parse(text)

    def _parse(self, text: str) -> list[JsonValue]:
        """Feed the parser text that ends between tokens, and return completed values."""
        if self._string:
            # The chunks are joined once, when the string is complete.
            text = "".join(self._string) + text
            self._string.clear()
            self._shown = (0, "")
        if text:  # an empty chunk would mean the end of the input
            text = sound_json(text)
            # A cheap test, because the substitution visits each string and number.
            if HUGE.search(text):
                text = HUGE_NUMBER.sub(_tamed, text)
            self._parser.send(text.encode())
        # ijson reports a top-level number only after the end of its input.
        if self._lexer.state is DONE:
            self._parser.close()
        found: list[JsonValue] = []
        for event, value in self._events:
            self._take(event, value, found)
        # The list belongs to ijson, so it is emptied instead of replaced.
        self._events.clear()
        return found

    def _take(self, event: str, value: Any, found: list[JsonValue]) -> None:
        """Add an event of ijson to the value, and append completed values to `found`."""
        if event == "map_key":
            # The key replaces None or the previous key of the same object.
            self._path[-1] = value
        elif event in ("start_map", "start_array"):
            value = {} if event == "start_map" else []
            self._put(value)
            self._open.append(value)
            self._path.append(None if event == "start_map" else 0)
        else:
            if event in ("end_map", "end_array"):
                self._path.pop()
                value = self._open.pop()
            else:
                # `json.loads` returns floats, and both should agree.
                value = float(value) if isinstance(value, Decimal) else value
                self._put(value)
            # After the path was shortened, because a container is reported at its own path.
            found.append(JsonValue(tuple(self._path), value))
            if self._path and isinstance(self._path[-1], int):
                self._path[-1] += 1

    def _put(self, value: Any) -> None:
        """Put a value at the parser's path."""
        if not self._open:
            self._root = value
            return
        holder, key = self._open[-1], self._path[-1]
        if key == len(holder):  # the key is an index of a list
            holder.append(value)
        else:
            holder[key] = value

    def _string_so_far(self) -> str:
        """Return the incomplete string. Each chunk is decoded only once."""
        chunks, (known, text) = self._string, self._shown
        # Repeated access without new text needs no decoding.
        if len(chunks) > known:
            raw = "".join(chunks[known:])
            raw = raw[1:] if known == 0 else raw
            cut = whole_end(raw)
            text += json.loads(sound_json(f'"{raw[:cut]}"'))
            # Half of a surrogate pair waits in a separate chunk and is decoded with the next text.
            chunks[known:] = [raw[:cut], raw[cut:]]
            if known == 0:
                chunks[0] = '"' + chunks[0]
            self._shown = (len(chunks) - 1, text)
        return text


def argument_events(texts: Iterable[str], *, max_depth: int = MAX_DEPTH) -> Iterator[JsonValue]:
    """Yield each value in the JSON that `texts` join to, as soon as it is complete.

    Members precede their object. No values follow invalid text.

    Args:
        texts: chunks of any size, such as the `arguments` of a call's deltas.
        max_depth: the limit of open brackets.

    >>> for path, value in argument_events(['{"path": "a.t', 'xt", "n": [1', "2]}"]):
    ...     print(path, value)
    ('path',) a.txt
    ('n', 0) 12
    ('n',) [12]
    () {'path': 'a.txt', 'n': [12]}
    """
    # A generator, so values can be used while the response is still arriving.
    values = JsonValues(max_depth=max_depth)
    for text in texts:
        yield from values.feed(text)
    yield from values.finish()


def _tamed(number: re.Match[str]) -> str:
    """Return the number within the range of floats, or a string unchanged."""
    sign, digit, exponent_sign = number.groups()
    # The match is a string, whose digits are not a number.
    if sign is None:
        return number[0]
    # Zero with any exponent is zero, and 1e999 is read as infinity like any larger number.
    return sign + ("0.0" if not digit or exponent_sign == "-" else "1e999")
