"""Regression tests for the use of the plugins in vLLM's serving code."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deltaparse import Policies, ToolFormat, get_format, parse
from deltaparse.servers import vllm_reasoning_parser, vllm_tool_parser
from deltaparse.servers.vllm_structure import calls_of

from ..strategies.wire_by_hand import CALL, LIST, TAGS, UNMARKED, chunkings
from ..strategies.wire_named import WIRES
from .fake_servers import Tokens, ids, put, request, serve, serve_whole, streamed

PROMPT = "<|start|>user\nhi<|end|><|start|>model\n"
CLOSED, OPENED = PROMPT + "<think>\n\n</think>\n\n", PROMPT + "<think>\n"
LISTED = '[{"name": "f", "parameters": {"a": 1}}, {"name": "g", "parameters": {}}]'
NAMED = {"type": "function", "function": {"name": "f"}}


class Special(Tokens):
    """A tokenizer with special tokens, and one token per other character."""

    special = ("<call>", "<|pad|>")
    all_special_tokens = special

    def convert_tokens_to_ids(self, token):
        return 0x110000 + self.special.index(token)

    def decode(self, ids):
        return "".join(self.special[id - 0x110000] if id >= 0x110000 else chr(id) for id in ids)


def both(fmt, **options):
    return vllm_reasoning_parser(fmt, **options)(Tokens()), vllm_tool_parser(fmt)(Tokens())


@pytest.mark.parametrize(
    ("prompt", "text", "reasoning", "content"),
    [
        (CLOSED, f"Hi\n{CALL}", "", "Hi"),
        (OPENED, f"hm\n</think>\n\nHi\n{CALL}", "hm", "Hi"),
        (PROMPT, f"<think>\nhm\n</think>\n\nHi\n{CALL}", "hm", "Hi"),
        (PROMPT, f"Hi\n{CALL}", "", "Hi"),
    ],
)
def test_complete_response_starts_in_the_state_of_its_prompt(prompt, text, reasoning, content):
    forced = TAGS.replace(reasoning={"mode": "FORCED_OPEN"}, turn={"generation_prompt": OPENED})
    for fmt in (TAGS, forced):
        thinking, calling = both(fmt)
        thinking.set_prompt_token_ids(ids(prompt))
        got = serve_whole(thinking, calling, text, request())
        assert got[:2] == (content, reasoning)
        assert [call[1] for call in got[2]] == ["f"]


@pytest.mark.parametrize("fmt", [TAGS, UNMARKED, LIST])
@pytest.mark.parametrize(
    ("choice", "text", "calls"),
    [
        ("required", LISTED, [("f", '{"a": 1}'), ("g", "{}")]),
        (NAMED, '{"a": 1}', [("f", '{"a": 1}')]),
    ],
)
def test_forced_calls_in_json_are_parsed(fmt, choice, text, calls):
    schema = {"type": "array"} if choice == "required" else {"type": "object"}
    tools = [{"name": name} for name in ("f", "g")]
    outputs = SimpleNamespace(json=schema, structural_tag=None)
    asked = request(tools=tools, tool_choice=choice, structured_outputs=outputs)
    for texts in chunkings(text):
        got = streamed(vllm_tool_parser(fmt)(Tokens()), texts, asked)
        assert (got[0], [call[1:] for call in got[2]]) == ("", calls)
    info = vllm_tool_parser(fmt)(Tokens()).extract_tool_calls(text, asked)
    assert [(one.function.name, one.function.arguments) for one in info.tool_calls] == calls


def test_forced_calls_are_left_to_the_plugin():
    assert vllm_tool_parser(TAGS).supports_required_and_named is False
    assert vllm_tool_parser(TAGS).structural_tag_model


def test_schema_of_the_user_is_not_a_schema_of_calls():
    outputs = SimpleNamespace(json={"type": "array"}, structural_tag=None)
    assert calls_of(request(tools=[NAMED], structured_outputs=outputs)) == "format"
    outputs = SimpleNamespace(json='{"type": "object"}', structural_tag=None)
    asked = request(tools=[NAMED], tool_choice="required", structured_outputs=outputs)
    assert calls_of(asked) == "format"


def test_forced_calls_without_a_tag_are_constrained_to_json(monkeypatch):
    put(
        monkeypatch,
        "vllm.tool_parsers.utils",
        get_json_schema_from_tools=lambda **asked: {"type": "array"} | asked,
    )
    put(monkeypatch, "vllm.sampling_params", StructuredOutputsParams=SimpleNamespace)
    asked = request(
        tools=[NAMED],
        tool_choice="required",
        parallel_tool_calls=True,
        structured_outputs=None,
        response_format={"type": "text"},
    )
    adjusted = vllm_tool_parser(TAGS)(Tokens()).adjust_request(asked)
    assert adjusted.structured_outputs.json["type"] == "array"
    assert adjusted.response_format is None
    assert calls_of(adjusted) == "json"
    tag = SimpleNamespace(json=None, structural_tag="{}")
    kept = vllm_tool_parser(TAGS)(Tokens()).adjust_request(
        request(tools=[NAMED], tool_choice="required", structured_outputs=tag)
    )
    assert kept.structured_outputs is tag


@pytest.mark.parametrize("name", ["hermes", "kimi_k2", "mistral"])
def test_arguments_of_explicitly_nonstrict_tools_are_free(monkeypatch, name):
    """SDKs send `False`, and all arguments except empty ones were refused."""
    tag = type("StructuralTag", (), {"model_validate": staticmethod(lambda made: made)})
    put(monkeypatch, "xgrammar", StructuralTag=tag)
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    asked = request(tools=[{"type": "function", "function": tool}], tool_choice="required")
    parser = vllm_tool_parser(name)(Tokens())
    free = parser.get_structural_tag(asked)
    tool["strict"] = False
    assert parser.get_structural_tag(asked) == free
    assert "f-other" in str(free)


def test_structural_tag_respects_strict_tools_and_one_call(monkeypatch):
    tag = type("StructuralTag", (), {"model_validate": staticmethod(lambda made: made)})
    put(monkeypatch, "xgrammar", StructuralTag=tag)
    schema = {"type": "object", "properties": {"strictly": {"type": "string"}}}
    tool = {"name": "f", "parameters": schema, "strict": None}
    asked = request(tools=[{"type": "function", "function": tool}], parallel_tool_calls=False)
    parser = vllm_tool_parser(TAGS)(Tokens())
    free = parser.get_structural_tag(asked)
    assert "strictly" not in str(free)
    asked.parallel_tool_calls = True
    assert parser.get_structural_tag(asked) != free
    asked.parallel_tool_calls = False
    assert "strictly" in str(parser.get_structural_tag(asked, strict_level=2))
    tool["strict"] = True
    assert "strictly" in str(parser.get_structural_tag(asked))
    put(monkeypatch, "vllm.envs", VLLM_ENFORCE_STRICT_TOOL_CALLING=False)
    assert parser.get_structural_tag(asked) is None
    assert parser.get_structural_tag(request(tools=[{"type": "web_search"}])) is None


SEPARATE = (ToolFormat.TAG_WITH_TAGGED, ToolFormat.PYTHONIC)
TAGGED = [name for name in WIRES if get_format(name).tools.format in SEPARATE]


@pytest.mark.parametrize("name", TAGGED)
def test_nonstrict_tool_keeps_argument_names_in_tagged_formats(monkeypatch, name):
    tag = type("StructuralTag", (), {"model_validate": staticmethod(lambda made: made)})
    put(monkeypatch, "xgrammar", StructuralTag=tag)
    properties = {"city": {"type": "string"}, "days": {"enum": ["overmorrow"]}}
    schema = {"type": "object", "properties": properties, "required": ["city"]}
    tool = {"name": "f", "parameters": schema, "strict": None}
    asked = request(tools=[{"type": "function", "function": tool}], tool_choice="required")
    parser = vllm_tool_parser(name)(Tokens())
    free = str(parser.get_structural_tag(asked))
    assert "city" in free
    assert "days" in free
    assert "overmorrow" not in free
    # A tag cannot express arguments with any names, so calls are forced as JSON.
    tool["parameters"] = {"type": "object"}
    assert parser.get_structural_tag(asked) is None


CUSTOM = {"type": "custom", "name": "c"}
SPACE = {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f"}]}
SEARCH = {"type": "web_search"}


@pytest.mark.parametrize(
    ("tools", "choice", "names"),
    [
        ([NAMED, SEARCH], "auto", ["f"]),
        ([NAMED, SEARCH], {"type": "web_search"}, ["f"]),
        ([NAMED, SEARCH], {"type": "mcp", "server_label": "s"}, ["f"]),
        ([SEARCH], "required", []),
        ([SEARCH], "auto", []),
        ([CUSTOM], {"type": "custom", "name": "c"}, ["f"]),
        ([NAMED], {"type": "function", "name": "other"}, ["f"]),
        ([NAMED], {"type": "allowed_tools", "mode": "auto", "tools": [NAMED]}, ["f"]),
        ([NAMED, CUSTOM], {"type": "allowed_tools", "mode": "auto", "tools": [CUSTOM]}, ["f"]),
        ([NAMED], {"type": "allowed_tools", "mode": "required", "tools": [SEARCH]}, []),
    ],
)
def test_tools_other_than_functions_are_ignored(tools, choice, names):
    asked = request(tools=tools, tool_choice=choice)
    got = streamed(vllm_tool_parser(TAGS)(Tokens()), list(CALL), asked)
    assert [call[1] for call in got[2]] == names
    assert got[0] == ("" if names else CALL)


def test_custom_tools_and_namespaces_become_functions():
    wire = (
        "<tool_call>\n<function={}>\n<parameter=input>\n12\n</parameter>\n</function>\n</tool_call>"
    )
    asked = request(tools=[CUSTOM, SPACE])
    parser = vllm_tool_parser("qwen3_coder", policies=Policies(unknown_tool="text"))(Tokens())
    (call,) = parser.extract_tool_calls(wire.format("c"), asked).tool_calls
    assert call.function.arguments == '{"input": "12"}'
    assert parser.extract_tool_calls(wire.format("n__f"), asked).tools_called
    assert not parser.extract_tool_calls(wire.format("f"), asked).tools_called


def test_reasoning_is_over_in_a_response_without_it():
    for before in ("", PROMPT, CLOSED):
        parser, text = vllm_reasoning_parser(TAGS)(Tokens()), before + "Hi, you"
        steps = [
            parser.is_reasoning_end_streaming(ids(text[:end]), ids(text[end - 1 : end]))
            for end in range(len(before) + 1, len(text) + 1)
        ]
        assert all(steps)


def test_withdrawn_draft_tokens_have_no_effect():
    parser, text = vllm_reasoning_parser(TAGS)(Tokens()), PROMPT + "<think>\nhm"
    for end in range(len(PROMPT) + len("<think>"), len(text) + 1):
        draft = text[:end] + "</think>"
        assert parser.is_reasoning_end_streaming(ids(draft), ids("</think>"))
        assert not parser.is_reasoning_end_streaming(ids(text[:end]), ids(text[end - 1 : end]))


@pytest.mark.parametrize("name", ["gemma4"])
def test_turn_may_reason_again_after_a_tool_response(name):
    fmt = get_format(name)
    prompt = fmt.turn.headers[0] + WIRES[name].thinks.removesuffix("Hi") + WIRES[name].one
    prompt += "<|tool_response>response:f{n:1}<tool_response|>"
    parser = vllm_reasoning_parser(fmt)(Tokens())
    assert not parser.is_reasoning_end(ids(prompt))
    for text in (WIRES[name].thinks, "Hi"):
        message = parse(text, fmt, prompt=prompt)
        parser.set_prompt_token_ids(ids(prompt))
        got = parser.extract_reasoning(text)
        assert (got[0] or "", got[1]) == (message.reasoning_content, "Hi")


def test_template_switches_determine_an_unknown_prompt():
    tokenizer = Tokens()
    tokenizer.chat_template = (
        "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>"
        "{% endfor %}{% if add_generation_prompt %}<|start|>model\n"
        "{% if thinking %}<think>\n{% endif %}{% endif %}"
    )
    kind = vllm_reasoning_parser(TAGS)
    for switches, expected in (({"thinking": True}, ("hm", "Hi")), ({}, (None, "hm</think>Hi"))):
        parser = kind(tokenizer, chat_template_kwargs=switches)
        assert parser.extract_reasoning("hm</think>Hi") == expected


def test_unclosed_reasoning_may_be_copied_to_content():
    for policies, copied in ((Policies(unclosed_reasoning="copy"), "hm"), (Policies(), None)):
        kind = vllm_reasoning_parser(TAGS, policies=policies)
        for texts in chunkings("<think>\nhm"):
            parser = kind(Tokens())
            for text in texts:
                parser.extract_reasoning_streaming("", "", text, [], [], ids(text))
            assert parser.get_streaming_fallback_content("", None) == copied
            parser.finish_streaming()
        assert kind(Tokens()).extract_reasoning("<think>\nhm") == ("hm", copied)
        # A draft is not copied, because the tool parser could read it as a call.
        assert kind(Tokens()).extract_reasoning(f"<think>\nhm{CALL}")[1] is None


def owner(**parsers):
    """A fake of vLLM's `Parser` with the classes of its parsers."""
    return type("Parser", (), {"reasoning_parser_cls": None, "tool_parser_cls": None} | parsers)


