"""`deltaparse parse`: events, chunks, messages, and hints for other formats."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import deltaparse as dp
from deltaparse.command.main import main
from deltaparse.command.parse_command import ENOUGH, Glance

from .plain import NO_JSON, OUTPUT, PLAIN, tool
from .running import as_process, events

ADD = '{"a": [1, 25], "b": "\\u00e9\\n"}'
EVENTS = ("reasoning", "content", "tool_call", "tool_call", "tool_call", "tool_call", "finish")


def joined(found):
    """Return the events of an output, independent of its chunks."""
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


def test_events(run):
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


def test_message(run):
    out = run("parse", "--template", "t.jinja", "--as", "message", "out.txt")
    message = json.loads(out)
    assert message == dp.parse(OUTPUT, dp.analyze(PLAIN)).to_openai()
    assert out == json.dumps(message, ensure_ascii=False, indent=2) + "\n"


def test_server_sent_events(run):
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
def test_chunks_of_any_size(run, size):
    argv = ("parse", "--template", "t.jinja", "out.txt")
    cut = (*argv, "--chunk", str(size))
    assert run(*cut, "--as", "message") == run(*argv, "--as", "message")
    assert joined(events(run(*cut))) == joined(events(run(*argv)))


def test_chunk_size_is_in_characters(run, files):
    files("text.txt", "äöü€é")
    out = run("parse", "--template", "t.jinja", "--chunk", "2", "text.txt")
    assert [event.get("text") for event in events(out)] == ["äö", "ü€", "é", None]


@pytest.mark.parametrize("argv", [[], ["-"], ["--chunk", "5"], ["--chunk", "5", "-"]])
def test_standard_input(run, argv):
    argv = ["parse", "--template", "t.jinja", "--as", "message", *argv]
    assert run(*argv, stdin=OUTPUT.encode()) == run(*argv[:5], "out.txt")
    assert not sys.stdin.closed


@pytest.mark.parametrize("argv", [[], ["--chunk", "1"]])
def test_standard_input_is_parsed_incrementally(files, argv):
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
                chunk = json.loads(process.stdout.readline())["text"].encode()
                rest = rest.removeprefix(chunk)
        out, err = process.communicate()
    assert (events(out.decode()), err) == ([{"type": "finish", "finish_reason": "stop"}], b"")


@pytest.mark.parametrize("argv", [[], ["--chunk", "1"]])
def test_invalid_utf_8_output_is_replaced(run, files, argv):
    files("odd.txt", b"a\xffb\xe2\x82")
    out = run("parse", "--template", "t.jinja", "--as", "message", *argv, "odd.txt")
    assert json.loads(out)["content"] == "a\ufffdb\ufffd"
    issues = [
        event
        for event in events(run("parse", "--template", "t.jinja", *argv, "odd.txt"))
        if event["type"] == "issue"
    ]
    assert [(issue["kind"], issue["span"]) for issue in issues] == [("invalid_text", [1, 4])]


def test_line_ends_stay(run, files):
    files("lines.txt", "a\r\nb\rc\n")
    out = run("parse", "--template", "t.jinja", "--as", "message", "lines.txt")
    assert json.loads(out)["content"] == "a\r\nb\rc\n"


def test_no_output_at_all(run):
    assert events(run("parse", "--template", "t.jinja")) == [
        {"type": "finish", "finish_reason": "stop"}
    ]


def test_tools(run, files):
    files("tools.json", [tool("say")])
    found = events(run("parse", "--template", "t.jinja", "--tools", "tools.json", "out.txt"))
    (issue,) = (event for event in found if event["type"] == "issue")
    assert issue["kind"] == "unknown_tool"
    assert 0 < issue["span"][0] < issue["span"][1] < len(OUTPUT)
    assert "add" in issue["detail"]
    assert found.index(issue) == len(found) - 2


def test_without_tools_a_call_is_text(run, files):
    files("tools.json", [])
    argv = ("parse", "--template", "t.jinja", "--tools", "tools.json", "--as", "message")
    message = json.loads(run(*argv, "out.txt"))
    assert "tool_calls" not in message
    assert '<use>{"tool": "add"' in message["content"]


def test_prompt(run, files):
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
        (["--finish", "stop"], "length", ["truncated_call"]),
    ],
)
def test_finish(run, files, argv, reason, kinds):
    files("cut.txt", '<use>{"tool": "add", "with": {"a": 1')
    found = events(run("parse", "--template", "t.jinja", *argv, "cut.txt"))
    assert found[-1] == {"type": "finish", "finish_reason": reason}
    assert [event["kind"] for event in found if event["type"] == "issue"] == kinds


def test_unverified_format_is_noted(files, capfd):
    files("t.jinja", NO_JSON)
    assert main(["parse", "--template", "t.jinja", "out.txt"]) == 0
    out, err = capfd.readouterr()
    assert events(out)
    assert err.startswith("deltaparse: note: t.jinja: the format is not verified: ")
    assert len(err.splitlines()) == 1


def test_output_in_ascii_encoding(files):
    argv = ("parse", "--template", "t.jinja", "out.txt")
    with as_process(*argv, env={"PYTHONIOENCODING": "ascii"}) as process:
        out, err = process.communicate()
    assert err == b""
    assert events(out.decode("ascii"))[0]["text"] == 'Où? "Là".'


CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
OTHER = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_output_is_parsed_with_a_built_in_format(tried):
    code, out, err = tried("parse", "--format", "hermes", "--as", "message", stdin=CALL.encode())
    assert (code, err) == (0, "deltaparse: finish reason: tool_calls\n")
    assert json.loads(out)["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}


def test_template_and_format_are_exclusive(tried):
    code, _, err = tried("parse")
    assert (code, "--template --format is required" in err) == (2, True)
    code, _, err = tried("parse", "--template", "t.jinja", "--format", "hermes")
    assert (code, "not allowed with" in err) == (2, True)


NOTE = "note: no call was parsed, but this looks like --format hermes, or qwen25"


def test_another_format_is_noticed(tried, files):
    files("other.jinja", OTHER)
    files("none.json", [])
    for argv in (("--format", "mistral"), ("--template", "other.jinja")):
        code, out, err = tried("parse", *argv, "--chunk", "3", stdin=f"Hi {CALL}".encode())
        assert code == 0
        assert "<tool_call>" in "".join(event.get("text", "") for event in events(out))
        assert NOTE in err
        assert "1 call; it contains '<tool_call>'" in err
        _, _, err = tried("parse", *argv, "--tools", "none.json", stdin=f"Hi {CALL}".encode())
        assert NOTE not in err


def test_no_note_for_output_without_calls(tried):
    for text in ("", "Hello.", "I write <tool_call> here.", CALL):
        _, _, err = tried("parse", "--format", "hermes", stdin=text.encode())
        assert err == ""


def test_glance_keeps_a_limited_prefix():
    chunks = [b"x" * (ENOUGH - 1), b"yz", b"w"]
    glance = Glance(chunks)
    assert list(glance) == chunks
    assert sum(map(len, glance._kept)) == ENOUGH


def test_message_form_prints_issues_and_finish_reason_to_stderr(tried, files):
    files("cut.txt", '<use>{"tool": "add", "with": {"a": 1')
    for form, told in (("message", ["truncated_call", "finish"]), ("sse", ["truncated_call"])):
        code, _, err = tried("parse", "--template", "t.jinja", "--as", form, "cut.txt")
        assert (code, [line.split()[1] for line in err.splitlines()]) == (0, told)


def test_result_has_message_issues_and_attempts(run, files):
    files("cut.txt", 'Well.<use>{"tool": "add", "with": {"a": 1')
    result = json.loads(run("parse", "--template", "t.jinja", "--as", "result", "cut.txt"))
    assert list(result) == ["message", "finish_reason", "issues", "attempts"]
    assert result["message"]["content"] == "Well."
    assert result["finish_reason"] == "length"
    assert [issue["kind"] for issue in result["issues"]] == ["truncated_call"]
    assert [attempt["status"] for attempt in result["attempts"]] == ["truncated"]


def test_check_fails_if_there_is_an_issue(tried, files):
    files("cut.txt", '<use>{"tool": "add", "with": {"a": 1')
    for name, status in (("out.txt", 0), ("cut.txt", 1)):
        code, out, _ = tried("parse", "--template", "t.jinja", "--check", name)
        assert (code, bool(out)) == (status, True)


def test_finish_option_is_the_engine_finish_reason(run, files):
    files("cut.txt", CALL.removesuffix("</tool_call>"))
    for reason, ended in (("eos_token", "tool_calls"), ("max_tokens", "length"), ("odd", "length")):
        out = run("parse", "--format", "hermes", "--finish", reason, "cut.txt")
        assert events(out)[-1]["finish_reason"] == ended
    assert "unknown_finish" in out


def test_a_format_may_be_in_a_file(tried, files):
    for name in ("f.json", "fmt"):
        files(name, dp.get_format("hermes").to_json())
        code, out, _ = tried("parse", "--format", name, "--as", "message", stdin=CALL.encode())
        assert (code, json.loads(out)["tool_calls"][0]["function"]["name"]) == (0, "f")
    files("bad.json", '{"turn": 7}')
    code, _, err = tried("parse", "--format", "bad.json", stdin=b"")
    assert (code, err.startswith("deltaparse: bad.json: ")) == (2, True)


SWITCHED = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% if enable_thinking %}<think>{% else %}"
    "<think></think>{% endif %}{% endif %}"
)


def test_prompt_is_rendered_from_messages(tried, files):
    files("s.jinja", SWITCHED)
    files("chat.json", [{"role": "user", "content": "Hi"}])
    files("body.json", {"messages": [{"role": "user", "content": "Hi"}]})
    for chat in ("chat.json", "body.json"):
        argv = ["parse", "--template", "s.jinja", "--messages", chat, "--as", "result"]
        for value, reasoning in (("true", "hm"), ("false", "")):
            switch = ["--switch", f"enable_thinking={value}"]
            _, out, _ = tried(*argv, *switch, stdin=b"hm</think>Yes." if reasoning else b"Yes.")
            message = json.loads(out)["message"]
            assert (message.get("reasoning_content", ""), message["content"]) == (reasoning, "Yes.")
    for argv in (["--messages", "chat.json"], ["--switch", "a=1"]):
        code, _, err = tried("parse", "--format", "hermes", *argv)
        assert (code, "require --template" in err) == (2, True)
    code, _, err = tried("parse", "--template", "s.jinja", "--switch", "thinking")
    assert (code, "expected NAME=VALUE" in err) == (2, True)


def test_records_are_parsed_line_by_line(tried, files):
    records = [
        {"id": 7, "text": CALL, "finish_reason": "stop"},
        {"text": CALL, "tools": [], "finish_reason": {"type": "length"}},
        {"id": "x", "text": "hm</think>Yes.", "prompt": "<|im_start|>assistant\n<think>"},
    ]
    files("records.jsonl", "\n\n".join(map(json.dumps, records)))
    code, out, err = tried("parse", "--format", "hermes", "--jsonl", "records.jsonl")
    first, second, third = events(out)
    assert (code, err) == (0, "")
    assert (first["id"], first["finish_reason"]) == (7, "tool_calls")
    assert "id" not in second
    assert (second["message"]["content"], second["finish_reason"]) == (CALL, "length")
    assert third["id"] == "x"
    for line in ("{", '{"id": 1}', "[]"):
        code, _, err = tried("parse", "--format", "hermes", "--jsonl", stdin=line.encode())
        assert (code, "-, line 1: " in err) == (2, True)


def test_records_may_have_messages(tried, files):
    files("s.jinja", SWITCHED)
    record = {"text": "hm</think>Yes.", "messages": [{"role": "user", "content": "Hi"}]}
    argv = ["parse", "--jsonl", "--template", "s.jinja", "--switch", "enable_thinking=true"]
    _, out, _ = tried(*argv, stdin=json.dumps(record).encode())
    assert json.loads(out)["message"]["reasoning_content"] == "hm"
    code, _, err = tried(
        "parse", "--jsonl", "--format", "hermes", stdin=json.dumps(record).encode()
    )
    assert (code, "require --template" in err) == (2, True)


def test_analysis_results_are_cached(tried, files, tmp_path):
    for command in (["parse", "out.txt"], ["grammar"]):
        argv = [*command, "--template", "t.jinja", "--cache", "kept"]
        files("tools.json", [tool("say")])
        code, *_ = tried(*argv, "--tools", "tools.json")
        assert code == 0
        assert list((tmp_path / "kept").iterdir())


@pytest.mark.parametrize("id", ["1e999", "-1e999", '{"a": [1e999]}'])
@pytest.mark.parametrize("argv", [["parse", "--jsonl"], ["replay", "-", "--out", "-"]])
def test_infinite_record_id_is_written_as_text(tried, argv, id):
    record = f'{{"id": {id}, "text": "Hi", "finish_reason": "stop"}}'
    code, out, _ = tried(*argv, "--format", "hermes", stdin=record.encode())
    assert code == 0
    (result, *_) = out.splitlines()

    def refuse(name):
        raise AssertionError(name)

    found = json.loads(result, parse_constant=refuse)["id"]
    assert found == json.dumps(json.loads(id))
