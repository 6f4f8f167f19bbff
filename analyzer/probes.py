"""The conversations that are rendered to learn from, and the texts to find in the renderings.

Every text is one that no template writes, so that where it stands in a rendering is certain.
They are plain words, without markup, quotes or edges of white space, so that every template
shows them as they are; ids have nine letters or digits, the strictest form that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

__all__ = [
    "ABSENT",
    "ALL_OF_TOOLS",
    "ARGUMENT",
    "ARGUMENTS",
    "CALL_IDS",
    "CONTENT",
    "FUNCTIONS",
    "MARKED",
    "NEXT_USER",
    "NO_JSON",
    "NUMBER",
    "PROBE_TEXTS",
    "QUOTED",
    "REASONING",
    "REASONING_KEYS",
    "REPEATED",
    "REPEATED_NAME",
    "RESULT",
    "SWITCHED",
    "SYSTEM",
    "TOOLS",
    "USER",
    "VALUE",
    "VALUES",
    "Message",
    "Said",
    "assistant",
    "call",
    "result",
    "thinking",
    "told",
    "user",
]

ABSENT = "(absent)"
"""Stands for the content of a message that has no such key."""

SYSTEM = "zqtoldzq"
SWITCHED = "zqswitchedzq"
USER = "zqaskedzq"
NEXT_USER = "zqaskedagainzq"
CONTENT = "zqsaidzq"
REASONING = "zqthoughtzq"
RESULT = "zqreturnedzq"
FUNCTIONS = ("zqfirstzq", "zqotherzq")
ARGUMENTS = ("zqkeyzq", "zqnextkeyzq")
ARGUMENT = ARGUMENTS[0]
VALUES = ("zqvaluezq", "zqnextvaluezq")
VALUE = VALUES[0]
NUMBER = 739_517_283
MARKED = "zqmark<b>&\nedzq"
QUOTED = 'zqquo"tedzq'
NO_JSON = "zqargumentszq"
"""Arguments as a text: templates are given what is JSON as an object."""
CALL_IDS = ("zqid0aaaa", "zqid1bbbb")
REPEATED, REPEATED_NAME = "zqrepeatedzq", "zqrepeatednamezq"
"""Stand for an argument's name, and a function's, where the marker behind it repeats them."""
PROBE_TEXTS = (
    SYSTEM,
    SWITCHED,
    USER,
    NEXT_USER,
    CONTENT,
    REASONING,
    RESULT,
    *FUNCTIONS,
    *ARGUMENTS,
    *VALUES,
    *CALL_IDS,
    MARKED,
    QUOTED,
    NO_JSON,
    REPEATED,
    REPEATED_NAME,
)

REASONING_KEYS = (
    "reasoning_content",
    "reasoning",
    "thinking",
    "thought",
    "content.thinking",
    "content.reasoning",
)
"""Under which keys of a message templates look for reasoning, the usual one first.

`content.thinking`: the content is a list of parts, one of which is of the type "thinking".
"""

TYPED: dict[str, Any] = {"type": "string", "description": "what it is"}


def _tools(of_argument: Mapping[str, Any], of_function: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The functions of the probes, with more in each argument and in each function."""
    properties = {name: {**TYPED, **of_argument} for name in ARGUMENTS}
    parameters = {"type": "object", "properties": properties, "required": [ARGUMENT]}
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": "what it does",
                "parameters": parameters,
                **of_function,
            },
        }
        for name in FUNCTIONS
    ]


TOOLS = _tools({}, {})
ALL_OF_TOOLS = _tools(
    {"title": "title", "default": "one", "enum": ["one", "two"], "examples": ["one"]}
    | {"format": "word", "items": TYPED, "properties": {}, "required": []},
    {"strict": False} | dict.fromkeys(("return", "returns", "response"), TYPED),
)
"""The same with what schemas may say besides, for templates that write it unasked."""


Message = Mapping[str, Any]


class Said(TypedDict, total=False):
    """What there is in a turn of the model: what `assistant` takes, all of it optional."""

    content: str | None
    calls: Sequence[Message]
    reasoning: str
    key: str


def told() -> dict[str, Any]:
    """The system's message."""
    return {"role": "system", "content": SYSTEM}


def user(text: str = USER) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def assistant(
    content: str | None = CONTENT,
    *,
    calls: Sequence[Message] = (),
    reasoning: str = "",
    key: str = REASONING_KEYS[0],
) -> dict[str, Any]:
    """A turn of the model. Templates ask whether a key is there, so absent parts have none.

    `key` is the one that `reasoning` stands under.
    """
    message: dict[str, Any] = {"role": "assistant"}
    if content is not ABSENT:
        message["content"] = content
    kind = key.partition("content.")[2]
    if reasoning and kind:
        parts = [{"type": kind, kind: reasoning, "text": reasoning}]
        message["content"] = parts + [{"type": "text", "text": content}] * bool(content)
    elif reasoning:
        message[key] = reasoning
    if calls:
        message["tool_calls"] = [dict(made) for made in calls]
    return message


def thinking(
    content: str | None = CONTENT, calls: Sequence[Message] = (), more: Sequence[str] = ()
) -> dict[str, Any]:
    """A turn with reasoning under all the keys that templates read, and under `more`."""
    keys = [key for key in (*REASONING_KEYS, *more) if "." not in key]
    return dict.fromkeys(keys, REASONING) | assistant(content, calls=calls)


def call(which: int = 0, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A tool call; without `arguments`, with the one of the probes."""
    given = {ARGUMENT: VALUE} if arguments is None else dict(arguments)
    function = {"name": FUNCTIONS[which], "arguments": given}
    return {"id": CALL_IDS[which], "type": "function", "function": function}


def result(which: int = 0) -> dict[str, Any]:
    """What a tool returned."""
    name, call_id = FUNCTIONS[which], CALL_IDS[which]
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": RESULT}
