"""Chat templates: as transformers renders them, and further where transformers gives up."""

# ruff: noqa: E501 - a template is read more easily in one line

from __future__ import annotations

import copy
import json
import pickle
import re
from collections import OrderedDict
from dataclasses import FrozenInstanceError, dataclass
from enum import Enum, IntEnum
from time import thread_time

import pytest

from deltaparse.analyzer.template.chat_template import ChatTemplate
from deltaparse.analyzer.template.sandbox import MAX_SOURCE, LimitExceeded, Limits, Refusal
from deltaparse.partial import DeltaParseError, TemplateError, UsageError

from ... import corpus

USER = {"role": "user", "content": "Is it <warm> in Paris & Köln?"}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tell the weather.",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "A city."},
                "unit": {"type": "string", "description": "C or F.", "enum": ["C", "F"]},
                "days": {"type": "integer", "description": "How many.", "default": 1},
            },
            "required": ["location"],
        },
    },
}
RESULT = {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefgh1", "content": "Sunny."}


def calling(arguments, content="", **more):
    function = {"name": "get_weather", "arguments": arguments}
    call = {"id": "abcdefgh1", "type": "function", "function": function}
    return {"role": "assistant", "content": content, "tool_calls": [call], **more}


def render(source, messages=(), **context):
    return ChatTemplate(source, "<s>", "</s>").render(messages, **context)


# Templates as values.


def test_templates_are_equal_and_hashable_by_source_and_tokens():
    template = ChatTemplate("{{ bos_token }}", "<s>", "</s>")

    assert template == ChatTemplate("{{ bos_token }}", "<s>", "</s>", limits=Limits(seconds=9))
    assert len({template, ChatTemplate("{{ bos_token }}", "<s>", "</s>")}) == 1
    assert template != ChatTemplate("{{ bos_token }}", "<s>")
    assert template != ChatTemplate("{{ bos_token }}!", "<s>", "</s>")
    assert (template.source, template.bos_token, template.eos_token) == (
        "{{ bos_token }}",
        "<s>",
        "</s>",
    )


def test_templates_do_not_change():
    with pytest.raises(FrozenInstanceError):
        ChatTemplate("a").source = "b"


def test_templates_can_be_pickled_and_copied():
    template = ChatTemplate("{{ bos_token }}a", "<s>", limits=Limits(seconds=9))

    for other in (pickle.loads(pickle.dumps(template)), copy.deepcopy(template)):
        assert other == template
        assert other.limits == template.limits
        assert other.render([]) == "<s>a"


def test_a_template_prints_its_size_only():
    assert repr(ChatTemplate("a" * 999)) == "<ChatTemplate of 999 characters>"


def test_variables_are_those_that_the_caller_may_pass():
    source = "{% set x = 1 %}{% for m in messages %}{{ m.role }}{{ x }}{{ y }}{% endfor %}{{ raise_exception('a') if thinking is defined }}"

    assert ChatTemplate(source).variables == {"messages", "y", "thinking"}


def test_constants_are_the_texts_in_order_and_once():
    source = "<a>{{ 'b' ~ x['c'] }}{% if x == 'd' %}<a>{{ 'e' + ('f' ~ ['g', 1]) }}{% endif %}{{ '' }}tail"

    assert ChatTemplate(source).constants == ("<a>", "b", "c", "d", "e", "f", "g", "tail")


# What can be wrong.


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "a\n{% if %}",
            "the chat template does not compile at line 2: Expected an expression, got 'end of statement block'",
        ),
        (
            "{% for x in y %}",
            "the chat template does not compile at line 1: Unexpected end of template",
        ),
        (
            "{{ 1 | nosuch }}",
            "the chat template does not compile at line 1: No filter named 'nosuch'.",
        ),
        ("{{ " + "(" * 5000 + " }}", "the chat template does not compile: it nests too deep"),
        (
            "{% for a in b %}" * 30 + "{% endfor %}" * 30,
            "the chat template does not compile: SyntaxError: too many statically nested blocks",
        ),
        (
            "{{ " + "1" * 9999 + " }}",
            "the chat template does not compile: ValueError: Exceeds the limit",
        ),
        (
            "a" * (MAX_SOURCE + 1),
            "the chat template asks for too much: more than 131072 characters of source",
        ),
    ],
)
def test_what_does_not_compile_is_told_at_once(source, message):
    with pytest.raises(TemplateError) as caught:
        ChatTemplate(source)

    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, Exception)
    assert isinstance(caught.value, DeltaParseError)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "a\n{{ x + 1 }}",
            "the chat template fails at line 2: 'x' is undefined: pass it to render(x=...)",
        ),
        (
            "{{ messages.x.y }}",
            "the chat template fails at line 1: 'list object' has no attribute 'x'",
        ),
        (
            "{{ 'a' + 1 }}",
            'the chat template fails at line 1: TypeError: can only concatenate str (not "int") to str',
        ),
        (
            "{{ 1 / 0 }}",
            "the chat template fails at line 1: ZeroDivisionError: division by zero",
        ),
        (
            "{% include 'x' %}",
            "the chat template fails at line 1: TypeError: no loader for this environment specified",
        ),
        (
            "{{ raise_exception('After tools,\n  only the   user.') }}",
            "After tools, only the user.",
        ),
        ("{{ raise_exception('') }}", "the chat template refuses the conversation"),
        (
            "a\n{{ 'a' * 10**9 }}",
            "the chat template asks for too much at line 2: a value of more than 4194304 characters",
        ),
        (
            "{% macro f() %}{{ f() }}{% endmacro %}\n\n{{ f() }}",
            "the chat template asks for too much at line 1: calls nested more than 100 deep",
        ),
    ],
)
def test_what_does_not_render_is_told_in_one_line(source, message):
    with pytest.raises(TemplateError) as caught:
        render(source)

    assert str(caught.value) == message
    assert isinstance(caught.value.__cause__, Exception)


