r"""JSON as bytes that any client reads: events of a stream, and the texts in them.

What is written is UTF-8, with two exceptions. A surrogate has no bytes in UTF-8, and becomes
U+FFFD. U+0085, U+2028 and U+2029 become escapes: they end no line of server-sent events, but
clients that split a stream with `str.splitlines` think so.

Which encoder is used was found by measuring. Of a text of four characters the standard library's,
which is C too, makes bytes in 90 ns, with the head and the tail of the event round it; msgspec and
orjson make bytes, which then have to be joined, in 110 and 130. From 64 characters on these two are
ahead, at 16 KB by a factor of five. All three write the same bytes, so a long text goes to
whichever is installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from json.encoder import encode_basestring  # C where there is C, as everywhere in CPython
from math import isfinite
from typing import Any

from deltaparse.partial import replace_surrogates

__all__ = ["Writer", "frame_writer", "numbered_writer", "sse"]

Writer = Callable[[str], bytes]
"""Writes the event of a text."""

LONG = 64
"""Characters from which on another encoder than the standard library's is worth its bytes."""

LINE_ENDS = re.compile("[\x85\u2028\u2029]")
"""What is no line end in JSON or in server-sent events, but is one to `str.splitlines`."""

LEAST_LOGPROB = -9999.0
"""What OpenAI writes for the logarithm of nothing; JSON has no infinity."""


def frame_writer(head: str, tail: str) -> Writer:
    """Return what writes a text as a JSON string between `head` and `tail`, which are ASCII.

    It is a closure, as the next one is: one more call would be a tenth of all that it takes.
    """
    before, behind = head.encode(), tail.encode()

    def write(text: str) -> bytes:
        if len(text) < LONG and text.isascii():
            return f"{head}{encode_basestring(text)}{tail}".encode()
        return b"".join((before, string_bytes(text), behind))

    return write


def numbered_writer(
    head: str, tail: str, numbers: Iterator[int], keep: Callable[[str], object]
) -> Writer:
    """Return what writes a text likewise, with the next number and the end of an event behind it.

    Each text goes to `keep` too.
    """
    before, number = head.encode(), numbers.__next__

    def write(text: str) -> bytes:
        keep(text)
        if len(text) < LONG and text.isascii():
            return f"{head}{encode_basestring(text)}{tail}{number()}}}\n\n".encode()
        behind = f"{tail}{number()}}}\n\n"
        return b"".join((before, string_bytes(text), behind.encode()))

    return write


def string_bytes(text: str) -> bytes:
    """Write `text` as a JSON string."""
    # Three searches, each of which is much faster than one for all three line ends.
    if "\u2028" not in text and "\u2029" not in text and "\x85" not in text:
        try:
            if len(text) < LONG:
                return encode_basestring(text).encode()
            return fastest_encoder()(text)
        except (TypeError, ValueError):
            pass  # a surrogate
    return safe_bytes(encode_basestring(text))


def safe_bytes(text: str) -> bytes:
    """Encode JSON, with escapes for line ends and U+FFFD for surrogates."""
    if not text.isascii():
        text = LINE_ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", replace_surrogates(text))
    return text.encode()


def json_bytes(value: Any) -> bytes:
    """Write a JSON value."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(finite(value), ensure_ascii=False, separators=(",", ":"))
    return safe_bytes(text)


def finite(value: Any) -> Any:
    """Return a value with what JSON has instead of numbers that it has not."""
    if isinstance(value, float) and not isfinite(value):
        return LEAST_LOGPROB if value < 0 else None
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    return value


def event_bytes(event: Mapping[str, Any]) -> bytes:
    """Write one server-sent event; those that have a type are named by it."""
    name = event.get("type")
    head = b"" if name is None else b"event: " + str(name).encode() + b"\n"
    return b"%bdata: %b\n\n" % (head, json_bytes(event))


def sse(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Write the events of any of the protocols as server-sent events.

    Those of Responses and of Anthropic's Messages are named by their type, the chunks of Chat
    Completions have no names. The `[DONE]` behind the last chunk is `ChatCompletions.sse`'s.
    """
    return b"".join([event_bytes(event) for event in events])


@cache
def fastest_encoder() -> Callable[[str], bytes]:
    """Return what makes a JSON string of a long text."""
    for name, attribute in (("orjson", "dumps"), ("msgspec.json", "encode")):
        try:
            encode: Callable[[str], bytes] = getattr(import_module(name), attribute)
        except ImportError:
            continue
        return encode
    return lambda text: encode_basestring(text).encode()
