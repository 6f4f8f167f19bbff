"""The wire format: the notation of one model's turns, as plain, frozen data.

All peculiarities of a model are values here, found by the analyzer or written by hand. Parsers have
no code for single models. A format is a JSON document, which can be printed, compared and stored
next to the model. `groups` describes its groups, `derived` the computed properties.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any

from deltaparse.partial import LONGEST_MARKER, FormatError

from . import document
from .derived import DerivedFormat
from .escapes import faults_of
from .groups import (
    ArgumentsFormat,
    CallIdFormat,
    CallIdPosition,
    ChannelsFormat,
    CodeFormat,
    ContentFormat,
    ContentMode,
    FunctionFormat,
    MarkerGroups,
    Proved,
    ReasoningFormat,
    ReasoningMode,
    Switches,
    ToolFormat,
    ToolsFormat,
    TurnFormat,
    check_fields,
    marker_fields_of,
)

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
    "WireFormat",
    "marker_fields",
    "marker_texts",
]


class _Remembers:
    """Base class that caches the hash and the derived properties of a format, which is frozen."""

    __slots__ = ("_facts", "_hash")
    _hash: int
    _facts: DerivedFormat

    def __hash__(self) -> int:
        try:
            return self._hash
        # A slot without a value raises AttributeError, so a flag is unnecessary.
        except AttributeError:
            values = tuple(getattr(self, part.name) for part in fields(self))  # type: ignore[arg-type]
            object.__setattr__(self, "_hash", hash(values))
            return self._hash


# These markers have no effect without a mode or a family, so setting one alone is an error.
STARTS = (
    ("reasoning", "mode", "start"),
    ("tools", "format", "section_start"),
    ("tools", "format", "per_call_start"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFormat(_Remembers):
    """The notation of one model's turns. Frozen, comparable, and convertible from and to JSON.

    `help(ToolsFormat)` and so on describe the fields of each group.

    Attributes:
        turn: headers, end markers and generation prompt of the turn.
        reasoning: the markers of reasoning.
        content: the markers of content.
        tools: the family of the call syntax, its markers, and the layout of JSON calls.
        function: the markers around a function's name, outside JSON.
        arguments: the markers around arguments, outside JSON.
        call_id: the position and markers of a call's id, outside JSON.
        channels: the markers of messages with headers, for turns of several messages.
        code: code as the argument of one function.
        preserved_tokens: markers for tokenizers to keep when they decode.
        switches: the switches of the template by name, with their effects.
        proved: the switches under which content, reasoning and calls were each verified.
        verified: True if the analyzer rendered conversations, and this format parsed back all parts
            shown by the template. `proved` lists these parts.
        suggested: the built-in format whose markers the template describes to the model, if the
            template does not render calls itself. `analyze(..., accept_suggestion=True)` uses this
            format.
        issues: descriptions of missing or unverified parts, with advice.

    Raises:
        FormatError: the format contradicts itself.
    """

    # Defaults describe plain content, so a format in JSON lists only its differences.
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
    switches: Switches = field(default_factory=Switches)
    proved: Proved = field(default_factory=Proved)
    verified: bool = False
    suggested: str = ""
    issues: tuple[str, ...] = ()

    # `dataclass` would define a hash that reads all fields each time.
    __hash__ = _Remembers.__hash__

    def __post_init__(self) -> None:
        # Before the check, so that a plain dict is accepted.
        object.__setattr__(self, "switches", Switches(self.switches))
        check_fields(self)
        # Only the first one is raised: later ones often follow from it.
        for contradiction in _contradictions(self):
            raise FormatError(contradiction)

    @property
    def derived(self) -> DerivedFormat:
        """Return the properties that follow from this format, for example the openers of calls."""
        try:
            return self._facts
        except AttributeError:
            # Computed once, because the format never changes.
            groups = MarkerGroups(
                turn=self.turn,
                reasoning=self.reasoning,
                content=self.content,
                tools=self.tools,
                function=self.function,
                arguments=self.arguments,
                call_id=self.call_id,
                channels=self.channels,
                code=self.code,
            )
            made = DerivedFormat(groups, self.preserved_tokens)
            object.__setattr__(self, "_facts", made)
            return made

    def replace(self, **changes: Any) -> WireFormat:
        """Return a copy with changes.

        >>> WireFormat().replace(turn={"ends": ("</s>",)}).turn.ends
        ('</s>',)

        Args:
            changes: new values by field. A group may be given completely, or as a mapping with only
                the changed fields of the group.

        Raises:
            FormatError: a field does not exist, a value has the wrong type, markers were set
                without their mode, or the copy contradicts itself.
        """
        made = replace(self, **document.replaced(self, changes))
        for name, choice, start in STARTS:
            given = changes.get(name)
            # Otherwise the copy would ignore the new markers without a message.
            if isinstance(given, Mapping) and given.get(start) and choice not in given:
                if getattr(getattr(made, name), choice) == "NONE":
                    raise FormatError(f"{name}.{start} has no effect without a {name}.{choice}")
        return made

    def to_json(self) -> str:
        """Return this format as a JSON document with a `version`, readable by `from_json`."""
        return document.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> WireFormat:
        """Return the format in a JSON document. Missing fields get their defaults.

        Args:
            text: the JSON document.

        Raises:
            FormatError: the text is not JSON, the version is unknown, a field does not exist, a
                value has the wrong type, or the format contradicts itself.
        """
        return document.from_json(cls, text)


def _contradictions(fmt: WireFormat) -> Iterator[str]:
    """Yield descriptions of contradictions and missing parts in a format."""
    # First, because the other checks read the fields of the groups.
    yield from _in_groups(fmt)
    yield from _in_reasoning(fmt)
    # Without a start, content in markers could not be found.
    if fmt.content.mode is not ContentMode.PLAIN and not fmt.content.start.strip():
        yield f"content mode {fmt.content.mode} needs a content.start"
    yield from _in_json_calls(fmt)
    if fmt.tools.format is ToolFormat.TAG_WITH_TAGGED:
        yield from _no_arguments(fmt)
    yield from _in_names(fmt)


def _in_groups(fmt: WireFormat) -> Iterator[str]:
    """Yield descriptions of groups of a wrong type or with a marker that is too long."""
    for part in fields(fmt):
        # `check_fields` checks only strings, flags and tuples, so groups are checked here.
        kind: object = part.default_factory
        group = getattr(fmt, part.name)
        if isinstance(kind, type) and not isinstance(group, kind):
            yield f"{part.name} must be a {kind.__name__}, not {group!r}"
        # Text is buffered while it may become a marker, so markers need a limit.
        for name in _too_long(group) if is_dataclass(group) else ():
            yield f"{name} has more than {LONGEST_MARKER} characters"


def _in_reasoning(fmt: WireFormat) -> Iterator[str]:
    """Yield descriptions of missing markers of reasoning."""
    reasoning = fmt.reasoning
    # Without an end marker, all text would be reasoning.
    if fmt.derived.has_reasoning and not reasoning.end.strip():
        yield f"reasoning mode {reasoning.mode} needs a reasoning.end"
    if reasoning.mode in (ReasoningMode.TAG_BASED, ReasoningMode.TOOLS_ONLY):
        if not reasoning.start.strip():
            yield f"reasoning mode {reasoning.mode} needs a reasoning.start"
    # An empty marker would match anywhere.
    if len(reasoning.alternatives) % 2 or not all(map(str.strip, reasoning.alternatives)):
        yield "reasoning.alternatives must be pairs of markers, a start and its end"
    if reasoning.alternatives and not reasoning.start.strip():
        yield "reasoning.alternatives need a reasoning.start"


def _in_json_calls(fmt: WireFormat) -> Iterator[str]:
    """Yield descriptions of missing or invalid parts of calls in JSON."""
    tools = fmt.tools
    # The parser could not find the name and the arguments.
    if tools.format is ToolFormat.JSON_NATIVE and not tools.name_is_key:
        if not (tools.name_field and tools.arguments_field):
            yield "JSON_NATIVE needs a name_field and an arguments_field, or name_is_key"
    if tools.also is not ToolFormat.NONE:
        yield from _no_second_form(fmt)
    if len(tools.constants) % 2:
        yield "tools.constants must be pairs of a key and a value in JSON"
    for value in tools.constants[1::2]:
        # An empty value means that the value varies.
        if value and not _is_json(value):
            yield f"tools.constants: {value!r:.80} is not JSON"


def _in_names(fmt: WireFormat) -> Iterator[str]:
    """Yield descriptions of missing or invalid parts around names, and of invalid escapes."""
    tables = {
        "function.name_escapes": fmt.function.name_escapes,
        "arguments.name_escapes": fmt.arguments.name_escapes,
        "arguments.value_escapes": fmt.arguments.value_escapes,
    }
    # Escapes are checked early, because `Escapes` expects valid pairs.
    for where, pairs in tables.items():
        yield from faults_of(pairs, where)
    if fmt.function.close_suffix.strip() and not fmt.function.close.strip():
        yield "function.close_suffix needs a function.close, the text before the repeated name"
    # A name in plain text is indistinguishable from content.
    if fmt.derived.is_tagged and fmt.derived.unmarked_calls:
        yield f"{fmt.tools.format} needs a marker before the name of a function"


def _no_second_form(fmt: WireFormat) -> Iterator[str]:
    """Yield descriptions of missing parts of calls in a second form."""
    tools = fmt.tools
    forms = {ToolFormat.JSON_NATIVE, ToolFormat.TAG_WITH_JSON}
    # Only these two forms are distinguishable by their first character.
    if {tools.format, tools.also} != forms:
        yield "tools.format and tools.also must be JSON_NATIVE and TAG_WITH_JSON, in any order"
    if not (tools.name_field and tools.arguments_field):
        yield "tools.also needs a name_field and an arguments_field, for the form in JSON"
    # Both forms begin with the same marker.
    marker = tools.per_call_start.strip() or tools.section_start.strip()
    if not marker or fmt.function.name_prefix.strip():
        yield "tools.also needs a marker of calls, directly before the name"


@cache
def marker_fields() -> Mapping[str, tuple[str, ...]]:
    """Return the fields of each group with text that the model writes."""
    # Field types are the same in all formats, so an empty one is enough.
    usual = WireFormat()
    groups = ((part.name, getattr(usual, part.name)) for part in fields(usual))
    return {name: marker_fields_of(type(group)) for name, group in groups if is_dataclass(group)}


def marker_texts(fmt: WireFormat) -> Iterator[tuple[str, str]]:
    """Yield each text that a model writes in a format, with the name of its group.

    Args:
        fmt: the wire format.
    """
    for group, names in marker_fields().items():
        for name in names:
            value = getattr(getattr(fmt, group), name)
            # A field holds one marker or several.
            texts = [value] if isinstance(value, str) else value
            # Empty strings represent missing markers.
            yield from ((group, text) for text in texts if text)


def _is_json(text: str) -> bool:
    """Return whether a text is JSON."""
    try:
        json.loads(text)
    # `json` raises RecursionError for deeply nested text.
    except (ValueError, RecursionError):
        return False
    return True


def _no_arguments(fmt: WireFormat) -> Iterator[str]:
    """Yield descriptions of missing parts of arguments in tags."""
    arguments = fmt.arguments
    # Without any marker, names and values could not be separated.
    if not (arguments.name_prefix + arguments.name_suffix + arguments.value_prefix).strip():
        yield "TAG_WITH_TAGGED needs an arguments.name_prefix or a name_suffix"
    for way in arguments.ways:
        # Spaces may be part of a value, so they cannot end it. A line end can.
        blank = not way.value_suffix.strip() and "\n" not in way.value_suffix
        if blank and (way.value_suffix or not arguments.name_prefix.strip()):
            yield "TAG_WITH_TAGGED needs an arguments.value_suffix, or an arguments.name_prefix"
    # Otherwise all text after a call would be an argument's name.
    if not arguments.name_prefix.strip() and not (fmt.derived.closers or arguments.end.strip()):
        if not fmt.derived.closes_by_name:
            yield "arguments without a name_prefix need an end marker of arguments or calls"
    if bool(arguments.object_start.strip()) is not bool(arguments.object_end.strip()):
        yield "arguments.object_start and arguments.object_end need each other"
    if len(arguments.alternatives) % 4:
        yield "arguments.alternatives must be groups of four: the types and three markers"


def _too_long(group: Any) -> Iterator[str]:
    """Yield the fields of a group with a marker of more than `LONGEST_MARKER` characters."""
    for part in fields(group):
        value = getattr(group, part.name)
        texts = (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()
        # The generation prompt is compared with prompts, and never searched in a response.
        if part.name != "generation_prompt" and any(len(text) > LONGEST_MARKER for text in texts):
            yield part.name
