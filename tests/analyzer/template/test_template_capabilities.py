"""Tests of detecting the message form, with templates that read one thing in one way."""

# ruff: noqa: E501 - a template is read more easily in one line

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate, ReasoningFormat, TemplateError, analyze
from deltaparse.analyzer.template.budget import LimitExceeded
from deltaparse.analyzer.template.template_capabilities import NO_CONTENT, Probes, settings_of
from deltaparse.analyzer.template.template_globals import Refusal

CALLS = "{% for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments | tojson }}{% if REFUSED %}{{ raise_exception('no') }}{% endif %}]{% endfor %}"
TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}" + CALLS + "{% endfor %}"


def template(refused="false", before="", turns=TURNS):
    return ChatTemplate(before + turns.replace("REFUSED", refused))


OBJECT = "c.function.arguments"
TEXT = "'' + c.function.arguments"
ONLY_TEXT = "c.function.arguments if c.function.arguments is string"


@pytest.mark.parametrize(
    ("refused", "ids", "shown"),
    [
        ("false", "any", [OBJECT, TEXT, ONLY_TEXT]),
        ("c.id | length != 9", "nine", [OBJECT, TEXT, ONLY_TEXT]),
        ("'functions.' ~ c.function.name not in c.id", "named", [OBJECT, TEXT]),
        ("not c.id.startswith('call_0_')", "numbered", [OBJECT, TEXT]),
    ],
)
def test_which_ids_are_taken(refused, ids, shown):
    for arguments in shown:
        turns = TURNS.replace("c.function.arguments | tojson", arguments)
        read = template(refused, turns=turns).call_capabilities
        assert (read.ids, read.no_content) == (ids, NO_CONTENT)


@pytest.mark.parametrize(
    ("refused", "no_content"),
    [
        ("m.content", NO_CONTENT),
        ("m.content is none", ("empty", "absent")),
        ("m.content is defined", ("absent",)),
        ("m.content is not string", ("empty",)),
        ("m.content is not none", ("null",)),
        ("m.content is not none and m.content is not undefined", ("null", "absent")),
    ],
)
def test_form_of_missing_content_is_found(refused, no_content):
    assert template(refused).call_capabilities.no_content == no_content


# Writes null as None, and wants the result of a call, with its id.
STRICT = "{% for m in messages %}{% if m.tool_calls and (loop.last or messages[loop.index].tool_call_id != m.tool_calls[0].id) %}{{ raise_exception('no') }}{% endif %}<{{ m.role }}>"


@pytest.mark.parametrize("content", ["{{ m.content }}", "{{ m['content'] if 'content' in m }}"])
@pytest.mark.parametrize("beginning", [STRICT, "{% for m in messages %}<{{ m.role }}>"])
def test_content_rendered_as_null_word_is_not_accepted(content, beginning):
    turns = beginning + content + CALLS + "{% endfor %}"
    assert template(turns=turns).call_capabilities.no_content == ("empty", "absent")
    asked = turns.replace(content, "{{ m.get('content') }}")
    assert template(turns=asked).call_capabilities.no_content == ("empty",)


def test_unrelated_null_word_in_a_rendering_is_ignored():
    assert template(before="None").call_capabilities.no_content == NO_CONTENT
    beside_results = "{{ none if m.role == 'tool' }}<{{ m.role }}>"
    for beginning in (STRICT, "{% for m in messages %}<{{ m.role }}>"):
        turns = beginning + beside_results + "{{ m.content or '' }}" + CALLS + "{% endfor %}"
        assert template(turns=turns).call_capabilities.no_content == NO_CONTENT
        written = turns.replace("{{ m.content or '' }}", "{{ m.content }}")
        assert template(turns=written).call_capabilities.no_content == ("empty", "absent")


def test_an_empty_content_is_one_whatever_is_written_for_it():
    turns = TURNS.replace("m.content or ''", "m.content or none")
    assert template(turns=turns).call_capabilities.no_content == ("empty",)


def test_calls_are_tried_with_the_type_that_apis_give_them():
    turns = TURNS.replace("m.tool_calls or []", "m.tool_calls or [] if c.type == 'function'")
    assert template("c.id | length != 9", turns=turns).call_capabilities.ids == "nine"


def test_call_before_the_question_does_not_count():
    turns = TURNS.replace("in messages", "in messages | reverse")
    assert template("c.id | length != 9", turns=turns).call_capabilities.ids == "any"


