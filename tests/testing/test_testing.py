"""The testing kit: strategies draw valid turns, and checks detect faults."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st

import deltaparse
from deltaparse import (
    ContentDelta,
    StreamParser,
    UsageError,
    gbnf,
    get_format,
    list_formats,
    parse,
)
from deltaparse.analyzer import analysis
from deltaparse.testing import (
    check_invariants,
    check_template,
    chunkings,
    messages,
    outputs,
    texts_of,
)
from deltaparse.testing.invariants import check_calls

from ..strategies.templates import SOURCES
from ..strategies.wire_families import any_text

SCHEMAS = {
    "look_up": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1},
            "units": {"enum": ["C", "F"]},
            "among": {"type": "array", "items": {"type": "number"}, "maxItems": 2},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
    "stop": {"type": "object", "properties": {}, "additionalProperties": False},
}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": schema}}
    for name, schema in SCHEMAS.items()
]
formats = st.sampled_from(sorted(list_formats())).map(get_format)
HERMES = get_format("hermes")
CALL = '<tool_call>\n{"name": "stop", "arguments": {"n": [1, "two"]}}\n</tool_call>'


def first(drawn, wanted):
    """Return the first matching example, without slow shrinking."""
    return find(drawn, wanted, settings=settings(phases=[Phase.generate], max_examples=2_000))


def check_fits(call):
    jsonschema.validate(json.loads(call.arguments), SCHEMAS[call.name])


@given(st.data(), st.text("ab<|>\n é😀", max_size=12))
def test_chunks_join_to_the_text(data, text):
    assert "".join(data.draw(chunkings(text))) == text
    assert b"".join(data.draw(chunkings(text.encode()))) == text.encode()


@pytest.mark.parametrize(
    "wanted", [["<a>bc", "</a>"], list("<a>bc</a>"), ["<a>bc</a>"], ["<a>", "bc<", "/a>"]]
)
def test_cuts_are_drawn_where_something_begins_and_anywhere(wanted):
    assert first(chunkings("<a>bc</a>"), lambda chunks: [*filter(None, chunks)] == wanted)


@given(messages(TOOLS))
def test_messages_have_calls_that_fit_their_tools(message):
    assert message.parts
    for call in message.tool_calls:
        check_fits(call)


@pytest.mark.parametrize(
    "wanted",
    [
        lambda message: message.reasoning_content and not message.content,
        lambda message: message.content and not message.tool_calls,
        lambda message: len(message.tool_calls) == 2 and message.content,
        lambda message: {"days", "units"} <= {k for c in message.tool_calls for k in c.healed()},
    ],
)
def test_messages_have_all_that_a_turn_can_have(wanted):
    assert first(messages(TOOLS), wanted)
    assert not first(messages(), lambda message: True).tool_calls


@given(data=st.data(), fmt=formats)
def test_outputs_are_as_a_model_writes_them(data, fmt):
    text = data.draw(outputs(fmt, TOOLS))
    message = check_invariants(fmt, text, TOOLS, chunkings=[data.draw(chunkings(text))])
    for call in message.tool_calls:
        assert call.complete
        check_fits(call)


@given(data=st.data(), fmt=formats)
def test_outputs_with_faults_keep_the_invariants_too(data, fmt):
    text = data.draw(outputs(fmt, TOOLS, faults=True))
    reason = data.draw(st.sampled_from(["stop", "length", None]))
    check_invariants(fmt, text, TOOLS, finish_reason=reason)


def test_another_pair_of_markers_is_no_content():
    text = "Here's my thought process:\nHere's my response:"
    assert check_invariants("granite32", text).parts == []


@given(case=any_text)
def test_texts_of_every_family_keep_the_invariants(case):
    check_invariants(*case)


def test_outputs_have_calls_reasoning_and_faults():
    def has(**wanted):
        def made(text):
            message = parse(text, "qwen3", tools=TOOLS, finish_reason="stop")
            found = {"calls": len(message.tool_calls), "thought": message.reasoning_content != ""}
            return all(found[name] == value for name, value in wanted.items())

        return made

    drawn = outputs("qwen3", TOOLS)
    assert first(drawn, has(calls=2, thought=True))
    assert first(drawn, has(calls=0, thought=False)) != ""
    assert "<tool_call>" not in first(outputs("qwen3", []), has(calls=0))
    truncated = first(
        outputs("qwen3", TOOLS, faults=True),
        lambda text: any(not call.complete for call in parse(text, "qwen3").tool_calls),
    )
    assert "<tool_call>" in truncated


def test_without_tools_functions_are_made_up():
    found = first(outputs("hermes"), lambda text: parse(text, "hermes").tool_calls != [])
    assert parse(found, "hermes").tool_calls[0].complete


@given(data=st.data(), opened=st.booleans())
def test_outputs_continue_their_prompt(data, opened):
    fmt = get_format("qwen3")
    prompt = "<|im_start|>assistant\n<think>\n" + ("" if opened else "\n</think>\n\n")
    text = data.draw(outputs(fmt, TOOLS, prompt=prompt))
    message = check_invariants(fmt, text, TOOLS, prompt=prompt)
    assume(opened)
    assert "</think>" in text
    assert "</think>" not in message.content


def loses_content(deltas, text):
    """Of chunks that are longer than a character."""
    return [delta for delta in deltas if len(text) == 1 or not isinstance(delta, ContentDelta)]


def changes_content(deltas, text):
    """Of single characters."""
    loud = [isinstance(delta, ContentDelta) and len(text) == 1 for delta in deltas]
    return [ContentDelta("!") if one else delta for one, delta in zip(loud, deltas, strict=True)]


@pytest.mark.parametrize("fault", [loses_content, changes_content])
def test_deltas_that_are_not_the_message_are_found(fault, monkeypatch):
    feed = StreamParser.feed
    faulty = lambda parser, text: fault(feed(parser, text), text)  # noqa: E731
    monkeypatch.setattr(StreamParser, "feed", faulty)
    with pytest.raises(AssertionError, match=r"^1: "):
        check_invariants(HERMES, "so " + CALL, TOOLS)


def test_truncation_reported_as_natural_end_is_detected(monkeypatch):
    finish = StreamParser.finish
    monkeypatch.setattr(StreamParser, "finish", lambda parser, reason: finish(parser, "stop"))
    with pytest.raises(AssertionError, match=r"^10: "):
        check_invariants(HERMES, "so " + CALL, TOOLS)


def test_a_message_that_depends_on_the_cuts_is_found(monkeypatch):
    feed = StreamParser.feed
    monkeypatch.setattr(StreamParser, "feed", lambda parser, text: feed(parser, text.strip("\n")))
    with pytest.raises(AssertionError, match=r"^2: "):
        check_invariants(HERMES, "so\n\nit is", TOOLS)


def test_arguments_with_trailing_characters_are_detected():
    message = parse(CALL, HERMES, finish_reason="stop")
    check_calls(message)
    (call,) = message.tool_calls
    longer = dataclasses.replace(call, arguments=call.arguments + " ")
    with pytest.raises(AssertionError, match=r"^5: .* was complete before"):
        check_calls(SimpleNamespace(tool_calls=[longer]))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: check_invariants(HERMES, CALL.encode()), "text must be a str, not bytes"),
        (lambda: check_invariants(HERMES, CALL, chunkings=chunkings(CALL)), "data.draw"),
        (lambda: texts_of("x"), "rules, not str"),
        (lambda: texts_of(gbnf(HERMES, TOOLS)), r"gbnf\(...\)\.rules, not Grammar"),
    ],
)
def test_invalid_arguments_are_rejected(wrong, told):
    with pytest.raises(UsageError, match=told):
        wrong()


def test_without_hypothesis_the_extra_is_named():
    program = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "try:\n    import deltaparse.testing\n"
        "except ImportError as error:\n    print(error)"
    )
    ran = [sys.executable, "-c", program]
    said = subprocess.run(ran, capture_output=True, text=True, check=True).stdout
    assert "pip install 'deltaparse[testing]'" in said


@pytest.fixture
def forgetful(monkeypatch):
    """No analysis is remembered, neither from before nor for others."""
    monkeypatch.setattr(analysis, "_remembered", analysis._remembered.__wrapped__)


@pytest.mark.parametrize("name", ["json_in_tags", "recipients_of_json", "elements_in_elements"])
def test_the_turns_of_a_template_keep_the_invariants(name):
    assert check_template(SOURCES[name]).verified


def test_turn_without_round_trip_fails(forgetful, monkeypatch):
    feed = StreamParser.feed
    loses = lambda parser, text: feed(parser, text.replace("First line", ""))  # noqa: E731
    monkeypatch.setattr(StreamParser, "feed", loses)
    with pytest.raises(AssertionError, match=r"not verified: .* did not round-trip"):
        check_template(SOURCES["json_in_tags"])


def test_a_turn_of_a_template_that_depends_on_its_cuts_is_found(monkeypatch):
    feed = StreamParser.feed
    odd = lambda parser, text: feed(parser, text if len(text) != 2 else text.upper())  # noqa: E731
    monkeypatch.setattr(StreamParser, "feed", odd)
    with pytest.raises(AssertionError, match=r"^[12]: "):
        check_template(SOURCES["json_in_tags"])


def test_unsupported_template_fails():
    with pytest.raises(AssertionError, match="not verified: the template does not render tool"):
        check_template(
            "{% if tools %}{{ tools | tojson }}{% endif %}"
            "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
            "{% if add_generation_prompt %}<assistant>{% endif %}"
        )


JSON_IN_TAGS = deltaparse.analyze(SOURCES["json_in_tags"])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tools": {"per_call_start": "<begin>"}}, "a call: content '<call>"),
        ({"tools": {"per_call_end": "</end>"}}, "a call: content '</call>', not ''"),
        ({"tools": {"arguments_field": "given"}}, "the key of the arguments is"),
        ({"reasoning": {"start": "<b>", "end": "</b>"}}, "content: reasoning 'Markup', not ''"),
        ({"turn": {"ends": ("<none>",)}}, 'done<|done|>", not '),
        ({"turn": {"headers": ("Bot:",), "generation_prompt": ""}}, "no_header"),
    ],
)
def test_different_format_fails(change, told):
    with pytest.raises(AssertionError) as found:
        check_template(SOURCES["json_in_tags"], fmt=JSON_IN_TAGS.replace(**change))
    assert told in str(found.value)
    assert len(str(found.value)) < 1_000


def test_equivalent_format_is_returned():
    mine = JSON_IN_TAGS.replace(tools={"separator": ""})
    assert check_template(SOURCES["json_in_tags"], fmt=mine) is mine


PONDERS = """\
{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}
{{- '<use>' ~ (c.function | tojson) ~ '</use>' }}{% endfor %}</{{ m.role }}>{% endfor %}
{%- if add_generation_prompt %}<assistant><|ponder|>{% endif %}"""
"""The end marker of the part opened by the prompt is never rendered."""


def test_hand_written_format_of_unsupported_template_is_verified():
    found = deltaparse.analyze(PONDERS)
    assert not found.verified
    with pytest.raises(AssertionError, match="not verified: the prompt opens"):
        check_template(PONDERS)
    mine = found.replace(
        reasoning={"mode": "TAG_BASED", "start": "<|ponder|>", "end": "<|/ponder|>"}
    )
    assert check_template(PONDERS, fmt=mine) is mine
    wrong = mine.replace(tools={"per_call_end": "</used>"})
    with pytest.raises(AssertionError, match=r"not that of the template: a call did not round"):
        check_template(PONDERS, fmt=wrong)


@pytest.mark.parametrize("lists", ["", "{{ tools | tojson if tools }}"])
def test_template_without_calls_verifies_no_format_with_calls(lists):
    source = lists + (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    with pytest.raises(AssertionError, match="the template renders no calls"):
        check_template(source, fmt="hermes")
    plain = deltaparse.analyze(source)
    assert check_template(source, fmt=plain) is plain


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{{ raise_exception('no') }}", "no simple conversation: no"),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "not that of the template: "),
    ],
)
def test_template_without_turns_verifies_no_format(source, says):
    with pytest.raises(AssertionError, match=says):
        check_template(source, fmt=JSON_IN_TAGS)


def test_the_example_of_the_docs_runs():
    page = (Path(__file__).parents[2] / "docs" / "fuzz-your-format.md").read_text("utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    made = {}
    exec(program.replace("deadline=None", "deadline=None, max_examples=10"), made)
    tests = [value for name, value in made.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()


def test_the_kit_is_imported_by_its_name():
    assert deltaparse.testing.outputs is outputs
