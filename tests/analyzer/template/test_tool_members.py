"""Members that a tool need not have, for templates that need them."""

# ruff: noqa: E501 - a template is read more easily in one line

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import ChatTemplate, TemplateError
from deltaparse.analyzer.template.tool_members import with_all_members

from .conversations import USER

NEEDS_ALL = ChatTemplate(
    "{% for t in tools %}{% set f = t.function %}{{ f.name + ': ' + f.description }}"
    "{% for n, p in f.parameters.properties | items %}<{{ n + '|' + p.description }}>{% endfor %}"
    "{% endfor %}"
)


def tool(**members):
    return {"type": "function", "function": {"name": "look", **members}}


@pytest.mark.parametrize(
    ("members", "shown"),
    [
        ({}, "look: "),
        ({"description": None, "parameters": None}, "look: "),
        ({"description": "sees", "parameters": {}}, "look: sees"),
        ({"parameters": {"type": "object"}}, "look: "),
        ({"parameters": {"properties": {"at": {"type": "string"}}}}, "look: <at|>"),
        ({"parameters": {"properties": {"at": {"description": "it"}}}}, "look: <at|it>"),
    ],
)
def test_template_receives_required_members(members, shown):
    assert NEEDS_ALL.render([USER], tools=[tool(**members)]) == shown


EMPTY = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("function", "whole"),
    [
        ({"name": "look"}, {"name": "look", "description": "", "parameters": EMPTY}),
        (
            {"parameters": {"properties": {"at": True, "by": {"type": "string"}}}, "name": "look"},
            {
                "name": "look",
                "description": "",
                "parameters": {
                    "type": "object",
                    "properties": {"at": True, "by": {"description": "", "type": "string"}},
                },
            },
        ),
        (
            {"name": "look", "description": "sees", "parameters": {"type": "array"}},
            {
                "name": "look",
                "description": "sees",
                "parameters": {"type": "array", "properties": {}},
            },
        ),
        (
            {"name": "look", "description": "sees", "parameters": False},
            {"name": "look", "description": "sees", "parameters": False},
        ),
        (
            {"name": "look", "description": "", "parameters": {"type": "x", "properties": ["at"]}},
            {"name": "look", "description": "", "parameters": {"type": "x", "properties": ["at"]}},
        ),
        ({"description": None}, {"description": None}),
        ("look", "look"),
    ],
)
def test_name_and_description_are_first_and_members_are_kept(function, whole):
    tools = [{"function": function, "type": "function"}]
    (made,) = with_all_members(tools)
    assert json.dumps(made) == json.dumps({"function": whole, "type": "function"})
    if isinstance(function, dict):
        assert json.dumps(with_all_members([function])) == json.dumps([whole])


def test_template_without_requirements_receives_the_given_tool():
    template = ChatTemplate("{% for t in tools %}{{ t.function | tojson }}{% endfor %}")
    assert template.render([USER], tools=[tool()]) == '{"name": "look"}'


def test_error_is_the_error_of_the_first_rendering():
    wants = "{% for t in tools %}{% if 'description' not in t.function %}{{ raise_exception('describe it') }}{% endif %}{% endfor %}"
    with pytest.raises(TemplateError, match=r"^describe it$"):
        ChatTemplate(wants).render([USER], tools=[tool()])
    with pytest.raises(TemplateError, match="no attribute 'description'"):
        ChatTemplate("{{ tools[0].function.description + 1 }}").render([USER], tools=[tool()])


VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["name", "function", "parameters", "properties", "description"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.sampled_from(["type", "function", "name"]), VALUES)))
def test_any_tools_are_accepted_and_complete_tools_are_unchanged(tools):
    whole = with_all_members(tools)
    assert with_all_members(whole) == whole
    assert [one.get("type") for one in whole] == [one.get("type") for one in tools]
