"""Turns for the proof of a format, distinct from the probes and deliberately difficult.

Texts contain common syntax of formats: quotes, backslashes, braces, markup, and whitespace at their
edges. Values have every type. Some strings look like values of other types, so only the schema
determines their type. Texts with a marker of the format are replaced, and values with one are
omitted, because parsers cannot distinguish them from markers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deltaparse.stream import ToolFormat, WireFormat
from deltaparse.stream.wire.spellings import is_fence, is_prose

from ..probes import ABSENT, FUNCTIONS, call, user

__all__ = [
    "ALONE",
    "AT_THE_END",
    "BEFORE",
    "FEW",
    "NAMED_AS_MARKERS",
    "PROOF_TOOLS",
    "SHORT",
    "TURNS",
    "TWO",
    "WORDS",
    "Turn",
    "tools_for",
    "turns_in_doubt",
    "turns_named_so",
    "turns_without",
]

SAID = (
    'First line.\nSecond: 2 < 3, {braces} [brackets] "quotes", \\back\\slashes and `code`.\n\n'
    "# A *few* __signs__:\n- 50% + $1 = ~2 | (#3) @4; so^5?\n\n"
    "<b>Markup</b> &amp; 你好 😀, it's done"
)
THOUGHT = "Let me see.\n\n1. a < b\n2. {x: [y]} done"
SHORT = 'I will <b>look</b>: {x} "y".'
BEFORE = (user("Hello there"), {"role": "assistant", "content": "Hello to you"})
"""An earlier turn."""
PLAIN = "Some words, and no more"
PLAIN_THOUGHT = "A thought, and then another"

SOME: dict[str, Any] = {
    "text": 'It\'s <b>Bold</b>, "quoted"\n\tand \\ indented',
    "integer": 7,
    "list": [1, "two", [3]],
}
VALUES: dict[str, Any] = {
    **SOME,
    "empty": "",
    "padded": "  two spaces before, a newline behind\n",
    "code": "\ndef f(x):\n    return {\"a\": [x, '}']}  # \\n {{ x }} {% y %}\n\n",
    "postcode": "02134",
    "said_true": "true",
    "said_null": "null",
    "said_list": '["a", {"b": 1}]',
    "said_quoted": '"quoted"',
    "large": 9007199254740993,
    "negative": -12,
    "float": 1.5,
    "small": 2.5e-07,
    "yes": True,
    "no": False,
    "nothing": None,
    "empty_list": [],
    "object": {"key": {"deep": [], "text": 'a "b" \\ </i> }]', "none": None}, "on": True},
    "uniCode": "Ünïcödé 你好 😀",
}
COUNT = "a"
WORDS = "Some words"
NAME = re.compile(r"[^\W\d]\w*")
IN_DOUBT = ("Some words MARKER and more", 'Two MARKER 3, {a: [b]} and "so on", MARKER x(1)')
"""Texts with a marker that may occur in any text."""
IN_A_LINE = (IN_DOUBT[0], "The best MARKER go")
"""The same for a marker of words."""
IN_FENCE = 'Two lines:\nMARKER\n{"name": "left-pad", "version": "1.0"}\n```\nand more'
"""The same for a marker that is a code fence."""

NAMED_AS_MARKERS = "arguments with names from markers"
"""The label of `turns_named_so`."""

AWKWARD = "'\"\\\n\t"
"""Characters that need escapes in a string."""

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"} | {
    dict: "object",
    type(None): "null",
}
KNOWN = VALUES | {COUNT: 1}


def _tools(
    arguments: Mapping[str, Any], functions: Iterable[str] = FUNCTIONS
) -> list[dict[str, Any]]:
    properties = {key: {"type": TYPES[type(value)]} for key, value in arguments.items()}
    parameters = {"type": "object", "properties": properties}
    return [
        {"type": "function", "function": {"name": name, "parameters": parameters}}
        for name in functions
    ]


PROOF_TOOLS = _tools(KNOWN)
"""The called functions, as declared to the parser. Each value has its type."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The expected parts of a turn.

    Attributes:
        label: a name for people.
        content: the content.
        reasoning: the reasoning.
        calls: the tool calls.
        without: the form of empty content: "" for an empty text, "null" or "absent".
        after_result: True if the turn answers a tool's result, not the user.
        later: True if another turn precedes the user's last message.
        streamed: True to parse it by characters, too.
        in_doubt: True if its text may be a marker.
    """

    label: str
    content: str = ""
    reasoning: str = ""
    calls: tuple[dict[str, Any], ...] = ()
    without: str = ""
    after_result: bool = False
    later: bool = False
    streamed: bool = True
    in_doubt: bool = False

    @property
    def said(self) -> str | None:
        """The content of the message."""
        return {"null": None, "absent": ABSENT}.get(self.without, self.content)


TURNS = (
    Turn("content", SAID),
    Turn("reasoning and content", SAID, THOUGHT),
    Turn("a call", calls=(call(0, VALUES),)),
    Turn("a call without arguments", calls=(call(0, {}),)),
    Turn("content and a call", SHORT, calls=(call(1, SOME),)),
    Turn("reasoning and a call", "", THOUGHT, (call(0, SOME),)),
    Turn("two calls", calls=(call(0, SOME), call(1, {COUNT: 1}))),
    Turn("the same function twice", calls=(call(0, {COUNT: 1}), call(0, {COUNT: 2}))),
    Turn("three calls", calls=(call(1, {}), call(0, {COUNT: 1}), call(1, SOME))),
    Turn("reasoning, content and two calls", SHORT, THOUGHT, (call(0, {}), call(1, SOME))),
    Turn("a call with null content", calls=(call(1, SOME),), without="null"),
    Turn("a call without content", calls=(call(0, SOME),), without="absent"),
    Turn("content after a result", SAID, after_result=True, streamed=False),
    Turn("reasoning and content after a result", SAID, THOUGHT, after_result=True, streamed=False),
    Turn("a call after a result", calls=(call(1, SOME),), after_result=True, streamed=False),
    Turn("content in a later turn", SAID, later=True, streamed=False),
    Turn(
        "reasoning and a call in a later turn",
        "",
        THOUGHT,
        (call(0, SOME),),
        later=True,
        streamed=False,
    ),
)
FEW = (
    "content",
    "reasoning and content",
    "reasoning, content and two calls",
    "two calls",
    "reasoning and content after a result",
)
"""Turns rendered under each switch. Those without calls are rendered with tools too."""

AT_THE_END = ("reasoning and content", "two calls")
"""Turns of `FEW` rendered with tools only at the end of a conversation."""

ALONE = "content and a call"
"""Also rendered under each switch, if a turn has at most one call."""

TWO = ("reasoning and content", "reasoning, content and two calls")
"""Turns of `FEW` for pairs of switches, and for values without any other known effect."""


def turns_without(markers: Iterable[str], lost: Collection[str] = ()) -> list[Turn]:
    """Return the turns, without texts and values that contain one of the markers.

    `lost` lists the kinds of values the template does not render: "strings", "escapes", "numbers".
    These values are removed too.
    """
    cores = {marker.strip() for marker in markers} - {""}

    def marked(value: Any) -> bool:
        return any(core in text for text in _strings(value) for core in cores)

    def is_lost(value: Any) -> bool:
        texts = _strings(value)
        if not isinstance(value, str):
            return "numbers" in lost or any(map(is_lost, texts))
        escaped = "escapes" in lost and any(char in value for char in AWKWARD)
        return "strings" in lost or escaped

    if not lost and not marked([SAID, SHORT, THOUGHT, VALUES]):
        return list(TURNS)

    def kept(value: Any) -> bool:
        return not marked(value) and not is_lost(value)

    def without(made: Mapping[str, Any]) -> dict[str, Any]:
        function = made["function"]
        given = {key: value for key, value in function["arguments"].items() if kept(value)}
        return {**made, "function": {**function, "arguments": given}}

    return [
        replace(
            turn,
            content=PLAIN if marked(turn.content) else turn.content,
            reasoning=PLAIN_THOUGHT if marked(turn.reasoning) else turn.reasoning,
            calls=tuple(map(without, turn.calls)),
        )
        for turn in TURNS
    ]


def turns_in_doubt(markers: Iterable[str], *, reasoning: bool) -> Iterator[Turn]:
    """Yield turns with markers that may also be ordinary text.

    These are markers without letters, markers of words, code fences, and markers in the texts of
    the proof. Only the parser can decide if the text is a marker.

    Args:
        markers: the markers of the format.
        reasoning: True to put the markers into reasoning, too.
    """
    known = "\n".join(_strings([SAID, SHORT, THOUGHT, VALUES]))
    cores = sorted({marker.strip() for marker in markers} - {""})
    for core in cores:
        in_prose, fence = is_prose(core), is_fence(core)
        if core in known or in_prose or fence or not any(map(str.isalnum, core)):
            value = {"text": f"a {core} b"}
            texts = IN_A_LINE if in_prose else (*IN_DOUBT, IN_FENCE) if fence else IN_DOUBT
            for text in texts:
                words = text.replace("MARKER", core)
                label = f"content containing {core!r}"
                yield Turn(label, words, streamed=False, in_doubt=True)
                if reasoning:
                    label = f"reasoning containing {core!r}"
                    yield Turn(label, PLAIN, words, streamed=False, in_doubt=True)
            label = f"a value containing {core!r}"
            yield Turn(label, calls=(call(0, value),), streamed=False, in_doubt=True)


def turns_named_so(fmt: WireFormat) -> Iterator[Turn]:
    """Yield a turn with arguments named after the words in call markers.

    If arguments are in tags, `<name>` may name the function or an argument.
    """
    if fmt.tools.format is ToolFormat.TAG_WITH_TAGGED:
        markers = (*fmt.derived.openers, fmt.function.name_prefix, fmt.function.name_suffix)
        names = dict.fromkeys(name for marker in markers for name in NAME.findall(marker))
        named = call(0, dict.fromkeys(names, WORDS))
        yield Turn(NAMED_AS_MARKERS, calls=(named,), streamed=False)


def tools_for(turn: Turn) -> list[dict[str, Any]]:
    """Return the functions called in a turn, with all arguments in the turn."""
    functions = [made["function"] for made in turn.calls]
    named = {name: WORDS for function in functions for name in function["arguments"]}
    called = [function["name"] for function in functions]
    if named.keys() <= KNOWN.keys() and {*FUNCTIONS}.issuperset(called):
        return PROOF_TOOLS
    return _tools(named | KNOWN, dict.fromkeys((*FUNCTIONS, *called)))


def _strings(value: Any) -> list[str]:
    """Return all strings in a value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for part in value.items() for item in part for text in _strings(item)]
    return [text for item in value for text in _strings(item)] if isinstance(value, list) else []
