"""Python literals and arguments as JSON at every cut, compared with Python's parser."""

from __future__ import annotations

import ast
import json
import warnings
from itertools import count

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from deltaparse.partial import MAX_DEPTH, MAX_TOKEN, Window
from deltaparse.partial.json_text import lexer as json_lexer
from deltaparse.partial.python_text import simple_tokens
from deltaparse.partial.python_text import strings as python_strings
from deltaparse.partial.python_text import to_json as python_json
from deltaparse.partial.python_text.to_json import PythonReading, python_arguments, python_value

from ...corpus import needs_corpus, rows
from ...support import ESCAPE, TOKEN, Driver, cuts, drive, is_json, three_ways

DONE = PythonReading("done")
LONG = "x" * MAX_TOKEN


def quietly(src, emit):
    return python_value(src, emit, lambda *_: None)


def arguments(src, emit):
    return python_arguments(src, emit, lambda *_: None)


def read(texts, reader=python_value, **options):
    """Return the end, the written text, the unread text, and the notes."""
    notes = []
    got = drive(lambda src, emit: reader(src, emit, lambda *n: notes.append(n), **options), texts)
    return got.result, "".join(got.emitted), got.unread, notes


def written(text, reader=python_value):
    """Return the text written for a complete text, at three informative chunkings."""
    result, json_text, unread, _ = read([text], reader)
    assert (result, unread) == (DONE, ""), text
    assert read(list(text), reader) == read([text], reader) == read([text[:-1], text[-1]], reader)
    return json_text


# Python's result, with pairs instead of dictionaries, because different keys may be equal in JSON.


