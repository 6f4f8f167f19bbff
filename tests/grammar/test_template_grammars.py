"""Tests of grammars of chat templates, our own and real ones, against their renderings."""

from __future__ import annotations

import os
import random
import re
from functools import cache

import pytest

from deltaparse import ChatTemplate, ReasoningMode, analyze, gbnf
from deltaparse.analyzer.phases.find_frame import find_frame
from deltaparse.analyzer.probes import USER
from deltaparse.analyzer.renderer import Renderer

from .. import corpus
from ..strategies.templates import SOURCES
from .machines import Gbnf, Lark, Sampler, Tag, xgrammar
from .reading_back import TOOLS, check_back, read

# Some templates cannot render every schema, and rendered tools are not tested here.
SHOWN = [
    {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}}
    for name in ("get_weather", "look_up")
    for schema in [
        {
            "type": "object",
            "properties": {"q": {"type": "string", "description": "d"}},
            "required": ["q"],
        }
    ]
]
WEATHER = {
    "location": 'Saint-Malo, <b>"intra muros"</b>\n\tünïcödé',
    "days": 7,
    "unit": "celsius",
    "hourly": True,
    "near": {"km": 1.5, "of": "it's"},
    "tags": ["a", "b c"],
}
GOOD = {
    "a call": [("get_weather", WEATHER)],
    "a short call": [("get_weather", {"location": "Paris"})],
    "two calls": [("get_weather", WEATHER), ("look_up", {"q": "x"})],
    "no arguments": [("look_up", {})],
}
BAD = {
    "wrong type": [("get_weather", WEATHER | {"days": "seven"})],
    "out of bounds": [("get_weather", WEATHER | {"days": 70})],
    "not in the enum": [("get_weather", WEATHER | {"unit": "kelvin"})],
    "wrong type inside": [("get_weather", WEATHER | {"near": {"km": "far"}})],
    "missing argument": [("get_weather", {"days": 7})],
    "unknown argument": [("get_weather", WEATHER | {"zone": "x"})],
    "unknown tool": [("get_wether", WEATHER)],
}


LEFT_OUT = {
    "calls_behind_the_end_of_a_turn",  # these tests remove the turn end
    # It renders calls only with content, and these tests omit content.
    "calls_beside_content_only",
    # Its strings exclude quotes, because the parser could not distinguish them from delimiters.
    "values_in_attributes",
    # Its values have no closing marker, so a grammar cannot be built.
    "values_that_nothing_ends",
}


EVERY = bool(os.environ.get("DELTAPARSE_EVERY_TEMPLATE"))


WITHOUT_PROVED_CALLS = {
    *("calls_described_to_the_system", "calls_in_spoilt_json"),
    *("calls_described", "calls_in_prose", "calls_not_shown", "content_wrapped_beside_reasoning"),
    *("content_begun_in_the_prompt", "reasoning_as_a_part_of_content", "reasoning_asked_for"),
    "reasoning_closed_by_its_name",
    "reasoning_opened_only",
    *("reasoning_ended_in_the_instructions", "reasoning_forced_closed", "reasoning_forced_open"),
    *("reasoning_switched_by_the_user", "reasoning_up_to_a_delimiter", "space_behind_the_header"),
    *("google-gemma-2-2b-it.jinja", "ibm-granite-granite-3.3-2B-Instruct.jinja"),
    *("HuggingFaceTB-SmolLM3-3B.jinja", "LFM2-8B-A1B.jinja", "LFM2.5-Instruct.jinja"),
    *("llama-cpp-rwkv-world.jinja", "microsoft-Phi-3.5-mini-instruct.jinja"),
    # Not proved:
    *("python_all_quoted", "python_without_escapes", "python_without_quotes"),
    *("Mistral-Small-3.2-24B-Instruct-2506.jinja", "mistralai-Mistral-Nemo-Instruct-2407.jinja"),
    *("mistralai-Ministral-3-14B-Reasoning-2512.jinja", "unsloth-Apriel-1.5.jinja"),
    *("unsloth-mistral-Devstral-Small-2507.jinja", "LFM2.5-8B-A1B.jinja"),
}
"""Templates without proved calls, listed so that test collection needs no analysis."""


