"""Calls with a name and arguments between markers."""

from __future__ import annotations

import pytest

from deltaparse import CallIdFormat, WireFormat, analyze
from deltaparse.analyzer.phases.find_tagged_calls import Position, _before_name, _last_of

FIRST = CallIdFormat(position=Position.PRE_FUNC_NAME)
NAMED = CallIdFormat(position=Position.PRE_FUNC_NAME, holds_name=True)
NONE = CallIdFormat()


@pytest.mark.parametrize(("text", "last"), [("", ""), ("<a><b>", "<b>"), ("<a>b", "b")])
def test_last_of_returns_the_last_marker(text, last):
    assert _last_of(text) == last


@pytest.mark.parametrize(
    ("call_id", "start", "marker", "before_id", "before_name"),
    [
        (NONE, "<call><name>", "<call>", "", "<name>"),
        (NONE, "<call><f><name>", "<call>", "", "<f><name>"),
        (NAMED, "<call><name>", "<call>", "", "<name>"),
        (FIRST, "<call><id>", "<call>", "<id>", ""),
        (FIRST, "<call>", "<call>", "", ""),
        (FIRST, "id:", "id:", "", ""),
        (NONE, "id:", "", "", "id:"),
        (FIRST, "", "", "", ""),
        (FIRST, "\n", "\n", "", ""),
        (NONE, "\n<call>", "\n<call>", "", ""),
    ],
)
def test_before_name_splits_call_marker_and_prefix(call_id, start, marker, before_id, before_name):
    found, call_start, prefix = _before_name(call_id, start)
    assert (found.prefix, call_start, prefix) == (before_id, marker, before_name)


NAME = "{{ c.function.name }}"
JSON = "{{ c.function.arguments | tojson }}"
TAGS = "{% for k, v in c.function.arguments.items() %}<a={{ k }}>"
TAGS += "{{ v if v is string else v | tojson }}</a>{% endfor %}"
LINE = "{{ '\n' }}"
ID = "{{ c.id }}"


def analyzed(one: str, before: str = "", behind: str = "") -> WireFormat:
    """Return the analysis of a template with this text per call, and around all calls."""
    calls = before + "{% for c in m.tool_calls %}" + one + "{% endfor %}" + behind
    return analyze(
        "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>"
        "{{ m.content or '' }}{% if m.tool_calls %}" + calls + "{% endif %}"
        "<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )


@pytest.mark.parametrize(
    ("before", "behind", "start", "end", "ends"),
    [
        ("", "", "", "", []),
        ("", LINE, "", "\n", []),
        ("<s>", "</s>", "<s>", "</s>", []),
        ("", "<|d|>", "", "", ["<|d|>"]),
        ("", "<|d|>" + LINE, "", "", ["<|d|>"]),
        (LINE, "<|d|>", "\n", "", ["<|d|>"]),
        (LINE, LINE, "\n", "\n", []),
    ],
)
def test_section_end_without_start_ends_the_turn(before, behind, start, end, ends):
    fmt = analyzed("<f>" + NAME + JSON + "</f>", before, behind)
    assert fmt.verified
    assert (fmt.tools.section_start, fmt.tools.section_end) == (start, end)
    assert [text for text in fmt.turn.ends if "end" not in text] == ends
    assert (fmt.tools.per_call_end, fmt.function.close) == ("</f>", "")


@pytest.mark.parametrize(
    ("behind", "close", "suffix"),
    [
        ("</f=" + NAME + ">", "</f=", ">"),
        ("</f-" + NAME + ">\n", "</f-", ">\n"),
        ("</f>", "</f>", ""),
    ],
)
def test_closing_marker_may_repeat_the_function_name(behind, close, suffix):
    fmt = analyzed("<f=" + NAME + ">" + TAGS + behind)
    assert fmt.verified
    assert (fmt.function.close, fmt.function.close_suffix) == (close, suffix)


@pytest.mark.parametrize(
    "behind", [" (" + NAME, " (" + NAME + ")", "</f" + NAME, "</f " + NAME + " done"]
)
def test_repeated_name_outside_a_marker_is_not_a_closer(behind):
    fmt = analyzed("<f=" + NAME + ">" + TAGS + behind)
    assert fmt.function.close_suffix == ""


SEVERAL, ONE = "m.tool_calls | length > 1", "m.tool_calls | length == 1"


@pytest.mark.parametrize(
    ("behind", "end"),
    [
        ("{{ '</s>' if " + SEVERAL + " }}", "</s>"),
        (LINE + "{{ '</s>' if " + SEVERAL + " }}", "\n</s>"),
        ("{{ '\\n' if " + ONE + " }}", "\n"),
        ("</s>{{ '<more>' if " + SEVERAL + " }}", "</s>"),
    ],
)
def test_section_end_may_follow_several_calls_only(behind, end):
    """Text after a single call is not part of its end."""
    fmt = analyzed("<f>" + NAME + JSON + "</f>", "<s>", behind)
    assert fmt.tools.section_end == end


def test_section_end_requires_rendered_calls():
    one = "{% if loop.first %}<f>" + NAME + JSON + "</f>{% endif %}"
    fmt = analyzed(one, behind="{{ '<more>' if " + SEVERAL + " }}")
    assert (fmt.tools.section_end, fmt.tools.supports_parallel_calls) == ("", False)
    assert not any("<more>" in end for end in fmt.turn.ends)


def test_whitespace_before_a_call_is_a_separator():
    fmt = analyzed(f"{LINE}<f>{NAME}{JSON}</f>")
    assert fmt.verified
    assert (fmt.tools.content_separator, fmt.tools.separator) == ("\n", "\n")
    fmt = analyzed(f"{LINE}{ID}>{NAME}({JSON}</f>", "<s>", "</s>")
    assert fmt.verified
    assert (fmt.tools.per_call_start, fmt.function.close) == ("\n", "</f>")


@pytest.mark.parametrize("before", ["", LINE])
def test_invalid_json_from_the_template_is_not_a_marker(before):
    one = f'{before}{{"name": "{NAME}", "arguments": {JSON} oops}}'
    assert analyzed(one).tools.format == "NONE"


def test_call_without_arguments_is_not_understood():
    fmt = analyzed(f"<f>{NAME}</f>")
    assert fmt.tools.format == "NONE"
    assert any("not understood, '<f>NAME</f>'" in issue for issue in fmt.issues)


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (f"<f>api.{NAME}{JSON}</f>", {"name_prefix": "api.", "namespace": ""}),
        (
            "<f>api." + NAME + ":{{ loop.index0 }}<a>" + JSON + "</f>",
            {"name_prefix": "", "namespace": "api.", "name_suffix": "<a>"},
        ),
        (f"<f>{NAME}:0<a>{JSON}</f>", {"name_prefix": "", "name_suffix": ":0<a>"}),
        (f"<f={NAME} v=1>{TAGS}</f>", {"name_prefix": "<f=", "name_suffix": " v=1>"}),
        ("<f=" + NAME + " v={{ loop.index }}>" + TAGS + "</f>", {"name_suffix": ""}),
    ],
)
def test_name_prefix_and_suffix_are_found(one, found):
    fmt = analyzed(one)
    assert fmt.verified
    assert fmt.tools.supports_tools
    assert fmt.tools.supports_parallel_calls
    assert {key: getattr(fmt.function, key) for key in found} == found


