"""Guards: what costs much is refused before it is made, whichever way a template asks for it."""

# ruff: noqa: E501 - a template is read more easily in one line

from __future__ import annotations

import pytest
from jinja2 import Environment

from deltaparse.analyzer.template.guards import READING, TESTS

from .rooms import USUAL, assert_refused, run


def test_every_guarded_name_is_one_of_jinjas():
    assert set(Environment().tests) >= TESTS
    assert set(Environment().filters) >= READING


HUGE = {
    "text * number": "{{ 'a' * 10 ** 9 }}",
    "number * text": "{{ 10 ** 9 * 'a' }}",
    "list * number": "{{ ([1] * 10 ** 9) | length }}",
    "power": "{{ 9 ** (9 ** 9) }}",
    "percent": "{{ '%1000000000d' % 1 }}",
    "percent precision": "{{ '%.1000000000f' % 1 }}",
    "percent star": "{{ '%*d' % (1000000000, 1) }}",
    "percent keys": "{{ ('%(a)s' * 9999) % {'a': 'a' * 9999} }}",
    "format filter": "{{ '%1000000000d' | format(1) }}",
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
        "{{ '%1000000000d' is divisibleby 1 }}",
        "{{ {} * 2 }}",
        "{{ 'a' * 'b' }}",
        "{{ [1] - [1] }}",
    ],
)
def test_what_makes_no_sense_is_a_type_error(source):
    with pytest.raises(TypeError):
        run(source)


def test_a_filter_takes_generators():
    source = "{{ xs | map('string') | join('-') }}{{ xs | map('string') | batch(2) | list }}"

    assert run(source, xs=[1, 2, 3]) == "1-2-3[['1', '2'], ['3']]"
