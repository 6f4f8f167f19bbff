"""Arguments of calls in a history as JSON objects, which every template can render.

A client sends back whatever a model or a program wrote. Raw text that is not JSON would break the
markers of the prompt, and the model would copy it. So truncated JSON is completed as by
`heal_json`, JSON text in a JSON string is unwrapped once, and arguments that hold no object become
an empty object. The text of a valid object stays as it is.
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
        arguments: JSON text, or an object; anything else counts as no arguments.
    """
    if isinstance(arguments, Mapping):
        return json.dumps(arguments, ensure_ascii=False)
    value: Any = arguments
    for _ in range(2):
        if not isinstance(value, str):
            break
        text = value
        if _is_object(text):
            return text
        # The values in the object may be as deep as a value may be.
        value = heal_json(text, max_depth=MAX_DEPTH + 1).value
    return json.dumps(value if isinstance(value, dict) else {}, ensure_ascii=False)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