@pytest.mark.parametrize("before", ["", " ", "{{ '\n' }}"])
def test_call_without_a_start_marker_is_not_understood(before):
    fmt = analyzed(f"{before}{NAME} {JSON}</f>")
    assert fmt.tools.format == "NONE"
    assert any("not understood" in issue and "NAME" in issue for issue in fmt.issues)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("{{ '<q>' + v + '<q>' if v is string else v | tojson }}", "TAG_WITH_JSON"),
        ("<q>{{ v if v is string else v | tojson }}<q>", "TAG_WITH_TAGGED"),
    ],
)
def test_quotes_around_all_values_are_argument_markers(value, form):
    pairs = "{% for k, v in c.function.arguments.items() %}{{ ',' if not loop.first }}{{ k }}:"
    fmt = analyzed(f"<f>{NAME}{{{{ '{{' }}}}{pairs}{value}{{% endfor %}}{{{{ '}}' }}}}</f>")
    assert fmt.tools.format == form
    assert fmt.arguments.quote == ("<q>" if form == "TAG_WITH_JSON" else "")


def test_call_with_json_arguments_needs_no_end_marker():
    fmt = analyzed(f"<f>{NAME}{JSON}")
    assert fmt.verified
    assert (fmt.arguments.end, fmt.function.close, fmt.tools.per_call_end) == ("", "", "")


def test_text_after_json_arguments_ends_the_arguments():
    fmt = analyzed(f"<f>{NAME}({JSON})</f>")
    assert fmt.verified
    assert (fmt.function.name_suffix, fmt.arguments.end) == ("(", ")")
    assert (fmt.function.close, fmt.tools.per_call_end) == ("", "</f>")


NOT_NONE = "{% if not c.function.arguments %}{{ raise_exception('none') }}{% endif %}"


