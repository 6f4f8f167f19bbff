"""The groups of a wire format: for each part of a turn, its markers and the mode it is in.

A turn, each part optional:

    turn      = header reasoning content calls end
    reasoning = reasoning.start text reasoning.end
    content   = content.start text content.end
    calls     = content_separator section_start call (separator call)* section_end
    call      = per_call_start payload per_call_end

A marker is a text; "" where the format has none. White space that the template writes at a marker
is part of it here; readers take it as optional.
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
"""What an argument's name does not hold, in markers."""

# The types of fields that hold text as the model writes it. By them others know which these are:
# a vocabulary looks for special tokens there, and a tokenizer must keep what stands there.
Marker = Annotated[str, "as the model writes it"]
Markers = Annotated[tuple[str, ...], "as the model writes it"]

Word = TypeVar("Word", bound=StrEnum)


def chosen(kind: type[Word], word: Any, where: str) -> Word:
    """The member of an enumeration that a word names. Raises `FormatError`, with `where` in it."""
    if word not in list(kind):
        raise FormatError(f"{where} must be one of {', '.join(kind)}, not {word!r:.200}")
    return kind(word)


class _Group:
    """Checks the fields of a group when it is made: what is wrong shows there, not in an output."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_fields(self)


def check_fields(group: Any) -> None:
    """Hold each field to its type; a plain word stands for a mode, and a list for a tuple.

    Raises:
        FormatError: a value of another type; the text has the name of the field.
    """
    made: Any = type(group)
    for name, kind in _field_types(made).items():
        value = getattr(group, name)
        if kind is str or kind is bool:
            if not isinstance(value, kind):
                what = "a text" if kind is str else "True or False"
                raise FormatError(f"{name} must be {what}, not {value!r:.200}")
        elif kind is tuple:
            object.__setattr__(group, name, texts(value, name))
        elif issubclass(kind, StrEnum):
            object.__setattr__(group, name, chosen(kind, value, name))


@cache
def _field_types(group: type) -> dict[str, type]:
    """The types of the fields of a group, `tuple` for several texts."""
    hints = get_type_hints(group)
    return {
        field.name: get_origin(hints[field.name]) or hints[field.name] for field in fields(group)
    }


def marker_fields_of(group: type) -> tuple[str, ...]:
    """The fields of a group that hold text as the model writes it."""
    hints = get_type_hints(group, include_extras=True)
    return tuple(part.name for part in fields(group) if hints[part.name] in (Marker, Markers))


def texts(value: object, where: str) -> tuple[str, ...]:
    """Several texts as a tuple. Raises `FormatError`, with `where` in it."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        advice = f"; write ({value!r:.200},)" if isinstance(value, str) else ""
        raise FormatError(f"{where} must be a tuple of texts, not {value!r:.200}{advice}")
    return tuple(value)


class ReasoningMode(StrEnum):
    """How reasoning is marked.

    NONE:           there are no markers of reasoning.
    TAG_BASED:      between a start and an end marker, both written by the model.
    DELIMITER:      from the start of the turn to a delimiter, `end`; there is no start marker.
    FORCED_OPEN:    the generation prompt ends with the start marker, the model writes the end.
    FORCED_CLOSED:  the generation prompt has both markers when thinking is off, the start marker
                    when it is on.
    TOOLS_ONLY:     between markers, and only in turns with tool calls.
    """

    NONE = "NONE"
    TAG_BASED = "TAG_BASED"
    DELIMITER = "DELIMITER"
    FORCED_OPEN = "FORCED_OPEN"
    FORCED_CLOSED = "FORCED_CLOSED"
    TOOLS_ONLY = "TOOLS_ONLY"


class ContentMode(StrEnum):
    """How content is marked. Text that belongs to nothing else is content in every mode.

    PLAIN:                   there are no markers: content is the text that is left.
    ALWAYS_WRAPPED:          between a start and an end marker, in every turn.
    WRAPPED_WITH_REASONING:  between markers in turns with reasoning, plain in the others.
    WRAPPED_WITH_CALLS:      between markers in turns with calls, plain in the others.
    """

    PLAIN = "PLAIN"
    ALWAYS_WRAPPED = "ALWAYS_WRAPPED"
    WRAPPED_WITH_REASONING = "WRAPPED_WITH_REASONING"
    WRAPPED_WITH_CALLS = "WRAPPED_WITH_CALLS"


