"""Sources of chat templates for the command."""

from __future__ import annotations

import json

import pytest

from .plain import PLAIN

WITH_EOS = (
    "{% for m in messages %}{{ bos_token }}({{ m.role }}){{ m.content }}{{ eos_token }}{% endfor %}"
)


def ends(run, name):
    return json.loads(run("analyze", "--json", name))["turn"]["ends"]


@pytest.mark.parametrize("token", ["<|x|>", {"content": "<|x|>", "special": True}])
def test_tokenizer_config(run, files, token):
    files("tokenizer_config.json", {"chat_template": WITH_EOS, "eos_token": token})
    assert ends(run, "tokenizer_config.json") == ["<|x|>"]


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (["default", "tool_use", "rag"], "tool_use"),
        (["rag", "default"], "default"),
    ],
)
def test_several_templates(run, files, names, taken):
    named = [{"name": n, "template": WITH_EOS.replace("eos_token", f"'[{n}]'")} for n in names]
    files("config.JSON", {"chat_template": named, "bos_token": None})
    assert ends(run, "config.JSON") == [f"[{taken}]"]


def test_template_in_the_folder_of_its_configuration(run, files):
    files("tokenizer_config.json", {"eos_token": "<|x|>"})
    files("chat_template.jinja", WITH_EOS)
    assert ends(run, "tokenizer_config.json") == ["<|x|>"]


def test_byte_order_mark(run, files):
    files("bom.jinja", b"\xef\xbb\xbf" + PLAIN.encode())
    assert run("analyze", "--json", "bom.jinja") == run("analyze", "--json", "t.jinja")
