"""The tools of a request, read once for all: each function's name and the schema of its arguments.

    {"type": "function", "function": {"name": ..., "parameters": {...}}}     OpenAI
    {"type": "function", "name": ..., "parameters": {...}}                   OpenAI's Responses
    {"name": ..., "parameters": {...}}                                       a function description
    {"name": ..., "input_schema": {...}, "strict": ...}                      Anthropic
    {"name": ..., "inputSchema": {...}}                                      MCP
    {"function_declarations": [{"name": ..., "parameters": {...}}]}          Gemini

Each may be a mapping, an object with such attributes, or one that dumps itself as pydantic's do. A
schema may be JSON text, and may be written in Gemini's dialect (`"STRING"`), which becomes JSON
Schema here. So the parser, the grammar, the gate and the servers read the same names and schemas.

Who asks may be stricter than this:

    the grammar    refuses a schema that is no object's (`grammar/turn/offered_tools.py`).
    the gate       refuses names that cannot be written in a tag, and schemas that are not valid
                   (`gate/schemas.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from deltaparse.partial import UsageError

__all__ = ["AUTO", "Choice", "Schemas", "ToolChoice", "Tools", "read_choice", "read_tools"]

ToolChoice = Literal["auto", "none", "required", "any"] | Mapping[str, Any] | None
"""Whether a model may call, or has to; a mapping may name the functions that it may call."""

FORM = '{"type": "function", "function": {"name": ..., "parameters": {...}}}'
CHOICE_FORM = '{"type": "function", "function": {"name": ...}}'
LONGEST_SHOWN = 200
"""Characters of a bad tool in a message."""

# `isinstance` with the built-in types first: with `Mapping` alone it takes ten times as long.
MAPPING = (dict, Mapping)
LIST = (list, tuple)

DECLARATIONS = ("function_declarations", "functionDeclarations")
"""Where Gemini has its functions."""

SCHEMA_KEYS = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parameters_json_schema",
    "parametersJsonSchema",
)
"""Where a tool has the schema of its arguments; the first that is there and not null counts."""

ATTRIBUTES = ("type", "function", *DECLARATIONS, "name", "description", "strict", *SCHEMA_KEYS)

LIKE_A_SCHEMA = re.compile(
    "(?!out|return|response).*(schema|param|input|arguments|properties)|(.*_)?args", re.IGNORECASE
)
"""The name of a member that may hold the schema of the arguments."""

MODES: dict[Any, Literal["auto", "none", "required"]] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",
}


class Tools(Sequence[Mapping[str, Any]]):
    """Tools that were read and checked, once for many parsers, grammars and gates.

    Pass it wherever `tools` is accepted. It is a sequence of tools in OpenAI's shape, and a copy:
    changing the originals later has no effect. `Tools` of `Tools` is the same object.

    Args:
        tools: a list of tools in any known shape: OpenAI's, Anthropic's, MCP's, Gemini's, as
            mappings or as objects, their schemas as mappings or as JSON text. A tool whose `type`
            is another than "function", such as "web_search", is left out: no output calls it.
            A tool that is given twice is one tool.

    Raises:
        UsageError: `tools` are no list, one of them is in no known shape, its schema is none, or
            one name has two schemas; the text has the place.
    """

    __slots__ = ("_functions", "schemas")

    _functions: Mapping[str, Mapping[str, Any]]
    schemas: Mapping[str, Any]
    """The JSON Schema of the arguments by the name of the function, None without one."""

    def __new__(cls, tools: Any) -> Tools:  # noqa: PYI034 - what was read is returned as it is
        """Read `tools`, unless they have been read."""
        if isinstance(tools, Tools):
            return tools
        functions = {name: _copied(name, one) for name, one in _read(tools).items()}
        schemas = {name: function.get("parameters") for name, function in functions.items()}
        made = object.__new__(cls)
        made._functions = functions
        made.schemas = schemas
        return made

    def __len__(self) -> int:
        return len(self._functions)

    @overload
    def __getitem__(self, at: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, at: slice) -> list[Mapping[str, Any]]: ...

    def __getitem__(self, at: int | slice) -> Any:
        names = list(self._functions)
        if isinstance(at, slice):
            return [self._openai(name) for name in names[at]]
        return self._openai(names[at])

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return map(self._openai, self._functions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tools):
            return NotImplemented
        return self is other or list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self._functions))

    def __repr__(self) -> str:
        return f"<Tools: {', '.join(self._functions) or 'none'}>"

    def __reduce__(self) -> tuple[type[Tools], tuple[list[Mapping[str, Any]]]]:
        return Tools, (list(self),)

    def _openai(self, name: str) -> dict[str, Any]:
        return {"type": "function", "function": _copied(name, self._functions[name])}


class Schemas(Mapping[str, Any]):
    """The schemas of functions by name, each read when it is first asked for.

    Most turns have no call, and none asks for more than one schema.
    """

    __slots__ = ("_functions", "_read")

    def __init__(self, functions: Mapping[str, Mapping[str, Any]]) -> None:
        self._functions = functions
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = _json_schema(self._functions[name].get("parameters"))
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a tool choice says.

    mode:      "auto": the model may call; "none": it may not; "required": it is to call.
    function:  the one function that it is to call, None for any.
    allowed:   the functions that it may call, None for all.
    """

    mode: Literal["auto", "none", "required"]
    function: str | None = None
    allowed: frozenset[str] | None = None


