"""Random schemas, each with a strategy for valid values in the order of the schema."""

from __future__ import annotations

import json
import re

from hypothesis import strategies as st

CHARS = st.characters(exclude_categories=["Cs"])
NAMES = st.one_of(
    st.sampled_from(["a", "ab", "b", "name", "é", 'q"', "<&>", "a/b~", ""]),
    st.text(CHARS, max_size=3),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 10**19) | st.text(CHARS, max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
FORMATS = {
    "date": st.dates().map(str),
    "time": st.times().map(lambda t: t.replace(microsecond=0).isoformat() + "Z"),
    "date-time": st.datetimes().map(lambda t: t.replace(microsecond=0).isoformat() + "+01:30"),
    "uuid": st.uuids().map(str),
    "ipv4": st.ip_addresses(v=4).map(str),
    "ipv6": st.ip_addresses(v=6).map(str),
    "json-pointer": st.from_regex(r"(/([a-z0-9]|~[01]){0,4}){0,3}", fullmatch=True),
    "hostname": st.from_regex(r"[a-z][a-z0-9]{0,9}(\.[a-z]{2,5}){0,2}", fullmatch=True),
    "email": st.from_regex(r"[a-z]{1,9}(\.[a-z]{1,5})?@[a-z]{1,9}\.[a-z]{2,5}", fullmatch=True),
}
PATTERNS = [
    "^[a-z]+$", "^a{2,4}b?$", "^(?:foo|bar)-\\d{3}$", '^[^"\\\\]*$', "x", "^\\w+@", "é$", "^.$",
    "^(a*)*$", "^\\S \\S$", "^[\\u00e0-\\uffff]{1,3}$", "^\\/\\.\\n$", "^a|b$", "",
]  # fmt: skip


@st.composite
def strings(draw):
    kind = draw(st.sampled_from(["size", "format", "pattern", "enum"]))
    if kind == "format":
        name = draw(st.sampled_from(sorted(FORMATS)))
        return {"type": "string", "format": name}, FORMATS[name]
    if kind == "pattern":
        pattern = draw(st.sampled_from(PATTERNS))
        return {"type": "string", "pattern": pattern}, _found(pattern)
    if kind == "enum":
        values = draw(st.lists(st.text(CHARS, max_size=5), min_size=1, max_size=4))
        return {"type": "string", "enum": values}, st.sampled_from(values)
    low = draw(st.none() | st.integers(0, 3))
    high = draw(st.none() | st.integers(low or 0, 5))
    schema = {"type": "string", "minLength": low, "maxLength": high}
    return given(schema), st.text(CHARS, min_size=low or 0, max_size=high)


def _found(pattern):
    """Return texts with equal matches in Python and ECMA: ASCII, without a final newline."""
    texts = st.from_regex(pattern, alphabet=CHARS) if pattern else st.text(CHARS)
    return texts.filter(
        lambda text: (
            len(text) < 40
            and re.search(pattern, text, re.ASCII)
            and not ("$" in pattern and text.endswith("\n"))
            and not ("." in pattern and re.search("[\r\u2028\u2029]", text))
            and "\ufeff" not in text
        )
    )


def given(schema):
    return {key: value for key, value in schema.items() if value is not None}


@st.composite
def integers(draw):
    low = draw(st.none() | st.integers(-1000, 1000) | st.integers(-(10**18), 10**18))
    high = draw(st.none() | st.integers(low or 0, (low or 0) + 2000))
    exclusive = draw(st.booleans())
    schema = {
        "type": "integer",
        "minimum": low,
        "exclusiveMaximum" if exclusive else "maximum": high,
    }
    if exclusive and high is not None:
        schema["exclusiveMaximum"] += 1
    if low is None:
        low = (-(10**19)) if high is None else high - 5000
    return given(schema), st.integers(low, 10**19 if high is None else high)


@st.composite
def numbers(draw):
    if draw(st.booleans()):
        values = st.floats(-1e300, 1e300) | st.integers(-(10**19), 10**19)
        return {"type": "number"}, values.filter(lambda x: x == 0 or abs(x) > 1e-300)
    low, high = sorted(draw(st.tuples(*[st.integers(-20_000, 20_000)] * 2)))
    places = draw(st.sampled_from([1, 10, 1000]))
    ends = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")
    keys = [draw(st.sampled_from(pair)) for pair in ends]
    first = low * 1000 // places + 1
    last = -(-high * 1000 // places) - 1
    if first > last:
        return {"type": "number", "minimum": low, "maximum": low}, st.just(low)
    schema = {"type": "number", keys[0]: low / places, keys[1]: high / places}
    return schema, st.integers(first, last).map(lambda n: n / 1000)


@st.composite
def arrays(draw, inner):
    low = draw(st.none() | st.integers(0, 2))
    high = draw(st.none() | st.integers(low or 0, 4))
    item, values = draw(inner)
    schema = given({"type": "array", "items": item, "minItems": low, "maxItems": high})
    if draw(st.booleans()):
        return schema, st.lists(values, min_size=low or 0, max_size=3 if high is None else high)
    prefix = draw(st.lists(inner, min_size=1, max_size=3))
    schema["prefixItems"] = [first for first, _ in prefix]
    rest = st.lists(values, max_size=5)
    whole = st.tuples(st.tuples(*(second for _, second in prefix)), rest)
    size = st.integers(low or 0, high if high is not None else len(prefix) + 2)
    lists = st.tuples(whole, size).map(lambda pair: [*pair[0][0], *pair[0][1]][: pair[1]])
    return schema, lists.filter(lambda items: len(items) >= (low or 0))


@st.composite
def objects(draw, inner):
    properties = draw(st.dictionaries(NAMES, inner, max_size=4))
    required = [name for name in properties if draw(st.booleans())]
    schema = {"type": "object", "properties": {name: case[0] for name, case in properties.items()}}
    if required or draw(st.booleans()):
        schema["required"] = required
    extra = st.just({})
    if draw(st.booleans()):
        schema["additionalProperties"], values = draw(
            st.one_of(inner, st.just((False, None)), st.just((True, JSON)))
        )
        if values is not None:
            names = NAMES.filter(lambda name: name not in properties)
            extra = st.dictionaries(names, values, max_size=2)

    @st.composite
    def values(draw):
        found = {}
        for name, (_, value) in properties.items():
            if name in required or draw(st.booleans()):
                found[name] = draw(value)
        return found | draw(extra)

    return schema, values()


@st.composite
def combined(draw, inner):
    cases = draw(st.lists(inner, min_size=1, max_size=3))
    if draw(st.booleans()):
        return {"anyOf": [first for first, _ in cases]}, st.one_of(*(second for _, second in cases))
    schema, values = cases[0]
    return {"allOf": [schema, {"description": "the same"}, True]}, values


def _leaves():
    simple = st.sampled_from([
        ({"type": "boolean"}, st.booleans()),
        ({"type": "null"}, st.none()),
        ({"type": ["string", "null"]}, st.text(CHARS, max_size=5) | st.none()),
        ({}, JSON),
        (True, JSON),
    ])  # fmt: skip
    constants = JSON.map(lambda value: ({"const": value}, st.just(value)))
    return st.one_of(simple, constants, strings(), integers(), numbers())


CASES = st.recursive(
    _leaves(), lambda inner: st.one_of(arrays(inner), objects(inner), combined(inner)), max_leaves=6
)
"""Pairs of a schema and a strategy for its values."""

SPELLINGS = st.sampled_from([
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False),
    lambda value: json.dumps(value, separators=(",", ":")),
    lambda value: json.dumps(value, indent=2),
])  # fmt: skip
