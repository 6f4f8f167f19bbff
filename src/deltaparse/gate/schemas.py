"""A tool's name and what its arguments must be, by the jsonschema package (extra `gate`).

Everything that can be wrong with a schema is found at construction. The dialect is the one that
`$schema` names, else 2020-12. References are looked up in the schema itself and in the
meta-schemas, never fetched; formats are asserted as far as jsonschema checks them here (some need
packages of their own). `keywords` has what is applied by other means than jsonschema's, and `steps`
what bounds the work: a schema is the operator's, and the arguments are hostile.

Where a schema does not say what other arguments are than those it names, they are refused: an
argument that the model made up is not one that the tool was asked to take.
`"additionalProperties": true` allows them. Names count that stand in parts of the schema which hold
for the arguments at hand, as `unevaluatedProperties` has it; in drafts that do not know this
keyword as well. A tool that has no schema takes no arguments; one with something in its place that
is not known for a schema is refused at construction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from deltaparse.partial import UsageError
from deltaparse.stream.tools import read_tools

from .decision import Refusal
from .ecma import NotAPattern, NotTranslated, compiled
from .keywords import allowing, names_in, schema_checker
from .tags import NAME
from .work_budget import counting

__all__ = ["Tool", "allow_list"]

INSTALL = "ToolGate validates with the package jsonschema: pip install 'deltaparse[gate]'"
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
DESCRIBING = {"type", "function", "name", "description", "strict", "title"}
"""What the description of a tool without a schema may have."""

LONGEST_DETAIL = 200


class _Validator(Protocol):
    """What is used of a validator of jsonschema."""

    def iter_errors(self, instance: Any) -> Iterator[Any]:
        """What is wrong with the instance, as it is found."""


class Tool:
    """One tool of the allow-list."""

    __slots__ = ("_parameters", "_validator", "name")

    def __init__(self, name: str, parameters: dict[str, Any], validator: _Validator) -> None:
        self.name = name
        self._parameters = parameters
        self._validator = validator

    def description(self) -> dict[str, Any]:
        """Return the tool as a parser takes it."""
        return {"name": self.name, "parameters": self._parameters}

    def check(self, arguments: dict[str, Any]) -> None:
        """Hold the arguments to the schema; the steps of it are `counting`.

        Raises:
            Refusal: schema, validator_error. The detail names the place and the keyword, but no
                value that the model wrote.
        """
        try:
            broken = self.breaks(arguments)
        except Refusal:
            raise
        except Exception as failure:  # noqa: BLE001 - jsonschema, and checkers of formats, fail in many ways
            kind = type(failure).__name__
            raise Refusal("validator_error", f"the schema could not be applied: {kind}") from None
        if broken:
            raise Refusal("schema", broken)

    def breaks(self, arguments: dict[str, Any]) -> str:
        """Return what of the schema the arguments break first, "" if nothing."""
        error = next(self._validator.iter_errors(arguments), None)
        if error is not None and error.validator is None:
            return f"at {_cut(error.json_path)}, or in it: breaks false, which allows nothing"
        if error is not None:
            rule = _cut(json.dumps(error.validator_value, ensure_ascii=False))
            return f'at {_cut(error.json_path)}: breaks "{error.validator}": {rule}'
        # A keyword in the schema would hold wherever the schema refers to itself as well.
        named = names_in(self._validator, arguments, self._parameters)
        return "" if named >= arguments.keys() else 'at $: breaks "additionalProperties": false'


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
        found[name] = _tool(name, {} if parameters is None else parameters)
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
        rule = 'write it under "parameters" beside the name, or "parameters": {} for no arguments'
        raise UsageError(f"tool {name!r} has {_cut(repr(unknown))} and no schema; {rule}")


def _tool(name: str, parameters: Mapping[str, Any]) -> Tool:
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
        base.check_schema(schema, format_checker=schema_checker(base))
        _check_parts(name, schema, dialect)
    except jsonschema.SchemaError as error:
        raise _bad(name, error.json_path, str(error.cause or error.message)) from None
    except RecursionError:
        raise _bad(name, "$", "it nests too deep; write it flatter, with $defs") from None
    if "object" not in schema.get("type", "object"):
        raise _bad(name, "$.type", 'arguments are always an object; write "type": "object"')
    kind = allowing(base)
    validator: Any = kind(schema, format_checker=kind.FORMAT_CHECKER, registry=REGISTRY)
    # What is made of the description, in another process too, is in the same dialect.
    tool = Tool(name, {**named, **schema}, validator)
    try:
        with counting():
            tool.breaks({})
    except RecursionError:
        raise _bad(name, "$", "it refers to itself without end; break the circle of $ref") from None
    except Exception as error:  # noqa: BLE001 - as in `Tool.check`
        raise _bad(name, "$", f"it cannot be applied: {error}") from None
    return tool


def _copied(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that nobody else can change, of JSON types only."""
    try:
        copied: dict[str, Any] = json.loads(json.dumps(parameters, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise _bad(name, "$", f"it is no JSON ({error}); use JSON types only") from None
    return copied


def _check_parts(name: str, schema: dict[str, Any], dialect: str) -> None:
    """Raise `UsageError` for a part of the schema that can never be applied as it is meant."""
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import specification_with

    root = specification_with(dialect).create_resource(schema)
    left = [(root, REGISTRY.resolver_with_root(root))]
    while left:
        resource, resolver = left.pop()
        if isinstance(resource.contents, dict):
            _check_dialect(name, resource.contents, dialect)
            _check_references(name, resource.contents, resolver)
            _check_names(name, resource.contents)
            extended = resource.contents.get("extends")
            if isinstance(extended, dict):
                # Draft 3 has one in the place of a list, which `referencing` does not know.
                resource.contents["extends"] = [extended]
        inner = resource.subresources()
        left += [(part, resolver.in_subresource(part)) for part in inner]


def _check_dialect(name: str, part: dict[str, Any], dialect: str) -> None:
    """Raise `UsageError` for a part in another dialect; one that says the same says it no more.

    jsonschema would apply such a part by its own keywords, which the gate does not.
    """
    own = part.pop("$schema", dialect)
    if own != dialect:
        rule = f"it has parts in two dialects, {dialect!r} and {_cut(repr(own))}"
        raise _bad(name, "$", f"{rule}; write it in one")


def _check_references(name: str, part: dict[str, Any], resolver: Any) -> None:
    """Raise `UsageError` for a reference that leads nowhere, or out of the schema."""
    for keyword in REFERENCES:
        if keyword not in part:
            continue
        try:
            resolver.lookup(part[keyword])
        except Exception:  # noqa: BLE001 - a reference can be no reference in many ways
            where = f"{keyword} {_cut(repr(part[keyword]))}"
            advice = "nothing is fetched; put what it refers to under $defs"
            raise _bad(name, "$", f"{where} leads to nothing in it: {advice}") from None


def _check_names(name: str, part: dict[str, Any]) -> None:
    """Raise `UsageError` for patterns of names, which not all meta-schemas take for patterns."""
    for pattern in part.get("patternProperties", {}):
        try:
            compiled(pattern)
        except (NotAPattern, NotTranslated) as error:
            raise _bad(name, "$", str(error)) from None


def _bad(name: str, path: str, what: str) -> UsageError:
    return UsageError(f"tool {name!r}: its schema is bad at {path}: {_cut(what)}")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_DETAIL else f"{text[: LONGEST_DETAIL - 3]}..."
