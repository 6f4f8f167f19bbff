"""Repair of the arguments of calls in a history, so that every template can render them.

Clients send back arguments of any form. A string that is not JSON would break the markers of the
prompt, and the model would copy it. So truncated JSON is completed as by `heal_json`, and JSON in a
JSON string is unwrapped once. Arguments without an object become an empty object. The text of a
valid object is kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deltaparse.partial import MAX_DEPTH, heal_json

__all__ = ["healed_arguments"]


def healed_arguments(arguments: Any) -> str:
    """Return the arguments of a call as the JSON text of an object.

    Args:
        arguments: JSON text or an object. Anything else counts as no arguments.

    Returns:
        The unchanged text of a valid object, or else new JSON text.
    """
    # Some clients send the object itself.
    if isinstance(arguments, Mapping):
        return json.dumps(arguments, ensure_ascii=False)
    value: Any = arguments
    # Some clients encode the arguments twice, so the first value may be JSON text again.
    for _ in range(2):
        if not isinstance(value, str):
            break
        text = value
        if _is_object(text):
            # Decoding and encoding would change the spelling of the model.
            return text
        # The limit is for values. Here they are in an object, one level deeper.
        value = heal_json(text, max_depth=MAX_DEPTH + 1).value
    return json.dumps(value if isinstance(value, dict) else {}, ensure_ascii=False)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    # Deeply nested JSON exceeds the recursion limit of Python's parser.
    except (ValueError, RecursionError):
        return False