def meaning(node):
    if isinstance(node, ast.List | ast.Tuple):
        return [meaning(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        keys = [json.loads(json.dumps({ast.literal_eval(key): 0})) for key in node.keys]
        return [[*key, meaning(item)] for key, item in zip(keys, node.values, strict=True)]
    value = ast.literal_eval(node)
    if isinstance(value, str):  # In JSON, a pair of surrogates equals the character.
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return value


def python(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of unknown escapes
        try:
            return repr(meaning(ast.parse(text, mode="eval").body))
        except SyntaxError:
            assume(False)


def python_of_json(text):
    def pairs(members):
        return [[key, value] for key, value in members]

    return repr(json.loads(text, object_pairs_hook=pairs))


SPACES = st.sampled_from(["", "", " ", "\n", "\t \f", " # it's [\n", "#\n#\n "])
INTEGERS = st.sampled_from(
    ["0", "00", "1", "1_000", "0x1F", "0o17", "0B1_0", "0xdead_beef", "9" * 40]
)
FLOATS = st.sampled_from(
    [".5", "1.", "1e5", "1_0.2_5E-3", "00.5", "01e2", "1.e+1_0", "0e0", "1e400"]
)
NUMBERS = st.builds(str.__add__, st.sampled_from(["", "-", "+"]), INTEGERS | FLOATS)
NAMES = st.sampled_from(["True", "False", "None"])
BITS = [
    "a",
    "é",
    "😀",
    "\u2028",
    "\x7f",
    "\t",
    "\x01",
    "#",
    "{",
    "\\n",
    "\\t",
    "\\\\",
    "\\'",
    '\\"',
]
BITS += [
    "\\a",
    "\\b",
    "\\f",
    "\\v",
    "\\r",
    "\\0",
    "\\101",
    "\\7",
    "\\777",
    "\\x41",
    "\\xe9",
    "\\x00",
]
BITS += ["\\u00e9", "\\ud83d", "\\ud83d\\ude00", "\\udE00", "\\U0001F600", "\\U0000d800"]
BITS += ["\\N{BULLET}", "\\N{latin small letter e with acute}", "\\\n", "\\d", "\\/", "\\ ", "8"]


@st.composite
def strings(draw):
    quotes = draw(st.sampled_from(["'", '"', "'''", '"""']))
    inner = ["'", '"', "\n", "''", '""'] if len(quotes) == 3 else ["'" if quotes == '"' else '"']
    body = "".join(draw(st.lists(st.sampled_from(BITS + inner), max_size=6)))
    assume(quotes not in body and not body.endswith(quotes[0]))
    return draw(st.sampled_from(["", "", "r", "R", "u", "U"])) + quotes + body + quotes


@st.composite
def joined(draw, spaces):
    parts = draw(st.lists(strings(), min_size=1, max_size=3))
    text = parts[0]
    for part in parts[1:]:
        text += draw(spaces) + part
    return text


@st.composite
def containers(draw, inner):
    def spaced(text):
        return draw(SPACES) + text + draw(SPACES)

    opens, closes = draw(st.sampled_from(["[]", "()", "{}"]))
    items = [spaced(draw(inner)) for _ in range(draw(st.integers(0, 3)))]
    if opens == "{":
        items = [spaced(draw(KEYS)) + ":" + item for item in items]
    comma = "," if items and draw(st.booleans()) else ""
    return opens + ",".join(items) + comma + draw(SPACES) + closes


KEYS = joined(SPACES) | NUMBERS | NAMES
SCALARS = NUMBERS | NAMES
NESTED = st.recursive(SCALARS | joined(SPACES), containers, max_leaves=8)
TEXTS = SCALARS | joined(st.sampled_from(["", " ", "\t"])) | containers(NESTED)
ODD = "'\"\\rub[]{}(),:=#\n -+10.exTrueNonefaislo_*xN{u\ud83d"
ANYTHING = st.text(ODD, max_size=24) | st.lists(
    st.sampled_from(["'", '"', "'''", "\\", "[", "(", "{", "]", ")", "}", ",", ":", " ", "1", "a"]),
    max_size=12,
).map("".join)


@given(TEXTS, st.data())
def test_json_has_the_value_of_the_literal(text, data):
    expected = python(text)
    result, json_text, unread, notes = read([text])

    assert (result, unread, notes) == (DONE, "", [])
    assert python_of_json(json_text) == expected
    assert read(data.draw(cuts(text))) == read(list(text)) == read([text])


NAMES = ["a", "_b", "é", "e\u0301", "c2", "नाम", "ชื่อ", "城市"]
"""Marks stand among the letters of some."""


@given(st.lists(st.tuples(st.sampled_from(NAMES), NESTED, SPACES), max_size=3))
def test_arguments_have_the_values_of_the_literals(items):
    text = ", ".join(f"{space}{name} = {value}{space}" for name, value, space in items) + ")"
    expected = python("[" + ",".join(f"[{name!r}, {value}]" for name, value, _ in items) + "]")

    assert python_of_json(written(text, python_arguments)) == expected


@given(st.text(st.sampled_from("aé1_²\u0301\u0300\u093eनั्·，!\xa0"), min_size=1, max_size=4))
def test_argument_names_are_python_identifiers(name):
    (result, json_text, _, _), (again, *_) = (
        read(parts, python_arguments) for parts in ([f"{name}=1)"], list(f"{name}=1)"))
    )
    assert result == again
    if name.isidentifier():
        assert (result, json_text) == (DONE, json.dumps({name: 1}, ensure_ascii=False))
    else:  # "²" is not a name in Python, but it is harmless.
        assert result.problem == "a name is missing" or "²" in name


@given(NESTED)
def test_the_spelling_is_that_of_json_dumps(text):
    python(text)
    number = count()
    json_text = TOKEN.sub(
        lambda token: f'"{next(number)}"' if token[0][0] == '"' else "0", written(f"[{text}]")
    )

    assert json_text == json.dumps(json.loads(json_text))


@given(TEXTS)
def test_prefixes_are_kept_and_closers_complete_them(text):
    python(text)
    whole = written(text)
    within = set()
    for token in TOKEN.finditer(whole):
        spans = ESCAPE.finditer(whole, *token.span()) if token[0][0] == '"' else [token]
        within |= {place for span in spans for place in range(span.start() + 1, span.end())}
    driver = Driver(quietly)
    for cut in range(len(text)):
        assert whole.startswith(driver.text)
        assert len(driver.text) not in within
        result, json_text, _, _ = read([text[:cut]])
        assert result.state in ("cut", "done")
        if result.state == "cut":
            assert json_text == driver.text
            assert is_json(json_text + result.closers) or not result.closers
        driver.feed(text[cut])


@given(ANYTHING, st.sampled_from(["", "[", "(", "{'a': ", "('", "[r"]), st.data())
@example("\\ud83", "('", None)
def test_any_text_is_read_the_same_at_every_cut(text, start, data):
    text = start + text
    for reader in (python_value, python_arguments):
        result, json_text, unread, notes = read([text], reader)
        assert read(list(text), reader) == (result, json_text, unread, notes)
        if data:
            assert read(data.draw(cuts(text)), reader) == (result, json_text, unread, notes)
        assert text.endswith(unread)
        json_text.encode()
        if result.state == "done":
            assert is_json(json_text)
        elif result.closers:
            assert is_json(json_text + result.closers)
        if result.state == "broken":
            assert result.problem
            assert unread
            before = read([text[: len(text) - len(unread)]], reader)
            assert before[0].state == "cut"
            assert json_text.startswith(before[1])


STRINGS = [
    # quotes
    ("'it\"s'", '"it\\"s"'),
    ('"it\'s"', '"it\'s"'),
    ("''", '""'),
    ("''''''", '""'),
    ("'''a'b''c\"'''", "\"a'b''c\\\"\""),
    ('"""a"b""c\'"""', '"a\\"b\\"\\"c\'"'),
    ("'''a\nb'''", '"a\\nb"'),
    ("'tab\there'", '"tab\\there"'),
    ("'a\\'b'", '"a\'b"'),
    # prefixes
    (r"r'\d\n\''", r'''"\\d\\n\\'"'''),
    (r'R"\"\\"', r'"\\\"\\\\"'),
    ("r'a\\\nb'", '"a\\\\\\nb"'),
    ("u'a'", '"a"'),
    # escapes
    (r"'\n\t\\\"\b\f\r'", r'"\n\t\\\"\b\f\r"'),
    (r"'\'\a\v\0'", r'''"'\u0007\u000b\u0000"'''),
    (r"'\101\7\18\400'", '"A\\u0007\\u00018Ā"'),
    (r"'\x41\xe9\x0a'", '"Aé\\n"'),
    (r"'\u00e9\U0001f600'", '"\\u00e9😀"'),
    (r"'\ud83d\ude00\U0000d83d'", r'"\ud83d\ude00\ud83d"'),
    ("'\ud83d'", r'"\ud83d"'),
    (r"'\N{BULLET}\N{greek small letter alpha}'", '"•α"'),
    ("'a\\\nb\\\r\nc\\\rd'", '"abcd"'),
    (r"'\d\/\ \('", r'"\\d\\/\\ \\("'),
    # joined
    ("'a' \"b\"\t'''c'''", '"abc"'),
    ("['a'\n  'b' # x\n r'\\c']", '["ab\\\\c"]'),
    ("''''''''", '""'),
    ("{'a' 'b': 'c'}", '{"ab": "c"}'),
    ("('a'\n 'b')", '"ab"'),
]


@pytest.mark.parametrize(("text", "json_text"), STRINGS)
def test_strings(text, json_text):
    assert written(text) == json_text
    assert is_json(json_text)
    assert read([text])[3] == []


NUMBERS_AND_NAMES = {
    "1": "1", "-1": "-1", "+1": "1", "00": "0", "-0": "-0", "1_000": "1000", "0x1f": "31",
    "-0X_1F": "-31", "0o17": "15", "0b1_1": "3", ".5": "0.5", "1.": "1.0", "-.5e3": "-0.5e3",
    "1e5": "1e5", "1.50": "1.50", "1E+5": "1E+5", "1_0.0_1": "10.01", "007.5": "7.5", "01e1": "1e1",
    "True": "true", "False": "false", "None": "null", "true": "true", "false": "false",
    "null": "null", "123456789012345678901234567890": "123456789012345678901234567890",
}  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS_AND_NAMES)
def test_numbers_and_names(text):
    json_text = NUMBERS_AND_NAMES[text]
    assert written(text) == json_text
    assert written(f"[{text}]") == f"[{json_text}]"
    assert written(f"({text})") == json_text
    assert read([text + " and more"])[:3] == (DONE, json_text, " and more")


KEYS_OF_DICTIONARIES = {
    "1": "1", "+1": "1", "-0": "0", "00": "0", "1.50": "1.5", "1e5": "100000.0", "0x10": "16",
    ".5": "0.5", "1e400": "Infinity", "True": "true", "None": "null", "false": "false",
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS_OF_DICTIONARIES)
def test_keys_are_those_of_json_dumps(key):
    expected = f'{{"a": 0, "{KEYS_OF_DICTIONARIES[key]}": 1}}'
    assert written(f"{{'a': 0, {key} \n: 1}}") == expected


CONTAINERS = [
    ("[ ]", "[]"),
    ("{ # empty\n}", "{}"),
    ("()", "[]"),
    ("[1,2 , 3,]", "[1, 2, 3]"),
    ("{'a':1,'b':[ ],}", '{"a": 1, "b": []}'),
    ("(1,)", "[1]"),
    ("(1, 'a')", '[1, "a"]'),
    ("((1))", "1"),
    ("((1), 2)", "[1, 2]"),
    ("((1, 2), 3)", "[[1, 2], 3]"),
    ("(((),),)", "[[[]]]"),
    ("[0, ({'a': (1)}), ([],)]", '[0, {"a": 1}, [[]]]'),
    ("{'a': 1, 'a': 2}", '{"a": 1, "a": 2}'),
]


@pytest.mark.parametrize(("text", "json_text"), CONTAINERS)
def test_containers(text, json_text):
    assert written(text) == json_text


ARGUMENTS = [
    (")", "{}"),
    (" # none\n )", "{}"),
    ("a=1)", '{"a": 1}'),
    ('a="b", c=[1, True, None])', '{"a": "b", "c": [1, true, null]}'),
    ("a = 'b' 'c' ,\n b=(1,) , )", '{"a": "bc", "b": [1]}'),
    ("é=1, _x2=2, user-id=3, a.b=4)", '{"é": 1, "_x2": 2, "user-id": 3, "a.b": 4}'),
    ("a=1, a=2)", '{"a": 1, "a": 2}'),
    ("a={'b': {1: 2}})", '{"a": {"b": {"1": 2}}}'),
]


@pytest.mark.parametrize(("text", "json_text"), ARGUMENTS)
def test_arguments(text, json_text):
    assert written(text, python_arguments) == json_text


def test_prompt_text_is_emitted_with_emits_prompt():
    text = "a=[1, 'b'], c=(2, 3), d='e' 'f')"
    src, emitted = Window(text, -len(text)), []
    src.emits_prompt = True
    with pytest.raises(StopIteration) as done:
        next(arguments(src, emitted.append))
    assert done.value.value == DONE
    assert "".join(emitted) == '{"a": [1, "b"], "c": [2, 3], "d": "ef"}'


@pytest.mark.parametrize(
    ("text", "held"),
    [("[(", ""), ("[('a' 'b", '"ab'), ("(1 ", "1"), ("[1, (['a', 'b'", ', ["a", "b')],
)
def test_held_has_the_text_of_a_possible_tuple(text, held):
    result = read([text])[0]
    assert (result.state, result.held) == ("cut", held)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1 2]", "'2' after a value"),
        ("a", "'a' is not a value"),
        ("{'a' 1", "'1' after a key"),
        ("{a: 1}", "a key must be a string or a number"),
        (f"('{LONG}', 1)", "',' after so long a parenthesis"),
        (f"(['{LONG}'])", "')' after so long a parenthesis"),
    ],
)
def test_problem_names_the_error(text, problem):
    assert read([text + " "])[0].problem == problem


