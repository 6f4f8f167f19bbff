"""vLLM's `ToolParser`, alone and after a reasoning parser."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    Policies,
    StreamParser,
    UsageError,
    call_id,
    get_format,
    parse,
    register_format,
)
from deltaparse.servers import (
    VllmToolParser,
    register_vllm_parsers,
    vllm_reasoning_parser,
    vllm_tool_parser,
)
from deltaparse.stream.request import after_reasoning

from ..strategies.wire_by_hand import CALL, DELIMITED, LIST, OTHER, TAGS, UNMARKED, chunkings
from ..strategies.wire_json_and_tags import TOOLS, any_text, written
from ..strategies.wire_named import WIRES
from ..support import as_joined, cuts
from .fake_servers import Tokens, fold, ids, install_vllm, request, serve, serve_whole, streamed

MEMBERS = (
    "previous_text current_text delta_text previous_token_ids current_token_ids delta_token_ids"
)
PARAMETERS = {
    "__init__": ["self", "tokenizer", "tools"],
    "adjust_request": ["self", "request"],
    "extract_tool_calls": ["self", "model_output", "request"],
    "extract_tool_calls_streaming": ["self", *MEMBERS.split(), "request"],
    "finish_streaming": ["self"],
    "get_remaining_unstreamed_args": ["self"],
}
"""vLLM 0.33: vllm/tool_parsers/abstract_tool_parser.py, vllm/parser/engine/adapters.py."""


def made(source, **options):
    options.setdefault("id_factory", call_id)
    return vllm_tool_parser(source, **options)(Tokens())


def whole(parser, text, given=None):
    """Return the result for a complete response in the form of `fold`."""
    info = parser.extract_tool_calls(text, given or request())
    assert info.tools_called == bool(info.tool_calls)
    assert all(call.type == "function" for call in info.tool_calls)
    calls = [(call.id, call.function.name, call.function.arguments) for call in info.tool_calls]
    return info.content or "", "", calls


@pytest.mark.parametrize("method", PARAMETERS)
def test_signatures_equal_those_of_vllm(method):
    found = inspect.signature(getattr(VllmToolParser, method)).parameters
    assert list(found) == PARAMETERS[method]


@given(case=any_text, data=st.data(), tools=st.sampled_from([None, [], TOOLS]), start=st.booleans())
def test_result_equals_the_parser_for_all_chunkings(case, data, tools, start):
    fmt, text = case
    asked = request(tools=tools)
    used, prompt = (fmt, "") if start else after_reasoning(fmt)
    engine = StreamParser(used, tools=tools, prompt=prompt, reasoning="inline")
    engine.feed(text)
    engine.finish()
    expected = as_joined(engine.message)
    for texts in ([text], list(text), data.draw(cuts(text))):
        parser = made(fmt, whole=start)

        assert streamed(parser, texts, asked) == expected
        assert parser.finish_streaming() is None
        assert whole(parser, text, asked) == expected
        arguments = [arguments for _, _, arguments in expected[2]]
        assert parser.streamed_args_for_tool == arguments
        assert [call["arguments"] for call in parser.prev_tool_call_arr] == arguments


@given(case=written(), data=st.data())
def test_tool_parser_after_reasoning_parser_yields_the_turn(case, data):
    fmt, _, text = case
    engine = StreamParser(fmt, tools=TOOLS)
    engine.feed(text)
    engine.finish()
    asked = request(tools=TOOLS)
    parts = vllm_reasoning_parser(fmt), vllm_tool_parser(fmt)

    def without_ids(got):
        return *got[:2], [call[1:] for call in got[2]]

    expected = without_ids(as_joined(engine.message))
    for texts in ([text], list(text), data.draw(cuts(text))):
        got = serve(*(part(Tokens()) for part in parts), texts, asked)
        assert without_ids(got) == expected
    got = serve_whole(*(part(Tokens()) for part in parts), text, asked)
    assert without_ids(got) == expected


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "deepseekv31", "glm45", "kimi_k2"])
def test_format_can_be_given_by_name(name):
    assert vllm_tool_parser(name)(Tokens()).wire_format == get_format(name)
    assert vllm_tool_parser(name).__name__.endswith("VllmToolParser")


def test_format_can_be_derived_from_the_tokenizer():
    seen = []

    def find(tokenizer):
        seen.append(tokenizer.chat_template)
        return TAGS

    parser = vllm_tool_parser(find)(Tokens())
    assert parser.wire_format is TAGS
    assert seen == ["a template"]


@pytest.mark.parametrize(
    ("source", "says"),
    [("hermess", "did you mean 'hermes'"), ("{% if x %}", "analyze"), (7, "WireFormat")],
)
def test_invalid_source_is_rejected_early(source, says):
    with pytest.raises(UsageError, match=says):
        vllm_tool_parser(source)
    with pytest.raises(UsageError, match="NoneType"):
        vllm_tool_parser(lambda tokenizer: None)(Tokens())


def test_only_the_first_delta_has_id_type_and_name():
    parser = made(TAGS)
    got = [
        parser.extract_tool_calls_streaming("", chunk, chunk, [], [], [], request())
        for chunk in ('<call>\n{"name": "f", "arg', 'uments": {"a": ', '"b', '"}}', "\n</call>")
    ]
    first = got[0].tool_calls[0]
    assert (first.index, first.type, first.function.name) == (0, "function", "f")
    assert first.id.startswith("call_")
    later = [call for message in got[1:4] for call in message.tool_calls]
    assert [(call.id, call.type, call.function.name) for call in later] == [(None,) * 3] * 3
    assert "".join(call.function.arguments for call in later) == '{"a": "b"}'
    assert got[4] is None


def test_chunk_with_several_calls_has_one_entry_per_call():
    parser = made(TAGS)
    text = f"Hi\n{CALL}\n{OTHER}"
    message = parser.extract_tool_calls_streaming("", text, text, [], [], [], request())
    assert message.content == "Hi"
    assert [call.index for call in message.tool_calls] == [0, 1]
    assert [call.function.name for call in message.tool_calls] == ["f", "g"]
    assert (parser.current_tool_id, parser.current_tool_name_sent) == (1, True)


def test_buffered_text_is_emitted_at_the_end():
    parser = made(TAGS)
    assert streamed(parser, ["a <cal"]) == ("a <cal", "", [])
    assert made(TAGS).finish_streaming() is None


def test_attributes_before_the_first_call():
    parser = made(TAGS)
    assert (parser.current_tool_id, parser.current_tool_name_sent) == (-1, False)
    assert (parser.prev_tool_call_arr, parser.streamed_args_for_tool) == ([], [])
    assert parser.get_remaining_unstreamed_args() == ""


CHOICES = [
    ({"tool_choice": "none"}, []),
    ({"tools": [], "tool_choice": "auto"}, []),
    ({"tool_choice": "auto"}, ["f"]),
    ({"tool_choice": None}, ["f"]),
    ({"tool_choice": "validated"}, ["f"]),
    ({"tool_choice": "required"}, ["f"]),
    ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, ["f"]),
    ({"tool_choice": SimpleNamespace(function=SimpleNamespace(name="f"))}, ["f"]),
    ({"tools": [SimpleNamespace(function=SimpleNamespace(name="f", parameters={}))]}, ["f"]),
    ({"tools": [SimpleNamespace(model_dump=lambda: {"type": "function", "name": "f"})]}, ["f"]),
    ({"tools": [SimpleNamespace(function={"name": "f"})]}, ["f"]),
]


@pytest.mark.parametrize(("fields", "names"), CHOICES)
def test_request_may_have_any_type(fields, names):
    content, _, calls = streamed(made(TAGS), [CALL], request(**fields))
    assert [name for _, name, _ in calls] == names
    assert content == ("" if names else CALL)
    assert whole(made(TAGS), CALL, request(**fields)) == (content, "", calls)


def test_tools_may_be_passed_to_the_constructor():
    wire = "<tool_call>\n<function=f>\n<parameter=n>\n2\n</parameter>\n</function>\n</tool_call>"
    tool = {"name": "f", "parameters": {"properties": {"n": {"type": "string"}}}}
    kind = vllm_tool_parser("qwen3_coder")
    for parser, asked in (
        (kind(Tokens(), [{"type": "function", "function": tool}]), None),
        (kind(Tokens()), request(tools=[tool])),
    ):
        (call,) = parser.extract_tool_calls(wire, asked).tool_calls
        assert call.function.arguments == '{"n": "2"}'


def test_policies_are_passed_to_the_parser():
    asked = request(tools=[{"name": "g"}])
    parser = made(TAGS, policies=Policies(unknown_tool="text"))
    assert streamed(parser, [CALL], asked) == (CALL, "", [])


def test_ids_are_unique_per_turn_and_ids_of_the_model_are_kept():
    kind = vllm_tool_parser(TAGS)
    first, second = (whole(kind(Tokens()), CALL)[2][0][0] for _ in range(2))
    assert first != second
    text = '[CALLS][{"name": "f", "arguments": {}, "id": "abc"}]'
    assert whole(vllm_tool_parser(LIST)(Tokens()), text)[2] == [("abc", "f", "{}")]


def test_remaining_reasoning_is_content():
    text = f"<think>\nhm\n</think>\n\nHi\n{CALL}"
    for got in (streamed(made(TAGS), list(text)), whole(made(TAGS), text)):
        assert got[0] == "<think>hm</think>Hi"
        assert [call[1] for call in got[2]] == ["f"]


def test_skip_reasoning_parsing_reads_the_complete_response():
    text = f"hm\n[FINAL]\n{CALL}"
    behind, alone = made(DELIMITED), made(DELIMITED)
    alone.skip_reasoning_parsing = True  # as vLLM does without a reasoning parser
    assert [call[1] for call in streamed(behind, [CALL])[2]] == ["f"]
    content, _, calls = streamed(alone, list(text))
    assert (content, len(calls)) == ("<think>hm</think>", 1)
    assert made(DELIMITED, whole=True).skip_reasoning_parsing


def test_delimited_format_without_headers():
    fmt = DELIMITED.replace(turn={"headers": ()})
    assert len(streamed(made(fmt), [CALL])[2]) == 1


def test_truncated_call_is_emitted_unchanged():
    text = CALL[: CALL.index("1}")]
    got = streamed(made(TAGS), list(text))
    assert got == whole(made(TAGS), text)
    assert got[2][0][2] == '{"a": '


def test_objects_share_no_state():
    kind = vllm_tool_parser(TAGS, id_factory=call_id)
    one, two = kind(Tokens()), kind(Tokens())
    got = {one: [], two: []}
    for chunks in zip(CALL + "  ", OTHER, strict=False):
        for parser, chunk in zip((one, two), chunks, strict=True):
            answer = parser.extract_tool_calls_streaming("", "", chunk, [], [], [], request())
            got[parser].append(answer)
    names = [fold([*got[parser], parser.finish_streaming()])[2][0][1] for parser in (one, two)]
    assert names == ["f", "g"]
    assert not vars(kind).keys() & {"_parser", "wire_format"}


@pytest.mark.parametrize("fmt", [TAGS, UNMARKED, LIST, DELIMITED])
def test_tokens_and_earlier_texts_are_ignored(fmt):
    text = f"[CALLS][{CALL[7:-8]}]" if fmt is LIST else CALL
    if fmt is UNMARKED:
        # Without tools in the request, only the format's own spelling is a call.
        text = CALL[7:-8].replace("arguments", "parameters")
    for texts in chunkings(text):
        parser, so_far, got = made(fmt), "", []
        for chunk in texts:
            answer = parser.extract_tool_calls_streaming(
                so_far, so_far + chunk, chunk, ids(so_far), ids(so_far + chunk), ids(chunk), None
            )
            got.append(answer)
            so_far += chunk
        assert fold([*got, parser.finish_streaming()])[2][0][1:] == ("f", '{"a": 1}')


def test_request_is_set_to_keep_special_tokens(monkeypatch):
    tools = [{"type": "function", "function": {"name": "f"}}]
    asked = request(skip_special_tokens=True, tools=tools)
    assert made(TAGS).adjust_request(asked) is asked
    assert asked.skip_special_tokens is False
    install_vllm(monkeypatch)
    assert made(TAGS).adjust_request(request()).adjusted_by_base


PLACES = [
    ("reasoning", "entrypoints.generate.base.protocol"),
    ("reasoning", "entrypoints.openai.engine.protocol"),
    ("reasoning_content", "entrypoints.openai.protocol"),
]


@pytest.mark.parametrize(("field", "where"), PLACES)
def test_results_use_the_classes_of_vllm(monkeypatch, field, where):
    install_vllm(monkeypatch, reasoning=field, where=where)
    protocol = __import__(f"vllm.{where}", fromlist=["DeltaMessage"])
    parser = made(TAGS)
    message = parser.extract_tool_calls_streaming("", CALL, CALL, [], [], [], request())
    assert type(message) is protocol.DeltaMessage
    assert message.fields_set == {"tool_calls"}
    (call,) = message.tool_calls
    assert call.fields_set == {"index", "id", "type", "function"}
    assert type(parser.extract_tool_calls(CALL, None)) is protocol.ExtractedToolCallInformation
    thinking = vllm_reasoning_parser(TAGS)(Tokens())
    text = "<think>\nhm"
    message = thinking.extract_reasoning_streaming("", text, text, [], [], [])
    assert getattr(message, field) == "hm"
    assert message.fields_set == {field}


def test_plugins_are_registered_under_a_name(monkeypatch):
    with pytest.raises(UsageError, match=r"requires vLLM .* not installed"):
        register_vllm_parsers("mine", TAGS)
    tools, thoughts = install_vllm(monkeypatch)
    register_vllm_parsers("mine", TAGS, call_ends_reasoning=True)
    register_vllm_parsers("channels", "gpt_oss")
    register_vllm_parsers("found", lambda tokenizer: TAGS)
    assert list(tools.registered) == ["mine", "channels", "found"]
    # vLLM reads the reasoning of gpt-oss itself, because it cannot be split off.
    assert list(thoughts.registered) == ["mine", "found"]
    assert thoughts.registered["mine"].call_ends_reasoning
    parser = tools.registered["mine"](Tokens())
    assert isinstance(parser, tools.base)
    assert not parser.supports_required_and_named
    assert streamed(tools.registered["found"](Tokens()), [CALL])[2][0][1] == "f"


def test_registered_format_has_a_parser():
    register_format("adapters-own", TAGS, replace=True)
    assert vllm_tool_parser("adapters-own").__name__ == "AdaptersOwnVllmToolParser"


@pytest.mark.parametrize("name", sorted(name for name, wire in WIRES.items() if wire.one))
def test_every_named_format_is_supported(name):
    wire, fmt = WIRES[name], get_format(name)
    thinks = wire.thinks.endswith("Hi") and not fmt.channels.message
    text = wire.thinks.removesuffix("Hi") + wire.one if thinks else wire.one
    expected = as_joined(parse(text, fmt))
    for texts in ([text], list(text)):
        if fmt.channels.message:
            got = streamed(made(fmt, whole=True), texts)
        else:
            got = serve(vllm_reasoning_parser(fmt)(Tokens()), made(fmt), texts, request())
        assert got[:2] == expected[:2]
        assert [call[1:] for call in got[2]] == [call[1:] for call in expected[2]] != []
