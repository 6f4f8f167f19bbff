"""Tests of compiling templates and of facts from the syntax tree."""

from __future__ import annotations

import pytest
from jinja2.meta import find_undeclared_variables

from deltaparse.analyzer.template.budget import Limits
from deltaparse.analyzer.template.compiled import compiled
from deltaparse.analyzer.template.sandbox import sandbox

from ...strategies.templates import OWN

SOURCES = [
    "{% for m in messages %}{{ m.x ~ y }}{% set y = 1 %}{{ y }}{% endfor %}{{ loop_end }}",
    "{% macro f(a, b=c) %}{{ a }}{{ b }}{{ d }}{% endmacro %}{{ f(1) }}",
    "{% set ns = namespace(a=1) %}{{ ns.a }}{{ range(3) }}{{ e if f else g }}",
    "{% if x is defined %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% for a in b %}{% for c in loop.d %}{{ c }}{% endfor %}{% endfor %}",
    "{% macro f(a) %}{{ caller(a) }}{% endmacro %}{% call(x) f(y) %}{{ x }}{% endcall %}",
    "{% macro f(a) %}{{ caller(a) }}{% endmacro %}{% call(x) f(x) %}{{ x }}{% endcall %}",
    *(
        OWN.reasoning_switched_by_the_user,
        OWN.reasoning_beside_calls_only,
        OWN.channels_without_a_system_message,
        OWN.reasoning_as_a_part_of_content,
        OWN.calls_inside_content,
    ),
]


@pytest.mark.parametrize("source", SOURCES)
def test_variables_are_those_that_jinja_finds(source):
    limits = Limits()
    tree = sandbox(limits).guarded(source)
    assert compiled(source, limits).variables == find_undeclared_variables(tree)


@pytest.mark.parametrize("source", SOURCES)
def test_the_code_is_that_of_jinja(source):
    limits = Limits()
    room = sandbox(limits)
    code = compile(room.compile(room.guarded(source), raw=True), "<template>", "exec")
    program = compiled(source, limits)
    (body,) = (part for part in code.co_consts if getattr(part, "co_name", "") == "root")
    assert program.template.root_render_func.__code__.co_code == body.co_code


@pytest.mark.parametrize(
    ("source", "sought"),
    [
        ("<a>{{ 'b' }}{{ 'c' ~ x ~ 'd' }}{{ 'e' + x | trim }}", ()),
        ("{{ 'b' if x == 'c' else 'd' }}{{ m['e'] }}", ()),
        ("{{ x == 'a' and 'b' != y and 'd' == y }}{% if x == 'c' %}{% endif %}", ()),
        ("{{ 'a' if x + 'b' else 'c' }}{% if y != 'd' %}{% endif %}", ("b",)),
        ("{{ x.split('a' if y else 'b')[0] }}", ("a", "b")),
        ("{% if '/no' in m.content %}{% endif %}", ("/no",)),
        ("{{ m.content.split('</t>')[-1] }}{{ x | replace('a', 'b') }}", ("</t>", "a", "b")),
        ("{% set end = '</t>' %}{% for word in ['/a', '/b'] %}{% endfor %}", ("</t>", "/a", "/b")),
        ("{{ f('a') if 'b' in x else 'c' ~ g('d') }}", ("b", "a", "d")),
        ("{{ f('a' | trim) }}{% if 'b' == x in y %}{% endif %}", ("a", "b")),
    ],
)
def test_sought_texts_are_not_only_written(source, sought):
    assert set(compiled(source, Limits()).searched_constants) == set(sought)


def test_keys_are_the_names_that_are_read():
    source = "{{ x.a }}{{ x['b'] }}{{ x.get('c', 'd') }}{{ x[0] }}{{ x.get() }}{{ f(1) }}{{ 'e' }}"
    assert compiled(source, Limits()).keys == {"a", "b", "c", "get"}


def test_keys_of_contents_are_the_names_of_parts_of_a_content():
    source = "{{ m.content.a }}{{ m['content']['b'] }}{{ m.content[0] }}{{ m.content[x] }}"
    source += "{{ m.content.strip() }}{{ m.other.c }}{{ m.content.get('d') }}"
    assert compiled(source, Limits()).content_part_keys == {"a", "b"}


@pytest.mark.parametrize(
    ("source", "switches"),
    [
        ("{{ x }}{{ y | upper }}", {"x", "y"}),
        ("{{ x }}{% set x = 1 %}", set()),
        ("{{ x | upper }}{% if x is string %}{% endif %}{% set x = 1 %}", set()),
        ("{{ x }}{% set x %}a{% endset %}", set()),
        ("{{ x }}{% for x, y in z %}{% endfor %}{{ y }}", {"z"}),
        ("{% if x is defined %}{% endif %}{% set x = 1 %}", {"x"}),
        ("{% if x is undefined %}{% endif %}{% set x = 1 %}", {"x"}),
        ("{% set x = x | default(1) %}{% set y = y | d(1) %}{{ x ~ y }}", {"x", "y"}),
        ("{% filter upper %}{{ x }}{% endfilter %}", {"x"}),
    ],
)
def test_switches_are_names_that_the_template_does_not_set_for_itself(source, switches):
    assert compiled(source, Limits()).switches == switches


@pytest.mark.parametrize(
    ("source", "choices"),
    [
        ("{% if x == 'a' %}{% elif 'b' == x | lower %}{% endif %}", {"x": ("a", "b")}),
        ("{% if x in ['a', 'b', 1, ''] %}{% endif %}", {"x": ("a", "b")}),
        ("{% if x in ('a', 'b') %}{% endif %}", {"x": ("a", "b")}),
        ("{% if x == 1 %}{% endif %}{% if y.z == 'a' %}{% endif %}", {}),
        ("{% set y = x | d('low') %}{% if y == 'high' %}{% endif %}", {"x": ("high",)}),
        ("{% set y = x.z %}{% if y == 'high' %}{% endif %}", {"x": ("high",)}),
        (
            "{% set z = x %}{% set y = z %}{% if y == 'a' %}{% endif %}{{ z }}",
            {"x": ("a",)},
        ),
        ("{% if x == 'a' %}{% endif %}{% set x = y %}", {"x": ("a",)}),
        ("{% set a, b = x, 1 %}{% if x == 'a' or b == 'b' %}{% endif %}", {"x": ("a",)}),
        ("{% set ns.a = x %}{% if ns == 'a' %}{% endif %}", {"ns": ("a",)}),
        ("{% set y = 1 %}{% if y == 'a' %}{% endif %}", {}),
        ("{% set z = 1 %}{% set y = z ~ x %}{% if y == 'a' %}{% endif %}", {"x": ("a",)}),
        ("{% set y = 1 %}{% set y = x %}{% if y == 'a' %}{% endif %}", {"x": ("a",)}),
    ],
)
def test_choices_are_the_texts_compared_with_a_variable(source, choices):
    assert compiled(source, Limits()).choices == choices


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("{% for x in y %}{{ x.a }}{% endfor %}", {"y"}),
        ("{{ x.a }}{{ y['a'] }}{{ z }}", {"x", "y"}),
        ("{{ x | first }}{{ y | last }}{{ z | trim }}", {"x", "y"}),
        ("{{ x | map('trim') }}{{ y | selectattr('a') }}{{ z | tojson }}", {"x", "y", "z"}),
        ("{% set x = y %}{{ x.a }}", set()),
    ],
)
def test_taken_apart_variables_are_not_texts(source, names):
    assert compiled(source, Limits()).taken_apart == names
