"""Names and argument schemas of tools, checked with the jsonschema package (extra `gate`).

All errors of a schema are found at construction. The dialect is that of `$schema`, else 2020-12.
References are resolved in the schema itself and in the meta-schemas, and never fetched. Formats are
checked if jsonschema supports them here, because some need additional packages. `keywords` has the
gate's own keywords. `work_budget` limits the work, because the arguments are untrusted. The schema
itself is trusted.

Unknown arguments are refused by default, because the model may have invented them.
`"additionalProperties": true` allows them. An argument is known if a subschema valid for the
arguments names it. This is the rule of `unevaluatedProperties`, applied in all drafts.

A tool without a schema takes no arguments. A tool with an unknown member instead of a schema is
refused at construction.
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

INSTALL = "ToolGate requires the package jsonschema: pip install 'deltaparse[gate]'"
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
DESCRIBING = {"type", "function", "name", "description", "strict", "title"}
"""Allowed members in the description of a tool without a schema."""

LONGEST_DETAIL = 200


class _Validator(Protocol):
    """The used part of the interface of jsonschema's validators."""

    def iter_errors(self, instance: Any) -> Iterator[Any]:
        """Yield the errors of the instance lazily."""


class Tool:
    """One tool of the allow-list."""

    __slots__ = ("_parameters", "_validator", "name")

    def __init__(self, name: str, parameters: dict[str, Any], validator: _Validator) -> None:
        self.name = name
        self._parameters = parameters
        self._validator = validator

    def description(self) -> dict[str, Any]:
        """Return the tool in the form for a parser's `tools` argument."""
        return {"name": self.name, "parameters": self._parameters}

    def check(self, arguments: dict[str, Any]) -> None:
        """Validate the arguments. The caller limits the work with `counting`.

        Raises:
            Refusal: schema, validator_error. The detail contains the place and the keyword, but
                never a value from the model.
        """
        try:
            broken = self.breaks(arguments)
        except Refusal:
            raise
        except Exception as failure:  # noqa: BLE001 - jsonschema and its format checkers fail in many ways
            kind = type(failure).__name__
            raise Refusal("validator_error", f"the schema could not be applied: {kind}") from None
        if broken:
            raise Refusal("schema", broken)

    def breaks(self, arguments: dict[str, Any]) -> str:
        """Return the first violation of the schema, "" for valid arguments."""
        error = next(self._validator.iter_errors(arguments), None)
        if error is not None and error.validator is None:
            return f"at {_cut(error.json_path)} or below: violates false, which allows no value"
        if error is not None:
            rule = _cut(json.dumps(error.validator_value, ensure_ascii=False))
            return f'at {_cut(error.json_path)}: violates "{error.validator}": {rule}'
        # Added to the schema, this keyword would also apply to recursive references.
        named = names_in(self._validator, arguments, self._parameters)
        return "" if named >= arguments.keys() else 'at $: violates "additionalProperties": false'


def allow_list(tools: Sequence[Mapping[str, Any]]) -> dict[str, Tool]:
    """Return the allow-list for OpenAI tools or their function objects.

    Raises:
        UsageError: a tool or its schema is invalid. The message contains the tool and the place.
    """
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        raise UsageError(INSTALL) from None
    found: dict[str, Tool] = {}
    for name, parameters in read_tools(tools).schemas.items():
        if not NAME.fullmatch(name):
            rule = 'use 1 to 128 characters, without whitespace, control characters, ", <, >, &'
            raise UsageError(f"tool name {_cut(repr(name))} does not fit into a tag: {rule}")
        if parameters is None:
            _check_has_none(name, tools)
        found[name] = _tool(name, {} if parameters is None else parameters)
    return found


def _check_has_none(name: str, tools: Sequence[Any]) -> None:
    """Raise `UsageError` if a tool without a schema may have one under another key."""
    unknown: list[str] = []
    for tool in tools:
        inner = tool.get("function") if isinstance(tool, Mapping) else None
        members = {**tool, **inner} if isinstance(inner, Mapping) else tool
        if isinstance(members, Mapping) and members.get("name") == name:
            given = (key for key, value in members.items() if value is not None)
            unknown += [key for key in given if key not in DESCRIBING]
    if unknown:
        rule = 'Put the schema under "parameters", or use "parameters": {} for no arguments'
        raise UsageError(f"tool {name!r} has unknown keys {_cut(repr(unknown))}. {rule}")