@cache
def template_of(name):
    return ChatTemplate(SOURCES[name] if name in SOURCES else corpus.template(name))


def all_names():
    """Return all templates, with marks for the corpus."""
    paths = [*corpus.templates(), *(corpus.newer_templates() if EVERY else ())]
    real = [pytest.param(path.name, marks=corpus.needs_corpus) for path in paths]
    return [*map(pytest.param, SOURCES), *real]


def names():
    """Return the templates with proved calls."""
    return [each for each in all_names() if each.values[0] not in LEFT_OUT | WITHOUT_PROVED_CALLS]


@pytest.mark.parametrize("name", all_names())
def test_list_of_templates_without_proved_calls_is_current(name):
    fmt = analyze(template_of(name))
    assert (fmt.derived.has_calls and fmt.verified) is (name not in WITHOUT_PROVED_CALLS)


@cache
def frame_of(name):
    render = Renderer(template_of(name))
    return render, find_frame(render)


def rendered(name, calls):
    """Return the rendered turn with these calls, or None if it cannot be rendered."""
    render, frame = frame_of(name)
    fmt = analyze(template_of(name))
    made = [
        {
            "id": f"functions.{function}:{at}" if fmt.call_id.holds_name else f"abcd0000{at}",
            "type": "function",
            "function": {"name": function, "arguments": dict(values)},
        }
        for at, (function, values) in enumerate(calls)
    ]
    # Some templates render calls only without content.
    for content in ("", None):
        messages = [
            {"role": "user", "content": USER},
            {"role": "assistant", "content": content, "tool_calls": made},
        ]
        body = frame.body(render(messages, tools=SHOWN))
        if body is None or calls[0][0] in body:
            break
    for end in map(str.strip, (*fmt.turn.ends, *fmt.channels.ends)):
        body = body if body is None else before_end(fmt, body, end)
    section, end = fmt.tools.section_start.strip(), fmt.tools.section_end.strip()
    if section and body is not None and section in body and end not in body:
        # This template ends the section only after several calls.
        body += end
    start, end = fmt.content.start.strip(), fmt.content.end.strip()
    if start and body is not None and start in body and end not in body:
        body += end  # it is in the frame of every turn
    return body


def before_end(fmt, body, end):
    """Return the text before the turn end, if calls may begin with the end marker, too."""
    openers = [opener.strip() for opener in fmt.derived.openers if opener.strip()]
    at = body.find(end)
    while at >= 0 and any(body.startswith(opener, at) for opener in openers):
        at = body.find(end, at + 1)
    return body if at < 0 else body[:at]


def from_trigger(fmt, grammar, body):
    """Return the input of llama.cpp's lazy grammar: the text from the first trigger on."""
    has_end = fmt.reasoning.mode is not ReasoningMode.NONE and not fmt.channels.message
    if has_end and fmt.reasoning.end.strip() not in body:
        # The template drops reasoning from history.
        body = fmt.reasoning.end + body
    found = []
    for trigger in grammar.triggers:
        pattern = trigger.value if trigger.kind == "pattern" else f"({re.escape(trigger.value)})"
        match = re.search(pattern, body)
        found += [match.start(1)] if match else []
    assert found, body
    return body[min(found) :]


def engines(grammar):
    yield Lark(grammar.rules).accepts
    if xgrammar() is not None:
        yield Gbnf(grammar.rules).accepts


def fits(accepts, text):
    """Return True if a text fits, without trailing whitespace that may belong to the frame."""
    return any(accepts(one) for one in (text, text.rstrip(), text.rstrip() + "\n"))


