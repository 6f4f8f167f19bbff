"""Tests of the fast path for calls in tags."""

from __future__ import annotations

import pytest

from deltaparse import WireFormat, get_format, list_formats
from deltaparse.partial import Window
from deltaparse.stream.wire.fast_patterns import fast_tags
from deltaparse.stream.wire.marker_tables import marker_tables

TAGGED = WireFormat().replace(
    turn={"ends": ("<end>",)},
    tools={"format": "TAG_WITH_TAGGED", "per_call_start": "<call>", "per_call_end": "</call>\n"},
    function={"name_prefix": "<f=", "name_suffix": ">\n", "close": "</f>\n"},
    arguments={"name_prefix": "<p=", "name_suffix": ">\n", "value_suffix": "\n</p>\n"},
)
TWO_MARKERS = TAGGED.replace(
    arguments={
        "name_prefix": "<key>",
        "name_suffix": "</key>\n",
        "value_prefix": "<value>",
        "value_suffix": "</value>\n",
    }
)
IN_JSON = TAGGED.replace(
    tools={"format": "TAG_WITH_JSON"},
    arguments={"name_prefix": "", "name_suffix": "", "value_suffix": ""},
)
IN_TAGS = [
    name
    for name in list_formats()
    if getattr(marker_tables(get_format(name), calls=True).fast_tags, "arguments", None)
]


def check_waits(step, text):
    """Assert that a pattern waits at each prefix of a text, and not for other text."""
    for size in range(len(text)):
        assert step.match(text[:size]) is None
        assert step.may_follow(Window(text[:size])), text[:size]
        assert not any(step.may_follow(Window(text[:size] + odd)) for odd in "\x00?")


@pytest.mark.parametrize(
    ("fmt", "text", "end"),
    [
        (TAGGED, "f.g>\n<p=", 5),
        (TAGGED, " f>  \n<p=", 6),
        (IN_JSON, "f>\n{", 3),
        (IN_JSON, 'f>"', 2),
        (IN_JSON.replace(arguments={"start": "<args>\n"}), "f>\n<args>\n{", 10),
    ],
)
def test_head_pattern_ends_before_the_arguments(fmt, text, end):
    head = fast_tags(fmt).head
    found = head.match(f"{text}so")
    assert (found[1], found.end()) == (text.strip().split(">")[0], end)
    check_waits(head, text)


@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        (TAGGED, "f g>\n<p="),
        (TAGGED, "f>\n</f>"),
        (TAGGED, ">\n<p="),
        (TAGGED, "f" * 129 + ">\n<p="),
        (IN_JSON, "f>\n</f>"),
        (IN_JSON, "f>\n[1]"),
    ],
)
def test_unusual_head_is_not_matched(fmt, text):
    assert fast_tags(fmt).head.match(text) is None


@pytest.mark.parametrize("name", IN_TAGS)
def test_patterns_of_built_in_formats_wait_at_each_character(name):
    fmt = get_format(name)
    arguments, steps = fmt.arguments, fast_tags(fmt).arguments
    key = arguments.name_prefix.strip() + "days" + arguments.name_suffix + arguments.value_prefix
    found = steps.key.match(f"{key}x")
    assert (found[1], found.end()) == ("days", len(key))
    check_waits(steps.key, key.rstrip())
    end = arguments.value_suffix + arguments.name_prefix.strip()
    assert steps.end.match(end).end() == len(arguments.value_suffix)
    check_waits(steps.end, end)
    scalar = steps.scalar.match(f"-3.5{end}")
    assert (scalar[1], scalar.end()) == ("-3.5", 4 + len(arguments.value_suffix))
    assert all(steps.scalar.may_follow(Window(f"true{end[:size]}")) for size in range(len(end)))


@pytest.mark.parametrize(
    ("fmt", "text", "closer"),
    [
        (TAGGED, "\n</p>\n</f>", "</f>"),
        (TAGGED, "</p></f>", "</f>"),
        (TAGGED, "\n</p>\n<p=", None),
        (TWO_MARKERS, "</value>\n</f>", "</f>"),
        (TWO_MARKERS, "</value><key>", None),
        (TAGGED.replace(function={"close": " "}), "\n</p>\n</call>", "</call>"),
        (TAGGED.replace(function={"close": ""}), "\n</p>\n</call>", "</call>"),
    ],
)
def test_value_ends_before_an_argument_or_a_closer(fmt, text, closer):
    steps = fast_tags(fmt).arguments
    start = text.rindex("<")
    found = steps.end.match(text)
    assert (found.end(), found[found.re.groups]) == (start, closer)
    scalar = steps.scalar.match(f"1{text}")
    assert (scalar[1], scalar.end(), scalar[scalar.re.groups]) == ("1", start + 1, closer)
    check_waits(steps.end, text)
    # Hardly any model writes this whitespace.
    check_waits(steps.end, f"{text[:start].rstrip()}\t \n{text[start:]}")


