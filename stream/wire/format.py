"""The wire format: how one model marks what it writes, as plain, frozen data.

What is peculiar to a model is a value here, found by the analyzer or written by hand; the
parsers know no model. A format is a JSON document: print it, diff it, keep it beside the model.

A turn on the wire, each part optional:

    turn      = header reasoning content calls end
    reasoning = reasoning.start text reasoning.end
    content   = content.start text content.end
    calls     = content_separator section_start call (separator call)* section_end
    call      = per_call_start payload per_call_end

White space that the template writes at a marker is part of the marker here; reading, it is
optional.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any, get_type_hints

from deltaparse.partial import LONGEST_MARKER, FormatError

__all__ = [
    "ArgumentsFormat",
    "CallIdFormat",
    "CallIdPosition",
    "ChannelsFormat",
    "CodeFormat",
    "ContentFormat",
    "ContentMode",
    "FunctionFormat",
    "ReasoningFormat",
    "ReasoningMode",
    "ToolFormat",
    "ToolsFormat",
    "TurnFormat",
    "WireFormat",
]


class ReasoningMode(StrEnum):
    """How reasoning is marked."""

    NONE = "NONE"
    TAG_BASED = "TAG_BASED"
    """Between a start and an end marker, both written by the model."""
    DELIMITER = "DELIMITER"
    """From the start of the turn to a delimiter; there is no start marker."""
    FORCED_OPEN = "FORCED_OPEN"
    """The generation prompt ends with the start marker."""
    FORCED_CLOSED = "FORCED_CLOSED"
    """The prompt has both markers when thinking is off, the start marker when it is on."""
    TOOLS_ONLY = "TOOLS_ONLY"
    """Between markers, and only in turns with tool calls."""


class ContentMode(StrEnum):
    """How content is marked."""

    PLAIN = "PLAIN"
    ALWAYS_WRAPPED = "ALWAYS_WRAPPED"
    WRAPPED_WITH_REASONING = "WRAPPED_WITH_REASONING"


class ToolFormat(StrEnum):
    """The family of the tool call syntax."""

    NONE = "NONE"
    JSON_NATIVE = "JSON_NATIVE"
    """Name and arguments in one JSON object."""
    TAG_WITH_JSON = "TAG_WITH_JSON"
    """The name in a tag or between markers, the arguments a JSON object."""
    TAG_WITH_TAGGED = "TAG_WITH_TAGGED"
    """The name, each argument's name and each value between markers."""
    PYTHONIC = "PYTHONIC"
    """A Python call: `f(a="b", c=[1, None])`; several of them in a list."""


