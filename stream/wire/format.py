"""The wire format: how one model marks what it writes, as plain, frozen data.

What is peculiar to a model is a value here, found by the analyzer or written by hand; the
parsers know no model. A format is a JSON document: print it, diff it, keep it beside the model.
Its groups are described in `groups`, what follows from it in `facts`.
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
    """Keeps what each parser asks of a format, which never changes: its hash and its facts."""

    __slots__ = ("_facts", "_hash")
    _hash: int
    _facts: DerivedFormat

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            values = tuple(getattr(self, part.name) for part in fields(self))  # type: ignore[arg-type]
            object.__setattr__(self, "_hash", hash(values))
            return self._hash


# What is nothing without the choice of a mode or a family: a format that has it would read nothing.
STARTS = (
    ("reasoning", "mode", "start"),
    ("tools", "format", "section_start"),
    ("tools", "format", "per_call_start"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFormat(_Remembers):
    """How a model writes one turn. Frozen, comparable, and JSON both ways.

    turn:       what stands around the assistant's turn: headers, end-of-turn markers.
    reasoning:  how reasoning is marked.
    content:    how content is marked.
    tools:      the family of the call syntax, its markers, and the layout of JSON calls.
    function:   the markers round a function's name, outside JSON.
    arguments:  the markers round arguments, outside JSON.
    call_id:    where a call's id stands, outside JSON.
    channels:   messages with headers, for models whose turns have several.
    code:       code that is the argument of one function.

    preserved_tokens:  the markers that a tokenizer must not drop when it decodes.
    switches:          the switches of the template, by name, each with what it changes.
    proved:            for content, reasoning and calls, under which switches each was proved.
    verified:          the analyzer rendered conversations and this format parsed them back, all
                       that the template shows of them; `proved` says what that was.
    suggested:         the named format whose markers the template describes to the model, where it
                       renders no calls itself; taken with `analyze(..., accept_suggestion=True)`.
    issues:            what the analyzer could not find or prove, in words that a user can act on.

    Each group describes its own fields: `help(ToolsFormat)`.

    Raises:
        FormatError: a format that contradicts itself.
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
    switches: Switches = field(default_factory=Switches)
    proved: Proved = field(default_factory=Proved)
    verified: bool = False
    suggested: str = ""
    issues: tuple[str, ...] = ()

    __hash__ = _Remembers.__hash__

    def __post_init__(self) -> None:
        object.__setattr__(self, "switches", Switches(self.switches))
        check_fields(self)
        for contradiction in _contradictions(self):
            raise FormatError(contradiction)

    @property
    def derived(self) -> DerivedFormat:
        """What follows from this format: whether it has calls, which markers begin them, ..."""
        try:
            return self._facts
        except AttributeError:
            made = DerivedFormat(
                turn=self.turn,
                reasoning=self.reasoning,
                content=self.content,
                tools=self.tools,
                function=self.function,
                arguments=self.arguments,
                call_id=self.call_id,
                channels=self.channels,
                code=self.code,
                preserved_tokens=self.preserved_tokens,
            )
            object.__setattr__(self, "_facts", made)
            return made

    def replace(self, **changes: Any) -> WireFormat:
        """A copy with changes: a whole group, or a mapping of the fields of one to change.

        >>> WireFormat().replace(turn={"ends": ("</s>",)}).turn.ends
        ('</s>',)

        Raises:
            FormatError: a field that does not exist, or a value of the wrong kind; markers of
                reasoning or calls where there are none; a copy that contradicts itself.
        """
        made = replace(self, **document.replaced(self, changes))
        for name, choice, start in STARTS:
            given = changes.get(name)
            if isinstance(given, Mapping) and given.get(start) and choice not in given:
                if getattr(getattr(made, name), choice) == "NONE":
                    raise FormatError(f"{name}.{start} means nothing without a {name}.{choice}")
        return made

    def to_json(self) -> str:
        """This format as a JSON document, with its `version`, which `from_json` reads back."""
        return document.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> WireFormat:
        """Read a format from a JSON document; what is left out has its default.

        Raises:
            FormatError: text that is not JSON, a document of another version, fields that do not
                exist, values of the wrong kind, and a format that contradicts itself.
        """
        return document.from_json(cls, text)


