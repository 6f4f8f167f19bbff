"""The arguments of a call that is written in JSON: an object, or a string that holds one."""

from __future__ import annotations

from collections.abc import Callable

from deltaparse.partial import (
    CLOSERS,
    JsonLexer,
    JsonState,
    MalformedJson,
    Source,
    Steps,
    escape_surrogates,
    json_decoded,
    json_value,
    mended_json,
)

from .call import Call, nowhere

__all__ = ["json_arguments"]


def json_arguments(src: Source, call: Call, *, repair: bool) -> Steps[None]:
    """Read the value of the arguments' key, handing it on as it comes.

    Sets `call.whole` when it is a whole object; null and an empty string stand for an empty one.
    With `repair`, an object that is nearly JSON is handed on as JSON, and `call.repairs` counts
    what was mended. Raises `MalformedJson` where it breaks off, and sets `call.closers` to the
    brackets that would close it there, if any would.
    """
    char = src.text[src.pos : src.pos + 1]
    call.started = True
    call.announce()
    emit = call.emit
    if char == '"':
        src.pos += 1
        yield from _text_arguments(src, call, emit)
        return
    if char == "{" and repair:
        lexer = yield from mended_json(src, emit, call.repaired)
    else:
        lexer = yield from json_value(src, emit if char == "{" else nowhere)
    ended = src.closed and not src.unread
    if lexer.state is JsonState.BROKEN and not ended:
        if char == "{" and lexer.broken_in in (JsonState.AFTER_VALUE, JsonState.AFTER_OPEN):
            call.closers = "".join(CLOSERS[bracket] for bracket in reversed(lexer.stack))
        raise MalformedJson(lexer.problem)
    if lexer.state is not JsonState.DONE:
        raise MalformedJson("the output ends in the arguments", kind="truncated")
    if char == "n":
        emit("{}")
    call.whole = char in "{n"


def _text_arguments(src: Source, call: Call, emit: Callable[[str], None]) -> Steps[None]:
    """Read arguments that are a JSON string holding JSON; the opening quote is read."""
    held = HeldText(emit)
    if not (yield from json_decoded(src, held.write)):
        ended = src.closed and not src.unread
        kind = "truncated" if ended else "malformed_json"
        raise MalformedJson("the string of the arguments does not end", kind=kind)
    if held.empty:
        emit("{}")
    call.whole = held.empty or held.whole


class HeldText:
    """Passes on text that is one JSON object, as far as it is certain, and nothing else."""

    __slots__ = ("_emit", "_lexer", "_src", "empty", "whole")

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._lexer = JsonLexer()
        self._src = Source()
        self.empty = True
        self.whole = False

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
        pos = lexer.scan(src.text, src.pos)
        if pos > src.pos:
            self._emit(src.take(pos))
        self.whole = lexer.state is JsonState.DONE and not src.unread.strip()