class CallIdPosition(StrEnum):
    """Where a call's id stands, in formats that are not JSON_NATIVE."""

    NONE = "NONE"
    PRE_FUNC_NAME = "PRE_FUNC_NAME"
    BETWEEN_FUNC_AND_ARGS = "BETWEEN_FUNC_AND_ARGS"
    POST_ARGS = "POST_ARGS"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFormat:
    """What stands around the assistant's turn.

    `headers` are the texts that stand right before it, one of which ends what comes before in a
    prompt; `ends` the end-of-turn markers; `generation_prompt` what the template adds to a
    conversation for the model to go on from, with its default settings.
    """

    headers: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    generation_prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningFormat:
    """The reasoning markers."""

    mode: ReasoningMode = ReasoningMode.NONE
    start: str = ""
    end: str = ""

    def __post_init__(self) -> None:
        _coerce(self, "mode", ReasoningMode)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentFormat:
    """The content markers; `requires_nonnull`: the template cannot render a null content."""

    mode: ContentMode = ContentMode.PLAIN
    start: str = ""
    end: str = ""
    requires_nonnull: bool = False

    def __post_init__(self) -> None:
        _coerce(self, "mode", ContentMode)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsFormat:
    """The markers round tool calls, and for JSON_NATIVE the layout of the JSON.

    The layouts: flat, `{name_field: ..., arguments_field: ...}`; nested, the same in an object
    under `function_field`; and `name_is_key`, `{name: arguments}`. `id_field` holds the call's
    id, `generated_id_field` one that counts calls; `field_order` is the template's order of the
    fields. `arguments_as_text`: the arguments are a JSON string that holds JSON.
    """

    format: ToolFormat = ToolFormat.NONE
    section_start: str = ""
    section_end: str = ""
    per_call_start: str = ""
    per_call_end: str = ""
    separator: str = ""
    content_separator: str = ""
    array_wrapped: bool = False
    name_is_key: bool = False
    function_field: str = ""
    name_field: str = ""
    arguments_field: str = ""
    arguments_as_text: bool = False
    id_field: str = ""
    generated_id_field: str = ""
    field_order: tuple[str, ...] = ()
    code_block_marker: str = ""
    code_block_language: str = ""
    supports_tools: bool = False
    supports_parallel_calls: bool = False

    def __post_init__(self) -> None:
        _coerce(self, "format", ToolFormat)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionFormat:
    """The markers round a function's name, outside JSON; `namespace` stands before the name.

    `close` stands behind the arguments.
    """

    name_prefix: str = ""
    name_suffix: str = ""
    namespace: str = ""
    close: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentsFormat:
    """The markers round arguments, outside JSON.

    Between those of a value, a string stands as it is, or, with `quoted_strings`, as JSON. Other
    values are JSON, or, with `python_literals`, as Python writes them. Where the marker says which
    it is, `literal_name_suffix` stands in the place of `name_suffix` before what is no string.
    Arguments that are one object are JSON, or, with `quote`, have that round strings, keys bare.
    """

    start: str = ""
    end: str = ""
    name_prefix: str = ""
    name_suffix: str = ""
    literal_name_suffix: str = ""
    value_prefix: str = ""
    value_suffix: str = ""
    separator: str = ""
    quote: str = ""
    quoted_strings: bool = False
    python_literals: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallIdFormat:
    """Where a call's id stands outside JSON, and the markers round it.

    `holds_name`: it stands in the place of the name, and holds it: `functions.get_weather:0`.
    """

    position: CallIdPosition = CallIdPosition.NONE
    prefix: str = ""
    suffix: str = ""
    holds_name: bool = False

    def __post_init__(self) -> None:
        _coerce(self, "position", CallIdPosition)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelsFormat:
    """Messages with headers, of which a turn has several: where `message` is not empty.

        turn    = header message text end { start role header message text end }
        header  = { channel name | recipient name | constrain word }, in any order

    A message to a recipient in `function.namespace` is a call of that function, its arguments
    JSON. Otherwise the name of its channel says what it is: `reasoning` names those of
    reasoning; all others are content.
    """

    start: str = ""
    channel: str = ""
    message: str = ""
    constrain: str = ""
    recipient: str = ""
    ends: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFormat:
    """Code that a model writes as it is, for one function: where `function` is not empty.

    It becomes the argument `argument` of `function`. It stands behind `start`, up to the end of
    the turn; where `start` is empty, behind the function's name like other arguments, when it is
    not an object. Behind `start`, a call `name` + `method` + `(a="b")` is a call of `name`.
    """

    start: str = ""
    function: str = ""
    argument: str = "code"
    method: str = ""


class _KnownHash:
    """Keeps the hash of what never changes: each parser asks for it, and it is a long way down."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            values = tuple(getattr(self, part.name) for part in fields(self))  # type: ignore[arg-type]
            object.__setattr__(self, "_hash", hash(values))
            return self._hash


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFormat(_KnownHash):
    """How a model writes one turn. Frozen, comparable, and JSON both ways.

    `preserved_tokens` are the markers that a tokenizer must not drop when it decodes.
    `verified` says that the analyzer rendered conversations and that this format parsed them
    back; `issues` says, in words a user can act on, what it could not find or prove.

    A format that contradicts itself raises `FormatError`.
    """

    turn: TurnFormat = field(default_factory=TurnFormat)
    reasoning: ReasoningFormat = field(default_factory=ReasoningFormat)
    content: ContentFormat = field(default_factory=ContentFormat)
    tools: ToolsFormat = field(default_factory=ToolsFormat)
    function: FunctionFormat = field(default_factory=FunctionFormat)
    arguments: ArgumentsFormat = field(default_factory=ArgumentsFormat)
    call_id: CallIdFormat = field(default_factory=CallIdFormat)
    channels: ChannelsFormat = field(default_factory=ChannelsFormat)
    code: CodeFormat = field(default_factory=CodeFormat)
    preserved_tokens: tuple[str, ...] = ()
    verified: bool = False
    issues: tuple[str, ...] = ()

    __hash__ = _KnownHash.__hash__

    def __post_init__(self) -> None:
        for contradiction in _contradictions(self):
            raise FormatError(contradiction)

    def replace(self, **changes: Any) -> WireFormat:
        """A copy with changes: a whole group, or a mapping of the fields of one to change.

        >>> WireFormat().replace(turn={"ends": ("</s>",)}).turn.ends
        ('</s>',)
        """
        for name, change in changes.items():
            if name not in {known.name for known in fields(self)}:
                message = f"a wire format has no {name!r}; it has {_names(WireFormat)}"
                raise FormatError(message)
            if isinstance(change, Mapping):
                group = getattr(self, name)
                known = {name: getattr(group, name) for name in _names(type(group))}
                changes[name] = _read(type(group), known | dict(change), name)
        return replace(self, **changes)

    def to_json(self) -> str:
        """This format as a JSON document, which `from_json` reads back."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2)

    @classmethod
    def from_json(cls, text: str) -> WireFormat:
        """Read a format from a JSON document; what is left out has its default.

        Raises `FormatError` for text that is not JSON, fields that do not exist, and values of
        the wrong kind.
        """
        try:
            document = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            message = f"a wire format is a JSON document: {error}"
            raise FormatError(message) from error
        result = _read(cls, document, "format")
        assert isinstance(result, cls)  # noqa: S101 - `_read` makes what it is given
        return result


