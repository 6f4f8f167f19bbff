"""Tests of loading templates from tokenizers, files, model folders and GGUF files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from deltaparse import ChatTemplate, UsageError
from deltaparse.analyzer.template.loading import GgufKeys, Loaded, load_template

from ...strategies.gguf_files import gguf

SOURCE = "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}"
CONFIG = {
    "chat_template": SOURCE,
    "bos_token": "<s>",
    "eos_token": {"content": "</s>", "special": True},
    "added_tokens_decoder": {"1": {"content": "<call>"}, "2": {"content": "</call>"}},
}
WHOLE = Loaded(SOURCE, "<s>", "</s>", ("<call>", "</call>"))
NAMED = [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]


def write(path, value):
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "tokenizer_config.json", CONFIG)
    return tmp_path


def test_a_template_of_a_tokenizer_is_rendered_with_its_tokens():
    tokenizer = SimpleNamespace(chat_template=SOURCE, bos_token="<s>", eos_token="</s>")
    template = ChatTemplate.load(tokenizer)
    assert template.render([{"role": "user", "content": "Hi"}]) == "<s>Hi</s>"


def test_a_tokenizer_may_have_several_templates_and_tokens_of_its_own():
    tokenizer = SimpleNamespace(
        chat_template={"default": "d", "rag": "r"},
        bos_token=None,
        eos_token="</s>",
        get_added_vocab=lambda: {"<call>": 7},
    )
    assert load_template(tokenizer, None) == Loaded("d", "", "</s>", ("<call>",))
    assert load_template(tokenizer, "rag").source == "r"
    with pytest.raises(UsageError, match=r"no chat_template named 'tool_use'; .*'default', 'rag'$"):
        load_template(tokenizer, "tool_use")
    tokenizer.chat_template = {"rag": "r"}
    with pytest.raises(UsageError, match='no chat_template named "tool_use" or "default"; '):
        load_template(tokenizer, None)


def test_the_tokens_of_a_processor_are_those_of_its_tokenizer():
    tokenizer = SimpleNamespace(chat_template="own", bos_token="<s>", eos_token="</s>")
    processor = SimpleNamespace(chat_template=SOURCE, tokenizer=tokenizer)
    assert load_template(processor, None) == Loaded(SOURCE, "<s>", "</s>")
    processor = SimpleNamespace(chat_template=None, tokenizer=tokenizer)
    assert load_template(processor, None) == Loaded("own", "<s>", "</s>")


class Somewhere:
    """A path of another library."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return str(self.path)


def test_one_of_more_templates_has_the_tokens_of_its_folder(folder):
    (folder / "additional_chat_templates").mkdir()
    path = write(folder / "additional_chat_templates" / "rag.jinja", "r")
    for given in (path, str(path), Somewhere(path)):
        assert load_template(given, None) == replace(WHOLE, source="r")


@pytest.mark.parametrize("source", [7, None, object()])
def test_source_without_a_template_is_refused(source):
    with pytest.raises(UsageError, match="a path or a tokenizer"):
        load_template(source, None)


def test_folders_and_their_files_give_the_same(folder):
    for source in (folder, str(folder), folder / "tokenizer_config.json"):
        assert load_template(source, None) == WHOLE
    write(folder / "chat_template.jinja", "beside")
    for source in (folder, folder / "chat_template.jinja"):
        assert load_template(source, None) == Loaded("beside", *("<s>", "</s>"), WHOLE.added_tokens)


def test_named_file_takes_precedence_over_its_folder(folder):
    write(folder / "chat_template.jinja", "beside")
    assert load_template(folder / "tokenizer_config.json", None) == WHOLE
    capitals = write(folder / "OTHER.JSON", {"chat_template": "o"})
    assert load_template(capitals, None).source == "o"


