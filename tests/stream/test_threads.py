"""Threads: each parser belongs to one, but shared data may be used by many at once."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from deltaparse import (
    ChatTemplate,
    StreamParser,
    ToolGate,
    UsageError,
    analyze,
    create_tool_parser,
    get_format,
    list_formats,
    parse,
    register_format,
    suggest_formats,
)
from deltaparse.partial import Pattern, PatternSearch, markers
from deltaparse.partial.patterns import pattern as patterns
from deltaparse.stream.reading.tool_calls import code_calls, python_head
from deltaparse.stream.wire import marker_tables
from deltaparse.stream.wire import tag_markers as tagged_markers
from deltaparse.stream.wire.named import registry

from ..strategies.call_patterns import FAMILIES, read

THREADS = 8
CACHES = (
    marker_tables._tables,
    markers._markers,
    tagged_markers.tagged_markers,
    code_calls._ends,
    python_head._patterns,
    patterns._pattern,
    registry._built_in,
)


@pytest.fixture(autouse=True)
def often():
    """Switch threads often, and start with empty caches."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for cache in CACHES:
        cache.cache_clear()
    for family in FAMILIES.values():
        family.format.derived.tables.clear()
    yield
    sys.setswitchinterval(before)


def at_once(*functions):
    """Run each function in its own thread at the same moment, and return the results."""
    start = Barrier(len(functions))

    def run(function):
        start.wait()
        return function()

    with ThreadPoolExecutor(len(functions)) as pool:
        return [future.result() for future in [pool.submit(run, one) for one in functions]]


@pytest.mark.parametrize("name", FAMILIES)
def test_parsers_in_threads_share_a_format(name):
    family = FAMILIES[name]
    texts = [family.write(n=f"f{at}", v=f'"{at}"') for at in range(2)]
    parsers = at_once(*(lambda text=text: read(family.format, text, 1) for text in texts * 2))
    for parser, text in zip(parsers, texts * 2, strict=True):
        alone = read(family.format, text, 1)
        assert (parser.message, parser.issues) == (alone.message, alone.issues)


def test_shared_data_is_built_by_many_threads_at_once():
    texts = [family.write(n="get_weather", v='"x"') for family in FAMILIES.values()]

    def messages():
        made = [create_tool_parser(name).wire_format for name in list(list_formats())[::3]]
        return [parse(text, fmt) for fmt in made for text in texts]

    found = at_once(*[messages] * THREADS)
    assert found == [messages()] * THREADS


def test_parsers_in_threads_use_different_formats():
    def messages(family):
        return [read(family.format, family.write(v=f"{at}"), 3).message for at in range(20)]

    families = list(FAMILIES.values())
    found = at_once(*(lambda family=family: messages(family) for family in families))
    assert found == [messages(family) for family in families]


def test_analyses_and_renderings_work_in_many_threads():
    source = (
        "{{% for m in messages %}}<{{{{ m.role }}}}>{{{{ m.content }}}}"
        "{{% for c in m.tool_calls or [] %}}<use{at}>"
        "{{{{ {{'name': c.function.name, 'arguments': c.function.arguments}} | tojson }}}}"
        "</use{at}>{{% endfor %}}</{{{{ m.role }}}}>{{% endfor %}}"
        "{{% if add_generation_prompt %}}<assistant>{{% endif %}}"
    )
    templates = [ChatTemplate(source.format(at=at)) for at in range(2)]
    for template, fmt in zip(
        templates * 2,
        at_once(*(lambda made=made: analyze(made) for made in templates * 2)),
        strict=True,
    ):
        assert fmt == analyze(template)
        assert fmt.verified
    messages = [{"role": "user", "content": "Hi"}]
    assert len(set(at_once(*[lambda: templates[0].render(messages)] * THREADS))) == 1


def test_gate_pattern_and_suggestions_work_in_many_threads():
    gate = ToolGate([{"name": "f", "parameters": {"additionalProperties": True}}])
    pattern = Pattern("<[a-z]+>")
    hermes = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'

    def all_three():
        decisions = [gate.decide(f'<tool name="f">{{"a": {at}}}</tool>') for at in range(5)]
        search = PatternSearch(pattern)
        chunks = [chunk for _ in range(50) for chunk in search.feed("a <b> <c")] + search.finish()
        return [decision.calls for decision in decisions], chunks, suggest_formats(hermes)

    found = at_once(*[all_three] * THREADS)
    assert found == [all_three()] * THREADS


def test_concurrent_registrations_are_all_kept():
    fmt = FAMILIES["JSON"].format
    for _ in range(20):
        registry.Registered.entries = None
        at_once(*(lambda at=at: register_format(f"mine{at}", fmt) for at in range(THREADS)))
        assert {f"mine{at}" for at in range(THREADS)} <= set(list_formats())


def test_lookups_work_during_registrations():
    fmt = FAMILIES["JSON"].format

    def register():
        for at in range(90):
            register_format(f"mine{at % 30}", fmt, aliases=[f"alias{at % 30}"], replace=True)

    def look():
        for _ in range(90):
            assert get_format("qwen") == get_format("qwen25")
            assert "hermes" in list_formats()
            with pytest.raises(UsageError):
                get_format("no such name")

    at_once(register, *[look] * 3)


def test_parser_may_move_between_threads():
    """Use one thread at a time, like the executor of an event loop."""
    family = FAMILIES["JSON"]
    text = family.write(v='"' + "x" * 50 + '"')
    parser = StreamParser(family.format)
    for char in text:
        at_once(lambda char=char: parser.feed(char))
    parser.finish("stop")
    assert parser.message == read(family.format, text).message