CHOICES = {word: Choice(mode) for word, mode in [*MODES.items(), (None, MODES["auto"])]}
AUTO = CHOICES["auto"]


def read_tools(tools: Any) -> Tools:
    """Read the tools of a request. Their schemas are looked at when they are asked for.

    Raises:
        UsageError: as `Tools`.
    """
    if type(tools) is Tools:
        return tools
    made = object.__new__(Tools)
    made._functions = functions = _read(tools)
    made.schemas = Schemas(functions)
    return made


def _read(tools: Any) -> dict[str, Mapping[str, Any]]:
    """The functions of the tools by name, as OpenAI describes them."""
    if not isinstance(tools, LIST):
        _check_list(tools)
    found: dict[str, Mapping[str, Any]] = {}
    for at, tool in enumerate(tools):
        try:
            # As nearly all tools are, read at a fraction of the cost.
            function = tool["function"]
            name = function["name"]
            if (
                tool["type"] == "function"
                and type(function) is dict
                and type(function["parameters"]) is dict
                and type(name) is str
                and name
                and name not in found
            ):
                found[name] = function
                continue
        except (LookupError, TypeError):
            pass
        for function in _functions(tool, at):
            name = function["name"]
            if name in found and _differ(found[name], function):
                raise UsageError(
                    f"tool {name!r} is given twice, with two schemas: which is meant? Give each "
                    "tool once"
                )
            found[name] = function
    return found


def read_choice(tool_choice: Any, names: Collection[str] | None) -> Choice:
    """Read a tool choice, in the words of OpenAI or of Anthropic.

        "auto", None        "none"        "required", "any"
        {"type": "function", "function": {"name": ...}}, {"type": "tool", "name": ...}
        {"type": "auto"}, {"type": "any"}, {"type": "none"}
        {"type": "allowed_tools", "allowed_tools": {"mode": ..., "tools": [...]}}

    Raises:
        UsageError: it is none of these, or names none of `names` (None: any will do).
    """
    if tool_choice is None or isinstance(tool_choice, str):
        if tool_choice in CHOICES:
            return CHOICES[tool_choice]
        choice: Any = None
    else:
        choice = _plain(tool_choice)
    if choice is None:
        words = '"auto", "none", "required" or a tool choice object'
        raise UsageError(f"tool_choice={tool_choice!r}: {words}")
    kind = choice.get("type")
    if isinstance(kind, str) and kind in CHOICES:
        return CHOICES[kind]
    if kind == "allowed_tools":
        return _allowed(choice, names)
    name = _chosen(choice)
    if kind not in (None, "function", "tool") or name is None:
        raise UsageError(f"a tool choice object is {CHOICE_FORM}, not {_shown(tool_choice)}")
    _check_name(name, names)
    return Choice("required", name, frozenset((name,)))


