"""The tools of a request: the name of each function and the schema of its arguments.

    {"type": "function", "function": {"name": ..., "parameters": {...}}}     OpenAI
    {"type": "function", "name": ..., "parameters": {...}}                   OpenAI's Responses
    {"name": ..., "parameters": {...}}                                       a function description
    {"name": ..., "input_schema": {...}, "strict": ...}                      Anthropic
    {"name": ..., "inputSchema": {...}}                                      MCP
    {"function_declarations": [{"name": ..., "parameters": {...}}]}          Gemini

Each may be a mapping, an object with these attributes, or a pydantic object. A schema may be JSON
text. Gemini's dialect (`"STRING"`) is translated to JSON Schema. So the parser, the grammar, the
gate and the servers use the same names and schemas.

Two callers check more:

    the grammar    refuses schemas of other types than object (`grammar/turn/offered_tools.py`).
    the gate       refuses names that cannot be written in a tag, and invalid schemas
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
"""A tool choice: if the model may or must call, and, in a mapping, the allowed functions."""

FORM = '{"type": "function", "function": {"name": ..., "parameters": {...}}}'
CHOICE_FORM = '{"type": "function", "function": {"name": ...}}'
# Limited, because a tool with its schema may have many pages.
LONGEST_SHOWN = 200
"""The maximum number of characters of an invalid tool in an error message."""

# The built-in type first, because `isinstance` with `Mapping` alone takes ten times as long.
MAPPING = (dict, Mapping)
# Not any `Sequence`, because strings are sequences too.
LIST = (list, tuple)

DECLARATIONS = ("function_declarations", "functionDeclarations")
"""The keys of functions in a tool of Gemini."""

SCHEMA_KEYS = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parameters_json_schema",
    "parametersJsonSchema",
)
"""The keys of the arguments' schema in a tool; the first one that is not null counts."""

# Read one by one, because objects with slots or properties have no `__dict__` to copy.
ATTRIBUTES = ("type", "function", *DECLARATIONS, "name", "description", "strict", *SCHEMA_KEYS)

# Refused, because the tool would otherwise be read as one without arguments.
LIKE_A_SCHEMA = re.compile(
    "(?!out|return|response).*(schema|param|input|arguments|properties)|(.*_)?args", re.IGNORECASE
)
"""A pattern of unknown keys that probably hold the schema of the arguments."""

# "any" is Anthropic's name of "required".
MODES: dict[Any, Literal["auto", "none", "required"]] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",
}


class Tools(Sequence[Mapping[str, Any]]):
    """Checked tools, for use by many parsers, grammars and gates.

    Pass an instance wherever `tools` is accepted. It is a sequence of tools in OpenAI's shape, and
    a copy, so later changes to the originals have no effect. `Tools(tools)` returns `tools` itself
    if it is a `Tools`.

    Attributes:
        schemas: the JSON Schema of the arguments, or None, by the name of the function.

    Args:
        tools: a list of tools in the shape of OpenAI, Anthropic, MCP or Gemini, as mappings or as
            objects, their schemas as mappings or as JSON text. Tools of another `type` than
            "function", e.g. "web_search", are left out, because no response calls them. The same
            tool given twice counts once.

    Raises:
        UsageError: `tools` is not a list, a tool has an unknown shape, a schema is not a mapping,
            or one name has two schemas. The message has the index of the tool.
    """

    __slots__ = ("_functions", "schemas")

    _functions: Mapping[str, Mapping[str, Any]]
    schemas: Mapping[str, Any]
    """The JSON Schema of the arguments, or None, by the name of the function."""

    def __new__(cls, tools: Any) -> Tools:  # noqa: PYI034 - returns `tools` if it is a `Tools`
        """Read `tools`, or return `tools` itself if it is a `Tools`."""
        # An instance is never changed, so it needs no copy.
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
        # Identity first, because comparing all schemas costs much more.
        return self is other or list(self) == list(other)

    def __hash__(self) -> int:
        # By the names alone, because schemas cannot be hashed.
        return hash(tuple(self._functions))

    def __repr__(self) -> str:
        return f"<Tools: {', '.join(self._functions) or 'none'}>"

    # Without this, a copy would call `__new__` without its argument.
    def __reduce__(self) -> tuple[type[Tools], tuple[list[Mapping[str, Any]]]]:
        return Tools, (list(self),)

    def _openai(self, name: str) -> dict[str, Any]:
        # A copy, so that a caller cannot change the tools.
        return {"type": "function", "function": _copied(name, self._functions[name])}


