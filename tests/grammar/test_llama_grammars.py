"""Tests of grammars in llama.cpp: eager, lazy, and with special tokens.

`make test-llama` installs the packages. Samples of llama.cpp are tested in `test_agreement.py`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys

import httpx
import pytest
from jsonschema import Draft202012Validator

import deltaparse as dp
from deltaparse import gbnf, get_format, list_formats

from ..gateway.tiny_model import END, SERVER, SPECIAL, write_model
from .llama_machine import TEMPLATE, Llama, llama
from .machines import Sampler
from .reading_back import TOOLS, read

if llama() is None:
    pytest.skip("make test-llama installs llama.cpp", allow_module_level=True)

NAMED = [name for name in list_formats() if get_format(name).derived.has_calls]
ANSWER = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
REQUESTS = {
    "required": {"tool_choice": "required"},
    "named": {"tool_choice": {"type": "function", "function": {"name": "look_up"}}},
    "one": {"tool_choice": "required", "parallel_tool_calls": False},
    "none": {"tool_choice": "none", "response_schema": ANSWER},
    "either": {"response_schema": ANSWER},
    "auto": {"lazy": False},
}
STRICT = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"unit": {"enum": ["C", "F"]}, "now": {"type": "boolean"}},
                "required": ["unit", "now"],
            },
        },
    }
]


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("name", NAMED)
def test_llama_cpp_accepts_samples_of_each_request(name, request_):
    grammar = gbnf(get_format(name), TOOLS, **REQUESTS[request_])
    engine = Llama(grammar.text)
    for seed in range(3):
        text = Sampler(grammar.rules).text(random.Random(seed))
        assert engine.accepts(text), text
        if request_ != "auto":
            assert not engine.accepts(text[:-1])
            assert not engine.accepts(text + "}")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    write_model(path, TEMPLATE.read_text(encoding="utf-8"))
    return path


@pytest.fixture(scope="module")
def server(model):
    command = [sys.executable, "-c", SERVER, str(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


def body_of(grammar, **more):
    """Return a request of llama.cpp's server, as in `docs/constrain.md`."""
    kinds = {"token": 0, "word": 1, "pattern": 2}
    return {
        "prompt": "hm",
        "grammar": grammar.text,
        "grammar_lazy": grammar.lazy,
        "grammar_triggers": [
            {
                "type": kinds[one.kind],
                "value": one.value,
                **({"token": int(one.value)} if one.kind == "token" else {}),
            }
            for one in grammar.triggers
        ],
        "preserved_tokens": list(grammar.preserved_tokens),
        "n_predict": 400,
        **more,
    }


def test_special_tokens(model):
    fmt = dp.analyze(TEMPLATE.read_text(encoding="utf-8"))
    vocabulary = dp.Vocabulary.load(model)
    grammar = gbnf(fmt, STRICT, tool_choice="required", vocabulary=vocabulary)
    marked = Sampler(grammar.rules).text(random.Random(1))
    tokens = grammar.rules.tokens
    assert set(marked) & set(tokens)
    ids = [id for char in marked for id in ([tokens[char].id] if char in tokens else char.encode())]
    engine = Llama(grammar.text)
    assert engine.accepts_ids(ids)
    assert not engine.accepts_ids(ids[:-1])
    spelled = "".join(tokens[char].text if char in tokens else char for char in marked)
    assert not engine.accepts(spelled)


@pytest.mark.parametrize("with_tokens", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_lazy_grammar_begins_at_its_trigger(model, server, with_tokens, seed):
    """The first token is made the trigger, and the constrained rest is random."""
    source = TEMPLATE.read_text(encoding="utf-8")
    vocabulary = dp.Vocabulary.load(model) if with_tokens else None
    fmt = dp.analyze(source)
    prompt = "<ponder></ponder>"  # reasoning is closed, so the marker alone is a trigger
    grammar = gbnf(fmt, STRICT, prompt=prompt, vocabulary=vocabulary, parallel_tool_calls=False)
    assert grammar.lazy
    call = 257 + SPECIAL.index("<call>")
    free = body_of(grammar, seed=seed, logit_bias=[[END, False], [call, False]], n_predict=20)
    made = httpx.post(f"{server}/completion", json=free, timeout=60).json()
    assert made["tokens_predicted"] == 20  # without a trigger, the text is unconstrained
    forced = body_of(grammar, seed=seed, logit_bias=[[call, 1e9]])
    answer = httpx.post(f"{server}/completion", json=forced, timeout=60)
    assert answer.status_code == 200, answer.text
    text = answer.json()["content"]
    message, issues = read(fmt, STRICT, text)
    assert issues == [], text
    (found,) = message.tool_calls
    schema = STRICT[0]["function"]["parameters"]
    Draft202012Validator(schema).validate(json.loads(found.arguments))
