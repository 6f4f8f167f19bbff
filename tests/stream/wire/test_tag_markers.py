"""Tests of the markers inside a call in tags, by position."""

from __future__ import annotations

import json

import pytest

from deltaparse import StreamParser, WireFormat, parse
from deltaparse.partial import Markers
from deltaparse.stream.wire.tag_markers import TaggedMarkers, tagged_markers

FMT = WireFormat().replace(
    turn={"ends": ("<end>\n",)},
    tools={
        "format": "TAG_WITH_TAGGED",
        "section_start": "<calls>\n",
        "section_end": "\n</calls>",
        "per_call_start": "<call>\n",
        "per_call_end": "\n</call>\n",
    },
    function={"name_prefix": "\n<f=", "name_suffix": ">\n", "close": "</f>\n"},
    arguments={
        "start": "<args>\n",
        "end": "\n</args>",
        "name_prefix": "\n<p=",
        "name_suffix": ">\n",
        "value_prefix": "<v>",
        "value_suffix": "\n</p>\n",
        "separator": ";\n",
    },
)
ENDS = {"</calls>", "</call>", "</f>"}
OUTER = ENDS | {"<calls>", "<call>", "<f=", "<end>"}
PLACES = {
    "name_prefix": {"<f="},
    "after_name": {">"},
    "name_ends": OUTER | {"<p=", "<args>", ">"},
    "id_start": set(),
    "id_end": set(),
    "id_ends": OUTER | {"<p=", "<args>"},
    "arguments_start": {"<args>"},
    "arguments_end": {"</args>"},
    "before_json": {"<args>"},
    "in_arguments": OUTER | {"<p=", "</args>"},
    "as_arguments": {},
    "key": {"<p="},
    "key_end": {">", "<v>"},
    "value_prefix": {"<v>"},
    "separator": {";"},
    "after_value": OUTER | {"<p=", "</args>", ";"},
    "closers": ENDS,
    "ends": ENDS,
    "own_closers": {"</call>", "</f>"},
    "close": set(),
    "element_ends": set(),
    "type_end": set(),
    "after_type": set(),
    "escape_start": set(),
    "escape_end": set(),
    "turn_ends": {"<end>"},
    "close_suffix": "",
    "key_suffix": None,
    "names_unmarked": False,
    "has_ends": True,
    "may_be_ended": True,
    "type_first": False,
    "ways": {},
}
ID = {"prefix": "<id>\n", "suffix": "\n</id>"}
CHANGES = [
    ({}, {}),
    (
        {"tools": {"format": "TAG_WITH_JSON"}},
        {
            "key": set(),
            "name_ends": OUTER | {"<args>", ">"},
            "id_ends": OUTER | {"<args>"},
            "in_arguments": OUTER | {"</args>", "null"},
            "after_value": OUTER | {"</args>", ";"},
        },
    ),
    (
        {"tools": {"format": "TAG_WITH_JSON"}, "arguments": {"name_prefix": ""}},
        {
            "key": set(),
            "name_ends": OUTER | {"<args>", ">"},
            "id_ends": OUTER | {"<args>"},
            "in_arguments": OUTER | {"</args>", "null"},
            "after_value": OUTER | {"</args>", ";"},
        },
    ),
    (
        {"tools": {"format": "TAG_WITH_JSON"}, "arguments": {"start": " "}},
        {
            "key": set(),
            "name_ends": OUTER | {"{", ">"},
            "id_ends": OUTER | {"{"},
            "arguments_start": set(),
            "before_json": set(),
            "in_arguments": OUTER | {"</args>", "null"},
            "after_value": OUTER | {"</args>", ";"},
        },
    ),
    (
        {"function": {"close": " </", "close_suffix": ">\n"}},
        {
            "close": {"</"},
            "close_suffix": ">",
            "ends": ENDS - {"</f>"},
            "closers": ENDS - {"</f>"},
            "own_closers": {"</call>"},
            "name_ends": OUTER - {"</f>"} | {"</", "<p=", "<args>", ">"},
            "id_ends": OUTER - {"</f>"} | {"</", "<p=", "<args>"},
            "in_arguments": OUTER - {"</f>"} | {"</", "<p=", "</args>"},
            "after_value": OUTER - {"</f>"} | {"</", "<p=", "</args>", ";"},
        },
    ),
    (
        {"call_id": ID | {"position": "BETWEEN_FUNC_AND_ARGS"}},
        {
            "id_start": {"<id>"},
            "id_end": {"</id>"},
            "before_json": {"<args>", "<id>"},
            "id_ends": OUTER | {"<p=", "<args>", "</id>"},
            "name_ends": OUTER | {"<p=", "<args>", ">", "<id>", "</id>"},
        },
    ),
    (
        {"call_id": ID | {"position": "POST_ARGS"}},
        {
            "id_start": {"<id>"},
            "id_end": {"</id>"},
            "id_ends": OUTER | {"<p=", "<args>", "</id>"},
            "in_arguments": OUTER | {"<p=", "</args>", "<id>"},
            "after_value": OUTER | {"<p=", "</args>", ";", "<id>"},
        },
    ),
    (
        {"arguments": {"literal_name_suffix": '" lit="1">', "type_suffix": "!\n"}},
        {
            "key_end": {">", "<v>", '" lit="1">', '">'},
            "after_type": OUTER | {"<p=", "</args>", ";", "</p>", "!"},
            "type_end": {"!"},
        },
    ),
    ({"arguments": {"literal_name_suffix": " "}}, {}),
    (
        {"arguments": {"name_suffix": '" lit="1">', "literal_name_suffix": " "}},
        {"key_end": {'" lit="1">', "<v>"}},
    ),
    (
        {"arguments": {"key_suffix": " >\n", "value_suffix": "\n</"}},
        {"key_suffix": " >"},
    ),
    (
        {"arguments": {"name_prefix": " "}},
        {
            "names_unmarked": True,
            "key": set(),
            "name_ends": OUTER | {"<args>", ">"},
            "id_ends": OUTER | {"<args>"},
            "in_arguments": OUTER | {"</args>"},
            "after_value": OUTER | {"</args>", ";"},
        },
    ),
    (
        {"arguments": {"escape_start": " <![", "escape_end": "]]> ", "type_first": True}},
        {"escape_start": {"<!["}, "escape_end": {"]]>"}, "type_first": True},
    ),
    (
        {"tools": {"section_end": "", "per_call_end": ""}, "function": {"close": " "}},
        {
            "ends": set(),
            "own_closers": set(),
            "has_ends": False,
            "may_be_ended": False,
            "closers": OUTER - ENDS,
            "name_ends": OUTER - ENDS | {"<p=", "<args>", ">"},
            "id_ends": OUTER - ENDS | {"<p=", "<args>"},
            "in_arguments": OUTER - ENDS | {"<p=", "</args>"},
            "after_value": set(),
        },
    ),
    (
        {
            "tools": {"section_end": "", "per_call_end": ""},
            "function": {"close": ""},
            "arguments": {"name_prefix": ""},
        },
        {
            "names_unmarked": True,
            "ends": set(),
            "own_closers": set(),
            "has_ends": False,
            "key": set(),
            "closers": OUTER - ENDS,
            "name_ends": OUTER - ENDS | {"<args>", ">"},
            "id_ends": OUTER - ENDS | {"<args>"},
            "in_arguments": OUTER - ENDS | {"</args>"},
            "after_value": set(),
        },
    ),
    (
        {"tools": {"per_call_end": ""}, "function": {"close": ""}},
        {
            "ends": {"</calls>"},
            "own_closers": set(),
            "closers": {"</calls>", "<calls>", "<call>", "<f="},
            "name_ends": OUTER - {"</f>", "</call>"} | {"<p=", "<args>", ">"},
            "id_ends": OUTER - {"</f>", "</call>"} | {"<p=", "<args>"},
            "in_arguments": OUTER - {"</f>", "</call>"} | {"<p=", "</args>"},
            "after_value": OUTER - {"</f>", "</call>"} | {"<p=", "</args>", ";"},
        },
    ),
]


