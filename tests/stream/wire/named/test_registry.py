"""Tests of names, aliases and registration of formats."""

from __future__ import annotations

import json

import pytest

from deltaparse import (
    FormatError,
    UsageError,
    WireFormat,
    get_format,
    list_formats,
    parse,
    register_format,
)
from deltaparse.stream.wire.named import registry

from ....strategies.wire_by_hand import MINE, MINE_CALL

OURS = """simple_xml xml qwen25 qwen qwen3 qwen3_coder deepseekv31 deepseek_v31 deepseek
gpt_oss"""
PEERS = """hermes mistral llama3_json llama3 llama4_json llama4_pythonic pythonic glm glm45 glm47
kimi_k2 seed_oss minimax_m2 minimax-m2 step3 step3p5 granite granite4 granite-20b-fc apertus
cohere_command3 deepseek_v3 deepseekv3 gpt-oss openai qwen3_xml mimo internlm interns1 jamba lfm2
olmo3 phi4_mini_json longcat ernie45 hunyuan hunyuan_a13b deepseek_v41 cohere_command4 gigachat3
hy_v4 k2_horizon kimi_k3 minimax-m3 muse_glimmer plamo3 holo2 qwen3-thinking nemotron_3
granite_thinking_parser"""


@pytest.mark.parametrize("name", [*OURS.split(), *PEERS.split()])
def test_names_ignore_case_and_spelling_of_separators(name):
    fmt = get_format(name)
    assert get_format(name.upper()) is fmt
    assert get_format(f" {name.replace('_', '-')} ") is fmt


def test_names_and_aliases_are_unique():
    names = [text for name, aliases in list_formats().items() for text in (name, *aliases)]
    assert len(set(names)) == len(names)
    assert all(text == registry._normalized(text) for text in names)


def test_list_formats_returns_names_with_aliases():
    assert set(list_formats()["qwen25"]) >= {"qwen", "qwen3"}
    assert list(list_formats()) == sorted(list_formats())
    assert all(registry.models_of(name) for name in list_formats())


def test_unproved_aliases_are_aliases():
    for name, aliases in list_formats().items():
        assert set(registry.unproved_aliases(name)) <= set(aliases)
    assert registry.unproved_aliases("nanbeige") == ("nanbeige",)


@pytest.mark.parametrize(
    ("name", "offered"),
    [("herms", "'hermes'"), ("Qwen-3-Coder", "'qwen3_coder'"), ("deepseekv3.1", "'deepseekv31'")],
)
def test_unknown_name_raises_with_suggestions(name, offered):
    with pytest.raises(UsageError, match="no format is called") as raised:
        get_format(name)
    assert name in str(raised.value)
    assert offered in str(raised.value)


def test_at_most_three_names_are_suggested():
    said = registry.nearest("name-1", ["name_1", "name_2", "name_3", "name_4", "other"])
    assert said.startswith("did you mean 'name_1' or ")
    assert said.count("'name_") == 3
    assert registry.nearest("A-B", ["ab", "a_b"]).startswith("did you mean 'a_b' or 'ab'? ")


def test_unknown_name_without_similar_names_refers_to_the_list():
    with pytest.raises(UsageError, match=r"^no format is called 'zzzzzz'; `deltaparse formats`"):
        get_format("zzzzzz")


class Vocabulary:
    """A tokenizer with only the vocabulary."""

    def __init__(self, *tokens):
        self.tokens = tokens

    def get_vocab(self):
        return {token: at for at, token in enumerate(self.tokens)}


@pytest.mark.parametrize(
    ("name", "tokens", "meant"),
    [
        ("mistral", (), "mistral"),
        ("vllm:mistral", ("[TOOL_CALLS]", "[ARGS]"), "mistral_small"),
        ("sglang:mistral", ("[TOOL_CALLS]", "[ARGS]", "[THINK]"), "ministral"),
        # The name of one version is not changed by the tokenizer.
        ("mistral_v3", ("[TOOL_CALLS]", "[ARGS]"), "mistral"),
        ("gigachat3", ("<|function_call|>",), "gigachat31"),
        ("sglang:hunyuan", ("<tool_calls:opensource>",), "hy3"),
        ("hermes", ("[ARGS]",), "hermes"),
    ],
)
def test_tokenizer_selects_the_version_of_a_format(name, tokens, meant):
    assert get_format(name, Vocabulary(*tokens)) is get_format(meant)
    assert get_format(name, object()) is get_format(name)


def test_format_selected_by_a_tokenizer_can_be_replaced():
    register_format("ministral", MINE, replace=True)
    assert get_format("mistral", Vocabulary("[THINK]")) is MINE
    register_format("mistral", MINE, replace=True)
    assert get_format("mistral", Vocabulary("[ARGS]")) is MINE


