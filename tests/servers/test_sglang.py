"""SGLang's detector."""

from __future__ import annotations

import inspect
import sys
from itertools import compress
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import ContentDelta, StreamParser, ToolCallDelta, UsageError
from deltaparse.servers import (
    SglangDetector,
    register_sglang_detector,
    sglang_detector,
    sglang_reasoning_detector,
)
from deltaparse.servers.sglang import StreamingParseResult, ToolCallItem
from deltaparse.stream.request import after_reasoning

from ..strategies.wire_by_hand import CALL, LIST, OTHER, TAGS, UNMARKED, chunkings
from ..strategies.wire_json_and_tags import TOOLS, any_text
from ..support import as_joined, cuts, joined
from .fake_servers import Tokens, install_sglang, put

PARAMETERS = {
    "detect_and_parse": ["self", "text", "tools"],
    "finish": ["self", "tools"],
    "has_tool_call": ["self", "text"],
    "parse_streaming_increment": ["self", "new_text", "tools"],
    "parses_required_natively": ["self"],
    "structure_info": ["self"],
    "supports_structural_tag": ["self"],
}
"""SGLang 0.5.23: python/sglang/srt/function_call/base_format_detector.py."""

TOOL = SimpleNamespace(type="function", function=SimpleNamespace(name="f", parameters={}))


def made(source, **options):
    return sglang_detector(source, **options)()


def as_calls(calls):
    """Return calls without ids, because SGLang creates them itself."""
    return [call[1:] for call in calls]


def streamed(detector, texts, tools=None):
    """Return the text, and the name and parameters of each call, for a streamed response."""
    deltas = []
    results = [detector.parse_streaming_increment(text, tools) for text in texts]
    for result in [*results, detector.finish(tools)]:
        deltas += [ContentDelta(result.normal_text)] if result.normal_text else []
        for item in result.calls:
            call_id = None if item.name is None else item.tool_call_id or "id"
            deltas.append(ToolCallDelta(item.tool_index, call_id, item.name, item.parameters))
            assert item.name is None or item.parameters == ""
    content, _, calls = joined(deltas)
    return content, as_calls(calls)


def whole(detector, text, tools=None):
    result = detector.detect_and_parse(text, tools)
    assert [item.tool_index for item in result.calls] == list(range(len(result.calls)))
    return result.normal_text, [(item.name, item.parameters) for item in result.calls]


@pytest.mark.parametrize("method", PARAMETERS)
def test_signatures_equal_those_of_sglang(method):
    found = inspect.signature(getattr(SglangDetector, method)).parameters
    assert list(found) == PARAMETERS[method]


@given(case=any_text, data=st.data(), tools=st.sampled_from([None, [], TOOLS]), start=st.booleans())
def test_result_equals_the_parser_for_all_chunkings(case, data, tools, start):
    fmt, text = case
    used, prompt = (fmt, "") if start else after_reasoning(fmt)
    engine = StreamParser(used, tools=tools, prompt=prompt, reasoning="inline")
    engine.feed(text)
    engine.finish()
    content, _, calls = as_joined(engine.message)
    expected = content, as_calls(calls)
    ended = [call.complete for call in engine.message.tool_calls]
    for texts in ([text], list(text), data.draw(cuts(text))):
        detector = made(fmt, whole=start)

        assert streamed(detector, texts, tools) == expected
        assert detector.finish(tools) == StreamingParseResult()
        assert whole(detector, text, tools) == (content, [*compress(expected[1], ended)])
        assert detector.streamed_args_for_tool == [arguments for _, arguments in expected[1]]
        assert len(detector.prev_tool_call_arr) == detector.current_tool_id + 1
    unfinished = {at for at, complete in enumerate(ended) if not complete}
    assert detector.incomplete_tool_call_indices == unfinished


def test_first_item_of_a_call_has_only_the_name():
    detector = made(TAGS)
    assert detector.incomplete_tool_call_indices == set()
    result = detector.parse_streaming_increment(f"Hi\n{CALL}\n{OTHER}", [TOOL])
    assert result.normal_text == "Hi"
    assert [(item.tool_index, item.name, item.parameters) for item in result.calls] == [
        (0, "f", ""),
        (0, None, '{"a": 1}'),
        (1, "g", ""),
        (1, None, '{"b": [true, "x"]}'),
    ]
    assert detector.current_tool_name_sent


