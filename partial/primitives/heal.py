"""Healing: completion of truncated JSON.

Healed text is for callers that need a value early: to show it, compare it, or use a truncated
answer. It is not for streams. A common way to stream JSON heals each prefix, dumps its value and
emits the difference. But the final dump need not start with an earlier dump ("12" becomes "125", an
escape becomes a character), and each prefix is read from its start. `JsonScanner` emits certain
text and reads each character once. It uses this module only for the closers of a truncated text.

The lexer's state and stack determine the completion, so no candidates are tried. Uncertain text is
left out: the text is taken up to the last place that brackets alone complete (`JsonLexer.settled`).
Only strings are kept when truncated, because half a text is useful and half a number is wrong.

The lexer and the streaming repair read the text, so there is only one definition of JSON.
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
from ..json_text.compact import compact_json, sound_json
from ..json_text.lexer import CLOSERS, MAX_DEPTH, NUMBER, JsonLexer, JsonState, whole_end
from ..json_text.repair import json_document
from ..json_text.repairs import Repairs
from ..surrogates import escape_surrogates
from ..window import Window

__all__ = ["HealedJson", "JsonPath", "closing", "heal_json"]

JsonPath = tuple[str | int | None, ...]
"""Keys and indices from the outside in; None for an incomplete key."""

# Only ASCII digits, because JSON has no others.
DIGITS = frozenset("0123456789")
S = JsonState
# The spelling of a marker, "%", at the cut: before a key, before an element, and in states with
# the same spelling for objects and arrays.
AS_KEY = {S.AFTER_OPEN: '"%":1', S.AFTER_COMMA: '"%":1', S.AFTER_VALUE: ',"%":1'}
AS_VALUE = {S.AFTER_OPEN: '"%"', S.AFTER_COMMA: '"%"', S.AFTER_VALUE: ',"%"'}
ANYWHERE = {S.KEY: '%":1', S.AFTER_KEY: ':"%"', S.AFTER_COLON: '"%"', S.STRING: '%"'}
# In compact JSON: a string, possibly truncated, a bracket, a comma or colon, or a scalar.
TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(")?|[][{}:,]|[^][{}:,"]++')


# No slots, because cached properties need a `__dict__`.
@dataclass(frozen=True, kw_only=True)
class HealedJson:
    """Truncated JSON, completed by `heal_json`.

    Attributes:
        text: the completed text, with the marker if there is one; "" if no value had a certain
            start.
        value: the value of `text` without the marker; None for "".
        state: the position of the cut in the value.
        stack: the brackets open at the cut, "{" and "[", from the outside in.
        end: the number of input characters that belong to the value. Text after it was not read, or
            is invalid if there is a `problem`.
        certain: the text before `end`, without text that may still change.
        problem: the reason why the text is invalid at `end`; "" if it is valid.
        args: for each of the `args_paths` with a value, its text as compact JSON, as OpenAI spells
            arguments.
        repairs: the names of the repairs, in the order of their first use.
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
        """`certain` as compact JSON: a prefix of the compact JSON of every continuation."""
        return compact_json(self.certain)

    @cached_property
    def path(self) -> JsonPath:
        """The path of the cut: keys and indices from the outside in."""
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

    Open strings, objects and arrays are closed. A member without a value, and an incomplete number
    or literal, are left out: "12" may have become "125". The text is treated as truncated at the
    first invalid character.

    Args:
        text: the JSON so far, with optional whitespace before it.
        marker: a text to insert at the cut, so that a reader of `text` can find the place.
        args_paths: the paths at which strings may be healed; a string elsewhere is left out. () is
            the path of the complete value.
        eager_numbers: keep an incomplete number, for display. It may still change.
        repairs: the repairs to make; None for no repairs.
        max_depth: the limit of open brackets, at which the text is treated as truncated.
        final: True if no more text follows, so that a top-level number is complete.

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
    # The marker is inserted into strings and must be found again, so it cannot need escapes.
    if marker is not None and json.dumps(marker, ensure_ascii=False) != f'"{marker}"':
        raise UsageError(f"the marker {marker!r} needs escapes in JSON: take plain characters")
    # A tracking lexer, because healing needs the last place completed by brackets alone.
    src, lexer = Window(text, closed=final), JsonLexer(max_depth=max_depth, tracks=True)
    emitted: list[str] = []
    repaired = Counter[str]()
    # The generator stops at the cut, where it would wait for more text.
    next(json_document(src, emitted.append, lexer, repairs, repaired), None)
    certain = "".join(emitted)
    # The offset after reading, because repairs change the length of the emitted text.
    end = src.offset
    problem = lexer.problem if lexer.state is S.BROKEN else ""
    # A number is dropped if the next character is invalid, because that may belong to the number.
    # A slash may be invalid too, or start a comment.
    may_break = src.unread == "/" and lexer.state is not S.DONE
    in_doubt = src.previous in DIGITS and (bool(problem) or may_break)
    # The certain text is scanned again, because the state before the error is needed.
    if problem or in_doubt:
        lexer = JsonLexer(max_depth=max_depth, tracks=True)
        # The space completes a number at the end, and is not part of the text.
        passed = min(lexer.scan(certain if in_doubt else certain + " "), len(certain))
        # The dropped text is a number, and no repair changes its length.
        end -= len(certain) - passed
        certain = certain[:passed]
    heals = args_paths is None
    args: dict[JsonPath, str] = {}
    if args_paths is not None:
        path, args = _walk(compact_json(certain), tuple(map(tuple, args_paths)))
        # Only the string at the cut can be incomplete, so one path decides.
        heals = any(path[: len(at)] == tuple(at) for at in args_paths)
    number = NUMBER.match(src.unread) if eager_numbers and not problem else None
    closed = _closed(certain, lexer, number[0] if number else "", heals=heals)
    return HealedJson(
        # A lone surrogate would raise later, when the text is encoded.
        text=escape_surrogates(closed if marker is None else _marked(certain, lexer, marker)),
        # Without the marker, because it is only for readers of the text.
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
    """Return the text with its open values closed or left out, and `number` as complete."""
    state, top = lexer.state, lexer.stack[-1:]
    # A number is valid only in the place of a value.
    if number and top + state in ("[" + S.AFTER_OPEN, "[" + S.AFTER_COMMA, "{" + S.AFTER_COLON):
        head = certain + number
    elif number and state is S.START:
        return number
    elif state is S.STRING and heals:
        # Half of a surrogate pair would become a different character.
        head = certain[: whole_end(certain)] + '"'
    else:
        # An incomplete member is dropped completely, because its value is unknown.
        head = certain[: lexer.settled]
    return head + _closers(lexer)


def closing(lexer: JsonLexer, held: str) -> str:
    """Return the text that completes JSON in the state of `lexer`, with commas buffered.

    `held` is the text after the passed text. A number in it is kept. A key without a value, and an
    incomplete literal, get null. After a passed comma in an object, `held` is an unquoted key.
    """
    broken = lexer.state is S.BROKEN
    state = lexer.broken_in if broken else lexer.state
    # In a broken text the held characters are invalid, so they are not completed.
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
    # Other states need only the closing brackets.
    return ends.get(state, "") + _closers(lexer)


def _marked(certain: str, lexer: JsonLexer, marker: str) -> str:
    """Return the text with a marker at the cut, or unchanged if it is complete."""
    state = lexer.state
    # A complete text has no cut, and before a value there is no place for a marker.
    if state is S.DONE or state is S.START:
        return certain
    in_object = bool(lexer.stack) and lexer.stack[-1] == "{"
    # After a bracket or a comma, an object needs a complete member and an array only a value.
    here = ANYWHERE.get(state) or (AS_KEY if in_object else AS_VALUE)[state]
    if state is S.STRING or state is S.KEY:
        certain = certain[: whole_end(certain)]
    return certain + here.replace("%", marker) + _closers(lexer)


def _closers(lexer: JsonLexer) -> str:
    """Return the brackets that close the open ones."""
    return "".join(CLOSERS[bracket] for bracket in reversed(lexer.stack))


def _walk(text: str, wanted: Sequence[JsonPath]) -> tuple[JsonPath, dict[JsonPath, str]]:
    """Return the path of the cut in compact JSON, and the texts of the values at `wanted` paths."""
    path: list[str | int | None] = []
    # Comparing lengths first avoids building a tuple for each token.
    lengths = {len(at) for at in wanted}
    begun: dict[JsonPath, int] = {}
    found: dict[JsonPath, str] = {}
    for token in TOKEN.finditer(text):
        char, end = token[0][0], token.end()
        # In an object the first string of a member is its key.
        if char == '"' and path and path[-1] is None:
            # A key without its closing quote is unknown.
            path[-1] = json.loads(sound_json(token[0])) if token[1] else None
            continue
        if char not in ",:]}" and len(path) in lengths and tuple(path) in wanted:
            begun[tuple(path)] = token.start()
        if char in "{[":
            # An array already has the index of its first element, and an object needs a key first.
            path.append(None if char == "{" else 0)
            continue
        if char in "}]":
            path.pop()
        elif char == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
            continue
        # A value ends with its token, except for an opening bracket.
        if begun and len(path) in lengths and tuple(path) in begun and char != ":":
            found[tuple(path)] = text[begun.pop(tuple(path)) : end]
    return tuple(path), found | {at: text[start:] for at, start in begun.items()}


def _value(text: str) -> Any:
    """Return the value of a JSON text of any depth.

    Python's parser recurses for each bracket, and may be called near the recursion limit.
    """
    # Fast path: the C parser handles all normal depths.
    try:
        return json.loads(text)
    except RecursionError:
        # Imported lazily (30 ms): only malformed input needs it.
        from ijson.backends import python as ijson
        from ijson.common import ObjectBuilder

        builder = ObjectBuilder()
        # ijson keeps its own stack, so the depth is limited only by memory.
        for event, value in ijson.basic_parse(text.encode(errors="surrogatepass"), use_float=True):
            builder.event(event, value)
        return builder.value