class Schemas(Mapping[str, Any]):
    """The schemas of functions by name, each read on first use.

    Most turns have no call, so they need no schema.
    """

    __slots__ = ("_functions", "_read")

    def __init__(self, functions: Mapping[str, Mapping[str, Any]]) -> None:
        self._functions = functions
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        # Kept, because a turn may have several calls of one function.
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
    """A tool choice.

    Attributes:
        mode: "auto" if the model may call a tool, "none" if it must not, "required" if it must.
        function: the one function that the model must call, None for any.
        allowed: the functions that the model may call, None for all.
    """

    mode: Literal["auto", "none", "required"]
    function: str | None = None
    allowed: frozenset[str] | None = None


# Made once, because nearly all requests have one of these choices.
CHOICES = {word: Choice(mode) for word, mode in [*MODES.items(), (None, MODES["auto"])]}
AUTO = CHOICES["auto"]


def read_tools(tools: Any) -> Tools:
    """Read the tools of a request without a copy, and their schemas on first use.

    Raises:
        UsageError: see `Tools`.
    """
    if type(tools) is Tools:
        return tools
    # Not by `Tools(tools)`, which copies each schema, because a server reads them in each request.
    made = object.__new__(Tools)
    made._functions = functions = _read(tools)
    made.schemas = Schemas(functions)
    return made


def _read(tools: Any) -> dict[str, Mapping[str, Any]]:
    """Return the functions of the tools by name, in OpenAI's shape."""
    if not isinstance(tools, LIST):
        _check_list(tools)
    found: dict[str, Mapping[str, Any]] = {}
    for at, tool in enumerate(tools):
        try:
            # Fast path: nearly all tools have this shape, and need no copy.
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
        # All other shapes, and all errors, take the slow path.
        for function in _functions(tool, at):
            name = function["name"]
            if name in found and _differ(found[name], function):
                raise UsageError(
                    f"tool {name!r} is given twice with different schemas: give each tool once"
                )
            found[name] = function
    return found


def read_choice(tool_choice: Any, names: Collection[str] | None) -> Choice:
    """Read a tool choice of OpenAI or Anthropic.

        "auto", None        "none"        "required", "any"
        {"type": "function", "function": {"name": ...}}, {"type": "tool", "name": ...}
        {"type": "auto"}, {"type": "any"}, {"type": "none"}
        {"type": "allowed_tools", "allowed_tools": {"mode": ..., "tools": [...]}}

    Args:
        tool_choice: the tool choice.
        names: the names of the tools, None to accept any name.

    Raises:
        UsageError: `tool_choice` has another shape, or a name that is not in `names`.
    """
    if tool_choice is None or isinstance(tool_choice, str):
        if tool_choice in CHOICES:
            return CHOICES[tool_choice]
        choice: Any = None
    else:
        choice = _plain(tool_choice)
    if choice is None:
        words = '"auto", "none", "required", "any" or a tool choice object'
        raise UsageError(f"tool_choice must be {words}, not {tool_choice!r}")
    kind = choice.get("type")
    # Anthropic writes each mode as an object.
    if isinstance(kind, str) and kind in CHOICES:
        return CHOICES[kind]
    if kind == "allowed_tools":
        return _allowed(choice, names)
    # The type may be absent, because the name alone is unambiguous.
    name = _chosen(choice)
    if kind not in (None, "function", "tool") or name is None:
        raise UsageError(
            f"a tool choice object must have the form {CHOICE_FORM}, not {_shown(tool_choice)}"
        )
    _check_name(name, names)
    return Choice("required", name, frozenset((name,)))


def _allowed(choice: Mapping[str, Any], names: Collection[str] | None) -> Choice:
    """Read a choice of allowed tools, of OpenAI's Chat Completions or Responses."""
    # Responses has the members in the choice itself.
    inner = _plain(choice.get("allowed_tools")) or choice
    mode, tools = inner.get("mode"), inner.get("tools")
    if mode not in ("auto", "required") or not isinstance(tools, LIST) or not tools:
        raise UsageError(
            'allowed_tools must have the form {"mode": "auto" or "required", "tools": [...]}, '
            f"not {_shown(inner)}"
        )
    allowed = set()
    for at, tool in enumerate(tools):
        one = _plain(tool)
        kind, name = (one.get("type"), _chosen(one)) if one is not None else (None, None)
        # A tool of the server, e.g. a web search, is never called in a response.
        if isinstance(kind, str) and kind != "function":
            continue
        if name is None:
            raise UsageError(
                f"an allowed tool must have the form {CHOICE_FORM}, "
                f"but tools[{at}] is {_shown(tool)}"
            )
        _check_name(name, names)
        allowed.add(name)
    # If only tools of the server are allowed, the model cannot call any function.
    return Choice(mode if allowed else "none", None, frozenset(allowed))


