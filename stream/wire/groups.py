"""The groups of a wire format: the mode and the markers of each part of a turn.

A turn, each part optional:

    turn      = header reasoning content calls end
    reasoning = reasoning.start text reasoning.end
    content   = content.start text content.end
    calls     = content_separator section_start call (separator call)* section_end
    call      = per_call_start payload per_call_end

A marker is a string, "" if the format does not have it. It includes the whitespace that the
template writes around it. Readers treat that whitespace as optional.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_origin, get_type_hints

from deltaparse.partial import FormatError

__all__ = [
    "ArgumentsFormat",
    "CallIdFormat",
    "CallIdPosition",
    "ChannelsFormat",
    "CodeFormat",
    "ContentFormat",
    "ContentMode",
    "FunctionFormat",
    "MarkerGroups",
    "Proved",
    "ReasoningFormat",
    "ReasoningMode",
    "Switches",
    "ToolFormat",
    "ToolsFormat",
    "TurnFormat",
    "check_fields",
    "chosen",
    "marker_fields_of",
    "texts",
]

NO_NAME = re.compile(r"[^-.\w]")
"""A character that is not allowed in an argument's name between markers."""

# These types mark the fields with text of the model. A vocabulary looks for special tokens in these
# fields only, and a tokenizer must preserve their text.
Marker = Annotated[str, "as the model writes it"]
Markers = Annotated[tuple[str, ...], "as the model writes it"]

Word = TypeVar("Word", bound=StrEnum)


def chosen(kind: type[Word], word: Any, where: str) -> Word:
    """Return the member of an enumeration with this value.

    Args:
        kind: the enumeration.
        word: the value, as given by the caller.
        where: the name of the field, for the error message.

    Raises:
        FormatError: the enumeration does not have this value.
    """
    if word not in list(kind):
        # The value may be a large object from a JSON document, so its repr is shortened.
        raise FormatError(f"{where} must be one of {', '.join(kind)}, not {word!r:.200}")
    return kind(word)


class _Group:
    """Base class of groups. It checks fields on creation, so that mistakes show before parsing."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_fields(self)


def check_fields(group: Any) -> None:
    """Check the type of each field, and convert strings to modes and lists to tuples.

    Raises:
        FormatError: a field has a value of the wrong type. The message names the field.
    """
    made: Any = type(group)
    for name, kind in _field_types(made).items():
        value = getattr(group, name)
        # JSON documents have no tuples or enumerations, so only these types need no conversion.
        if kind is str or kind is bool:
            if not isinstance(value, kind):
                what = "a string" if kind is str else "True or False"
                raise FormatError(f"{name} must be {what}, not {value!r:.200}")
        # Lists are accepted, because JSON has no tuples.
        elif kind is tuple:
            # Groups are frozen, so normal assignment raises an error.
            object.__setattr__(group, name, texts(value, name))
        # Values of enumerations are their names, so strings are accepted.
        elif issubclass(kind, StrEnum):
            object.__setattr__(group, name, chosen(kind, value, name))


@cache
def _field_types(group: type) -> dict[str, type]:
    """Return the types of a group's fields, `tuple` for fields with several strings."""
    # Annotations are strings in this module (`from __future__`), so they must be resolved first.
    hints = get_type_hints(group)
    return {
        field.name: get_origin(hints[field.name]) or hints[field.name] for field in fields(group)
    }


def marker_fields_of(group: type) -> tuple[str, ...]:
    """Return the names of a group's fields with text that the model writes."""
    # Without the extras, `Marker` could not be distinguished from `str`.
    hints = get_type_hints(group, include_extras=True)
    return tuple(part.name for part in fields(group) if hints[part.name] in (Marker, Markers))


def texts(value: object, where: str) -> tuple[str, ...]:
    """Return a list or tuple of strings as a tuple.

    Args:
        value: the value, as given by the caller.
        where: the name of the field, for the error message.

    Raises:
        FormatError: the value is not a list or tuple of strings.
    """
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        # A lone string is the most frequent mistake here: `("</s>")` is not a tuple.
        advice = f"; write ({value!r:.200},)" if isinstance(value, str) else ""
        raise FormatError(f"{where} must be a tuple of strings, not {value!r:.200}{advice}")
    return tuple(value)


