"""Arguments between markers."""

from __future__ import annotations

import pytest

from deltaparse import ArgumentsFormat, analyze
from deltaparse.analyzer.phases.find_tagged_arguments import Around, _Others, with_elements
from deltaparse.analyzer.probes import ARGUMENT, FUNCTIONS, REPEATED, VALUES


@pytest.mark.parametrize(
    "arguments",
    [
        ArgumentsFormat(name_prefix="<", name_suffix=">", value_suffix="</arg>"),
        ArgumentsFormat(name_prefix=" ", name_suffix=">", value_suffix=f"</{REPEATED}>"),
    ],
)
def test_no_name_is_repeated(arguments):
    assert with_elements(arguments, None) is arguments


def test_name_repeated_after_its_value_is_replaced():
    made = ArgumentsFormat(name_prefix="<", name_suffix=">", value_suffix=f"</{REPEATED}>")
    found = with_elements(made, lambda *_: "")
    assert (found.value_suffix, found.key_suffix, found.item) == ("</", ">", "")
    listed = f"<{ARGUMENT}><item>{VALUES[0]}</item></{ARGUMENT}>"
    assert with_elements(made, lambda *_: listed).item == "item"


def written(text: str) -> _Others:
    return _Others("<", ">", lambda *_: f"call {FUNCTIONS[0]}{text}")


@pytest.mark.parametrize(
    ("text", "value", "around"),
    [
        (f"<{ARGUMENT}=7;>", 7, Around("", "=", ";")),
        (f"({ARGUMENT}=7;>", 7, None),  # other text precedes it
        (f"<{ARGUMENT}=7;)", 7, None),  # or follows it
        (f"<{ARGUMENT}=8;>", 7, None),
        (f"< {ARGUMENT}=[1, 2]>", [1, 2], Around(" ", "=", "")),
        (f"< {ARGUMENT}=[1,2]>", [1, 2], Around(" ", "=", "")),
        (f'<{ARGUMENT}={{"a":1,"b":2}}>', {"a": 1, "b": 2}, Around("", "=", "")),
        (f"<{ARGUMENT}=None>", None, Around("", "=", "")),
        (f"<{ARGUMENT}='a'>", "a", Around("", "='", "'")),
    ],
)
def test_others_around_returns_the_texts_around_a_value(text, value, around):
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
def test_rejected_call_keeps_the_borders(head, behind):
    name = "<f={{ c.function.name }}" + behind
    fmt = analyzed(FOR + ONE + "{% endfor %}", head, name)
    found = fmt.function.name_suffix, fmt.arguments.name_prefix, fmt.arguments.value_suffix
    # Only the form of the markers separates the end of the name from the argument.
    unknown = behind == ">" and NO_TWO in head
    assert found == (("", "><a=", "</a>") if unknown else (behind, "<a=", "</a>"))


@pytest.mark.parametrize("head", ["", NO_TWO])
def test_argument_after_an_id_needs_no_start_marker(head):
    fmt = analyzed(
        FOR + "{{ k }}=" + V + ";" + END, head, "<f={{ c.function.name }} id={{ c.id }}>"
    )
    made = fmt.arguments
    assert (fmt.verified, fmt.call_id.suffix) == (True, ">")
    assert (made.name_prefix, made.name_suffix, made.value_suffix) == ("", "=", ";")


def test_marker_around_all_arguments_ends_the_last():
    each = FOR + "{{ k }}=" + V + ";{% endfor %}"
    fmt = analyzed(
        "{% if " + ARGS + " %}<p>" + each + "</p>{% endif %}",
        name="<f>{{ c.function.name }}",
        end="{{ '\n' }}",
    )
    made = fmt.arguments
    assert (made.start, made.value_suffix, made.end) == ("<p>", ";", "</p>")


def test_type_may_be_a_word_before_the_name():
    one = '<a type="' + KIND + '" name="{{ k }}">' + V + "</a>"
    fmt = analyzed(FOR + one + "{% endfor %}")
    made = fmt.arguments
    assert fmt.verified
    assert (made.type_first, made.name_prefix, made.type_suffix) == (True, '<a type="', '" name="')
    assert not made.python_literals


