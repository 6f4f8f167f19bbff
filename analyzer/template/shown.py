"""What a value looks like as text, without the address that Python puts into the text of some.

Functions, methods and generators have no text of their own: Python writes where in memory they
are, which is another place in each process and nobody's business. Values that hold one are copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from jinja2 import Undefined
from jinja2.runtime import LoopContext, Macro, TemplateReference
from jinja2.utils import Namespace

from .budget import CONTAINERS

__all__ = ["shown", "without_addresses"]

SIMPLE = {str, int, float, bool, type(None)}
PRINTABLE: Any = (str, int, float, range, Undefined, Namespace, Macro, LoopContext)
PRINTABLE += (TemplateReference, type)
ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def shown(value: Any) -> Any:
    """The value, or what is printed in its place: the name of its type, in angle brackets."""
    if type(value) in SIMPLE or not _is_odd(value):
        return value
    if isinstance(value, dict):
        return {shown(key): shown(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        items = [shown(item) for item in value]
        return items if isinstance(value, list) else type(value)(items)
    return f"<{type(value).__name__}>"


def without_addresses(message: str) -> str:
    """What Python says of an error, which may name such a value."""
    return ADDRESS.sub("", message)


def _is_odd(value: Any) -> bool:
    """Whether the text of a value has an address in it."""
    if type(value) in SIMPLE:
        return False
    if isinstance(value, dict):
        return any(_is_odd(key) or _is_odd(item) for key, item in value.items())
    if isinstance(value, CONTAINERS):
        items: Iterable[Any] = value
        return any(_is_odd(item) for item in items)
    return not isinstance(value, PRINTABLE)
