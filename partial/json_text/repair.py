r"""Repair of JSON while it streams: a closed list of repairs, each reported, none ever taken back.

    single_quotes       'it\'s "x"'      -> "it's \"x\""
    python_literals     True False None  -> true false null
    control_characters  a raw newline, tab, ... in a string -> \n, \t, ...
    invalid_escapes     \' \x41 \d       -> ' A \\d
    trailing_commas     [1, ]            -> [1 ]
    non_finite          NaN -Infinity    -> null
    comments            // ... and # ... to the end of the line, /* ... */ -> nothing
    unquoted_keys       {a: 1}           -> {"a": 1}

What is emitted must be JSON, must not be taken back, and must not depend on the chunks. Text that
is JSON must pass unchanged, at the cost that it has without repair. So there is no lenient grammar
beside the strict one: all text would pay for it, and the two would have to agree for ever. The
strict lexer reads until it breaks. Then the character where it broke, and the state in which it
did, say which repair applies; the repair emits JSON in the place of what it reads, puts the lexer
into the state in which that JSON would have left it, and the lexer reads on. Where no repair
applies, the text is broken there for good.

The list is closed, and holds only what has one meaning, which a bounded look ahead decides: a
word, an escape, what follows a comma. A missing comma, bracket or quotation mark is not on it.
Libraries that repair whole texts guess where it belongs, and guess anew with each chunk: what they
return for a prefix is often no prefix of what they return for the whole. Here the caller gets what
is certain, and a lexer whose `problem` says why there is no more.

Only a comma costs text that is JSON something: it is held back until something follows it, for it
may be one too many (`JsonLexer.hold_commas`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..bypass import Emit
from ..window import Steps, Window
from .lexer import BROKEN, JsonLexer
from .readers import json_space, json_value
from .repairer import NOTHING_MORE, Repairer
from .repairs import Note, Repairs
from .unclosed_string import UnclosedString

__all__ = ["json_document", "repaired_json"]

ALL_REPAIRS = Repairs()


def json_document(
    src: Window,
    emit: Emit,
    lexer: JsonLexer,
    repairs: Repairs | None,
    repaired: Counter[str],
) -> Steps[None]:
    """Read one value and the white space before it, which is not emitted.

    `repairs` are the repairs that are made, None for none; `repaired` counts them by name. How the
    value ended is in the lexer.
    """

    def note(repair: str, offset: int) -> None:  # noqa: ARG001 - counted, not placed
        repaired[repair] += 1

    yield from json_space(src)
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
    """Read one value that should be JSON, emitting JSON.

    Begins at the first character of the value. Text that is JSON is emitted as `json_value` does,
    but that a comma comes with what follows it. Returns the lexer, whose state is that of what was
    emitted: DONE; BROKEN, the text from the offending character on unread; or that in which the
    input ended.

    Args:
        src: the window to read from.
        emit: takes the JSON, chunk by chunk.
        note: takes the name of each repair, and the offset where it was made.
        repairs: which repairs are made.
        lexer: a new lexer to read with, such as one with another limit of depth.
        quote: what a format writes round strings in place of quotation marks, nothing in them
            being escaped. That is another spelling, and no repair.
        overrun: what shows that a string was not closed; the text is BROKEN there.
        keys: with `quote`, keys that are known, the longest first. One of them that stands before
            a colon is read whole, though brackets or commas stand in it.
    """
    if lexer is None:
        lexer = JsonLexer(hold_commas=repairs.trailing_commas)
    else:
        lexer.hold(repairs.trailing_commas)
    repairer: Repairer | None = None
    while True:
        yield from json_value(src, emit, lexer, overrun)
        if lexer.state is not BROKEN or lexer.broken_in is None:
            return lexer
        start, problem = src.offset, lexer.problem
        repairer = repairer or Repairer(src, lexer, emit, note, repairs, quote, overrun, keys)
        repair = yield from repairer.repair()
        if repair is None:
            return lexer
        if not repair:
            lexer.breaks(problem)
            return lexer
        if repair != NOTHING_MORE:
            note(repair, start)
