r"""Repair of JSON while it streams: a closed list of repairs, each reported, never retracted.

    single_quotes       'it\'s "x"'      -> "it's \"x\""
    python_literals     True False None  -> true false null
    control_characters  a raw newline, tab, ... in a string -> \n, \t, ...
    invalid_escapes     \' \x41 \d       -> ' A \\d
    trailing_commas     [1, ]            -> [1 ]
    non_finite          NaN -Infinity    -> null
    comments            // ... and # ... to the end of the line, /* ... */ -> nothing
    unquoted_keys       {a: 1}           -> {"a": 1}

Emitted text must be JSON, must never be retracted, and must not depend on the chunks. Valid JSON
must pass unchanged and without extra cost. A second, lenient grammar would slow down all text, and
both grammars would have to agree forever. Instead, the strict lexer reads until it breaks. The
invalid character and the lexer's state determine the repair. The repair reads the invalid text,
emits JSON in its place, and sets the lexer to the state after that JSON. Then the lexer continues.
If no repair applies, the text remains broken there.

The list contains only errors with a single meaning, found by bounded lookahead: a word, an escape,
the text after a comma. A missing comma, bracket or quotation mark is not repaired. Libraries for
complete texts guess its place, and guess again with each chunk. Their result for a prefix is often
not a prefix of their final result. Here the caller gets only certain text, and the lexer's
`problem` explains its end.

Valid JSON is delayed only at a comma, until the next token, because the comma may be a trailing one
(`JsonLexer.hold_commas`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..bypass import Emit
from ..window import Steps, Window
from .lexer import BROKEN, JsonLexer
from .readers import json_space, json_value
from .repairer import NOTHING_MORE, Notation, Repairer
from .repairs import Note, Repairs
from .unclosed_string import UnclosedString

__all__ = ["json_document", "repaired_json"]

# Shared, because `Repairs` is immutable.
ALL_REPAIRS = Repairs()


def json_document(
    src: Window,
    emit: Emit,
    lexer: JsonLexer,
    repairs: Repairs | None,
    repaired: Counter[str],
) -> Steps[None]:
    """Read one value and the whitespace before it, which is not emitted.

    The lexer's state shows the end of the value.

    Args:
        src: the window to read from.
        emit: takes the JSON, chunk by chunk.
        lexer: the lexer to read with.
        repairs: the repairs to make, or None for no repairs.
        repaired: counts the repairs by name.
    """

    def note(repair: str, offset: int) -> None:  # noqa: ARG001 - counted, not placed
        repaired[repair] += 1

    yield from json_space(src)
    # Strict reading needs no held commas and no repairer.
    if repairs is None:
        yield from json_value(src, emit, lexer)
    else:
        yield from repaired_json(src, emit, note, repairs=repairs, lexer=lexer)


def repaired_json(
    src: Window,
    emit: Emit,
    note: Note,
    *,
    repairs: Repairs = ALL_REPAIRS,
    lexer: JsonLexer | None = None,
    quote: str = "",
    overrun: UnclosedString | None = None,
    keys: Sequence[str] = (),
) -> Steps[JsonLexer]:
    """Read one value of nearly JSON, and emit JSON.

    Reading starts at the first character of the value. Valid JSON is emitted as by `json_value`,
    but a comma is emitted together with the next token.

    Args:
        src: the window to read from.
        emit: takes the JSON, chunk by chunk.
        note: takes the name of each repair and its offset.
        repairs: the repairs to make.
        lexer: a new lexer to read with, e.g. with a different limit of depth.
        quote: the format's delimiter of strings, instead of quotation marks. Strings have no
            escapes then. This is a different spelling, not a repair.
        overrun: the test for unclosed strings. The text is BROKEN where it succeeds.
        keys: with `quote`, the known keys, longest first. A known key before a colon is read
            completely, even if it contains brackets or commas.

    Returns:
        The lexer, in the state after the emitted text. It is DONE, BROKEN with the text from the
        invalid character on unread, or the state at the end of the input.
    """
    # Commas are held only if trailing ones are repaired, because holding delays text.
    if lexer is None:
        lexer = JsonLexer(hold_commas=repairs.trailing_commas)
    else:
        lexer.hold(repairs.trailing_commas)
    # Created lazily, because most texts are valid.
    repairer: Repairer | None = None
    while True:
        yield from json_value(src, emit, lexer, overrun)
        # Without `broken_in` the text has overrun a string, for which no repair exists.
        if lexer.state is not BROKEN or lexer.broken_in is None:
            return lexer
        start, problem = src.offset, lexer.problem
        if repairer is None:
            notation = Notation(quote, overrun, keys)
            repairer = Repairer(src, lexer, emit, note, repairs, notation)
        repair = yield from repairer.repair()
        # The input ended before the error was certain, so it counts as truncated.
        if repair is None:
            return lexer
        if not repair:
            # A failed repair may have changed the state, so the original problem is restored.
            lexer.breaks(problem)
            return lexer
        # The format's own quotes are not an error, so they are not reported.
        if repair != NOTHING_MORE:
            note(repair, start)
