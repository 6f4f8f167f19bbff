"""The arguments of the function that the request names, alone or in a call.

A server that constrains the model to one function lets it write that function's arguments, or a
call of it. Both are objects, and a function may itself have arguments called `name` and
`arguments`. What an object is, its first members say, in this order:

1.  A member with another key than `name`, `arguments` or `parameters`: it is the arguments.
2.  A `name` that is no text, or longer than the name of any tool: the arguments. So is one that
    is not the function's, if the function has an argument `name`, or if it is not known which it
    has and no tool is called so.
3.  An `arguments` or `parameters` that is neither object nor text nor null: the arguments. So is
    one that comes before the name, if the function has an argument called so.
4.  A `name` and then `arguments` or `parameters`, or the other way round: a call, unless the
    function has arguments called both.
5.  No more members: after a `name` alone, if the function has no argument `name`, a call without
    arguments; otherwise the arguments.

An object that is cut off before this is known is a call that is cut off. Which arguments a
function has, the properties in its schema say.
"""

from __future__ import annotations

import re

from deltaparse.partial import (
    JsonFault,
    JsonState,
    Steps,
    Window,
    json_key,
    json_space,
    json_string,
    json_value,
    nowhere,
)

from ...message.policy_sink import Sink
from ...wire.argument_types import argument_names

__all__ = ["is_arguments"]

NAME, ARGUMENTS = "name", ("arguments", "parameters")
STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
LONGEST_ESCAPE = len(r"\u0000")


def is_arguments(src: Window, sink: Sink) -> Steps[bool]:
    """Return whether the object that begins here is the arguments alone; it is left unread."""
    mark = src.mark()
    src.pos += 1
    alone = yield from _is_arguments(src, sink)
    src.rewind_to(mark)
    src.release()
    return alone


def _is_arguments(src: Window, sink: Sink) -> Steps[bool]:
    own = argument_names((sink.tools or {}).get(sink.named))
    seen: list[str] = []
    while True:
        key = yield from json_key(src, first=not seen)
        if key is None:
            return seen != [NAME] or NAME in (own or ())
        if isinstance(key, JsonFault):
            return not key.cut
        if key in seen or key not in (NAME, *ARGUMENTS):
            return True
        seen.append(key)
        char = yield from json_space(src)
        if not char:
            return False
        if key == NAME:
            if (yield from _is_long(src, sink)):
                return True
            name = yield from json_string(src)
            if isinstance(name, JsonFault):
                return not name.cut
            others = own is None and name not in (sink.tools or ())
            if name != sink.named and (others or NAME in (own or ())):
                return True
        elif char not in '{"n' or (NAME not in seen and key in (own or ())):
            return True
        elif NAME not in seen:
            value = yield from json_value(src, nowhere)
            if value.state is not JsonState.DONE:
                return value.state is JsonState.BROKEN
        if NAME in seen and len(seen) > 1:
            return own is not None and own.issuperset(seen)


def _is_long(src: Window, sink: Sink) -> Steps[bool]:
    """Whether a text that begins here is longer than the name of any tool; it is left unread."""
    longest = LONGEST_ESCAPE * max(map(len, (sink.named, *(sink.tools or ())))) + len('""')
    while not src.closed and not STRING.match(src.text, src.pos):
        if len(src.text) - src.pos > longest:
            return True
        yield
    found = STRING.match(src.text, src.pos)
    return (found.end() if found else len(src.text)) - src.pos > longest
