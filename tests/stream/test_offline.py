"""Comparison of the parser with a simple offline reader of the complete text.

The formats are plain: reasoning and calls have their own markers without whitespace around them.
For these formats a few lines, independent of the parser, give the correct result.
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

# Start and end of reasoning, start and end of a call.
MARKERS = [
    ("<think>", "</think>", "<call>", "</call>"),
    ("[T]", "[/T]", "[TOOL]", "[/TOOL]"),
    ("<|a|>", "<|b|>", "<|c|>", "<|d|>"),
    ("§", "¶", "ƒ", "ß"),
]
QUOTES = '"'
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
    """Return arguments for calls, one of them with the end marker of a call inside."""
    return [text.replace("END", markers[3]) for text in ARGUMENTS]


@st.composite
def plain_texts(draw):
    """Draw markers and a text of words, complete calls, reasoning and stray markers."""
    markers = draw(st.sampled_from(MARKERS))
    start, end, call, call_end = markers
    calls = [f'{{"name": "f", "arguments": {text}}}{call_end}' for text in arguments_of(markers)]
    # Half of a one-character marker is a bracket, which would open a list of calls.
    halves = [marker[: (len(marker) + 1) // 2] for marker in markers if len(marker) > 1]
    inside = st.sampled_from([*WORDS, *halves, *calls, *(call + made for made in calls), call])
    thought = st.lists(inside, max_size=5).map("".join)
    chunk = (
        inside
        | st.sampled_from(["a" + end, "a" + call_end, call_end, "<end>", "a<end>", '"' + start])
        | thought.map(lambda text: start + text + end)
    )
    text = "".join(draw(st.lists(chunk, max_size=8)))
    unclosed = draw(st.just("") | thought.map(lambda text: "." + start + text))
    return markers, text + unclosed + draw(st.sampled_from(["", "<end>"]))


def read(markers, text):
    """Return the parts of a turn from its complete text."""
    start, end, call, call_end = markers
    values = "|".join(map(re.escape, arguments_of(markers)))
    # The parser ignores a repeated start marker or closer.
    closer = re.escape(call_end)
    whole_call = re.compile(
        rf'(?:{re.escape(call)})+{{"name": "f", "arguments": (?P<called>{values})}}(?:{closer})+'
    )
    token = re.compile("|".join(map(re.escape, (*markers, "<end>"))))
    parts, at, edge, is_open = [], 0, 0, False

    def looks_like(marker, behind):
        follow = (start, call, call_end, "<end>") if marker == "<end>" else (*markers, "<end>")
        return not behind or behind.startswith(follow)

    def is_end(marker, at):
        return marker == end and edge == at

    def is_marker(marker, behind):
        if marker in (start, end, call):
            return False
        if marker == call_end or not looks_like(marker, behind):
            return not is_open and looks_like(marker, behind)
        if behind.startswith(call):
            return whole_call.match(behind)
        # A closer before a marker that is text is text itself.
        follow = next((other for other in (call_end, "<end>") if behind.startswith(other)), "")
        opened = is_open and follow == call_end
        return not follow or (not opened and looks_like(follow, behind[len(follow) :]))

    while found := token.search(text, at):
        parts += [("content", text[at : found.start()])]
        marker, at = found[0], found.end()
        called = whole_call.match(text, found.start())
        if marker == start and not (found.start() > edge and text[found.start() - 1] in QUOTES):
            thought, ended, _ = text[at:].partition(end)
            if not ended:
                before = whole_call.search(text, at)
                thought = text[at : before.start() if before else len(text)].removesuffix("<end>")
            parts += [("thought", thought)]
            at = edge = at + len(thought + ended)
        elif called:
            parts += [("called", called["called"])]
            at, is_open = called.end(), False
            edge = at
        elif is_end(marker, found.start()) or is_marker(marker, text[at:]):
            edge = at
        else:
            parts += [("content", marker)]
            is_open = is_open or marker == call
    rest = text[at:]
    # A marker prefix at the end of the text, after a call, is a truncated marker.
    cut = edge == at and parts and parts[-1][0] == "called" and rest
    cut = cut and any(marker.startswith(rest) for marker in (*markers, "<end>"))
    return [*parts, ("content", "" if cut else rest)]


def joined(parts):
    """Remove empty parts and join adjacent parts of one kind."""
    made = []
    for kind, text in parts:
        if made and made[-1][0] == kind != "called":
            made[-1] = (kind, made[-1][1] + text)
        elif text:
            made.append((kind, text))
    return made


def parts_of(message):
    """Return the parts of a message in the same form."""
    kinds = {Content: "content", Reasoning: "thought", ToolCall: "called"}
    return [(kinds[type(part)], getattr(part, "text", "") or part.arguments) for part in message]


@given(case=plain_texts(), data=st.data())
def test_parser_agrees_with_the_offline_reader(case, data):
    markers, text = case
    for chunks in ([text], list(text), data.draw(cuts(text))):
        parser, _ = run(format_of(markers), chunks)
        assert joined(parts_of(parser.message.parts)) == joined(read(markers, text))
        assert all(call.complete for call in parser.message.tool_calls)