class ReasoningMode(StrEnum):
    """The notation of reasoning.

    Attributes:
        NONE: reasoning has no markers.
        TAG_BASED: the model writes a start marker and an end marker.
        DELIMITER: reasoning runs from the start of the turn to a delimiter, `end`, without a start
            marker.
        FORCED_OPEN: the generation prompt ends with the start marker, the model writes the end.
        FORCED_CLOSED: the generation prompt has both markers if thinking is off, and the start
            marker if it is on.
        TOOLS_ONLY: reasoning has two markers, and occurs only in turns with tool calls.
    """

    # Names equal values, so that formats in JSON and in Python look alike.
    NONE = "NONE"
    TAG_BASED = "TAG_BASED"
    DELIMITER = "DELIMITER"
    FORCED_OPEN = "FORCED_OPEN"
    FORCED_CLOSED = "FORCED_CLOSED"
    TOOLS_ONLY = "TOOLS_ONLY"


class ContentMode(StrEnum):
    """The notation of content. In every mode, text outside all other parts of a turn is content.

    Attributes:
        PLAIN: content has no markers. It is the remaining text.
        ALWAYS_WRAPPED: content has a start and an end marker in every turn.
        WRAPPED_WITH_REASONING: content has markers in turns with reasoning, and is plain in others.
        WRAPPED_WITH_CALLS: content has markers in turns with calls, and is plain in others.
    """

    PLAIN = "PLAIN"
    ALWAYS_WRAPPED = "ALWAYS_WRAPPED"
    WRAPPED_WITH_REASONING = "WRAPPED_WITH_REASONING"
    WRAPPED_WITH_CALLS = "WRAPPED_WITH_CALLS"


class ToolFormat(StrEnum):
    """The family of the tool call syntax.

    Attributes:
        NONE: the format has no calls.
        JSON_NATIVE: name and arguments in one JSON object: `{"name": "f", "arguments": {"a": 1}}`.
        TAG_WITH_JSON: the name in a tag or between markers, the arguments as a JSON object:
            `<function=f>{"a": 1}</function>`.
        TAG_WITH_TAGGED: the name, each argument's name and each value between markers:
            `<function=f><parameter=a>1</parameter></function>`.
        PYTHONIC: one Python call or a list of Python calls: `f(a=1)`, `[f(a=1), g(b="c")]`.
    """

    NONE = "NONE"
    JSON_NATIVE = "JSON_NATIVE"
    TAG_WITH_JSON = "TAG_WITH_JSON"
    TAG_WITH_TAGGED = "TAG_WITH_TAGGED"
    PYTHONIC = "PYTHONIC"


