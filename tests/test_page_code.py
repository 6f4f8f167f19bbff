"""Code and commands on the pages: they run and print the documented text."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import json
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import deltaparse as dp
from deltaparse.command.main import SUBCOMMANDS, _arguments

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "llms.txt", *sorted(ROOT.glob("docs/*.md"))]
BLOCK = re.compile(r"(<!-- recipe.*?-->\n)?^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"\n\nprints\n\n```\n(.*?)```", re.DOTALL)
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}"
    "<use>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</use>"
    "{% endfor %}</{{ m.role }}>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
CALL = 'So.<use>{"name": "look_up", "arguments": {"n": 1}}</use></assistant>'


SGLANG = {
    "sglang.launch_server": "run_server",
    "sglang.srt.server_args": "prepare_server_args",
}


class Model:
    """A fake of the model on a page."""

    def generate(self, prompt):
        assert prompt
        yield from re.findall(".{1,4}", CALL)


class Tokenizer:
    """A fake of the tokenizer on a page, with the interface of transformers and the servers."""

    chat_template = TEMPLATE
    bos_token = eos_token = None


def registered(name, source):
    """Replace the function for registering a plugin if its server is not installed."""
    assert name == "mine"
    fmt = source(Tokenizer) if callable(source) else source
    assert fmt.tools.format == "JSON_NATIVE"


# Names that a page uses without a definition.
GIVEN = {
    "tokenizer": Tokenizer(),
    "tools": [{"name": "look_up", "parameters": {}}],
    "prompt": "<user>Hi</user><assistant>",
    "model": Model(),
    "send": lambda deltas: json.dumps([delta.to_openai() for delta in deltas]),
    "finish_reason": "stop",
    "chunks": re.findall(".{1,4}", CALL),
}


def blocks(page):
    """Return the Python blocks of a page with their expected output, except tested recipes."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        if found[1] is None:
            printed = PRINTED.match(text, found.end())
            yield found[2], printed and printed[1]


def run(page, names):
    """Run all blocks of a page in order, and return their number."""
    count = 0
    for count, (code, wanted) in enumerate(blocks(page), 1):
        if code.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(code, {}, f"{page.name} {count}", None, 0)
            test.globs = names
            assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        assert wanted is None or printed.getvalue() == wanted
    return count


WITH_CODE = [page for page in PAGES if "```python\n" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_code_of_a_page_runs(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    if page.name == "servers.md":
        import deltaparse.servers

        for name in ("register_vllm_parsers", "register_sglang_detector"):
            monkeypatch.setattr(deltaparse.servers, name, registered)
        for name in ("sglang", "sglang.srt", *SGLANG):
            stands_for = SimpleNamespace(**dict.fromkeys(SGLANG.values()))
            monkeypatch.setitem(sys.modules, name, stands_for)
        Path("chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["start.py", "chat_template.jinja"])
    names = {"__name__": "page", **GIVEN}
    assert run(page, names) or "<!-- recipe" in page.read_text(encoding="utf-8")
    if isinstance(parser := names.get("parser"), dp.StreamParser) and page in PAGES[:2]:
        (call,) = parser.message.tool_calls
        assert call.complete


def test_printed_output_of_pages_is_compared(tmp_path):
    page = tmp_path / "page.md"
    for line in ("print(1 + 1)", ">>> 1 + 1"):
        shown = "\n\nprints\n\n```\n3\n```" if line[0] == "p" else ""
        result = "" if shown else "3\n"
        page.write_text(f"```python\n{line}\n{result}```{shown}\n", encoding="utf-8")
        with pytest.raises(AssertionError):
            run(page, {})


WORDS = r"deltaparse [a-z][a-z-]+ "
COMMAND = re.compile(rf"^(?:\$ )?({WORDS}.*?)(?:   .*|  #.*)?$|`({WORDS}[^`]*)`", re.MULTILINE)


def commands():
    """Return the commands on all pages; optional parts are in brackets."""
    texts = [*PAGES, ROOT / "CONTRIBUTING.md", *ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")]
    for page in texts:
        text = page.read_text(encoding="utf-8").replace(" \\\n", " ")
        for found in COMMAND.finditer(text):
            line = found[1] or found[2]
            if "[" not in line:
                yield pytest.param(line, id=f"{page.name}: {line}")


@pytest.mark.parametrize("line", [*commands()])
def test_commands_on_pages_are_valid(line):
    _arguments().parse_args(shlex.split(line)[1:])


def test_every_subcommand_is_documented():
    page = (ROOT / "docs/command.md").read_text(encoding="utf-8")
    names = [subcommand.name for subcommand in SUBCOMMANDS]
    assert sorted(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)) == sorted(names)
    assert set(re.findall(r"^deltaparse ([a-z-]+)", page, re.MULTILINE)) == set(names)


SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def calls_on_pages():
    """Return the calls of public names in the text of pages."""
    for page in PAGES:
        text = FENCED.sub("", page.read_text(encoding="utf-8"))
        for span in dict.fromkeys(SPAN.findall(text)):
            try:
                made = ast.parse(span, mode="eval").body
            except SyntaxError:
                continue
            for node in ast.walk(made):
                if isinstance(node, ast.Call):
                    name = ast.unparse(node.func).removeprefix("dp.")
                    if name.partition(".")[0] in dp.__all__:
                        yield pytest.param(node, name, id=f"{page.name}: {span}")


@pytest.mark.parametrize(("node", "name"), [*calls_on_pages()])
def test_calls_in_the_text_of_pages_have_valid_arguments(node, name):
    target = dp
    for part in name.split("."):
        target = getattr(target, part)
    named = {word.arg for word in node.keywords if word.arg}
    inspect.signature(target).bind_partial(*node.args, **dict.fromkeys(named))
