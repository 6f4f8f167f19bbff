"""The arguments of a call that is written in JSON: an object, or a string that holds one."""

from __future__ import annotations

from collections.abc import Callable

from deltaparse.partial import (
    CLOSERS,
    JsonLexer,
    JsonState,
    MalformedJson,
    Steps,
    Window,
    escape_surrogates,
    json_decoded,
    json_value,
    repaired_json,
)

from .call import Call

__all__ = ["json_arguments", "object_value"]


def object_value(src: Window, call: Call) -> Steps[JsonLexer]:
    """Read an object or array of the arguments, as the format spells it, handing on JSON."""
    if call.may_repair:
        quote = call.fmt.arguments.quote
        return repaired_json(src, call.emit, call.repaired, quote=quote)
    return json_value(src, call.emit)


def json_arguments(src: Window, call: Call) -> Steps[None]:
    """Read the value of the arguments' key, handing it on as it comes.

    Sets `call.whole` when it is a whole object; null and an empty string stand for an empty one.
    Where the call may be repaired, an object that is nearly JSON is handed on as JSON, and
    `call.repairs` counts what was mended. Raises `MalformedJson` where it breaks off, and sets
    `call.closers` to the brackets that would close it there, if any would.
    """
    char = src.text[src.pos : src.pos + 1]
    call.started = True
    call.announce()
    emit = call.emit
    if char == '"':
        src.pos += 1
        yield from _text_arguments(src, call, emit)
        return
    if char == "{":
        lexer = yield from object_value(src, call)
    else:
        lexer = yield from json_value(src, call.unused.append)
    ended = src.closed and not src.unread
    if lexer.state is JsonState.BROKEN and not ended:
        if char == "{" and lexer.broken_in in (JsonState.AFTER_VALUE, JsonState.AFTER_OPEN):
            call.closers = "".join(CLOSERS[bracket] for bracket in reversed(lexer.stack))
        raise MalformedJson(lexer.problem)
    if lexer.state is not JsonState.DONE:
        raise MalformedJson("the output ends in the arguments", kind="truncated")
    if char == "n":
        call.unused.clear()
        emit("{}")
    call.whole = char in "{n"


def _text_arguments(src: Window, call: Call, emit: Callable[[str], None]) -> Steps[None]:
    """Read arguments that are a JSON string holding JSON; the opening quote is read."""
    held = HeldText(emit)
    closed = yield from json_decoded(src, held.write)
    call.whole = closed and (held.empty or held.whole)
    if not call.whole:
        call.unused.append(held.rest)
    if not closed:
        ended = src.closed and not src.unread
        kind = "truncated" if ended else "malformed_json"
        raise MalformedJson("the string of the arguments does not end", kind=kind)
    if held.empty:
        emit("{}")


class HeldText:
    """Passes on text that is one JSON object, as far as it is certain, and nothing else."""

    __slots__ = ("_behind", "_emit", "_lexer", "_src", "empty")

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._lexer = JsonLexer()
        self._src = Window()
        self._behind: list[str] = []
        self.empty = True

    def write(self, text: str) -> None:
        """Take the next piece."""
        src, lexer = self._src, self._lexer
        if self.empty:
            text = text.lstrip()
            if text and text[0] != "{":
                # No object: scanning on would only pass a scalar or an array.
                lexer.scan("}")
            self.empty = not text
        # Half a surrogate pair cannot be sent as text; in JSON it is spelled.
        src.feed(escape_surrogates(text))
        if lexer.state not in (JsonState.DONE, JsonState.BROKEN):
            pos = lexer.scan(src.text, src.pos)
            if pos > src.pos:
                self._emit(src.take(pos))
        if lexer.state in (JsonState.DONE, JsonState.BROKEN):
            self._behind.append(src.take(len(src.text)))

    @property
    def whole(self) -> bool:
        """Whether it is one object, all there, and white space at most behind it."""
        return self._lexer.state is JsonState.DONE and not self.rest.strip()

    @property
    def rest(self) -> str:
        """The text that was not passed on."""
        return "".join(self._behind) + self._src.unread
