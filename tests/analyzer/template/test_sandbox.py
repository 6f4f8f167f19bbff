"""Tests of the sandbox: harmless templates render as in plain Jinja, others are stopped early."""

# ruff: noqa: E501 - a template is read more easily in one line

from __future__ import annotations

import pytest
from jinja2.exceptions import SecurityError, TemplateSyntaxError, UndefinedError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from deltaparse.analyzer.template.budget import STEP, LimitExceeded, Limits
from deltaparse.analyzer.template.sandbox import MAX_SOURCE, sandbox

from .rooms import USUAL, assert_refused, paid, run

QUICK = Limits(seconds=0.02)


def plain(source, **variables):
    """Render a template with plain Jinja, without guards."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )
    return environment.from_string(source).render(variables)


LOOPS = [
    "{% for a in xs %}{{ a }}/{{ loop.index }}/{{ loop.length }}/{{ loop.revindex }},{% endfor %}",
    "{% for a in xs %}{{ loop.first }}{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}",
    "{% for a in xs if a > 1 %}{{ a }}{{ loop.last }}{{ loop.length }}{% else %}none{% endfor %}",
    "{% for a in xs if a > 9 %}{{ a }}{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}",
    "{% for k, v in d | items %}{{ k }}={{ v }}{{ loop.length }};{% endfor %}",
    "{% for k, v in d | dictsort(reverse=true) %}{{ k }}={{ v }};{% endfor %}",
    "{% for c in 'abc' %}{{ c }}-{% endfor %}{% for c in '' %}x{% else %}empty{% endfor %}",
    "{% for a in nothing %}x{% else %}undefined{% endfor %}",
    "{% for a in xs | map('string') %}{{ a }}{{ loop.length }}{{ loop.last }}{% endfor %}",
    "{% for a in xs recursive %}{{ a }}{% if a > 1 %}({{ loop([a - 1]) }}){% endif %}{% endfor %}",
    "{% for a in xs %}{% if a == 2 %}{% continue %}{% endif %}{{ a }}{% if a == 3 %}{% break %}{% endif %}{% endfor %}",
    "{% for a in range(3) %}{{ loop.cycle('x', 'y') }}{{ loop.changed(a // 2) }}{% endfor %}",
    "{% for a in xs %}{% for b in xs %}{{ a * b }}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
]

EXPRESSIONS = [
    "{{ 1 + 2 }}{{ 'a' + 'b' }}{{ [1] + xs }}{{ 7 // 2 }}{{ 7 % 4 }}{{ 2 ** 5 }}{{ 3 * 'ab' }}{{ [0] * 3 }}",
    "{{ 2 * 1.5 }}{{ 'ab' * -1 }}{{ 2.0 ** 0.5 }}{{ 5 - 3 }}{{ -xs[0] }}{{ true + true }}",
    "{{ 'a' ~ 1 ~ none ~ xs ~ d ~ nothing }}{{ '<' ~ ('>' | safe) }}",
    "{{ '%s is %03d, %(x)s' | replace('%(x)s', '') | format('a', 5) }}{{ '%5.1f%%' % 2.25 }}{{ '%*d' % (4, 5) }}",
    "{{ '%(a)s-%(b)s' % {'a': 1, 'b': 2} }}{{ '{}-{x:>4}-{!r}'.format('a', 1, x='b') }}",
    "{{ '{a}{b[c]}'.format_map({'a': 1, 'b': {'c': 2}}) }}{{ ('<{}>' | safe).format('<') }}",
    "{{ xs[1:] }}{{ xs[::-1] }}{{ 'hello'[1:3] }}{{ xs[-1] }}{{ d['k'] }}{{ d.k }}{{ d.get('q', 5) }}",
    "{{ 1 in xs }}{{ 9 not in xs }}{{ 'a' in 'cat' }}{{ 'k' in d }}{{ 'user' in ['user', 'tool'] }}",
    "{{ 1 < 2 < 3 }}{{ xs == [1, 2, 3] }}{{ xs != ys }}{{ 'a' <= 'b' }}{{ none is none }}{{ nothing is defined }}",
    "{{ [] }}{{ [1, 'a', [none]] }}{{ {'a': {'b': xs}} }}{{ (1,) }}{{ () }}{{ (1, xs) }}",
    "{{ 'x' if nothing else 'y' }}{{ nothing or 'z' }}{{ xs and 1 }}{{ not xs }}",
    "{{ ' a '.strip() }}{{ 'a,b'.split(',') }}{{ 'a-b-c'.rsplit('-', 1) }}{{ ','.join(['a', 'b']) }}{{ '-'.join(xs | map('string')) }}",
    "{{ 'abc'.replace('b', 'xx') }}{{ 'abab'.replace('ab', '', 1) }}{{ 'abc'.startswith(('x', 'a')) }}",
    "{{ 'a'.center(5) }}|{{ 'a'.ljust(3) }}|{{ '7'.zfill(3) }}|{{ 'a\tb'.expandtabs(4) }}",
    "{{ 'aXb'.lower().upper().title() }}{{ 'abc'.find('c') }}{{ 'abc'.rfind('c') }}{{ 'x'.isdigit() }}",
    "{{ 3 is odd }}{{ 4 is even }}{{ 9 is divisibleby 3 }}{{ 2 is in xs }}{{ xs is sequence }}{{ d is mapping }}",
    "{{ 3 is gt 2 }}{{ 'a' is eq('a') }}{{ 1 is sameas(1) }}{{ 'a' is string }}{{ 1.5 is number }}",
    "{{ dict(a=1, b=2) }}{{ dict.fromkeys(['a', 'b'], 0) }}{{ dict([('a', 1)]) }}",
    "{{ xs.count(1) }}{{ xs.index(2) }}{% set ns = namespace(append=1, encode=2) %}{{ ns.append }}{{ ns.encode }}",
]

FILTERS = [
    "{{ xs | join('-') }}{{ xs | map('string') | join(', ') }}{{ ms | join(',', attribute='role') }}{{ 'abc' | join('.') }}",
    "{{ ms | map(attribute='role') | list }}{{ ms | map(attribute='q', default='-') | list }}",
    "{{ ms | selectattr('role', 'equalto', 'user') | list | length }}{{ ms | rejectattr('role', 'in', ['user']) | list }}",
    "{{ xs | select('odd') | list }}{{ xs | reject('gt', 1) | list }}{{ [0, 1, ''] | select | list }}",
    "{{ 'x' if ms | selectattr('q') else 'y' }}{{ (ms | selectattr('role') | first).role }}",
    "{{ xs | first }}{{ xs | last }}{{ xs | length }}{{ xs | sum }}{{ ms | sum(attribute='n') }}{{ xs | max }}{{ xs | min }}",
    "{{ ms | sort(attribute='n', reverse=true) | map(attribute='n') | list }}{{ ['b', 'A'] | sort }}{{ [3, 3] | unique | list }}",
    "{% for r, g in ms | groupby('role') %}{{ r }}{{ g | length }}{% endfor %}{{ xs | reverse | list }}{{ 'ab' | reverse }}",
    "{{ xs | batch(2, 0) | list }}{{ xs | slice(2) | list }}{{ 'abc' | list }}{{ d | list }}",
    "{{ ' a ' | trim }}|{{ 'xax' | trim('x') }}|{{ 'a\nb\n\nc' | indent(2) }}|{{ 'a\nb' | indent('> ', true) }}|{{ 'a' | center(5) }}|",
    "{{ 'abc' | replace('b', '') }}{{ 'aaa' | replace('a', 'b', 2) }}{{ 5 | replace(5, 6) }}{{ 'ab' | replace(new='x', old='a') }}",
    "{{ 'Ab' | lower }}{{ 'Ab' | upper }}{{ 'ab cd' | title }}{{ 'ab' | capitalize }}{{ 'a b' | wordcount }}",
    "{{ 2.567 | round(1) }}{{ 2.5 | round(0, 'floor') }}{{ '3' | int + 1 }}{{ '2.5' | float }}{{ -3 | abs }}{{ 'q' | int(7) }}",
    "{{ nothing | default('d') }}{{ '' | default('e', true) }}{{ 1 | string ~ '!' }}{{ '<a>' | e }}{{ '<b>x</b>' | striptags }}",
    "{{ 'hello world' | truncate(8) }}{{ 'a b' | urlencode }}{{ 'a b c' | wordwrap(3) }}{{ d | pprint }}{{ {'a': '<'} | xmlattr }}",
    "{{ d | attr('k') }}{{ ('x' | attr('upper'))() }}",
]

STATEMENTS = [
    "{% set ns = namespace(i=0, self=1) %}{% for a in xs %}{% set ns.i = ns.i + a %}{% endfor %}{{ ns.i }}{{ ns.self }}",
    "{% macro f(a, b=[1]) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1) }}{{ f(1, 2, 3, c=4) }}",
    "{% macro f(n) %}{% if n %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}{{ f.name }}",
    "{% macro f() %}<{{ caller(1) }}>{% endmacro %}{% call(x) f() %}in {{ x }}{% endcall %}",
    "{% set x %}a{{ xs }}b{% endset %}{{ x }}{% set y | upper %}q{{ x }}{% endset %}{{ y }}",
    "{% filter upper %}a{{ xs }}{% endfilter %}{% with q = 3 %}{{ q }}{% endwith %}{{ q }}",
    "{% block b scoped %}x{{ xs }}{% endblock %}{{ self.b() }}",
    "{% for a in xs %}{% block c scoped %}{{ a }}{% endblock %}{% endfor %}",
    "{% autoescape true %}{{ '<' }}{{ '<' ~ '>' }}{{ '<' | safe }}{% set x %}<{% endset %}{{ x }}{% endautoescape %}",
    "{% set a, b = 1, [2] %}{{ a }}{{ b }}{% raw %}{{ x }}{% endraw %}{# no #}",
    "{% macro f(count) %}{{ count('b') }}{% endmacro %}{{ f('abc'.count) }}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{% set j = joiner() %}{{ j() }}{{ j() }}",
    "  {% if xs %}\n  yes\n  {% endif %}\nend\n",
]


@pytest.mark.parametrize("source", LOOPS + EXPRESSIONS + FILTERS + STATEMENTS)
def test_templates_render_as_in_plain_jinja(source):
    messages = [{"role": "user", "n": 2}, {"role": "tool", "n": 1}, {"role": "user", "n": 3}]
    variables = {"xs": [1, 2, 3], "ys": [1, 2], "d": {"k": 1, "j": [2]}, "ms": messages}

    assert run(source, **variables) == plain(source, **variables)


# Each of these would run, or grow, for longer than anyone waits.
ENDLESS = {
    "loops": "{% for a in r %}{% for b in r %}{% for c in r %}{% endfor %}{% endfor %}{% endfor %}",
    "filtered loops": "{% for a in r %}{% for b in r if false %}{% endfor %}{% endfor %}",
    "loops with `loop`": "{% for a in r %}{% for b in r %}{% set x = loop.last %}{% endfor %}{% endfor %}",
    "continue": "{% for a in r %}{% for b in r %}{% continue %}{% endfor %}{% endfor %}",
    "text nobody reads": "{% set x %}{% for a in r %}{% for b in r %}{% endfor %}{% endfor %}{% endset %}",
    "bodies": "{% for a in r %}" + "{% if a %}{% endif %}" * 200 + "{% endfor %}",
    "macros": "{% macro f(n) %}{% if n %}{{ f(n - 1) ~ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "large macros": "{% macro f() %}" + "{% if a %}{% endif %}" * 200 + "{% endmacro %}"
    "{% for a in r %}{{ f() }}{% endfor %}",
    "blocks": "{% block b %}{% endblock %}{% for a in r %}{% for b in r %}{{ self.b() }}{% endfor %}{% endfor %}",
    "callers": "{% macro f() %}{{ caller() }}{% endmacro %}"
    "{% for a in r %}{% for a in r %}{% call f() %}{% endcall %}{% endfor %}{% endfor %}",
    "recursive loops": "{% for a in [1] recursive %}{% if loop.depth < 50 %}{{ loop([1, 1]) }}{% endif %}{% endfor %}",
    "wide recursive loops": "{% for a in [r] recursive %}{% if a is iterable %}{{ loop(a) }}{{ loop([r]) }}"
    "{% endif %}{% endfor %}",
    "a list that grows": "{% set l = [1] %}{% for a in l %}{% set _ = l.append(1) %}{% endfor %}",
    "searches": "{% set l = r | list %}{% for a in r %}{% if -1 in l %}{% endif %}{% endfor %}",
    "comparisons": "{% set k = r | list %}{% set l = r | list %}{% for a in r %}{% if k == l %}{% endif %}{% endfor %}",
    "comparisons in a row": "{% set k = r | list %}{% set l = r | list %}{% for a in r %}{% if 0 != k == l %}{% endif %}{% endfor %}",
    "tests": "{% set l = r | list %}{{ r | select('in', [-1] + l[:-1]) | list | length }}"
    "{{ r | map('string') | select('in', l) | list | length }}",
    "sorting": "{% for a in r %}{% set x = r | sort %}{% endfor %}",
    "sums of lists": "{% for a in r %}{% set x = ([[1]] * 9000) | sum(start=[]) %}{% endfor %}",
    "methods": "{% set s = 'a' * 4000000 %}{% for a in r %}{% set x = s.count('aa') %}{% endfor %}",
    "slices": "{% set s = 'a' * 4000000 %}{% for a in r %}{% set x = s[1:] %}{% endfor %}",
    "set operations": "{% set d = dict.fromkeys(r) %}{% for a in r %}{% set x = d.keys() - d.keys() %}{% endfor %}",
    "long attributes": "{{ r | map(attribute='a.' * 9000 ~ 'a', default=1) | list }}",
    "JSON": "{% for a in r %}{% set x = r | map('abs') | tojson(indent=1) %}{% endfor %}",
    "unique": "{% for a in r %}{% set x = r | unique | list %}{% endfor %}",
}


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_template_that_does_not_end_is_ended(source):
    assert_refused("{% set r = range(100000) %}" + source, QUICK, "processor time|characters")


HUGE = {
    "powers": "{% set ns = namespace(i=9) %}{% for a in range(99) %}{% set ns.i = ns.i * ns.i %}{% endfor %}",
    "numbers for colliding keys": "{{ dict.fromkeys(range(0, 207525870829232455590000, 2305843009213693951)) }}",
    "number from text": "{{ ('f' * 4000000) | int(base=16) }}",
    "format": "{{ '{:1000000000d}'.format(1) }}",
    "format nested": "{{ '{:{}d}'.format(1, 1000000000) }}",
    "format behind zeros": "{{ ('{:' ~ '0' * 20 ~ '9' * 11 ~ 'd}').format(1) }}",
    "format of many digits": "{{ ('{:' ~ '1' * 9999 ~ 'd}').format(1) }}",
    "format in other digits": "{{ '{:" + "\u0669" * 11 + "d}'.format(1) }}",
    "format many": "{{ ('{0}' * 9999).format('a' * 9999) }}",
    "format_map": "{{ '{a:1000000000d}'.format_map({'a': 1}) }}",
    "format by attr": "{{ ('{:1000000000d}' | attr('format'))(1) }}",
    "format safe": "{{ ('{:1000000000d}' | safe).format(1) }}",
    "JSON indent": "{{ [1] | tojson(indent=1000000000) }}",
    "JSON separators": "{{ [1] | tojson(separators=('a' * 9999, ':')) }}",
    "JSON lines": "{% set l = [0] * 999 %}{{ ([l] * 99) | tojson(indent=99) }}",
    "method": "{{ 'a'.ljust(10 ** 11) }}",
    "time": "{{ strftime_now('%Y' * 9999) }}",
    "concatenation": "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "a set block": "{% set s = 'a' * 99999 %}{% set x %}{% for i in range(99) %}{{ s }}{% endfor %}{% endset %}",
    "output": "{% set s = 'a' * 99999 %}{% for i in range(99) %}{{ s }}{% endfor %}",
    "lists in lists": "{% set ns = namespace(l=[]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}",
    "tuples in tuples": "{% set ns = namespace(l=()) %}{% for i in range(99) %}{% set ns.l = (ns.l, ns.l) %}{% endfor %}",
    "dicts in dicts": "{% set ns = namespace(l={}) %}{% for i in range(99) %}"
    "{% set ns.l = {'a': ns.l, 'b': ns.l} %}{% endfor %}",
    "filters doubling": "{% set ns = namespace(l=[]) %}{% for i in range(99) %}"
    "{% set ns.l = [ns.l] | batch(2, ns.l) | list %}{% endfor %}",
    "appending": "{% set l = [] %}{% for i in range(999) %}{% set _ = l.append('a' * 99999) %}{% endfor %}",
    "macros with long names": "{% macro "
    + "f" * 50_000
    + "() %}{% endmacro %}{{ ["
    + "f" * 50_000
    + "] * 99999 }}",
    "values nobody keeps": "{% for i in range(999) %}{% set x = ('a' * 4000000).upper() %}{% endfor %}",
    "items": "{{ ('a ' * 1000000).split() | length }}",
    "depth": "{% set ns = namespace(l=[]) %}{% for i in range(999) %}{% set ns.l = [ns.l] %}{% endfor %}",
    "generators": "{% set ns = namespace(l=[]) %}{% for i in range(999) %}{% set ns.l = ns.l | map('abs') %}{% endfor %}",
    "calls": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "block calls": "{% block b %}{{ self.b() }}{% endblock %}",
    "loop calls": "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
}


@pytest.mark.parametrize("source", HUGE.values(), ids=HUGE.keys())
def test_a_template_that_asks_for_too_much_is_refused_before_it_gets_it(source):
    assert_refused(source, USUAL, "characters|deep|bits|fields")


def test_long_templates_are_not_compiled(monkeypatch):
    assert len(run("a" * MAX_SOURCE)) == MAX_SOURCE
    with pytest.raises(LimitExceeded, match=f"more than {MAX_SOURCE} characters of source"):
        run("a" * (MAX_SOURCE + 1))
    monkeypatch.setattr("deltaparse.analyzer.template.instrumentation.MAX_NODES", 100)
    assert run("{{ [" + "1," * 90 + "] | length }}") == "90"
    with pytest.raises(LimitExceeded, match="more than 100 nodes in its syntax tree"):
        run("{{ [" + "1," * 100 + "] | length }}")


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ .__mro__ }}",
        "{{ messages.clear() }}",
        "{{ messages.append(1) }}",
        "{{ messages.pop() }}",
        "{{ messages[0].update(a=1) }}",
        "{{ messages[0].pop('role') }}",
        "{{ messages[0]['l'].append(1) }}",
        "{{ ''.encode() }}",
        "{{ (5).to_bytes(1) }}",
        "{{ (5).from_bytes([1]) }}",
        "{{ lipsum() }}",
        "{% set ns = namespace() %}{% set ns._x = 1 %}",
        "{{ namespace(_x=1) }}",
        "{% set l = [] %}{{ l.append(l) }}",
        "{% set l = [] %}{% set k = [l] %}{{ l.append(1) }}",
        "{% set l = [] %}{% set k = {'l': l} %}{{ l.pop() }}",
        "{% set k = [[]] %}{% set l = k | first %}{{ l.append(k) }}",
        "{% for a in [1] %}{{ loop._iterable.x }}{% endfor %}",
        "{{ ([1] | map('loop over', 1) | first)._budget.pay }}",
    ],
)
def test_template_cannot_reach_internals_or_change_its_input(source):
    messages = [{"role": "user", "l": [1]}]

    with pytest.raises((SecurityError, UndefinedError)):
        run(source, messages=messages)
    assert messages == [{"role": "user", "l": [1]}]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "{% set l = [] %}{% set _ = l.append('a') %}{% set _ = l.append('b') %}{{ l }}",
            "['a', 'b']",
        ),
        (
            "{% set n = namespace(l=[1, 2]) %}{{ n.l.pop(0) }}{{ n.l }}{{ n.l.pop() }}{{ n.l }}",
            "1[2]2[]",
        ),
        ("{% set l = [] %}{{ l.append([1]) }}{{ l[0] }}{{ l | length }}", "None[1]1"),
        ("{% set l = messages | list %}{{ l.append(3) }}{{ l }}", "None[1, 2, 3]"),
    ],
)
def test_a_template_may_change_a_list_of_its_own(source, text):
    assert run(source, messages=[1, 2]) == text


def test_include_finds_no_templates():
    with pytest.raises(TypeError, match="no loader"):
        run("{% include 'x' %}")


@pytest.mark.parametrize("source", ["{% generation %}", "{% if %}", "{{ x | nosuch }}"])
def test_invalid_template_does_not_compile(source):
    with pytest.raises(TemplateSyntaxError):
        run(source)


def test_limits_of_the_rendering_apply():
    limits = Limits(text=10, depth=3)

    with pytest.raises(LimitExceeded, match="more than 10 characters of output"):
        run("aaaaaa{{ 'b' * 6 }}", limits)
    with pytest.raises(LimitExceeded, match="more than 10 characters"):
        run("{% set x = 'b' * 11 %}", limits)
    with pytest.raises(LimitExceeded, match="nested more than 3 deep"):
        run("{{ [[[[]]]] }}", limits)


def test_appended_items_count_until_they_are_popped():
    source = "{% set l = [] %}{% for a in range(9) %}{% set _ = l.append('a' * 99) %}{% set _ = l.pop() %}{% endfor %}"
    limits = Limits(value=400)

    assert run(source, limits) == ""
    with pytest.raises(LimitExceeded, match="list or dict with more than 400"):
        run(source.replace("{% set _ = l.pop() %}", ""), limits)


def test_output_limit_is_inclusive():
    assert run("{{ 'a' * 3 }}bc", Limits(text=5)) == "aaabc"
    with pytest.raises(LimitExceeded, match="more than 5 characters of output"):
        run("{{ 'a' * 3 }}bcd", Limits(text=5))


def test_only_formatting_prints_values_without_a_text():
    for source in ("{{ '%s' % f }}", "{{ ('' | safe).join([f]) | striptags }}"):
        assert run(source, f=len) == "<builtin_function_or_method>"
    for source in ("{{ 'a' + f }}", "{{ 5 % f }}"):
        with pytest.raises(TypeError, match="builtin_function_or_method"):
            run(source, f=len)


class Shown(str):
    """A text that notes how it is written into others."""

    __slots__ = ("specs",)

    def __new__(cls, text, specs):
        made = super().__new__(cls, text)
        made.specs = specs
        return made

    def __format__(self, spec):
        self.specs.append(spec)
        return super().__format__(spec)


@pytest.mark.parametrize(
    ("source", "specs"),
    [
        ("{{ '{0}{0}{0}{0}'.format(a) }}", ["", "", ""]),
        ("{{ '{0}{0}{0:3}'.format(a) }}", ["", ""]),
        ("{{ '{0:11}'.format(a) }}", []),
        ("{{ '{0:5}{0:5}{0:.1}'.format(a) }}", ["5", "5"]),
    ],
)
def test_fields_are_written_as_long_as_there_is_room(source, specs):
    written = []

    with pytest.raises(LimitExceeded, match="a value of more than 10 characters"):
        run(source, Limits(text=10), a=Shown("aaaa", written))
    assert written == specs


@pytest.mark.parametrize("source", ["{{ s.format(0) }}", "{{ s.format_map([0]) }}"])
def test_a_format_has_few_fields(source):
    assert run("{{ s.format(0) }}", s="{0}" * 10_000) == "0" * 10_000
    with pytest.raises(LimitExceeded, match="a format with more than 10000 fields"):
        run(source, s="{0}" * 10_001)


def test_a_format_may_write_as_much_as_a_text_may_hold():
    assert run("{{ '{0:5}{0:5}'.format(a) }}", Limits(text=10), a="aaaa") == "aaaa aaaa "


class Notes:
    def append(self, note):
        return f"{note} is noted"

    def get(self, note):
        return f"{note} is got"

    def join(self, note):
        return f"{note} is joined"


def test_methods_of_lists_dicts_and_texts_are_no_others():
    source = "{{ n.append(1) }}, {{ n.get(2) }}, {{ n.join(3) }}"
    assert run(source, n=Notes()) == "1 is noted, 2 is got, 3 is joined"


@pytest.mark.parametrize("call", ["','.join(xs, xs)", "loop(xs, xs)"])
def test_a_call_with_too_many_arguments_is_an_error(call):
    with pytest.raises(TypeError, match="argument"):
        run(f"{{% for x in xs recursive %}}{{{{ {call} }}}}{{% endfor %}}", xs=["a"])


CALLS = ["a.find('b')", "d.items()", "','.join(xs)", "d.keys()", "'b'.startswith(a)"]
CALLS += ["'b'.startswith(xs)", "namespace(k=a)", "a.format(1)", "a.format_map(d)"]


@pytest.mark.parametrize("call", CALLS)
def test_values_read_by_a_call_are_charged(call):
    source, a = f"{{% set x = {call} %}}", "a" * 5000
    assert paid(source, a=a, xs=(a,), d={"k": a}) >= 5000
    assert paid(source, a="a", xs=("a",), d={"k": "a"}) < 1000


def test_each_item_of_a_loop_within_a_loop_is_paid_for():
    source = (
        "{% for x in [a] recursive %}{% if loop.depth == 1 %}{{ loop(x) }}{% endif %}{% endfor %}"
    )
    assert paid(source, a="a" * 500) >= 500 * STEP


def test_a_call_is_paid_for_with_each_of_its_arguments():
    source = "{% macro f() %}{% set x = varargs %}{% endmacro %}{% set x = f(*xs) %}"
    xs = [""] * 500
    assert paid(source, xs=xs) - paid("", xs=xs) >= 500 * STEP


@pytest.mark.parametrize(
    ("call", "most"),
    [("a.upper()", 50), ("a.split()", 37), ("a.partition(' ')", 33), ("xs.copy()", 30)],
)
def test_results_of_methods_count_as_memory(call, most):
    """Each result counts its characters, and 32 per item. `xs` itself counts, too."""
    source, limits = f"{{% set x = {call} %}}", Limits(memory=10_000)
    given = {"a": "b " + "a" * 198} | ({"xs": [0] * 10} if "xs" in call else {})

    run(source * most, limits, **given)
    with pytest.raises(LimitExceeded, match="more than 10000 characters of values"):
        run(source * (most + 1), limits, **given)


def test_a_method_that_makes_no_text_takes_no_memory():
    run("{% set x = a.count('b') %}" * 300, Limits(memory=10_000), a="a" * 200)


def test_too_large_output_of_a_macro_is_not_joined():
    room = sandbox(Limits(text=100))
    assert room.concat(["a" * 60, "b" * 40]) == "a" * 60 + "b" * 40
    with pytest.raises(LimitExceeded, match="more than 100 characters"):
        room.concat(["a" * 60, "b" * 41])


def test_formatting_stops_if_the_text_is_too_long():
    class Counted(str):
        __slots__ = ()
        times = 0

        def __format__(self, form):
            Counted.times += 1
            return str(self)

    with pytest.raises(LimitExceeded, match="more than 100 characters"):
        run("{{ '{0}{0}{0}{0}'.format(a) }}", Limits(text=100), a=Counted("a" * 60))
    assert Counted.times == 2


def test_dict_get_costs_little():
    d = {"k": "a" * 5000}
    nothing = paid("{% set x = d %}", d=d)
    assert nothing < paid("{% set x = d.get('k') %}", d=d) < 1000
    assert paid("{% set x = n.get(a) %}", n=Notes(), a=d["k"]) >= 5000


def test_sandboxes_are_shared():
    assert sandbox(Limits()) is sandbox(Limits())
