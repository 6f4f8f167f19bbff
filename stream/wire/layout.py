"""The layout of a turn: its markers, and the slots between them, in the order of the model.

A `WireFormat` has a field for each marker. A `Layout` has the same markers in order, so code that
writes or matches a turn only goes through its parts. A part is one of:

    str       a marker, with the whitespace of the template
    Slot      a place for text: the name of a function, an id, the value of an argument
    JsonCall  an object with the name and the arguments of a call
    Many      a list of calls, or the arguments of a call in tags

Missing markers are omitted. A turn in channels has the same layout: a message is a part with its
header, and the end of a message with the next start separates two messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache
from itertools import takewhile

from .format import (
    ArgumentsFormat,
    CallIdPosition,
    ReasoningMode,
    ToolFormat,
    ToolsFormat,
    WireFormat,
)
from .spellings import leading

__all__ = ["JsonCall", "Layout", "Many", "Part", "Parts", "Slot", "layout_of"]

FROM_PROMPT = (ReasoningMode.FORCED_OPEN, ReasoningMode.FORCED_CLOSED)
"""The modes in which the prompt contains the start of reasoning."""


class Slot(Enum):
    """A place for text between markers.

    Attributes:
        REASONING: the text of reasoning.
        CONTENT: the text of content.
        NAMESPACE: the namespace of a function, which models may leave out.
        NAME: the name of a function.
        ID: the id of a call.
        NAMED_ID: an id with the namespace and the name of the function.
        INDEX: the number of a call in its turn.
        OBJECT: arguments as a JSON object.
        OBJECT_TEXT: a JSON string that contains this object.
        PYTHON: keyword arguments in Python.
        KEY: the name of an argument.
        TYPE: the JSON type of a value.
        VALUE: the value of an argument. Strings have no quotes.
        JSON_VALUE: the value of an argument. Strings have quotes.
    """

    REASONING = auto()
    CONTENT = auto()
    NAMESPACE = auto()
    NAME = auto()
    ID = auto()
    NAMED_ID = auto()
    INDEX = auto()
    OBJECT = auto()
    OBJECT_TEXT = auto()
    PYTHON = auto()
    KEY = auto()
    TYPE = auto()
    VALUE = auto()
    JSON_VALUE = auto()


@dataclass(frozen=True, slots=True)
class JsonCall:
    """A JSON object with the name and the arguments of a call.

    Attributes:
        members: the keys with their values, in the order of the template. The key may be the name.
    """

    members: tuple[tuple[str | Slot, Slot | JsonCall], ...]

    def spelled(self) -> Iterator[str | Slot]:
        """Yield the markers and slots of the object in its usual spelling."""
        before = "{"
        for key, value in self.members:
            yield before + '"'
            yield key if isinstance(key, Slot) else json.dumps(key)[1:-1]
            yield '": '
            if isinstance(value, JsonCall):
                yield from value.spelled()
            else:
                quote = '"' * (value in (Slot.NAME, Slot.ID))
                yield from (quote, value, quote)
            before = ", "
        yield "}"


@dataclass(frozen=True, slots=True)
class Many:
    """A list of calls, or the arguments of a call in tags.

    If the arguments are one JSON object, it is the only item.

    Attributes:
        start: the markers before all items.
        each: the parts of an item.
        between: the text between two items.
        end: the markers after all items.
        others: the parts of items in other notations.
    """

    start: Texts
    each: Parts
    between: str
    end: Texts
    others: tuple[Parts, ...] = ()


Texts = tuple[str, ...]
Part = str | Slot | JsonCall | Many
Parts = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of a turn, in their order.

    Attributes:
        reasoning: the reasoning with its markers, up to the next part. Empty if there is none.
        content: the content with its markers.
        content_separator: the text between content and calls.
        calls: the calls, None if the format has none.
        end: the end-of-turn marker.
        call: the parts of one call with its markers. In channels, a message to a function, or a
            call in its text.
    """

    reasoning: Parts
    content: Parts
    content_separator: str
    calls: Many | None
    end: str
    call: Parts

    @property
    def arguments(self) -> Many | None:
        """Return the arguments of a call in tags with their markers, otherwise None."""
        return next((part for part in self.call if isinstance(part, Many)), None)

    @property
    def head(self) -> Parts:
        """Return the parts of a call before its JSON or its arguments."""
        return (*takewhile(lambda part: not _is_body(part), self.call),)

    @property
    def tail(self) -> Parts:
        """Return the parts of a call after its JSON or its arguments."""
        return self.call[len(self.head) + 1 :]


