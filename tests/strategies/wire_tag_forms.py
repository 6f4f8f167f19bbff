"""Rare variants of formats with calls in tags, derived from the usual ones.

The variants are: closers with the function name, sections of calls without start markers, arguments
with a written type, with markers for their type, without start markers, or ended by a line or by
the next text.
"""

from __future__ import annotations

from hypothesis import strategies as st

from .wire_json_and_tags import tagged_formats
from .wire_parts import SHAPES

FORMS = (
    "closed by name",
    "in a section",
    "typed",
    "type first",
    "keys again",
    "ways",
    "names alone",
    "attributes",
    "lines",
    "nothing ends values",
)


@st.composite
def tag_form_formats(draw):
    """Draw a wire format with one or two of these variants."""
    forms = {draw(st.sampled_from(FORMS)), draw(st.sampled_from(FORMS))}
    tagged = forms & {*FORMS[2:]} or draw(st.booleans())
    fmt = draw(tagged_formats(kinds=["TAG_WITH_TAGGED" if tagged else "TAG_WITH_JSON"]))
    for form in FORMS:
        if form in forms:
            fmt = CHANGES[form](draw, fmt)
    return fmt


def closed_by_name(draw, fmt):
    # A closer that is a word would be part of a name directly before it.
    words = ["end:"] if fmt.function.name_suffix.strip() else []
    close = draw(st.sampled_from(["</", "[/", "</fn=", '<end of="', *words]))
    suffix = draw(st.sampled_from([">", "]", ">\n", '"/>', ">>"]))
    return fmt.replace(function={"close": close, "close_suffix": suffix})


def in_a_section(draw, fmt):
    if fmt.call_id.position == "PRE_FUNC_NAME":
        return fmt
    section = "<|section|>" + draw(st.sampled_from(["", "\n"]))
    prefix = draw(st.sampled_from(["", "<", "[:"]))  # not the start of a list of lists
    suffix = fmt.function.name_suffix.strip() or "<|named|>"
    shown = bool(prefix or fmt.function.close.strip() or fmt.arguments.end.strip())
    separators = ["", "\n"] * shown + [", ", "; ", "<|next|>"]
    return fmt.replace(
        tools={
            "section_start": section,
            "section_end": "<|/section|>",
            "per_call_start": "",
            "per_call_end": "",
            "separator": draw(st.sampled_from(separators)),
        },
        function={"name_prefix": prefix, "name_suffix": suffix},
    )


def typed(draw, fmt):
    if fmt.arguments.alternatives:
        return fmt
    return fmt.replace(arguments={"name_suffix": '" type="', "type_suffix": '"is>'})


def type_first(draw, fmt):
    return typed(draw, fmt).replace(arguments={"name_suffix": '">>', "type_first": True})


def keys_again(draw, fmt):
    suffix = fmt.arguments.value_suffix.rstrip() + draw(st.sampled_from(["", " ", "\n"]))
    return fmt.replace(
        arguments={"value_suffix": suffix, "key_suffix": draw(st.sampled_from([">", ")\n"]))}
    )


def ways(draw, fmt):
    arguments = fmt.arguments
    if arguments.type_suffix:
        return fmt
    shape, other = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(["", "<one>", "<|one|>"]))
    prefix = draw(st.sampled_from([arguments.name_prefix, shape.format("other")]))
    first = ("integer number boolean", prefix, "{is one}", other + "{/one}")
    rest = ("null array object", arguments.name_prefix, "{is more}", "{/more}")
    suffix = arguments.name_suffix + arguments.value_prefix
    made = {"alternatives": (*first, *rest), "value_prefix": "", "name_suffix": suffix}
    return fmt.replace(arguments=made | {"key_suffix": ""})


def names_alone(draw, fmt, prefix=""):
    arguments, function = fmt.arguments, fmt.function
    if arguments.alternatives or arguments.type_suffix:
        return fmt
    ends = [arguments.end, *fmt.derived.closers, function.close * fmt.derived.closes_by_name]
    end = arguments.end if any(map(str.strip, ends)) else "<|/arguments|>"
    suffix = function.name_suffix.strip() or "<|named|>"
    made = {"name_prefix": prefix, "end": end, "name_suffix": arguments.name_suffix.strip()}
    return fmt.replace(arguments=made, function={"name_suffix": suffix})


def attributes(draw, fmt):
    fmt = names_alone(draw, fmt, prefix=draw(st.sampled_from([" ", "\n", "\n  "])))
    if fmt.arguments.name_prefix.strip():
        return fmt
    marks = {"name_suffix": draw(st.sampled_from(["=", "=<|", ":="])), "key_suffix": ""}
    return fmt.replace(arguments=marks | {"value_prefix": "", "value_suffix": "|>"})


def lines(draw, fmt):
    if fmt.arguments.key_suffix or fmt.arguments.alternatives:
        return fmt
    return without_space_before_ends(fmt).replace(arguments={"value_suffix": "\n"})


def nothing_ends_values(draw, fmt):
    marks = fmt.arguments
    if not marks.name_prefix.strip() or marks.key_suffix or marks.alternatives:
        return fmt
    return without_space_before_ends(fmt).replace(arguments={"value_suffix": ""})


def without_space_before_ends(fmt):
    """Remove leading whitespace of markers after a value, since it would belong to the value."""
    tools, marks = fmt.tools, fmt.arguments
    prefix = marks.name_prefix.lstrip()
    return fmt.replace(
        arguments={"name_prefix": prefix, "end": marks.end.lstrip(), "separator": ""},
        function={
            "close": fmt.function.close.lstrip(),
            "name_prefix": fmt.function.name_prefix.lstrip(),
        },
        tools={
            "section_end": tools.section_end.lstrip(),
            "per_call_end": tools.per_call_end.lstrip(),
            "per_call_start": tools.per_call_start.lstrip(),
            "separator": tools.separator.lstrip(),
        },
        call_id={"prefix": fmt.call_id.prefix.lstrip()},
    )


CHANGES = dict(
    zip(
        FORMS,
        (
            closed_by_name,
            in_a_section,
            typed,
            type_first,
            keys_again,
            ways,
            names_alone,
            attributes,
            lines,
            nothing_ends_values,
        ),
        strict=True,
    )
)