@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        (TAGGED, "\n\n</p>\n</f>"),
        (TAGGED, "\n</p>\n</call>"),
        (TAGGED, "\n</p>so</f>"),
        (TWO_MARKERS, "\n</value></f>"),
        # Another marker ends the arguments first, or begins with the closer.
        (TAGGED.replace(arguments={"end": "</args>"}), "\n</p>\n</f>"),
        (TAGGED.replace(tools={"section_end": "</f>s"}), "\n</p>\n</f>"),
        (TAGGED.replace(turn={"ends": ("</f>s",)}), "\n</p>\n</f>"),
        (TAGGED.replace(tools={"section_end": "</f>s"}), "\n</p>\n?"),
    ],
)
def test_unusual_end_is_not_matched(fmt, text):
    assert fast_tags(fmt).arguments.end.match(text) is None


def test_line_break_before_a_value_is_optional():
    steps = fast_tags(TAGGED).arguments
    assert steps.key.match("<p=a>x").end() == len("<p=a>")
    assert steps.key.match("<p=a>\nx").end() == len("<p=a>\n")
    assert steps.key.match("<p=a>\n\nx").end() == len("<p=a>\n")
    # A line break may still follow.
    assert steps.key.match("<p=a>") is None
    assert steps.key.may_follow(Window("<p=a>"))
    assert steps.key.match("<p=a>\r\nx") is None
    assert fast_tags(TWO_MARKERS).arguments.key.match("<key>a</key><value>")
    # Whitespace before the end of a name is not allowed.
    assert steps.key.match("<p=a >x") is None


def test_whitespace_around_the_value_prefix_is_optional():
    spaced = TWO_MARKERS.replace(arguments={"value_prefix": "\n<value>\n"})
    for text in ("<key>a</key>\n<value>\n", "<key>a</key><value>"):
        found = fast_tags(spaced).arguments.key.match(f"{text}x")
        assert (found[1], found.end()) == ("a", len(text))


def test_json_in_tags_has_no_argument_patterns():
    assert fast_tags(IN_JSON).arguments is None


@pytest.mark.parametrize(
    "groups",
    [
        {"function": {"name_suffix": ""}},
        {"function": {"name_suffix": "is"}},
        {"call_id": {"position": "BETWEEN_FUNC_AND_ARGS", "prefix": "<id>"}},
        {"call_id": {"position": "BETWEEN_FUNC_AND_ARGS", "prefix": "<id>", "holds_name": True}},
        {"call_id": {"position": "PRE_FUNC_NAME", "prefix": "<id>"}},
        {"arguments": {"name_prefix": " "}},
        {"arguments": {"name_prefix": "</", "end": "</args>"}},
    ],
)
def test_ambiguous_head_has_no_fast_patterns(groups):
    assert fast_tags(TAGGED.replace(**groups)) is None


def test_id_with_the_name_is_matched_as_the_name():
    call_id = {"position": "PRE_FUNC_NAME", "holds_name": True}
    assert fast_tags(IN_JSON.replace(call_id=call_id)).head.match("functions.f:0>{")


@pytest.mark.parametrize(
    "arguments",
    [
        {"name_suffix": "is"},
        {"name_suffix": ">\n\n"},
        {"name_suffix": "> "},
        {"name_suffix": " "},
        {"name_suffix": ">", "value_prefix": "\n\n"},
        {"name_suffix": ">", "value_prefix": "<v> "},
        {"value_suffix": "\n"},
        {"value_suffix": "\n\n</p>"},
        {"value_suffix": " </p>"},
        {"value_suffix": "end"},
        {"value_suffix": ".</p>"},
        {"type_suffix": "!"},
        {"escape_start": "<![", "escape_end": "]]>"},
        {"item": "item"},
        {"key_suffix": ">"},
        {"literal_name_suffix": "=json>"},
        {"separator": ","},
        {"alternatives": ("number", "<p=", "!", "</n>")},
        {"value_prefix": ">>"},
        {"name_suffix": ">", "value_prefix": "is:"},
    ],
)
def test_ambiguous_arguments_have_no_fast_patterns(arguments):
    blank = {"literal_name_suffix": " "}
    assert fast_tags(TAGGED.replace(arguments=blank)).arguments is not None
    assert fast_tags(TAGGED.replace(arguments=arguments)).arguments is None


def test_calls_without_closers_have_no_argument_patterns():
    open_ended = TAGGED.replace(tools={"per_call_end": ""}, function={"close": ""})
    assert fast_tags(open_ended).arguments is None