class ToolFormat(StrEnum):
    """The family of the tool call syntax.

    NONE:             no calls.
    JSON_NATIVE:      name and arguments in one JSON object: `{"name": "f", "arguments": {"a": 1}}`.
    TAG_WITH_JSON:    the name in a tag or between markers, the arguments a JSON object:
                      `<function=f>{"a": 1}</function>`.
    TAG_WITH_TAGGED:  the name, each argument's name and each value between markers:
                      `<function=f><parameter=a>1</parameter></function>`.
    PYTHONIC:         Python calls, one or a list of them: `f(a=1)`, `[f(a=1), g(b="c")]`.
    """

    NONE = "NONE"
    JSON_NATIVE = "JSON_NATIVE"
    TAG_WITH_JSON = "TAG_WITH_JSON"
    TAG_WITH_TAGGED = "TAG_WITH_TAGGED"
    PYTHONIC = "PYTHONIC"


class CallIdPosition(StrEnum):
    """Where a call's id stands in the tagged families; in JSON a field holds it.

    NONE:                   the model writes no ids.
    PRE_FUNC_NAME:          before the function's name, or in its place (`CallIdFormat.holds_name`).
    BETWEEN_FUNC_AND_ARGS:  behind the name, before the arguments.
    POST_ARGS:              behind the arguments.
    """

    NONE = "NONE"
    PRE_FUNC_NAME = "PRE_FUNC_NAME"
    BETWEEN_FUNC_AND_ARGS = "BETWEEN_FUNC_AND_ARGS"
    POST_ARGS = "POST_ARGS"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFormat(_Group):
    """What stands around the assistant's turn.

    headers:            the texts that may stand right before the turn, which begins behind the
                        last of them in the prompt.
    ends:               the end-of-turn markers.
    several_messages:   a turn may have several messages: after an end-of-turn marker, another
                        header continues it.
    generation_prompt:  what the template, with its default settings, adds to a conversation for
                        the model to go on from: a header, and maybe the beginning of the turn.
    """

    headers: Markers = ()
    ends: Markers = ()
    generation_prompt: Marker = ""
    several_messages: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningFormat(_Group):
    """The reasoning markers.

    mode:          how reasoning is marked, a `ReasoningMode` or its name.
    start, end:    the markers; `start` is "" if nothing opens reasoning. If `end` equals
                   `content.start`, a marker that opens a call also ends reasoning.
    alternatives:  other pairs of markers: start, end, start, end, and so on. Reasoning ends with
                   the end of the pair that opened it; other ends are text in it.
    """

    mode: ReasoningMode = ReasoningMode.NONE
    start: Marker = ""
    end: Marker = ""
    alternatives: Markers = ()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs of markers, start and end, the usual one first."""
        others = zip(self.alternatives[::2], self.alternatives[1::2], strict=False)
        return ((self.start, self.end), *others)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentFormat(_Group):
    """The content markers.

    mode:              how content is marked, a `ContentMode` or its name.
    start, end:        the markers; `end` may be "" where calls or the end of the turn follow. In
                       mode PLAIN, `start` is white space that stands before the turn's content.
    requires_nonnull:  the template cannot render a message whose content is null.
    """

    mode: ContentMode = ContentMode.PLAIN
    start: Marker = ""
    end: Marker = ""
    requires_nonnull: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsFormat(_Group):
    """The markers round tool calls, and for JSON_NATIVE the layout of the JSON.

    format:                  the family of the syntax, a `ToolFormat` or its name.
    also:                    the family of a second form, which other versions of the model write
                             behind the same marker: JSON_NATIVE beside TAG_WITH_JSON, or that
                             beside JSON_NATIVE. What begins with a bracket is JSON. Such calls are
                             read, and never part of a grammar.
    section_start, section_end:    the markers round all calls of a turn.
    per_call_start, per_call_end:  the markers round each call.
    separator:               the text between two calls.
    content_separator:       the white space between content and the first call.
    array_wrapped:           the calls stand in brackets: a JSON array, or a Python list.
    behind_content:          unmarked calls may directly follow content. A known tool's name right
                             after `{"name": "` or `[` then identifies a call.

    The JSON of a call is flat, `{name_field: ..., arguments_field: ...}`, or nested, the same in an
    object under `function_field`, or `{name: arguments}`:

    name_is_key:             the function's name is the key of its arguments.
    function_field:          the key of the inner object; "" where the layout is flat.
    name_field:              the key of the name.
    arguments_field:         the key of the arguments.
    arguments_as_text:       the arguments are a JSON string that holds JSON.
    id_field:                the key of the call's id; "" for none.
    generated_id_field:      the key of an id that counts the calls of a turn; "" for none.
    field_order:             the keys in the order in which the template writes them.
    constants:               meaningless members that the template writes into each call, besides
                             `"type": "function"`: key and JSON value alternately; "" for a value
                             that varies.

    code_block_marker:       the text before a Markdown code block round the calls (`Action:`).
    code_block_language:     the language that the code block names.
    supports_tools:          the template shows tools or calls to the model.
    supports_parallel_calls: the template renders several calls of one turn.
    """

    format: ToolFormat = ToolFormat.NONE
    also: ToolFormat = ToolFormat.NONE
    section_start: Marker = ""
    section_end: Marker = ""
    per_call_start: Marker = ""
    per_call_end: Marker = ""
    separator: Marker = ""
    content_separator: Marker = ""
    array_wrapped: bool = False
    behind_content: bool = False
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
    """The markers round a function's name, outside JSON.

    name_prefix, name_suffix:  the markers before and behind the name.
    namespace:     a prefix that the model writes before the name and that is not part of it:
                   `functions.`.
    close:         the marker behind the arguments.
    close_suffix:  if the marker behind the arguments repeats the function's name, the text behind
                   the name there: `close` name `close_suffix`, `</get_weather>`; "" otherwise.
    name_escapes:  how characters of the name are spelled, if not as themselves: pairs of a
                   character and its spelling, flat. `("&", "&amp;")`: a model writes `a&amp;b`.
    """

    name_prefix: Marker = ""
    name_suffix: Marker = ""
    namespace: str = ""
    close: Marker = ""
    close_suffix: Marker = ""
    name_escapes: tuple[str, ...] = ()


class ArgumentWay(NamedTuple):
    """How arguments of some types are written; `types` are separated by spaces."""

    types: str
    name_prefix: str
    name_suffix: str
    value_suffix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentsFormat(_Group):
    """The markers round arguments, outside JSON.

    start, end:                  the markers round all arguments of a call.
    name_prefix, name_suffix:    the markers round an argument's name (TAG_WITH_TAGGED). If
                                 `name_prefix` is "", an argument begins directly with its name.
    value_prefix, value_suffix:  the markers round its value. A suffix may be a line end; where it
                                 is "", what follows the argument ends the value.
    literal_name_suffix:  replaces `name_suffix` before a value that is not a string, in formats
                          that tell the two apart in this way.
    key_suffix:           if the marker behind the value repeats the argument's name, the text
                          behind the name there: `value_suffix` name `key_suffix`, `</city>`; ""
                          otherwise.
    item:                 the name of the elements of a list. If set, objects and lists are written
                          as nested elements, each like an argument. If "", as JSON.
    escape_start, escape_end:    the markers round a string that the format could not hold
                          otherwise, within the markers of the value: `<![CDATA[`, `]]>`.
    name_escapes:         how characters of an argument's name are spelled, if not as themselves:
                          pairs of a character and its spelling, flat.
    value_escapes:        the same of strings that stand between markers without quotes.
    object_start, object_end:    the markers round all arguments as one JSON object, which a call
                          may have in place of arguments in markers; "" if it may not.
    type_suffix:          if not empty, `name_suffix` is followed by the value's JSON type and this
                          text: `type="number">`.
    type_first:           the type and `type_suffix` stand before the name, behind `name_prefix`.
    alternatives:         other ways to write an argument, chosen by the type of its value:
                          `<s k="city">Ghent</s>`, but `<n k="days">3</n>`. Four texts each: the
                          types (separated by spaces), name_prefix, name_suffix, value_suffix.
    separator:            the text between two arguments.
    quoted_strings:       a string between markers is written as JSON; otherwise without quotes.
    python_literals:      other values are written as in Python (`True`, `None`); otherwise as JSON.
    sorted_names:         the template sorts arguments, and the members of objects in them, by name;
                          grammars expect that order.
    quote:                the quotation mark round strings, in place of `"`, in arguments that are
                          one object. If set, the object's keys are not quoted.
    """

    start: Marker = ""
    end: Marker = ""
    name_prefix: Marker = ""
    name_suffix: Marker = ""
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
    sorted_names: bool = False

    @property
    def ways(self) -> tuple[ArgumentWay, ...]:
        """All ways to write an argument. The first is the usual one, whose `types` is ""."""
        usual = ArgumentWay("", self.name_prefix, self.name_suffix, self.value_suffix)
        flat = self.alternatives
        fours = zip(*(flat[at::4] for at in range(4)), strict=False)
        return (usual, *(ArgumentWay(*four) for four in fours))

    def named_by(self, marker: str) -> str:
        """Return the name of the argument that `marker` could also open; "" if it could open none.

        >>> ArgumentsFormat(name_prefix="<", name_suffix=">").named_by("<name>")
        'name'
        """
        core = marker.strip()
        for way in self.ways:
            before, behind = way.name_prefix.strip(), way.name_suffix.strip()
            inner = core[len(before) : len(core) - len(behind)]
            name = inner.strip()
            if name and before + inner + behind == core and not NO_NAME.search(name):
                return name
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallIdFormat(_Group):
    """Where a call's id stands outside JSON.

    position:        a `CallIdPosition` or its name.
    prefix, suffix:  the markers round the id. With position NONE, other versions of the model
                     write an id between them, before the arguments: it is read, too.
    holds_name:      the id stands in place of the name, and contains it:
                     `functions.get_weather:0`.
    """

    position: CallIdPosition = CallIdPosition.NONE
    prefix: Marker = ""
    suffix: Marker = ""
    holds_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelsFormat(_Group):
    """A turn of several messages, each with a header; used if `message` is not empty.

        turn    = header message text end { start role header message text end }
        header  = { channel name | recipient name | constrain word }, in any order

    A message to a tool, or to a recipient in `function.namespace`, calls that function. Its text is
    the arguments as JSON, or, if `tools` has markers of calls, calls written with them. Other
    messages are reasoning if their channel is in `reasoning`, else content. If `channel` is "",
    recipients take the place of channels, and `reasoning` names recipients.

    start:      the marker that begins a message, followed by the role.
    channel:    the marker before the name of a channel.
    recipient:  the marker before the recipient's name.
    constrain:  the marker before the word that names the form of the text.
    message:    the marker that ends the header, followed by the text.
    ends:       the markers that end a message.
    reasoning:  the names of the channels of reasoning.
    readers:    recipients that are not functions, besides "user" and "all".
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
    """Plain code as the one argument of a function; used if `function` is not empty.

    start:     the marker before the code, which runs to the end of the turn. If "", the code stands
               in place of the arguments object, behind the function's name.
    function:  the name of the function.
    argument:  the name of the argument that the code becomes.
    method:    the suffix of the function's name in a call behind `start`: with `.call`,
               `f.call(a="b")` calls `f`.
    """

    start: Marker = ""
    function: str = ""
    argument: str = "code"
    method: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved(_Group):
    """For each part of a turn, the settings of the template under which it was proved.

    A setting is "default", or a switch with its value: "enable_thinking=true"; ", tools" means that
    tools were given. A part that no conversation proved has no settings.

    content:    the settings under which content came back.
    reasoning:  the settings under which reasoning came back as reasoning.
    calls:      the settings under which calls came back with all their arguments.
    """

    content: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


class Switches(Mapping[str, tuple[str, ...]]):
    """The switches of a template by name, each with what it changes. Frozen and hashable.

    Of these words: "prompt", "reasoning", "calls", "instructions".

    Raises:
        FormatError: a name that is no text, or changes that are no texts.
    """

    __slots__ = ("_items",)

    def __init__(self, given: object = None) -> None:
        given = {} if given is None else given
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise FormatError(f"switches must be texts by name, not {given!r:.200}")
        made = {name: texts(changes, "switches") for name, changes in given.items()}
        self._items: dict[str, tuple[str, ...]] = made

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return f"Switches({self._items!r})"