@pytest.mark.parametrize(("groups", "changed"), CHANGES)
def test_markers_in_each_place_of_a_call(groups, changed):
    made = TaggedMarkers(FMT.replace(**groups))
    for place, expected in (PLACES | changed).items():
        found = getattr(made, place)
        found = set(found.literals) if isinstance(found, Markers) else found
        assert (place, found) == (place, expected)
    assert set(made.end_all.literals) == {*made.ends.literals, "<end>"}


def behind(space, cores):
    """Return cores with and without whitespace before them."""
    return {text for core in cores for text in (f"{space}{core}", core)}


FORGOTTEN = ENDS | {"<end>"}
FOLLOWING = OUTER | {"<p=", "</args>", ";"}


@pytest.mark.parametrize(
    ("suffix", "core", "plain", "crlf"),
    [
        ("</p>\n", "</p>", FORGOTTEN | {"</p>"}, FORGOTTEN | {"</p>"}),
        (
            "\n</p>",
            "</p>",
            behind("\n", FORGOTTEN | {"</p>"}),
            behind("\n", FORGOTTEN | {"</p>"}) | behind("\r\n", FORGOTTEN | {"</p>"}),
        ),
        ("\n", "\n", FORGOTTEN | {"\n", "\r\n"}, FORGOTTEN | {"\n", "\r\n"}),
        ("", "", FOLLOWING, FOLLOWING),
    ],
)
def test_markers_that_end_a_value(suffix, core, plain, crlf):
    others = ("number", "\n<n=", ">\n", "</n>")
    arguments = {"value_suffix": suffix, "alternatives": others}
    made = TaggedMarkers(FMT.replace(arguments=arguments))
    begins = {"<n=", "<p=", *made.quoted_openers}
    assert made.usual.suffix == core
    assert set(made.usual.ends.literals) == plain | begins
    assert set(made.usual.ends_crlf.literals) == crlf | begins
    assert made.usual.types == ""
    (way,) = made.ways.items()
    assert way[0] == ("<n=", ">")
    assert way[1].suffix == "</n>"
    assert set(way[1].ends.literals) == FORGOTTEN | {"</n>"} | begins
    assert way[1].types == "number"


