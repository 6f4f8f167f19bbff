"""Tests of escapes in names, keys and strings."""

from __future__ import annotations

import pytest

from deltaparse import analyze

from .small_templates import turns

HTML = ('"', "&#34;", "&", "&amp;", "'", "&#39;", "<", "&lt;", ">", "&gt;")
ATTRIBUTE = ('"', "&quot;", "&", "&amp;")
BACKSLASH = ('"', '\\"', "\\", "\\\\")
IN_JSON = ('"', '\\"', "\\", "\\\\", "\t", "\\t", "\n", "\\n")
AS_ATTRIBUTE = "replace('&', '&amp;') | replace('\"', '&quot;')"
WITH_BACKSLASH = "replace('\\\\', '\\\\\\\\') | replace('\"', '\\\\\"')"


def calls(name='"{{ name }}"', key='"{{ key }}"', value="{{ value }}"):
    """Return a template with these spellings in calls."""
    return turns(
        "{{ m.content }}{% for c in m.tool_calls or [] %}{% set name = c.function.name %}"
        f"<do name={name}>"
        "{% for key, value in c.function.arguments.items() %}"
        f"<arg key={key}>"
        "{% if value is string %}"
        f"{value}"
        "{% else %}{{ value | tojson }}{% endif %}</arg>{% endfor %}</do>{% endfor %}"
    )


@pytest.mark.parametrize(
    ("spelled", "found"),
    [
        ({}, ((), (), ())),
        ({"name": '"{{ name | e }}"'}, (HTML, (), ())),
        ({"key": '"{{ key | e }}"'}, ((), HTML, ())),
        ({"value": "{{ value | e }}"}, ((), (), HTML)),
        ({"key": f'"{{{{ key | {AS_ATTRIBUTE} }}}}"'}, ((), ATTRIBUTE, ())),
        ({"key": f'"{{{{ key | {WITH_BACKSLASH} }}}}"'}, ((), BACKSLASH, ())),
        ({"name": f'"{{{{ name | {WITH_BACKSLASH} }}}}"'}, (BACKSLASH, (), ())),
        ({"name": "{{ name | tojson }}", "key": "{{ key | tojson }}"}, (IN_JSON, IN_JSON, ())),
    ],
)
def test_escapes_are_found_and_undone(spelled, found):
    fmt = analyze(calls(**spelled))
    names, marks = fmt.function.name_escapes, fmt.arguments
    assert (names, marks.name_escapes, marks.value_escapes) == found
    assert fmt.issues == ()


@pytest.mark.parametrize(
    ("place", "spelled", "odd"),
    [
        ("key", "{{ NAME | replace('\"', '') }}", "'\"'"),
        ("name", "{{ NAME | replace('.', '_') }}", "'.'"),
        ("key", "{{ NAME | replace('<', '(') | replace('>', '(') }}", "'<', '>'"),
        ("name", "{{ NAME | urlencode }}", "'é', '你', '😀'"),
    ],
)
def test_lost_characters_of_names_are_an_issue(place, spelled, odd):
    fmt = analyze(calls(**{place: f'"{spelled.replace("NAME", place)}"'}))
    whose = {"name": "function names", "key": "argument names"}[place]
    (issue,) = fmt.issues
    assert not fmt.verified
    assert f"calls with {odd} in {whose} did not round-trip: " in issue


def test_escaped_name_in_json_is_an_issue():
    call = '{"name": "{{ c.function.name | e }}", "arguments": {{ c.function.arguments | tojson }}}'
    made = "{{ m.content }}{% for c in m.tool_calls or [] %}<c>" + call + "</c>{% endfor %}"
    (issue,) = analyze(turns(made)).issues
    assert "calls with '\"', '&', \"'\", '<', '>'" in issue


TEXT = "{% if c.function.arguments is string %}BEFORE{{ c.function.arguments }}BEHIND{% else %}"


@pytest.mark.parametrize(
    ("before", "behind", "found"),
    [
        ("<json>", "</json>", ("<json>", "</json>")),
        ("<json>", "", ("", "")),
        ("", "", ("", "")),
    ],
)
def test_the_markers_of_arguments_that_are_one_object_are_found(before, behind, found):
    text = TEXT.replace("BEFORE", before).replace("BEHIND", behind)
    source = calls().replace("{% for key", text + "{% for key").replace("</do>", "{% endif %}</do>")
    fmt = analyze(source)
    assert (fmt.arguments.object_start, fmt.arguments.object_end) == found
    assert fmt.issues == ()