def _is_body(part: Part) -> bool:
    return isinstance(part, (JsonCall, Many)) or part in (Slot.OBJECT, Slot.PYTHON)


@lru_cache(maxsize=256)
def layout_of(fmt: WireFormat) -> Layout:
    """Return the layout of a turn in a format. It is made once.

    Args:
        fmt: the wire format.
    """
    return _messages(fmt) if fmt.derived.has_channels else _sections(fmt)


def _sections(fmt: WireFormat) -> Layout:
    reasoning, content = fmt.reasoning, fmt.content
    start = "" if reasoning.mode in FROM_PROMPT else reasoning.start
    thought = _present(start, Slot.REASONING, reasoning.end) if fmt.derived.has_reasoning else ()
    said = _present(content.start, Slot.CONTENT, content.end)
    calls = _calls(fmt) if fmt.derived.has_calls else None
    return Layout(
        thought,
        said,
        fmt.tools.content_separator if calls is None else _separator(fmt, calls),
        calls,
        "".join(fmt.turn.ends[:1]),
        () if calls is None else calls.each,
    )


def _separator(fmt: WireFormat, calls: Many) -> str:
    """Return the text between content and calls, without the whitespace that begins the calls."""
    first = takewhile(lambda part: isinstance(part, str), (*calls.start, *calls.each))
    return fmt.tools.content_separator.removesuffix(leading("".join(map(str, first))))


def _messages(fmt: WireFormat) -> Layout:
    marks = fmt.channels
    begin = marks.start + "".join(fmt.turn.headers[:1]).removeprefix(marks.start)
    following = "".join(marks.ends[:1]) + begin
    # Without channels, the recipient separates reasoning and content.
    own = (marks.channel, "final") if marks.channel else (marks.recipient, *marks.readers[:1])
    thought: Parts = ()
    if marks.reasoning:
        thought = (own[0] + marks.reasoning[0] + marks.message, Slot.REASONING, following)
    content = ("".join(own) + marks.message, Slot.CONTENT)
    calls: Many | None = None
    call: Parts = ()
    if fmt.tools.format is not ToolFormat.NONE:
        inner = _calls(fmt) if fmt.derived.calls_in_messages else None
        message = _message_to_function(fmt, Slot.OBJECT if inner is None else inner)
        calls, call = Many((), message, begin, ()), message if inner is None else inner.each
    return Layout(thought, content, following, calls, "".join(fmt.turn.ends[:1]), call)


def _message_to_function(fmt: WireFormat, body: Part) -> Parts:
    marks = fmt.channels
    header = (f"{marks.channel}commentary" if marks.channel else "") + marks.message
    # Messages to functions end with a marker of their own, if the format has one.
    ends = [end for end in marks.ends[1:] if end not in fmt.turn.ends] or marks.ends
    return _present(marks.recipient, *_name(fmt), header, body, *ends[:1])


def _calls(fmt: WireFormat) -> Many:
    """Return the calls of a turn, or of a message in channels."""
    tools, in_one_list = fmt.tools, fmt.derived.in_one_list
    start = _markers(tools.section_start, "[" * in_one_list)
    end = _markers("]" * in_one_list, tools.section_end)
    return Many(start, _call(fmt), tools.separator, end)