def test_arguments_are_streamed():
    detector = made(TAGS)
    chunks = ("Hi <ca", 'll>\n{"name": "f", "argu', 'ments": {"a": "b', 'c"', "}}\n</call>")
    results = [detector.parse_streaming_increment(chunk, [TOOL]) for chunk in chunks]
    assert [result.normal_text for result in results] == ["Hi ", "", "", "", ""]
    assert results[0] == StreamingParseResult("Hi ")
    assert results[1].calls == [ToolCallItem(0, "f", "")]
    got = [item for result in results[2:] for item in result.calls]
    assert {(item.tool_index, item.name) for item in got} == {(0, None)}
    assert "".join(item.parameters for item in got) == '{"a": "bc"}'


HAS = [
    (TAGS, CALL, True),
    (TAGS, "Hi\n" + CALL, True),
    (TAGS, "<call>", True),
    (TAGS, "<cal", False),
    (TAGS, "calls", False),
    (TAGS, "", False),
    (UNMARKED, '{"name": "f", "parameters": {}}', True),
    (UNMARKED, '{"a": 1}', False),
    (UNMARKED, "Hi", False),
]


@pytest.mark.parametrize(("fmt", "text", "has"), HAS)
def test_has_tool_call_if_a_marker_occurs(fmt, text, has):
    assert made(fmt).has_tool_call(text) is has


def test_calls_in_channels_are_detected():
    wire = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
    assert made("gpt_oss").has_tool_call(wire)
    # Markers around content need parsing, because SGLang would emit them.
    assert made("gpt_oss").has_tool_call("<|channel|>final<|message|>Hi")
    assert not made("hermes").has_tool_call("Hi")


@pytest.mark.parametrize("tools", [[TOOL], [{"name": "f"}], None])
def test_tools_may_have_any_type(tools):
    for texts in chunkings(CALL):
        assert streamed(made(TAGS), texts, tools) == ("", [("f", '{"a": 1}')])
    assert whole(made(TAGS), CALL, []) == (CALL, [])


def test_parsing_a_complete_response_keeps_the_stream_state():
    detector = made(TAGS)
    detector.parse_streaming_increment(CALL[:30], [TOOL])
    assert whole(detector, OTHER)[1] == [("g", '{"b": [true, "x"]}')]
    assert detector.has_tool_call(OTHER)
    detector.parse_streaming_increment(CALL[30:], [TOOL])
    assert detector.prev_tool_call_arr == [{"name": "f", "arguments": '{"a": 1}'}]


def test_truncated_call_is_reported_as_incomplete():
    detector = made(TAGS)
    assert streamed(detector, [CALL[: CALL.index("1}")]]) == ("", [("f", '{"a": ')])
    assert detector.incomplete_tool_call_indices == {0}


def test_ids_of_the_model_are_reported():
    text = '[CALLS][{"name": "f", "arguments": {}, "id": "abc"}]'
    assert made(LIST).detect_and_parse(text).calls[0].tool_call_id == "abc"
    assert made(TAGS).detect_and_parse(CALL).calls[0].tool_call_id is None


def test_structure_info_is_limited_to_json_formats():
    detector = made(TAGS)
    assert not detector.parses_required_natively()
    with pytest.raises(NotImplementedError):
        detector.build_ebnf([TOOL])
    around = detector.structure_info()("f")
    assert around.begin == '<call>\n{"name": "f", "arguments": '
    assert around.trigger == "<call>"
    wire = around.begin + '{"a": 1}' + around.end
    assert [one.name for one in detector.detect_and_parse(wire).calls] == ["f"]
    with pytest.raises(NotImplementedError):
        made("qwen3_coder").structure_info()("f")


@pytest.mark.parametrize("name", ["hermes", "qwen3", "granite", "functionary_v31", "jamba"])
def test_structure_info_round_trips_through_the_parser(name):
    detector = made(name)
    around = detector.structure_info()("f")
    (call,) = detector.detect_and_parse(around.begin + '{"a": 1}' + around.end).calls
    assert (call.name, call.parameters) == ("f", '{"a": 1}')
    assert around.begin.startswith(around.trigger)