def _chosen(choice: Mapping[str, Any]) -> str | None:
    """Return the name in a tool choice object or an allowed tool, None without one."""
    name = (_plain(choice.get("function")) or choice).get("name")
    return name if isinstance(name, str) else None


def _check_name(name: str, names: Collection[str] | None) -> None:
    if names is not None and name not in names:
        raise UsageError(f"tool_choice names {name!r}, which is not one of the tools")


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return True if two functions have different schemas."""
    first, second = one.get("parameters"), other.get("parameters")
    # The same schema may be written in two dialects, so unequal ones are translated.
    return bool(first != second and _json_schema(first) != _json_schema(second))


def _check_list(tools: object) -> None:
    # Not an iterator, which can be read only once and has no length.
    if not isinstance(tools, Collection) or isinstance(tools, (str, bytes, *MAPPING)):
        kind = type(tools).__name__
        advice = ": convert it to a list" if isinstance(tools, Iterator) else ""
        raise UsageError(f"tools must be a list of tools, not {kind}{advice}")


def _functions(tool: object, at: int) -> Sequence[Mapping[str, Any]]:
    """Return the functions of a tool in OpenAI's shape, none for tools of other types."""
    plain = _plain(tool)
    if plain is None:
        raise UsageError(f"a tool must have the form {FORM}, but tools[{at}] is {_shown(tool)}")
    # One tool of Gemini has any number of functions.
    for key in DECLARATIONS:
        if key in plain:
            declared = plain[key] or ()
            if not isinstance(declared, LIST):
                raise UsageError(f"{key} must be a list, but tools[{at}] is {_shown(tool)}")
            return [_function(_plain(one), one, at) for one in declared]
    kind = plain.get("type")
    # "custom" is a function for Anthropic, but a tool that takes any text for OpenAI.
    is_function = kind in (None, "function") or (kind == "custom" and "input_schema" in plain)
    if is_function:
        inner = plain.get("function")
        # OpenAI's Responses and function descriptions have no inner object.
        if inner is None:
            described: Any = {key: value for key, value in plain.items() if key != "type"}
        else:
            described = _plain(inner)
        return (_function(described, tool, at),)
    # A type of JSON Schema means that a bare schema was given instead of a tool.
    if isinstance(kind, str) and kind.upper() not in TYPES:
        return ()
    raise UsageError(f"a tool must have the form {FORM}, but tools[{at}] is {_shown(tool)}")


def _function(function: Mapping[str, Any] | None, tool: object, at: int) -> Mapping[str, Any]:
    """Return a function with its schema under "parameters" as a mapping."""
    name = function.get("name") if function is not None else None
    if function is None or not isinstance(name, str) or not name:
        raise UsageError(f"a tool must have the form {FORM}, but tools[{at}] is {_shown(tool)}")
    keys = [key for key in SCHEMA_KEYS if key in function]
    if not keys:
        odd = [key for key in function if LIKE_A_SCHEMA.match(str(key))]
        if odd and function[odd[0]] is not None:
            advice = f'put the schema of its arguments under "parameters", not {odd[0]!r}'
            raise UsageError(f"tool {name!r} has an unknown shape: {advice}")
        return function
    # A null schema counts only if no other key has a schema.
    key = next((key for key in keys if function[key] is not None), keys[0])
    given = function[key]
    schema = _schema(name, given)
    if key == "parameters":
        return {**function, key: schema}
    # Other members of Anthropic's, MCP's and Gemini's tools have no meaning in OpenAI's shape.
    described = {"name": name, "description": function.get("description"), "parameters": schema}
    described["strict"] = function.get("strict")
    return {key: value for key, value in described.items() if value is not None}


def _schema(name: str, given: Any) -> Mapping[str, Any] | None:
    """Return a schema as a mapping, from a mapping, JSON text or a pydantic class or object."""
    if given is None or isinstance(given, MAPPING):
        return given
    schema: Any = None
    if isinstance(given, str):
        try:
            schema = json.loads(given)
        # Reported below together with other invalid schemas.
        except (ValueError, RecursionError):
            schema = None
    else:
        # A pydantic class has a schema of its own, while an object of a client is dumped.
        dump = "model_json_schema" if isinstance(given, type) else "model_dump"
        schema = getattr(given, dump)() if hasattr(given, dump) else None
    if not isinstance(schema, MAPPING):
        rule = "parameters must be a JSON Schema as a mapping or as JSON text"
        raise UsageError(f"tool {name!r}: {rule}, not {type(given).__name__}: {_shown(given)}")
    return schema