@pytest.mark.parametrize(
    "file", ["tokenizer_config.json", "chat_template.json", "processor_config.json"]
)
def test_a_folder_has_its_template_in_one_of_three_configurations(tmp_path, file):
    write(tmp_path / file, {"chat_template": "t"})
    assert load_template(tmp_path, None).source == "t"
    with pytest.raises(UsageError, match=r"no chat_template named 'rag'; .*an unnamed one$"):
        load_template(tmp_path, "rag")


def test_invalid_tokens_are_ignored(tmp_path):
    path = write(
        tmp_path / "tokenizer_config.json",
        {
            "chat_template": "t",
            "bos_token": ["<s>"],
            "eos_token": {"content": {}},
            "added_tokens": 7,
        },
    )
    assert load_template(path, None) == Loaded("t", "", "")


def test_additional_templates_are_read_from_their_folder(folder):
    (folder / "additional_chat_templates").mkdir()
    write(folder / "additional_chat_templates" / "tool_use.jinja", "tools")
    assert load_template(folder, None).source == "tools"
    assert load_template(folder, "default").source == SOURCE


def test_named_templates_are_read_from_a_list(tmp_path):
    path = write(tmp_path / "tokenizer_config.json", {"chat_template": NAMED})
    assert load_template(path, None).source == "t"
    assert load_template(path, "default").source == "d"


def test_invalid_entries_in_a_list_of_templates_are_ignored(tmp_path):
    path = write(tmp_path / "tokenizer_config.json", {"chat_template": ["x", *NAMED, None]})
    assert load_template(path, None).source == "t"


def test_the_tokens_of_a_configuration_are_asked_for_nowhere_else(folder):
    write(folder / "tokenizer.json", "{")
    assert load_template(folder, None) == WHOLE


def test_configuration_without_a_template_uses_the_file_in_its_folder(tmp_path):
    path = write(tmp_path / "tokenizer_config.json", {"eos_token": "</s>"})
    with pytest.raises(UsageError, match="no chat_template in it"):
        load_template(path, None)
    with pytest.raises(UsageError, match="no chat template found"):
        load_template(tmp_path, None)
    write(tmp_path / "chat_template.jinja", "beside")
    assert load_template(path, None) == Loaded("beside", "", "</s>")


def test_tokens_are_read_from_separate_files(tmp_path):
    write(tmp_path / "chat_template.jinja", "beside")
    write(tmp_path / "special_tokens_map.json", {"bos_token": "<s>"})
    write(tmp_path / "tokenizer.json", {"added_tokens": [{"content": "<call>"}]})
    assert load_template(tmp_path, None) == Loaded("beside", "<s>", "", ("<call>",))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[]", "expected a JSON object"),
        ('{"chat_template": 7}', "must be a string"),
        ('{"chat_template": [{"name": "a"}]}', "must be a string"),
        ('{"chat_template": {"a": "t", "b": 7}}', "must be a string"),
    ],
)
def test_invalid_configuration_is_refused(tmp_path, text, why):
    path = write(tmp_path / "tokenizer_config.json", text)
    with pytest.raises(UsageError, match=why):
        load_template(path, None)


def test_unreadable_file_is_refused(tmp_path):
    (tmp_path / "x.jinja").write_bytes(b"ab\xff")
    for name, why in (
        ("x.jinja", "not UTF-8 text: byte 0xff at 2$"),
        ("y.jinja", "No such file"),
        ("a\0b", "null"),
    ):
        with pytest.raises(UsageError, match=why):
            load_template(tmp_path / name, None)


@pytest.mark.parametrize(
    ("source", "is_id"),
    [
        ("Qwen/Qwen2.5-7B", True),
        ("here/Qwen3-8B", False),
        ("nowhere/chat_template.jinja", False),
        ("nowhere/tokenizer_config.json", False),
        ("nowhere/models/Qwen3-8B", False),
        ("/nowhere/Qwen3-8B", False),
        ("../nowhere", False),
    ],
)
def test_hub_id_is_refused_with_a_hint_to_download(tmp_path, monkeypatch, source, is_id):
    monkeypatch.chdir(tmp_path)
    Path("here").mkdir()
    with pytest.raises(UsageError, match=f"^{source}: No such file") as raised:
        load_template(source, None)
    assert (f"hf download {source} " in str(raised.value)) is is_id


