"""Probe texts and conversations for the analysis.

No template contains a probe text, so its position in a rendering is unambiguous. Probes are plain
words without markup, quotes or outer whitespace, so every template renders them unchanged. Ids have
nine letters or digits, the strictest form that templates require.
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
"""Placeholder for the content of a message without a content key."""

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
"""Placeholders for an argument's and a function's name in end markers that repeat the name."""
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
"""Keys of a message under which templates look for reasoning, the most common first.

`content.thinking` means that the content is a list with a part of the type "thinking".
"""

TYPED: dict[str, Any] = {"type": "string", "description": "what it is"}


def _tools(of_argument: Mapping[str, Any], of_function: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the probe functions, with additional members in each argument and function."""
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
"""`TOOLS` with all optional schema members, for templates that read them without a check."""


Message = Mapping[str, Any]


class Said(TypedDict, total=False):
    """Optional parts of an assistant turn: the arguments of `assistant`."""

    content: str | None
    calls: Sequence[Message]
    reasoning: str
    key: str


def told() -> dict[str, Any]:
    """Return the system message."""
    return {"role": "system", "content": SYSTEM}


def user(text: str = USER) -> dict[str, Any]:
    """Return a user message."""
    return {"role": "user", "content": text}


def assistant(
    content: str | None = CONTENT,
    *,
    calls: Sequence[Message] = (),
    reasoning: str = "",
    key: str = REASONING_KEYS[0],
) -> dict[str, Any]:
    """Return an assistant turn. Absent parts have no key, because templates test for keys.

    `key` is the key of `reasoning`.
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
    """Return a turn with reasoning under all usual keys, and under the keys in `more`."""
    keys = [key for key in (*REASONING_KEYS, *more) if "." not in key]
    return dict.fromkeys(keys, REASONING) | assistant(content, calls=calls)


def call(which: int = 0, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a tool call. `arguments` defaults to the probe argument."""
    given = {ARGUMENT: VALUE} if arguments is None else dict(arguments)
    function = {"name": FUNCTIONS[which], "arguments": given}
    return {"id": CALL_IDS[which], "type": "function", "function": function}


def result(which: int = 0) -> dict[str, Any]:
    """Return the tool message that answers `call(which)`."""
    name, call_id = FUNCTIONS[which], CALL_IDS[which]
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": RESULT}