@pytest.mark.parametrize("name", names())
def test_grammar_accepts_rendered_calls_but_not_broken_ones(name):
    fmt = analyze(template_of(name))
    grammar = gbnf(fmt, TOOLS)
    assert grammar.lazy
    assert grammar.not_expressed == ()
    for accepts_text in engines(grammar):
        for label, calls in GOOD.items():
            body = rendered(name, calls)
            if body is None or (len(calls) > 1 and "look_up" not in body):
                assert label == "two calls"
                continue
            text = from_trigger(fmt, grammar, body)
            assert fits(accepts_text, text), (label, text)
            assert not fits(accepts_text, text.rstrip()[:-1]), (label, text)
            assert not fits(accepts_text, text[: len(text) // 2]), (label, text)
        for label, calls in BAD.items():
            body = rendered(name, calls)
            text = from_trigger(fmt, grammar, body.replace("get_wether", "get_weather"))
            if label == "unknown tool":
                text = text.replace("get_weather", "get_wether")
            assert not fits(accepts_text, text), (label, text)


@pytest.mark.parametrize("name", names())
def test_template_grammar_samples_parse_back(name):
    fmt = analyze(template_of(name))
    for choice in ("auto", "required"):
        grammar = gbnf(fmt, TOOLS, tool_choice=choice)
        for seed in range(5):
            text = Sampler(grammar.rules).text(random.Random(seed))
            if choice == "auto" and fmt.reasoning.mode is not ReasoningMode.NONE:
                text = fmt.reasoning.end * opened(fmt) + text
            check_back(fmt, TOOLS, text)


@pytest.mark.parametrize("name", names())
def test_the_whole_turn_as_one_grammar(name):
    fmt = analyze(template_of(name))
    grammar = gbnf(fmt, TOOLS, lazy=False)
    assert not grammar.lazy
    assert grammar.triggers == ()
    for seed in range(4):
        text = Sampler(grammar.rules).text(random.Random(seed))
        message, issues = read(fmt, TOOLS, text, whole=True)
        assert issues == []
        assert all(call.complete for call in message.tool_calls)
    bodies = [rendered(name, GOOD["a call"]), rendered(name, GOOD["no arguments"])]
    engines = [Lark(grammar.rules), *([Tag(grammar.as_tag())] if xgrammar() else [])]
    for engine in engines:
        assert all(takes(engine.accepts, fmt, body) for body in bodies)
        wrong = bodies[0].replace("get_weather", "get_wether", 1)
        assert not takes(engine.accepts, fmt, wrong), wrong


def takes(accepts_text, fmt, body):
    """Return True if a grammar accepts a turn after a prompt that may open or close reasoning."""
    start, end = fmt.reasoning.start.strip(), fmt.reasoning.end.strip()
    ways = [body, end + body]
    ways += [body.partition(end)[2]] if end and end in body else []
    ways += [body.removeprefix(start)] if start and body.startswith(start) else []
    return any(fits(accepts_text, way) or fits(accepts_text, way.lstrip()) for way in ways)


def test_values_spelled_unlike_the_template_are_reported():
    fmt = analyze(template_of("elements_in_elements"))
    schemas = {
        "open": {"type": "object"},
        "any": {},
        "named": {"$ref": "#/$defs/n"},
        "few": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        "near": {"type": "object", "properties": {"of": {"type": "string"}}},
    }
    parameters = {"properties": schemas, "$defs": {"n": {"type": "array"}}}
    tools = [{"name": "f", "parameters": parameters}]
    grammar = gbnf(fmt, tools, tool_choice="required")
    said = {one.path.rpartition("/")[2] for one in grammar.not_expressed}
    assert said == {"open", "any", "named"}
    for seed in range(20):
        check_back(fmt, tools, Sampler(grammar.rules).text(random.Random(seed)))


def opened(fmt):
    """Return True if the prompt leaves reasoning open."""
    prompt, start = fmt.turn.generation_prompt, fmt.reasoning.start.strip()
    end = fmt.reasoning.end.strip()
    if not start:
        return True
    return start in prompt and end not in prompt