@pytest.mark.parametrize(
    ("one", "position", "prefix", "suffix"),
    [
        (f"<f>{NAME}<id>{ID}</id>{JSON}</f>", Position.BETWEEN_FUNC_AND_ARGS, "<id>", "</id>"),
        (
            f"{NOT_NONE}<f>{NAME}<id>{ID}</id>{JSON}</f>",
            Position.BETWEEN_FUNC_AND_ARGS,
            "<id>",
            "</id>",
        ),
        (f"<f={NAME} id={ID}>{TAGS}</f>", Position.BETWEEN_FUNC_AND_ARGS, " id=", ">"),
        (
            f"{NOT_NONE}<f={NAME} id={ID}><x>{TAGS}</f>",
            Position.BETWEEN_FUNC_AND_ARGS,
            " id=",
            "><x>",
        ),
        (
            NOT_NONE + f"<f={NAME} v={{{{ loop.index0 }}}}><x>{TAGS}</f>",
            Position.BETWEEN_FUNC_AND_ARGS,
            " v=",
            "><x>",
        ),
        (f"<f>{NAME}{JSON}<id>{ID}</id></f>", Position.POST_ARGS, "<id>", ""),
        (f"<f={NAME}>{TAGS}</args><x><id>{ID}</id></f>", Position.POST_ARGS, "<id>", ""),
    ],
)
def test_call_id_position_is_found(one, position, prefix, suffix):
    fmt = analyzed(one)
    assert fmt.verified
    assert (fmt.call_id.position, fmt.call_id.prefix, fmt.call_id.suffix) == (
        position,
        prefix,
        suffix,
    )
    assert fmt.function.close == (
        "</id>" if position is Position.POST_ARGS else "</f>" * ("=" in one)
    )
    assert fmt.arguments.end == ("</args><x>" if "</args>" in one else "")
    assert fmt.arguments.name_prefix == ("<a=" if TAGS in one else "")
    assert TAGS in one or fmt.function.name_suffix == ""


@pytest.mark.parametrize("count", ["loop.index0", "loop.index"])
@pytest.mark.parametrize("rest", [f"</n>{JSON}", f"<x>{TAGS}"])
@pytest.mark.parametrize("before", ["", "<s 7>"])
def test_number_before_each_name_is_the_call_id(count, rest, before):
    fmt = analyzed(f"{before}<f n={{{{ {count} }}}}>{NAME}{rest}</f>")
    assert fmt.verified
    assert (fmt.call_id.position, fmt.call_id.suffix) == (Position.PRE_FUNC_NAME, ">")
    assert fmt.tools.per_call_start + fmt.call_id.prefix == before + "<f n="


@pytest.mark.parametrize("number", ["0", "1", "7"])
def test_constant_number_is_part_of_the_marker(number):
    fmt = analyzed(f"<f n={number}>{NAME}<x>{TAGS}</f>")
    assert fmt.verified
    assert (fmt.call_id, fmt.tools.per_call_start) == (NONE, f"<f n={number}>")


def test_argument_marker_after_a_number_is_complete():
    one = f"<f={NAME} v={{{{ loop.index0 }}}}><x>{TAGS}</f>"
    fmt = analyzed(one.replace("<a=", "<b><a="))
    assert fmt.verified
    assert (fmt.call_id.suffix, fmt.arguments.name_prefix) == ("><x>", "<b><a=")


def test_arguments_section_after_a_number_is_not_part_of_the_id():
    given = "{% if c.function.arguments %}<x>" + TAGS + "</x>{% endif %}"
    fmt = analyzed(f"<f={NAME} v={{{{ loop.index0 }}}}{given}</f>")
    assert fmt.verified
    assert (fmt.arguments.start, fmt.arguments.end) == ("<x>", "</x>")
    assert (fmt.call_id.suffix, fmt.function.close) == ("", "</f>")


def test_unmarked_id_after_arguments_has_no_prefix():
    fmt = analyzed(f"<f={NAME}>{TAGS}{ID};</f>")
    assert (fmt.call_id.position, fmt.call_id.prefix) == (Position.POST_ARGS, "")
    assert not fmt.verified


@pytest.mark.parametrize(
    ("one", "close", "end"),
    [
        (f"<c><f>{NAME}</n>{JSON}</x></f></c>", "</x></f>", "</c>"),
        (f"<c><f={NAME}>{TAGS}</x></f></c>", "</x></f>", "</c>"),
        (f"<c><f={NAME}>{TAGS}</f></c>", "</f>", "</c>"),
        (f"<f>{NAME}{JSON}{LINE}</f>", "", "\n</f>"),
        (f"<f={NAME}>{TAGS}</f>", "</f>", ""),
    ],
)
def test_last_of_several_closers_ends_the_call(one, close, end):
    fmt = analyzed(one)
    assert fmt.verified
    assert (fmt.function.close, fmt.tools.per_call_end, fmt.arguments.end) == (close, end, "")
