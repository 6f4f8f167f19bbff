"""A tool's name and what its arguments must be, by the jsonschema package (extra `gate`).

Everything that can be wrong with a schema is found at construction. The dialect is the one that
`$schema` names, else 2020-12. References are looked up in the schema itself and in the
meta-schemas, never fetched; formats are asserted as far as jsonschema checks them here (some need
packages of their own). A schema is the operator's: a `pattern` that backtracks without end on a
hostile argument is not found here.

Where a schema does not say what other arguments are than those it names, they are refused: an
argument that the model made up is not one that the tool was asked to take.
`"additionalProperties": true` allows them. Names count that stand in parts of the schema which hold
for the arguments at hand, as `unevaluatedProperties` has it; in drafts that do not know this
keyword as well. A tool that has no schema takes no arguments; one with something in its place that
is not known for a schema is refused at construction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from deltaparse.partial import UsageError
from deltaparse.stream.tools import read_tools

from .records import Refusal
from .tags import NAME

__all__ = ["Tool", "allow_list"]

INSTALL = "ToolGate validates with the package jsonschema: pip install deltaparse[gate]"
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
DESCRIBING = {"type", "function", "name", "description", "parameters", "strict", "title"}
"""What the description of a tool without a schema may have."""

LONGEST_DETAIL = 200


class _Validator(Protocol):
    """What is used of a validator of jsonschema."""

    def iter_errors(self, instance: Any) -> Iterator[Any]:
        """What is wrong with the instance, as it is found."""


class _Names:
    """The arguments that a schema names, in a draft that does not know `unevaluatedProperties`.

    The arguments have passed the schema. A part of it that need not hold names them where it does.
    """

    __slots__ = ("_resolver", "_schema", "_validator")

    def __init__(self, schema: dict[str, Any], dialect: str, validator: Any) -> None:
        from jsonschema_specifications import REGISTRY
        from referencing.jsonschema import specification_with

        root = specification_with(dialect).create_resource(schema)
        self._schema = schema
        self._resolver: Any = REGISTRY.resolver_with_root(root)
        self._validator = validator

    def lacks(self, arguments: dict[str, Any]) -> bool:
        """Whether the schema names not all of the arguments."""
        return not self._named(self._schema, arguments, self._resolver) >= arguments.keys()

    def _named(self, schema: Any, arguments: dict[str, Any], resolver: Any) -> set[str]:
        if not isinstance(schema, dict):
            return set()
        # What a draft does not know is not applied either.
        then, otherwise = schema.get("then"), schema.get("else")
        schema = {key: schema[key] for key in schema if key in self._validator.VALIDATORS}
        if "$ref" in schema:
            # What stands beside a reference counts for nothing in these drafts.
            found = resolver.lookup(schema["$ref"])
            return self._named(found.contents, arguments, found.resolver)
        if schema.get("additionalProperties", False) is not False:
            return set(arguments)
        named: set[str] = arguments.keys() & schema.get("properties", {}).keys()
        patterns = [re.compile(pattern) for pattern in schema.get("patternProperties", {})]
        named |= {key for key in arguments if any(one.search(key) for one in patterns)}
        for part in self._parts(schema, arguments):
            named |= self._named(part, arguments, resolver)
        if "if" in schema:
            holds = self._holds(schema["if"], arguments)
            for part in [schema["if"], then] if holds else [otherwise]:
                named |= self._named(part, arguments, resolver)
        return named

    def _parts(self, schema: dict[str, Any], arguments: dict[str, Any]) -> Iterator[Any]:
        """The schemas within, about the same arguments, that hold for them."""
        extended = schema.get("extends", [])
        yield from extended if isinstance(extended, list) else [extended]
        yield from schema.get("allOf", [])
        for part in (*schema.get("anyOf", []), *schema.get("oneOf", [])):
            if self._holds(part, arguments):
                yield part
        for key, part in schema.get("dependencies", {}).items():
            if key in arguments and isinstance(part, dict):
                yield part

    def _holds(self, schema: Any, arguments: dict[str, Any]) -> bool:
        return bool(self._validator.evolve(schema=schema).is_valid(arguments))


class Tool:
    """One tool of the allow-list."""

    __slots__ = ("_names", "_parameters", "_validator", "name")

    def __init__(
        self, name: str, parameters: dict[str, Any], validator: _Validator, names: _Names | None
    ) -> None:
        self.name = name
        self._parameters = parameters
        self._validator = validator
        self._names = names

    def description(self) -> dict[str, Any]:
        """Return the tool as a parser takes it."""
        return {"name": self.name, "parameters": self._parameters}

    def check(self, arguments: dict[str, Any]) -> None:
        """Hold the arguments to the schema.

        Raises:
            Refusal: schema, validator_error. The detail names the place and the keyword, but no
                value that the model wrote.
        """
        try:
            error = next(self._validator.iter_errors(arguments), None)
            unnamed = error is None and self._names is not None and self._names.lacks(arguments)
        except Exception as failure:  # noqa: BLE001 - jsonschema, and checkers of formats, fail in many ways
            kind = type(failure).__name__
            raise Refusal("validator_error", f"the schema could not be applied: {kind}") from None
        if unnamed:
            raise Refusal("schema", 'at $: breaks "additionalProperties": false')
        if error is not None:
            rule = _cut(json.dumps(error.validator_value, ensure_ascii=False, default=repr))
            place = _cut(error.json_path)
            raise Refusal("schema", f'at {place}: breaks "{error.validator}": {rule}')


def allow_list(tools: Sequence[Mapping[str, Any]]) -> dict[str, Tool]:
    """Make the allow-list of OpenAI tools, or of their function objects.

    Raises:
        UsageError: a bad schema, or no tool; the text names the tool and the place in its schema.
    """
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        raise UsageError(INSTALL) from None
    found: dict[str, Tool] = {}
    for name, parameters in read_tools(tools).schemas.items():
        if not NAME.fullmatch(name):
            rule = 'a name is 1 to 128 characters, without space, control, ", <, > and &'
            raise UsageError(f"tool {_cut(repr(name))} cannot be written in a tag; {rule}")
        if parameters is None:
            _check_has_none(name, tools)
        found[name] = _tool(name, EMPTY if parameters is None else parameters)
    return found


def _check_has_none(name: str, tools: Sequence[Any]) -> None:
    """Raise `UsageError` where the tool, which has no schema, may have one under another name."""
    unknown: list[str] = []
    for tool in tools:
        inner = tool.get("function") if isinstance(tool, Mapping) else None
        members = {**tool, **inner} if isinstance(inner, Mapping) else tool
        if isinstance(members, Mapping) and members.get("name") == name:
            told = (key for key, value in members.items() if value is not None)
            unknown += [key for key in told if key not in DESCRIBING]
    if unknown:
        rule = 'write its schema under "parameters", or "parameters": {} if it takes no arguments'
        raise UsageError(f"tool {name!r} has {_cut(repr(unknown))} and no schema; {rule}")


def _tool(name: str, parameters: object) -> Tool:
    import jsonschema
    from jsonschema import validators
    from jsonschema_specifications import REGISTRY

    schema = _copied(name, parameters)
    dialect = schema.pop("$schema", jsonschema.Draft202012Validator.META_SCHEMA["$schema"])
    library: Any = validators  # its types know neither a default of None nor `extend`
    named = {"$schema": dialect}
    base = library.validator_for(named, default=None) if isinstance(dialect, str) else None
    if base is None:
        known = "a draft that jsonschema knows, or leave it out for 2020-12"
        raise _bad(name, "$.$schema", f"{_cut(repr(dialect))} is no known dialect; name {known}")
    try:
        base.check_schema(schema)
        _check_references(name, schema, dialect)
    except jsonschema.SchemaError as error:
        raise _bad(name, error.json_path, error.message) from None
    except RecursionError:
        raise _bad(name, "$", "it nests too deep; write it flatter, with $defs") from None
    types = schema.get("type", "object")
    if types != "object" and "object" not in types:
        raise _bad(name, "$.type", 'arguments are always an object; write "type": "object"')
    closes = "unevaluatedProperties" in base.VALIDATORS
    speaks = "additionalProperties" in schema or "unevaluatedProperties" in schema
    closed = schema if speaks or not closes else {**schema, "unevaluatedProperties": False}
    validator: Any = library.extend(base, {"uniqueItems": _unique_items})(
        closed, format_checker=base.FORMAT_CHECKER, registry=REGISTRY
    )
    tool = Tool(name, schema, validator, None if closes else _Names(schema, dialect, validator))
    try:
        next(validator.iter_errors({}), None)
    except RecursionError:
        raise _bad(name, "$", "it refers to itself without end; break the circle of $ref") from None
    except Exception as error:  # noqa: BLE001 - as in `Tool.check`
        raise _bad(name, "$", f"it cannot be applied: {error}") from None
    return tool


def _copied(name: str, parameters: object) -> dict[str, Any]:
    """A copy that nobody else can change, of JSON types only."""
    if not isinstance(parameters, Mapping):
        rule = "parameters are a JSON Schema as a dict, or left out for a tool without arguments"
        raise _bad(name, "$", f"{rule}, not {type(parameters).__name__}")
    try:
        copied: dict[str, Any] = json.loads(json.dumps(dict(parameters), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise _bad(name, "$", f"it is no JSON ({error}); use JSON types only") from None
    return copied


def _check_references(name: str, schema: dict[str, Any], dialect: str) -> None:
    """Raise `UsageError` for a reference that leads nowhere, or out of the schema."""
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import specification_with

    root = specification_with(dialect).create_resource(schema)
    left = [(root, REGISTRY.resolver_with_root(root))]
    while left:
        resource, resolver = left.pop()
        contents = resource.contents
        for keyword in REFERENCES if isinstance(contents, Mapping) else ():
            if keyword not in contents:
                continue
            try:
                resolver.lookup(contents[keyword])
            except Exception:  # noqa: BLE001 - a reference can be no reference in many ways
                where = f"{keyword} {_cut(repr(contents[keyword]))}"
                advice = "nothing is fetched; put what it refers to under $defs"
                raise _bad(name, "$", f"{where} leads to nothing in it: {advice}") from None
        inner = resource.subresources()
        left += [(part, resolver.in_subresource(part)) for part in inner]


def _unique_items(_validator: Any, unique: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """`uniqueItems` in time that grows with the list; jsonschema compares each item with each."""
    from jsonschema import ValidationError

    if unique is True and isinstance(instance, list):
        if len({_key(item) for item in instance}) < len(instance):
            yield ValidationError("has items that are equal")


def _key(value: Any) -> Hashable:
    """A key that is the same for values that JSON Schema calls equal: 1 and 1.0, not 1 and true."""
    if isinstance(value, dict):
        return ("object", frozenset((name, _key(item)) for name, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(_key(item) for item in value))
    return (isinstance(value, bool), value)


def _bad(name: str, path: str, what: str) -> UsageError:
    return UsageError(f"tool {name!r}: its schema is bad at {path}: {_cut(what)}")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_DETAIL else f"{text[: LONGEST_DETAIL - 3]}..."
