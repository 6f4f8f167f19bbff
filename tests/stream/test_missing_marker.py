"""Content that looks like a call whose marker the decoder skipped."""

from __future__ import annotations

import pytest

from deltaparse import get_format, parse
from deltaparse.stream.missing_marker import HEAD, MOST_PLACES, called_without_marker

from ..strategies.wire_by_hand import TAGS
from ..strategies.wire_channels import HARMONY

LOST = {
    "hermes": '{"name": "get_weather", "arguments": {"city": "P"}}',
    "mistral": '[{"name": "get_weather", "arguments": {"city": "P"}}]',
    "mistral_small": 'I will look.\nget_weather{"city": "P"}',
    "kimi_k2": 'functions.get_weather:0{"city": "P"}',
    "gpt_oss": 'commentary to=functions.get_weather json{"city":"P"}',
    "qwen3_coder": "get_weather\n<parameter=city>P</parameter>",
    "olmo3": 'get_weather(city="P")',
    "gemma4": "call:get_weather{city:P,days:3}",
    "functiongemma": "I will look.\ncall:get_weather{city:P}",
    "deepseek_v3": 'functionget_weather\n```json\n{"city": "P"}\n```',
}
LONG = LOST["kimi_k2"].replace("P", "P" * HEAD)
NAMED = [{"name": "get_weather"}, {"name": "f"}]


@pytest.mark.parametrize("name", LOST)
def test_call_with_a_lost_marker_is_reported(name):
    message = parse(LOST[name], get_format(name), tools=NAMED, finish_reason="stop")
    assert message.content
    assert [(one.kind, one.span) for one in message.issues] == [
        ("lost_marker", (0, len(LOST[name])))
    ]
    assert "skip_special_tokens" in message.issues[0].detail


@pytest.mark.parametrize("name", ["mistral", "mistral_small", "devstral", "ministral"])
@pytest.mark.parametrize("text", [LOST["mistral"], 'get_weather{"city": "P"}'])
def test_lost_marker_of_each_call_form_is_reported(name, text):
    message = parse(text, get_format(name), tools=NAMED, finish_reason="stop")
    assert [issue.kind for issue in message.issues] == ["lost_marker"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deepseek_r1", LOST["deepseek_v3"]),
        ("ernie45", LOST["hermes"]),
        ("glm47", "get_weather<arg_key>city</arg_key><arg_value>P</arg_value>"),
    ],
)
def test_lost_marker_after_opened_reasoning_is_reported(name, text):
    message = parse(f"hm</think>{text}", get_format(name), tools=NAMED, finish_reason="stop")
    assert (message.reasoning_content, message.tool_calls) == ("hm", [])
    assert [issue.kind for issue in message.issues] == ["lost_marker"]


@pytest.mark.parametrize(
    ("name", "text", "kw"),
    [
        ("qwen3", f"x<|im_end|>\n<|im_start|>user\n<tool_call>{LOST['hermes']}", {}),
        ("qwen3", f"Sure! {LOST['hermes']}", {"calls": "json"}),
        ("kimi_k2", f"{LOST['kimi_k2']}<|im_end|>user<|tool_call_begin|>", {}),
        ("qwen3", f"<think><tool_call>{LOST['hermes']}</think>{LOST['hermes']}", {}),
        ("kimi_k2", f"{LONG}<|im_end|>\n<|im_start|>user\n<|tool_calls_section_begin|>x", {}),
    ],
)
def test_present_or_unneeded_marker_is_not_reported_as_lost(name, text, kw):
    message = parse(text, get_format(name), tools=NAMED, finish_reason="stop", **kw)
    assert not message.tool_calls
    assert "lost_marker" not in [issue.kind for issue in message.issues]


@pytest.mark.parametrize(
    "text", ["Use get_weather to see.", 'f is {"name": "Bob"}', "get_weather", '{"f": 1}']
)
@pytest.mark.parametrize("name", LOST)
def test_text_with_a_tool_name_only_is_not_reported(name, text):
    assert parse(text, get_format(name), tools=NAMED, finish_reason="stop").issues == ()


OTHER_TOOL = '{"name": "other", "kind": "get_weather", "arguments": {"a": 1}}'
"""A call of another tool, with the name of a requested tool inside."""


