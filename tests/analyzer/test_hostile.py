"""Tests of markers that are difficult for the analysis, the parser or the grammar.

Limits of time and memory are tested in `test_sandbox.py`, `test_instrumentation.py` and
`test_renderer.py`.
"""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from deltaparse import (
    ChatTemplate,
    TemplateError,
    TurnFormat,
    UsageError,
    WireFormat,
    analyze,
    gbnf,
)
from deltaparse.analyzer.template.budget import Limits

from ..strategies.call_patterns import FAMILIES, kinds, read
from ..stream.work import peak

TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]


def template(opening, closing, call, end):
    """Return a template with these markers around messages and calls."""
    before, after, start, stop = (f"{{{{ {text!r} }}}}" for text in (opening, closing, call, end))
    shown = "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}"
    return (
        f"{{% for m in messages %}}{before}{{{{ m.role }}}}:{{{{ m.content }}}}"
        f"{{% for c in m.tool_calls or [] %}}{start}{shown}{stop}{{% endfor %}}"
        f"{after}{{% endfor %}}{{% if add_generation_prompt %}}{before}assistant:{{% endif %}}"
    )


MARKERS = {
    "all the same": ("<",) * 4,
    "beginnings of one another": ("<a", "<ab", "<abc", "<abcd"),
    "ends of one another": ("abcd>", "bcd>", "cd>", "d>"),
    "one in the other": ("<a<b>>", "<b>", "<a<b", "b>>"),
    "NUL": ("\0", "\0\0", "\0\0\0", "\0\1"),
    "halves of pairs": ("\ud83d", "\ude00", "\ud83d\ude00", "\ude00\ud83d"),
    "JSON": ("{", "}", "{{", "}}"),
    "parts of a call": ('{"name": ', "}", '{"name": "', '"arguments"'),
    "quotes": ('"', "'", '"""', "'''"),
    "patterns": ("(.*)+", "[a-z]*", r"\d\Z", "$^"),
    "Jinja": ("{% raw %}", "{{", "{#", "#}"),
    "white space": (" ", "\n", "\t", "\r\n"),
    "nothing": ("",) * 4,
    "invisible": ("\u200b", "\u202e", "\ufeff", "\u2028"),
    "roles": ("assistant", "user", "assistantassistant", "tool"),
    "as long as may be": tuple(char * 254 for char in "<>[]"),
    "too long": tuple(char * 300 for char in "<>[]"),
}


@pytest.mark.parametrize("name", MARKERS)
def test_markers_that_make_trouble(name):
    """Check that the template has a format or an issue, and that its format is usable."""
    markers = MARKERS[name]
    fmt = analyze(template(*markers))
    assert fmt.verified or fmt.issues
    assert WireFormat.from_json(fmt.to_json()) == fmt
    if fmt.tools.supports_tools and fmt.tools.format != "NONE":
        with suppress(UsageError):
            assert gbnf(fmt, TOOLS).as_lark()
    call = '{"name": "f", "arguments": {"a": "w"}}'
    for text in (*(marker * 200 for marker in markers), "".join((*markers, call)) * 50):
        whole = read(fmt, text)
        for size in (1, 5):
            parser = read(fmt, text, size)
            assert (parser.message, parser.issues) == (whole.message, whole.issues)
        assert "internal_error" not in kinds(whole)


def test_a_format_with_a_thousand_ends():
    ends = tuple(f"<{'|' * (at % 50)}{at}>" for at in range(1000))
    fmt = WireFormat(turn=TurnFormat(ends=ends))
    for end in ends[::100]:
        assert read(fmt, f"Hi <|<{end}", 1).message.content == "Hi <|<"


ALLOCATES = {
    "a text": "{{ 'x' * 10 ** 9 }}",
    "a text that doubles": "{% set ns = namespace(s='a') %}{% for i in range(99) %}"
    "{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "output": "{% for i in range(99999) %}{{ 'x' * 4000 }}{% endfor %}",
    "a list": "{% set l = [] %}{% for i in range(99999) %}"
    "{% set _ = l.append('x' * 4000000) %}{% endfor %}",
    "lists of lists": "{% set ns = namespace(l=[0]) %}{% for i in range(99) %}"
    "{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l | tojson }}",
}


@pytest.mark.parametrize("name", ALLOCATES)
def test_a_template_takes_no_more_memory_than_it_may(name):
    made = ChatTemplate(ALLOCATES[name])

    def run():
        with pytest.raises(TemplateError):
            made.render([])

    # Most of the counted memory has been freed again. A character takes one to four bytes.
    assert peak(run) < Limits().memory / 4


NAMES = ["f", "f" * 300, "a b", "f\n", "<|end|>", 'f"', "f)", "\0", "f:1"]


def allowed(fmt, called):
    """Return True if a grammar can be built that allows a call of this function."""
    try:
        return bool(gbnf(fmt, [TOOLS[0] | {"name": called}]))
    except UsageError:
        return False


@pytest.mark.parametrize("name", FAMILIES)
def test_a_grammar_has_only_names_that_the_parser_reads(name):
    family = FAMILIES[name]
    in_json = family.format.tools.format == "JSON_NATIVE" and name != "methods"
    names = [called for called in NAMES if allowed(family.format, called)]
    assert "f" in names
    assert names == NAMES or not in_json
    for called in names:
        spelled = json.dumps(called)[1:-1] if in_json else called
        if name == "JSON in tags":
            spelled = f"functions.{spelled}:0"
        tools = [TOOLS[0] | {"name": called}]
        parser = read(family.format, family.write(n=spelled), tools=tools)
        assert [call.name for call in parser.message.tool_calls] == [called]