@pytest.mark.parametrize("name", ["ernie45", "granite", "hunyuan_a13b", "command_r7b", "qwen3"])
def test_reasoning_parser_without_tool_parser_leaves_no_markers(name):
    fmt, text = get_format(name), WIRES.get(name, WIRES["qwen25"]).thinks
    kind = vllm_reasoning_parser(fmt)
    assert owner(reasoning_parser_cls=kind, tool_parser_cls=object).reasoning_parser_cls is kind
    alone = owner(reasoning_parser_cls=kind).reasoning_parser_cls
    assert issubclass(alone, kind)
    assert alone(Tokens()).extract_reasoning(text) == ("hm", "Hi")
    for texts in chunkings(text):
        parser = alone(Tokens())
        got = [
            parser.extract_reasoning_streaming("", "", chunk, [], [], ids(chunk)) for chunk in texts
        ]
        assert not parser.has_engine_confirmed_reasoning_end()
        got = [one for one in (*got, parser.finish_streaming()) if one]
        assert "".join(one.content or "" for one in got) == "Hi"
        assert "".join(one.reasoning or "" for one in got) == "hm"


@pytest.mark.parametrize("known", [True, False])
def test_stray_special_tokens_are_removed(known):
    text = "a<|pad|>b<|pa"
    for texts in ([text], list(text), ["a<|p", "ad|>b<|pa"]):
        parser = vllm_tool_parser(TAGS)(Special())
        got = []
        for at, chunk in enumerate(texts):
            tokens = [ord("a"), 0x110001] if known and not at else ids(chunk) if known else []
            got.append(
                parser.extract_tool_calls_streaming("", "", chunk, [], [], tokens, request())
            )
        got = [one.content for one in (*got, parser.finish_streaming()) if one]
        assert "".join(got) == "ab<|pa"
    assert vllm_tool_parser(TAGS)(Special()).extract_tool_calls(text, None).content == "ab<|pa"
    kept = vllm_tool_parser(TAGS, policies=Policies())(Special())
    assert kept.extract_tool_calls(text, None).content == text