def test_another_closer():
    assert read(["a=(1)]x"], python_arguments, closer="]")[:3] == (DONE, '{"a": 1}', "x")


# The written text, "ˇ", the unread text.
BROKEN = {
    "": [
        "ˇb'a'",
        "ˇf'a'",
        "ˇRb'a'",
        "ˇfoo(",
        "ˇ1+2 ",
        "ˇ1j ",
        "ˇ01 ",
        "ˇ1__0 ",
        "ˇ1_ ",
        "ˇ0x ",
        "ˇ. ",
    ],
    "[": [
        "[ˇ,]",
        "[ˇfoo]",
        "[ˇ*a]",
        "[ˇTrue.x]",
        "[ˇ-True]",
        "[ˇ)",
        "[ˇ=",
        "[ˇ\\",
        "[ˇ- 1]",
        "[ˇ1١]",
    ],
    "[1": ["[1 ˇfor x]", "[1ˇ)", "[1 ˇ+ 2]", "[1ˇ:", "[1 ˇ'a']", "[1,ˇ,]", "[1, ˇ%"],
    '["a"': ["['a' ˇ+ 'b']", "['a'ˇ.x]", "['a' ˇb'c']", "['a'ˇ: 1]", "['a' ˇif x]", "['a'ˇrb'']"],
    "{": ["{ˇ1, 2}", "{ˇ**a}", "{ˇ(1, 2): 3}", "{ˇa: 1}", "{ˇb'': 1}", "{ˇNaN: 1}", "{ˇ,}", "{ˇ]"],
    '{"a"': ["{'a'ˇ, 'b'}", "{'a'ˇ}", "{'a' ˇ= 1}"],
    '{"a": ': ["{'a': ˇ}", "{'a':ˇ, 'b': 1}", "{'a': ˇ**b}"],
    '{"a": 1': ["{'a': 1 ˇ]", "{'a': 1ˇ:", "{'a': 1, ˇ1.x: 2}"],
}
BROKEN[""] += ["(ˇ,)", "(1 ˇfor", "(1ˇ]", "ˇfloat(1) ", "ˇfloat('inf ", "ˇ]", "ˇ- 1", "ˇfloat() "]