def test_type_word_requires_words_before_it():
    made = analyzed(FOR + "<" + KIND + "={{ k }}>" + V + "</a>{% endfor %}").arguments
    assert (made.type_first, made.alternatives[0]) == (False, "integer number")


def test_types_written_as_strings_have_no_alternative():
    made = analyzed(FOR + "<" + WORDS + " {{ k }}>" + V + "</a>{% endfor %}").arguments
    assert list(made.alternatives[::4]) == ["integer number"]


@pytest.mark.parametrize(
    ("end", "escape"), [("]]>", ("<![CDATA[", "]]>")), (" ", ("", "")), ("", ("", ""))]
)
def test_escape_surrounds_strings_with_markup(end, escape):
    value = CDATA.replace("END", "{{ '" + end + "' }}")
    made = analyzed(FOR + "<a={{ k }}>" + value + "</a>{% endfor %}").arguments
    assert (made.escape_start, made.escape_end) == escape


END = "{% endfor %}"
KINDS = "'boolean' if v is boolean else 'number' if v is number else 'other'"


@pytest.mark.parametrize("space", [" ", "\n"])
def test_whitespace_before_each_argument_belongs_to_its_marker(space):
    fmt = analyzed(FOR + "{{ '" + space + "' }}" + ONE + END)
    made = fmt.arguments
    assert fmt.verified
    assert (made.start, made.separator, made.name_prefix) == ("", "", space + "<a=")


def test_whitespace_alone_does_not_begin_an_argument():
    fmt = analyzed(FOR + "{{ ' ' }}{{ k }}=" + V + END)
    assert fmt.tools.format == "NONE"
    assert any("'<f=NAME> KEY=VALUE</f>'" in issue for issue in fmt.issues)


@pytest.mark.parametrize("one", ["{{ '\n' }}{{ k }}: " + V, "{{ k }}: " + V + ";"])
def test_call_end_ends_the_last_unmarked_argument(one):
    fmt = analyzed(FOR + one + END, end="{{ '\n' }}</f>")
    assert fmt.verified
    assert (fmt.arguments.name_prefix.strip(), fmt.function.close.strip()) == ("", "</f>")


def test_unended_argument_is_not_understood_if_two_are_rejected():
    made = analyzed(FOR + "<a={{ k }}>" + V + END, NO_TWO, end="").arguments
    assert (made.name_suffix, made.value_suffix) == (">", "")


@pytest.mark.parametrize(
    ("one", "suffix"), [('<a={{ k }} v="VALUE"/>', ' v="'), ('<a {{ k }}="VALUE"/>', '="')]
)
def test_quotes_without_escapes_are_parts_of_markers(one, suffix):
    fmt = analyzed(FOR + one.replace("VALUE", V) + END)
    assert (fmt.verified, fmt.arguments.quoted_strings) == (True, False)
    assert (fmt.arguments.name_suffix, fmt.arguments.value_suffix) == (suffix, '"/>')


def test_quoted_strings_are_detected_by_an_escaped_quote():
    assert analyzed(FOR + "<a={{ k }}>{{ v | tojson }}</a>" + END).arguments.quoted_strings
    escaped = """{{ '"' ~ v | replace('"', '\\\\"') ~ '"' if v is string else v | tojson }}"""
    made = analyzed(FOR + "<a={{ k }}>" + escaped + "</a>" + END).arguments
    assert (made.quoted_strings, made.escape_start, made.escape_end) == (True, "", "")
    assert made.value_suffix == "</a>"


@pytest.mark.parametrize(
    ("text", "suffix", "types"), [("text", '" t="', '">'), ("some text", '" t="some text">', "")]
)
def test_type_after_a_name_is_one_word(text, suffix, types):
    kind = "{{ '" + text + "' if v is string else " + KINDS + " }}"
    made = analyzed(FOR + '<a n="{{ k }}" t="' + kind + '">' + V + "</a>" + END).arguments
    assert (made.name_suffix, made.type_suffix) == (suffix, types)
    assert made.literal_name_suffix == ("" if types else '" t="number">')


