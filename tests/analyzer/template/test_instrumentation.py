"""Tests of guards, which refuse expensive operations before they run."""

# ruff: noqa: E501 - a template is read more easily in one line

from __future__ import annotations

import pytest
from jinja2 import Environment

from deltaparse.analyzer.template.budget import BUDGET, STEP, Budget, LimitExceeded, Limits
from deltaparse.analyzer.template.instrumentation import POINTER, READING, TESTS, guarded_filter
from deltaparse.analyzer.template.safe_repr import without_addresses
from deltaparse.analyzer.template.sandbox import sandbox

from .rooms import USUAL, assert_refused, paid, run


def test_every_guarded_name_is_one_of_jinjas():
    assert set(Environment().tests) >= TESTS
    assert set(Environment().filters) >= READING


HUGE = {
    "text * number": "{{ 'a' * 10 ** 9 }}",
    "number * text": "{{ 10 ** 9 * 'a' }}",
    "list * number": "{{ ([1] * 10 ** 9) | length }}",
    "power": "{{ 9 ** (9 ** 9) }}",
    "percent": "{{ '%1000000000d' % 1 }}",
    "percent behind zeros": "{{ ('%' ~ '0' * 20 ~ '9' * 11 ~ 'd') % 1 }}",
    "percent precision": "{{ '%.1000000000f' % 1 }}",
    "percent star": "{{ '%*d' % (1000000000, 1) }}",
    "percent keys": "{{ ('%(a)s' * 9999) % {'a': 'a' * 9999} }}",
    "format filter": "{{ '%1000000000d' | format(1) }}",
    "format filter behind zeros": "{{ ('%' ~ '0' * 20 ~ '9' * 11 ~ 'd') | format(1) }}",
    "center": "{{ 'a'.center(10 ** 9) }}",
    "center filter": "{{ 'a' | center(1000000000) }}",
    "ljust": "{{ 'a'.ljust(10 ** 9) }}",
    "zfill": "{{ 'a'.zfill(10 ** 9) }}",
    "expandtabs": "{{ ('\t' * 99999).expandtabs(99999) }}",
    "translate": "{{ ('a' * 9999).translate({97: 'b' * 9999}) }}",
    "indent": "{{ ('a\n' * 9999) | indent(99999) }}",
    "replace": "{{ ('a' * 9999) | replace('a', 'b' * 9999) }}",
    "replace nothing": "{{ ('a' * 9999).replace('', 'b' * 9999) }}",
    "join": "{{ range(9999) | join('a' * 9999) }}",
    "join generated": "{{ range(999) | map('string') | join('a' * 9999) }}",
    "join of a text": "{{ ('a' * 9999) | join(['b' * 999999]) }}",
    "join method": "{{ ('a' * 9999).join(range(999) | map('string')) }}",
    "wordwrap": "{{ ('a ' * 9999) | wordwrap(1, wrapstring='b' * 9999) }}",
    "striptags": "{{ ('<!--' * 99999) | striptags }}",
    "striptags method": "{{ (('<!--' * 99999) | safe).striptags() }}",
    "rfind": "{{ ('a' * 4000000).rfind('ab' ~ 'a' * 99999) }}",
    "trim": "{{ ('a' * 99999) | trim('b' * 99999 ~ 'a') }}",
    "batch": "{{ [1] | batch(10 ** 9, 'x') | list | length }}",
    "slice": "{{ [1] | slice(10 ** 9) | list | length }}",
    "round": "{{ 1 | round(10 ** 9, 'floor') }}",
    "sort by many": "{{ ([{'a': 1}] * 9999) | sort(attribute='a,' * 999 ~ 'a') }}",
    "attribute": "{{ [1] | map(attribute='a.' * 99999, default=1) | list }}",
    "addition": "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "added lists": "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
}


@pytest.mark.parametrize("source", HUGE.values(), ids=HUGE.keys())
def test_too_much_is_refused_before_it_is_made(source):
    assert_refused(source, USUAL, "characters|bits|parts")


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'abc' | round(9, 'floor') }}",
        "{{ '%1000000000d' is odd }}",
        "{{ '%1000000000d' is even }}",
        "{{ '%1000000000d' is divisibleby 1 }}",
        "{{ {} * 2 }}",
        "{{ 'a' * 'b' }}",
        "{{ [1] - [1] }}",
    ],
)
def test_invalid_operands_raise_a_type_error(source):
    with pytest.raises(TypeError):
        run(source)


