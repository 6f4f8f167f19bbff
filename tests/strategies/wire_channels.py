"""Formats with channels and turns in them, drawn at random, and how a model would write them.

Like `wire`: `write` is the specification, and shares no code with the parser.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from hypothesis import strategies as st

from deltaparse import ChannelsFormat, FunctionFormat, TurnFormat, WireFormat

from .wire_json_and_tags import TEASING, arguments, spaces

HARMONY = WireFormat(
    turn=TurnFormat(
        headers=("<|start|>assistant",),
        ends=("<|return|>",),
        generation_prompt="<|start|>assistant",
    ),
    function=FunctionFormat(namespace="functions."),
    channels=ChannelsFormat(
        start="<|start|>",
        channel="<|channel|>",
        message="<|message|>",
        constrain="<|constrain|>",
        recipient=" to=",
        ends=("<|end|>", "<|return|>", "<|call|>"),
        reasoning=("analysis",),
    ),
)
"""How gpt-oss writes, as data."""

SHAPES = ("<{}>", "<|{}|>", "[{}]", "({})", "{{{}}}")
WORDS = ("go", "chan", "msg", "msg2", "must", "end", "stop", "call")
ROLES = ("assistant", "model", "ai")


@dataclass(frozen=True)
class Said:
    """One message before it is written: its kind, and its text or its (name, arguments)."""

    kind: str
    text: str = ""
    name: str = ""
    values: dict | None = None


@st.composite
def channel_formats(draw):
    """A format with channels: markers of any shape, some with white space at their edges."""
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=8, max_size=8))
    made = [shape.format(word) for shape, word in zip(shapes, WORDS, strict=True)]
    start, channel, message, _, constrain, end, stop, call = made
    role = draw(st.sampled_from(ROLES))
    return WireFormat(
        turn=TurnFormat(headers=(start + role,), ends=(stop,), generation_prompt=start + role),
        function=FunctionFormat(namespace=draw(st.sampled_from(["functions.", "f:", ""]))),
        channels=ChannelsFormat(
            start=start,
            channel=channel,
            message=message + draw(spaces),
            constrain=draw(st.sampled_from(["", constrain])),
            recipient=draw(st.sampled_from([" to=", "@", " -> "])),
            ends=tuple(draw(st.permutations([draw(spaces) + end, stop, call]))),
            reasoning=draw(st.sampled_from([("analysis",), ("think", "plan"), ()])),
        ),
    )


def markers_of(fmt):
    """All markers of a format with channels."""
    channels = fmt.channels
    found = (
        channels.start,
        channels.channel,
        channels.message,
        channels.constrain,
        channels.recipient,
        *channels.ends,
        *fmt.turn.ends,
    )
    return [text for text in found if text.strip()]


@st.composite
def said(draw, fmt):
    """The messages of one turn."""
    literals = [text.strip() for text in markers_of(fmt)]

    def is_plain(text):
        return bool(text) and not any(literal in text for literal in literals)

    texts = st.text(TEASING, min_size=1, max_size=30).map(str.strip).filter(is_plain)
    kinds = ["content", "call", *(["reasoning"] if fmt.channels.reasoning else [])]
    made = []
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=4)):
        if kind == "call":
            name = draw(st.sampled_from(["get_weather", "f", "run.it"]))
            made.append(Said(kind, name=name, values=draw(arguments)))
        else:
            made.append(Said(kind, draw(texts)))
    return made


@st.composite
def headers(draw, fmt, message):
    """A header: its parts in any order, with a space or without, and a word more or not."""
    channels = fmt.channels
    names = channels.reasoning if message.kind == "reasoning" else ("final", "commentary")
    parts = [channels.channel + draw(st.sampled_from(names))]
    if message.kind == "call":
        parts.append(channels.recipient + fmt.function.namespace + message.name)
    elif draw(st.booleans()):
        parts.append(channels.recipient + draw(st.sampled_from(["all", "user"])))
    parts = draw(st.permutations(parts))
    if channels.constrain and draw(st.booleans()):
        parts.append(channels.constrain + "json")
    elif draw(st.booleans()):
        parts.append(" json")
    gap = draw(st.sampled_from(["", " "]))
    return gap.join(parts) + channels.message


@st.composite
def written(draw):
    """A format, the messages of a turn, and the turn as a model would write it."""
    fmt = draw(channel_formats())
    messages = draw(said(fmt))
    opening, wire = "", ""
    for message in messages:
        text = message.text if message.values is None else dumped(message.values)
        end = draw(st.sampled_from(fmt.channels.ends))
        wire += opening + draw(headers(fmt, message)) + text + end
        opening = fmt.turn.headers[0]
    return fmt, messages, wire


def dumped(values):
    """Arguments as the model writes them."""
    return json.dumps(values, ensure_ascii=False)


@st.composite
def soups(draw):
    """A format and text made of its markers, of pieces of them, of names and JSON."""
    fmt = draw(channel_formats())
    channels, names = fmt.channels, (*fmt.channels.reasoning, "final")
    pieces = [text for marker in markers_of(fmt) for text in (marker, marker.strip())]
    pieces += [marker[:cut] for marker in pieces for cut in (1, 3) if marker[:cut]]
    pieces += [channels.channel + name + channels.message for name in names]
    pieces += [channels.channel + name for name in names]
    call = channels.recipient + fmt.function.namespace + "f" + channels.message
    pieces += [call, call + '{"a": "<b>", "n": 12.5e-2}', call + '{"a": [tru', call + "no"]
    pieces += [channels.recipient + name for name in ("user", "python", fmt.function.namespace)]
    pieces += [*fmt.turn.headers, *ROLES, channels.start + "user", '{"a": 1}', "{", "}", "]", ","]
    pieces += ["text", " ", "\n", "<", "é😀", '"', "\\", "a < b", "final", "json", "to="]
    return fmt, "".join(draw(st.lists(st.sampled_from(pieces), max_size=14)))