@pytest.mark.parametrize(
    "arguments", [{}, {"name_prefix": "<"}, {"type_first": True, "type_suffix": "!"}]
)
def test_values_are_searched_for_openers(arguments):
    fmt = FMT.replace(arguments=arguments)
    made = TaggedMarkers(fmt)
    assert {fmt.arguments.name_prefix.strip(), *made.quoted_openers} <= {*made.usual.ends.literals}


@pytest.mark.parametrize(
    ("groups", "openers", "closers"),
    [
        ({}, {"<calls>": 0, "<call>": 1, "<f=": 2}, {"</calls>": 0, "</call>": 1, "</f>": 2}),
        # Only markers with a closer are counted.
        ({"tools": {"section_end": ""}}, {"<call>": 0, "<f=": 1}, {"</call>": 0, "</f>": 1}),
        # Brackets are frequent in text, and a closer with a name is not a fixed marker.
        ({"function": {"name_prefix": "<"}}, {"<calls>": 0, "<call>": 1}, None),
        ({"function": {"close_suffix": ">"}}, {"<calls>": 0, "<call>": 1}, None),
    ],
)
def test_openers_and_closers_of_quoted_calls_are_paired(groups, openers, closers):
    made = TaggedMarkers(FMT.replace(**groups))
    assert made.quoted_openers == openers
    assert made.quoted_closers == (closers or {"</calls>": 0, "</call>": 1})


def test_opener_of_a_call_may_begin_an_argument():
    elements = {"name_prefix": "<", "name_suffix": ">", "value_suffix": "</x>"}
    made = TaggedMarkers(FMT.replace(arguments=elements))
    assert made.as_arguments == {"<calls>": "calls", "<call>": "call"}


ELEMENT = {"name_prefix": "<", "name_suffix": ">", "value_suffix": "</x>", "end": ""}


@pytest.mark.parametrize(
    ("tools", "prefix", "close", "begins"),
    [
        # A call may begin like an argument.
        ({"section_start": "<calls>"}, "<name>", "", True),
        ({"section_start": "<calls>"}, "<name>", "</f>", False),
        ({"section_start": "<calls>"}, "<f=", "</f>", True),
        ({"per_call_start": "<call>"}, "<name>", "", False),
        # Arguments in JSON never begin like this.
        ({"section_start": "<calls>", "format": "TAG_WITH_JSON"}, "tool", "</f>", True),
    ],
)
def test_opener_of_the_next_call_in_place_of_an_argument(tools, prefix, close, begins):
    fmt = WireFormat().replace(
        tools={"format": "TAG_WITH_TAGGED"} | tools,
        function={"name_prefix": prefix, "name_suffix": "|", "close": close},
        arguments={} if "format" in tools else ELEMENT,
    )
    assert (prefix in TaggedMarkers(fmt).in_arguments.literals) is begins


def test_next_call_ends_a_value_in_formats_without_closers():
    tools = {"section_end": "", "per_call_end": ""}
    made = TaggedMarkers(FMT.replace(tools=tools, function={"close": ""}))
    cores = OUTER - ENDS | {"</p>"}
    assert set(made.usual.ends.literals) == behind("\n", cores) | {"<p="}