TOKENS = [
    ("tokenizer.ggml.tokens", 9, (8, ["a", "<s>", "</s>", "<call>"])),
    ("tokenizer.ggml.token_type", 9, (5, [1, 3, 3, 4])),
    ("tokenizer.ggml.bos_token_id", 4, 1),
    ("tokenizer.ggml.eos_token_id", 4, 2),
]


def test_a_gguf_file_holds_templates_and_tokens(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(TOKENS))
    with pytest.raises(UsageError, match="no chat template found"):
        load_template(path, None)
    templates = [("tokenizer.chat_template", 8, "d"), ("tokenizer.chat_template.tool_use", 8, "t")]
    path.write_bytes(gguf([*TOKENS, *templates]))
    special = ("<s>", "</s>", "<call>")
    assert load_template(path, None) == Loaded("t", "<s>", "</s>", special)
    assert load_template(tmp_path, "default") == Loaded("d", "<s>", "</s>", special)
    with pytest.raises(UsageError, match=r"available: 'default', 'tool_use'$"):
        load_template(path, "rag")
    path.write_bytes(gguf(templates))
    assert load_template(path, None) == Loaded("t", "", "")


TEMPLATE = ("tokenizer.chat_template", 8, b"t\xff")


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ([("tokenizer.ggml.bos_token_id", 4, 4), *TOKENS[:2], TOKENS[3]], ("", "</s>")),
        ([("tokenizer.ggml.bos_token_id", 5, -1), *TOKENS[:2]], ("", "")),
        ([("tokenizer.ggml.bos_token_id", 8, "1"), *TOKENS[:2]], ("", "")),
        ([TOKENS[0], ("tokenizer.ggml.token_type", 9, (5, [1, 3])), TOKENS[2]], ("<s>", "")),
        (
            [("tokenizer.ggml.tokens", 9, (8, [b"\xfe"])), ("tokenizer.ggml.bos_token_id", 4, 0)],
            ("\ufffd", ""),
        ),
        ([("tokenizer.chat_template.tool_use", 4, 7)], ("", "")),
    ],
)
def test_odd_values_in_a_gguf_file_are_ignored(tmp_path, fields, tokens):
    (tmp_path / "model.gguf").write_bytes(gguf([TEMPLATE, *fields]))
    made = load_template(tmp_path, None)
    assert (made.source, made.bos_token, made.eos_token) == ("t\ufffd", *tokens)
    with pytest.raises(UsageError, match=r"available: 'default'$"):
        load_template(tmp_path, "rag")


@pytest.mark.parametrize(
    "field",
    [
        ("tokenizer.ggml.tokens", 8, "abc"),
        ("tokenizer.ggml.tokens", 4, 3),
        ("tokenizer.ggml.tokens", 9, (4, [1, 2])),
        ("tokenizer.ggml.token_type", 4, 3),
    ],
)
def test_a_gguf_file_whose_tokens_are_something_else_is_refused(tmp_path, field):
    (tmp_path / "model.gguf").write_bytes(gguf([TEMPLATE, field]))
    with pytest.raises(UsageError, match="has the wrong type"):
        load_template(tmp_path, None)


def test_only_template_keys_of_a_gguf_file_are_read():
    assert all(key in GgufKeys() for key, _, _ in [*TOKENS, ("tokenizer.chat_template.x", 8, "")])
    assert not any(key in GgufKeys() for key in ("general.name", "tokenizer.ggml.merges", 7, None))


@pytest.mark.parametrize("name", ["model.GGUF", "sha256-2af3"])
def test_a_gguf_file_is_known_by_its_beginning(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gguf([("tokenizer.chat_template", 8, "d")]))
    assert load_template(path, None) == Loaded("d", "", "")


def test_invalid_gguf_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="GGUF"):
        load_template(write(tmp_path / "model.gguf", "GGU"), None)
