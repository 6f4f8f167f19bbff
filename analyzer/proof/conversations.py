"""The turns that prove a format: none of them is a probe, and all are as awkward as they may be.

Text has what formats are made of: quotes, backslashes, braces, markup, white space at its edges.
Values are of every type, and some strings look like values of other types, so that only the schema
says what they are. A text in which a marker of the format stands is replaced, a value left out:
no parser could know that it is not the marker.
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
"""Texts in which a marker stands that any text may hold."""
IN_A_LINE = (IN_DOUBT[0], "The best MARKER go")
"""The same for a marker of words."""
IN_FENCE = 'Two lines:\nMARKER\n{"name": "left-pad", "version": "1.0"}\n```\nand more'
"""The same for a marker that is a code fence."""

NAMED_AS_MARKERS = "arguments that have names of markers"
"""The label of `turns_named_so`."""

AWKWARD = "'\"\\\n\t"
"""What must be escaped in a string."""

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
"""The functions that are called, as the parser gets them: each value has its type."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What is in a turn, and so what must come back; `label` names it for people.

    `without` says how content is left out: "" for an empty text, "null", "absent". `behind_result`:
    it answers what a tool returned, not the user; `later`: another turn was before the user's last
    message. `streamed`: it is parsed by the character too. `in_doubt`: its text may be a marker.
    """

    label: str
    content: str = ""
    reasoning: str = ""
    calls: tuple[dict[str, Any], ...] = ()
    without: str = ""
    behind_result: bool = False
    later: bool = False
    streamed: bool = True
    in_doubt: bool = False

    @property
    def said(self) -> str | None:
        """The content as the message has it."""
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
    Turn("a call beside null", calls=(call(1, SOME),), without="null"),
    Turn("a call beside no content", calls=(call(0, SOME),), without="absent"),
    Turn("content behind a result", SAID, behind_result=True, streamed=False),
    Turn(
        "reasoning and content behind a result", SAID, THOUGHT, behind_result=True, streamed=False
    ),
    Turn("a call behind a result", calls=(call(1, SOME),), behind_result=True, streamed=False),
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
    "reasoning and content behind a result",
)
"""The turns that are rendered under each switch, and with tools where they have no calls."""

AT_THE_END = ("reasoning and content", "two calls")
"""Those of them that are rendered with tools under each switch as the last of a conversation."""

ALONE = "content and a call"
"""Is rendered under each of them too where a turn has one call at most."""

TWO = ("reasoning and content", "reasoning, content and two calls")
"""Those of them for pairs of switches, and values that were seen to change nothing else."""


def turns_without(markers: Iterable[str], lost: Collection[str] = ()) -> list[Turn]:
    """The turns, with no text or value in them in which one of the markers stands.

    Without the values too that a template loses, which are `lost`: "strings", "escapes", "numbers".
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
    """Yield turns whose texts hold a marker that any text may; `reasoning`: that may too.

    One without a letter, of words alone, a code fence, or of the proof's own. Only the parser can
    say of such a marker whether it is one.
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
                label = f"content that holds {core!r}"
                yield Turn(label, words, streamed=False, in_doubt=True)
                if reasoning:
                    label = f"reasoning that holds {core!r}"
                    yield Turn(label, PLAIN, words, streamed=False, in_doubt=True)
            label = f"a value that holds {core!r}"
            yield Turn(label, calls=(call(0, value),), streamed=False, in_doubt=True)


def turns_named_so(fmt: WireFormat) -> Iterator[Turn]:
    """Yield a turn whose arguments have the names that stand in the markers of calls.

    Where arguments stand in tags, `<name>` may be the function's or that of an argument.
    """
    if fmt.tools.format is ToolFormat.TAG_WITH_TAGGED:
        markers = (*fmt.derived.openers, fmt.function.name_prefix, fmt.function.name_suffix)
        names = dict.fromkeys(name for marker in markers for name in NAME.findall(marker))
        named = call(0, dict.fromkeys(names, WORDS))
        yield Turn(NAMED_AS_MARKERS, calls=(named,), streamed=False)


def tools_for(turn: Turn) -> list[dict[str, Any]]:
    """The functions that are called in a turn, with all arguments that they have there."""
    functions = [made["function"] for made in turn.calls]
    named = {name: WORDS for function in functions for name in function["arguments"]}
    called = [function["name"] for function in functions]
    if named.keys() <= KNOWN.keys() and {*FUNCTIONS}.issuperset(called):
        return PROOF_TOOLS
    return _tools(named | KNOWN, dict.fromkeys((*FUNCTIONS, *called)))


def _strings(value: Any) -> list[str]:
    """The texts in a value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for part in value.items() for item in part for text in _strings(item)]
    return [text for item in value for text in _strings(item)] if isinstance(value, list) else []
