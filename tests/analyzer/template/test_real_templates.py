"""Real chat templates: they render, whatever shape arguments have, and as in transformers."""

from __future__ import annotations

import json

import pytest

from deltaparse import ChatTemplate, TemplateError
from deltaparse.analyzer.template.template_globals import Refusal

from ... import corpus
from .conversations import RESULT, TOOL, USER, calling

pytestmark = corpus.needs_corpus
real = pytest.mark.parametrize("path", corpus.templates(), ids=lambda path: path.stem)


@real
def test_real_templates_render(path):
    template = ChatTemplate(path.read_text("utf-8"), "<s>", "</s>")

    for prompt in (False, True):
        assert "<warm>" in template.render([USER], tools=[TOOL], add_generation_prompt=prompt)


@real
def test_real_templates_render_calls_unless_they_refuse(path):
    template = ChatTemplate(path.read_text("utf-8"), "<s>", "</s>")
    arguments = {"location": "Paris", "days": 2}
    texts = []
    for given in (arguments, json.dumps(arguments)):
        try:
            texts.append(template.render([USER, calling(given), RESULT], tools=[TOOL]))
        except TemplateError as error:
            if not isinstance(error.__cause__, Refusal):
                raise
            texts.append(str(error))

    assert texts[0] == texts[1]
    assert "{'location': 'Paris'" not in texts[0]
    assert '{\\"location' not in texts[0]


def conversations(shape):
    """Turns of all kinds, with arguments of the given shape."""
    shaped = (lambda value: value) if shape == "object" else json.dumps
    system = {"role": "system", "content": "Be brief."}
    said = {"role": "assistant", "content": "It <is>.\u2028"}
    thought = {**said, "reasoning_content": "Hm\u00e9."}
    call = calling(shaped({"location": "K\u00f6ln", "days": [1, {"x": None, "y": 1.5}]}))
    calls = calling(shaped({"location": "Paris"}), None, reasoning_content="Call.")
    calls["tool_calls"] = calls["tool_calls"] * 2
    yield [USER]
    yield [system, USER, said, USER]
    yield [system, USER, thought, USER]
    yield [USER, {**said, "thinking": "Hm."}]
    yield [USER, call]
    yield [USER, call, RESULT]
    yield [system, USER, call, RESULT, thought, USER, calls, RESULT, RESULT, said, USER]
    yield [{"role": "user", "content": [{"type": "text", "text": "In parts."}]}]
    yield []


@real
def test_real_templates_render_as_in_transformers(path):
    rendering = pytest.importorskip("transformers.utils.chat_template_utils")
    source = path.read_text("utf-8")
    template = ChatTemplate(source, "<s>", "</s>")
    switched = "enable_thinking" in template.variables
    contexts = [{}, {"enable_thinking": True}, {"enable_thinking": False}][: 1 + 2 * switched]
    rendered = 0
    for index, messages in enumerate(conversations(template.arguments_shape)):
        for tools in (None, [TOOL]):
            for context in contexts:
                prompt = bool(index % 2)
                try:
                    [expected], _ = rendering.render_jinja_template(
                        conversations=[template.history(messages)],
                        tools=tools,
                        chat_template=source,
                        add_generation_prompt=prompt,
                        bos_token="<s>",
                        eos_token="</s>",
                        **context,
                    )
                except Exception:  # noqa: BLE001 - Jinja's and Python's
                    continue  # we may render more than transformers, as tested above
                rendered += 1

                assert template.render(messages, tools, prompt, **context) == expected
    assert rendered or "firefunction" in path.stem