def _call(fmt: WireFormat) -> Parts:
    tools = fmt.tools
    inner: Parts
    if tools.format is ToolFormat.JSON_NATIVE:
        inner = (_json_call(tools),)
    elif tools.format is ToolFormat.PYTHONIC:
        inner = (*_name(fmt), "(", Slot.PYTHON, ")")
    else:
        inner = _tagged_call(fmt)
    if tools.array_wrapped and not fmt.derived.in_one_list:
        inner = ("[", *inner, "]")
    return _present(tools.per_call_start, *inner, tools.per_call_end)


def _json_call(tools: ToolsFormat) -> JsonCall:
    values = Slot.OBJECT_TEXT if tools.arguments_as_text else Slot.OBJECT
    if tools.name_is_key:
        return JsonCall(((Slot.NAME, values),))

    def ordered(fields: dict[str, Slot | JsonCall]) -> JsonCall:
        # Keys that the template does not have follow.
        names = [name for name in (*tools.field_order, *fields) if name in fields]
        return JsonCall(tuple((name, fields[name]) for name in dict.fromkeys(names)))

    fields: dict[str, Slot | JsonCall] = {tools.name_field: Slot.NAME}
    fields[tools.arguments_field] = values
    if tools.function_field:
        fields = {tools.function_field: ordered(fields)}
    fields |= {key: Slot.ID for key in (tools.id_field,) if key}
    fields |= {key: Slot.INDEX for key in (tools.generated_id_field,) if key}
    return ordered(fields)


def _tagged_call(fmt: WireFormat) -> Parts:
    function, arguments, call_id = fmt.function, fmt.arguments, fmt.call_id
    name = _name(fmt)
    given: dict[CallIdPosition, Parts] = {}
    given[call_id.position] = (call_id.prefix, Slot.ID, call_id.suffix)
    if call_id.holds_name:
        name, given = (Slot.NAMED_ID,), {}
    body = Many(_markers(arguments.start), (Slot.OBJECT,), "", _markers(arguments.end))
    if fmt.tools.format is ToolFormat.TAG_WITH_TAGGED:
        body = _arguments(arguments)
    close = (function.close, *([*name, function.close_suffix] * fmt.derived.closes_by_name))
    return _present(
        *given.get(CallIdPosition.PRE_FUNC_NAME, ()),
        *(function.name_prefix, *name, function.name_suffix),
        *given.get(CallIdPosition.BETWEEN_FUNC_AND_ARGS, ()),
        body,
        *given.get(CallIdPosition.POST_ARGS, ()),
        *close,
    )


def _name(fmt: WireFormat) -> Parts:
    return (Slot.NAMESPACE, Slot.NAME) if fmt.function.namespace else (Slot.NAME,)


def _arguments(marks: ArgumentsFormat) -> Many:
    others = [
        replace(marks, name_prefix=prefix, name_suffix=suffix, value_suffix=end)
        for _, prefix, suffix, end in marks.ways[1:]
    ]
    if marks.literal_name_suffix.strip():
        others.insert(0, replace(marks, name_suffix=marks.literal_name_suffix))
    return Many(
        _markers(marks.start),
        _argument(marks),
        marks.separator,
        _markers(marks.end),
        tuple(map(_argument, others)),
    )


def _argument(marks: ArgumentsFormat) -> Parts:
    kind: Parts = (Slot.TYPE, marks.type_suffix) * bool(marks.type_suffix.strip())
    key: Parts = (Slot.KEY, marks.name_suffix)
    value = Slot.JSON_VALUE if marks.quoted_strings else Slot.VALUE
    return _present(
        marks.name_prefix,
        *((*kind, *key) if marks.type_first else (*key, *kind)),
        *(marks.value_prefix, value, marks.value_suffix),
        *((Slot.KEY, marks.key_suffix) * bool(marks.key_suffix)),
    )


def _present(*parts: Part) -> Parts:
    """Return the parts without missing markers."""
    return tuple(part for part in parts if part != "")


def _markers(*texts: str) -> Texts:
    """Return the markers that are not missing."""
    return tuple(filter(None, texts))