def test_type_requires_equal_markers_before_all_values():
    kind = "{{ 'text;<v><s>' if v is string else (" + KINDS + ") ~ ';' }}"
    made = analyzed(FOR + "<a>{{ k }}:" + kind + V + "</a>" + END).arguments
    assert (made.name_suffix, made.value_prefix, made.type_suffix) == (":text;", "<v><s>", "")


def test_second_marker_between_name_and_value_is_the_value_prefix():
    made = analyzed(FOR + "<k>{{ k }}</k><v>" + V + "</v>" + END).arguments
    assert (made.name_suffix, made.value_prefix) == ("</k>", "<v>")


def test_marker_of_one_type_before_the_name_is_not_a_type_word():
    made = analyzed(FOR + '<a type="' + WORDS + '" name="{{ k }}">' + V + "</a>" + END).arguments
    assert (made.type_first, made.alternatives[0]) == (False, "integer number")


def test_text_before_all_arguments_is_not_in_their_end():
    each = FOR + "{{ k }}=" + V + "," + END
    braces = "{% if " + ARGS + " %}{{ '{' }}" + each + "{{ '};' }}{% endif %}"
    fmt = analyzed(braces, name="<f>{{ c.function.name }};")
    assert fmt.verified
    assert (fmt.function.name_suffix, fmt.arguments.start, fmt.arguments.end) == (";", "{", "};")


def test_line_ends_around_all_arguments_are_not_markers():
    lines = "{% if " + ARGS + " %}{{ '\\n' }}" + FOR + ONE + END + "{{ '\\n' }}{% endif %}"
    fmt = analyzed(lines)
    assert fmt.verified
    assert (fmt.arguments.end, fmt.function.close) == ("", "\n</f>")


def test_name_after_a_value_outside_a_marker_is_not_repeated():
    fmt = analyzed(FOR + "<a={{ k }}>" + V + "</a {{ k }} end>" + END)
    assert fmt.arguments.key_suffix == ""
    assert any(f"contains the probe {ARGUMENT!r}" in issue for issue in fmt.issues)


def test_marker_after_a_value_may_repeat_the_name():
    fmt = analyzed(FOR + "<{{ k }}>" + V + "</{{ k }}>" + END)
    assert fmt.verified
    assert (fmt.arguments.value_suffix, fmt.arguments.key_suffix) == ("</", ">")


@pytest.mark.parametrize(
    ("text", "other", "escape"),
    [
        (">[[{{ v }}]]</a>", ">{{ v | tojson }}</a>", ("[[", "]]")),
        (" s>{{ v }}]]</a>", ">{{ v | tojson }}</a>", ("", "")),
        (">[[{{ v }}</s>", ">{{ v | tojson }}</a>", ("", "")),
    ],
)
def test_strings_may_have_additional_delimiters(text, other, escape):
    one = "<a={{ k }}{% if v is string %}" + text + "{% else %}" + other + "{% endif %}"
    made = analyzed(FOR + one + END).arguments
    assert (made.escape_start, made.escape_end) == escape
    assert bool(made.alternatives) is not any(escape)
    if any(escape):
        assert (made.name_suffix, made.value_suffix) == (">", "</a>")


def written_so(text, arguments="", head="", value=V, **named):
    """Return the analysis of calls with NAME, KEY and VALUE, and MORE between two arguments."""
    before, one, end = text.partition("NAME")[0], text.partition("NAME")[2], ""
    start, _, rest = one.partition("[")
    each, _, end = rest.rpartition("]")
    each = each.replace("KEY", "{{ k }}").replace("VALUE", value)
    more = "{{ '' if loop.last else '" + named.get("more", "") + "' }}"
    opened, closed = named.get("opened", ""), named.get("closed", "")
    inner = FOR + each + more + END
    if opened or closed:
        inner = "{% if " + ARGS + " %}" + opened + inner + closed + "{% endif %}"
    return analyzed(inner, head, before + "{{ c.function.name }}" + start, end)


NL = "{{ '\n' }}"


