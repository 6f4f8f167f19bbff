"""Complete a JSON text that was cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ijson.backends import python as ijson
from ijson.common import ObjectBuilder

from ..errors import UsageError
from ..window import Steps, Window
from .compact import compact_json, escape_surrogates, sound_json
from .lexer import CLOSERS, HALF_PAIR, MAX_DEPTH, NUMBER, JsonLexer, JsonState
from .readers import json_space, json_value
from .repair import Repairs, repaired_json

__all__ = ["HealedJson", "JsonPath", "closing", "heal_json"]

JsonPath = tuple[str | int | None, ...]
"""Keys and indices from the outside in; None for a key that is not all there."""

S = JsonState
# How a marker "%" stands where the text was cut: where an object has a key next, and elsewhere.
AS_KEY = {S.AFTER_OPEN: '"%":1', S.AFTER_COMMA: '"%":1', S.AFTER_VALUE: ',"%":1'}
AS_VALUE = {S.AFTER_OPEN: '"%"', S.AFTER_COMMA: '"%"', S.AFTER_VALUE: ',"%"'}
ANYWHERE = {S.KEY: '%":1', S.AFTER_KEY: ':"%"', S.AFTER_COLON: '"%"', S.STRING: '%"'}
# In compact JSON: a string, cut or not, a bracket, a comma or colon, or a scalar.
TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(")?|[][{}:,]|[^][{}:,"]++')


@dataclass(frozen=True, kw_only=True)
class HealedJson:
    """A cut JSON text, completed.

    `text` is JSON, or "" when no value had begun that can be told; `value` is what it stands
    for, without the marker (None for ""). `state` and `stack` say where the text was cut.
    `end` is how many characters of the input the value reaches up to: what follows was not
    looked at, or, when there is a `problem`, cannot follow. `certain` is what stands before
    that, but for what may still change. `args` has, for each of the `args_paths` at which a
    value had begun, its text in compact spelling, as OpenAI has arguments; `repairs` the names
    of what was mended.
    """

    text: str
    value: Any
    state: JsonState
    stack: tuple[str, ...]
    end: int
    certain: str
    problem: str = ""
    args: Mapping[JsonPath, str] = field(default_factory=dict)
    repairs: tuple[str, ...] = ()

    @cached_property
    def safe(self) -> str:
        """`certain` in compact spelling: a prefix of that of any text that goes on from here."""
        return compact_json(self.certain)

    @cached_property
    def path(self) -> JsonPath:
        """Where the text was cut: keys and indices from the outside in."""
        return _walk(self.safe, ())[0]


def heal_json(
    text: str,
    *,
    marker: str | None = None,
    args_paths: Sequence[Sequence[str | int]] | None = None,
    eager_numbers: bool = False,
    repairs: Repairs | None = None,
    max_depth: int = MAX_DEPTH,
    final: bool = False,
) -> HealedJson:
    """Complete `text`, a JSON value that may be cut anywhere.

    Open strings, objects and arrays are closed. A member whose value has not begun, and a number
    or literal that is not all there, are dropped: "12" may have become "125". From the first
    character on that JSON does not allow, the text is taken as cut.

    Args:
        text: the JSON so far; white space before it is no part of it.
        marker: a text to stand where the cut is, so that a reader of `text` can find the place.
        args_paths: where values may be healed: elsewhere no string is taken that is cut. () is
            the path of the whole.
        eager_numbers: a number counts as far as it goes; for display, for it may still change.
        repairs: what of nearly JSON is mended, see `json_mend`; nothing if None.
        max_depth: how many brackets may stand open; one more, and the text is taken as cut.
        final: no more text comes: a number that is all there is is whole.

    >>> heal_json('{"a": "hel').text
    '{"a": "hel"}'
    >>> heal_json('{"a": [1, 2').value
    {'a': [1]}
    >>> heal_json('{"a": "hel', marker="HERE").text
    '{"a": "helHERE"}'
    >>> healed = heal_json('{"name": "f", "args": {"n": "x', args_paths=[["args"]])
    >>> healed.value, healed.args
    ({'name': 'f', 'args': {'n': 'x'}}, {('args',): '{"n":"x'})
    """
    if marker is not None and json.dumps(marker, ensure_ascii=False) != f'"{marker}"':
        raise UsageError(f"the marker {marker!r} needs escapes in JSON: take plain characters")
    src, lexer = Window(text, closed=final), JsonLexer(max_depth=max_depth, tracks=True)
    pieces: list[str] = []
    made: list[str] = []
    next(_read(src, lexer, pieces, made, repairs), None)
    certain = "".join(pieces)
    end = src.offset
    problem = lexer.problem if lexer.state is S.BROKEN else ""
    if problem:
        # A number at the end is none now: what broke the text may have belonged to it.
        lexer = JsonLexer(max_depth=max_depth, tracks=True)
        passed = lexer.scan(certain)
        end -= len(certain) - passed
        certain = certain[:passed]
    heals = args_paths is None
    args: dict[JsonPath, str] = {}
    if args_paths is not None:
        path, args = _walk(compact_json(certain), tuple(map(tuple, args_paths)))
        heals = any(path[: len(at)] == tuple(at) for at in args_paths)
    number = NUMBER.match(src.unread) if eager_numbers and not problem else None
    closed = _closed(certain, lexer, number[0] if number else "", heals=heals)
    return HealedJson(
        text=escape_surrogates(closed if marker is None else _marked(certain, lexer, marker)),
        value=_value(sound_json(closed)) if closed else None,
        state=lexer.state,
        stack=tuple(lexer.stack),
        end=end,
        certain=escape_surrogates(certain),
        problem=problem,
        args=args,
        repairs=tuple(made),
    )


def _read(
    src: Window, lexer: JsonLexer, pieces: list[str], made: list[str], repairs: Repairs | None
) -> Steps[None]:
    """Read the value, putting what is certain of it into `pieces`, mended as `made` says."""
    yield from json_space(src)
    if repairs is None:
        yield from json_value(src, pieces.append, lexer)
    else:

        def note(repair: str, offset: int) -> None:  # noqa: ARG001 - named, not placed
            if repair not in made:
                made.append(repair)

        yield from repaired_json(src, pieces.append, note, repairs=repairs, lexer=lexer)


def _closed(certain: str, lexer: JsonLexer, number: str, *, heals: bool) -> str:
    """The text with what stands open closed, or left out."""
    state, top = lexer.state, lexer.stack[-1:]
    if number and top + state in ("[" + S.AFTER_OPEN, "[" + S.AFTER_COMMA, "{" + S.AFTER_COLON):
        head = certain + number
    elif number and state is S.START:
        return number
    elif state is S.STRING and heals:
        head = certain[: _cut_at(certain)] + '"'
    else:
        head = certain[: lexer.settled]
    return head + _closers(lexer)


def closing(lexer: JsonLexer, held: str) -> str:
    """What makes JSON of a text that ends where `lexer` stands, commas being held back.

    `held` is what was not passed: a number in it is taken as it is. What has a key and no value,
    and a literal that is cut, become null.
    """
    broken = lexer.state is S.BROKEN
    state = lexer.broken_in if broken else lexer.state
    number = None if broken else NUMBER.match(held)
    value = number[0] if number else "null"
    ends = {
        S.KEY: '":null',
        S.AFTER_KEY: ":null",
        S.AFTER_COLON: value,
        S.AFTER_COMMA: '"":null' if lexer.stack[-1:] == "{" else value,
        S.AFTER_OPEN: value if number and lexer.stack[-1:] == "[" else "",
        S.STRING: '"',
        S.START: value if number else "",
    }
    return ends.get(state or S.START, "") + _closers(lexer)


def _marked(certain: str, lexer: JsonLexer, marker: str) -> str:
    """The text with a marker where it was cut; as it is where nothing is missing."""
    state = lexer.state
    if state is S.DONE or state is S.START:
        return certain
    in_object = bool(lexer.stack) and lexer.stack[-1] == "{"
    here = ANYWHERE.get(state) or (AS_KEY if in_object else AS_VALUE)[state]
    if state is S.STRING or state is S.KEY:
        certain = certain[: _cut_at(certain)]
    return certain + here.replace("%", marker) + _closers(lexer)


def _cut_at(certain: str) -> int:
    """Where a string can be cut: not behind the first half of a surrogate pair."""
    half = HALF_PAIR.search(certain)
    return half.start(1) if half else len(certain)


def _closers(lexer: JsonLexer) -> str:
    return "".join(CLOSERS[bracket] for bracket in reversed(lexer.stack))


def _walk(text: str, wanted: Sequence[JsonPath]) -> tuple[JsonPath, dict[JsonPath, str]]:
    """Where compact JSON was cut, and the texts of the values at the paths that are wanted."""
    path: list[str | int | None] = []
    lengths = {len(at) for at in wanted}
    begun: dict[JsonPath, int] = {}
    found: dict[JsonPath, str] = {}
    for token in TOKEN.finditer(text):
        char, end = token[0][0], token.end()
        if char == '"' and path and path[-1] is None:
            path[-1] = json.loads(sound_json(token[0])) if token[1] else None
            continue
        if char not in ",:]}" and len(path) in lengths and tuple(path) in wanted:
            begun[tuple(path)] = token.start()
        if char in "{[":
            path.append(None if char == "{" else 0)
            continue
        if char in "}]":
            path.pop()
        elif char == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
            continue
        if begun and len(path) in lengths and tuple(path) in begun and char != ":":
            found[tuple(path)] = text[begun.pop(tuple(path)) : end]
    return tuple(path), found | {at: text[start:] for at, start in begun.items()}


def _value(text: str) -> Any:
    """The value of a JSON text. Python's own parser nests calls, and may be called deep down."""
    try:
        return json.loads(text)
    except RecursionError:
        builder = ObjectBuilder()
        for event, value in ijson.basic_parse(text.encode(errors="surrogatepass"), use_float=True):
            builder.event(event, value)
        return builder.value