def _allowed(choice: Mapping[str, Any], names: Collection[str] | None) -> Choice:
    """The choice of some of the tools, as OpenAI has it in either of its protocols."""
    inner = _plain(choice.get("allowed_tools")) or choice
    mode, tools = inner.get("mode"), inner.get("tools")
    if mode not in ("auto", "required") or not isinstance(tools, LIST) or not tools:
        raise UsageError(
            'allowed_tools are {"mode": "auto" or "required", "tools": [...]}, '
            f"not {_shown(inner)}"
        )
    allowed = set()
    for at, tool in enumerate(tools):
        one = _plain(tool)
        kind, name = (one.get("type"), _chosen(one)) if one is not None else (None, None)
        if isinstance(kind, str) and kind != "function":
            continue
        if name is None:
            raise UsageError(f"an allowed tool is {CHOICE_FORM}; tools[{at}] is {_shown(tool)}")
        _check_name(name, names)
        allowed.add(name)
    # With tools only that no output calls, there is nothing to call.
    return Choice(mode if allowed else "none", None, frozenset(allowed))


def _chosen(choice: Mapping[str, Any]) -> str | None:
    """The name in a tool choice object, or in an allowed tool."""
    name = (_plain(choice.get("function")) or choice).get("name")
    return name if isinstance(name, str) else None


def _check_name(name: str, names: Collection[str] | None) -> None:
    if names is not None and name not in names:
        raise UsageError(f"tool_choice names {name!r}, which is not one of the tools")


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two functions have different schemas."""
    first, second = one.get("parameters"), other.get("parameters")
    return bool(first != second and _json_schema(first) != _json_schema(second))


def _check_list(tools: object) -> None:
    # An iterator can be read once, and `len` says whether there are tools.
    if not isinstance(tools, Collection) or isinstance(tools, (str, bytes, *MAPPING)):
        kind = type(tools).__name__
        advice = "; make a list of it" if isinstance(tools, Iterator) else ""
        raise UsageError(f"tools are a list of OpenAI tools, not {kind}{advice}")


def _functions(tool: object, at: int) -> Sequence[Mapping[str, Any]]:
    """The functions that a tool has, as OpenAI describes them; none where it is no function."""
    plain = _plain(tool)
    if plain is None:
        raise UsageError(f"a tool is {FORM}; tools[{at}] is {_shown(tool)}")
    for key in DECLARATIONS:
        if key in plain:
            declared = plain[key] or ()
            if not isinstance(declared, LIST):
                raise UsageError(f"{key} are a list; tools[{at}] is {_shown(tool)}")
            return [_function(_plain(one), one, at) for one in declared]
    kind = plain.get("type")
    # "custom" is Anthropic's word for a function, and OpenAI's for a tool that takes any text.
    is_function = kind in (None, "function") or (kind == "custom" and "input_schema" in plain)
    if is_function:
        inner = plain.get("function")
        if inner is None:
            described: Any = {key: value for key, value in plain.items() if key != "type"}
        else:
            described = _plain(inner)
        return (_function(described, tool, at),)
    if isinstance(kind, str) and kind.upper() not in TYPES:
        return ()
    raise UsageError(f"a tool is {FORM}; tools[{at}] is {_shown(tool)}")


def _function(function: Mapping[str, Any] | None, tool: object, at: int) -> Mapping[str, Any]:
    """A function, its schema under "parameters" as a mapping."""
    name = function.get("name") if function is not None else None
    if function is None or not isinstance(name, str) or not name:
        raise UsageError(f"a tool is {FORM}; tools[{at}] is {_shown(tool)}")
    keys = [key for key in SCHEMA_KEYS if key in function]
    if not keys:
        odd = [key for key in function if LIKE_A_SCHEMA.match(str(key))]
        if odd and function[odd[0]] is not None:
            advice = f'put the schema of its arguments under "parameters", not {odd[0]!r}'
            raise UsageError(f"tool {name!r} is in no known shape: {advice}")
        return function
    key = next((key for key in keys if function[key] is not None), keys[0])
    given = function[key]
    schema = _schema(name, given)
    if key == "parameters":
        return {**function, key: schema}
    described = {"name": name, "description": function.get("description"), "parameters": schema}
    described["strict"] = function.get("strict")
    return {key: value for key, value in described.items() if value is not None}


def _schema(name: str, given: Any) -> Mapping[str, Any] | None:
    """A schema as a mapping: it is one, or JSON text, or pydantic's."""
    if given is None or isinstance(given, MAPPING):
        return given
    schema: Any = None
    if isinstance(given, str):
        try:
            schema = json.loads(given)
        except (ValueError, RecursionError):
            schema = None
    else:
        dump = "model_json_schema" if isinstance(given, type) else "model_dump"
        schema = getattr(given, dump)() if hasattr(given, dump) else None
    if not isinstance(schema, MAPPING):
        rule = "parameters are a JSON Schema as a mapping or as JSON text"
        raise UsageError(f"tool {name!r}: {rule}, not {type(given).__name__}: {_shown(given)}")
    return schema


