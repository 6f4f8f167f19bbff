"""Tests of chat templates: as in transformers, and beyond its limits."""

# ruff: noqa: E501 - a template is read more easily in one line

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import FrozenInstanceError
from time import thread_time

import pytest

from deltaparse import ChatTemplate
from deltaparse.analyzer.template.budget import LimitExceeded, Limits
from deltaparse.analyzer.template.sandbox import MAX_SOURCE
from deltaparse.partial import DeltaParseError, TemplateError, UsageError

from .conversations import TOOL, USER, calling


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


def test_keys_of_contents_are_the_keys_read_from_content():
    read = "{{ m.content.blocks }}{{ m['content']['parts'][0].text }}{{ content[0].kind }}"
    other = "{{ m.content.strip() }}{{ m.content['split']('x') }}{{ content[name] }}{{ m.content }}"

    assert ChatTemplate(read + other).content_part_keys == {"blocks", "parts"}


# Errors.


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "a\n{% if %}",
            "the chat template does not compile at line 2: Expected an expression, got 'end of statement block'|",
        ),
        (
            "{% for x in y %}",
            "the chat template does not compile at line 1: Unexpected end of template",
        ),
        (
            "{{ 1 | nosuch }}",
            "the chat template does not compile at line 1: No filter named 'nosuch'.|",
        ),
        ("{{ " + "(" * 5000 + " }}", "the chat template does not compile: it is nested too deeply"),
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
            "the chat template exceeds its limits: more than 131072 characters of source",
        ),
    ],
)
def test_compile_error_is_raised_at_construction(source, message):
    with pytest.raises(TemplateError) as caught:
        ChatTemplate(source)

    assert f"{caught.value}|".startswith(message)  # Python's own words differ by version
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
            "{{ messages.x.y }}\n{{ 1 }}\n{{ 2 }}",
            "the chat template fails at line 1: 'list object' has no attribute 'x'",
        ),
        (
            "a\n{{ 'a' + 1 }}\n{{ 2 }}\n{{ 3 }}",
            'the chat template fails at line 2: TypeError: can only concatenate str (not "int") to str',
        ),
        (
            "{{ tools | length }}",
            "the chat template fails at line 1: TypeError: object of type 'NoneType' has no len()",
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
            "the chat template exceeds its limits at line 2: a value of more than 4194304 characters",
        ),
        (
            "{% macro f() %}{{ f() }}{% endmacro %}\n\n{{ f() }}",
            "the chat template exceeds its limits at line 1: calls nested more than 100 deep",
        ),
    ],
)
def test_render_error_is_reported_in_one_line(source, message):
    with pytest.raises(TemplateError) as caught:
        render(source)

    assert str(caught.value) == message
    assert isinstance(caught.value.__cause__, Exception)


def test_running_out_of_memory_or_stack_is_a_template_error(monkeypatch):
    template = ChatTemplate("{{ x }}")
    for error, words in (
        (MemoryError(), "fails: MemoryError$"),
        (RecursionError("deep"), "fails: it is nested too deeply$"),
    ):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr(type(template._program.room), "run", fail)
        with pytest.raises(TemplateError, match=words):
            template.render([])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([None], "source must be a str of Jinja source, not NoneType"),
        ([b"a"], "source must be a str of Jinja source, not bytes"),
        (["a", None], 'bos_token must be a str (default: ""), not NoneType'),
        (["a", "", 3], 'eos_token must be a str (default: ""), not int'),
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
            "messages must be a list of dicts like {'role': 'user', 'content': 'Hi'}, not str",
        ),
        (
            USER,
            {},
            "messages must be a list of dicts like {'role': 'user', 'content': 'Hi'}, not dict",
        ),
        (
            None,
            {},
            "messages must be a list of dicts like {'role': 'user', 'content': 'Hi'}, not NoneType",
        ),
        (
            [USER, "hi"],
            {},
            "messages[1] must be a dict like {'role': 'user', 'content': 'Hi'}, not str",
        ),
        (
            [USER],
            {"tools": TOOL},
            "tools must be a list of dicts like {'type': 'function', 'function': {...}}, not dict",
        ),
        (
            [USER],
            {"tools": [len]},
            "tools[0] must be a dict like {'type': 'function', 'function': {...}}, not builtin_function_or_method",
        ),
        (
            [USER],
            {"documents": ["a"]},
            "documents[0] must be a dict like {'title': '...', 'text': '...'}, not str",
        ),
        (
            [{"content": HOLDS_ITSELF}],
            {},
            "messages must not contain itself or nest hundreds of levels",
        ),
        ([USER], {"x": HOLDS_ITSELF}, "context must not contain itself or nest hundreds of levels"),
    ],
)
def test_wrong_arguments_are_the_callers_fault(messages, context, message):
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        render("a", messages, **context)


# The environment of a template.


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
    tool = TOOL | {"title": "Köln"}
    functions, _, _ = render(source, tools=[tool]).rpartition("|")
    assert functions == json.dumps([tool], indent=2, ensure_ascii=False)
    assert render("{{ self.x is defined }}{{ x }}", functions="f") == "False"