def test_running_out_of_memory_or_stack_is_a_template_error(monkeypatch):
    template = ChatTemplate("{{ x }}")
    for error, words in (
        (MemoryError(), "MemoryError"),
        (RecursionError("deep"), "it nests too deep"),
    ):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr(type(template._program.room), "run", fail)
        with pytest.raises(TemplateError, match=words):
            template.render([])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([None], "source must be the text of a template, not NoneType"),
        ([b"a"], "source must be the text of a template, not bytes"),
        (["a", None], 'bos_token must be a text ("" for none), not NoneType'),
        (["a", "", 3], 'eos_token must be a text ("" for none), not int'),
    ],
)
def test_a_template_must_be_text(arguments, message):
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        ChatTemplate(*arguments)


def test_limits_must_be_limits():
    with pytest.raises(UsageError, match=r"^limits must be Limits\(...\), not int$"):
        ChatTemplate("a", limits=3)


HOLDS_ITSELF = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


@pytest.mark.parametrize(
    ("messages", "context", "message"),
    [
        (
            "hi",
            {},
            "messages must be a list of dicts such as {'role': 'user', 'content': 'Hi'}, not str",
        ),
        (
            USER,
            {},
            "messages must be a list of dicts such as {'role': 'user', 'content': 'Hi'}, not dict",
        ),
        (
            None,
            {},
            "messages must be a list of dicts such as {'role': 'user', 'content': 'Hi'}, not NoneType",
        ),
        (
            [USER, "hi"],
            {},
            "messages[1] must be a dict such as {'role': 'user', 'content': 'Hi'}, not str",
        ),
        (
            [USER],
            {"tools": TOOL},
            "tools must be a list of dicts such as {'type': 'function', 'function': {...}}, not dict",
        ),
        (
            [USER],
            {"tools": [len]},
            "tools[0] must be a dict such as {'type': 'function', 'function': {...}}, not builtin_function_or_method",
        ),
        (
            [USER],
            {"documents": ["a"]},
            "documents[0] must be a dict such as {'title': '...', 'text': '...'}, not str",
        ),
        ([{"content": HOLDS_ITSELF}], {}, "messages must not hold itself, nor nest hundreds deep"),
        ([USER], {"x": HOLDS_ITSELF}, "context must not hold itself, nor nest hundreds deep"),
    ],
)
def test_wrong_arguments_are_the_callers_fault(messages, context, message):
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        render("a", messages, **context)