def _contradictions(fmt: WireFormat) -> list[str]:
    found = []
    for group in (getattr(fmt, name) for name in _names(WireFormat)):
        if not is_dataclass(group):
            continue
        for part in fields(group):
            longest = max(map(len, _texts(getattr(group, part.name))), default=0)
            if longest > LONGEST_MARKER and part.name != "generation_prompt":
                found.append(f"{part.name} has more than {LONGEST_MARKER} characters")
    reasoning, content, tools = fmt.reasoning, fmt.content, fmt.tools
    if reasoning.mode is not ReasoningMode.NONE and not reasoning.end.strip():
        found.append(f"reasoning mode {reasoning.mode} needs a reasoning.end")
    if reasoning.mode in (ReasoningMode.TAG_BASED, ReasoningMode.TOOLS_ONLY):
        if not reasoning.start.strip():
            found.append(f"reasoning mode {reasoning.mode} needs a reasoning.start")
    if content.mode is not ContentMode.PLAIN and not content.start.strip():
        found.append(f"content mode {content.mode} needs a content.start")
    if tools.format is ToolFormat.JSON_NATIVE and not tools.name_is_key:
        if not (tools.name_field and tools.arguments_field):
            found.append("JSON_NATIVE needs a name_field and an arguments_field, or name_is_key")
    if tools.format is ToolFormat.TAG_WITH_TAGGED:
        arguments = fmt.arguments
        if not arguments.name_prefix.strip() or not arguments.value_suffix.strip():
            found.append("TAG_WITH_TAGGED needs an arguments.name_prefix and a value_suffix")
    tagged = tools.format in (ToolFormat.TAG_WITH_JSON, ToolFormat.TAG_WITH_TAGGED)
    if tagged and not fmt.channels.message:
        starts = tools.section_start + tools.per_call_start + fmt.function.name_prefix
        if not starts.strip():
            found.append(f"{tools.format} needs a marker before the name of a function")
    return found


def _coerce(group: object, name: str, kind: type[StrEnum]) -> None:
    """Let an enumerated field be written as the plain word."""
    word = getattr(group, name)
    if word not in list(kind):
        message = f"{name} must be one of {', '.join(kind)}, not {word!r}"
        raise FormatError(message)
    object.__setattr__(group, name, kind(word))


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return value if isinstance(value, tuple) else ()


def _names(group: type) -> list[str]:
    return [known.name for known in fields(group)]


def _read(kind: Any, value: Any, where: str) -> Any:
    """Make a `kind` (a dataclass, an enum, str, bool or tuple of str) of a JSON value."""
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise FormatError(f"{where} must be an object")
        hints = get_type_hints(kind)
        for name in value:
            if name not in hints:
                raise FormatError(f"{where} has no {name!r}; it has {', '.join(hints)}")
        made = {name: _read(hints[name], part, f"{where}.{name}") for name, part in value.items()}
        return kind(**made)  # type: ignore[operator]
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        if value not in list(kind):
            raise FormatError(f"{where} must be one of {', '.join(kind)}, not {value!r}")
        return kind(value)
    if kind == tuple[str, ...] and isinstance(value, list | tuple):
        if all(isinstance(text, str) for text in value):
            return tuple(value)
    raise FormatError(f"{where} must be {getattr(kind, '__name__', kind)}, not {value!r}")