RESULT = "{% if m.role == 'tool' and REFUSED %}{{ raise_exception('no') }}{% endif %}<{{ m.role }}>"


@pytest.mark.parametrize(
    ("calls", "results", "ids", "no_content"),
    [
        ("m.content is none", "true", "any", ("empty", "absent")),
        ("c.id | length != 9", "true", "nine", NO_CONTENT),
        ("false", "m.tool_call_id | length != 9", "nine", NO_CONTENT),
        ("m.content is none and c.id | length != 9", "true", "any", ("empty", "absent")),
        (
            "m.content is none and c.id | length != 9",
            "m.tool_call_id | length != 9",
            "nine",
            NO_CONTENT,
        ),
    ],
)
def test_calls_without_results_count_if_results_are_refused(calls, results, ids, no_content):
    turns = TURNS.replace("<{{ m.role }}>", RESULT.replace("REFUSED", results))
    read = template(calls, turns=turns).call_capabilities
    assert (read.ids, read.no_content) == (ids, no_content)


FIRST = "{% if messages[0].role != 'system' IF %}{{ raise_exception('no') }}{% endif %}"


@pytest.mark.parametrize("condition", ["", "and tools", "or not tools", "or tools"])
def test_system_message_is_added_if_required(condition):
    first = FIRST.replace("IF", condition)
    ids = "any" if condition == "or tools" else "nine"  # no call is shown without tools
    assert template("c.id | length != 9", first).call_capabilities.ids == ids
    thought = TURNS.replace("<{{ m.role }}>", "<{{ m.role }}>{{ m.thought or '' }}")
    assert template(before=first, turns=thought).reasoning_key == "thought"
    assert template("c.id | length != 9", first + first).reasoning_key == ""


@pytest.mark.parametrize(("cause", "times"), [(LimitExceeded("slow"), 1), (Refusal("no"), 5)])
def test_a_template_that_took_too_long_is_asked_no_more(cause, times):
    asked = []

    def render(*given):
        asked.append(given)
        raise TemplateError("no") from cause

    assert Probes(render)([]) is None
    assert len(asked) == times


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking", "thought", "musing"])
def test_the_key_of_reasoning_is_found(key):
    turns = TURNS.replace("<{{ m.role }}>", "<{{ m.role }}>{{ m." + key + " or '' }}")
    assert template(turns=turns).reasoning_key == key
    switched = turns.replace("{{ m." + key, "{{ on and m." + key)
    usual = key != "musing"  # other keys are tried without settings only
    assert template(turns=switched).reasoning_key == (key if usual else "")


def test_reasoning_key_is_found_if_calls_must_be_answered():
    thought = "{{ m.musing if m.tool_calls else '' }}{{ m.content or '' }}"
    assert template(turns=STRICT + thought + CALLS + "{% endfor %}").reasoning_key == "musing"


@pytest.mark.parametrize(
    ("thought", "key"),
    [
        ("m.musing if m.tool_calls and loop.last", "musing"),
        ("m.musing if not m.tool_calls", "musing"),
        ("m.musing if not m.tool_calls and messages[-1].role == 'tool'", ""),
    ],
)
def test_reasoning_key_is_searched_in_last_and_answered_turns(thought, key):
    turns = TURNS.replace("<{{ m.role }}>", "<{{ m.role }}>{{ (" + thought + ") or '' }}: ")
    assert template(turns=turns).reasoning_key == key
    refused = "{% if messages[-1].role == 'assistant' and not messages[-1].tool_calls %}{{ raise_exception('no') }}{% endif %}"
    assert template(before=refused, turns=turns).reasoning_key == (key if "loop" in thought else "")


@pytest.mark.parametrize(
    "turn",
    [
        "{{ m.metadata or '' }}\n{{ m.content or '' }}",
        "{{ m.content or '' }}{% if m.written_calls %}<do>{{ m.written_calls }}</do>{% else %}CALLS{% endif %}",
        "{% if m.summary %}<short>{{ m.summary }}</short>{% else %}{{ m.content or '' }}CALLS{% endif %}",
    ],
    ids=["in the header", "calls as text", "instead of all else"],
)
def test_key_shown_outside_the_turn_is_not_reasoning(turn):
    turns = "{% for m in messages %}<{{ m.role }}>" + turn.replace("CALLS", CALLS) + "{% endfor %}"
    assert template(turns=turns).reasoning_key == ""
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Dry."}]
    plain = template(turns=turns).render(messages)
    messages[1]["reasoning_content"] = "hm"
    assert template(turns=turns).render(messages) == plain


