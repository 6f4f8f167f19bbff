"""What every plugin does."""

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


def test_nothing_of_a_server_is_imported_with_the_plugins():
    code = (
        "from deltaparse.servers import sglang_detector, vllm_tool_parser\n"
        "vllm_tool_parser('hermes'), sglang_detector('hermes')\n"
        "print(sorted({'torch', 'openai', 'pydantic'} & set(sys.modules)))"
    )
    run = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_first_place_that_has_all_the_names_is_taken(monkeypatch):
    put(monkeypatch, "server.old", a=1)
    put(monkeypatch, "server.new", a=2, b=3)
    places = ["server.none", "server.old", "server.new"]
    assert imported(places, "a") == [1]
    assert imported(places, "a", "b") == [2, 3]
    assert imported(places, "c") is None
    assert imported([], "c") is None


def test_a_part_that_does_not_import_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "server", None)
    assert imported(["server"], "a") is None


@pytest.mark.parametrize("name", sorted(list_formats()))
def test_every_named_format_starts_behind_its_reasoning(name):
    fmt = get_format(name)
    parser = Options().parser(fmt, whole=False)
    assert not parser.in_reasoning
    text = WIRES[name].says if fmt.channels.message else "Hi"
    parser.feed(text)
    parser.finish("stop")
    assert (parser.message.reasoning_content, parser.issues) == ("", [])
    assert parser.message.content == "Hi"


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError):
        vllm_tool_parser("hermes", wholly=True)
    with pytest.raises(UsageError):
        vllm_tool_parser("no such format")


@pytest.mark.parametrize(("server", "words"), [("vllm", "vLLM"), ("sglang", "SGLang")])
def test_what_does_not_find_its_place_names_the_version_it_is_made_for(monkeypatch, server, words):
    made_for = SERVERS[server][1]
    assert made_for in (Path(__file__).parents[2] / "docs" / "servers.md").read_text("utf-8")
    said = not_there("register()", server)
    assert f"{words} is installed" in said
    assert said.endswith(made_for)
    monkeypatch.setattr(plugin, "version", lambda name: "9.9")
    assert f"{words} 9.9: it is made for {made_for}" in not_there("register()", server)


OPENED = [
    name
    for name in WIRES
    if (start := get_format(name).reasoning.start.strip())
    and get_format(name).turn.generation_prompt.rstrip().endswith(start)
]


@pytest.mark.parametrize("name", OPENED)
def test_without_a_prompt_no_answer_is_lost_in_reasoning_that_nobody_opened(name):
    fmt = get_format(name)
    calls = WIRES[name].one.rpartition(fmt.reasoning.end.strip())[2].lstrip()
    for text, content, count in (("Hi", "Hi", 0), (WIRES[name].says, "Hi", 0), (calls, "", 1)):
        parser = Options().parser(fmt, whole=True, reasoning="inline")
        parser.feed(text)
        parser.finish()
        assert parser.message.content == content
        assert len(parser.message.tool_calls) == count


def test_the_recipe_has_both_plugin_flags():
    # The engine's own process imports only the second.
    recipe = (Path(__file__).parents[2] / "docs" / "servers.md").read_text("utf-8")
    assert "--tool-parser-plugin plugin.py --reasoning-parser-plugin plugin.py" in recipe


ENDED = (
    "{% for m in messages %}{% if m.role == 'user' %}[I]{{ m.content }}[/I]"
    "{% else %}{{ m.content ~ eos_token }}{% endif %}{% endfor %}"
)


@pytest.mark.parametrize("templates", [ENDED, {"default": ENDED, "rag": "{{ messages }}"}])
@pytest.mark.parametrize("file", ["docs/servers.md", "examples/engines/vllm_plugin.py"])
def test_the_recipe_finds_what_only_the_tokenizer_knows(file, templates):
    recipe = (Path(__file__).parents[2] / file).read_text("utf-8")
    (source,) = re.findall(r'register_vllm_parsers\("mine", (.*)\)', recipe)
    tokenizer = SimpleNamespace(chat_template=templates, bos_token="<s>", eos_token="<eos>")
    assert source == "dp.analyze"
    fmt = format_of(analyze, tokenizer)
    assert (fmt.verified, fmt.turn.ends) == (True, ("<eos>",))