def test_suffix_before_a_name_keeps_its_whitespace():
    made = TaggedMarkers(FMT.replace(arguments={"key_suffix": ">", "value_suffix": "\n</ "}))
    assert made.usual.suffix == "</ "
    assert set(made.usual.ends.literals) == (
        behind("\n", FORGOTTEN | {"</ "}) | {"<p=", *made.quoted_openers}
    )


@pytest.mark.parametrize("suffix", ["</arg ", "\n</arg\n", "</"])
def test_value_ends_at_the_repeated_name_of_its_argument(suffix):
    fmt = WireFormat().replace(
        tools={"format": "TAG_WITH_TAGGED", "per_call_start": "<call>", "per_call_end": "</call>"},
        function={"name_prefix": "<f=", "name_suffix": ">"},
        arguments={
            "name_prefix": "<",
            "name_suffix": ">",
            "value_suffix": suffix,
            "key_suffix": ">",
        },
    )
    text = f"<call><f=f><city>NYC{suffix}b>{suffix}city><n>3{suffix}n></call>"
    for cut in (list(text), [text]):
        (call,) = read(fmt, cut).tool_calls
        assert call.arguments == f'{{"city": {json.dumps(f"NYC{suffix}b>")}, "n": 3}}'
        assert call.complete


def read(fmt, texts):
    parser = StreamParser(fmt)
    for text in texts:
        parser.feed(text)
    parser.finish("stop")
    return parser.message


def test_value_may_be_an_element():
    made = TaggedMarkers(FMT.replace(arguments={"item": "item"}))
    assert set(made.element_ends.literals) == {"<p=", "</p>"}
    assert "</p>" in made.after_value.literals


@pytest.mark.parametrize(
    ("closers", "ends"),
    [(("", "", ""), True), (("|", "", ""), False), (("", "|", ""), False), (("", "", "|"), False)],
)
def test_call_in_a_section_begins_at_its_prefix_or_a_separator(closers, ends):
    tools = {"per_call_start": "", "separator": "\n,", "per_call_end": closers[0]}
    function = {"name_prefix": "*", "close": closers[1]}
    arguments = {"end": closers[2]}
    made = TaggedMarkers(FMT.replace(tools=tools, function=function, arguments=arguments))
    assert "*" in made.in_arguments.literals
    # A value may contain a separator. If calls have a closer, the closer is earlier.
    assert "," not in made.in_arguments.literals
    assert ({",*", ", *", ",\n*"} <= set(made.in_arguments.literals)) is ends
    unmarked = FMT.replace(
        tools=tools, function=function | {"name_prefix": "\n"}, arguments=arguments
    )
    assert ("," in TaggedMarkers(unmarked).in_arguments.literals) is ends
    assert "<call>" not in made.in_arguments.literals
    marked = unmarked.replace(tools={"per_call_start": "<call>"})
    assert "," not in TaggedMarkers(marked).in_arguments.literals


@pytest.mark.parametrize("value", [",", "a,", ", ", ",b", ", b"])
def test_separator_before_the_closer_belongs_to_the_value(value):
    fmt = WireFormat().replace(
        tools={"format": "TAG_WITH_TAGGED", "section_start": "<s>", "section_end": "</s>"}
        | {"separator": ", "},
        function={"name_suffix": ":", "close": "<end>"},
        arguments={"name_prefix": "<k>", "name_suffix": "="},
    )
    text = f"<s>f:<k>a={value}<end>, g:<end></s>"
    for cut in (list(text), [text]):
        message = read(fmt, cut)
        made = [(call.name, call.arguments) for call in message.tool_calls]
        assert made == [("f", json.dumps({"a": value})), ("g", "{}")]
        assert not message.content


def test_tagged_markers_are_cached_for_equal_formats():
    assert tagged_markers(FMT) is tagged_markers(FMT.replace())