@pytest.mark.parametrize(("json_text", "text"), [(j, text) for j in BROKEN for text in BROKEN[j]])
def test_invalid_text_stays_unread(json_text, text):
    start, unread = text.split("ˇ")
    for chunks in ([start + unread], list(start + unread)):
        result, got, rest, _ = read(chunks)
        assert (result.state, got, rest) == ("broken", json_text, unread)
        assert result.problem


@pytest.mark.parametrize(
    "text",
    [
        "ˇ'a')",
        "ˇx)",
        "ˇ[1])",
        "ˇ**{'a': 1})",
        "ˇ*a)",
        "ˇ1=2)",
        "ˇa b=1)",
        "ˇ'a'=1)",
        "ˇa: 1)",
        "ˇ=1)",
    ],
)
def test_arguments_have_names(text):
    start, unread = text.split("ˇ")
    for chunks in ([start + unread], list(start + unread)):
        result, got, rest, _ = read(chunks, python_arguments)
        assert (result.state, got, rest) == ("broken", "{", unread)
        assert result.closers == "}"


NOTED = [
    ("['a\nb\r\nc']", '["a\\nb\\r\\nc"]', ["control_characters"] * 3),
    (r"'C:\users\x4\N\U00110000'", r'"C:\\users\\x4\\N\\U00110000"', ["invalid_escapes"] * 4),
    (r"'\N{NO SUCH NAME}\N{}\Uffffffff'", None, ["invalid_escapes"] * 3),
    (r"'\N{KEYCAP DIGIT ONE}'", None, ["invalid_escapes"]),
    ("[inf, -inf, nan, NaN, -Infinity]", "[null, null, null, null, null]", ["non_finite"] * 5),
    ("[float('inf'), float(\"-Infinity\")]", "[null, null]", ["non_finite"] * 2),
    ("float('nan')", "null", ["non_finite"]),
]


