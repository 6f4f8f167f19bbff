"""Markers around calls in Python syntax."""

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
        ("<|c|>[", "<|d|>", False, "<|c|>[", "<|d|>"),  # an unclosed bracket
        ("<|c|>", "]<|d|>", False, "<|c|>", "]<|d|>"),  # an unopened bracket
        ("[", "]<|d|>", True, "", "<|d|>"),
        ("", "<|d|>", False, "", ""),  # an end without a start ends the turn
    ],
)
def test_brackets_and_markers_around_calls_are_found(before, behind, listed, start, end):
    fmt = analyze(template(before, behind))
    tools = fmt.tools
    assert tools.format == "PYTHONIC"
    assert (tools.array_wrapped, tools.section_start, tools.section_end) == (listed, start, end)
    if not (start or listed):
        assert any("<|d|>" in text for text in fmt.turn.ends)
        assert (tools.separator, tools.behind_content) == ("", False)


@pytest.mark.parametrize(("before", "behind"), [("<c>print(", ")</c>"), ("<c>", "]</c>")])
def test_enclosing_bracket_does_not_belong_to_the_call(before, behind):
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
        ("<|c|>api.", "", "<|d|>", "<|c|>api.", ""),  # only before the first of two
    ],
)
def test_text_before_every_name_is_a_namespace(before, name, behind, start, namespace):
    fmt = analyze(template(before, behind).replace(CALL, name + CALL))
    assert (fmt.tools.section_start, fmt.function.namespace) == (start, namespace)
    assert fmt.tools.array_wrapped == before.endswith("[")
    assert fmt.tools.separator == ("" if ALONE in before else ", ")
    assert fmt.verified or not namespace


@pytest.mark.parametrize(
    ("bracket", "form"), [("(", "PYTHONIC"), (" (", "PYTHONIC"), ("<", "NONE"), ("((", "NONE")]
)
def test_arguments_open_with_a_single_bracket(bracket, form):
    call = CALL.replace("name }}(", "name }}" + bracket)
    assert analyze(template("<|c|>[", "]<|d|>").replace(CALL, call)).tools.format == form


@pytest.mark.parametrize(
    ("equals", "space"), [(" = ", ""), ("= ", ""), (" =", ""), ("=", " "), (" = ", "{{ '\n' }}")]
)
def test_whitespace_around_an_argument_is_ignored(equals, space):
    call = CALL.replace("{{ k }}=", space + "{{ k }}" + equals).replace(
        "endfor %}", "endfor %}" + space
    )
    fmt = analyze(template("<|c|>[", "]<|d|>").replace(CALL, call))
    assert (fmt.tools.format, fmt.tools.separator, fmt.verified) == ("PYTHONIC", ", ", True)


def test_calls_without_arguments_are_not_understood():
    fmt = analyze(template("<|c|>[", "]<|d|>").replace(CALL, "{{ c.function.name }}()"))
    assert fmt.tools.format == "NONE"


def test_json_in_brackets_is_not_a_python_call():
    call = "{{ c.function.name }}({{ c.function.arguments | tojson }})"
    fmt = analyze(template("<|c|>", "<|d|>").replace(CALL, call))
    assert (fmt.tools.format, fmt.verified) == ("TAG_WITH_JSON", True)


@pytest.mark.parametrize("value", ["<q>{{ v }}<q>", "{{ v | tojson }};", '"{{ v }}', "'{{ v }}\""])
def test_value_ends_with_its_quote_before_the_bracket(value):
    call = CALL.replace("{{ v | tojson }}", value)
    assert analyze(template("<|c|>[", "]<|d|>").replace(CALL, call)).tools.format != "PYTHONIC"


@pytest.mark.parametrize("equals", ["", "("])
def test_argument_name_requires_an_equals_sign(equals):
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
def test_unbracketed_calls_after_content_are_not_separated(before, behind, told, space):
    tools = analyze(template(before, behind)).tools
    assert (tools.behind_content, tools.content_separator) == (told, space)
    assert tools.separator == ", "


def test_calls_may_have_no_content_before_them():
    source = template("[", "]").replace("{{ m.content or '' }}{% if", "{% if")
    source = source.replace("<|end|>", "{% if not m.tool_calls %}{{ m.content }}{% endif %}<|end|>")
    tools = analyze(source).tools
    assert (tools.behind_content, tools.content_separator) == (False, "")


def test_whitespace_does_not_open_a_section():
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
def test_lossy_arguments_are_reported(value, lost):
    fmt = analyze(template("<|c|>[", "]<|d|>").replace("{{ v | tojson }}", value))
    said = [text for text in fmt.issues if "correct Python calls" in text]
    assert len(said) == len(lost)
    assert all(words in text for words, text in zip(lost, said, strict=True))
