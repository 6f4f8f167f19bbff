"""Arguments in JSON: an object, or a string that contains one."""

from __future__ import annotations

import re

from deltaparse.partial import (
    CLOSERS,
    Emit,
    JsonLexer,
    JsonState,
    Steps,
    Window,
    escape_surrogates,
    json_decoded,
    json_value,
    repaired_json,
)

from ...wire.argument_types import argument_names
from .call import Call
from .ending import CUT, WHOLE, Ending

__all__ = ["closers_of", "json_arguments", "object_value", "open_brackets"]

ODD_IN_KEY = re.compile(r"""["'{}\[\],:/\n]""")
ENDS = (JsonState.DONE, JsonState.BROKEN)


def object_value(src: Window, call: Call, emit: Emit) -> Steps[JsonLexer]:
    """Read an object or array of the arguments in the format's spelling, and emit JSON."""
    # The plain reader costs less, so the repairing reader is used only if allowed.
    if call.may_repair:
        quote, overrun = call.fmt.arguments.quote, call.overrun
        # Unquoted names may contain their own end markers, so known names are given.
        keys = _odd_keys(call) if quote else ()
        return repaired_json(src, emit, call.repaired, quote=quote, overrun=overrun, keys=keys)
    return json_value(src, emit, overrun=call.overrun)


def _odd_keys(call: Call) -> list[str]:
    """Return the names of arguments with the end marker of an unquoted name in them."""
    schema = (call.sink.tools or {}).get(call.name)
    names = filter(ODD_IN_KEY.search, argument_names(schema) or ())
    return sorted(names, key=len, reverse=True)


def closers_of(lexer: JsonLexer) -> str:
    """Return the brackets that complete the text of a broken lexer, "" if brackets do not help."""
    # In other states a key or a value is missing, not only a bracket.
    if lexer.broken_in not in (JsonState.AFTER_VALUE, JsonState.AFTER_OPEN):
        return ""
    return "".join(CLOSERS[bracket] for bracket in reversed(lexer.stack))


def open_brackets(src: Window, lexer: JsonLexer) -> str | None:
    """Return the open brackets of a broken lexer.

    Returns None before a word or string after a value, because a string may have ended too early.
    """
    # A word after a string is often the rest of it, after an unescaped quotation mark.
    word = src.text[src.pos : src.pos + 1]
    in_string = lexer.broken_in is JsonState.AFTER_VALUE and (word.isalnum() or word == '"')
    return None if in_string else lexer.stack


def json_arguments(src: Window, call: Call) -> Steps[Ending]:
    """Read the value of the arguments' key, and emit it while it is read.

    Closes the call after a complete object. null and an empty string count as an empty object. If
    repairs are allowed, text that is almost JSON is emitted as JSON, and `call.repairs` counts the
    repairs.
    """
    char = src.text[src.pos : src.pos + 1]
    call.started = True
    call.announce()
    if call.traces:
        call.begin_arguments()
    emit = call.emit
    if char == '"':
        src.pos += 1
        return (yield from _text_arguments(src, call, emit))
    if char == "{":
        lexer = yield from object_value(src, call, emit)
    # Another value than an object is reported, because it cannot be emitted as arguments.
    else:
        lexer = yield from json_value(src, call.not_emitted.append)
    # The output may end inside of a quotation mark of the format.
    ended = src.closed and (not src.unread or call.fmt.arguments.quote.startswith(src.unread))
    if lexer.state is JsonState.BROKEN and not ended:
        closers = closers_of(lexer) if char == "{" else ""
        return Ending.broken(lexer.problem, closers, brackets=open_brackets(src, lexer))
    if lexer.state is not JsonState.DONE:
        return CUT
    if char == "n":
        call.not_emitted.clear()
        emit("{}")
    if call.traces:
        call.end_arguments()
    # A number or a list is complete, but it is not an object.
    if char in "{n":
        call.close()
    return WHOLE


def _text_arguments(src: Window, call: Call, emit: Emit) -> Steps[Ending]:
    """Read arguments in a JSON string, after the opening quotation mark."""
    # The string is decoded while it streams, and its text must be JSON again.
    held = HeldText(emit)
    closed = yield from json_decoded(src, held.write, call.overrun)
    whole = closed and (held.empty or held.whole)
    # The text after the last certain character is reported, because it was not emitted.
    if not whole:
        call.not_emitted.append(held.rest)
    # The input ended in the string, or its closing quotation mark is missing.
    if not closed:
        ended = src.closed and not src.unread
        return CUT if ended else Ending.broken("the string of the arguments does not end")
    if whole:
        emit("{}" if held.empty else held.closer)
        call.end_arguments()
        call.close()
    return WHOLE


class HeldText:
    """A writer of text that is one JSON object, as far as it is certain.

    The last bracket is buffered in `closer`. Only the end of the string proves that no text
    follows, and complete arguments must not be emitted before.
    """

    __slots__ = ("_behind", "_emit", "_lexer", "_src", "closer", "empty")

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._lexer = JsonLexer()
        # The window keeps only text that the lexer has not accepted yet.
        self._src = Window()
        self._behind: list[str] = []
        self.closer = ""
        self.empty = True

    def write(self, text: str) -> None:
        """Take the next chunk of text."""
        src, lexer = self._src, self._lexer
        if self.empty:
            text = text.lstrip()
            if text and text[0] != "{":
                # A broken lexer emits no scalar and no array.
                lexer.scan("}")
            self.empty = not text
        src.feed(text)
        # After the end of the object or an error, text is only kept for the report.
        if lexer.state not in ENDS:
            pos = lexer.scan(src.text, src.pos)
            certain = pos - (lexer.state in ENDS[:1])
            if certain > src.pos:
                # Half a surrogate pair is not valid text, so it is escaped. The lexer has read it
                # unescaped, because an escape after a backslash would change its state.
                self._emit(escape_surrogates(src.consume(certain)))
            self.closer = src.consume(pos)
        if lexer.state in ENDS:
            self._behind.append(src.consume(len(src.text)))

    @property
    def whole(self) -> bool:
        """True for one complete object, followed only by whitespace."""
        return self._lexer.state is JsonState.DONE and not self._after.strip()

    @property
    def rest(self) -> str:
        """The text that was not emitted."""
        return self.closer + self._after

    @property
    def _after(self) -> str:
        return "".join(self._behind) + self._src.unread
