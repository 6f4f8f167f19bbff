"""Tests of bridges: the text after an output equals the rendering of the template."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaparse import (
    ChatTemplate,
    Content,
    Message,
    TemplateError,
    ToolCall,
    analyze,
)
from deltaparse.analyzer import next_prompt
from deltaparse.analyzer.next_prompt import IN_SOME, NEW, _saying_new
from deltaparse.partial import UsageError

from ..strategies.bridged_turns import AGAIN, ASKED, KINDS, TOOLS, call, returned, thoughts
from ..strategies.open_templates import NAMES, SOURCES, opened, written


def rendered(one, chat, tools, prompt=True):
    """Render a conversation, or return "" if the template refuses it."""
    try:
        return one.template.render([*one.first, *chat], tools, prompt, **one.context)
    except TemplateError:
        return ""


def outputs(one):
    """Yield outputs of each kind, with their conversations and tools."""
    for kind, parts in KINDS.items():
        message = Message(parts)
        tools = TOOLS if message.tool_calls else None
        if one.has_calls or not message.tool_calls:
            known = written(one, message, tools)
            if known and thoughts(one, known, tools) == message.reasoning_content:
                yield kind, message, tools, known


def problem(one, message, tools, known):
    """Return the first error in the bridge after an output, or ""."""
    prompt, output, end = known
    new = returned(message)
    asked = dict(tools=tools, **one.context)
    text = one.template.bridge(output, new, **asked)
    if text is None:
        return "" if one.template.why_no_bridge(output, new, **asked) else "no reason"
    whole = rendered(one, [ASKED, message, *new], tools)
    # The output lacks parts that the format does not write, for example ids.
    if not (whole.startswith(prompt) and whole.endswith(text)):
        return f"{text!r} is not what ends {whole!r}"
    if output in whole and whole != prompt + output + text:
        return f"{prompt + output + text!r} is not {whole!r}"
    marker = end.strip()
    behind = one.template.bridge(output + marker, new, **asked) if marker in text else None
    if (
        behind is not None
        and output + text != output + text[: text.index(marker)] + marker + behind
    ):
        return f"{behind!r} is not what is left of {text!r}"
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_bridge_equals_the_rendered_text(name):
    one = opened(name)
    assert [
        f"{kind}: {wrong}" for kind, *said in outputs(one) if (wrong := problem(one, *said))
    ] == []


@pytest.mark.parametrize("name", ["json_in_tags", "tagged_arguments", "channels", "recipients"])
def test_reason_is_empty_if_there_is_a_bridge(name):
    one = opened(name)
    _, message, tools, (_, output, _) = next(outputs(one))
    asked = dict(tools=tools, **one.context)
    text = one.template.bridge(output, returned(message), **asked)
    reason = one.template.why_no_bridge(output, returned(message), **asked)
    assert (text is None) is bool(reason)


@pytest.mark.parametrize("name", NAMES)
def test_a_conversation_is_bridged_turn_by_turn(name):
    one = opened(name)
    chat = [*one.first, ASKED]
    prompt = whole = rendered(one, [ASKED], TOOLS)
    for message in (Message(KINDS["a call"]), Message(KINDS["content"])):
        known = written(one, message, TOOLS)
        if known is None or not prompt or not one.has_calls:
            break
        text = one.template.bridge(
            known[1], returned(message), tools=TOOLS, messages=chat, **one.context
        )
        if text is None:
            break
        chat += [message, *returned(message)]
        prompt += known[1] + text
        whole = rendered(one, chat[len(one.first) :], TOOLS)
        if '"id"' in whole or "zqid" in whole:
            break
    else:
        assert prompt == whole


@settings(max_examples=20)
@given(
    name=st.sampled_from(sorted(SOURCES)),
    kind=st.sampled_from(sorted(KINDS)),
    words=st.text('ab <>{}"\n', max_size=12),
    values=st.fixed_dictionaries({}, optional={"days": st.integers(), "now": st.booleans()}),
)
def test_bridge_does_not_depend_on_the_output(name, kind, words, values):
    one = opened(name)
    parts = [
        call(part.id[4], json.dumps(values)) if isinstance(part, ToolCall) else type(part)(words)
        for part in KINDS[kind]
        if words or isinstance(part, ToolCall)
    ]
    message, plain = Message(parts), Message(KINDS[kind])
    tools = TOOLS if plain.tool_calls else None
    given = one.has_calls or not tools
    known = written(one, message, tools) if given and parts else None
    usual = written(one, plain, tools) if given else None
    texts = {
        one.template.bridge(made[1], returned(plain), tools=tools, **one.context)
        for made in (known, usual)
        if made and [type(part) for part in parts] == [type(part) for part in plain.parts]
    }
    assert len(texts - {None}) <= 1


def template(turn, result="<r>{{ m.content }}</r>", prompt="<a>", user="<u>{{ m.content }}</u>"):
    return ChatTemplate(
        "{% for m in messages %}{% if m.role == 'assistant' %}<a>" + turn + "</a>"
        "{% elif m.role == 'tool' %}" + result + "{% else %}" + user + "{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}" + prompt + "{% endif %}"
    )


THOUGHT = "{% if m.reasoning_content %}<t>{{ m.reasoning_content }}</t>{% endif %}"
DROPPED = (
    "{% if m.reasoning_content and loop.last %}<t>{{ m.reasoning_content }}</t>{% endif %}"
    "{{ m.content }}"
)
PLAIN, THINKS = template("{{ m.content }}"), template(THOUGHT + "{{ m.content }}")


def test_a_bridge_is_the_end_the_new_messages_and_the_next_prompt():
    for output in ("Dry.", "Dry.</a>", ""):
        end = "" if output.endswith("</a>") else "</a>"
        assert PLAIN.bridge(output, [AGAIN]) == f"{end}<u>And?</u><a>"
    assert PLAIN.bridge("Dry.", []) == "</a><a>"
    assert PLAIN.bridge("Dry.<u>", [AGAIN]) == "</a><u>And?</u><a>"  # not an end marker there
    assert THINKS.bridge("<t>hm</t>Dry.", [AGAIN]) == "</a><u>And?</u><a>"


@pytest.mark.parametrize(
    ("made", "output", "reason"),
    [
        (template(DROPPED), "<t>hm</t>Dry.", "reasoning is dropped from history"),
        (template("{{ m.content | trim }}"), "Dry. ", "content is stripped in history"),
        (THINKS, "<t>hm", "the output is not a complete turn: unclosed_reasoning"),
        (
            template("{{ m.content }}{% if not loop.last %}.{% endif %}"),
            "Dry",
            "the output lacks '.', which history has before the end of the turn",
        ),
        (
            template("{{ m.content }}{% if 'zz' in m.content %}!{% endif %}"),
            "Dry zz",
            "the output lacks '!', which history has before the end of the turn",
        ),
        (
            template("{{ '!' if 'zz' in m.content }}{{ m.content }}"),
            "Dry zz",
            "the turn is rewritten in history",
        ),
        (
            template("{{ m.content | replace('zz', 'yy') }}"),
            "Dry zz",
            "content is rewritten in history",
        ),
        (
            template(
                "{{ m.content }}",
                user="<u>{{ '!' if 'zz' in messages[loop.index0 - 1].content }}{{ m.content }}",
            ),
            "Dry zz",
            "the text after a turn depends on the turn",
        ),
        (THINKS, "<t></t>Dry.", "'<t>' is dropped from history"),
        (
            template("<t>{{ m.reasoning_content }}</t>{{ m.content }}"),
            "Dry.",
            "'<t>' is written into history",
        ),
        (
            template(
                "{{ m.content }}", user="{% if loop.last %}!{% endif %}<u>{{ m.content }}</u>"
            ),
            "Dry.",
            "the text before the turn is rewritten when messages follow",
        ),
        (
            template("{{ m.content }}", prompt="<a><t></t>"),
            "Dry.",
            "history does not keep the end of the prompt, '<a><t></t>'",
        ),
        (
            template(
                "{{ m.content }}",
                user="{{ raise_exception('no') if m.content == 'And?' else m.content }}",
            ),
            "Dry.",
            "the template refuses the new messages: no",
        ),
        (
            template("{{ m.content }}", user="<u>{{ loop.index }}:{{ m.content }}</u>"),
            "Dry.",
            "the text after a turn depends on earlier messages, in some conversations",
        ),
    ],
)
def test_there_is_no_bridge_without_proof_and_a_reason_is_given(made, output, reason):
    assert made.bridge(output, [AGAIN]) is None
    assert made.why_no_bridge(output, [AGAIN]).startswith(reason)


REFUSING = template(
    "{{ m.content }}", user="{{ raise_exception('no') if m.role == 'system' else m.content }}|"
)


def test_refused_conversations_are_ignored_in_the_proof():
    assert REFUSING.bridge("Dry.", [AGAIN]) == "</a>And?|<a>"
    chat = [{"role": "system", "content": "x"}, ASKED]
    why = REFUSING.why_no_bridge("Dry.", [AGAIN], messages=chat)
    assert why == "the template refuses the conversation: no"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("Dry.", "</a></s><u>And?</u><a>"),
        ("Dry.</a></s>", "<u>And?</u><a>"),
        ("Dry.</a></s> ", None),
        ("Dry.</s>", None),
    ],
)
def test_longest_end_marker_of_an_output_is_used(output, text):
    source = PLAIN.source.replace("</a>", "</a></s>")
    assert ChatTemplate(source, eos_token="</s>").bridge(output, [AGAIN]) == text


def test_no_bridge_if_the_text_after_a_turn_depends_on_it():
    before = "{{ messages[loop.index0 - 1].content[2] if loop.index0 }}"
    made = template("{{ m.content }}", user="<u" + before + ">{{ m.content }}</u>")
    for output in ("Dry.", "zqone", "zqtwo"):  # even as one of the proving turns
        assert made.bridge(output, [AGAIN]) is None
        why = made.why_no_bridge(output, [AGAIN])
        assert why.startswith("the text after a turn depends on the turn")


def test_the_proof_may_be_for_one_conversation():
    made = template("{{ m.content }}", user="<u>{{ loop.index }}:{{ m.content }}</u>")
    assert made.bridge("Dry.", [AGAIN], messages=[ASKED]) == "</a><u>3:And?</u><a>"
    assert PLAIN.bridge("Dry.", [AGAIN], messages=[ASKED, Message([Content("x")]), ASKED])


@pytest.mark.parametrize(
    ("before", "tools"),
    [
        ("messages[0].role == 'system'", None),
        ("messages[0].role == 'system' and messages[0].content", None),
        ("messages | selectattr('role', 'eq', 'assistant') | list | length > 1", None),
        ("messages[1:-2] | selectattr('reasoning_content') | list", None),
        ("messages | selectattr('role', 'eq', 'tool') | list", TOOLS),
        ("messages | selectattr('role', 'eq', 'tool') | selectattr('content') | list", TOOLS),
        ("messages[1].tool_calls", TOOLS),
    ],
)
def test_bridge_is_correct_for_any_history(before, tools):
    made = template(
        THOUGHT + "{{ m.content }}{% for c in m.tool_calls or [] %}"
        "<c>{{ c.function | tojson }}</c>{% endfor %}",
        prompt="<a>{% if " + before + " %}!{% endif %}",
    )
    assert made.bridge("Dry.", [AGAIN], tools=tools) is None
    assert IN_SOME in made.why_no_bridge("Dry.", [AGAIN], tools=tools)
    if tools:
        assert made.bridge("Dry.", [AGAIN]) == "</a><u>And?</u><a>"


def test_history_has_no_calls_if_the_template_shows_no_calls():
    before = "{% if messages | selectattr('role', 'eq', 'tool') | list %}!{% endif %}"
    made = template("{{ m.content }}", prompt="<a>" + before)
    assert made.bridge("Dry.", [AGAIN], tools=TOOLS) == "</a><u>And?</u><a>"


def test_a_bridge_is_for_the_switches_of_the_prompt():
    made = template(
        "{{ m.content }}", prompt="{% if loud %}!{% endif %}<a>{% if think %}<t></t>{% endif %}"
    )
    assert made.bridge("Dry.", [AGAIN]) == "</a><u>And?</u><a>"
    assert made.bridge("Dry.", [AGAIN], loud=True) is None
    assert made.bridge("Dry.", [AGAIN], think=True) is None


def test_wrong_arguments_of_a_bridge_are_the_callers_fault():
    wrong = (AGAIN, "And?", None, {"And?"}, iter([AGAIN]))
    for output, new in ((None, [AGAIN]), (b"Dry.", [AGAIN]), *(("Dry.", new) for new in wrong)):
        with pytest.raises(UsageError, match=r"(output|new_messages) must be"):
            PLAIN.bridge(output, new)


def test_a_call_without_its_closer_has_no_bridge():
    one = opened("json_in_tags")
    _, output, _ = written(one, Message([call(0)]), TOOLS)
    for cut in range(1, len(output) - len("<call>")):
        text = one.template.bridge(output[:-cut], returned(Message([call(0)])), tools=TOOLS)
        assert text is None or output[-cut:].strip() == ""


CALLS = template(
    THOUGHT + "{{ m.content }}{% for c in m.tool_calls or [] %}"
    "<c>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</c>"
    "{% endfor %}"
)
CALL = '<c>{"name": "look_up", "arguments": {"city": "Ghent"}}</c>'


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (CALL, ""),
        (CALL.replace("}}", "},}"), ""),  # repaired
        (CALL.replace("look_up", "other"), ""),  # of a tool that is not known
        (f"<t>{CALL}</t>{CALL}", ""),  # a draft
        (CALL.replace('{"city"', '"city'), "an attempt at a call in the output is broken"),
        (
            "<c>no call</c>" + CALL,
            "an attempt at a call in the output is not a call",
        ),
        (
            CALL[:-6],
            "the output is not a complete turn: truncated_call: the output ends in the call",
        ),
        (CALL + "<c", "the output is not a complete turn: cut_marker"),
        (CALL + "Dry.", "the parts of the output have an order that history cannot have"),
    ],
)
def test_bridge_requires_complete_calls(output, reason):
    result = {"role": "tool", "tool_call_id": "zqid", "content": "Sun."}
    text = CALLS.bridge(output, [result], tools=TOOLS)
    why = CALLS.why_no_bridge(output, [result], tools=TOOLS)
    assert text == (None if reason else "</a><r>Sun.</r><a>")
    assert why.startswith(reason) if reason else not why


@pytest.mark.parametrize(
    ("part", "output", "words"),
    [
        ("calls", CALL, "tool calls"),
        ("reasoning", "<t>hm</t>Dry.", "reasoning"),
        ("content", "Dry.", "content"),
    ],
)
def test_no_bridge_after_parts_that_are_not_proved(part, output, words, monkeypatch):
    fmt = analyze(CALLS)
    assert CALLS.bridge(output, [AGAIN], tools=TOOLS)
    monkeypatch.setattr(next_prompt, "analyze", lambda template: fmt.replace(proved={part: ()}))
    why = CALLS.why_no_bridge(output, [AGAIN], tools=TOOLS)
    assert why == f"the template does not show {words}"


def test_ids_that_a_parser_made_answer_the_calls_in_turn_or_by_name():
    made = template(
        "{{ m.content }}{% for c in m.tool_calls or [] %}"
        "<c>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</c>"
        "{% endfor %}",
        "{% for c in messages[loop.index0 - 1].tool_calls or [] %}{% if c.id == m.tool_call_id %}"
        "<r {{ c.function.name }}>{{ m.content }}</r>{% endif %}{% endfor %}",
    )
    result = {"role": "tool", "tool_call_id": "call_made", "content": "Sun."}
    output = '<c>{"name":"look_up", "arguments":{"days":  3}}</c>'
    assert made.bridge(output, [result], tools=TOOLS) == "</a><r look_up>Sun.</r><a>"


def test_output_may_end_with_the_start_marker_of_the_next_message():
    one = opened("keys_and_values_in_tags")
    message = Message([call(0)])
    _, output, _ = written(one, message, TOOLS)
    text = one.template.bridge(output, returned(message), tools=TOOLS)
    marker = text.lstrip().partition(">")[0] + ">"
    stopped = one.template.bridge(f"{output}\n{marker}", returned(message), tools=TOOLS)
    assert marker + stopped == text.lstrip()
    assert one.template.bridge(output + "<odd>", returned(message), tools=TOOLS) is None


NO_END = ChatTemplate(
    template("{{ m.content }}", user="{{ '\\n<u>\\n' }}{{ m.content }}").source.replace("</a>", ""),
    eos_token="</s>",
)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("Dry.", "\n<u>\nAnd?<a>"),
        ("Dry.\n", "<u>\nAnd?<a>"),
        ("Dry.<u>", "\nAnd?<a>"),
        ("Dry.\n<u>", "\nAnd?<a>"),
        ("Dry.\n<u>\n", "And?<a>"),
        ("Dry.\n<u> ", None),  # another white space than the template has there
        ("Dry.\n<u>\n\n", None),
        ("Dry.<r>", "\n<u>\nAnd?<a>"),  # content
    ],
)
def test_whitespace_at_the_next_message_is_not_repeated(output, text):
    assert NO_END.bridge(output, [AGAIN]) == text


def test_a_marker_of_the_next_message_must_follow_a_turn_of_this_kind():
    calls = "{% for c in m.tool_calls or [] %}<c>{{ c.function | tojson }}</c>{% endfor %}"
    source = template("{{ m.content }}" + calls).source
    made = ChatTemplate(source.replace("</a>", "{{ '</a>' if not m.tool_calls }}"))
    output = '<c>{"name": "look_up", "arguments": {}}</c>'
    result = {"role": "tool", "tool_call_id": "zqid", "content": "Sun."}
    assert made.bridge(output, [result], tools=TOOLS) == "<r>Sun.</r><a>"
    assert made.bridge(output + "<r>", [result], tools=TOOLS) == "Sun.</r><a>"
    assert made.bridge("Dry.<r>", [result], tools=TOOLS) is None
    other = ChatTemplate(source.replace("</a>", "{{ '</s>' if m.tool_calls }}"), eos_token="</s>")
    assert other.bridge(output, [result], tools=TOOLS) == "</s><r>Sun.</r><a>"
    assert other.bridge("Dry.<u>", [AGAIN], tools=TOOLS) == "And?</u><a>"


def without_end(turn, user="<u>{{ m.content }}"):
    """Return a template without end-of-turn markers, although it has an end token."""
    return ChatTemplate(template(turn, user=user).source.replace("</a>", ""), eos_token="</s>")


BARE = ChatTemplate(
    "{% for m in messages %}{% if bare %}{{ '<a>' if m.role == 'assistant' }}{{ m.content }}"
    "{% elif m.role == 'assistant' %}<a><s>{{ m.content }}|</m>{% else %}<u>{{ m.content }}</m>"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"
)
ENDS_ITS_CALLS = without_end(
    "{{ m.content }}{% for c in m.tool_calls or [] %}"
    "--{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}++{% endfor %}",
    user="++<u>{{ m.content }}",
)


@pytest.mark.parametrize(
    ("made", "said", "text"),
    [
        (without_end("{{ m.content }}"), {"content": "a </s> b"}, "<u>a </s> b<a>"),
        (
            without_end("{{ m.content }}", user="<u>{{ m.content or m.said }}"),
            {"said": "a long text and the end </s> b"},
            "<u>a long text and the end </s> b<a>",
        ),
        (BARE, {"content": "|a"}, "|a<a>"),
        (BARE, {"content": "a | b"}, "a | b<a>"),
        (BARE, {"content": "a b"}, "a b<a>"),
        (ENDS_ITS_CALLS, {"content": "a"}, "++<u>a<a>"),
    ],
)
def test_turn_is_not_ended_by_text_of_the_next_message(made, said, text):
    assert analyze(made).proved.content
    switches = {"bare": True} if made is BARE else {}
    assert made.bridge("Dry.", [{"role": "user", **said}], **switches) == text


@pytest.mark.parametrize(
    ("written", "output"),
    [
        ("{{ CALL | tojson }}", '{"name": "look_up", "arguments": {"city": "Ghent"}}'),
        (
            "Do: {{ CALL.name }}\nWith: {{ CALL.arguments | tojson }}\n",
            'Do: look_up\nWith: {"city": "Ghent"}\n',
        ),
    ],
)
def test_no_bridge_after_calls_without_end_marker(written, output):
    calls = "{% for c in m.tool_calls or [] %}{% set f = c.function %}" + written + "{% endfor %}"
    call = "{'name': f.name, 'arguments': f.arguments}"
    made = without_end("{{ m.content }}" + calls.replace("CALL", call))
    result = {"role": "tool", "tool_call_id": "zqid", "content": "Sun."}
    assert analyze(made).proved.calls
    assert made.bridge(output, [result], tools=TOOLS) is None
    assert made.why_no_bridge(output, [result], tools=TOOLS) == "no marker ends the turn"


def test_bridge_is_proved_with_the_new_messages_themselves():
    refuses = "<u>{{ raise_exception('no') if 'new' in m.content }}{{ m.content }}</u>"
    made = template("{{ m.content }}", user=refuses)
    assert made.bridge("Dry.", [AGAIN]) == "</a><u>And?</u><a>"


LINE = "{{ '\\n' }}"
SPACED = "{{ '<t>' ~ m.reasoning_content ~ '</t>\\n\\n' if m.reasoning_content }}{{ m.content }}"


@pytest.mark.parametrize(
    ("made", "output", "text"),
    [
        (template("{{ m.content }}" + LINE), "Dry.", "\n</a><u>And?</u><a>"),
        (ChatTemplate(PLAIN.source.replace("</a>", "</a>" + LINE)), "Dry.</a>\n", "<u>And?</u><a>"),
        (template(SPACED), "<t>hm</t>\nDry.", "</a><u>And?</u><a>"),
        (PLAIN, "Dry?", "</a><u>And?</u><a>"),
        (without_end("{{ m.content }}", user="Q: {{ m.content }}"), "Dry Q", "Q: And?<a>"),
    ],
)
def test_bridge_contains_only_the_missing_end_of_a_turn(made, output, text):
    assert made.bridge(output, [AGAIN]) == text


@pytest.mark.parametrize(
    ("message", "new"),
    [
        ({"role": "user", "content": "a"}, {"role": "user", "content": NEW}),
        ({"content": [{"a": 1}]}, {"content": [{"type": "text", "text": NEW}]}),
        ({"content": None}, {"content": None}),
        ({"role": "user"}, {"role": "user"}),
        ("no message", "no message"),
    ],
)
def test_a_new_message_keeps_its_form(message, new):
    assert _saying_new(message) == new
