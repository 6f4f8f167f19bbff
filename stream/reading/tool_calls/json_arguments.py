"""The arguments of a call that is written in JSON: an object, or a string that holds one."""

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
    """Read an object or array of the arguments, as the format spells it, emitting JSON."""
    if call.may_repair:
        quote, overrun = call.fmt.arguments.quote, call.overrun
        keys = _odd_keys(call) if quote else ()
        return repaired_json(src, emit, call.repaired, quote=quote, overrun=overrun, keys=keys)
    return json_value(src, emit, overrun=call.overrun)


def _odd_keys(call: Call) -> list[str]:
    """The names of the function's arguments in which stands what ends a name without quotes."""
    schema = (call.sink.tools or {}).get(call.name)
    names = filter(ODD_IN_KEY.search, argument_names(schema) or ())
    return sorted(names, key=len, reverse=True)


def closers_of(lexer: JsonLexer) -> str:
    """The brackets that would close what a lexer broke in, "" if more than these are missing."""
    if lexer.broken_in not in (JsonState.AFTER_VALUE, JsonState.AFTER_OPEN):
        return ""
    return "".join(CLOSERS[bracket] for bracket in reversed(lexer.stack))


def open_brackets(src: Window, lexer: JsonLexer) -> str | None:
    """Return the brackets that are open where a lexer broke.

    None if a word or a string stands behind a value: a string may have ended too early.
    """
    word = src.text[src.pos : src.pos + 1]
    in_string = lexer.broken_in is JsonState.AFTER_VALUE and (word.isalnum() or word == '"')
    return None if in_string else lexer.stack


def json_arguments(src: Window, call: Call) -> Steps[Ending]:
    """Read the value of the arguments' key, emitting it as it comes.

    Closes the call when it is a whole object; null and an empty string stand for an empty one.
    Where the call may be repaired, an object that is nearly JSON is emitted as JSON, and
    `call.repairs` counts what was repaired.
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
    else:
        lexer = yield from json_value(src, call.not_emitted.append)
    # The output may end in a quotation mark of the format's own.
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
    if char in "{n":
        call.close()
    return WHOLE


def _text_arguments(src: Window, call: Call, emit: Emit) -> Steps[Ending]:
    """Read arguments that are a JSON string holding JSON; the opening quote is read."""
    held = HeldText(emit)
    closed = yield from json_decoded(src, held.write, call.overrun)
    whole = closed and (held.empty or held.whole)
    if not whole:
        call.not_emitted.append(held.rest)
    if not closed:
        ended = src.closed and not src.unread
        return CUT if ended else Ending.broken("the string of the arguments does not end")
    if whole:
        emit("{}" if held.empty else held.closer)
        call.end_arguments()
        call.close()
    return WHOLE


class HeldText:
    """Emits text that is one JSON object, as far as it is certain, and nothing else.

    The bracket that closes it is held back in `closer`: only the end of the string says that
    nothing follows, and arguments that are whole must not come before that is known.
    """

    __slots__ = ("_behind", "_emit", "_lexer", "_src", "closer", "empty")

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._lexer = JsonLexer()
        self._src = Window()
        self._behind: list[str] = []
        self.closer = ""
        self.empty = True

    def write(self, text: str) -> None:
        """Take the next text."""
        src, lexer = self._src, self._lexer
        if self.empty:
            text = text.lstrip()
            if text and text[0] != "{":
                # No object: scanning on would only emit a scalar or an array.
                lexer.scan("}")
            self.empty = not text
        src.feed(text)
        if lexer.state not in ENDS:
            pos = lexer.scan(src.text, src.pos)
            certain = pos - (lexer.state in ENDS[:1])
            if certain > src.pos:
                # Half a surrogate pair cannot be sent as text; in JSON it is spelled. The lexer
                # saw it as it is: behind a backslash it is no escape.
                self._emit(escape_surrogates(src.consume(certain)))
            self.closer = src.consume(pos)
        if lexer.state in ENDS:
            self._behind.append(src.consume(len(src.text)))

    @property
    def whole(self) -> bool:
        """Whether it is one object, all there, and white space at most behind it."""
        return self._lexer.state is JsonState.DONE and not self._after.strip()

    @property
    def rest(self) -> str:
        """The text that was not emitted."""
        return self.closer + self._after

    @property
    def _after(self) -> str:
        return "".join(self._behind) + self._src.unread