# What a template finds.


def test_the_context_is_that_of_transformers():
    source = "{{ bos_token }}|{{ eos_token }}|{{ tools is none }}|{{ documents is none }}|{{ add_generation_prompt }}|{{ x }}|{{ q is defined }}"

    assert render(source, x=[1]) == "<s>|</s>|True|True|False|[1]|False"
    assert (
        render(source, bos_token="b", documents=[{}], tools=[], add_generation_prompt=True)
        == "b|</s>|False|False|True||False"
    )


def test_blocks_leave_no_lines():
    source = "{% for m in messages %}\n  {% if m.role == 'user' %}\n<u>{{ m.content }}\n  {% endif %}\n{% endfor %}\n{% generation %}\nx\n{% endgeneration %}\n"

    assert render(source, [{"role": "user", "content": "a"}] * 2) == "<u>a\n<u>a\nx\n"


class Colour(str, Enum):  # noqa: UP042 - the kind whose `str` is not its value
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Number(float):
    def __str__(self):
        return "not this"


@dataclass
class Turn:
    role: str
    content: object = None


class Model:
    def model_dump(self):
        return {"role": Colour.RED, "content": "modelled"}


class Scalar:
    """Looks like a number of NumPy's."""

    shape = ()

    def item(self):
        return 7


class Image:
    def save(self):
        raise AssertionError


def test_what_goes_in_is_made_plain():
    Scalar.__module__ = "numpy"
    messages = [
        Turn("user", [Colour.RED, Level.HIGH, Number(2.5)]),
        Model(),
        OrderedDict(role=(1, Scalar())),
        {"role": Image(), "content": Image},
    ]

    assert render("{{ messages }}", messages) == (
        "[{'role': 'user', 'content': ['red', 3, 2.5]}, {'role': 'red', 'content': 'modelled'},"
        " {'role': (1, 7)}, {'role': '<Image>', 'content': '<type>'}]"
    ).replace("<type>", "<type>")
    assert (
        render("{{ x }}{{ y.save }}", x={1: print}, y=Image())
        == "{1: '<builtin_function_or_method>'}"
    )


def test_caller_and_template_cannot_alter_each_others_messages():
    messages = [{"role": "user", "content": [{"type": "text", "text": "a"}]}, calling({"a": 1})]
    before = copy.deepcopy(messages)

    for change in (
        "messages.append(1)",
        "messages.pop()",
        "messages[0].update(a=1)",
        "messages[0].content.append(1)",
    ):
        with pytest.raises(TemplateError, match=r"unsafe|append needs|pop needs"):
            render("{{ " + change + " }}", messages)
    assert messages == before


def test_a_template_may_keep_a_list_of_its_own():
    source = "{% set ns = namespace(ids=[]) %}{% for m in messages %}{% set _ = ns.ids.append(m.id) %}{% endfor %}{{ ns.ids.pop(0) }}{{ ns.ids }}"

    assert render(source, [{"id": 1}, {"id": 2}]) == "1[2]"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"reasoning_content": "a"}, "a|a|"),
        ({"thinking": "a"}, "a|a|"),
        ({"reasoning": "a"}, "a|a|a"),
        ({"reasoning": "a", "thinking": "b"}, "b|b|a"),
        ({"reasoning_content": "a", "thinking": "b"}, "a|b|"),
        ({"reasoning_content": None, "thinking": ""}, "||"),
        ({}, "||"),
    ],
)
def test_reasoning_goes_by_several_names(given, read):
    source = "{% set m = messages[0] %}{{ m.reasoning_content }}|{{ m.thinking }}|{{ m.reasoning }}"

    assert render(source, [{"role": "assistant", **given}]) == read


