"""Printable forms of values without memory addresses.

Python prints functions, methods and generators with their memory address. It differs in each
process and must not be disclosed to a template. Values that contain one are copied.
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
    """Return the value, or the name of its type in angle brackets if it prints an address."""
    if type(value) in SIMPLE or not _is_odd(value):
        return value
    if isinstance(value, dict):
        return {shown(key): shown(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        items = [shown(item) for item in value]
        return items if isinstance(value, list) else type(value)(items)
    return f"<{type(value).__name__}>"


def without_addresses(message: str) -> str:
    """Return an error message of Python without memory addresses."""
    return ADDRESS.sub("", message)


def _is_odd(value: Any) -> bool:
    """Return True if the text of a value contains a memory address."""
    if type(value) in SIMPLE:
        return False
    if isinstance(value, dict):
        return any(_is_odd(key) or _is_odd(item) for key, item in value.items())
    if isinstance(value, CONTAINERS):
        items: Iterable[Any] = value
        return any(_is_odd(item) for item in items)
    return not isinstance(value, PRINTABLE)
