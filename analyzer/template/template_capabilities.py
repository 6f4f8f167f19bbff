"""Detection of the message form that a template reads, by rendering small conversations.

Templates differ in details that OpenAI's API leaves open: empty or absent content next to calls,
the key of reasoning, accepted call ids, and the name of the tool in its result. A template does not
declare its requirements. It refuses or omits other forms, or writes `None` into the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from deltaparse.partial import TemplateError
from deltaparse.stream.message.fields import REASONING_KEYS

from .budget import LimitExceeded
from .clock import one_moment

__all__ = [
    "OTHER_KEYS",
    "PARTS",
    "REASONING_NAMES",
    "CallCapabilities",
    "Ids",
    "NoContent",
    "Probes",
    "call_capabilities",
    "in_parts",
    "joins_content_parts",
    "reads_result_names",
    "reasoning_excludes_content",
    "reasoning_key",
    "roles_with_content_parts",
    "settings_of",
]

Message = dict[str, Any]
Render = Callable[[list[Message], list[Message] | None, Mapping[str, Any]], str]

NoContent = Literal["empty", "null", "absent"]
"""Forms of a message without content."""

Ids = Literal["any", "nine", "named", "numbered"]
"""Forms of call ids that a template accepts: any id, nine letters and digits, an id with the name
of the function (`functions.name:0`), or an id with a number (`call_0_...`)."""

NO_CONTENT: tuple[NoContent, ...] = ("empty", "null", "absent")
CALL_ID = "qzi000001"
IDS: dict[Ids, str] = {
    "any": "call_0123456789abcdef01234567",
    "nine": CALL_ID,
    "named": "functions.qzf:0",
    "numbered": f"call_0_{CALL_ID}",
}

REASONING_NAMES = (*REASONING_KEYS, "thought")
"""Keys of a message under which templates look for reasoning, the most common first."""

PARTS = ("thinking", "reasoning")
"""Types of content parts with reasoning."""

OTHER_KEYS = frozenset({"arguments", "content", "function", "id", "name", "role", "type"}) | {
    "annotations",
    "audio",
    "function_call",
    "refusal",
    "tool_call_id",
    "tool_calls",
}
"""Keys of a message or call that never hold reasoning."""
MOST_KEYS, MOST_SETTINGS = 60, 12
"""Maximum number of keys and settings to try. Real templates have about twenty."""

ASKED, SAID, RETURNED, NAME, KEY, VALUE = "qzasked", "qzsaid", "qzgot", "qzf", "qzk", "qzv value"
RESULT_NAME = "qznamed"
SYSTEM: Message = {"role": "system", "content": "qzs"}
QUESTION: Message = {"role": "user", "content": ASKED}
SCHEMA = {"type": "object", "properties": {KEY: {"type": "string", "description": "qzp"}}}
TOOLS: list[Message] = [
    {"type": "function", "function": {"name": NAME, "description": "qzd", "parameters": SCHEMA}}
]


NOTHING: Mapping[str, Any] = {}
NOT_SWITCHES = frozenset(
    {"add_generation_prompt", "bos_token", "documents", "eos_token", "messages", "tools"}
    | {"available_tools", "custom_tools", "functions", "continue_final_message"}
)
"""Variables of a template that are not switches but parts of the conversation."""


class Probes:
    """Renders conversations with one template. The result is None if the template refuses one.

    A system message is added if the template requires it, at least with tools. After a template
    has exceeded its limits once, it is not rendered again.
    """

    def __init__(self, render: Render) -> None:
        self._render = render
        self._slow = False
        self.first: list[Message] = []
        for tools in (TOOLS, None):
            for self.first in ([], [SYSTEM]):
                if self([QUESTION], tools) is not None:
                    return
        self.first = []

    def __call__(
        self,
        chat: Sequence[Message],
        tools: list[Message] | None = None,
        context: Mapping[str, Any] = NOTHING,
    ) -> str | None:
        """Render a conversation, or return None if the template refuses it."""
        if self._slow:
            return None
        try:
            return self._render([*self.first, *chat], tools, context)
        except TemplateError as error:
            self._slow = isinstance(error.__cause__, LimitExceeded)
            return None


@dataclass(frozen=True, slots=True)
class CallCapabilities:
    """Form of messages with calls that a template shows.

    Attributes:
        no_content: accepted forms of missing content, the best first.
        ids: the accepted form of call ids.
    """

    no_content: tuple[NoContent, ...] = NO_CONTENT
    ids: Ids = "any"


def call_capabilities(render: Probes) -> CallCapabilities:
    """Find the form of messages with calls that a template accepts."""
    partly: CallCapabilities | None = None
    for ids, made in IDS.items():
        taken = [(kind, _calls_shown(render, kind, made)) for kind in NO_CONTENT]
        for wanted in ("both", "calls"):
            kinds = tuple(kind for kind, shown in taken if shown in ("both", wanted))
            if kinds and wanted == "both":
                return CallCapabilities(kinds, ids)
            partly = partly or (CallCapabilities(kinds, ids) if kinds else None)
    return partly or CallCapabilities()


def _calls_shown(render: Probes, kind: NoContent, made: str) -> str:
    """Return "both" if a call and its result are shown, "calls" for the call only, or ""."""
    turn = _turn(calls=True, made=made)
    if kind != "empty":
        turn |= {"content": None}
    if kind == "absent":
        del turn["content"]
    alone = render([QUESTION, turn], TOOLS)
    answered = render([QUESTION, turn, _result(made)], TOOLS)
    shown = [text for text in (alone, answered) if text is not None and _has_call(text)]
    if not shown or (kind != "empty" and _writes_none(render, turn, shown[0], alone is shown[0])):
        return ""
    return "both" if answered is not None else "calls"


def _has_call(text: str) -> bool:
    """Return True if a rendering contains the call between the question and the result."""
    turn = text[text.rfind(ASKED) :].partition(RETURNED)[0]
    return all(part in turn for part in (NAME, KEY, VALUE))


def _writes_none(render: Probes, turn: Message, text: str, alone: bool) -> bool:
    """Return True if null or absent content is rendered as `None`."""
    if "None" not in text:
        return False
    more = [] if alone else [_result(turn["tool_calls"][0]["id"])]
    other = render([QUESTION, turn | {"content": SAID}, *more], TOOLS)
    return other is None or text.count("None") > other.count("None")


def reasoning_key(render: Probes, keys: frozenset[str], settings: Sequence[Message]) -> str:
    """Find the key of a message whose reasoning a template shows, or return "".

    It is one of `REASONING_NAMES`, another of the `keys` that the template reads, or the type of a
    content part, for example `content.thinking`. All `settings` of switches are tried, because some
    templates show reasoning only under a switch.
    """
    others = sorted(keys - OTHER_KEYS - set(REASONING_NAMES))[:MOST_KEYS]
    for context in ({}, *islice(settings, MOST_SETTINGS)):
        for calls in (False, True):
            found = _key_shown(render, REASONING_NAMES, calls, context)
            if not found and not context:
                found = _part_shown(render, calls)
                found = found or _key_shown(render, others, calls, context, apart=True)
            if found:
                return found
    return ""


def _key_shown(
    render: Probes,
    keys: Sequence[str],
    calls: bool,
    context: Mapping[str, Any],
    *,
    apart: bool = False,
) -> str:
    """Return the first of these keys whose text is shown, or "". All are tried in one rendering.

    With `apart`, a marker must separate the text from the following content or call. This excludes
    texts in the header and calls given as text.
    """
    texts = {key: f"qzthought{at}qz" for at, key in enumerate(keys)}
    chat, tools = [QUESTION, _turn(calls=calls) | texts], TOOLS if calls else None
    shown = render(chat, tools, context) if keys else ""
    if shown is None and calls:
        shown = render([*chat, _result(CALL_ID)], tools, context)
    for key, text in texts.items():
        _, found, behind = (shown or "").partition(text)
        marker, said, _ = behind.partition(NAME if calls else SAID)
        if found and text not in behind and (not apart or (said and marker.strip())):
            return key
    return ""


def _part_shown(render: Probes, calls: bool) -> str:
    """Return the key of a content part shown as reasoning, not dumped as a dict, or ""."""
    for kind in PARTS:
        parts = [{"type": kind, kind: "qzthought"}, {"type": "text", "text": SAID}]
        turn = _turn(calls=calls) | {"content": parts}
        shown = render([QUESTION, turn], TOOLS if calls else None) or ""
        quoted = f"'{kind}'" in shown or f'"{kind}"' in shown
        if shown.count("qzthought") == 1 and SAID in shown and not quoted:
            return f"content.{kind}"
    return ""


def reads_result_names(render: Probes, ids: Ids) -> bool:
    """Return True if a template shows the tool name in tool results, or requires it."""
    turn, answer = _turn(calls=True, made=IDS[ids]), _result(IDS[ids])
    without = render([QUESTION, turn, answer], TOOLS)
    named = render([QUESTION, turn, answer | {"name": RESULT_NAME}], TOOLS)
    return named is not None and (without is None or RESULT_NAME in named)


def reasoning_excludes_content(render: Probes, ids: Ids, key: str) -> bool:
    """Return True if a template refuses content in a message with calls and reasoning."""
    turn, answer = _turn(calls=True, made=IDS[ids]) | {key: SAID}, _result(IDS[ids])
    alone = render([QUESTION, turn, answer], TOOLS)
    return alone is not None and render([QUESTION, turn | {"content": SAID}, answer], TOOLS) is None


def in_parts(messages: Iterable[Mapping[str, Any]], roles: Collection[str]) -> list[Message]:
    """Return the messages, with texts of these roles converted to a list with one part."""
    return [
        {**message, "content": [{"type": "text", "text": message["content"]}]}
        if message.get("role") in roles and isinstance(message.get("content"), str)
        else dict(message)
        for message in messages
    ]


def roles_with_content_parts(render: Probes) -> frozenset[str]:
    """Return the roles whose messages are shown only if their content is a list of parts.

    Templates of multimodal models often iterate over the parts of each content. The comparison
    ignores case, because a text in capitals is shown too.
    """
    found: set[str] = set()
    calls, answer = _turn(calls=True), _result(CALL_ID)
    for role, text, chat in (
        ("user", ASKED, [QUESTION]),
        ("system", SYSTEM["content"], [SYSTEM, QUESTION]),
        ("assistant", SAID, [QUESTION, _turn(calls=False), QUESTION]),
        ("tool", RETURNED, [QUESTION, calls, answer]),
    ):
        if text not in (render(in_parts(chat, found), TOOLS) or "").lower():
            shown = render(in_parts(chat, found | {role}), TOOLS) or ""
            if text in shown and "'text'" not in shown and '"text"' not in shown:
                found.add(role)
    return frozenset(found)


@one_moment()
def joins_content_parts(render: Probes, role: str) -> bool:
    """Return True if a list of parts must be joined to one text for messages of this role."""
    message: Message = {"role": role, "content": SAID}
    before: list[Message] = [QUESTION]
    if role == "tool":
        before, message = [QUESTION, _turn(calls=True)], _result(CALL_ID) | {"content": SAID}
    elif role != "assistant":
        before = []
    after = [] if role == "user" else [QUESTION]
    parts = [{"type": "text", "text": SAID}]
    as_text = render([*before, message, *after], TOOLS)
    as_parts = render([*before, message | {"content": parts}, *after], TOOLS)
    return as_text is not None and as_text != as_parts and SAID in as_text


def _turn(*, calls: bool, made: str = CALL_ID) -> Message:
    turn: Message = {"role": "assistant", "content": "" if calls else SAID}
    if calls:
        function = {"name": NAME, "arguments": {KEY: VALUE}}
        turn["tool_calls"] = [{"id": made, "type": "function", "function": function}]
    return turn


def _result(made: str) -> Message:
    return {"role": "tool", "tool_call_id": made, "content": RETURNED}


def settings_of(switches: Iterable[str], choices: Mapping[str, Sequence[str]]) -> Iterator[Message]:
    """Yield each switch of a template with each value to try."""
    for name in sorted(frozenset(switches) - NOT_SWITCHES):
        for value in (True, False, *choices.get(name, ())):
            yield {name: value}
