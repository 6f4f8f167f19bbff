"""Shared parts of the plugins."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from deltaparse import UsageError, analyze, get_format, list_formats
from deltaparse.servers import plugin, vllm_tool_parser
from deltaparse.servers.plugin import SERVERS, Options, format_of, imported, not_there

from ..strategies.wire_named import WIRES
from .fake_servers import put


def test_plugins_import_no_server_packages():
    code = (
        "from deltaparse.servers import sglang_detector, vllm_tool_parser\n"
        "vllm_tool_parser('hermes'), sglang_detector('hermes')\n"
        "print(sorted({'torch', 'openai', 'pydantic'} & set(sys.modules)))"
    )
    run = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_first_module_with_all_names_is_used(monkeypatch):
    put(monkeypatch, "server.old", a=1)
    put(monkeypatch, "server.new", a=2, b=3)
    places = ["server.none", "server.old", "server.new"]
    assert imported(places, "a") == [1]
    assert imported(places, "a", "b") == [2, 3]
    assert imported(places, "c") is None
    assert imported([], "c") is None


def test_unimportable_module_is_skipped(monkeypatch):
    monkeypatch.setitem(sys.modules, "server", None)
    assert imported(["server"], "a") is None


@pytest.mark.parametrize("name", sorted(list_formats()))
def test_every_named_format_can_start_after_reasoning(name):
    fmt = get_format(name)
    parser = Options().parser(fmt, whole=False)
    assert not parser.in_reasoning
    text = WIRES[name].says if fmt.channels.message else "Hi"
    parser.feed(text)
    parser.finish("stop")
    assert (parser.message.reasoning_content, parser.issues) == ("", [])
    assert parser.message.content == "Hi"


def test_unknown_option_is_rejected():
    with pytest.raises(TypeError):
        vllm_tool_parser("hermes", wholly=True)
    with pytest.raises(UsageError):
        vllm_tool_parser("no such format")


@pytest.mark.parametrize(("server", "words"), [("vllm", "vLLM"), ("sglang", "SGLang")])
def test_registration_error_names_the_supported_version(monkeypatch, server, words):
    made_for = SERVERS[server][1]
    assert made_for in (Path(__file__).parents[2] / "docs" / "servers.md").read_text("utf-8")
    message = not_there("register()", server)
    assert message == f"register() requires {words} {made_for}, which is not installed"
    monkeypatch.setattr(plugin, "version", lambda name: "9.9")
    assert f"{words} {made_for}, but {words} 9.9 has" in not_there("register()", server)


OPENED = [
    name
    for name in WIRES
    if (start := get_format(name).reasoning.start.strip())
    and get_format(name).turn.generation_prompt.rstrip().endswith(start)
]


@pytest.mark.parametrize("name", OPENED)
def test_response_without_prompt_is_not_lost_in_reasoning(name):
    fmt = get_format(name)
    calls = WIRES[name].one.rpartition(fmt.reasoning.end.strip())[2].lstrip()
    for text, content, count in (("Hi", "Hi", 0), (WIRES[name].says, "Hi", 0), (calls, "", 1)):
        parser = Options().parser(fmt, whole=True, reasoning="inline")
        parser.feed(text)
        parser.finish()
        assert parser.message.content == content
        assert len(parser.message.tool_calls) == count


def test_documentation_shows_both_plugin_flags():
    # The process of the engine imports only the second plugin file.
    recipe = (Path(__file__).parents[2] / "docs" / "servers.md").read_text("utf-8")
    assert "--tool-parser-plugin plugin.py --reasoning-parser-plugin plugin.py" in recipe


ENDED = (
    "{% for m in messages %}{% if m.role == 'user' %}[I]{{ m.content }}[/I]"
    "{% else %}{{ m.content ~ eos_token }}{% endif %}{% endfor %}"
)


@pytest.mark.parametrize("templates", [ENDED, {"default": ENDED, "rag": "{{ messages }}"}])
@pytest.mark.parametrize("file", ["docs/servers.md", "examples/engines/vllm_plugin.py"])
def test_documented_recipe_uses_the_tokenizer(file, templates):
    recipe = (Path(__file__).parents[2] / file).read_text("utf-8")
    (source,) = re.findall(r'register_vllm_parsers\("mine", (.*)\)', recipe)
    tokenizer = SimpleNamespace(chat_template=templates, bos_token="<s>", eos_token="<eos>")
    assert source == "dp.analyze"
    fmt = format_of(analyze, tokenizer)
    assert (fmt.verified, fmt.turn.ends) == (True, ("<eos>",))