def _tool(name: str, parameters: Mapping[str, Any]) -> Tool:
    import jsonschema
    from jsonschema import validators
    from jsonschema_specifications import REGISTRY

    schema = _copied(name, parameters)
    dialect = schema.pop("$schema", jsonschema.Draft202012Validator.META_SCHEMA["$schema"])
    library: Any = validators  # its type hints lack a default of None
    named = {"$schema": dialect}
    base = library.validator_for(named, default=None) if isinstance(dialect, str) else None
    if base is None:
        known = "use a draft known to jsonschema, or omit it for 2020-12"
        raise _bad(name, "$.$schema", f"unknown dialect {_cut(repr(dialect))}, {known}")
    try:
        base.check_schema(schema, format_checker=schema_checker(base))
        _check_parts(name, schema, dialect)
    except jsonschema.SchemaError as error:
        raise _bad(name, error.json_path, str(error.cause or error.message)) from None
    except RecursionError:
        raise _bad(name, "$", "it is nested too deeply, use $defs") from None
    if "object" not in schema.get("type", "object"):
        raise _bad(name, "$.type", 'arguments are always an object, use "type": "object"')
    kind = allowing(base)
    validator: Any = kind(schema, format_checker=kind.FORMAT_CHECKER, registry=REGISTRY)
    # A parser or another process must read the description in the same dialect.
    tool = Tool(name, {**named, **schema}, validator)
    try:
        with counting():
            tool.breaks({})
    except RecursionError:
        raise _bad(name, "$", "it refers to itself endlessly, remove the cycle of $ref") from None
    except Exception as error:  # noqa: BLE001 - as in `Tool.check`
        raise _bad(name, "$", f"it cannot be applied: {error}") from None
    return tool


def _copied(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a private copy with JSON types only."""
    try:
        copied: dict[str, Any] = json.loads(json.dumps(parameters, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise _bad(name, "$", f"it is not JSON ({error}), use JSON types only") from None
    return copied


def _check_parts(name: str, schema: dict[str, Any], dialect: str) -> None:
    """Raise `UsageError` for a subschema that can never be applied as intended."""
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
                # Draft 3 allows a single schema here, but `referencing` expects a list.
                resource.contents["extends"] = [extended]
        inner = resource.subresources()
        left += [(part, resolver.in_subresource(part)) for part in inner]


def _check_dialect(name: str, part: dict[str, Any], dialect: str) -> None:
    """Raise `UsageError` for a subschema in another dialect. Remove a repeated `$schema`.

    jsonschema would apply its own keywords to a subschema with `$schema`, not the gate's.
    """
    own = part.pop("$schema", dialect)
    if own != dialect:
        rule = f"it mixes two dialects, {dialect!r} and {_cut(repr(own))}"
        raise _bad(name, "$", f"{rule}, use one")


def _check_references(name: str, part: dict[str, Any], resolver: Any) -> None:
    """Raise `UsageError` for a reference without a target in the schema."""
    for keyword in REFERENCES:
        if keyword not in part:
            continue
        try:
            resolver.lookup(part[keyword])
        except Exception:  # noqa: BLE001 - an invalid reference fails in many ways
            where = f"{keyword} {_cut(repr(part[keyword]))}"
            advice = "references are never fetched, put the target under $defs"
            raise _bad(name, "$", f"unresolvable {where}: {advice}") from None


def _check_names(name: str, part: dict[str, Any]) -> None:
    """Raise `UsageError` for invalid `patternProperties`, which some meta-schemas do not check."""
    for pattern in part.get("patternProperties", {}):
        try:
            compiled(pattern)
        except (NotAPattern, NotTranslated) as error:
            raise _bad(name, "$", str(error)) from None


def _bad(name: str, path: str, what: str) -> UsageError:
    return UsageError(f"tool {name!r}: invalid schema at {path}: {_cut(what)}")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_DETAIL else f"{text[: LONGEST_DETAIL - 3]}..."
