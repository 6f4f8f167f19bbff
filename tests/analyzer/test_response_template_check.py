"""Tests of response templates against renderings, with the parser of transformers.

The property: if a template is proved and the standard can express its format, transformers parses
the same messages with the written response template as this library. Other tests check the reports
on response templates with losses.
"""

from __future__ import annotations

import ast
import importlib.util
import os
from pathlib import Path

import pytest

from deltaparse import (
    ChatTemplate,
    analyze,
    check_response_template,
    from_response_template,
    to_response_template,
)
from deltaparse.analyzer import response_template

from .. import corpus
from ..strategies.templates import OWN, SOURCES

CANNOT = (
    "calls with their own syntax inside messages in channels",
    "recipients instead of channels",
    "calls in Python",
    "unmarked calls that do not begin with their name",
    "unmarked calls after content in markers",
    "calls that begin like content",
    "names that are keys",
    "arguments as JSON in a string",
    "closing markers that repeat the name of the call",
    "calls that end with only a bracket",
    "calls without an opening marker",
    "several notations of arguments",
    "types before the names of arguments",
    "arguments without an opening marker",
    "values without a closing marker",
)
"""All that the standard has no words for."""


# A sample. All others have a make target of their own.
SAMPLE = (
    "Apertus-8B-Instruct.jinja",
    "GLM-4.6.jinja",
    "Kimi-K2-Instruct.jinja",
    "Mistral-Small-3.2-24B-Instruct-2506.jinja",
    "NVIDIA-Nemotron-Nano-v2.jinja",
    "Qwen3-Coder.jinja",
    "meta-llama-Llama-3.1-8B-Instruct.jinja",
    "openai-gpt-oss-120b.jinja",
    "tencent-Hy3.jinja",
)
TOLD_BY_PLACE = ("elements_in_elements", "json_list_behind_words")
"""What is a marker there, and what a text or a name, only the place tells."""
EVERY = bool(os.environ.get("DELTAPARSE_EVERY_TEMPLATE"))


def source(name):
    return SOURCES[name] if name in SOURCES else corpus.template(name)


def names():
    real = [path.name for path in (*corpus.templates(), *corpus.newer_templates())]
    chosen = real if EVERY else [name for name in real if name in SAMPLE]
    own = SOURCES if EVERY else dict.fromkeys([*list(SOURCES)[::6], *TOLD_BY_PLACE])
    return [*own, *(pytest.param(name, marks=corpus.needs_corpus) for name in chosen)]


@pytest.mark.transformers
@pytest.mark.parametrize("name", names())
def test_transformers_reads_the_same_as_we_do(name):
    template = ChatTemplate(source(name))
    found = check_response_template(template)
    if found.response_template is None:
        (words,) = found.limits
        assert any(reason in words for reason in CANNOT)
    else:
        issues = analyze(template).issues if found.lost else ()
        assert found.lost == issues
        assert found.proved


TEMPLATE = """\
{%- for message in messages -%}
<{{ message.role }}>
{% if message.thinking %}<note>{{ message.thinking }}</note>
{% endif %}{{ message.content or "" }}
{%- for call in message.tool_calls or [] %}
<use name="{{ call.function.name }}">
{%- for key, value in call.function.arguments.items() %}
<{{ "in" }} key="{{ key }}">{{ value if value is string else value | tojson }}</in>
{%- endfor %}
</use>
{%- endfor %}</{{ message.role }}>
{% endfor %}
{%- if add_generation_prompt %}<assistant>
{% endif %}"""


