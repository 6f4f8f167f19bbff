"""What stands round calls that are written as Python writes them."""

from __future__ import annotations

import pytest

from deltaparse import analyze, parse

CALL = (
    "{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}"
    "{% if not loop.last %}, {% endif %}{% endfor %})"
)


def template(before: str, behind: str) -> str:
    calls = "{% for c in m.tool_calls %}" + CALL
    calls += "{% if not loop.last %}, {% endif %}{% endfor %}"
    return (
        "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>"
        "{{ m.content or '' }}{% if m.tool_calls %}" + before + calls + behind + "{% endif %}"
        "<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )


@pytest.mark.parametrize(
    ("before", "behind", "listed", "start", "end"),
    [
        ("<|c|>[", "]<|d|>", True, "<|c|>", "<|d|>"),
        ("<|c|>[ ", " ]<|d|>", True, "<|c|>", "<|d|>"),
        ("<|c|>[", "<|d|>", False, "<|c|>[", "<|d|>"),  # a bracket that nothing closes
        ("<|c|>", "]<|d|>", False, "<|c|>", "]<|d|>"),  # or nothing opens
        ("[", "]<|d|>", True, "", "<|d|>"),
        ("", "<|d|>", False, "", ""),  # what nothing began ends the turn
    ],
)
def test_brackets_and_markers_round_the_calls(before, behind, listed, start, end):
    fmt = analyze(template(before, behind))
    tools = fmt.tools
    assert tools.format == "PYTHONIC"
    assert (tools.array_wrapped, tools.section_start, tools.section_end) == (listed, start, end)
    if not (start or listed):
        assert any("<|d|>" in text for text in fmt.turn.ends)
        assert (tools.separator, tools.behind_content) == ("", False)


@pytest.mark.parametrize(("before", "behind"), [("<c>print(", ")</c>"), ("<c>", "]</c>")])
def test_a_bracket_that_closes_what_stands_round_calls_is_none_of_theirs(before, behind):
    fmt = analyze(template(before, behind))
    assert fmt.verified
    assert (fmt.tools.section_start, fmt.tools.section_end) == (before, behind)
    message = parse(f"{before}f(a=1){behind}<|end|>", fmt)
    assert (message.content, message.tool_calls[0].arguments) == ("", '{"a": 1}')
    assert not message.issues


ALONE = "{% if m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}"


@pytest.mark.parametrize(
    ("before", "name", "behind", "start", "namespace"),
    [
        ("<|c|>", "api.", "<|d|>", "<|c|>", "api."),
        ("<|c|>[", "api.", "]<|d|>", "<|c|>", "api."),
        (ALONE + "<|c|>[", "api.", "]<|d|>", "<|c|>", "api."),
        (ALONE + "<|c|>[", "", "]<|d|>", "<|c|>", ""),
        ("<|c|>api.", "", "<|d|>", "<|c|>api.", ""),  # before the first of two alone
    ],
)
def test_what_stands_before_each_name_is_a_namespace(before, name, behind, start, namespace):
    fmt = analyze(template(before, behind).replace(CALL, name + CALL))
    assert (fmt.tools.section_start, fmt.function.namespace) == (start, namespace)
    assert fmt.tools.array_wrapped == before.endswith("[")
    assert fmt.tools.separator == ("" if ALONE in before else ", ")
    assert fmt.verified or not namespace


@pytest.mark.parametrize(
    ("bracket", "form"), [("(", "PYTHONIC"), (" (", "PYTHONIC"), ("<", "NONE"), ("((", "NONE")]
)
def test_one_bracket_opens_the_arguments(bracket, form):
    call = CALL.replace("name }}(", "name }}" + bracket)
    assert analyze(template("<|c|>[", "]<|d|>").replace(CALL, call)).tools.format == form


@pytest.mark.parametrize(
    ("equals", "space"), [(" = ", ""), ("= ", ""), (" =", ""), ("=", " "), (" = ", "{{ '\n' }}")]
)
def test_white_space_round_an_argument_is_no_part_of_it(equals, space):
    call = CALL.replace("{{ k }}=", space + "{{ k }}" + equals).replace(
        "endfor %}", "endfor %}" + space
    )
    fmt = analyze(template("<|c|>[", "]<|d|>").replace(CALL, call))
    assert (fmt.tools.format, fmt.tools.separator, fmt.verified) == ("PYTHONIC", ", ", True)


def test_calls_that_show_no_arguments_are_not_understood():
    fmt = analyze(template("<|c|>[", "]<|d|>").replace(CALL, "{{ c.function.name }}()"))
    assert fmt.tools.format == "NONE"


def test_json_in_brackets_is_no_call_in_python():
    call = "{{ c.function.name }}({{ c.function.arguments | tojson }})"
    fmt = analyze(template("<|c|>", "<|d|>").replace(CALL, call))
    assert (fmt.tools.format, fmt.verified) == ("TAG_WITH_JSON", True)


@pytest.mark.parametrize("value", ["<q>{{ v }}<q>", "{{ v | tojson }};", '"{{ v }}', "'{{ v }}\""])
def test_a_value_ends_in_its_quote_before_the_bracket(value):
    call = CALL.replace("{{ v | tojson }}", value)
    assert analyze(template("<|c|>[", "]<|d|>").replace(CALL, call)).tools.format != "PYTHONIC"


@pytest.mark.parametrize("equals", ["", "("])
def test_no_argument_is_named_without_an_equals_sign(equals):
    call = CALL.replace("{{ k }}=", "{{ k }}" + equals)
    assert analyze(template("<|c|>[", "]<|d|>").replace(CALL, call)).tools.format != "PYTHONIC"


@pytest.mark.parametrize(
    ("before", "behind", "told", "space"),
    [
        (" [", "]", True, " "),
        ("[", "]", True, ""),
        ("", "", False, ""),
        (" ", "", False, " "),
        ("[c][", "]", False, ""),
        ("", "{{ '\\n' }}", False, ""),
    ],
)
def test_calls_behind_content_without_brackets_are_not_told_from_it(before, behind, told, space):
    tools = analyze(template(before, behind)).tools
    assert (tools.behind_content, tools.content_separator) == (told, space)
    assert tools.separator == ", "


def test_calls_that_no_content_stands_before():
    source = template("[", "]").replace("{{ m.content or '' }}{% if", "{% if")
    source = source.replace("<|end|>", "{% if not m.tool_calls %}{{ m.content }}{% endif %}<|end|>")
    tools = analyze(source).tools
    assert (tools.behind_content, tools.content_separator) == (False, "")


def test_white_space_begins_nothing_that_a_marker_could_end():
    fmt = analyze(template("{{ '\n' }}", "<|d|>{{ '\n' }}"))
    assert "<|d|>" in fmt.turn.ends
    assert fmt.tools.section_end == ""


@pytest.mark.parametrize(
    ("value", "lost"),
    [
        ("{{ v | tojson }}", []),
        ("{{ v }}", ["without quotes"]),
        ('"{{ v }}"', ["without escaping", "numbers as strings"]),
        ("'{{ v }}'", ["without escaping", "numbers as strings"]),
        ("""{{ '"' + v + '"' if v is string else v | tojson }}""", ["without escaping"]),
    ],
)
def test_what_a_template_loses_of_arguments_is_said(value, lost):
    fmt = analyze(template("<|c|>[", "]<|d|>").replace("{{ v | tojson }}", value))
    said = [text for text in fmt.issues if "in Python" in text]
    assert len(said) == len(lost)
    assert all(words in text for words, text in zip(lost, said, strict=True))