def _contradictions(fmt: WireFormat) -> Iterator[str]:
    """What cannot be in one format, or what is missing in it, in words."""
    for part in fields(fmt):
        kind: object = part.default_factory
        group = getattr(fmt, part.name)
        if isinstance(kind, type) and not isinstance(group, kind):
            yield f"{part.name} must be a {kind.__name__}, not {group!r}"
        for name in _too_long(group) if is_dataclass(group) else ():
            yield f"{name} has more than {LONGEST_MARKER} characters"
    reasoning, content, tools, derived = fmt.reasoning, fmt.content, fmt.tools, fmt.derived
    if derived.has_reasoning and not reasoning.end.strip():
        yield f"reasoning mode {reasoning.mode} needs a reasoning.end"
    if reasoning.mode in (ReasoningMode.TAG_BASED, ReasoningMode.TOOLS_ONLY):
        if not reasoning.start.strip():
            yield f"reasoning mode {reasoning.mode} needs a reasoning.start"
    if len(reasoning.alternatives) % 2 or not all(map(str.strip, reasoning.alternatives)):
        yield "reasoning.alternatives are pairs of markers, a start and its end"
    if reasoning.alternatives and not reasoning.start.strip():
        yield "reasoning.alternatives need a reasoning.start"
    if content.mode is not ContentMode.PLAIN and not content.start.strip():
        yield f"content mode {content.mode} needs a content.start"
    if tools.format is ToolFormat.JSON_NATIVE and not tools.name_is_key:
        if not (tools.name_field and tools.arguments_field):
            yield "JSON_NATIVE needs a name_field and an arguments_field, or name_is_key"
    if tools.also is not ToolFormat.NONE:
        yield from _no_second_form(fmt)
    if len(tools.constants) % 2:
        yield "tools.constants are pairs of a key and a value in JSON"
    for value in tools.constants[1::2]:
        if value and not _is_json(value):
            yield f"tools.constants: {value!r:.80} is no JSON"
    if tools.format is ToolFormat.TAG_WITH_TAGGED:
        yield from _no_arguments(fmt)
    tables = {
        "function.name_escapes": fmt.function.name_escapes,
        "arguments.name_escapes": fmt.arguments.name_escapes,
        "arguments.value_escapes": fmt.arguments.value_escapes,
    }
    for where, pairs in tables.items():
        yield from faults_of(pairs, where)
    if fmt.function.close_suffix.strip() and not fmt.function.close.strip():
        yield "function.close_suffix needs a function.close, behind which the name stands again"
    if derived.is_tagged and derived.unmarked_calls:
        yield f"{tools.format} needs a marker before the name of a function"


def _no_second_form(fmt: WireFormat) -> Iterator[str]:
    """What calls in a second form need, and have not."""
    tools = fmt.tools
    forms = {ToolFormat.JSON_NATIVE, ToolFormat.TAG_WITH_JSON}
    if {tools.format, tools.also} != forms:
        yield "tools.also is JSON_NATIVE beside TAG_WITH_JSON, or the other way round"
    if not (tools.name_field and tools.arguments_field):
        yield "tools.also needs a name_field and an arguments_field, for the form in JSON"
    marker = tools.per_call_start.strip() or tools.section_start.strip()
    if not marker or fmt.function.name_prefix.strip():
        yield "tools.also needs a marker of calls, with nothing between it and the name"


@cache
def marker_fields() -> Mapping[str, tuple[str, ...]]:
    """The fields of each group of a format that hold text as the model writes it."""
    usual = WireFormat()
    groups = ((part.name, getattr(usual, part.name)) for part in fields(usual))
    return {name: marker_fields_of(type(group)) for name, group in groups if is_dataclass(group)}


def marker_texts(fmt: WireFormat) -> Iterator[tuple[str, str]]:
    """Yield each text that a model writes in a format, with the name of its group."""
    for group, names in marker_fields().items():
        for name in names:
            value = getattr(getattr(fmt, group), name)
            texts = [value] if isinstance(value, str) else value
            yield from ((group, text) for text in texts if text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _no_arguments(fmt: WireFormat) -> Iterator[str]:
    """What arguments in tags need, and have not."""
    arguments = fmt.arguments
    if not (arguments.name_prefix + arguments.name_suffix + arguments.value_prefix).strip():
        yield "TAG_WITH_TAGGED needs an arguments.name_prefix or a name_suffix"
    for way in arguments.ways:
        blank = not way.value_suffix.strip() and "\n" not in way.value_suffix
        if blank and (way.value_suffix or not arguments.name_prefix.strip()):
            yield "TAG_WITH_TAGGED needs an arguments.value_suffix, or names behind a marker"
    if not arguments.name_prefix.strip() and not (fmt.derived.closers or arguments.end.strip()):
        if not fmt.derived.closes_by_name:
            yield "arguments whose names stand behind no marker need one that ends them"
    if bool(arguments.object_start.strip()) is not bool(arguments.object_end.strip()):
        yield "arguments.object_start needs an arguments.object_end, and the other way round"
    if len(arguments.alternatives) % 4:
        yield "arguments.alternatives are ways, of each the types and three markers"


def _too_long(group: Any) -> Iterator[str]:
    """The fields of a group that have a marker of more than `LONGEST_MARKER` characters."""
    for part in fields(group):
        value = getattr(group, part.name)
        texts = (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()
        if part.name != "generation_prompt" and any(len(text) > LONGEST_MARKER for text in texts):
            yield part.name