def test_a_filter_takes_generators():
    source = "{{ xs | map('string') | join('-') }}{{ xs | map('string') | batch(2) | list }}"

    assert run(source, xs=[1, 2, 3]) == "1-2-3[['1', '2'], ['3']]"


def test_the_characters_of_a_text_may_be_joined():
    assert run("{{ s | join }}", s="ab" * 100_000) == "ab" * 100_000
    assert run("{{ s | join(5) }}{{ s | join(d=['-']) }}", s="ab") == "a5ba['-']b"


def test_a_guarded_test_answers():
    assert run("{{ 3 is odd }}{{ 3 is even }}{{ 3 is in [3] }}") == "TrueFalseTrue"


def test_slice_matches_plain_jinja():
    assert run("{{ 'hello'[1:3] }}{{ [1, 2, 3][::-1] }}") == "el[3, 2, 1]"


def test_too_large_concatenation_is_not_created():
    written = []

    class Noted(str):
        __slots__ = ()

        def __str__(self):
            written.append(1)
            return super().__str__()

    assert run("{{ s ~ s }}", Limits(text=10), s=Noted("aaaaa")) == "a" * 10
    assert written.pop()
    written.clear()
    with pytest.raises(LimitExceeded, match="a value of more than 10 characters"):
        run("{{ s ~ s ~ s }}", Limits(text=10), s=Noted("aaaaa"))
    assert written == []


# Each reads `a`, a text of 5000 characters, or the heavier `d` or `xs`.
READS = {
    "comparison": "{% if b == a %}{% endif %}",
    "comparisons": "{% if 1 < 2 != b == a %}{% endif %}",
    "in": "{% if 'x' in a %}{% endif %}",
    "in a list": "{% if 'x' in [a, 'b'] %}{% endif %}",
    "not in": "{% if 'x' not in xs %}{% endif %}",
    "printing": "{% set x %}{{ a }}{% endset %}",
    "slice": "{% set x = a[1:] %}",
    "concatenation": "{% set x = a ~ 'b' %}",
    "addition": "{% set x = a + 'b' %}",
    "filter": "{% set x = a | length %}",
    "filter of a list": "{% set x = xs | first %}",
    "argument of a filter": "{% set x = 'x' | replace('y', a) %}",
    "named argument of a filter": "{% set x = [] | join(d=a) %}",
    "test": "{% if a is eq('b') %}{% endif %}",
    "argument of a test": "{% if 'b' is in(a) %}{% endif %}",
    "argument of a named test": "{% set x = ['b'] | select('in', a) | list %}",
}


@pytest.mark.parametrize("source", READS.values(), ids=READS.keys())
def test_read_values_are_charged(source):
    a = "a" * 5000
    assert paid(source, a=a, b="b" * 5000, xs=[a, a], d={"k": a}) >= 5000
    assert paid(source, a="a", b="b", xs=["a"], d={"k": "a"}) < 1000