def test_name_selected_by_a_tokenizer_can_become_an_alias():
    register_format("mine", MINE, ["ministral"], replace=True)
    assert get_format("ministral") is MINE
    assert "ministral" not in list_formats()
    assert get_format("mistral", Vocabulary("[THINK]")) is get_format("mistral")
    assert get_format("mistral", Vocabulary("[THINK]", "[ARGS]")) is get_format("mistral_small")


def test_name_with_the_prefix_of_a_server():
    assert get_format("sglang:hunyuan") == get_format("hy_v3") != get_format("hunyuan")
    assert get_format("vllm:granite") == get_format("granite32") != get_format("granite")
    assert get_format("sglang:kimi") == get_format("kimi_thinking") != get_format("kimi")
    assert get_format("sglang:muse") == get_format("muse_glimmer")
    assert get_format("vllm:hunyuan_a13b") == get_format("hunyuan")
    assert get_format("vLLM:Hermes") == get_format("hermes")
    with pytest.raises(UsageError, match="no format is called 'vllm:zzzzzz'"):
        get_format("vllm:zzzzzz")


@pytest.mark.parametrize("name", ["", "  ", None, 3])
def test_invalid_name_raises(name):
    with pytest.raises(UsageError, match="the name of a format must be a string"):
        get_format(name)


def test_registered_format_is_found_and_listed():
    assert register_format("Mine", MINE, aliases=["my-own"]) is MINE
    assert get_format("mine") is get_format("MY_OWN") is MINE
    assert list_formats()["mine"] == ("my_own",)
    assert registry.models_of("mine") == ""
    assert parse(MINE_CALL, get_format("mine")).tool_calls
    assert registry.all_formats()[-1] == ("mine", MINE)
    assert ("hermes", get_format("hermes")) in registry.all_formats()
    assert registry.models_of("no such name") == ""


def test_registration_invalidates_cached_results():
    made = []

    def make(formats):
        made.append([name for name, _ in formats])
        return len(made)

    assert [registry.of_all_formats(make) for _ in range(3)] == [1, 1, 1]
    register_format("mine", MINE)
    assert [registry.of_all_formats(make) for _ in range(3)] == [2, 2, 2]
    assert made[0] == [name for name in made[1] if name != "mine"] != made[1]


def test_alias_equal_to_the_name_is_ignored():
    register_format("Mine", MINE, aliases=["mine", "a-b", "A_b"])
    assert list_formats()["mine"] == ("a_b",)


def test_format_is_registered_from_a_file(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text("\ufeff" + MINE.to_json(), encoding="utf-8")
    register_format("a", path)
    register_format("b", str(path))
    assert get_format("a") == get_format("b") == MINE


def test_taken_name_requires_replace():
    for name, aliases in (("hermes", ()), ("mine", ["qwen"])):
        with pytest.raises(UsageError, match="already exists, pass replace=True"):
            register_format(name, MINE, aliases)
    assert "mine" not in list_formats()
    register_format("hermes", MINE, ["qwen"], replace=True)
    assert get_format("hermes") is get_format("qwen") is MINE
    assert "qwen" not in list_formats()["qwen25"]
    assert "hermes2" not in str(list_formats())


@pytest.mark.parametrize("text", ["no json", "[]", '{"no_such": 1}', '{"tools": {"format": "X"}}'])
def test_file_without_a_format_raises(tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=r"bad\.json: "):
        register_format("bad", path)
    assert "bad" not in list_formats()


def test_invalid_registration_raises(tmp_path):
    with pytest.raises(UsageError, match="no_such_file"):
        register_format("bad", tmp_path / "no_such_file.json")
    with pytest.raises(UsageError, match="fmt must be a WireFormat or the path"):
        register_format("bad", {"tools": {}})
    with pytest.raises(UsageError, match="aliases must be a list of names"):
        register_format("bad", MINE, "alias")
    with pytest.raises(UsageError, match="the name of a format must be a string"):
        register_format("", MINE)


def test_built_in_format_is_cached():
    assert get_format("hermes") is get_format("hermes2")
    assert isinstance(get_format("hermes"), WireFormat)
    assert not get_format("hermes").verified


def test_names_are_read_on_first_use(monkeypatch):
    monkeypatch.setattr(registry.Registered, "entries", None)
    assert "hermes" in list_formats()
    entries = registry.Registered.entries
    assert entries is registry._entries() is not None


def test_format_can_be_registered_before_first_use(monkeypatch):
    monkeypatch.setattr(registry.Registered, "entries", None)
    register_format("mine", MINE)
    assert get_format("mine") is MINE
    assert "hermes" in list_formats()


def test_registration_during_the_first_read_is_kept(monkeypatch):
    loads = json.loads

    def meanwhile(text):
        monkeypatch.setattr(json, "loads", loads)
        register_format("mine", MINE)
        return loads(text)

    monkeypatch.setattr(registry.Registered, "entries", None)
    monkeypatch.setattr(json, "loads", meanwhile)
    assert "hermes" in list_formats()
    assert get_format("mine") is MINE