@pytest.mark.parametrize(("text", "json_text", "names"), NOTED)
def test_repairs_are_noted(text, json_text, names):
    result, got, _, notes = read([text])
    assert result == DONE
    assert [name for name, _ in notes] == names
    assert got == json_text or (json_text is None and json.loads(got) == text[1:-1])
    assert all(text[offset] in "\n\r\\in-Nf" for _, offset in notes)
    assert read(list(text)) == read([text])


# The text written before a truncation there, and its closers.
CUT = [
    ("", "", ""), ("'", '"', '"'), ("'a\\", '"a', '"'), ("'''a''", '"a', '"'),
    ("'\\N{BULL", '"', '"'), ("[", "[", "]"), ("[1", "[", "]"), ("[1 ", "[1", "]"),
    ("[1,", "[1", "]"), ("[Tru", "[", "]"), ("['a'", '["a', '"]'), ("['a' r", '["a', '"]'),
    ("['a' #", '["a', '"]'), ("[1, '", '[1, "', '"]'), ("{", "{", "}"), ("{1", "{", "}"),
    ("{'a", '{"a', ""), ("{'a'", '{"a', ""), ("{'a':", '{"a": ', ""), ("{'a': '", '{"a": "', '"}'),
    ("{'a': [", '{"a": [', "]}"), ("{'a': [],", '{"a": []', "}"),
    ("{'a': [], '", '{"a": [], "', ""), ("{'a': 1", '{"a": ', ""),
    ("[[{'a': {", '[[{"a": {', "}}]]"), ("(", "", ""), ("('a", "", ""), ("[(1", "[", "]"),
    ("[1, ('a'", "[1", "]"), ("[1, ((2, 3)", "[1", "]"), ("(1, (", "[1", "]"),
    ("{'a': (1", '{"a": ', ""), ("(1, {'a': ('b'", '[1, {"a": ', ""), ("(1, 'b", '[1, "b', '"]'),
    ("r", "", ""), ("-", "", ""), ("foo", "", ""), ("float('in", "", ""), ("0x", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "json_text", "closers"), CUT)
