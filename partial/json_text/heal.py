"""Healing: a JSON text that was cut off, completed.

A healed text is for whoever needs a value before it is whole: to show it, to compare it, or to
make something of a truncated answer. It is not for streams. A common way to stream JSON is to heal
each prefix, to dump its value and to emit what is new; but a dump of the whole need not begin with
a dump of the prefix ("12" becomes "125", an escape becomes a character), and each prefix is read
from its beginning. `JsonScanner` emits what is certain and reads each character once; it needs
nothing from here but, at the end of a text that was truncated, the closers.

The lexer's state and its stack say what completes the text, so nothing is tried until it parses.
What may still change is left out: the text is taken up to the last place from which brackets alone
complete it (`JsonLexer.settled`). Only a string may be cut, for half of a text is of use, while
half of a number is another number.

The text is read by the lexer and, where it is to be repaired, by the repair that streams: a second
definition of what is JSON could differ from the first.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..errors import UsageError
from ..surrogates import escape_surrogates
from ..window import Window
from .compact import compact_json, sound_json
from .lexer import CLOSERS, MAX_DEPTH, NUMBER, JsonLexer, JsonState, whole_end
from .repair import json_document
from .repairs import Repairs

__all__ = ["HealedJson", "JsonPath", "closing", "heal_json"]

JsonPath = tuple[str | int | None, ...]
"""Keys and indices from the outside in; None for a key that is not all there."""

DIGITS = frozenset("0123456789")
S = JsonState
# How a marker, written "%", stands where the text was cut: before a key, before an element, and
# where both are alike.
AS_KEY = {S.AFTER_OPEN: '"%":1', S.AFTER_COMMA: '"%":1', S.AFTER_VALUE: ',"%":1'}
AS_VALUE = {S.AFTER_OPEN: '"%"', S.AFTER_COMMA: '"%"', S.AFTER_VALUE: ',"%"'}
ANYWHERE = {S.KEY: '%":1', S.AFTER_KEY: ':"%"', S.AFTER_COLON: '"%"', S.STRING: '%"'}
# In compact JSON: a string, cut or not, a bracket, a comma or colon, or a scalar.
TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(")?|[][{}:,]|[^][{}:,"]++')


@dataclass(frozen=True, kw_only=True)
class HealedJson:
    """A JSON text that was cut off, completed by `heal_json`.

    Attributes:
        text: the completed text, with the marker if there is one; "" when no value had begun whose
            beginning is certain.
        value: what `text` stands for, without the marker; None for "".
        state: where in the value the text was cut.
        stack: the brackets that are open there, "{" and "[", from the outside in.
        end: how many characters of the input the value reaches up to. What follows was not looked
            at or, when there is a `problem`, cannot follow.
        certain: the text before `end`, without what may still change.
        problem: why the text cannot go on from `end`; "" where it can.
        args: for each of the `args_paths` at which a value had begun, its text in compact spelling,
            as OpenAI has arguments.
        repairs: the names of the repairs that were made, in the order of their first use.
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
    """Complete `text`, a JSON value that may be cut anywhere, and return it with its value.

    Open strings, objects and arrays are closed. A member whose value has not begun, and a number
    or literal that is not all there, are left out: "12" may have become "125". From the first
    character on that JSON does not allow, the text is taken as cut.

    Args:
        text: the JSON so far; white space before it is no part of it.
        marker: a text to stand where the cut is, so that a reader of `text` can find the place.
        args_paths: where strings may be healed: one that is cut elsewhere is left out. () is the
            path of the whole.
        eager_numbers: take a number as far as it goes; for display, for it may still change.
        repairs: which repairs are made of what is nearly JSON; none if None.
        max_depth: how many brackets may be open; at one more, the text is taken as cut.
        final: whether no more text comes: then a number that stands alone is whole.

    Raises:
        UsageError: the marker has characters that JSON escapes.

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
    emitted: list[str] = []
    repaired = Counter[str]()
    # Where the text is cut, this stops waiting for more.
    next(json_document(src, emitted.append, lexer, repairs, repaired), None)
    certain = "".join(emitted)
    end = src.offset
    problem = lexer.problem if lexer.state is S.BROKEN else ""
    # A number is none if what stands right behind it breaks the text, for that may have belonged to
    # it; a slash may do so yet, or begin a comment.
    may_break = src.unread == "/" and lexer.state is not S.DONE
    in_doubt = src.previous in DIGITS and (bool(problem) or may_break)
    if problem or in_doubt:
        lexer = JsonLexer(max_depth=max_depth, tracks=True)
        passed = min(lexer.scan(certain if in_doubt else certain + " "), len(certain))
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
        repairs=tuple(repaired),
    )


def _closed(certain: str, lexer: JsonLexer, number: str, *, heals: bool) -> str:
    """Return the text with what stands open closed or left out; `number` is taken as whole."""
    state, top = lexer.state, lexer.stack[-1:]
    if number and top + state in ("[" + S.AFTER_OPEN, "[" + S.AFTER_COMMA, "{" + S.AFTER_COLON):
        head = certain + number
    elif number and state is S.START:
        return number
    elif state is S.STRING and heals:
        head = certain[: whole_end(certain)] + '"'
    else:
        head = certain[: lexer.settled]
    return head + _closers(lexer)


def closing(lexer: JsonLexer, held: str) -> str:
    """Return what makes JSON of a text that ends where `lexer` stands, commas being held back.

    `held` is the text that was not passed: a number in it is taken as it is. A key without a value
    and a literal that is cut get null; a key without quotes, behind a comma that was passed, is
    what is held.
    """
    broken = lexer.state is S.BROKEN
    state = lexer.broken_in if broken else lexer.state
    number = None if broken else NUMBER.match(held)
    value = number[0] if number else "null"
    if state is S.AFTER_COMMA and lexer.stack[-1] == "{":
        value = f"{json.dumps('' if broken else held.strip(), ensure_ascii=False)}:null"
    ends: dict[JsonState | None, str] = {
        S.KEY: '":null',
        S.AFTER_KEY: ":null",
        S.AFTER_COLON: value,
        S.AFTER_COMMA: value,
        S.AFTER_OPEN: value if number else "",
        S.STRING: '"',
        S.START: value if number else "",
    }
    return ends.get(state, "") + _closers(lexer)


def _marked(certain: str, lexer: JsonLexer, marker: str) -> str:
    """Return the text with a marker where it was cut; as it is where nothing is missing."""
    state = lexer.state
    if state is S.DONE or state is S.START:
        return certain
    in_object = bool(lexer.stack) and lexer.stack[-1] == "{"
    here = ANYWHERE.get(state) or (AS_KEY if in_object else AS_VALUE)[state]
    if state is S.STRING or state is S.KEY:
        certain = certain[: whole_end(certain)]
    return certain + here.replace("%", marker) + _closers(lexer)


def _closers(lexer: JsonLexer) -> str:
    """Return the brackets that close those which are open."""
    return "".join(CLOSERS[bracket] for bracket in reversed(lexer.stack))


def _walk(text: str, wanted: Sequence[JsonPath]) -> tuple[JsonPath, dict[JsonPath, str]]:
    """Return where compact JSON was cut, and the texts of the values at the `wanted` paths."""
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
    """Return the value of a JSON text, however deep it is nested.

    Python's own parser calls itself for each bracket, and may be called where few calls are left.
    """
    try:
        return json.loads(text)
    except RecursionError:
        # Imported here: it takes 30 ms, and is needed for no honest text.
        from ijson.backends import python as ijson
        from ijson.common import ObjectBuilder

        builder = ObjectBuilder()
        for event, value in ijson.basic_parse(text.encode(errors="surrogatepass"), use_float=True):
            builder.event(event, value)
        return builder.value