def _plain(value: Any) -> Mapping[str, Any] | None:
    """A mapping, pydantic object, or object with attributes of a tool, as a mapping, or None."""
    if isinstance(value, MAPPING):
        return value
    if value is None or isinstance(value, (type, str)):
        return None
    if hasattr(value, "model_dump"):
        dumped = value.model_dump()
        return dumped if isinstance(dumped, MAPPING) else None
    found = {name: getattr(value, name) for name in ATTRIBUTES if hasattr(value, name)}
    return {**getattr(value, "__dict__", {}), **found} if found else None


def _copied(name: str, function: Mapping[str, Any]) -> dict[str, Any]:
    """A function that nobody else can change, its schema a JSON Schema."""
    try:
        copied: dict[str, Any] = _own(function)
    except RecursionError:
        raise UsageError(f"tool {name!r} nests too deep; write its schema flatter") from None
    if "parameters" in copied:
        copied["parameters"] = _json_schema(copied["parameters"])
    return copied


def _own(value: Any) -> Any:
    """A copy of a value of JSON types."""
    if isinstance(value, MAPPING):
        return {key: _own(part) for key, part in value.items()}
    return [_own(part) for part in value] if isinstance(value, LIST) else value


# Gemini's dialect of schemas is that of OpenAPI 3.0 in other letters.
TYPES = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED"}
NULL = {"type": "null"}
COUNTS = {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
VALUES = {"const", "default", "enum", "example", "examples"}
"""Keywords of a schema that hold values, not schemas."""
NAMED = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
"""Keywords that hold schemas by names."""


def _json_schema(schema: Any, gemini: bool = False) -> Any:
    """A schema in which what is written in Gemini's dialect is written as JSON Schema.

    `gemini`: the schema around it is in that dialect.
    """
    try:
        return _translated(schema, gemini)
    except RecursionError:
        return schema


def _translated(schema: Any, gemini: bool) -> Any:
    if isinstance(schema, LIST):
        return [_translated(one, gemini) for one in schema]
    if not isinstance(schema, MAPPING):
        return schema
    kind = schema.get("type")
    gemini = gemini or (isinstance(kind, str) and kind in TYPES)
    made: dict[str, Any] = {}
    for word, value in schema.items():
        key = word
        if gemini:
            if value is None:
                continue
            key = re.sub("_([a-z])", lambda found: found[1].upper(), word)
        if key in VALUES:
            made[key] = value
        elif key in NAMED and isinstance(value, MAPPING):
            made[key] = {name: _translated(one, gemini) for name, one in value.items()}
        else:
            made[key] = _translated(value, gemini)
    return _translate_words(made) if gemini else made


def _translate_words(schema: dict[str, Any]) -> dict[str, Any]:
    """Write the type, what may be null and the counts of a schema as JSON Schema has them."""
    kind = schema.get("type")
    if isinstance(kind, str):
        schema["type"] = kind.lower()
        if kind == "TYPE_UNSPECIFIED":
            del schema["type"]
    if schema.pop("nullable", None) is True:
        if isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and NULL not in schema[word]:
                schema[word] = [*schema[word], NULL]
        if isinstance(schema.get("enum"), list):
            schema["enum"] = [*schema["enum"], None]
    for key in COUNTS & schema.keys():
        if isinstance(schema[key], str) and schema[key].isascii() and schema[key].isdigit():
            schema[key] = int(schema[key])
    return schema


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."