def test_the_closers_where_the_input_is_cut(text, json_text, closers):
    for chunks in ([text], list(text)):
        assert read(chunks)[:2] == (PythonReading("cut", "", closers), json_text)


@pytest.mark.parametrize(
    ("text", "json_text", "closers"),
    [
        ("", "{", "}"),
        ("a", "{", "}"),
        ("a=", '{"a": ', ""),
        ("a='b", '{"a": "b', '"}'),
        ("a=[1,", '{"a": [1', "]}"),
        ("a=1 , b", '{"a": 1', "}"),
    ],
)
def test_the_closers_where_arguments_are_cut(text, json_text, closers):
    result, got, _, _ = read([text], python_arguments)
    assert (result, got) == (PythonReading("cut", "", closers), json_text)


@pytest.mark.parametrize(
    ("text", "json_text"),
    [
        ("'", '"'),
        ("'a", '"a'),
        ("'a'", '"a'),
        ("['a' ", '["a'),
        ("['a' ]", '["a"]'),
        ("[1,", "[1"),
        ("[1, '", '[1, "'),
        ("{'a':", '{"a": '),
        ("{1:", '{"1": '),
        ("[1]", "[1]"),
        ("('a'", ""),
        ("('a',", '["a"'),
        ("[('a')", '["a"'),
    ],
)
def test_certain_text_is_written_immediately(text, json_text):
    for chunks in ([text], list(text)):
        driver = Driver(quietly)
        driver.feed(*chunks)
        assert driver.text == json_text


