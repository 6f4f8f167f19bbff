"""The shape of a call's arguments: found by rendering, and given to the template."""

# ruff: noqa: E501 - a template is read more easily in one line

from __future__ import annotations

import json

import pytest

from deltaparse import ChatTemplate, TemplateError
from deltaparse.analyzer.template.arguments_shape import (
    PROBE_JSON,
    PROBE_REPR,
    PROBE_TEXTS,
    _probes,
    _shape_shown,
    wanted_shape,
)
from deltaparse.analyzer.template.budget import LimitExceeded

from .conversations import USER, calling

CALLS = "{% for m in messages %}{% for c in m.tool_calls or [] %}{% set f = c.function %}"
END = "{% endfor %}{% endfor %}"

SHAPES = {
    "printed": ("{{ f.arguments }}", "string"),
    "added": ("{{ f.name + f.arguments }}", "string"),
    "stripped": ("{{ f.arguments.strip() }}", "string"),
    "concatenated": ("{{ f.name ~ ' ' ~ f.arguments }}", "string"),
    "in a text": ("{{ '%s' % f.arguments }}", "string"),
    "as JSON": ("{{ f.arguments | tojson }}", "object"),
    "as JSON in a list": ("{{ [f] | tojson }}", "object"),
    "one by one": ("{% for k, v in f.arguments.items() %}<{{ k }}>{{ v }}{% endfor %}", "object"),
    "one by one by filter": (
        "{% for k, v in f.arguments | items %}<{{ k }}>{{ v }}{% endfor %}",
        "object",
    ),
    "by key": ("{% for k in f.arguments %}<{{ k }}>{{ f.arguments[k] }}{% endfor %}", "object"),
    "either": ("{{ f.arguments if f.arguments is string else f.arguments | tojson }}", "object"),
    "either, text last": (
        "{% if f.arguments is mapping %}{{ f.arguments | tojson }}{% else %}{{ f.arguments }}{% endif %}",
        "object",
    ),
    "text only": ("{% if f.arguments is string %}{{ f.arguments }}{% endif %}", "string"),
    "object only": (
        "{% if f.arguments is mapping %}{{ f.arguments | tojson }}{% endif %}",
        "object",
    ),
    "refused text": (
        "{% if f.arguments is string %}{{ raise_exception('no') }}{% endif %}x",
        "object",
    ),
    "refused object": (
        "{% if f.arguments is mapping %}{{ raise_exception('no') }}{% endif %}x",
        "string",
    ),
    "not shown": ("{{ f.name }}", "object"),
}


@pytest.mark.parametrize(("source", "shape"), SHAPES.values(), ids=SHAPES.keys())
def test_the_shape_of_arguments_is_found_by_rendering(source, shape):
    template = ChatTemplate(CALLS + source + END)
    arguments = {"city": "Köln", "n": [1, {"a": None}]}

    assert template.arguments_shape == shape
    as_object = template.render([USER, calling(arguments)])
    as_string = template.render([USER, calling(json.dumps(arguments, ensure_ascii=False))])
    assert as_object == as_string
    assert "'city'" not in as_object
    assert '\\"city' not in as_object


@pytest.mark.parametrize(
    "condition",
    [
        "m.content is none",
        "m.content is string and loop.last",
        "m.content is string and not m.content",
        "tools",
        "tools[0].function.description",
        "messages[-1].role == 'tool'",
    ],
)
def test_the_probes_find_templates_that_show_calls_at_times(condition):
    source = (
        "{% for m in messages %}{% if m.tool_calls and ("
        + condition
        + ") %}{{ m.tool_calls[0].function.arguments }}{% endif %}{% endfor %}"
    )

    assert ChatTemplate(source).arguments_shape == "string"


def test_unknown_shape_is_tried_with_the_messages():
    strict = (
        "{% if messages[0].content != 'please' %}{{ raise_exception('say please') }}{% endif %}"
    )
    template = ChatTemplate(strict + CALLS + "{{ f.name + f.arguments }}" + END)
    please = {"role": "user", "content": "please"}

    assert template.arguments_shape == "object"
    assert template.render([please, calling({"a": 1})]) == 'get_weather{"a": 1}'
    assert template.render([please, calling('{"a":1}')]) == 'get_weather{"a":1}'
    with pytest.raises(TemplateError, match=r"^say please$"):
        template.render([USER, calling({"a": 1})])


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("{oops", "{}"),
        ("", "{}"),
        ("[" * 9999, "{}"),
        ("[1]", "{}"),
        ([1], "{}"),
        (None, "{}"),
        ("1e999", "{}"),
        ('{"a": "b', '{"a": "b"}'),
        (r'"{\"a\": \"b\"}"', '{"a": "b"}'),
    ],
)
def test_arguments_that_hold_no_object_are_rendered_as_an_object(given, text):
    assert ChatTemplate(CALLS + "{{ f.arguments | tojson }}" + END).render([calling(given)]) == text


def test_arguments_are_found_in_every_form_of_call():
    source = "{{ messages[0].tool_calls[0].arguments | tojson }}{{ messages[0].function_call.arguments | tojson }}{{ messages[0].tool_calls[1] }}{{ messages[1].tool_calls }}{{ messages[2] }}"
    calls = [{"name": "f", "arguments": '{"a": 1}'}, "not a call"]
    old = {"name": "f", "arguments": '{"b": 2}'}

    messages = [{"tool_calls": calls, "function_call": old}, {"tool_calls": "x"}, {"content": "y"}]

    assert ChatTemplate(source).render(messages) == (
        "{\"a\": 1}{\"b\": 2}not a callx{'content': 'y'}"
    )


def test_shape_is_detected_only_for_conversations_with_calls():
    template = ChatTemplate("{{ messages | length }}")

    template.render([USER])
    assert "_known_shape" not in vars(template)
    template.render([calling({})])
    assert "_known_shape" in vars(template)


def test_shape_is_chosen_if_only_this_shape_is_shown():
    shown = " ".join(PROBE_TEXTS)
    assert _shape_shown(None, None) is None
    assert _shape_shown(None, "") == "string"
    assert _shape_shown("", None) == "object"
    assert _shape_shown(PROBE_REPR, "") == "string"
    assert _shape_shown(shown, "") == "object"
    assert _shape_shown(PROBE_TEXTS[0], PROBE_JSON) == "string"
    assert _shape_shown("", PROBE_JSON) == "string"
    assert _shape_shown("", "") is None


def test_the_probes_are_messages_and_tools_as_apis_have_them():
    for messages, tools in _probes():
        assert messages[0] == {"role": "user", "content": messages[0]["content"] or None}
        made = messages[1]["tool_calls"][0]
        assert made["type"] == "function"
        for message in messages[2:]:
            assert message["role"] == "tool"
            assert message["content"]
            assert message["name"] == made["function"]["name"]
            assert message["tool_call_id"] == made["id"]
        for tool in tools or ():
            assert tool["type"] == "function"
            function = tool["function"]
            assert function.keys() == {"name", "description", "parameters"}
            assert function["name"] == made["function"]["name"]
            schema = function["parameters"]
            assert schema["type"] == "object"
            assert all(map(bool, schema["properties"]))
            for part in schema["properties"].values():
                assert part["type"] == "string"
                assert part["description"]


@pytest.mark.parametrize(("cause", "times"), [(LimitExceeded("slow"), 1), (ValueError(), 16)])
def test_a_template_that_takes_too_long_is_tried_once(cause, times):
    asked = []

    def render(*given):
        asked.append(given)
        raise TemplateError("no") from cause

    assert wanted_shape(render) is None
    assert len(asked) == times
