"""Objects and arrays of a JSON Schema, as JSON text.

    object = "{" [member *("," member)] "}"        member = key ":" value
    array  = "[" [item *("," item)] "]"

Members are in the order of `properties`, then required members without a description, then
additional members. Each optional member may be missing. Other orders would take a rule for each set
of members written so far. Constrained decoders keep the schema's order, first of all llama.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ..rules.rulebook import RuleBook
from ..rules.rules import (
    EMPTY,
    MAX_REPEAT,
    NOTHING,
    Expr,
    choice,
    literal,
    optional,
    repeat,
    seq,
)
from ..text.json_text import JsonText
from .schema_document import Schema, step
from .schema_keys import KeyRules

__all__ = ["Member", "Values", "array", "below", "object_", "ordered"]

Plain = dict[str, Any]

LONGEST_IN_NAME = 40
"""Most characters of a key in the names of rules."""


class Values(Protocol):
    """Builds the values within an object or an array."""

    rules: RuleBook
    json_text: JsonText
    standard: bool

    def value(self, schema: Schema, path: str, name: str) -> Expr:
        """Return the text of a schema's values."""

    def report(self, path: str, keyword: str) -> None:
        """Report a keyword that the rules do not express."""


class Member(NamedTuple):
    """One of several texts in order, without its separator."""

    text: Expr
    required: bool


def object_(values: Values, schema: Plain, path: str, name: str) -> Expr:
    """Return the text of an object."""
    keys = KeyRules(values, schema, path)
    members = list(_members(values, schema, keys, name))
    if any(member.required and member.text == NOTHING for member in members):
        return NOTHING
    members = [member for member in members if member.text != NOTHING]
    extra = choice(
        *(
            _pair(values, text, values.value(inner, where, name), f"{name}-other")
            for text, inner, where in keys.others()
        )
    )
    return _counted(values, schema, path, name, members, extra)


def _members(values: Values, schema: Plain, keys: KeyRules, name: str) -> Iterator[Member]:
    required = frozenset(schema.get("required", []))
    for key in keys.named:
        inner, where = keys.schema_of(key)
        called = below(name, key)
        value = values.value(inner, where, called)
        pair = _pair(values, literal(key), value, f"{called}-member")
        yield Member(pair, key in required)


def below(name: str, key: str) -> str:
    """Return the rule name for a value below a key. Long keys are truncated."""
    return f"{name}-{key[:LONGEST_IN_NAME]}"


def _pair(values: Values, key: Expr, value: Expr, name: str) -> Expr:
    if value == NOTHING:
        return NOTHING
    return values.rules.add(name, values.json_text.pair(key, value))


def _counted(
    values: Values, schema: Plain, path: str, name: str, members: list[Member], extra: Expr
) -> Expr:
    """Return an object of members and extra ones, as many as the schema allows."""
    least, most = int(schema.get("minProperties", 0)), schema.get("maxProperties")
    needed = sum(member.required for member in members)
    if most is not None and (needed > most or least > most):
        return NOTHING
    all_needed = needed == len(members)
    low, high = 0, None
    if most is not None and (extra != NOTHING or most < len(members)):
        if all_needed:
            high = int(most) - needed
        else:
            values.report(path, "maxProperties")
    if least > needed and all_needed:
        low = least - needed
        if low > 1:
            values.report(path, "minProperties")  # members with equal keys count as one
    elif least > max(1, needed):
        values.report(path, "minProperties")
    high = high if high is None or high <= MAX_REPEAT else None
    following = repeat(values.json_text.after_comma(extra), min(low, MAX_REPEAT), high)
    body = ordered(
        values.rules,
        name,
        members,
        values.json_text.after_comma,
        alone=_first(extra, values, low, high),
        following=following,
    )
    return _bracketed(values, "{}", body, may_be_empty=least == 0 and needed == 0)


def _bracketed(values: Values, brackets: str, body: Expr, *, may_be_empty: bool) -> Expr:
    options = [values.json_text.within(brackets, body)]
    if may_be_empty:
        options.append(values.json_text.within(brackets, EMPTY))
    return choice(*options)


def _first(extra: Expr, values: Values, low: int, high: int | None) -> Expr:
    """Return the extra members of an object without other members."""
    if high == 0:
        return NOTHING
    rest = repeat(
        values.json_text.after_comma(extra),
        min(max(0, low - 1), MAX_REPEAT),
        None if high is None else high - 1,
    )
    return seq(extra, rest)


def ordered(
    rules: RuleBook,
    name: str,
    members: Sequence[Member],
    after_separator: Callable[[Expr], Expr],
    *,
    alone: Expr = NOTHING,
    following: Expr = EMPTY,
) -> Expr:
    """Return one or more members in order, with optional ones optional.

    The first written member does not have a separator. It may be any member up to the first
    required one. The rest after each of these members is a rule, because several members share it.
    """
    first = next((i for i, member in enumerate(members) if member.required), len(members))
    later = []
    for member in members[first + 1 :]:
        part = after_separator(member.text)
        later.append(part if member.required else optional(part))
    after = seq(*later, following)
    options = [] if first < len(members) else [alone]
    for i in reversed(range(min(first + 1, len(members)))):
        text, required = members[i]
        rest = after if required else rules.add(f"{name}-rest", after)
        options.append(seq(text, rest))
        part = after_separator(text)
        after = seq(part if required else optional(part), rest)
    if first < len(members):
        return choice(*reversed(options))
    return choice(*reversed(options[1:]), alone)


def array(values: Values, schema: Plain, path: str, name: str) -> Expr:
    """Return the text of an array."""
    least, most = int(schema.get("minItems", 0)), schema.get("maxItems")
    most = None if most is None else int(most)
    for keyword, bound in (("minItems", least), ("maxItems", most)):
        if bound is not None and bound > MAX_REPEAT:
            values.report(path, keyword)
    most = None if most is not None and most > MAX_REPEAT else most
    least = min(least, MAX_REPEAT)
    if schema.get("uniqueItems") and most not in (0, 1):
        values.report(path, "uniqueItems")
    if most is not None and least > most:
        return NOTHING
    prefix = schema.get("prefixItems", [])
    if most is not None:
        prefix = prefix[:most]
    items = [
        _item(values, item, step(path, "prefixItems", i), f"{name}-{i + 1}")
        for i, item in enumerate(prefix)
    ]
    rest: Expr = NOTHING
    if most is None or most > len(items):
        rest = _item(values, schema.get("items", True), step(path, "items"), f"{name}-item")
    body = _in_order(values, name, items, rest, least, most)
    return _bracketed(values, "[]", body, may_be_empty=least == 0)


def _item(values: Values, schema: Schema, path: str, name: str) -> Expr:
    return values.rules.add(name, values.value(schema, path, name))


def _in_order(
    values: Values, name: str, items: list[Expr], rest: Expr, least: int, most: int | None
) -> Expr:
    """Return one or more items: first from `items`, then from `rest`."""
    another = values.json_text.after_comma(rest)
    count = len(items)
    if not items:
        if rest == NOTHING or most == 0:
            return NOTHING
        return seq(
            rest,
            repeat(another, max(0, least - 1), None if most is None else most - 1),
        )
    after = repeat(another, max(0, least - count), None if most is None else most - count)
    needed = min(max(least, 1), count)
    for item in reversed(items[needed:]):
        part = seq(values.json_text.after_comma(item), after)
        after = values.rules.add(f"{name}-rest", optional(part))
    return seq(items[0], *map(values.json_text.after_comma, items[1:needed]), after)
