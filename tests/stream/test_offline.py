"""Plain grammars, read by one regular expression that sees the whole text: the parser agrees.

Where reasoning and calls stand in markers of their own and white space borders none, the truth
about any text can be told in a few lines that share nothing with the parser.
"""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    Content,
    Reasoning,
    ReasoningFormat,
    ToolCall,
    ToolsFormat,
    TurnFormat,
    WireFormat,
)

from ..support import cuts
from .invariants import run

# What opens and closes reasoning, what opens and closes a call.
MARKERS = [
    ("<think>", "</think>", "<call>", "</call>"),
    ("[T]", "[/T]", "[TOOL]", "[/TOOL]"),
    ("<|a|>", "<|b|>", "<|c|>", "<|d|>"),
    ("«", "»", "‹", "›"),
]
WORDS = ["a", "two words", "é😀", "a < b", "[x]", "{}", '"', "\\", "call", '{"a": 1}']
ARGUMENTS = ["{}", '{"a": "x",  "n": [1.50, null]}', '{"a": "END, \\u00e9"}']


def format_of(markers):
    start, end, call, call_end = markers
    return WireFormat(
        turn=TurnFormat(headers=("<header>",), ends=("<end>",)),
        reasoning=ReasoningFormat(mode="TAG_BASED", start=start, end=end),
        tools=ToolsFormat(
            format="JSON_NATIVE",
            per_call_start=call,
            per_call_end=call_end,
            name_field="name",
            arguments_field="arguments",
        ),
    )


def arguments_of(markers):
    """The arguments that calls have; in one of them stands what ends a call."""
    return [text.replace("END", markers[3]) for text in ARGUMENTS]


@st.composite
def plain_texts(draw):
    """Markers, and a text of words, whole calls, reasoning, and markers that stand anywhere."""
    markers = draw(st.sampled_from(MARKERS))
    start, end, call, call_end = markers
    calls = [f'{{"name": "f", "arguments": {text}}}{call_end}' for text in arguments_of(markers)]
    halves = [marker[: len(marker) // 2] for marker in markers]
    inside = st.sampled_from([*WORDS, *halves, *calls, *(call + made for made in calls), call])
    thought = st.lists(inside, max_size=5).map("".join)
    chunk = (
        inside
        | st.sampled_from(["a" + end, "a" + call_end])
        | thought.map(lambda text: start + text + end)
    )
    text = "".join(draw(st.lists(chunk, max_size=8)))
    unclosed = draw(st.just("") | thought.map(lambda text: start + text))
    return markers, text + unclosed + draw(st.sampled_from(["", "<end>"]))


def read(markers, text):
    """The parts of a turn, from its whole text."""
    start, end, call, call_end = map(re.escape, markers)
    values = "|".join(map(re.escape, arguments_of(markers)))
    # A marker that is written twice is one.
    whole_call = f'(?:{call})+{{"name": "f", "arguments": (?P<called>{values})}}{call_end}'
    before = re.sub(r"\?P<\w+>", "?:", whole_call)
    section = re.compile(
        rf"{start}(?P<thought>.*?){end}|{whole_call}|{start}(?P<unclosed>.*?)(?={before}|\Z)",
        re.DOTALL,
    )
    parts, at = [], 0
    ended = text.endswith("<end>")
    text = text.removesuffix("<end>")
    for found in section.finditer(text):
        parts += [("content", text[at : found.start()])]
        groups = found.groupdict(default="")
        parts += [("thought", groups["thought"] + groups["unclosed"])]
        parts += [("called", groups["called"])] if groups["called"] else []
        at = found.end()
    # What the text ends in behind a call is a marker, where it is the beginning of one.
    cut = parts and parts[-1][0] == "called" and not ended
    cut = cut and any(marker.startswith(text[at:]) for marker in (*markers, "<end>"))
    return [*parts, ("content", "" if cut else text[at:])]


def joined(parts):
    """The parts without empty ones, those of one kind that follow one another as one."""
    made = []
    for kind, text in parts:
        if made and made[-1][0] == kind != "called":
            made[-1] = (kind, made[-1][1] + text)
        elif text:
            made.append((kind, text))
    return made


def parts_of(message):
    """The same of a message."""
    kinds = {Content: "content", Reasoning: "thought", ToolCall: "called"}
    return [(kinds[type(part)], getattr(part, "text", "") or part.arguments) for part in message]


@given(case=plain_texts(), data=st.data())
def test_the_parts_are_those_that_stand_in_the_text(case, data):
    markers, text = case
    for chunks in ([text], list(text), data.draw(cuts(text))):
        parser, _ = run(format_of(markers), chunks)
        assert joined(parts_of(parser.message.parts)) == joined(read(markers, text))
        assert all(call.complete for call in parser.message.tool_calls)
