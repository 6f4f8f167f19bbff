"""Arguments between markers."""

from __future__ import annotations

import pytest

from deltaparse import ArgumentsFormat, analyze
from deltaparse.analyzer.phases.tagged_arguments import Around, _Others, with_elements
from deltaparse.analyzer.probes import ARGUMENT, FUNCTIONS, REPEATED, VALUES


@pytest.mark.parametrize(
    ("arguments", "suffix"),
    [
        (ArgumentsFormat(name_prefix="<", name_suffix=">"), ""),
        (ArgumentsFormat(name_prefix="<", name_suffix=">", value_suffix="</arg>"), ">"),
    ],
)
def test_no_name_is_repeated(arguments, suffix):
    assert with_elements(arguments, suffix, None) is arguments


def test_a_name_that_is_repeated_behind_its_value():
    made = ArgumentsFormat(name_prefix="<", name_suffix=">", value_suffix=f"</{REPEATED}>")
    found = with_elements(made, ">", lambda *_: "")
    assert (found.value_suffix, found.key_suffix, found.item) == ("</", ">", "")
    listed = f"<{ARGUMENT}><item>{VALUES[1]}</item><item>{VALUES[0]}</item></{ARGUMENT}>"
    assert with_elements(made, ">", lambda *_: listed).item == "item"


def written(text: str) -> _Others:
    return _Others("<", ">", lambda *_: f"call {FUNCTIONS[0]}{text}")


@pytest.mark.parametrize(
    ("text", "value", "around"),
    [
        (f"<{ARGUMENT}=7;>", 7, Around("", "=", ";")),
        (f"({ARGUMENT}=7;>", 7, None),  # something else stands before it
        (f"<{ARGUMENT}=7;)", 7, None),  # or behind it
        (f"<{ARGUMENT}=8;>", 7, None),
        (f"< {ARGUMENT}=[1, 2]>", [1, 2], Around(" ", "=", "")),
        (f"< {ARGUMENT}=[1,2]>", [1, 2], Around(" ", "=", "")),
        (f'<{ARGUMENT}={{"a":1,"b":2}}>', {"a": 1, "b": 2}, Around("", "=", "")),
        (f"<{ARGUMENT}=None>", None, Around("", "=", "")),
        (f"<{ARGUMENT}='a'>", "a", Around("", "='", "'")),
    ],
)
def test_what_stands_round_a_value(text, value, around):
    assert written(text).around(value) == around


ARGS = "c.function.arguments"
FOR = "{% for k, v in c.function.arguments.items() %}"
V = "{{ v if v is string else v | tojson }}"
NO_TWO = "{% if c.function.arguments | length > 1 %}{{ raise_exception('one') }}{% endif %}"
NOT_NONE = "{% if not c.function.arguments %}{{ raise_exception('none') }}{% endif %}"
ONE = "<a={{ k }}>" + V + "</a>"
KIND = (
    "{% if v is string %}str{% elif v is number and v is not boolean %}num{% else %}any{% endif %}"
)
WORDS = "{{ 'n' if v is number and v is not boolean else 'a' }}"
CDATA = "{% if v is string and '<' in v %}<![CDATA[{{ v }}END{% else %}" + V + "{% endif %}"


def analyzed(arguments: str, head: str = "", name: str = "<f={{ c.function.name }}>", end="</f>"):
    calls = "{% for c in m.tool_calls %}" + head + name + arguments + end + "{% endfor %}"
    return analyze(
        "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>"
        "{{ m.content or '' }}{% if m.tool_calls %}" + calls + "{% endif %}"
        "<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )


@pytest.mark.parametrize("head", ["", NO_TWO, NOT_NONE, NO_TWO + NOT_NONE])
@pytest.mark.parametrize("behind", ["</n>", ">"])
def test_a_call_that_is_refused_leaves_the_borders_where_they_are(head, behind):
    name = "<f={{ c.function.name }}" + behind
    fmt = analyzed(FOR + ONE + "{% endfor %}", head, name)
    found = fmt.function.name_suffix, fmt.arguments.name_prefix, fmt.arguments.value_suffix
    # Nothing shows where the name ends and the argument begins, but what a marker looks like.
    unknown = behind == ">" and NO_TWO in head
    assert found == (("", "><a=", "</a>") if unknown else (behind, "<a=", "</a>"))


def test_a_marker_round_all_arguments_ends_the_last_of_them():
    each = FOR + "{{ k }}=" + V + ";{% endfor %}"
    fmt = analyzed(
        "{% if " + ARGS + " %}<p>" + each + "</p>{% endif %}",
        name="<f>{{ c.function.name }}",
        end="{{ '\n' }}",
    )
    made = fmt.arguments
    assert (made.start, made.value_suffix, made.end) == ("<p>", ";", "</p>")


def test_the_type_is_a_word_before_the_name():
    one = '<a type="' + KIND + '" name="{{ k }}">' + V + "</a>"
    fmt = analyzed(FOR + one + "{% endfor %}")
    made = fmt.arguments
    assert fmt.verified
    assert (made.type_first, made.name_prefix, made.type_suffix) == (True, '<a type="', '" name="')


def test_types_that_are_written_as_texts_are_no_other_way():
    made = analyzed(FOR + "<" + WORDS + " {{ k }}>" + V + "</a>{% endfor %}").arguments
    assert list(made.alternatives[::4]) == ["integer number"]


@pytest.mark.parametrize(
    ("end", "escape"), [("]]>", ("<![CDATA[", "]]>")), (" ", ("", "")), ("", ("", ""))]
)
def test_what_stands_round_text_that_has_markup_in_it(end, escape):
    value = CDATA.replace("END", "{{ '" + end + "' }}")
    made = analyzed(FOR + "<a={{ k }}>" + value + "</a>{% endfor %}").arguments
    assert (made.escape_start, made.escape_end) == escape