def test_structural_tag_requires_xgrammar(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgrammar", None)
    assert not made(TAGS).supports_structural_tag()


def test_structural_tag_respects_strict_tools_and_one_call(monkeypatch):
    tag = type("StructuralTag", (), {"model_validate": staticmethod(lambda made: made)})
    put(monkeypatch, "xgrammar", StructuralTag=tag)
    detector = made(TAGS)
    assert detector.supports_structural_tag()
    schema = {"type": "object", "properties": {"strictly": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    free, one = (
        detector.get_structural_tag(tools, "auto", parallel_tool_calls=parallel)
        for parallel in (True, False)
    )
    assert "strictly" not in str(free)
    assert free["format"]["type"] == one["format"]["type"] == "grammar"
    assert free != one
    tools[0]["function"]["strict"] = True
    assert "strictly" in str(detector.get_structural_tag(tools, "required"))


def test_truncated_call_is_omitted_from_a_complete_response(caplog):
    cut = CALL[: CALL.index("1}")]
    result = made(TAGS).detect_and_parse(f"{OTHER}\n{cut}")
    assert [one.name for one in result.calls] == ["g"]
    assert "truncated" in caplog.text
    detector = made(TAGS)
    assert streamed(detector, [OTHER, "\n", cut])[1][1] == ("f", '{"a": ')
    assert detector.incomplete_tool_call_indices == {1}


@pytest.mark.parametrize("forced", [True, False, None])
@pytest.mark.parametrize("active", [True, False])
def test_reasoning_is_split_from_content(forced, active):
    for text in ("<think>\nhm\n</think>\n\nHi", "hm\n</think>\n\nHi"):
        detector = sglang_reasoning_detector(TAGS)
        for texts in chunkings(text):
            one = detector(force_reasoning=forced, tool_call_parser_active=active)
            results = [*map(one.parse_streaming_increment, texts), one.finish()]
            got = (
                "".join(part.reasoning_text for part in results),
                "".join(part.normal_text for part in results),
            )
            whole = one.detect_and_parse(text)
            assert got == (whole.reasoning_text, whole.normal_text)
            opened = forced or text.startswith("<think>")
            assert got == (("hm", "Hi") if opened else ("", text))


def test_response_of_reasoning_only_may_become_content():
    detector = sglang_reasoning_detector(TAGS)(force_reasoning=True, force_nonempty_content=True)
    result = detector.detect_and_parse("hm")
    assert (result.reasoning_text, result.normal_text) == ("", "hm")
    result = detector.detect_and_parse("hm</think>Hi")
    assert (result.reasoning_text, result.normal_text) == ("hm", "Hi")


def test_continued_response_starts_in_the_state_of_its_prefix():
    made_for = {"force_reasoning": False, "continue_final_message": True}
    kind = sglang_reasoning_detector(TAGS.replace(turn={"headers": ("<|start|>model\n",)}))
    result = kind(**made_for, previous_content="<think>\nI kn").detect_and_parse("ow</think>Hi")
    assert (result.reasoning_text, result.normal_text) == ("ow", "Hi")


def test_detector_accepts_the_tokenizer():
    kind = sglang_detector(lambda tokenizer: TAGS if tokenizer.chat_template else UNMARKED)
    assert "tokenizer" in inspect.signature(kind).parameters
    assert kind(tokenizer=Tokens()).wire_format is TAGS
    assert (kind(Tokens()).bot_token, kind(Tokens()).eot_token) == ("<call>", "</call>")


@pytest.mark.parametrize("extra", [(), ("tool_call_id",)])
def test_results_use_the_classes_of_sglang(monkeypatch, extra):
    with pytest.raises(UsageError, match=r"requires SGLang .* not installed"):
        register_sglang_detector("mine", TAGS)
    table = install_sglang(monkeypatch, item=("tool_index", "name", "parameters", *extra))
    register_sglang_detector("mine", LIST)
    base = __import__("sglang.srt.function_call.base_format_detector", fromlist=["x"])
    types = __import__("sglang.srt.function_call.core_types", fromlist=["x"])
    detector = table["mine"]()
    assert isinstance(detector, base.BaseFormatDetector)
    assert not detector.parses_without_tools()
    result = detector.detect_and_parse('[CALLS][{"name": "f", "arguments": {}, "id": "a"}]', [TOOL])
    assert type(result) is types.StreamingParseResult
    assert result.calls[0].fields_set == {"tool_index", "name", "parameters", *extra}


def test_objects_share_no_state():
    kind = sglang_detector(TAGS)
    one, two = kind(), kind()
    for first, second in zip(CALL + "  ", OTHER, strict=False):
        one.parse_streaming_increment(first, None)
        two.parse_streaming_increment(second, None)
    names = [detector.prev_tool_call_arr[0]["name"] for detector in (one, two)]
    assert names == ["f", "g"]


@pytest.mark.parametrize(
    ("changes", "default"),
    [
        ({}, None),
        ({"mode": "FORCED_OPEN"}, "enable_thinking"),
        ({"mode": "FORCED_OPEN", "switches": {"thinking": ["prompt"]}}, "thinking"),
        ({"mode": "FORCED_OPEN", "verified": True}, "always"),
    ],
)
def test_reasoning_default_of_each_format(changes, default):
    changes = dict(changes)
    fmt = TAGS
    if mode := changes.pop("mode", None):
        opened = fmt.turn.headers[0] + fmt.reasoning.start
        fmt = fmt.replace(reasoning={"mode": mode}, turn={"generation_prompt": opened})
    fmt = fmt.replace(**changes)
    assert sglang_reasoning_detector(fmt)().reasoning_default == default
