"""The short way through calls, beside the long way: they emit the same with each chunk."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import StreamParser, ToolCallDelta, get_format, list_formats
from deltaparse.partial.json_text import lexer
from deltaparse.stream.reading.tool_calls import json_native
from deltaparse.stream.wire.marker_tables import marker_tables
from deltaparse.stream.wire.usual import Usual
from deltaparse.testing import outputs

from ...strategies.requests import options, policies, reasons
from ...support import cuts
from ..invariants import in_families

TOOLS = [
    {
        "name": "look_up",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "share": {"type": "number"},
                "now": {"type": "boolean"},
                "unit": {"type": "string", "enum": ["day", "1"]},
                "any": {},
                "maybe": {"type": ["integer", "null"]},
                "one": {"type": "integer", "enum": [1, 2]},
                "among": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
    {"name": "say", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
]
USUAL = [name for name in list_formats() if marker_tables(get_format(name), calls=True).usual_next]
IN_TAGS = [
    name
    for name in USUAL
    if getattr(marker_tables(get_format(name), calls=True).usual_tags, "arguments", None)
]
names = st.sampled_from(["look_up", "say", "f.g", "x", "with space", "é", 'q"', "n" * 200])
values = st.sampled_from(
    ["", "Łódź", "3", "-3", "3.0", "03", "1e5", "NaN", "true", "True", "null", "None", "day", "[1]",
     '["a"]', "{}", '"q"', "\n", "a\nb", " x ", "<", "</", "\\", "1_0", "9" * 80, "\ud83d", "a\r\n"]
)  # fmt: skip
keys = st.sampled_from(["city", "days", "share", "now", "unit", "any", "maybe", "one", "a b", "é"])
spaces = st.sampled_from(["", "", "", " ", "\n", "\n\n", "\r\n", " " * 20])


def merged(deltas):
    """What deltas say: texts for one call that come together are one."""
    said = []
    for delta in deltas:
        if not isinstance(delta, ToolCallDelta):
            said.append(delta)
        elif (
            said
            and isinstance(said[-1], list)
            and delta.name is None
            and said[-1][0] == delta.index
        ):
            said[-1][3] += delta.arguments
            said[-1][4] |= delta.last
        else:
            said.append([delta.index, delta.id, delta.name, delta.arguments, delta.last])
    return said


def read(fmt, chunks, reason, given):
    """All that a parser says: what it emits with each chunk, and what it has in the end."""
    parser = StreamParser(fmt, **given)
    said = []
    try:
        said += ((merged(parser.feed(text)), parser.counts, parser.issue_count) for text in chunks)
        said.append(merged(parser.finish(reason)))
    except Exception as error:  # noqa: BLE001 - a policy says so, and both must
        said.append(repr(error))
    spans = [getattr(part, "span", None) for part in parser.message.parts]
    return said, parser.message, spans, parser.issues, parser.attempts


@cache
def written(name):
    """What a model writes in a format, with faults; made once, for the grammar takes a second."""
    return outputs(name, TOOLS, faults=True)


@contextmanager
def the_long_way():
    never = patch.object(Usual, "match", lambda *_: None)
    no_wait = patch.object(Usual, "may_follow", lambda *_: False)
    no_call = patch.object(json_native, "_whole_call", lambda *_: False)
    no_object = patch.object(lexer, "small_object", lambda *_: None)
    with never, no_wait, no_call, no_object:
        yield


def check_both_ways(fmt, chunks, reason, **given):
    short = read(fmt, chunks, reason, given)
    with the_long_way():
        assert read(fmt, chunks, reason, given) == short


@st.composite
def calls_in_tags(draw, fmt):
    """Some calls, nearly as a format with arguments in tags has them."""
    tools, function, arguments = fmt.tools, fmt.function, fmt.arguments
    gap = st.just("") if draw(st.booleans()) else spaces
    texts = []
    for _ in range(draw(st.integers(1, 3))):
        text = tools.per_call_start + draw(gap) + function.name_prefix + draw(names)
        text += function.name_suffix + draw(gap) + arguments.start
        for _ in range(draw(st.integers(0, 3))):
            text += arguments.name_prefix + draw(keys) + arguments.name_suffix + draw(gap)
            text += arguments.value_prefix + draw(values) + arguments.value_suffix + draw(gap)
        texts.append(text + arguments.end + function.close + draw(gap) + tools.per_call_end)
    text = draw(st.sampled_from(["", "Hi. "])) + tools.section_start
    text += (tools.separator + draw(gap)).join(texts) + tools.section_end
    return odd(draw, text)


def odd(draw, text):
    """A text with something odd in it, or cut off, or neither."""
    if draw(st.booleans()):
        at = draw(st.integers(0, len(text)))
        put = draw(st.sampled_from(["", '"', "{", "<", "\n", "x", "</s>", "</parameter>"]))
        text = text[:at] + put + text[at + draw(st.integers(0, 2)) :]
    return text[: draw(st.integers(0, 3 * len(text)))]


@pytest.mark.parametrize("name", IN_TAGS)
@given(data=st.data(), policy=policies, reason=reasons, parallel=st.booleans())
def test_calls_in_tags_are_the_same_both_ways(name, data, policy, reason, parallel):
    fmt = get_format(name)
    chunks = data.draw(cuts(data.draw(calls_in_tags(fmt))))
    tools = data.draw(st.sampled_from([None, TOOLS]))
    check_both_ways(fmt, chunks, reason, tools=tools, policies=policy, parallel_tool_calls=parallel)


@pytest.mark.parametrize("name", [*USUAL, "gpt_oss", "muse_glimmer", "llama4_pythonic", "olmo3"])
@given(data=st.data(), policy=policies, reason=reasons)
def test_what_a_model_writes_is_the_same_both_ways(name, data, policy, reason):
    text = data.draw(written(name))
    check_both_ways(get_format(name), data.draw(cuts(text)), reason, tools=TOOLS, policies=policy)


@in_families()
@given(data=st.data(), kw=options, reason=reasons)
def test_any_text_is_the_same_both_ways(family, data, kw, reason):
    fmt, text = data.draw(family.texts)
    text += data.draw(st.sampled_from(["", "", text, "\n" + text]))
    check_both_ways(fmt, data.draw(cuts(text)), reason, **kw)