@pytest.mark.transformers
class TestShipped:
    """Response templates that a checkpoint has, with one thing in them changed."""

    def lost(self, change):
        template = ChatTemplate(TEMPLATE)
        given = to_response_template(analyze(template))
        change(given["fields"])
        found = check_response_template(template, given)
        assert found.judge.startswith("transformers ")
        assert found.ok is (not found.lost)
        return " ".join(found.lost)

    def test_written_response_template_has_no_losses(self):
        assert self.lost(lambda fields: None) == ""

    def test_calls(self):
        assert "calls: read as []" in self.lost(lambda fields: fields.pop("tool_calls"))

    def test_reasoning(self):
        assert "content: read as '<note>" in self.lost(lambda fields: fields.pop("thinking"))

    def test_the_name_of_a_field_of_reasoning_is_free(self):
        def rename(fields):
            fields["reasoning_content"] = fields.pop("thinking")

        assert self.lost(rename) == ""

    def test_whitespace_of_a_value(self):
        def strip(fields):
            arguments = fields["tool_calls"]["content_args"]
            arguments["value_parser"] = {"name": "text", "args": {}}

        words = self.lost(strip)
        assert "argument padded: read as 'two spaces before, a newline behind' instead of" in words
        assert "content:" not in words

    def test_values_that_look_like_others(self):
        def parsed(fields):
            arguments = fields["tool_calls"]["content_args"]
            arguments["value_parser"] = {"name": "json", "args": {"allow_non_json": True}}

        words = self.lost(parsed)
        assert "argument said_true: read as True instead of 'true'" in words

    def test_calls_that_are_not_repeated(self):
        def once(fields):
            del fields["tool_calls"]["repeats"]

        assert "AttributeError" in self.lost(once) or "calls" in self.lost(once)

    def test_marker_matched_only_as_a_whole_is_reported(self):
        def end(fields):
            close = fields["tool_calls"]["close_pattern"]
            fields["tool_calls"]["close_pattern"] = rf"{close}|\Z"

        assert "the result in chunks differs from the result at once" in self.lost(end)

    def test_limits_of_the_standard_are_not_losses(self):
        found = check_response_template(TEMPLATE)
        assert found.ok
        (words,) = found.limits
        assert words.startswith("a truncated call: ")


def of_transformers():
    """Return the response templates shipped with transformers, by content."""
    home = importlib.util.find_spec("transformers")
    path = Path(home.origin).parent / "cli" / "serving" / "utils.py" if home else None
    if path is None or not path.is_file():
        return {}
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict) and "fields" in {getattr(k, "value", 0) for k in node.keys}:
            value = ast.literal_eval(node)
            found[value["fields"]["tool_calls"]["content"], str(value["start_anchor"])] = value
    return found


@pytest.mark.transformers
@corpus.needs_corpus
class TestOfTransformers:
    """Response templates of transformers, with the templates they are for."""

    def checked(self, content, name):
        given = [value for key, value in of_transformers().items() if key[0] == content]
        if not given:
            pytest.skip("the installed transformers has them elsewhere")
        return [check_response_template(corpus_template(name), value) for value in given]

    def test_all_are_read_by_us_too(self):
        for value in of_transformers().values():
            fmt = from_response_template(value)
            assert fmt.derived.openers

    def test_qwen3_keeps_all(self):
        assert any(one.ok for one in self.checked("json", "Qwen-Qwen3-0.6B.jinja"))

    def test_qwen35_strips_values(self):
        (found,) = self.checked("xml-inline", "Qwen3.5-4B.jinja")
        assert not found.ok
        assert any(
            "padded: read as 'two spaces before, a newline behind'" in one for one in found.lost
        )


def corpus_template(name):
    return ChatTemplate(corpus.template(name))


def test_without_transformers_no_turn_is_proved(monkeypatch):
    monkeypatch.setattr(response_template, "judge", lambda: None)
    found = check_response_template(TEMPLATE)
    assert (found.judge, found.proved, found.lost, found.limits) == ("", (), (), ())
    assert found.response_template == to_response_template(analyze(TEMPLATE))


ENDED = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.mark.transformers
def test_a_limit_of_the_format_is_named_once():
    found = check_response_template(OWN.elements_in_elements)
    kinds = [words.partition(" (")[0].partition(":")[0] for words in found.limits]
    assert kinds == [
        "objects and lists that are not JSON",
        "a truncated call",
        "an argument that has the name of a marker",
    ]


@pytest.mark.transformers
def test_unproved_parts_of_the_format_are_losses():
    found = check_response_template(ENDED)
    (words,) = found.lost
    assert "eos_token" in words
    assert found.proved == ("content", "content in a later turn")  # it shows no reasoning
    given = found.response_template
    again = check_response_template(ENDED, given)
    assert (again.ok, again.proved, again.response_template) == (True, found.proved, given)