# Each copies `a`, a text of 200 characters, or half of `xs`, a list of 100 numbers. The list itself
# is counted, too. The number limits the copies.
COPIES = {
    "slice": ("{% set x = a[:100] %}", 100),
    "slice of a list": ("{% set x = xs[:50] %}", (10_000 - 100 * STEP) // (50 * POINTER)),
    "set block": ("{% set x %}{{ a }}{{ a }}{% endset %}", 25),
    "filtered set block": ("{% set x | trim %}{{ a }}{{ a }}{% endset %}", 25),
}


@pytest.mark.parametrize(("source", "most"), COPIES.values(), ids=COPIES.keys())
def test_copies_count_as_memory(source, most):
    limits = Limits(memory=10_000)
    given = {"a": "a" * 200} | ({"xs": [0] * 100} if "xs" in source else {})

    run(source * most, limits, **given)
    with pytest.raises(LimitExceeded, match="more than 10000 characters of values"):
        run(source * (most + 1), limits, **given)


def test_a_slice_of_a_list_takes_less_than_the_list():
    given = {"messages": [{"role": "user"}] * 100}
    run(
        "{% for m in messages %}{% set x = messages[loop.index0:] %}{% endfor %}",
        Limits(memory=50_000),
        **given,
    )


BODIES = {
    "macro": "{% macro f() %}BODY{% endmacro %}{% set x = f() %}",
    "caller": "{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}BODY{% endcall %}",
    "block": "{% block b %}BODY{% endblock %}",
    "loop": "{% for x in [1] %}BODY{% endfor %}",
}


@pytest.mark.parametrize("source", BODIES.values(), ids=BODIES.keys())
def test_repeated_bodies_are_charged_each_time(source):
    assert paid(source.replace("BODY", "{% if a %}{% endif %}" * 200)) >= 200 * STEP
    assert paid(source.replace("BODY", "")) < 20 * STEP


def test_a_filter_that_would_make_too_much_does_not_run():
    asked = []
    filtered = guarded_filter("center", asked.append)
    context = sandbox(USUAL).from_string("").new_context({BUDGET: Budget(USUAL, [])})

    with pytest.raises(LimitExceeded, match="a value of more than"):
        filtered(context, "a", 10**9)
    assert asked == []


@pytest.mark.parametrize(("on", "text"), [("false", "<>"), ("true", "&lt;>")])
def test_texts_are_escaped_only_on_request(on, text):
    source = "{{ '<' ~ ('>' | safe) }}"
    assert run(f"{{% autoescape {on} %}}{source}{{% endautoescape %}}") == text
    assert run(source) == "<>"


CONSTANTS = [
    "{% if x == 'AAAA' %}{% endif %}",
    "{% if 'AAAA' == x %}{% endif %}",
    "{% if x in 'AAAA' %}{% endif %}",
    "{% if x in ['AAAA', 'b'] %}{% endif %}",
    "AAAA{{ 'AAAA' }}",
]


@pytest.mark.parametrize("source", CONSTANTS)
def test_constants_of_the_template_are_not_charged(source):
    assert paid(source.replace("AAAA", "a" * 5000), x="") < 1000


def test_comparison_with_a_constant_costs_the_constant_only():
    assert paid("{% if 'a' == x %}{% endif %}", x="a" * 5000) < 1000


# Filters that go through their value, and arguments with which they do.
EACH = {
    "batch": "(9)",
    "groupby": "(0)",
    "list": "",
    "map": "('abs')",
    "max": "",
    "min": "",
    "reject": "('odd')",
    "rejectattr": "('a')",
    "select": "('odd')",
    "selectattr": "('a')",
    "slice": "(2)",
    "sort": "",
    "sum": "",
    "unique": "",
}


def test_all_that_read_item_by_item_are_tried():
    assert EACH.keys() == READING


@pytest.mark.parametrize("name", EACH)
def test_each_item_of_a_generator_is_paid_for(name):
    def numbers():
        yield from ([1, 2] for _ in range(500)) if name == "groupby" else range(500)

    # It goes to the end also of a filter that is a generator itself.
    source = f"{{% for x in xs | {name}{EACH[name]} %}}{{% endfor %}}"
    if name in ("max", "min", "sum"):
        source = f"{{% set x = xs | {name} %}}"
    assert paid(source, xs=numbers()) >= 500 * STEP


WITH_ARGUMENTS = {
    "attr": "'a'",
    "batch": "2",
    "format": "f",
    "groupby": "'a'",
    "indent": "f",
    "items": "",
    "join": "f",
    "map": "'string'",
    "replace": "'a', f",
    "slice": "2",
    "trim": "'a'",
    "truncate": "9",
    "xmlattr": "",
}


@pytest.mark.parametrize("name", sorted(Environment().filters))
@pytest.mark.parametrize("value", ["f", "[f]", "[f, f]", "{'a': f}", "'%s'", "'a'"])
def test_no_filter_makes_a_text_with_an_address(name, value):
    source = f"{{{{ {value} | {name}({WITH_ARGUMENTS.get(name, '')}) }}}}"
    try:
        text = run(source, f="a".upper)
    except Exception as error:  # noqa: BLE001 - some filters take no such value
        text = without_addresses(str(error))
    assert " at 0x" not in text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ f }}", "<generator>"),
        ("{{ [f] | first }}{{ [f] | last }}", "<generator><generator>"),
        ("{{ f ~ 1 }}", "<generator>1"),
        ("{{ '%s' % f }}{{ '%s' | format(f) }}", "<generator><generator>"),
        ("{{ '{} {!r}'.format(f, f) }}", "<generator> '<generator>'"),
        ("{{ f | string | length }}", "11"),
        ("{{ ('-' | safe).join([f, f]) }}", "&lt;generator&gt;-&lt;generator&gt;"),
        ("{{ f | center(15) }}{{ f | e }}", "  <generator>  &lt;generator&gt;"),
        ("{{ [f] | pprint }}", "['<generator>']"),
    ],
)
def test_a_template_prints_no_address(source, text):
    assert run(source, f=(item for item in [1])) == text