def test_three_ways():
    three_ways(
        quietly,
        "{'a': [1, ('b' \"c\"), r'\\d', None]}",
        (DONE, '{"a": [1, "bc", "\\\\d", null]}', ""),
    )
    three_ways(quietly, "[]", (DONE, "[]", ""), then="[")
    three_ways(quietly, "'a'", (DONE, '"a"', ""), at_end=True)
    three_ways(quietly, "'a' ,", (DONE, '"a"', " ,"), then="'b'")
    three_ways(quietly, "'a'\n", (DONE, '"a"', "\n"), then="'b'")
    three_ways(arguments, "a='b',)", (DONE, '{"a": "b"}', ""))


@pytest.mark.parametrize("size", [1, 1000, 100_000])
@pytest.mark.parametrize("excess", [0, 1])
def test_a_parenthesis_is_held_only_so_long(size, excess):
    body = LONG[: MAX_TOKEN - 2 + excess]  # and its quotes

    def outcome(text):
        result, json_text, unread, _ = read(
            [text[at : at + size] for at in range(0, len(text), size)]
        )
        return result.state, json_text, unread

    assert outcome(f"('{body}')") == ("done", f'"{body}"', "")
    assert outcome(f"[('{body}', 1)]") == (
        ("broken", f'["{body}"', ", 1)]") if excess else ("done", f'[["{body}", 1]]', "")
    )
    assert outcome(f"(('{body[1:-1]}', 1), 2)") == ("done", f'[["{body[1:-1]}", 1], 2]', "")
    held = body[: MAX_TOKEN - 4 + excess]
    assert outcome(f"(['{held}'],)") == ("done", f'[["{held}"]]', "")
    assert outcome(f"(['{held}'])") == (
        ("broken", f'[["{held}"]', ")") if excess else ("done", f'["{held}"]', "")
    )


def test_the_closers_where_a_long_parenthesis_was_taken_for_something():
    assert read([f"(('{LONG}"])[0].closers == '"'
    assert read([f"[([(('{LONG}"])[0].closers == '"]]]'
    result, json_text, unread, _ = read([f"[(([('{LONG}')]), 1)]"])
    assert (result.state, unread) == ("broken", "), 1)]")
    assert is_json(json_text + result.closers)


@pytest.mark.parametrize("limit", [None, 1, 3])
@pytest.mark.parametrize("opener", ["[", "(", "{'a':"])
def test_the_depth_limit_is_exact(limit, opener):
    options = {"max_depth": limit} if limit else {}
    deepest = opener * (limit or MAX_DEPTH)

    assert read([deepest], **options)[0].state == "cut"
    result, _, unread, _ = read(["[" + deepest + opener * 5000], **options)
    assert result.state == "broken"
    assert unread == opener * 5001


def test_the_object_of_the_arguments_counts_for_the_depth():
    assert read(["a=[1])"], python_arguments, max_depth=2)[0] == DONE
    assert read(["a=[1])"], python_arguments, max_depth=1)[2] == "[1])"


@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize("excess", [0, 1])
@pytest.mark.parametrize("text", ["[{}]", "{{{}: 1}}", "{{{} : 1}}"])
def test_the_length_of_a_word_is_limited(text, size, excess):
    word = "1" * (MAX_TOKEN + excess - (" :" in text))
    text = text.format(word)
    result, json_text, unread, _ = read([text[at : at + size] for at in range(0, len(text), size)])

    assert result.state == ("broken" if excess else "done")
    assert json_text == (text[0] if excess else json_text)
    assert unread == (text[1:] if excess else "")


@pytest.mark.parametrize(("digits", "state"), [(3400, "done"), (4000, "broken")])
def test_the_length_of_a_number_is_limited_in_json_too(digits, state):
    result, json_text, _, _ = read([f"[0x{'f' * digits}]"])

    assert (result.state, len(json_text) <= MAX_TOKEN + 2) == (state, True)
    assert len(result.problem) < 100


@pytest.mark.parametrize("excess", [0, 1])
def test_joined_strings_have_a_limited_gap(excess):
    text = "'a'" + " " * (MAX_TOKEN + excess) + "'b'"
    expected = (DONE, '"a"', text[3:], []) if excess else (DONE, '"ab"', "", [])

    assert read(list(text)) == read([text]) == expected