@pytest.mark.parametrize("key", ["function_call", "refusal", "audio", "annotations"])
def test_keys_of_the_api_that_hold_something_else_are_no_reasoning(key):
    turn = "{% if m.KEY %}<x>{{ m.KEY }}</x>{% endif %}{{ m.content or '' }}".replace("KEY", key)
    turns = "{% for m in messages %}<{{ m.role }}>" + turn + CALLS + "</t>{% endfor %}"
    assert template(turns=turns).reasoning_key == ""
    assert analyze(template(turns=turns)).reasoning == ReasoningFormat()


PARTS = "{% for m in messages %}<{{ m.role }}>{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% elif p.type == 'KIND' %}{{ p.KIND }}{% endif %}{% endfor %}{% endif %}{% endfor %}"


@pytest.mark.parametrize("kind", ["thinking", "reasoning"])
def test_reasoning_may_be_a_part_of_the_content(kind):
    assert ChatTemplate(PARTS.replace("KIND", kind)).reasoning_key == f"content.{kind}"


@pytest.mark.parametrize("kind", ["thinking", "reasoning"])
def test_reasoning_part_may_require_calls_or_no_tools(kind):
    for beside in ("m.tool_calls", "m.tool_calls and tools", "not tools"):
        source = PARTS.replace("p.type == 'KIND'", f"{beside} and p.type == '{kind}'")
        assert ChatTemplate(source.replace("KIND", kind)).reasoning_key == f"content.{kind}"


@pytest.mark.parametrize(
    "source",
    [
        PARTS.replace("KIND", "other"),
        PARTS.replace("KIND", "thinking").replace("{{ p.text }}", ""),
        PARTS.replace("{{ p.KIND }}", "{{ p.thinking }}{{ p.thinking }}").replace(
            "KIND", "thinking"
        ),
        "{% for m in messages %}{{ m.content }}{% endfor %}",
        "{% for m in messages %}{{ m.content | tojson }}{% endfor %}",
    ],
)
def test_dumped_or_missing_parts_are_not_reasoning(source):
    assert ChatTemplate(source).reasoning_key == ""


@pytest.mark.parametrize(
    ("result", "reads"),
    [
        ("{{ m.name }}", True),
        ("{{ m.name if messages[loop.index0 - 1].tool_calls }}", True),
        ("{{ m.name or raise_exception('no') }}", True),
        ("{% if not m.name %}{{ raise_exception('no') }}{% endif %}", True),
        ("{% if m.name %}{{ raise_exception('no') }}{% endif %}", False),
        ("{{ raise_exception('no') }}", False),
        ("", False),
    ],
)
def test_whether_the_name_of_a_result_is_read(result, reads):
    turns = "{% for m in messages %}{% if m.role == 'tool' %}" + result + "{% endif %}"
    turns += TURNS.partition("%}")[2]
    assert template(turns=turns).reads_result_names is reads


ROLES = ("system", "user", "assistant", "tool")
IN_TURN = "{% for m in messages %}{% if m.role == 'user' and not loop.first and messages[loop.index0 - 1].role == 'user' %}{{ raise_exception('no') }}{% endif %}"


@pytest.mark.parametrize("beginning", ["{% for m in messages %}", IN_TURN])
@pytest.mark.parametrize("role", ROLES)
def test_parts_are_joined_if_only_a_text_is_read(role, beginning):
    source = (
        beginning
        + "<{{ m.role }}>{% if m.content is string or m.role == 'ROLE' %}{{ m.content }}{% else %}{% for p in m.content or [] %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}"
    )
    one = ChatTemplate(source.replace("ROLE", role))
    for _ in range(2):
        assert [other for other in ROLES if one.joins_content_parts(other)] == [role]


STRICT_TURNS = (
    "{% for m in messages %}{% if (m.role == 'assistant' and loop.first) or (m.role == 'tool' and not messages[loop.index0 - 1].tool_calls) %}{{ raise_exception('no') }}{% endif %}"
    "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content if p.type == 'text' %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}"
)