def test_names_that_a_model_card_asks_for_are_supplied():
    source = "{{ functions }}|{{ datetime }}"

    assert re.fullmatch(r"\|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", render(source))
    assert render(source, functions="f", datetime="d") == "f|d"
    functions, _, _ = render(source, tools=[TOOL]).rpartition("|")
    assert functions == json.dumps([TOOL], indent=2)
    assert render("{{ self.x is defined }}{{ x }}", functions="f") == "False"


def test_tojson_writes_a_generator():
    assert (
        render("{{ messages | map(attribute='role') | tojson }}", [{"role": "user"}]) == '["user"]'
    )


# The shape of arguments.

CALLS = "{% for m in messages %}{% for c in m.tool_calls or [] %}{% set f = c.function %}"
END = "{% endfor %}{% endfor %}"

SHAPES = {
    "printed": ("{{ f.arguments }}", "string"),
    "added": ("{{ f.name + f.arguments }}", "string"),
    "stripped": ("{{ f.arguments.strip() }}", "string"),
    "concatenated": ("{{ f.name ~ ' ' ~ f.arguments }}", "string"),
    "in a text": ("{{ '%s' % f.arguments }}", "string"),
    "as JSON": ("{{ f.arguments | tojson }}", "object"),
    "as JSON in a list": ("{{ [f] | tojson }}", "object"),
    "one by one": ("{% for k, v in f.arguments.items() %}<{{ k }}>{{ v }}{% endfor %}", "object"),
    "one by one by filter": (
        "{% for k, v in f.arguments | items %}<{{ k }}>{{ v }}{% endfor %}",
        "object",
    ),
    "by key": ("{% for k in f.arguments %}<{{ k }}>{{ f.arguments[k] }}{% endfor %}", "object"),
    "either": ("{{ f.arguments if f.arguments is string else f.arguments | tojson }}", "object"),
    "either, text last": (
        "{% if f.arguments is mapping %}{{ f.arguments | tojson }}{% else %}{{ f.arguments }}{% endif %}",
        "object",
    ),
    "text only": ("{% if f.arguments is string %}{{ f.arguments }}{% endif %}", "string"),
    "object only": (
        "{% if f.arguments is mapping %}{{ f.arguments | tojson }}{% endif %}",
        "object",
    ),
    "refused text": (
        "{% if f.arguments is string %}{{ raise_exception('no') }}{% endif %}x",
        "object",
    ),
    "refused object": (
        "{% if f.arguments is mapping %}{{ raise_exception('no') }}{% endif %}x",
        "string",
    ),
    "not shown": ("{{ f.name }}", "object"),
}


@pytest.mark.parametrize(("source", "shape"), SHAPES.values(), ids=SHAPES.keys())
def test_the_shape_of_arguments_is_found_by_rendering(source, shape):
    template = ChatTemplate(CALLS + source + END)
    arguments = {"city": "Köln", "n": [1, {"a": None}]}

    assert template.arguments_shape == shape
    as_object = template.render([USER, calling(arguments)])
    as_string = template.render([USER, calling(json.dumps(arguments, ensure_ascii=False))])
    assert as_object == as_string
    assert "'city'" not in as_object
    assert '\\"city' not in as_object


@pytest.mark.parametrize(
    "condition",
    [
        "m.content is none",
        "m.content is string and loop.last",
        "tools",
        "messages[-1].role == 'tool'",
    ],
)
def test_the_probes_find_templates_that_show_calls_at_times(condition):
    source = (
        "{% for m in messages %}{% if m.tool_calls and ("
        + condition
        + ") %}{{ m.tool_calls[0].function.arguments }}{% endif %}{% endfor %}"
    )

    assert ChatTemplate(source).arguments_shape == "string"


