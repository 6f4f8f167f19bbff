"""The example agent with every template: call, gate, result, second turn."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from deltaparse import ChatTemplate, Content, Message, Reasoning, ToolCall, parse

from .strategies.open_templates import NAMES, opened, written

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "agent_loop.py"))
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "the weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "where"},
                    "days": {"type": "integer", "description": "many"},
                },
                "required": ["city"],
            },
        },
    }
]
THINKS = [Reasoning("hm")]
CALL = [ToolCall("zqid0aaaa", "look_up", '{"city": "Ghent", "days": 3}', complete=True)]
ANSWER = [Content("Dry.")]


QUESTION = {"role": "user", "content": "zqaskedzq"}


def outputs(one, parts):
    """Return responses of a model with these parts, with and without reasoning."""
    known = [written(one, Message([*more, *parts]), TOOLS) for more in ([], THINKS)]
    texts = [made[1] + made[2] for made in known if made]
    # A prompt without open reasoning needs no end of reasoning.
    plain = [text[text.rindex("Dry.") :] for text in texts if parts is ANSWER]
    return texts + plain


class Engine:
    """A fake engine: returns the response of the script for a prompt, even with open reasoning.

    `script` has the possible responses of each turn.
    """

    def __init__(self, one, script):
        self.script, self.prompts = list(script), []
        self.fmt = one.fmt

    def __call__(self, prompt):
        def fits(text):
            said = parse(text, self.fmt, prompt=prompt, tools=TOOLS, finish_reason="stop")
            return said.tool_calls or said.content == "Dry."

        self.prompts.append(prompt)
        outputs = self.script.pop(0)
        text = next(filter(fits, outputs), outputs[0])
        yield from ((text[at : at + 5], None) for at in range(0, len(text), 5))
        yield "", "eos_token"


# This template renders calls only with content, and the script has calls without content.
LEFT_OUT = "calls_beside_content_only"


@pytest.mark.parametrize("name", [name for name in NAMES if name != LEFT_OUT])
def test_agent_runs_with_every_template(name):
    one = opened(name)
    script = [outputs(one, CALL), outputs(one, ANSWER)]
    # Templates without calls, or with damaged strings, cannot run an agent.
    agents = one.fmt.verified and one.fmt.proved.calls
    assert all(script) or not agents
    engine, messages, called = Engine(one, script), [*one.first, QUESTION], []
    functions = {"look_up": lambda **given: called.append(given) or "Sun."}
    if agents:
        answer = EXAMPLE["agent"](one.template, TOOLS, functions, engine, messages)
        assert answer == "Dry."
        assert called == [{"city": "Ghent", "days": 3}]
        assert "Sun." in engine.prompts[-1]


@pytest.mark.parametrize(
    ("output", "reason", "says"),
    [
        ('Let me.<use>{"tool": "clock", "with": {"zone": "As', "length", "truncated_call"),
        ('Let me.<use>{"tool": "clock", "with": {"zone": "As', None, "truncated_call"),
        ('<use>{"tool": "clock", "with": [1]}</use></assistant>', "stop", "malformed_arguments"),
    ],
)
def test_truncated_or_broken_call_is_not_an_answer(output, reason, says):
    """Report to the model that the call did not run, with any finish reason."""
    turns, prompts = iter([(output, reason), ("It is nine.</assistant>", "stop")]), []

    def engine(prompt):
        prompts.append(prompt)
        text, ended = next(turns)
        yield text, None
        if ended:
            yield "", ended

    template, called = ChatTemplate(EXAMPLE["TEMPLATE"]), []
    functions = {"clock": lambda **given: called.append(given)}
    given = (template, EXAMPLE["TOOLS"], functions, engine, [QUESTION])
    assert EXAMPLE["agent"](*given) == "It is nine."
    assert called == []
    assert f"the parser reported {says}" in prompts[1]