@pytest.mark.parametrize(
    ("text", "named", "found"),
    [
        (f"<f=NAME{NL}[<k>KEY=VALUE{NL}];", {"more": ", "}, ("\n", "", "<k>", "=", "\n", "", ";")),
        (
            f"<f>NAME</n>[- KEY: VALUE{NL}];",
            {"opened": NL},
            ("</n>", "\n", "- ", ": ", "\n", "", ""),
        ),
        (
            f"call NAME</n>[<a=KEY=VALUE{NL}]{NL}",
            {"more": ", "},
            ("</n>", "", "<a=", "=", "\n", "", "\n"),
        ),
        (
            f"<f=NAME{NL}[{NL}KEY: VALUE;]",
            {"opened": "<p>", "closed": ")"},
            ("\n", "<p>", "\n", ": ", ";", ")", ""),
        ),
        (
            "<f=NAME;[<k>KEY=VALUE;]",
            {"closed": ")", "head": NOT_NONE},
            ("", "", ";<k>", "=", "", "", ";)"),
        ),
        ("<f=NAME>[<a>KEY</k>: VALUE</a>]", {}, (">", "", "<a>", "</k>: ", "</a>", "", "")),
    ],
)
def test_argument_borders_are_found(text, named, found):
    fmt = written_so(text, **named)
    made = fmt.arguments
    texts = (made.start, made.name_prefix, made.name_suffix, made.value_suffix, made.end)
    assert (fmt.function.name_suffix, *texts, fmt.function.close) == found
    assert made.separator == (named.get("more", ""))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("call NAME[- KEY>VALUE ]", {}),
        ("<f=NAME>[<a KEYVALUE>]</f>", {}),
        (f"<f=NAME;[KEY</k>{NL}<v>VALUE;]{NL}", {}),
        ("<f=NAME</n>[KEY</k><v>VALUE;]" + NL, {"opened": "<p>", "closed": NL}),
        ("<f=NAME>[KEY=VALUE]" + NL, {"more": "\\n", "opened": "<p>", "closed": "</p>"}),
    ],
)
def test_unended_last_argument_or_name_is_not_understood(text, named):
    fmt = written_so(text, **named)
    [issue] = fmt.issues
    assert "their syntax was not understood, '" in issue


def test_values_may_be_python_or_json_literals():
    for value, python in (("{{ v }}", True), (V, False)):
        assert (
            written_so("<f=NAME>[<a=KEY>VALUE</a>]</f>", value=value).arguments.python_literals
            is python
        )
        kinds = '<f=NAME>[<a type="' + KIND + '" name="KEY">VALUE</a>]</f>'
        assert written_so(kinds, value=value).arguments.python_literals is python


def test_type_before_a_name_requires_a_marker_after_it():
    made = analyzed(FOR + "<a " + KIND + " {{ k }}>" + V + "</a>" + END).arguments
    assert not made.type_first


def test_null_not_rendered_is_written_like_numbers():
    one = "{% if v is not none %}<a " + WORDS + " {{ k }}>" + V + "</a>{% endif %}"
    made = analyzed(FOR + one + END).arguments
    assert [types.split() for types in made.alternatives[::4]] == [["integer", "number", "null"]]


@pytest.mark.parametrize(
    ("prefix", "suffix", "listed"),
    [
        ("<", ">\n", f"<item>{VALUES[0]}</item>"),
        ("< ", ">", f"< item>{VALUES[0]}</item>"),
        ("<", " ", f"<item {VALUES[0]}</item>"),
        ("<", "", f"<item {VALUES[0]}</item>"),
    ],
)
def test_item_name_excludes_whitespace(prefix, suffix, listed):
    made = ArgumentsFormat(name_prefix=prefix, name_suffix=suffix, value_suffix=f"</{REPEATED}>")
    text = f"{prefix}{ARGUMENT}{suffix}{listed}</{ARGUMENT}>"
    assert with_elements(made, lambda *_: text).item == "item"


def test_item_name_is_one_word():
    made = ArgumentsFormat(name_prefix="\n<", name_suffix=">", value_suffix=f"</{REPEATED}>")
    for item, found in (("item", "item"), ("an item", "")):
        listed = f"<{ARGUMENT}><{item}>{VALUES[0]}</{item}></{ARGUMENT}>"
        assert with_elements(made, lambda *_, text=listed: text).item == found
    each = "{% for x in v %}<item>{{ x }}</item>{% endfor %}"
    listed = "{% if v is sequence and v is not string %}" + each + "{% else %}" + V + "{% endif %}"
    made = analyzed(FOR + "<{{ k }}>" + listed + "</{{ k }}>" + END).arguments
    assert (made.value_suffix, made.key_suffix, made.item) == ("</", ">", "item")