def test_what_no_probe_tells_is_tried_with_the_messages():
    strict = (
        "{% if messages[0].content != 'please' %}{{ raise_exception('say please') }}{% endif %}"
    )
    template = ChatTemplate(strict + CALLS + "{{ f.name + f.arguments }}" + END)
    please = {"role": "user", "content": "please"}

    assert template.arguments_shape == "object"
    assert template.render([please, calling({"a": 1})]) == 'get_weather{"a": 1}'
    assert template.render([please, calling('{"a":1}')]) == 'get_weather{"a":1}'
    with pytest.raises(TemplateError, match=r"^say please$"):
        template.render([USER, calling({"a": 1})])


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("{oops", '"{oops"'),
        ("", '""'),
        ("[" * 9999, json.dumps("[" * 9999)),
        ("[1]", "[1]"),
        (None, "null"),
        ("1e999", "Infinity"),
    ],
)
def test_arguments_that_are_no_json_pass_as_they_are(given, text):
    assert render(CALLS + "{{ f.arguments | tojson }}" + END, [calling(given)]) == text


def test_arguments_are_found_wherever_calls_stand():
    source = "{{ messages[0].tool_calls[0].arguments | tojson }}{{ messages[0].function_call.arguments | tojson }}{{ messages[0].tool_calls[1] }}{{ messages[1].tool_calls }}{{ messages[2] }}"
    calls = [{"name": "f", "arguments": '{"a": 1}'}, "not a call"]
    old = {"name": "f", "arguments": '{"b": 2}'}

    assert (
        render(
            source,
            [{"tool_calls": calls, "function_call": old}, {"tool_calls": "x"}, {"content": "y"}],
        )
        == "{\"a\": 1}{\"b\": 2}not a callx{'content': 'y'}"
    )


def test_the_shape_is_looked_for_only_where_there_are_calls():
    template = ChatTemplate("{{ messages | length }}")

    template.render([USER])
    assert "_told_shape" not in vars(template)
    template.render([calling({})])
    assert "_told_shape" in vars(template)


# Hostile templates; more of them in `test_sandbox.py`.


@pytest.mark.parametrize("guard", ["", "{% if messages[0].content[:3] == 'qzu' %}"])
def test_a_template_without_end_is_stopped_soon(guard):
    loops = "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}"
    template = ChatTemplate(
        guard + loops + ("{% endif %}" if guard else ""), limits=Limits(seconds=0.05)
    )
    began = thread_time()

    if guard:
        assert template.render([USER, calling({})]) == ""
    else:
        with pytest.raises(TemplateError, match="processor time") as caught:
            template.render([USER, calling({})])
        assert isinstance(caught.value.__cause__, LimitExceeded)
    assert thread_time() - began < 2


def test_the_usual_limit_is_a_second():
    assert ChatTemplate("").limits == Limits(seconds=1)


def test_limits_are_the_callers_choice():
    with pytest.raises(TemplateError, match="more than 5 characters"):
        ChatTemplate("{{ 'a' * 6 }}", limits=Limits(text=5)).render([])
    assert (
        len(ChatTemplate("{{ 'a' * 5000000 }}", limits=Limits(text=5 << 20)).render([])) == 5000000
    )


# Real templates.

real = pytest.mark.parametrize("path", corpus.templates(), ids=lambda path: path.stem)


@corpus.needs_corpus
@real
def test_real_templates_render(path):
    template = ChatTemplate(path.read_text("utf-8"), "<s>", "</s>")

    for prompt in (False, True):
        assert "<warm>" in template.render([USER], tools=[TOOL], add_generation_prompt=prompt)


@corpus.needs_corpus
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


@corpus.needs_corpus
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
                        conversations=[messages],
                        tools=tools,
                        chat_template=source,
                        add_generation_prompt=prompt,
                        bos_token="<s>",
                        eos_token="</s>",
                        **context,
                    )
                except Exception:  # noqa: BLE001 - Jinja's and Python's
                    continue  # we may render what transformers does not, as tested above
                rendered += 1

                assert template.render(messages, tools, prompt, **context) == expected
    assert rendered or "firefunction" in path.stem