def test_text_like_a_special_token_is_kept_with_token_ids():
    parser, text = vllm_tool_parser(TAGS)(Special()), "a<|pad|>b"
    got = parser.extract_tool_calls_streaming("", "", text, [], [], ids(text), request())
    assert got.content == text


def test_special_tokens_are_requested_only_if_needed():
    tools = [{"type": "function", "function": {"name": "f"}}]
    for fmt, needed in ((TAGS, True), (LIST, False)):
        asked = request(skip_special_tokens=True, tools=tools)
        assert vllm_tool_parser(fmt)(Special()).adjust_request(asked) is asked
        assert asked.skip_special_tokens is not needed
        asked = request(skip_special_tokens=True)
        vllm_reasoning_parser(fmt)(Special()).adjust_request(asked)
        assert asked.skip_special_tokens is not needed


def test_both_parsers_agree_streamed_and_complete():
    for prompt, text in ((OPENED, f"hm</think>Hi{CALL}"), (PROMPT, f"<think>hm</think>{CALL}")):
        for texts in chunkings(text):
            thinking, calling = both(TAGS)
            thinking.set_prompt_token_ids(ids(prompt))
            whole = serve_whole(thinking, calling, text, request())
            thinking, calling = both(TAGS)
            thinking.set_prompt_token_ids(ids(prompt))
            got = serve(thinking, calling, texts, request())
            assert got[:2] == whole[:2]
            assert [call[1:] for call in got[2]] == [call[1:] for call in whole[2]] != []


def test_special_tokens_are_not_requested_without_callable_tools():
    tools = [{"type": "function", "function": {"name": "f"}}]
    for fields in ({"tools": None}, {"tools": tools, "tool_choice": "none"}):
        asked = request(skip_special_tokens=True, **fields)
        assert vllm_tool_parser(TAGS)(Special()).adjust_request(asked).skip_special_tokens
        # Without a reasoning parser, the tool parser reads reasoning, too.
        alone = vllm_tool_parser(TAGS)(Special())
        alone.skip_reasoning_parsing = True
        assert not alone.adjust_request(asked).skip_special_tokens


def test_spaces_around_special_tokens_are_disabled():
    for made in (vllm_tool_parser(TAGS), vllm_reasoning_parser(TAGS)):
        tools = [{"type": "function", "function": {"name": "f"}}]
        asked = request(tools=tools, spaces_between_special_tokens=True)
        assert made(Special()).adjust_request(asked).spaces_between_special_tokens is False