ELEMENTS = WireFormat().replace(
    tools={
        "format": "TAG_WITH_TAGGED",
        "per_call_start": "<call>",
        "per_call_end": "</call>",
    },
    function={"name_prefix": "<name>", "name_suffix": "</name><args>", "close": "</args>"},
    arguments={"name_prefix": "<", "name_suffix": ">", "value_suffix": "</", "key_suffix": ">"},
)
LINES = WireFormat().replace(
    tools={
        "format": "TAG_WITH_TAGGED",
        "per_call_start": "<call>\n",
        "per_call_end": "</call>",
    },
    function={"name_prefix": "name = ", "name_suffix": "\n"},
    arguments={"name_suffix": " = ", "value_suffix": "\n", "quoted_strings": True},
)
LISTED = WireFormat().replace(
    tools={
        "format": "TAG_WITH_TAGGED",
        "section_start": "<calls>\n",
        "section_end": "</calls>",
    },
    function={"name_prefix": "<name>", "name_suffix": "</name>\n", "close": "<end/>\n"},
    arguments={"name_prefix": "<", "name_suffix": ">", "value_suffix": "</", "key_suffix": ">\n"},
)
DASHES = WireFormat().replace(
    tools={"format": "TAG_WITH_TAGGED", "per_call_start": "<call>", "per_call_end": "</call>"},
    function={"name_suffix": "\n"},
    arguments={
        "name_prefix": "- ",
        "name_suffix": ": ",
        "value_suffix": "\n",
        "quoted_strings": True,
    },
)
BLANKS = WireFormat().replace(
    tools={"format": "TAG_WITH_JSON", "section_start": "<calls>\n", "section_end": "</calls>"},
    function={"name_prefix": "- ", "name_suffix": " ", "close": "\n"},
)


@pytest.mark.parametrize(
    ("fmt", "text", "name", "arguments", "properties"),
    [
        (
            ELEMENTS,
            "<call><name>add</name><args><name>Bo</name><args>x</args></args></call>",
            "add",
            {"name": "Bo", "args": "x"},
            None,
        ),
        (
            ELEMENTS,
            "<call><name>add</name><args><call>Bo</call><a>b</a></args></call>",
            "add",
            {"call": "Bo", "a": "b"},
            ["call", "a"],
        ),
        (LINES, '<call>\nname = add\nname = "Bo"\n</call>', "add", {"name": "Bo"}, None),
        (
            LISTED,
            "<calls>\n<name>add</name>\n<name>Bo</name>\n<end/>\n</calls>",
            "add",
            {"name": "Bo"},
            None,
        ),
        (DASHES, '<call>add-it\n- to-day: "Bo"\n</call>', "add-it", {"to-day": "Bo"}, None),
        (BLANKS, '<calls>\n- add-it {"a": "Bo"}\n</calls>', "add-it", {"a": "Bo"}, None),
    ],
)
def test_names_may_equal_or_contain_parts_of_markers(fmt, text, name, arguments, properties):
    parameters = {"properties": {key: {"type": "string"} for key in properties or arguments}}
    tools = [{"name": name, "parameters": parameters}, {"name": "ad"}]
    for given in (tools, *([None] if properties is None else [])):
        for chunks in ([text], list(text)):
            parser = StreamParser(fmt, tools=given)
            for chunk in chunks:
                parser.feed(chunk)
            parser.finish("stop")
            assert not parser.issues
            made = [(call.name, json.loads(call.arguments)) for call in parser.message.tool_calls]
            assert made == [(name, arguments)]


def test_call_begins_in_arguments_if_its_tag_is_not_an_argument():
    text = "<call><name>f</name><args><a>1</a><call><name>g</name><args></args></call>"
    parser = StreamParser(ELEMENTS, tools=[{"name": "f", "parameters": {"properties": {"a": {}}}}])
    parser.feed(text)
    parser.finish("stop")
    assert [call.name for call in parser.message.tool_calls] == ["f", "g"]


@pytest.mark.parametrize(
    ("fmt", "text"),
    [(ELEMENTS, "See <name>Bo</name><age>3</age>, she says"), (LINES, "So:\nname = Bo\nage = 3\n")],
)
def test_text_like_an_argument_is_not_a_call(fmt, text):
    assert parse(text, fmt).content == text


def test_longest_tool_name_with_a_marker_in_it_is_called():
    fmt = WireFormat().replace(
        tools={"format": "TAG_WITH_JSON", "per_call_start": "<call>", "per_call_end": "</call>"},
        function={"name_suffix": ":"},
    )
    tools = [{"name": "list"}, {"name": "list:files"}]
    for name in ("list", "list:files"):
        for text in (f"<call>{name}:{{}}</call>", f"<call>{name}: {{}}</call>"):
            for chunks in ([text], list(text)):
                parser = StreamParser(fmt, tools=tools)
                for chunk in chunks:
                    parser.feed(chunk)
                parser.finish("stop")
                assert [call.name for call in parser.message.tool_calls] == [name]
                assert not parser.issues
