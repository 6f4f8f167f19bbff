"""Shapes of requests, and one check that names the invalid member.

A shape is plain data:

    str             a string
    [shape]         a list
    {name: shape}   an object
    tuple           one of several shapes
    `Kinds`         an object, whose `type` selects its shape

A member may be missing or null, unless its name ends with `!`. Members without a shape may have any
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .faults import Fault

__all__ = ["CHAT", "MESSAGES", "RESPONSES", "check_shape"]

Shape = Any


class Kinds(dict[str, Shape]):
    """Shapes of objects by their `type`, "" for a missing one. The reader rejects unknown types."""


WORDS: dict[type, str] = {str: "a string", list: "a list", dict: "an object"}


def check_shape(value: Any, shape: Shape, path: str = "") -> None:
    """Check a value at a path of a request.

    Raises:
        Fault: a member is missing or has a wrong type.
    """
    choices = shape if isinstance(shape, tuple) else (shape,)
    chosen = next((one for one in choices if isinstance(value, _kind(one))), None)
    if chosen is None:
        words = " or ".join(WORDS[_kind(one)] for one in choices)
        raise Fault(f"{path} must be {words}, not {value!r:.80}", param=path)
    if isinstance(chosen, list):
        for at, one in enumerate(value):
            check_shape(one, chosen[0], f"{path}[{at}]")
    elif isinstance(chosen, Kinds):
        _check_members(value, {"type" if "" in chosen else "type!": str}, path)
        _check_members(value, chosen.get(value.get("type") or "", {}), path)
    elif isinstance(chosen, dict):
        _check_members(value, chosen, path)


def _check_members(value: Mapping[str, Any], shapes: Mapping[str, Shape], path: str) -> None:
    """Check the members of an object."""
    for name, shape in shapes.items():
        plain = name.removesuffix("!")
        where = f"{path}.{plain}" if path else plain
        if value.get(plain) is not None:
            check_shape(value[plain], shape, where)
        elif plain != name:
            raise Fault(f"{where} is missing", param=where)


def _kind(shape: Shape) -> type:
    """Return the Python type of a shape's values."""
    return next(kind for kind in WORDS if shape is kind or isinstance(shape, kind))


TEXT_PART, REFUSAL_PART = {"text!": str}, {"refusal!": str}
SCHEMA = {"type": str, "schema": dict}
CALL = {"name!": str, "arguments": (str, dict)}

CHAT: Shape = {
    "messages!": [
        {
            "role!": str,
            "content": (str, [Kinds({"text": TEXT_PART, "refusal": REFUSAL_PART})]),
            "refusal": str,
            "reasoning_content": str,
            "reasoning": str,
            "thinking": str,
            "tool_calls": [{"id": str, "type": str, "function": CALL}],
            "tool_call_id": str,
            "function_call": CALL,
        }
    ],
    "tools": [dict],
    "tool_choice": (str, dict),
    "response_format": Kinds({"": {}}, json_schema={"json_schema!": SCHEMA}),
}

PARTS = (
    str,
    [Kinds(input_text=TEXT_PART, output_text=TEXT_PART, text=TEXT_PART, refusal=REFUSAL_PART)],
)
MESSAGE = {"role!": str, "content": PARTS}

RESPONSES: Shape = {
    "instructions": str,
    "input!": (
        str,
        [
            Kinds(
                {"": MESSAGE},
                message=MESSAGE,
                function_call={"call_id!": str, **CALL},
                function_call_output={"call_id!": str, "output": PARTS},
                reasoning={"content": [{"text": str}], "summary": [{"text": str}]},
            )
        ],
    ),
    "tools": [dict],
    "tool_choice": (str, dict),
    "text": {"format": SCHEMA},
}

DATA = {"data!": str, "media_type": str}
SOURCE = Kinds(text=DATA, base64=DATA, url={"url!": str})
SHOWN = {"text": TEXT_PART, "image": {"source!": SOURCE}, "document": {"source!": SOURCE}}
BLOCKS = (str, [Kinds(SHOWN)])

MESSAGES: Shape = {
    "system": BLOCKS,
    "messages!": [
        {
            "role!": str,
            "content": (
                str,
                [
                    Kinds(
                        SHOWN,
                        thinking={"thinking!": str},
                        tool_use={"id!": str, "name!": str, "input": dict},
                        tool_result={"tool_use_id!": str, "content": BLOCKS},
                    )
                ],
            ),
        }
    ],
    "tools": [dict],
    "tool_choice": dict,
    "output_config": {"format": SCHEMA},
    "output_format": SCHEMA,
}
