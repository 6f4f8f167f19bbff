"""The command, in this process and as one of its own."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import deltaparse as dp
from deltaparse.command import main as command
from deltaparse.command.demo import TEMPLATE, TOKENS, TOOLS, demo
from deltaparse.command.explain import explanation, sample
from deltaparse.command.main import main

from .. import corpus
from .plain import PLAIN, tool

ROOT = Path(__file__).resolve().parents[2]

NO_JSON = PLAIN.replace('{"tool": "{{ call.function.name }}", "with": ', "{{ call.function.name }}")
NO_JSON = NO_JSON.replace("{{ call.function.arguments | tojson }}", "")
WITH_EOS = (
    "{% for m in messages %}{{ bos_token }}({{ m.role }}){{ m.content }}{{ eos_token }}{% endfor %}"
)

OUTPUT = (
    '<note>Où? "Là".</note>\nLet me see.\n<use>{"tool": "add", "with": {"a": [1, 25], '
    '"b": "\\u00e9\\n"}}</use>\n<use>{"tool": "say", "with": {}}</use></assistant>'
)
ADD = '{"a": [1, 25], "b": "\\u00e9\\n"}'
EVENTS = ("reasoning", "content", "tool_call", "tool_call", "tool_call", "tool_call", "finish")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A directory to be in; writes a file and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        if isinstance(content, bytes):
            Path(name).write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            Path(name).write_text(text, encoding="utf-8", newline="")
        return name

    write("t.jinja", PLAIN)
    write("out.txt", OUTPUT)
    return write


@pytest.fixture
def run(files, capfd, monkeypatch):
    """Run the command: its exit code, and its output if nothing went wrong."""

    def run(*argv, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        code = main(argv)
        out, err = capfd.readouterr()
        assert err == ""
        assert code == 0
        return out

    return run


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def joined(found):
    """The events that come from one output, however it was cut."""
    whole = []
    for event in found:
        last = whole[-1] if whole else {}
        same = last.get("type") == event["type"] and last.get("index") == event.get("index")
        key = {"content": "text", "reasoning": "text", "tool_call": "arguments"}.get(event["type"])
        if key and same:
            last[key] = last.get(key, "") + event.get(key, "")
        else:
            whole.append(dict(event))
    return whole


def as_process(*argv, env=None, **options):
    """The command in a process of its own, which imports what this one imports."""
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"}
    names = ("NO_COLOR", "FORCE_COLOR")
    inherited = {key: value for key, value in os.environ.items() if key not in names}
    return subprocess.Popen(
        [sys.executable, "-m", "deltaparse", *argv],
        env=inherited | paths | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


class TestCommand:
    def test_version(self, run):
        assert run("--version") == f"deltaparse {dp.__version__}\n"

    @pytest.mark.parametrize(
        ("argv", "words"),
        [
            (["-h"], ["demo", "parse", "analyze", "chat template"]),
            (["parse", "-h"], ["--template FILE", "--tools", "--prompt", "--chunk N", "--as"]),
            (["analyze", "--help"], ["--json", "tokenizer_config.json"]),
        ],
    )
    def test_help(self, run, monkeypatch, argv, words):
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("NO_COLOR", "1")
        out = run(*argv)
        assert all(word in out for word in words)
        assert max(map(len, out.splitlines())) <= 90

    def test_arguments_are_those_of_the_process(self, run, monkeypatch, capfd):
        monkeypatch.setattr(sys, "argv", ["deltaparse", "--version"])
        assert main() == 0
        assert capfd.readouterr().out.startswith("deltaparse ")

    def test_script_is_main(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert project["scripts"] == {"deltaparse": "deltaparse.command.main:main"}

    @pytest.mark.parametrize(("argv", "code"), [(["--version"], 0), (["analyze", "nowhere"], 2)])
    def test_exit_code_of_the_process(self, argv, code):
        with as_process(*argv) as process:
            process.communicate()
        assert process.returncode == code

    def test_interrupted(self, monkeypatch, files):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(command, "demo", interrupted)
        assert main(["demo"]) == 130

    def test_no_output_to_write_to(self, monkeypatch, capsys):
        monkeypatch.setattr(sys, "stdout", None)
        assert main(["demo"]) == 1
        assert capsys.readouterr().err == "deltaparse: standard output is closed\n"

    def test_nobody_reads_on(self, files):
        argv = ("parse", "--template", "t.jinja", "--chunk", "1")
        with as_process(*argv, stdin=subprocess.PIPE) as process:
            process.stdin.write(b"a")
            process.stdin.flush()
            process.stdout.readline()
            process.stdout.close()
            process.stdin.write(b"b" * 100)
            process.stdin.close()
            assert process.stderr.read() == b""
        assert process.returncode == 1

    @pytest.mark.parametrize(
        ("error", "words"),
        [
            (BrokenPipeError(), ""),
            (OSError(5, "Input/output error"), "deltaparse: Input/output error\n"),
            (OSError("no reason"), "deltaparse: no reason\n"),
        ],
    )
    def test_output_fails(self, monkeypatch, capsys, error, words):
        class Failing(io.StringIO):
            def write(self, _):
                raise error

        monkeypatch.setattr(sys, "stdout", Failing())
        assert main(["demo"]) == 1
        assert capsys.readouterr().err == words

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_disk_is_full(self, files):
        with Path("/dev/full").open("wb") as full:
            paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            done = subprocess.run(
                [sys.executable, "-m", "deltaparse", "analyze", "t.jinja"],
                env=os.environ | paths,
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert done.returncode == 1
        assert done.stderr == b"deltaparse: No space left on device\n"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class TestDemo:
    @pytest.fixture(autouse=True)
    def environment(self, monkeypatch):
        for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
            monkeypatch.delenv(name, raising=False)

    @staticmethod
    def shown(out=None):
        out = out or Terminal()
        demo(out)
        return out.getvalue()

    @staticmethod
    def plain(text):
        return re.sub(r"\x1b\[[0-9;]*m", "", text)

    def test_is_plain_where_nobody_looks(self, run):
        out = run("demo")
        assert "\x1b" not in out
        assert out == self.plain(self.shown())
        assert out == run("demo")

    def test_fits_a_terminal(self, run):
        lines = run("demo").splitlines()
        assert max(map(len, lines)) <= 80
        assert all(line == line.rstrip() for line in lines)

    def test_says_what_the_analysis_found(self, run):
        out = run("demo")
        assert dp.analyze(TEMPLATE).verified
        for found in ("..oO( ", " )Oo..", "[[ask> ", " <ask]]", '"task"', '"given"', "~dark~"):
            assert found in out.split("\n  │")[0]

    def test_shows_each_chunk_and_what_it_became(self, run):
        rows = re.findall(r"^  │(.*?)│ +(\S.*)$|^ {20,}(\S.*)$", run("demo"), re.MULTILINE)
        assert [chunk for chunk, *_ in rows if chunk] == [
            token.replace("\n", "↵") for token in TOKENS
        ]
        became = {}
        for _, first, more in rows:
            kind, _, text = (first or more).partition(" ")
            became[kind] = became.get(kind, "") + text.strip().strip("│")
        message = dp.parse("".join(TOKENS), dp.analyze(TEMPLATE), tools=TOOLS)
        assert became["reasoning"] == message.reasoning_content
        assert became["content"] == message.content
        assert became["arguments"] == "".join(call.arguments for call in message.tool_calls)
        assert became["call"] == "sunset, call 0sunset, call 1"
        assert became["held"].startswith("back")

    def test_ends_with_the_message(self, run):
        template = dp.ChatTemplate(TEMPLATE)
        out = run("demo")
        message = json.loads(out[out.index("\n{\n") : out.rindex("}\n") + 1])
        parsed = dp.parse("".join(TOKENS), dp.analyze(template)).to_openai()
        assert message["reasoning_content"] == parsed["reasoning_content"]
        names = ("place", "latitude")
        calls = [json.loads(call["function"]["arguments"]) for call in message["tool_calls"]]
        assert [[call[name] for name in names] for call in calls] == [
            ["Malmö", 55.605],
            ["Hội An", 15.88],
        ]
        assert out.endswith("Finish reason: tool_calls\n")

    def test_terminal_has_colour(self):
        assert "\x1b[35mreasoning" in self.shown()

    @pytest.mark.parametrize(
        ("variables", "terminal", "coloured"),
        [
            ({}, True, True),
            ({}, False, False),
            ({"NO_COLOR": "1"}, True, False),
            ({"NO_COLOR": ""}, True, True),
            ({"FORCE_COLOR": "1"}, False, True),
            ({"FORCE_COLOR": ""}, False, False),
            ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
            ({"TERM": "dumb"}, True, False),
            ({"TERM": "xterm"}, True, True),
        ],
    )
    def test_colour(self, monkeypatch, variables, terminal, coloured):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert ("\x1b" in self.shown(Terminal() if terminal else io.StringIO())) is coloured

    def test_terminal_without_the_signs(self):
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
        demo(out)
        out.flush()
        text = out.buffer.getvalue().decode("ascii")
        assert "  |o..\\n|" in text

    def test_forced_colour_of_a_process(self):
        with as_process("demo", env={"FORCE_COLOR": "1"}) as process:
            out, err = process.communicate()
        assert (process.returncode, err) == (0, b"")
        assert b"\x1b[" in out


class TestParse:
    def test_events(self, run):
        found = events(run("parse", "--template", "t.jinja", "out.txt"))
        assert tuple(event["type"] for event in found) == EVENTS
        assert found[0] == {"type": "reasoning", "text": 'Où? "Là".'}
        assert found[1] == {"type": "content", "text": "Let me see."}
        begun, arguments = found[2:4]
        assert list(begun) == ["type", "index", "id", "name"]
        assert (begun["index"], begun["name"]) == (0, "add")
        assert arguments == {"type": "tool_call", "index": 0, "arguments": ADD}
        assert (found[4]["index"], found[4]["name"]) == (1, "say")
        assert found[-1] == {"type": "finish", "finish_reason": "tool_calls"}

    def test_message(self, run):
        out = run("parse", "--template", "t.jinja", "--as", "message", "out.txt")
        message = json.loads(out)
        assert message == dp.parse(OUTPUT, dp.analyze(PLAIN)).to_openai()
        assert out == json.dumps(message, ensure_ascii=False, indent=2) + "\n"

    def test_server_sent_events(self, run):
        out = run("parse", "--template", "t.jinja", "--as", "sse", "--model", "mine", "out.txt")
        *sent, done, rest = out.split("\n\n")
        assert (done, rest) == ("data: [DONE]", "")
        assert all(event.startswith("data: {") and "\n" not in event for event in sent)
        chunks = [json.loads(event.removeprefix("data: ")) for event in sent]
        assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
        assert {chunk["model"] for chunk in chunks} == {"mine"}
        assert len({(chunk["id"], chunk["created"]) for chunk in chunks}) == 1
        assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
        reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
        assert reasons == [None] * (len(chunks) - 1) + ["tool_calls"]

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10**9])
    def test_chunks_of_any_size(self, run, size):
        argv = ("parse", "--template", "t.jinja", "out.txt")
        cut = (*argv, "--chunk", str(size))
        assert run(*cut, "--as", "message") == run(*argv, "--as", "message")
        assert joined(events(run(*cut))) == joined(events(run(*argv)))

    def test_chunk_is_that_many_characters(self, run, files):
        files("text.txt", "äöü€é")
        out = run("parse", "--template", "t.jinja", "--chunk", "2", "text.txt")
        assert [event.get("text") for event in events(out)] == ["äö", "ü€", "é", None]

    @pytest.mark.parametrize("argv", [[], ["-"], ["--chunk", "5"], ["--chunk", "5", "-"]])
    def test_standard_input(self, run, argv):
        argv = ["parse", "--template", "t.jinja", "--as", "message", *argv]
        assert run(*argv, stdin=OUTPUT.encode()) == run(*argv[:5], "out.txt")
        assert not sys.stdin.closed

    @pytest.mark.parametrize("argv", [[], ["--chunk", "1"]])
    def test_standard_input_is_not_waited_for(self, files, argv):
        command = ["parse", "--template", "t.jinja", *argv]
        with as_process(*command, stdin=subprocess.PIPE) as process:
            for text in ("Grüße", "ÿ"):
                begun, rest = text[0].encode(), text[1:].encode()
                process.stdin.write(begun)
                process.stdin.flush()
                assert json.loads(process.stdout.readline())["text"] == text[0]
                process.stdin.write(rest)
                process.stdin.flush()
                while rest:
                    piece = json.loads(process.stdout.readline())["text"].encode()
                    rest = rest.removeprefix(piece)
            out, err = process.communicate()
        assert (events(out.decode()), err) == ([{"type": "finish", "finish_reason": "stop"}], b"")

    @pytest.mark.parametrize("argv", [[], ["--chunk", "1"]])
    def test_output_that_is_not_utf_8(self, run, files, argv):
        files("odd.txt", b"a\xffb\xe2\x82")
        out = run("parse", "--template", "t.jinja", "--as", "message", *argv, "odd.txt")
        assert json.loads(out)["content"] == "a\ufffdb\ufffd"
        issues = [
            event
            for event in events(run("parse", "--template", "t.jinja", *argv, "odd.txt"))
            if event["type"] == "issue"
        ]
        assert [(issue["kind"], issue["span"]) for issue in issues] == [("invalid_text", [1, 4])]

    def test_line_ends_stay(self, run, files):
        files("lines.txt", "a\r\nb\rc\n")
        out = run("parse", "--template", "t.jinja", "--as", "message", "lines.txt")
        assert json.loads(out)["content"] == "a\r\nb\rc\n"

    def test_no_output_at_all(self, run):
        assert events(run("parse", "--template", "t.jinja")) == [
            {"type": "finish", "finish_reason": "stop"}
        ]

    def test_tools(self, run, files):
        files("tools.json", [tool("say")])
        found = events(run("parse", "--template", "t.jinja", "--tools", "tools.json", "out.txt"))
        (issue,) = (event for event in found if event["type"] == "issue")
        assert issue["kind"] == "unknown_tool"
        assert 0 < issue["span"][0] < issue["span"][1] < len(OUTPUT)
        assert "add" in issue["detail"]
        assert found.index(issue) == len(found) - 2

    def test_without_tools_a_call_is_text(self, run, files):
        files("tools.json", [])
        argv = ("parse", "--template", "t.jinja", "--tools", "tools.json", "--as", "message")
        message = json.loads(run(*argv, "out.txt"))
        assert "tool_calls" not in message
        assert '<use>{"tool": "add"' in message["content"]

    def test_prompt(self, run, files):
        files("prompt.txt", "<user>\nHi</user>\n<assistant>\n<note>Hm")
        files("rest.txt", "m.</note>\nYes.")
        argv = ("parse", "--template", "t.jinja", "--prompt", "prompt.txt", "--as", "message")
        message = json.loads(run(*argv, "rest.txt"))
        assert (message["reasoning_content"], message["content"]) == ("m.", "Yes.")

    @pytest.mark.parametrize(
        ("argv", "reason", "kinds"),
        [
            ([], "length", ["truncated_call"]),
            (["--finish", "length"], "length", ["truncated_call"]),
            (["--finish", "stop"], "tool_calls", ["truncated_call"]),
        ],
    )
    def test_finish(self, run, files, argv, reason, kinds):
        files("cut.txt", '<use>{"tool": "add", "with": {"a": 1')
        found = events(run("parse", "--template", "t.jinja", *argv, "cut.txt"))
        assert found[-1] == {"type": "finish", "finish_reason": reason}
        assert [event["kind"] for event in found if event["type"] == "issue"] == kinds

    def test_format_that_is_not_proved_is_told(self, files, capfd):
        files("t.jinja", NO_JSON)
        assert main(["parse", "--template", "t.jinja", "out.txt"]) == 0
        out, err = capfd.readouterr()
        assert events(out)
        assert err.startswith("deltaparse: note: t.jinja: what was found is not verified: ")
        assert len(err.splitlines()) == 1

    def test_output_in_other_letters(self, files):
        argv = ("parse", "--template", "t.jinja", "out.txt")
        with as_process(*argv, env={"PYTHONIOENCODING": "ascii"}) as process:
            out, err = process.communicate()
        assert err == b""
        assert events(out.decode("ascii"))[0]["text"] == 'Où? "Là".'


class TestAnalyze:
    def test_json(self, run):
        out = run("analyze", "--json", "t.jinja")
        assert out == dp.analyze(PLAIN).to_json() + "\n"
        assert dp.WireFormat.from_json(out) == dp.analyze(PLAIN)

    def test_words(self, run):
        out = run("analyze", "t.jinja")
        for name, value in {
            "headers": "'<assistant>\\n'",
            "ends": "'</assistant>\\n'",
            "start": "'<note>'",
            "end": "'</note>\\n'",
            "per_call_start": "'<use>'",
            "name_field": "'tool'",
            "arguments_field": "'with'",
            "supports_tools": "yes",
        }.items():
            assert re.search(rf"^  {name} +{re.escape(value)}$", out, re.MULTILINE), name
        assert re.search("^reasoning +between two markers, both written", out, re.MULTILINE)
        assert "section_start" not in out
        assert '\n  | <use>{"tool": "NAME", "with": {"KEY": "VALUE"}}</use>' in out
        assert "\nVerified: " in out

    def test_format_that_is_not_proved(self, run, files):
        files("t.jinja", NO_JSON)
        fmt = dp.analyze(NO_JSON)
        assert not fmt.verified
        out = run("analyze", "t.jinja")
        assert "\nVerified" not in out
        assert out.endswith("\nNot verified:\n" + "".join(f"  - {x}\n" for x in fmt.issues))
        assert json.loads(run("analyze", "--json", "t.jinja"))["verified"] is False

    def test_half_a_character_in_a_template(self, run, files):
        files("config.json", {"chat_template": PLAIN.replace("note", "n\ud800")})
        assert json.loads(run("analyze", "--json", "config.json"))["reasoning"]["start"] == (
            "<n\ud800>"
        )
        assert "\\ud800" in run("analyze", "config.json")


NATIVE = {"format": "JSON_NATIVE", "name_field": "name", "arguments_field": "arguments"}
MARKED = NATIVE | {"per_call_start": "<c>", "per_call_end": "</c>"}
BOTH = {"supports_parallel_calls": True}
THINK = {"mode": "TAG_BASED", "start": "<t>", "end": "</t>"}


class TestExplanation:
    @pytest.mark.parametrize(
        ("groups", "text"),
        [
            ({}, "CONTENT"),
            ({"turn": {"ends": ("<e>", "<f>")}}, "CONTENT<e>"),
            ({"reasoning": THINK}, "<t>REASONING</t>CONTENT"),
            ({"reasoning": THINK | {"mode": "FORCED_OPEN"}}, "REASONING</t>CONTENT"),
            (
                {"content": {"mode": "ALWAYS_WRAPPED", "start": "<s>", "end": "</s>"}},
                "<s>CONTENT</s>",
            ),
            (
                {"tools": MARKED},
                'CONTENT<c>{"name": "NAME", "arguments": {"KEY": "VALUE"}}</c>',
            ),
            (
                {"tools": NATIVE | {"field_order": ("arguments", "name")}},
                '{"arguments": {"KEY": "VALUE"}, "name": "NAME"}',
            ),
            (
                {"tools": MARKED | {"arguments_as_text": True, "content_separator": "\n"}},
                'CONTENT\n<c>{"name": "NAME", "arguments": "{\\"KEY\\": \\"VALUE\\"}"}</c>',
            ),
            (
                {"tools": MARKED | {"function_field": "f", "id_field": "id"}},
                'CONTENT<c>{"f": {"name": "NAME", "arguments": {"KEY": "VALUE"}}, "id": "ID0"}</c>',
            ),
            (
                {
                    "tools": {"format": "JSON_NATIVE", "name_is_key": True, "separator": ", "}
                    | {"array_wrapped": True, "section_start": "<s>", "section_end": "</s>"}
                    | BOTH
                },
                'CONTENT<s>[{"NAME": {"KEY": "VALUE"}}, {"NAME": {"KEY": "VALUE"}}]</s>',
            ),
            (
                {"tools": MARKED | BOTH | {"generated_id_field": "n", "separator": "\n"}},
                (
                    'CONTENT<c>{"name": "NAME", "arguments": {"KEY": "VALUE"}, "n": 0}</c>\n'
                    '<c>{"name": "NAME", "arguments": {"KEY": "VALUE"}, "n": 1}</c>'
                ),
            ),
        ],
    )
    def test_sample(self, groups, text):
        fmt = dp.WireFormat().replace(**groups)
        assert sample(fmt) == text
        prompt = "<t>" if fmt.reasoning.mode is dp.ReasoningMode.FORCED_OPEN else ""
        assert_parses(fmt, prompt)

    def test_other_groups(self):
        fmt = dp.WireFormat().replace(
            tools={"format": "TAG_WITH_JSON"},
            function={"name_prefix": "<f="},
            call_id={"position": "POST_ARGS", "prefix": "#"},
        )
        lines = explanation(fmt).splitlines()
        assert (
            "tools                      the name between markers, the arguments a JSON object"
            in (lines)
        )
        assert lines[lines.index("function") + 1] == "  name_prefix              '<f='"
        assert lines[lines.index("call_id") + 1] == "  position                 POST_ARGS"
        assert "turn" not in lines
        assert not any(line.startswith("arguments") for line in lines)

    @corpus.needs_corpus
    def test_samples_of_real_templates(self):
        for path in corpus.templates():
            fmt = dp.analyze(path.read_text(encoding="utf-8"))
            assert explanation(fmt)
            if fmt.verified:
                opened = fmt.reasoning.mode in {"FORCED_OPEN", "FORCED_CLOSED"}
                head = "".join(fmt.turn.headers[:1])
                assert_parses(fmt, head + fmt.reasoning.start if opened else head)


def assert_parses(fmt, prompt):
    """The sample of a format, parsed, is what is in it."""
    text = sample(fmt)
    message = dp.parse(text, fmt, prompt=prompt)
    assert message.content == ("CONTENT" if "CONTENT" in text else "")
    assert message.reasoning_content == ("REASONING" if "REASONING" in text else "")
    assert [call.name for call in message.tool_calls] == ["NAME"] * text.count("NAME")
    assert all(json.loads(call.arguments) == {"KEY": "VALUE"} for call in message.tool_calls)


class TestTemplates:
    def ends(self, run, name):
        return json.loads(run("analyze", "--json", name))["turn"]["ends"]

    @pytest.mark.parametrize("token", ["<|x|>", {"content": "<|x|>", "special": True}])
    def test_tokenizer_config(self, run, files, token):
        files("tokenizer_config.json", {"chat_template": WITH_EOS, "eos_token": token})
        assert self.ends(run, "tokenizer_config.json") == ["<|x|>"]

    @pytest.mark.parametrize(
        ("names", "taken"),
        [
            (["default", "tool_use", "rag"], "tool_use"),
            (["rag", "default"], "default"),
        ],
    )
    def test_several_templates(self, run, files, names, taken):
        named = [{"name": n, "template": WITH_EOS.replace("eos_token", f"'[{n}]'")} for n in names]
        files("config.JSON", {"chat_template": named, "bos_token": None})
        assert self.ends(run, "config.JSON") == [f"[{taken}]"]

    def test_template_beside_its_configuration(self, run, files):
        files("tokenizer_config.json", {"eos_token": "<|x|>"})
        files("chat_template.jinja", WITH_EOS)
        assert self.ends(run, "tokenizer_config.json") == ["<|x|>"]

    def test_byte_order_mark(self, run, files):
        files("bom.jinja", b"\xef\xbb\xbf" + PLAIN.encode())
        assert run("analyze", "--json", "bom.jinja") == run("analyze", "--json", "t.jinja")


BAD_FILES = {
    "open.jinja": "{% for m in messages %}",
    "text.jinja": "Not a template.\n",
    "latin.jinja": "{{ messages }} é".encode("latin-1"),
    "huge.jinja": "{{ messages }}" + "x" * 200_000,
    "bad.json": "{",
    "deep.json": "[" * 200_000,
    "list.json": "[]",
    "empty.json": "{}",
    "number.json": '{"chat_template": 5}',
    "other.json": '{"chat_template": [{"name": "rag", "template": ""}, 1]}',
    "unnamed.json": '{"chat_template": [{"name": "default"}]}',
    "tools.json": '["\\n"]',
    "nameless.json": '[{"type": "function", "function": {"description": "' + "x" * 1000 + '"}}]',
    "directory/file": "",
}
PARSE = ["parse", "--template", "t.jinja"]


class TestBadInput:
    @pytest.mark.parametrize(
        ("argv", "words"),
        [
            ([], "COMMAND"),
            (["paint"], "paint"),
            (["--bogus"], "required"),
            (["demo", "more"], "more"),
            (["parse"], "--template"),
            (["analyze"], "FILE"),
            (["analyze", "nowhere.jinja"], "nowhere.jinja: No such file or directory"),
            (["analyze", "nowhere.json"], "nowhere.json: No such file or directory"),
            (["analyze", "directory"], "directory: "),
            (["analyze", "nul\0.jinja"], "null byte"),
            (["analyze", "open.jinja"], "open.jinja: the chat template does not compile at line 1"),
            (["analyze", "text.jinja"], "text.jinja: not a chat template"),
            (["analyze", "latin.jinja"], "latin.jinja: not UTF-8 text: byte 0xe9 at 15"),
            (["analyze", "huge.jinja"], "more than"),
            (["analyze", "bad.json"], "bad.json: not JSON: "),
            (["analyze", "deep.json"], "deep.json: not JSON: "),
            (["analyze", "list.json"], "list.json: not a tokenizer configuration"),
            (["analyze", "empty.json"], "empty.json: no chat_template in it, and no "),
            (["analyze", "number.json"], "number.json: its chat_template is not a text"),
            (["analyze", "other.json"], 'other.json: no chat_template named "tool_use" or '),
            (["analyze", "unnamed.json"], "unnamed.json: its chat_template is not a text"),
            (["parse", "--template", "nowhere", "out.txt"], "nowhere: No such file"),
            ([*PARSE, "nowhere.txt"], "nowhere.txt: No such file or directory"),
            ([*PARSE, "directory"], "directory: "),
            ([*PARSE, "nul\0"], "null byte"),
            ([*PARSE, "--tools", "nowhere.json", "out.txt"], "nowhere.json: No such file"),
            ([*PARSE, "--tools", "bad.json", "out.txt"], "bad.json: not JSON: "),
            ([*PARSE, "--tools", "empty.json", "out.txt"], "empty.json: not a list of tools"),
            ([*PARSE, "--tools", "tools.json", "out.txt"], "tools.json: a tool is "),
            ([*PARSE, "--tools", "nameless.json", "out.txt"], "nameless.json: a tool is "),
            ([*PARSE, "--prompt", "nowhere.txt", "out.txt"], "nowhere.txt: No such file"),
            ([*PARSE, "--prompt", "latin.jinja", "out.txt"], "latin.jinja: not UTF-8 text"),
            ([*PARSE, "--chunk", "0", "out.txt"], "--chunk: a number of characters from 1 up"),
            ([*PARSE, "--chunk", "-3", "out.txt"], "--chunk"),
            ([*PARSE, "--chunk", "two", "out.txt"], "not 'two'"),
            ([*PARSE, "--as", "xml", "out.txt"], "--as"),
            ([*PARSE, "--finish", "because", "out.txt"], "--finish"),
            ([*PARSE, "out.txt", "more.txt"], "more.txt"),
        ],
    )
    def test_is_one_line_and_code_2(self, files, capfd, argv, words):
        Path("directory").mkdir()
        for name, content in BAD_FILES.items():
            files(name, content)
        assert main(argv) == 2
        out, err = capfd.readouterr()
        assert out == ""
        assert err.startswith("deltaparse: ")
        assert words in err
        assert err.endswith("\n")
        assert len(err.splitlines()) == 1
        assert len(err) < 350

    def test_standard_input_is_closed(self, files, capfd, monkeypatch):
        monkeypatch.setattr(sys, "stdin", None)
        assert main(PARSE) == 2
        assert capfd.readouterr().err == "deltaparse: standard input is closed\n"

    def test_of_a_process(self, files):
        with as_process("parse", "--template", "no\nwhere") as process:
            out, err = process.communicate()
        assert (process.returncode, out) == (2, b"")
        assert err.decode().splitlines() == ["deltaparse: no where: No such file or directory"]

    def test_whatever_the_library_refuses(self, files, capfd, monkeypatch):
        def refused(*_, **__):
            raise dp.FormatError("that\ncannot be")

        monkeypatch.setattr(dp, "analyze", refused)
        assert main(["analyze", "t.jinja"]) == 2
        assert capfd.readouterr().err == "deltaparse: that cannot be\n"