class CallIdPosition(StrEnum):
    """The position of a call's id in the tagged families. In JSON, a field holds the id.

    Attributes:
        NONE: the model does not write ids.
        PRE_FUNC_NAME: before the function's name, or in its place (`CallIdFormat.holds_name`).
        BETWEEN_FUNC_AND_ARGS: after the name, before the arguments.
        POST_ARGS: after the arguments.
    """

    NONE = "NONE"
    PRE_FUNC_NAME = "PRE_FUNC_NAME"
    BETWEEN_FUNC_AND_ARGS = "BETWEEN_FUNC_AND_ARGS"
    POST_ARGS = "POST_ARGS"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFormat(_Group):
    """Headers, end markers and generation prompt of an assistant turn.

    Attributes:
        headers: texts that may precede the turn. The turn begins after the last header in the
            prompt.
        ends: the end-of-turn markers.
        generation_prompt: the text with which the template, in its default settings, ends the
            prompt. It is a header, optionally with the beginning of the turn.
        several_messages: True if a turn may have several messages. Another header after an
            end-of-turn marker then continues the turn.
    """

    headers: Markers = ()
    ends: Markers = ()
    generation_prompt: Marker = ""
    # Without this, a header after an end-of-turn marker does not continue the turn.
    several_messages: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningFormat(_Group):
    """The reasoning markers.

    Attributes:
        mode: a `ReasoningMode` or its name.
        start: the start marker, "" if reasoning has only an end.
        end: the end marker. If it equals `content.start`, a marker that opens a call also ends
            reasoning.
        alternatives: other pairs of markers: start, end, start, end, and so on. Only the end of the
            opened pair ends reasoning. Other ends inside are text.
    """

    # Defaults describe a format without this part, so that a format in JSON may omit the group.
    mode: ReasoningMode = ReasoningMode.NONE
    start: Marker = ""
    end: Marker = ""
    alternatives: Markers = ()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return all pairs of start and end markers, the usual pair first."""
        others = zip(self.alternatives[::2], self.alternatives[1::2], strict=False)
        return ((self.start, self.end), *others)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentFormat(_Group):
    """The content markers.

    Attributes:
        mode: a `ContentMode` or its name.
        start: the start marker. In mode PLAIN, the whitespace before the turn's content.
        end: the end marker. It may be "" if calls or the end of the turn follow.
        requires_nonnull: True if the template cannot render a message whose content is null.
    """

    mode: ContentMode = ContentMode.PLAIN
    start: Marker = ""
    end: Marker = ""
    requires_nonnull: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsFormat(_Group):
    """The markers around tool calls, and the layout of the JSON in JSON_NATIVE.

    The JSON of a call has one of three layouts: flat, `{name_field: ..., arguments_field: ...}`;
    nested, with the same object under `function_field`; or `{name: arguments}`.

    Attributes:
        format: the family of the syntax, a `ToolFormat` or its name.
        also: the family of a second form, written after the same marker by other versions of the
            model. Of `format` and `also`, one is JSON_NATIVE and the other TAG_WITH_JSON. A call
            that begins with a bracket is JSON. The parser reads the second form, but grammars do
            not contain it.
        section_start: the marker before all calls of a turn.
        section_end: the marker after all calls of a turn.
        per_call_start: the marker before each call.
        per_call_end: the marker after each call.
        separator: the text between two calls.
        content_separator: the whitespace between content and the first call.
        array_wrapped: True if brackets enclose the calls: a JSON array, or a Python list.
        behind_content: True if unmarked calls may directly follow content. A known tool's name
            right after `{"name": "` or `[` then identifies a call.
        name_is_key: True if the function's name is the key of its arguments.
        function_field: the key of the inner object, "" if the layout is flat.
        name_field: the key of the name.
        arguments_field: the key of the arguments.
        arguments_as_text: True if the arguments are a JSON string that contains JSON.
        id_field: the key of the call's id, "" if calls have no ids.
        generated_id_field: the key of an id that counts the calls of a turn, "" if there is none.
        field_order: the keys in the order of the template.
        constants: meaningless members in each call, besides `"type": "function"`: key and JSON
            value alternately. A value is "" if it varies.
        code_block_marker: the text before a Markdown code block around the calls (`Action:`).
        code_block_language: the language of the code block.
        supports_tools: True if the template shows tools or calls to the model.
        supports_parallel_calls: True if the template renders several calls of one turn.
    """

    format: ToolFormat = ToolFormat.NONE
    also: ToolFormat = ToolFormat.NONE
    # All markers default to "", so that readers need no check for None.
    section_start: Marker = ""
    section_end: Marker = ""
    per_call_start: Marker = ""
    per_call_end: Marker = ""
    separator: Marker = ""
    content_separator: Marker = ""
    array_wrapped: bool = False
    behind_content: bool = False
    # These fields describe the layout of JSON calls only.
    name_is_key: bool = False
    function_field: str = ""
    name_field: str = ""
    arguments_field: str = ""
    arguments_as_text: bool = False
    id_field: str = ""
    generated_id_field: str = ""
    field_order: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    code_block_marker: Marker = ""
    code_block_language: str = ""
    supports_tools: bool = False
    supports_parallel_calls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionFormat(_Group):
    """The markers around a function's name, outside JSON.

    Attributes:
        name_prefix: the marker before the name.
        name_suffix: the marker after the name.
        namespace: a prefix that the model writes before the name, but that is not part of the name,
            such as `functions.`.
        close: the marker after the arguments.
        close_suffix: the text after the function's name, if the closing marker repeats the name:
            `close` name `close_suffix`, as in `</get_weather>`. Otherwise "".
        name_escapes: alternately a character of the name and its escaped spelling. With `("&",
            "&amp;")`, the model writes `a&amp;b` for `a&b`.
    """

    name_prefix: Marker = ""
    name_suffix: Marker = ""
    namespace: str = ""
    close: Marker = ""
    close_suffix: Marker = ""
    # Flat pairs, because a tuple of strings is hashable and fits JSON.
    name_escapes: tuple[str, ...] = ()


class ArgumentWay(NamedTuple):
    """The markers of arguments of some types. `types` are separated by spaces."""

    # Strings, because `alternatives` is a flat tuple of strings.
    types: str
    name_prefix: str
    name_suffix: str
    value_suffix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentsFormat(_Group):
    """The markers around arguments, outside JSON.

    Attributes:
        start: the marker before all arguments of a call.
        end: the marker after all arguments of a call.
        name_prefix: the marker before an argument's name (TAG_WITH_TAGGED). If "", an argument
            begins directly with its name.
        name_suffix: the marker after an argument's name.
        literal_name_suffix: the replacement for `name_suffix` before non-string values, in formats
            that mark the type in this way.
        value_prefix: the marker before a value.
        value_suffix: the marker after a value. It may be a line end. If "", the text after the
            argument ends the value.
        key_suffix: the text after the argument's name, if the marker after the value repeats the
            name: `value_suffix` name `key_suffix`, as in `</city>`. Otherwise "".
        item: the name of a list's elements. If set, objects and lists are nested elements, each
            written like an argument. If "", they are JSON.
        escape_start: the marker before an escaped string, inside the markers of the value:
            `<![CDATA[`.
        escape_end: the marker after an escaped string: `]]>`.
        name_escapes: alternately a character of an argument's name and its escaped spelling.
        value_escapes: the same for strings between markers without quotes.
        object_start: the marker before all arguments as one JSON object, if a call may have an
            object instead of arguments in markers. Otherwise "".
        object_end: the marker after this object.
        type_suffix: if not empty, `name_suffix` is followed by the value's JSON type and this text:
            `type="number">`.
        type_first: True if the type and `type_suffix` precede the name, after `name_prefix`.
        alternatives: other notations of an argument, by the type of its value: `<s
            k="city">Ghent</s>`, but `<n k="days">3</n>`. Each has four strings: the types
            (separated by spaces), name_prefix, name_suffix, value_suffix.
        separator: the text between two arguments.
        quote: the quotation mark around strings instead of `"`, for arguments that are one object.
            If set, the object's keys are not quoted.
        quoted_strings: True if strings between markers are JSON strings. Otherwise they have no
            quotes.
        python_literals: True if other values are Python literals (`True`, `None`). Otherwise they
            are JSON.
        sorted_names: True if the template sorts arguments, and members of nested objects, by name.
            Grammars expect this order.
    """

    start: Marker = ""
    end: Marker = ""
    name_prefix: Marker = ""
    name_suffix: Marker = ""
    # Formats with this suffix mark the type of a value in the markup of its name.
    literal_name_suffix: Marker = ""
    value_prefix: Marker = ""
    value_suffix: Marker = ""
    key_suffix: Marker = ""
    item: str = ""
    escape_start: Marker = ""
    escape_end: Marker = ""
    name_escapes: tuple[str, ...] = ()
    value_escapes: tuple[str, ...] = ()
    object_start: Marker = ""
    object_end: Marker = ""
    type_suffix: Marker = ""
    type_first: bool = False
    alternatives: Markers = ()
    separator: Marker = ""
    quote: Marker = ""
    quoted_strings: bool = False
    python_literals: bool = False
    # Grammars fix the order of arguments, so they need the template's order.
    sorted_names: bool = False

    @property
    def ways(self) -> tuple[ArgumentWay, ...]:
        """Return all notations of an argument. The first is the usual one, whose `types` is ""."""
        usual = ArgumentWay("", self.name_prefix, self.name_suffix, self.value_suffix)
        # The field is flat so that it fits a tuple of strings in JSON, like all other markers.
        flat = self.alternatives
        fours = zip(*(flat[at::4] for at in range(4)), strict=False)
        return (usual, *(ArgumentWay(*four) for four in fours))

    def named_by(self, marker: str) -> str:
        """Return the argument name in `marker`, "" if the marker cannot open an argument.

        >>> ArgumentsFormat(name_prefix="<", name_suffix=">").named_by("<name>")
        'name'
        """
        core = marker.strip()
        for way in self.ways:
            before, behind = way.name_prefix.strip(), way.name_suffix.strip()
            # If prefix and suffix overlap in a short marker, the slice is empty, so the name is
            # too.
            inner = core[len(before) : len(core) - len(behind)]
            name = inner.strip()
            # Other characters show that the marker is an element with attributes, or is more than a
            # name.
            if name and before + inner + behind == core and not NO_NAME.search(name):
                return name
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallIdFormat(_Group):
    """The position and markers of a call's id, outside JSON.

    Attributes:
        position: a `CallIdPosition` or its name.
        prefix: the marker before the id. With position NONE, other versions of the model write an
            id between the markers, before the arguments. The parser reads it too.
        suffix: the marker after the id.
        holds_name: True if the id replaces the name and contains it: `functions.get_weather:0`.
    """

    # Markers of the id may be set without a position, for other versions of the model.
    position: CallIdPosition = CallIdPosition.NONE
    prefix: Marker = ""
    suffix: Marker = ""
    holds_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelsFormat(_Group):
    """A turn of several messages, each with a header. It is used if `message` is not empty.

        turn    = header message text end { start role header message text end }
        header  = { channel name | recipient name | constrain word }, in any order

    A message to a tool, or to a recipient in `function.namespace`, calls that function. Its text is
    the arguments as JSON. If `tools` has markers of calls, the text contains calls in that syntax
    instead. Other messages are reasoning if their channel is in `reasoning`, otherwise content. If
    `channel` is "", recipients replace channels, and `reasoning` lists recipients.

    Attributes:
        start: the marker at the beginning of a message, followed by the role.
        channel: the marker before the name of a channel.
        message: the marker at the end of the header, followed by the text.
        constrain: the marker before the word for the form of the text.
        recipient: the marker before the recipient's name.
        ends: the markers at the end of a message.
        reasoning: the names of the reasoning channels.
        readers: recipients that are not functions, besides "user" and "all".
    """

    start: Marker = ""
    channel: Marker = ""
    message: Marker = ""
    constrain: Marker = ""
    recipient: Marker = ""
    ends: Markers = ()
    reasoning: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFormat(_Group):
    """Plain code as the only argument of a function. It is used if `function` is not empty.

    Attributes:
        start: the marker before the code, which runs to the end of the turn. If "", the code
            replaces the arguments object after the function's name.
        function: the name of the function.
        argument: the name of the argument for the code.
        method: the suffix of the function's name in a call after `start`: with `.call`,
            `f.call(a="b")` calls `f`.
    """

    start: Marker = ""
    function: str = ""
    argument: str = "code"
    method: str = ""


class MarkerGroups(NamedTuple):
    """The groups of a wire format that contain markers."""

    turn: TurnFormat
    reasoning: ReasoningFormat
    content: ContentFormat
    tools: ToolsFormat
    function: FunctionFormat
    arguments: ArgumentsFormat
    call_id: CallIdFormat
    channels: ChannelsFormat
    code: CodeFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved(_Group):
    """The template settings under which each part of a turn was verified.

    A setting is "default", or a switch with its value: "enable_thinking=true". The suffix ", tools"
    means that tools were given. A part without settings was not verified.

    Attributes:
        content: the settings under which content was parsed back.
        reasoning: the settings under which reasoning was parsed back as reasoning.
        calls: the settings under which calls were parsed back with all their arguments.
    """

    content: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


class Switches(Mapping[str, tuple[str, ...]]):
    """The switches of a template by name, with their effects. Frozen and hashable.

    An effect is one of "prompt", "reasoning", "calls" and "instructions".

    Args:
        given: the effects of each switch by its name.

    Raises:
        FormatError: a name is not a string, or the effects are not a tuple of strings.
    """

    __slots__ = ("_items",)

    def __init__(self, given: object = None) -> None:
        given = {} if given is None else given
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise FormatError(f"switches must map strings to tuples, not {given!r:.200}")
        # A copy in tuples keeps the mapping hashable and independent of the caller's object.
        made = {name: texts(changes, "switches") for name, changes in given.items()}
        self._items: dict[str, tuple[str, ...]] = made

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        # `Mapping` has no hash of its own, and formats are keys of caches.
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return f"Switches({self._items!r})"
