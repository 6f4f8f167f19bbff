"""Arguments of the function that the request names, alone or in a call.

If a server constrains the model to one function, the model may write its arguments or a call. Both
are objects, and a function may have arguments named `name` and `arguments`. The first members of
the object decide, in this order:

1.  With a key other than `name`, `arguments` or `parameters`, it is the arguments.
2.  With a `name` that is not a string, or is longer than all names of tools, it is the arguments.
    The same is true of another name than the function's, if the function has an argument `name`.
    It is also true if the arguments are unknown and no tool has this name.
3.  With `arguments` or `parameters` other than an object, a string or null, it is the arguments.
    The same is true if that member is first and the function has an argument of this name.
4.  With a `name` and `arguments` or `parameters`, in any order, it is a call, unless the function
    has arguments with both names.
5.  With a `name` alone it is a call without arguments, unless the function has an argument `name`.
    Without members it is the arguments.

An object that is truncated before the decision is a truncated call. The arguments of a function are
the properties in its schema.
"""

from __future__ import annotations

import re
from collections.abc import Collection

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
    """Return True if the object at this place is the arguments alone. It is left unread."""
    mark = src.mark()
    # The object is read again by its reader, so the mark keeps its text.
    src.pos += 1
    alone = yield from _is_arguments(src, sink)
    src.rewind_to(mark)
    src.release()
    return alone


def _is_arguments(src: Window, sink: Sink) -> Steps[bool]:
    # None means that the arguments of the function are unknown.
    own = argument_names((sink.tools or {}).get(sink.named))
    seen: list[str] = []
    while True:
        key = yield from json_key(src, first=not seen)
        if key is None:
            # The object has ended, so only a name without arguments is left as a call.
            return seen != [NAME] or NAME in (own or ())
        if isinstance(key, JsonFault):
            # Invalid JSON is reported by the reader of arguments, but truncated JSON counts as a
            # call.
            return not key.cut
        if key in seen or key not in (NAME, *ARGUMENTS):
            return True
        seen.append(key)
        # The output is truncated, and the members so far fit a call.
        if not (yield from json_space(src)):
            return False
        if key == NAME:
            decided = yield from _name_decides(src, sink, own)
        else:
            decided = yield from _arguments_decide(src, key, own, named=NAME in seen)
        if decided is not None:
            return decided
        if NAME in seen and len(seen) > 1:
            return own is not None and own.issuperset(seen)


def _name_decides(src: Window, sink: Sink, own: Collection[str] | None) -> Steps[bool | None]:
    """Read the value of `name`, and return the decision, None if the next member decides."""
    # Checked while the string streams, because an argument of any length would be buffered.
    if (yield from _is_long(src, sink)):
        return True
    name = yield from json_string(src)
    if isinstance(name, JsonFault):
        return not name.cut
    others = own is None and name not in (sink.tools or ())
    is_argument = name != sink.named and (others or NAME in (own or ()))
    return True if is_argument else None


def _arguments_decide(
    src: Window, key: str, own: Collection[str] | None, *, named: bool
) -> Steps[bool | None]:
    """Look at the value of `key`, and return the decision, None if the next member decides.

    `named` is True if the name was read before.
    """
    if src.text[src.pos] not in '{"n' or (not named and key in (own or ())):
        return True
    # The name is not known yet, so the value must be read to find the next key.
    if not named:
        value = yield from json_value(src, nowhere)
        if value.state is not JsonState.DONE:
            return value.state is JsonState.BROKEN
    return None


def _is_long(src: Window, sink: Sink) -> Steps[bool]:
    """Return True if the string at this place is longer than all names of tools. It is unread."""
    # Each character of a name may be written as an escape.
    longest = LONGEST_ESCAPE * max(map(len, (sink.named, *(sink.tools or ())))) + len('""')
    while not src.closed and not STRING.match(src.text, src.pos):
        if len(src.text) - src.pos > longest:
            return True
        yield
    found = STRING.match(src.text, src.pos)
    return (found.end() if found else len(src.text)) - src.pos > longest
