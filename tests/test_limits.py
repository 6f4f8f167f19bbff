"""The limits in SECURITY.md: their values in the code, and the behavior on both sides."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import MappingProxyType

import pytest

from deltaparse import (
    ChatTemplate,
    FormatError,
    TemplateError,
    ToolGate,
    TurnFormat,
    UsageError,
    WireFormat,
    gbnf,
    get_format,
)
from deltaparse.analyzer import renderer
from deltaparse.analyzer.template.budget import MAX_BITS, Limits
from deltaparse.analyzer.template.instrumentation import MAX_NODES
from deltaparse.analyzer.template.sandbox import MAX_SOURCE
from deltaparse.gate import strict_arguments, work_budget
from deltaparse.grammar.rules import rulebook, work
from deltaparse.grammar.schema import schema_document
from deltaparse.partial import MAX_DEPTH, MAX_TOKEN, Pattern, PatternSearch
from deltaparse.partial.markers import LONGEST_MARKER
from deltaparse.partial.patterns.check import MAX_LOOKBEHIND
from deltaparse.partial.patterns.parse import MAX_NESTING
from deltaparse.partial.patterns.pattern import MAX_HOLD, TIMEOUT
from deltaparse.stream.message.reports import MOST_OF_A_KIND
from deltaparse.stream.reading.channel_header import MAX_HEADER
from deltaparse.stream.reading.tool_calls import python_head, tagged_head
from deltaparse.stream.wire.spellings import MOST_SPACE

from .strategies.call_patterns import FAMILIES, kinds, read

SECURITY = Path(__file__).parents[1] / "SECURITY.md"
GATE = {name: given.default for name, given in inspect.signature(ToolGate).parameters.items()}
USUAL = Limits()
# Families with values in tags. Untyped values become strings beyond a limit.
TAGGED = ["tags", "keys and values in tags", "elements", "tags that tell types"]
ANYTHING = TAGGED[:3]
IN_TAGS = ["JSON and ids in tags", "quotes of its own", "recipients"]
IN_TAGS += TAGGED
IN_JSON = ["JSON", "JSON with ids", "names as keys", "unmarked objects"]
IN_PYTHON = ["Python", "Python in markers"]

TABLE = {
    "open brackets of JSON and Python literals": f"{MAX_DEPTH}",
    "a number, or a key or name that must be whole, in JSON and Python": (
        f"{MAX_TOKEN:,} characters"
    ),
    "the name of a function or an id in tags, the name of a function in Python": (
        f"{tagged_head.LONGEST_NAME} characters"
    ),
    "a marker of a format": f"{LONGEST_MARKER} characters",
    "a header of a message": f"{MAX_HEADER:,} characters",
    "white space behind a marker that may be text": f"{MOST_SPACE} characters",
    "issues of one kind, attempts of one status": f"{MOST_OF_A_KIND}",
    "a match of a pattern": f"{MAX_HOLD:,} characters",
    "a search of a pattern": f"{TIMEOUT:.0f} s of processor time",
    "a pattern": f"{MAX_NESTING} groups deep, looks {MAX_LOOKBEHIND} characters behind",
    "the source of a template": f"{MAX_SOURCE >> 10} Ki characters, {MAX_NODES:,} nodes",
    "a rendering of a template": (
        f"{USUAL.seconds:.0f} s, {USUAL.text >> 20} Mi characters, {USUAL.value >> 20} Mi in a"
        f" list, {USUAL.memory >> 20} Mi in all that it makes, depth {USUAL.depth}, integers of"
        f" {MAX_BITS} bits"
    ),
    "all renderings of an analysis": f"{renderer.MAX_SECONDS:g} s",
    "a grammar": (
        f"{rulebook.MAX_SIZE:,} parts; a schema {schema_document.MAX_NODES:,} values,"
        f" depth {schema_document.MAX_DEPTH}; {work.MAX_WORK:,} steps"
    ),
    "a payload at the gate": (
        f"{GATE['max_payload_bytes'] >> 10} KiB, depth {strict_arguments.MAX_DEPTH}"
    ),
    "a call in a fallback format, and calls of one output, at the gate": (
        f"{GATE['max_snippet_bytes'] >> 10} KiB, {GATE['max_calls']}"
    ),
    "keywords of schemas applied to values of one output, at the gate": (
        f"{work_budget.MAX_STEPS:,}, its searches of patterns among them,"
        f" and these {work_budget.SECONDS:.0f} s of processor time"
    ),
}


def test_table_agrees_with_the_code():
    table = SECURITY.read_text(encoding="utf-8").partition("| limit |")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert {limit: default for limit, default, _ in rows} == TABLE
    assert python_head.LONGEST_NAME == tagged_head.LONGEST_NAME


ANY_TOOL = MappingProxyType({"tools": None})


def every_way(name, options=MappingProxyType({}), **parts):
    """Return a finished parser after a call of a family, with the same result for all chunks."""
    family = FAMILIES[name]
    text = family.write(**parts)
    whole = read(family.format, text, **options)
    for size in (1, 2, 7, 300):
        parser = read(family.format, text, size, **options)
        assert parser.message == whole.message
        assert parser.issues == whole.issues
    return whole


def is_whole(parser):
    """Return whether there is one complete call without issues."""
    calls = parser.message.tool_calls
    return not parser.issues and [call.complete for call in calls] == [True]


@pytest.mark.parametrize("name", FAMILIES)
def test_nesting_of_brackets_is_limited(name):
    # A value in tags is read separately. In other families the arguments add one bracket.
    room = MAX_DEPTH if name in TAGGED else MAX_DEPTH - 1
    assert is_whole(every_way(name, v="[" * room + "]" * room))
    deeper = every_way(name, v="[" * (room + 1) + "]" * (room + 1))
    if name in ANYTHING:
        assert deeper.message.tool_calls[0].arguments.startswith('{"a": "[')
    else:
        assert "malformed_arguments" in kinds(deeper)


@pytest.mark.costly
@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in TAGGED])
def test_length_of_a_number_is_limited(name):
    assert is_whole(every_way(name, v="1" * MAX_TOKEN))
    assert "malformed_arguments" in kinds(every_way(name, v="1" * (MAX_TOKEN + 1)))


def test_length_of_a_python_keyword_is_limited():
    assert is_whole(every_way("Python in markers", k="k" * MAX_TOKEN))
    longer = every_way("Python in markers", k="k" * (MAX_TOKEN + 1))
    assert "malformed_arguments" in kinds(longer)


def test_length_of_an_unquoted_key_is_limited():
    assert kinds(every_way("JSON", v="{" + "k" * MAX_TOKEN + ": 1}")) == {"repaired_arguments"}
    longer = every_way("JSON", v="{" + "k" * (MAX_TOKEN + 1) + ": 1}")
    assert "malformed_arguments" in kinds(longer)


@pytest.mark.parametrize(
    ("names", "part", "limit"),
    [
        (IN_JSON, "n", MAX_TOKEN - 1),  # the opening quote counts too
        (["JSON with ids"], "i", MAX_TOKEN - 1),
        (IN_TAGS, "n", tagged_head.LONGEST_NAME),
        (["JSON and ids in tags"], "i", tagged_head.LONGEST_NAME),
        (IN_PYTHON, "n", python_head.LONGEST_NAME),
    ],
    ids=["names in JSON", "ids in JSON", "names in tags", "ids in tags", "names in Python"],
)
def test_length_of_names_and_ids_is_limited(names, part, limit):
    for name in names:
        assert is_whole(every_way(name, ANY_TOOL, **{part: "x" * limit})), name
        longer = {part: "x" * (limit + 1)}
        parser = every_way(name, ANY_TOOL, **longer)
        assert parser.message.content == FAMILIES[name].write(**longer), name


def test_length_of_a_header_is_limited():
    channels = FAMILIES["channels"]
    room = MAX_HEADER - channels.write(n="").index("<|message|>")
    assert is_whole(every_way("channels", n="x" * (room - 1)))
    longer = every_way("channels", n="x" * room)
    assert kinds(longer) == {"odd_header"}
    assert "x" * room in longer.message.content


def test_length_of_a_marker_is_limited():
    longest = WireFormat(turn=TurnFormat(ends=("<" * LONGEST_MARKER,)))
    assert read(longest, "a" + "<" * LONGEST_MARKER).message.content == "a"
    with pytest.raises(FormatError, match=str(LONGEST_MARKER)):
        WireFormat(turn=TurnFormat(ends=("<" * (LONGEST_MARKER + 1),)))


def test_whitespace_after_an_ambiguous_marker_is_limited():
    fmt = get_format("hermes")
    for marker in ("<|im_end|>", "</tool_call>"):
        within, beyond = (f"a{marker}" + " " * (MOST_SPACE + more) for more in (0, 1))
        assert read(fmt, within).message.content == "a"
        assert read(fmt, beyond).message.content == beyond


def test_number_of_issues_of_one_kind_is_limited():
    text = "a</think>" * MOST_OF_A_KIND
    within, beyond = (read(get_format("simple_xml"), text * times).issues for times in (1, 2))
    assert (len(within), len(beyond)) == (MOST_OF_A_KIND, MOST_OF_A_KIND + 1)
    assert beyond[-1].detail == f"{MOST_OF_A_KIND} more of this kind"


def test_length_of_a_pattern_match_is_limited():
    for size, given_up in ((MAX_HOLD - 2, 0), (MAX_HOLD - 1, 1)):
        search = PatternSearch(Pattern("<[^>]*>"))
        text = f"<{'x' * size}>"
        chunks = [chunk for char in text for chunk in search.feed(char)] + search.finish()
        assert search.given_up == given_up
        assert all(isinstance(chunk, str) for chunk in chunks) == bool(given_up)


def test_nesting_and_lookbehind_of_a_pattern_are_limited():
    Pattern("(?:" * MAX_NESTING + "a" + ")" * MAX_NESTING)
    Pattern(f"(?<=a{{{MAX_LOOKBEHIND}}})b")
    for beyond in (
        "(?:" * (MAX_NESTING + 1) + "a" + ")" * (MAX_NESTING + 1),
        f"(?<=a{{{MAX_LOOKBEHIND + 1}}})b",
    ):
        with pytest.raises(UsageError):
            Pattern(beyond)


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        ("a" * MAX_SOURCE, "a" * (MAX_SOURCE + 1)),
        ("{{ 'a' * 4194304 }}", "{{ 'a' * 4194305 }}"),
        ("{{ 2 ** 31 }}", "{{ 2 ** 64 }}"),
    ],
    ids=["source", "text", "integer"],
)
def test_source_and_values_of_a_template_are_limited(within, beyond):
    ChatTemplate(within).render([])
    with pytest.raises(TemplateError):
        ChatTemplate(beyond).render([])


def test_depth_of_a_grammar_is_limited():
    def tools(depth):
        schema = {"type": "string"}
        for _ in range(depth):
            schema = {"type": "array", "items": schema}
        return [{"name": "f", "parameters": {"type": "object", "properties": {"a": schema}}}]

    gbnf(get_format("hermes"), tools(schema_document.MAX_DEPTH // 2))
    with pytest.raises(UsageError):
        gbnf(get_format("hermes"), tools(schema_document.MAX_DEPTH))


def test_payloads_and_calls_at_the_gate_are_limited():
    gate = ToolGate([{"name": "f", "parameters": {"additionalProperties": True}}])

    def verdict(arguments, times=1):
        return gate.decide(f'<tool name="f">{arguments}</tool>' * times).reason

    room = GATE["max_payload_bytes"] - len('{"a": ""}')
    assert verdict('{"a": "' + "x" * room + '"}') is None
    assert verdict('{"a": "' + "x" * (room + 1) + '"}') == "too_large"
    inner = strict_arguments.MAX_DEPTH - 1
    assert verdict('{"a": ' + "[" * inner + "]" * inner + "}") is None
    assert verdict('{"a": [' + "[" * inner + "]" * inner + "]}") == "too_deep"
    assert verdict("{}", GATE["max_calls"]) is None
    assert verdict("{}", GATE["max_calls"] + 1) == "too_many_calls"

    def fallback(size):
        body = '{"tool": "f", "arguments": {"a": ""}}'
        return gate.decide(f"CALL_TOOL {body[:-3]}{'x' * (size - len(body))}{body[-3:]}").reason

    assert fallback(GATE["max_snippet_bytes"]) is None
    assert fallback(GATE["max_snippet_bytes"] + 1) == "too_large"