def test_parts_are_tried_in_conversations_that_no_template_refuses():
    assert not any(map(ChatTemplate(STRICT_TURNS).joins_content_parts, ROLES))
    written = STRICT_TURNS.replace("m.content is string", "true")
    assert all(map(ChatTemplate(written).joins_content_parts, ROLES))
    taken_apart = STRICT_TURNS.replace("m.content is string", "false")
    assert ChatTemplate(taken_apart).roles_with_content_parts == set(ROLES)


def test_parts_are_not_joined_if_a_text_is_not_read_either():
    asked = ChatTemplate("{% for m in messages %}{{ m.content is string }}{% endfor %}")
    assert not any(map(asked.joins_content_parts, ROLES))
    assert not any(map(ChatTemplate("{{ messages | length }}").joins_content_parts, ROLES))
    refuses = "{% for m in messages %}{% if m.content is string %}{{ raise_exception('no') }}{% endif %}{% endfor %}"
    assert not any(map(ChatTemplate(refuses).joins_content_parts, ROLES))


PART = "{% for p in m.content %}{{ p.text }}{% endfor %}"
REFUSING = "{% if m.content is string %}{{ raise_exception('parts') }}{% endif %}" + PART
EITHER = "{% if m.content is string %}{{ m.content }}{% else %}" + PART + "{% endif %}"
DUMPED = "{{ m.content if m.content is not string }}"


@pytest.mark.parametrize(
    ("user", "other", "roles"),
    [
        (PART, PART, {"system", "user", "assistant", "tool"}),
        (REFUSING, REFUSING, {"system", "user", "assistant", "tool"}),
        (PART, "{{ m.content }}", {"user"}),
        (REFUSING, EITHER, {"user"}),
        ("{{ m.content }}", PART, {"system", "assistant", "tool"}),
        (EITHER, EITHER, set()),
        (DUMPED + "{{ p.text }}", "{{ m.content }}", set()),
        ("", "", set()),
    ],
)
def test_which_roles_have_parts_for_a_content(user, other, roles):
    body = "{% if m.role == 'user' %}" + user + "{% else %}" + other + "{% endif %}"
    made = ChatTemplate("{% for m in messages %}<{{ m.role }}>" + body + "{% endfor %}")
    assert made.roles_with_content_parts == roles


def test_facts_are_found_for_templates_that_require_parts():
    parted = template(turns=TURNS.replace("{{ m.content or '' }}", REFUSING))
    assert parted.call_capabilities.no_content == ("empty", "absent")
    assert parted.arguments_shape == "object"
    thought = TURNS.replace("{{ m.content or '' }}", "{{ m.thought }}" + REFUSING)
    assert template(turns=thought).reasoning_key == "thought"
    assert not parted.joins_content_parts("user")


WHOLE = "{% for t in tools or [] %}{% set f = t.function %}{% if t.type != 'function' or not f.description or 'parameters' not in f or f.parameters.type != 'object' %}{{ raise_exception('no') }}{% endif %}{% for p in f.parameters.properties.values() %}{% if p.type != 'string' or not p.description %}{{ raise_exception('no') }}{% endif %}{% endfor %}{% endfor %}"


def test_calls_are_tried_with_complete_tools():
    assert template("c.id | length != 9", WHOLE).call_capabilities.ids == "nine"


IN_THE_CONVERSATION = ["add_generation_prompt", "bos_token", "documents", "eos_token", "messages"]
IN_THE_CONVERSATION += ["tools", "available_tools", "custom_tools", "functions"]
IN_THE_CONVERSATION += ["continue_final_message"]


def test_variables_of_the_conversation_are_not_settings():
    choices = {"zeal": ("low", "high"), "tools": ("none",)}
    settings = list(settings_of(["zeal", "a", *IN_THE_CONVERSATION], choices))
    zeal = [{"zeal": value} for value in (True, False, "low", "high")]
    assert settings == [{"a": True}, {"a": False}, *zeal]
    # So many names before that of the switch would leave no try for it.
    read = "".join(f"{{% if {name} %}}{{% endif %}}" for name in IN_THE_CONVERSATION)
    thought = "{{ m.reasoning_content if zeal and m.reasoning_content else '' }}"
    turns = TURNS.replace("<{{ m.role }}>", "<{{ m.role }}>" + thought)
    assert template(before=read, turns=turns).reasoning_key == "reasoning_content"
