"""Complete a JSON text that was cut off."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ijson.backends import python as ijson
from ijson.common import ObjectBuilder

from .json_scan import CLOSERS, HALF_PAIR, MAX_DEPTH, JsonScanner, JsonState

__all__ = ["HealedJson", "heal_json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealedJson:
    """A cut JSON text, completed.

    `text` is JSON, or "" when no value had begun that can be told; `value` is what it stands
    for (None for ""). `state` and `stack` say what stood open, `end` how many characters of the
    input the value reaches up to: what follows it was not looked at.
    """

    text: str
    value: Any
    state: JsonState
    stack: tuple[str, ...]
    end: int


def heal_json(text: str, *, max_depth: int = MAX_DEPTH) -> HealedJson:
    """Complete `text`, a JSON value that may be cut anywhere.

    Open strings, objects and arrays are closed. A member whose value has not begun, and a number
    or literal that is not all there, are dropped: "12" may have become "125". From the first
    character on that JSON does not allow, the text is taken as cut.

    >>> heal_json('{"a": "hel').text
    '{"a": "hel"}'
    >>> heal_json('{"a": [1, 2').value
    {'a': [1]}
    """
    scanner = JsonScanner(max_depth=max_depth)
    end = scanner.scan(text)
    if scanner.state is JsonState.BROKEN:
        text = text[:end]
        scanner = JsonScanner(max_depth=max_depth)
        end = scanner.scan(text)
    head = text[: scanner.settled]
    if scanner.state is JsonState.STRING:
        half = HALF_PAIR.search(text, 0, end)
        head = text[: half.start(1) if half else end] + '"'
    healed = head + "".join(CLOSERS[bracket] for bracket in reversed(scanner.stack))
    return HealedJson(
        text=healed,
        value=_value(healed) if healed.strip() else None,
        state=scanner.state,
        stack=tuple(scanner.stack),
        end=end,
    )


def _value(text: str) -> Any:
    """The value of a JSON text. Python's own parser nests calls, and may be called deep down."""
    try:
        return json.loads(text)
    except RecursionError:
        builder = ObjectBuilder()
        for event, value in ijson.basic_parse(text.encode(errors="surrogatepass"), use_float=True):
            builder.event(event, value)
        return builder.value
