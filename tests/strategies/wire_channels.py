"""Random formats with channels, and turns as a model would write them.

The text depends on the fields of the format only, and shares no code with the parser.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from hypothesis import strategies as st

from deltaparse import ChannelsFormat, FunctionFormat, TurnFormat, WireFormat

from .wire_parts import Written, arguments, fragments, markers_of, mixed, plain_texts, spaces

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
"""The format of gpt-oss."""

SHAPES = ("<{}>", "<|{}|>", "[{}]", "({})", "{{{}}}")
WORDS = ("go", "chan", "msg", "msg2", "must", "end", "stop", "call")
ROLES = ("assistant", "model", "ai")


@dataclass(frozen=True)
class Said:
    """One message: its kind, and its text or its (name, arguments)."""

    kind: str
    text: str = ""
    name: str = ""
    values: dict | None = None


@st.composite
def channel_formats(draw):
    """Draw a format with channels and any markers, some with whitespace at their edges."""
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=8, max_size=8))
    made = [shape.format(word) for shape, word in zip(shapes, WORDS, strict=True)]
    start, channel, message, _, constrain, end, stop, call = made
    by_recipient = draw(st.booleans())
    role = draw(st.sampled_from(ROLES))
    return WireFormat(
        turn=TurnFormat(headers=(start + role,), ends=(stop,), generation_prompt=start + role),
        function=FunctionFormat(namespace=draw(st.sampled_from(["functions.", "f:", ""]))),
        channels=ChannelsFormat(
            start=start,
            channel="" if by_recipient else channel,
            message=message + draw(spaces),
            constrain=draw(st.sampled_from(["", constrain])),
            recipient=draw(st.sampled_from([" to=", "@", " -> "])),
            ends=tuple(draw(st.permutations([draw(spaces) + end, stop, call]))),
            reasoning=draw(st.sampled_from([("analysis",), ("think", "plan"), ()])),
            readers=("you",) if by_recipient else (),
        ),
    )


calls = st.builds(
    Said,
    st.just("call"),
    name=st.sampled_from(["get_weather", "f", "run.it"]),
    values=arguments,
)


@st.composite
def said(draw, fmt):
    """Draw the messages of one turn."""
    texts = plain_texts(markers_of(fmt)).filter(bool)
    kinds = ["content", "call", *(["reasoning"] if fmt.channels.reasoning else [])]
    said = st.lists(st.sampled_from(kinds), max_size=4)
    return [draw(calls) if kind == "call" else Said(kind, draw(texts)) for kind in draw(said)]


@st.composite
def headers(draw, fmt, message):
    """Draw a header: parts in any order, optional spaces, and an optional extra word."""
    channels = fmt.channels
    if not channels.channel:
        words = {"reasoning": channels.reasoning, "content": channels.readers}
        own = (fmt.function.namespace + message.name,)
        to = draw(st.sampled_from(words.get(message.kind, own)))
        return channels.recipient + to + channels.message
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
    """Draw a format, the messages of a turn, and the text of the turn."""
    fmt = draw(channel_formats())
    messages = draw(said(fmt))
    return fmt, messages, draw(texts_of(fmt, messages))


@st.composite
def texts_of(draw, fmt, messages):
    """Draw the text of the messages of a turn."""
    opening, wire = "", ""
    for message in messages:
        text = message.text if message.values is None else dumped(message.values)
        # The end marker of the turn occurs only at its end.
        last = message is messages[-1]
        ends = [end for end in fmt.channels.ends if last or end not in fmt.turn.ends]
        wire += opening + draw(headers(fmt, message)) + text + draw(st.sampled_from(ends))
        opening = fmt.turn.headers[0]
    return wire


def turn_of(messages):
    """Return the turn that the messages add up to."""

    def texts(kind):
        return "".join(message.text for message in messages if message.kind == kind)

    calls = tuple((message.name, message.values) for message in messages if message.kind == "call")
    return Written(texts("reasoning"), texts("content"), calls)


@st.composite
def streamed(draw):
    """Draw a format, a turn up to the arguments of its only call, and the arguments as JSON."""
    fmt = draw(channel_formats())
    messages = [message for message in draw(said(fmt)) if message.kind != "call"]
    call = draw(calls)
    before = draw(texts_of(fmt, messages)) + (fmt.turn.headers[0] if messages else "")
    return fmt, before + draw(headers(fmt, call)), dumped(call.values)


def dumped(values):
    """Return arguments as JSON text."""
    return json.dumps(values, ensure_ascii=False)


@st.composite
def soups(draw):
    """Draw a format, and text of its markers, their parts, names and JSON."""
    fmt = draw(channel_formats())
    channels, names = fmt.channels, (*fmt.channels.reasoning, "final")
    parts = fragments(markers_of(fmt))
    parts += [channels.channel + name + channels.message for name in names]
    parts += [channels.channel + name for name in names]
    call = channels.recipient + fmt.function.namespace + "f" + channels.message
    parts += [call, call + '{"a": "<b>", "n": 12.5e-2}', call + '{"a": [tru', call + "no"]
    parts += [channels.recipient + name for name in ("user", "python", fmt.function.namespace)]
    parts += [*fmt.turn.headers, *ROLES, channels.start + "user", '{"a": 1}', "{", "}", "]", ","]
    parts += ["text", " ", "\n", "<", "é😀", '"', "\\", "a < b", "final", "json", "to="]
    return fmt, draw(mixed(parts))