def test_strings_pass_by_a_waiting_reader():
    driver = Driver(arguments)
    driver.feed("a='", "plain", "", ' text"', " more", "'", ")")

    assert driver.text == '{"a": "plain text\\" more"}'
    assert driver.resumes == 4
    for text in ("('", "'''", "r'", '["'):
        driver = Driver(quietly)
        driver.feed(text, "aa", *["plain"] * 1000)
        assert driver.resumes <= 2


def test_comments_are_not_kept():
    sizes = []

    def steps(src, emit):
        for _ in python_value(src, emit, lambda *_: None):
            sizes.append(len(src.unread))
            yield

    drive(steps, ["[1 #", *["x" * 10] * 1000, "\n]"])
    assert max(sizes) == 0


PATTERNS = [
    "{},",
    "'plain',",
    "'a' 'b'\n,",
    r"'\u00e9\\\x41\'',",
    "True,",
    "-1.5e6,",
    "(1,),",
    "# x\n1,",
]


@pytest.mark.parametrize("length", [1000, 4000])
@pytest.mark.parametrize(
    "pattern", [*PATTERNS, "'''\"''\n''',", "r'\\d',", "{'a': 1, 2: 3},", "((('a'))),"]
)
def test_no_character_is_read_more_often_than_it_can_be_held(pattern, length, monkeypatch):
    end_of, seen, matched = json_lexer.match_end, [], []

    def counting(found, text, pos):
        end = end_of(found, text, pos)
        seen.append(len(text) - pos)
        matched.append(end - pos)
        return end

    def counted(match):
        def counting_match(text, pos):
            found = match(text, pos)
            seen.append(len(text) - pos)
            matched.append(found.end() - pos)
            return found

        return counting_match

    for module in (python_json, python_strings):
        monkeypatch.setattr(module, "match_end", counting)
    places = {by: counted(match) for by, match in simple_tokens.PLACES.items()}
    rest = {
        by: {quote: counted(match) for quote, match in rests.items()}
        for by, rests in simple_tokens.REST.items()
    }
    monkeypatch.setattr(simple_tokens, "PLACES", places)
    monkeypatch.setattr(simple_tokens, "REST", rest)
    text = ("[" + pattern * length)[:length]
    drive(quietly, list(text))
    assert 0 < sum(seen) <= 8 * length
    matched.clear()
    drive(quietly, [text])
    assert sum(matched) <= 2 * length


def test_prompt_text_is_not_emitted():
    def texts(text, cut):
        got = drive(quietly, [text[:cut], text[cut:]], prompt=cut)
        return "".join(got.emitted)

    assert texts("['a', 'bc']", 8) == 'c"]'
    assert texts("[1, 2]", 1) == "1, 2]"
    assert texts("[\"a\", 'b']", 5) == ', "b"]'
    assert drive(quietly, ["('a' ", ")"], prompt=5).emitted == []
    assert drive(quietly, ["(1 ", ")"], prompt=3).emitted == []
    got = drive(arguments, ["a=1, b", "='c')"], prompt=6)
    assert "".join(got.emitted) == ', "b": "c"}'
    assert "".join(drive(arguments, ["a", "=1)"], prompt=1).emitted) == '"a": 1}'


@needs_corpus
def test_the_cases_of_llama_cpp():
    cases = [
        row
        for row in rows("json/llamacpp_peg_json_python.jsonl")
        if row["grammar"] == "python_value"
    ]
    assert len(cases) == 7
    for row in cases:
        for chunks in ([row["input"]], list(row["input"])):
            result, json_text, unread, _ = read(chunks)
            if row["expected"] == ["success"]:
                assert (result, unread) == (DONE, "")
                assert python_of_json(json_text) == python(row["input"])
            else:
                assert (result.state, row["expected"]) == ("cut", ["need_more_input"])