def _plain(value: Any) -> Mapping[str, Any] | None:
    """Return a mapping, a pydantic object or an object with attributes of a tool as a mapping.

    Returns None for any other value.
    """
    if isinstance(value, MAPPING):
        return value
    # A class has the attributes of its instances, but not their values.
    if value is None or isinstance(value, (type, str)):
        return None
    # Clients pass pydantic objects, e.g. those of OpenAI's package.
    if hasattr(value, "model_dump"):
        dumped = value.model_dump()
        return dumped if isinstance(dumped, MAPPING) else None
    found = {name: getattr(value, name) for name in ATTRIBUTES if hasattr(value, name)}
    return {**getattr(value, "__dict__", {}), **found} if found else None


def _copied(name: str, function: Mapping[str, Any]) -> dict[str, Any]:
    """Return a deep copy of a function, its schema as JSON Schema."""
    try:
        copied: dict[str, Any] = _own(function)
    except RecursionError:
        raise UsageError(f"tool {name!r} is nested too deeply: flatten its schema") from None
    if "parameters" in copied:
        copied["parameters"] = _json_schema(copied["parameters"])
    return copied


def _own(value: Any) -> Any:
    """Return a deep copy of a value of JSON types."""
    if isinstance(value, MAPPING):
        return {key: _own(part) for key, part in value.items()}
    return [_own(part) for part in value] if isinstance(value, LIST) else value


# Gemini's dialect is that of OpenAPI 3.0 with types in upper case.
TYPES = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED"}
NULL = {"type": "null"}
# Gemini's dialect may have these numbers as strings.
COUNTS = {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
VALUES = {"const", "default", "enum", "example", "examples"}
"""Keywords with values instead of schemas, which are not translated."""
NAMED = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
"""Keywords with schemas by names; the names are not translated."""


def _json_schema(schema: Any, gemini: bool = False) -> Any:
    """Translate the parts of a schema that are in Gemini's dialect to JSON Schema.

    Args:
        schema: the schema.
        gemini: True if the surrounding schema is in Gemini's dialect.
    """
    try:
        return _translated(schema, gemini)
    # Returned unchanged, so that a schema nested too deeply does not raise here.
    except RecursionError:
        return schema


def _translated(schema: Any, gemini: bool) -> Any:
    if isinstance(schema, LIST):
        return [_translated(one, gemini) for one in schema]
    if not isinstance(schema, MAPPING):
        return schema
    kind = schema.get("type")
    # An upper-case type is the only sign of the dialect, and applies to nested schemas too.
    gemini = gemini or (isinstance(kind, str) and kind in TYPES)
    made: dict[str, Any] = {}
    for word, value in schema.items():
        key = word
        if gemini:
            # Dumped objects have null for unset members, which JSON Schema does not allow.
            if value is None:
                continue
            # Gemini's clients also spell keywords in snake case.
            key = re.sub("_([a-z])", lambda found: found[1].upper(), word)
        if key in VALUES:
            made[key] = value
        elif key in NAMED and isinstance(value, MAPPING):
            # A property may have the name of a keyword, so names are kept.
            made[key] = {name: _translated(one, gemini) for name, one in value.items()}
        else:
            made[key] = _translated(value, gemini)
    return _translate_words(made) if gemini else made


def _translate_words(schema: dict[str, Any]) -> dict[str, Any]:
    """Translate the type, `nullable` and the counts of a schema to JSON Schema."""
    kind = schema.get("type")
    if isinstance(kind, str):
        schema["type"] = kind.lower()
        # JSON Schema allows any type if the keyword is absent.
        if kind == "TYPE_UNSPECIFIED":
            del schema["type"]
    # JSON Schema has no such keyword, but a type for null.
    if schema.pop("nullable", None) is True:
        if isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and NULL not in schema[word]:
                schema[word] = [*schema[word], NULL]
        # An enum excludes null even if the type allows it.
        if isinstance(schema.get("enum"), list):
            schema["enum"] = [*schema["enum"], None]
    for key in COUNTS & schema.keys():
        # `isdigit` alone accepts characters like "²", which `int` refuses.
        if isinstance(schema[key], str) and schema[key].isascii() and schema[key].isdigit():
            schema[key] = int(schema[key])
    return schema


def _shown(value: object) -> str:
    # `repr`, so that quotes and line breaks in the value cannot be confused with the message.
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."