@pytest.mark.parametrize(
    "text",
    [
        "<a={{ k }}>{{ v }}{{ ']]' if '<' in v }}</a>",
        "<a={{ k }}{{ ' s' if '<' in v }}>{{ v }}{{ ']]' if '<' in v }}</a>",
    ],
)
def test_delimiter_on_one_side_of_markup_is_not_an_escape(text):
    one = "{% if v is string %}" + text + "{% else %}<a={{ k }}>{{ v | tojson }}</a>{% endif %}"
    made = analyzed(FOR + one + END).arguments
    assert (made.escape_start, made.escape_end) == ("", "")


@pytest.mark.parametrize(
    ("text", "number", "truth"),
    [
        (" s;", " n;", " n;"),
        (" s;", " n;", " b;"),
        (":s ", ":n ", ":n "),
        (":s ", ":n ", ":b "),
        (":s", ":n", ":n"),
        (":s;", ":n;", ":n;"),
        (":s;", ":n;", "!b;"),
        (":s;", ":n;", "b;"),
    ],
)
def test_text_before_values_without_markers_is_not_a_type(text, number, truth):
    kinds = f"{{{{ '{text}' if v is string else '{truth}' if v is boolean else '{number}' }}}}"
    fmt = analyzed(FOR + "<a>{{ k }}" + kinds + V + "</a>" + END)
    made = fmt.arguments
    assert (made.name_suffix, made.literal_name_suffix, made.type_suffix) == (text, number, "")
    assert fmt.verified is (number == truth)


def test_argument_end_excludes_whitespace_missing_at_call_end():
    all_calls = "{{ '<all>' if loop.first }}<f={{ c.function.name }}>"
    each = FOR + ONE + "{{ '\\n' if not loop.last }}" + END
    for closer in ("</all>", "\\n</all>"):
        end = "{{ '" + closer + "' if loop.last else ', ' }}"
        fmt = analyzed(each, name=all_calls, end=end)
        assert (fmt.arguments.value_suffix, fmt.arguments.separator) == ("</a>", "\n")
        assert fmt.tools.section_end == closer.replace("\\n", "\n")


def test_whitespace_after_values_is_not_in_the_escape_end():
    value = "{% if v is string and '<' in v %}[[{{ v }}]]</a>{% else %}" + V + "</a>"
    fmt = analyzed(FOR + "<a={{ k }}>" + value + "{{ '\\n' }}{% endif %}" + END)
    made = fmt.arguments
    assert fmt.verified
    assert (made.escape_start, made.escape_end, made.value_suffix) == ("[[", "]]", "</a>\n")


def test_name_after_whitespace_is_not_a_repeated_name():
    fmt = analyzed(FOR + "<a={{ k }}>" + V + " {{ k }}></a>" + END)
    assert (fmt.arguments.value_suffix, fmt.arguments.key_suffix) == (f" {ARGUMENT}></a>", "")


@pytest.mark.parametrize(
    ("one", "types"),
    [
        # Non-strings have another marker before the name.
        (
            "<{{ 's' if v is string else 'o' }} {{ k }}>" + V + "</a>",
            ["integer number boolean null array object"],
        ),
        # Strings have more delimiters than numbers, and other types have a third notation.
        (
            (
                "<a={{ k }}{% if v is string %}>[[{{ v }}]]"
                "{% elif v is number and v is not boolean %}>{{ v }}"
                "{% else %} o>{{ v | tojson }}{% endif %}</a>"
            ),
            ["integer number", "boolean null array object"],
        ),
        # Each type has a word before the name, and another text after it.
        (
            '<a type="' + KIND + '" name="{{ k }}"{{ ">" if v is string else "/" }}' + V + "</a>",
            ["integer number", "boolean null array object"],
        ),
    ],
)
def test_types_may_have_their_own_markers(one, types):
    made = analyzed(FOR + one + END).arguments
    assert [*made.alternatives[::4]] == types
    assert (made.type_first, made.escape_start) == (False, "")