@pytest.mark.parametrize("name", LOST)
def test_call_of_an_unknown_tool_is_not_reported(name):
    message = parse(OTHER_TOOL, get_format(name), tools=NAMED, finish_reason="stop")
    assert message.content == OTHER_TOOL
    assert message.issues == ()


WITH_INNER_MARKERS = TAGS.replace(
    tools={"format": "TAG_WITH_JSON"},
    function={"name_suffix": "<|args|>", "close": ""},
    arguments={"start": "<|json|>"},
)


@pytest.mark.parametrize("gap", ["", " ", "\n"])
@pytest.mark.parametrize("before", ["", "I will look.\n"])
def test_call_with_lost_inner_markers_is_reported(before, gap):
    text = f'{before}get_weather{gap}{{"city": "P"}}'
    message = parse(text, WITH_INNER_MARKERS, tools=NAMED, finish_reason="stop")
    assert message.content == text
    assert [issue.kind for issue in message.issues] == ["lost_marker"]


HERMES = LOST["hermes"]
WITH_WORDS = {
    "a list with white space in it": ("mistral", f"[ {HERMES} ]"),
    "a list of calls": ("mistral", f"[{HERMES}, {HERMES}]"),
    "a list on lines": ("mistral", f"I will look.\n[\n  {HERMES}\n]"),
    "an object behind a list of something": ("mistral", f"As in [1]: {HERMES}"),
    "a recipient on a line of its own": (
        "gpt_oss",
        'commentary\nto=functions.get_weather json{"city":"P"}',
    ),
    "no more than the start of the arguments": ("mistral_small", 'get_weather{"'),
}


@pytest.mark.parametrize("case", WITH_WORDS)
def test_lost_marker_is_found_among_words(case):
    name, text = WITH_WORDS[case]
    message = parse(text, get_format(name), tools=NAMED, finish_reason="stop")
    assert [issue.kind for issue in message.issues] == ["lost_marker"]


TOLD_OF = {
    "a call with words behind it": ("mistral_small", 'As in `get_weather{"city": "P"}`.'),
    "an object with words behind it": ("hermes", f"{HERMES} is a call."),
    "an object without its brace": ("hermes", HERMES[1:]),
    "a brace and no arguments": ("mistral_small", "get_weather{"),
    "a key and no arguments": ("hermes", '{"name": "get_weather", "arguments": {'),
}


@pytest.mark.parametrize("case", TOLD_OF)
def test_text_about_a_call_is_not_reported(case):
    name, text = TOLD_OF[case]
    message = parse(text, get_format(name), tools=NAMED, finish_reason="stop")
    assert message.content == text
    assert message.issues == ()


WITHOUT_MARKERS = {
    "llama3_json": 'Use\n{"name": "get_weather", "parameters": {"city": "P"}}',
    "pythonic": 'Use\nget_weather(city="P")',
}


@pytest.mark.parametrize("name", WITHOUT_MARKERS)
def test_formats_without_call_markers_lose_no_marker(name):
    fmt = get_format(name)
    spaced = fmt.replace(tools={"per_call_start": "\n"})
    for each in (fmt, spaced):
        text = WITHOUT_MARKERS[name]
        message = parse(text, each, tools=NAMED, finish_reason="stop")
        assert "lost_marker" not in {issue.kind for issue in message.issues}
        assert (
            called_without_marker(each, {"get_weather"}, text, lambda *_, message=message: message)
            == ""
        )


def test_channels_without_recipients_lose_no_marker():
    fmt = HARMONY.replace(
        channels={"recipient": ""},
        function={"namespace": ""},
        tools={"format": "TAG_WITH_JSON", "per_call_start": "<call>"},
    )
    message = parse("Use get_weather to see.", fmt, tools=NAMED, finish_reason="stop")
    assert message.issues == ()
    assert called_without_marker(fmt, {"get_weather"}, "Use get_weather", parse) == ""


def test_search_of_long_content_with_many_names_is_limited():
    fmt, asked = get_format("mistral_small"), []
    names = [f"tool_{number}" for number in range(3 * MOST_PLACES)]
    content = "\n".join(name + " " * HEAD for name in names)

    def read(fmt, text):
        asked.append(text)
        return parse("", fmt)

    assert called_without_marker(fmt, names, content, read) == ""
    assert len(set(asked)) == MOST_PLACES
    assert {len(text) for text in asked} == {len("".join(fmt.derived.openers)) + HEAD}
