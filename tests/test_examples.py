"""The examples, run like a user runs them, print the expected text."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import pytest

from deltaparse import analyze

from . import vocabularies

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TOOLS = EXAMPLES.with_name("tools")

PLAIN_LOOP = """\
reasoning  'The user asks'
reasoning  ' for the'
reasoning  ' time.'
content    'One moment'
content    '.'
call       'clock' is call 0
arguments  '{"zone": "Asia/' of call 0
arguments  'Tokyo"' of call 0
arguments  '}' of call 0
tool_calls {"zone": "Asia/Tokyo"}
"""
ASYNC_LOOP = """\
reasoning  'Paris'
reasoning  ' or Lyon?'
content    'It'
content    ' is Paris.'
"""
AGENT_LOOP = """\
<user>What time is it in Tokyo?</user><assistant>
<user>What time is it in Tokyo?</user><assistant>\
<use>{"tool": "clock", "with": {"zone": "Asia/Tokyo"}}</use>\
<use>{"tool": "clock", "with": {"zones": []}}</use></assistant>\
<tool>09:00 in Asia/Tokyo</tool>\
<tool>refused: schema, at $: violates "required": ["zone"]</tool><assistant>
It is nine.
"""
FIRST_CALL = """\
stopped after 72 of 158 characters
ToolCall(id='call_40d7e53c5f75b5383a90b71c', name='clock', arguments='{"zone": "Asia/Tokyo"}', \
complete=True, repaired=False)
"""
RANDOM_MODEL = """\
every text was read back as valid calls, such as \
{"hotel": "<{\\n</", "nights": 22, "class": "single"}
"""
REASONING_BUDGET = """\
{'reasoning_content': 'Paris'}
{'reasoning_content': '?'}
{'reasoning_content': ' Or'}
{'reasoning_content': ' Lyon'}
{'reasoning_content': '? '}
{'reasoning_content': 'Paris'}
{'content': 'It'}
{'content': ' is'}
{'content': ' Paris'}
{'content': '.'}
with markers, 7 and 6 chunks
"""


def chunk(delta, reason=None):
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000}
    return f"data: {json.dumps(head | {'model': 'example', 'choices': [choice]})}\n\n"


def call(function, **first):
    return {"tool_calls": [{"index": 0, **first, "function": function}]}


OPENAI_CHUNKS = "".join(
    [
        chunk({"role": "assistant", "content": "Let me"}),
        chunk({"content": " see."}),
        chunk(call({"name": "add", "arguments": ""}, id="c7", type="function")),
        chunk(call({"arguments": '{"a": '})),
        chunk(call({"arguments": "12}"})),
        chunk({}, "tool_calls"),
        "data: [DONE]\n\n",
    ]
)
ROLLOUT = (
    '<|user|>2 + 2?<|end|><|assistant|><|call|>{"name": "add", "arguments": {"a": 2,"b":  2}}'
    "<|/call|><|end|><|tool|>4<|end|><|assistant|>4.<|end|>\n"
    f"{'.' * 34}{'^' * 70}{'.' * 29}{'^' * 9}\n"
)
OUTPUTS = {
    "agent_loop.py": AGENT_LOOP,
    "plain_loop.py": PLAIN_LOOP,
    "async_loop.py": ASYNC_LOOP,
    "openai_chunks.py": OPENAI_CHUNKS,
    "reasoning_budget.py": REASONING_BUDGET,
    "rollout.py": ROLLOUT,
    "first_call.py": FIRST_CALL,
    "random_model.py": RANDOM_MODEL,
}


def run(folder, program, *arguments):
    # The example must import the same package as this process: src or the installed one.
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, program, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.costly
@pytest.mark.parametrize("name", OUTPUTS)
def test_example(name, tmp_path):
    assert run(tmp_path, EXAMPLES / name) == OUTPUTS[name]


def test_reasoning_is_kept_in_the_context(monkeypatch):
    example = runpy.run_path(str(EXAMPLES / "reasoning_budget.py"))
    answer, contexts = example["answer"], []

    def generate(context):
        contexts.append(context)
        yield from islice(example["generate"](context), 20)

    monkeypatch.setitem(answer.__globals__, "generate", generate)
    fmt = analyze(example["TEMPLATE"])
    thought = answer(fmt, "<assistant>\n").message.reasoning_content
    end = fmt.reasoning.end
    assert contexts == ["<assistant>\n", f"<assistant>\n{fmt.reasoning.start}{thought}{end}"]


@pytest.mark.costly
@pytest.mark.skipif(find_spec("llguidance") is None, reason="llguidance is not installed")
@pytest.mark.parametrize(("model", "name"), [("tekken", "mistral"), ("deepseek", "deepseek_v32")])
@vocabularies.needs_vocabularies
def test_random_model_runs_with_a_real_vocabulary(model, name, tmp_path):
    given = ("--vocabulary", vocabularies.path(model), "--format", name, "--turns", "3", "--show")
    written = run(tmp_path, TOOLS / "random_model.py", *given)
    assert written.endswith("every text was read back as valid calls, and nothing else\n")
    assert '"hotel"' in written


def test_every_example_is_run():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(OUTPUTS)