@pytest.mark.parametrize(
    "source",
    [
        "{% for f in functions %}{{ f.name }}{% endfor %}",
        "{{ functions[0].name }}",
        "{{ functions | map(attribute='name') | join }}",
    ],
)
def test_functions_are_a_text_only_if_used_as_a_text(source):
    assert render(source, tools=[TOOL]) == TOOL["function"]["name"]


def test_without_tools_there_are_no_functions_to_take_apart():
    assert render("{% for f in functions %}{{ f.name }}{% endfor %}") == ""


def test_tojson_writes_a_generator():
    assert (
        render("{{ messages | map(attribute='role') | tojson }}", [{"role": "user"}]) == '["user"]'
    )


# Rendering of calls.


def test_function_call_arguments_have_the_shape_that_works():
    source = "{% for m in messages %}{% if m.function_call %}{{ m.function_call.arguments.a }}{% endif %}{% endfor %}"
    call = {"name": "f", "arguments": '{"a": 1}'}
    assert ChatTemplate(source).render([USER, {"role": "assistant", "function_call": call}]) == "1"


@pytest.mark.parametrize(
    ("wanted", "arguments"),
    [
        *(
            ("c.id | length == 9", shown)
            for shown in ("'' + ARGS", "ARGS | tojson", "ARGS if ARGS is string")
        ),
        *(("c.function.name in c.id", shown) for shown in ("'' + ARGS", "ARGS | tojson")),
    ],
)
def test_ids_and_arguments_are_written_as_they_are_wanted(wanted, arguments):
    source = (
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
        "{{ c.function.name if WANTED else raise_exception('no') }} {{ SHOWN }}"
        "{% endfor %}{% endfor %}"
    )
    shown = arguments.replace("ARGS", "c.function.arguments")
    template = ChatTemplate(source.replace("WANTED", wanted).replace("SHOWN", shown))
    said = calling({"a": 1}) if "tojson" in arguments else calling('{"a": 1}')
    said["tool_calls"][0]["id"] = "call_1"
    text = USER["content"] + 'get_weather {"a": 1}'
    assert template.render([USER, said]) == text


@pytest.mark.parametrize("refused", ["false", "m.tool_calls and m.content and m.reasoning_content"])
def test_content_is_removed_only_if_refused_with_reasoning_and_calls(refused):
    source = (
        "{% for m in messages %}{{ raise_exception('both') if " + refused + " }}"
        "({{ m.reasoning_content }}){{ m.content }}{{ m.tool_calls }}{% endfor %}"
    )
    template = ChatTemplate(source)
    said = calling({}, "Dry.", reasoning_content="hm")
    assert template.render([said]).startswith("(hm)Dry.[" if refused == "false" else "(hm)[")
    # If no reasoning is shown, it cannot be the reason for refusing the content.
    blind = source.replace("and m.reasoning_content", "").replace("({{ m.reasoning_content }})", "")
    if refused == "false":
        assert ChatTemplate(blind).render([said]).startswith("Dry.[")
    else:
        with pytest.raises(TemplateError, match=r"^both$"):
            ChatTemplate(blind).render([said])


def test_parts_are_not_tried_if_their_texts_are_not_read(monkeypatch):
    runs = []
    made = ChatTemplate("{% for m in messages %}{{ m.content[0] }}{% endfor %}")
    monkeypatch.setattr(type(made._program.room), "run", lambda *_: runs.append(1) or "")
    assert made.roles_with_content_parts == frozenset()
    assert runs == []


# Hostile templates, with more in `test_sandbox.py`.


@pytest.mark.costly
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


def test_slow_template_is_not_tried_again(monkeypatch):
    """Neither with the arguments of calls in the other shape nor with more of the tools."""
    template, runs = ChatTemplate("{{ tools }}{{ messages[0].content.nothing }}"), []
    assert template.arguments_shape == "object"  # not detected by probes

    def exceed(*_):
        runs.append(1)
        raise LimitExceeded("too much")

    monkeypatch.setattr(type(template._program.room), "run", exceed)
    with pytest.raises(TemplateError, match=r"exceeds its limits: too much$"):
        template.render_within(template.limits, [calling({})], [{"name": "f"}], {})
    assert runs == [1]


def test_the_usual_limit_is_a_second():
    assert ChatTemplate("").limits == Limits(seconds=1)


def test_limits_are_the_callers_choice():
    with pytest.raises(TemplateError, match="more than 5 characters"):
        ChatTemplate("{{ 'a' * 6 }}", limits=Limits(text=5)).render([])
    assert (
        len(ChatTemplate("{{ 'a' * 5000000 }}", limits=Limits(text=5 << 20)).render([])) == 5000000
    )


@pytest.mark.parametrize("name", ["self", "context", "limits", "chat", "switches", "output"])
def test_variables_named_like_parameters_are_passed_to_the_template(name):
    template = ChatTemplate("{{ " + ("1" if name == "self" else name) + " }}")
    assert template.render([], **{name: 1}) == "1"


def test_a_bridge_refuses_the_generation_prompt_by_name():
    template = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}")
    for asked in (template.bridge, template.why_no_bridge):
        with pytest.raises(UsageError, match="add_generation_prompt"):
            asked("Hi", [{"role": "user", "content": "?"}], add_generation_prompt=True)
        asked("Hi", [{"role": "user", "content": "?"}], self=1)
