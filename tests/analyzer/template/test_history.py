"""Tests of history: parsed messages are rendered, and parse to the same messages again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import ChatTemplate, Content, Message, Reasoning, TemplateError, ToolCall
from deltaparse.analyzer.probes import FUNCTIONS, NEXT_USER, RESULT, TOOLS, USER, user
from deltaparse.analyzer.proof.expected_output import RenderedTurn, answer_in, wire_for
from deltaparse.analyzer.proof.round_trip import RoundTrip, beside, difference
from deltaparse.analyzer.template.history import as_read
from deltaparse.analyzer.template.template_capabilities import NO_CONTENT, CallCapabilities

from ...corpus import needs_corpus, newer_templates, templates
from ...strategies.open_templates import NAMES, SOURCES, opened

ID = "call_{:024x}"


def message_of(turn):
    """The turn as a parser returns it, with ids as it makes them."""
    parts = [Reasoning(turn.reasoning)] * bool(turn.reasoning)
    parts += [Content(turn.content)] * bool(turn.content)
    for at, made in enumerate(turn.calls):
        text = json.dumps(made["function"]["arguments"])
        parts.append(ToolCall(ID.format(at), made["function"]["name"], text, complete=True))
    return Message(parts)


def conversations(turn):
    """Yield the turn at the end, and before tool results and another question."""
    message = message_of(turn)
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in message.tool_calls
    ]
    yield [user(), message]
    yield [user(), message, *results, user(NEXT_USER)]


def rendered(one, chat, **given):
    """Render a conversation, or return None if the template refuses it."""
    try:
        return one.template.render([*one.first, *chat], **one.context, **given)
    except TemplateError:
        return None


def problem(one, turn):
    """Return the first error in a turn that is rendered and parsed again, or ""."""
    tools = TOOLS if turn.calls else one.turns.render._tools
    prompt = rendered(one, [user()], tools=tools, add_generation_prompt=True)
    problems = []
    for chat in conversations(turn):
        text = rendered(one, chat, tools=tools)
        parts = next(one.turns.frame.bodies_and_ends(text, USER), None)
        shown = sum(map(parts[0].count, FUNCTIONS)) if parts else 0
        if parts and (shown or not turn.calls):
            wire = wire_for(
                RenderedTurn(turn, *parts, answer_in(text, USER), shown), prompt, one.fmt
            )
            problems.append(difference(turn, wire, one.fmt, bool(turn.calls), streamed=False))
    return "" if "" in problems else f"{turn.label}: {problems}"


def shown(one):
    """Yield the turns parsed back with messages adapted to the template by hand."""
    trial = RoundTrip(one.turns, one.turns.render, one.reasoning, one.fmt)
    for turn in (beside(turn, one.turns.render) for turn in one.messages()):
        if not turn.calls or one.has_calls:
            wire, _ = trial.outcome(turn, tools=bool(turn.calls), thorough=False)
            if wire is not None:
                yield turn


@pytest.mark.parametrize("name", NAMES)
def test_message_in_history_round_trips(name):
    one = opened(name)
    turns = list(shown(one))
    assert turns or not one.fmt.verified
    assert [words for turn in turns if (words := problem(one, turn))] == []


CALL_ID = "call_0123456789abcdef01234567"
QUESTION = {"role": "user", "content": "Rain?"}


def called(*ids, content="", arguments='{"city": "Ghent"}'):
    """A parsed message with calls of these ids."""
    calls = [ToolCall(made, f"look{at}", arguments, complete=True) for at, made in enumerate(ids)]
    return Message([Content(content)] * bool(content) + calls)


def returned(made, **more):
    return {"role": "tool", "tool_call_id": made, "content": "Dry.", **more}


@pytest.mark.parametrize("name", NAMES)
def test_history_excludes_null_and_escaped_json(name):
    one = opened(name)
    chat = [QUESTION, called(CALL_ID), returned(CALL_ID)]
    text = rendered(one, chat, tools=one.turns.render._tools) or ""
    turn = text.rpartition("Rain?")[2]
    assert "None" not in turn
    assert '{\\"' not in turn


@pytest.mark.parametrize("name", NAMES)
def test_history_is_idempotent(name):
    template = opened(name).template
    said = Message([Reasoning("hm"), Content("See."), *called("a", "b").parts])
    for results in ([returned("a"), returned("b")], [returned("b"), returned("a")]):
        once = template.history([QUESTION, said, *results, QUESTION])
        assert template.history(once) == once
        assert template.history([said]) == [said.to_template(template)]
        ids = [call["id"] for call in once[1]["tool_calls"]]
        back = [message["tool_call_id"] for message in once if message["role"] == "tool"]
        assert back == (ids if results[0]["tool_call_id"] == "a" else ids[::-1])


def template_of(turn, result="{{ m.content }}"):
    """Return a template with these texts for assistant turns and tool results."""
    return ChatTemplate(
        "{% for m in messages %}{% if m.role == 'assistant' %}<a>" + turn + "</a>"
        "{% elif m.role == 'tool' %}<r>" + result + "</r>"
        "{% else %}<u>{{ m.content }}</u>{% endif %}{% endfor %}"
    )


CALLS = (
    "{% for c in m.tool_calls or [] %}{% if BAD %}{{ raise_exception('bad id') }}{% endif %}"
    "[{{ c.id }} {{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
)
NINE = template_of(
    "{{ m.content }}" + CALLS.replace("BAD", "c.id | length != 9"),
    "{% if m.tool_call_id | length != 9 %}{{ raise_exception('bad id') }}{% endif %}"
    "{{ m.tool_call_id }}",
)


def test_ids_of_nine_characters_are_made_on_demand():
    ids = ["abcdefgh1", CALL_ID, "call_other"]
    results = [returned(made) for made in (CALL_ID, "abcdefgh1", "call_other")]
    chat = NINE.history([QUESTION, called(*ids), *results])
    first, second, third = (call["id"] for call in chat[1]["tool_calls"])

    assert first == "abcdefgh1"
    assert {len(second), len(third)} == {9}
    assert len({first, second, third}) == 3
    assert [one["tool_call_id"] for one in chat[2:]] == [second, first, third]
    # A message made for it by itself fits results that still have the first ids.
    [alone] = [called(*ids).to_template(NINE)]
    assert NINE.history([QUESTION, alone, *results])[2:] == chat[2:]
    # As does a result alone.
    assert NINE.history([results[0]]) == [chat[2]]


def test_ids_with_the_name_are_made_if_only_they_show_it():
    template = opened("names_in_ids").template
    chat = template.history([QUESTION, called("c1", "functions.look1:7"), returned("c1")])

    assert [call["id"] for call in chat[1]["tool_calls"]] == [
        "functions.look0:0",
        "functions.look1:7",
    ]
    assert chat[2]["tool_call_id"] == "functions.look0:0"


def test_results_without_ids_get_those_of_their_calls_in_turn_or_by_name():
    said = called("c1", "c2").to_openai()
    results = [{"role": "tool", "name": "look1", "content": "b"}, {"role": "tool", "content": "a"}]
    for template in (NINE, template_of("{{ m.content }}" + CALLS.replace("BAD", "false"))):
        chat = template.history([QUESTION, said, *results])
        ids = [call["id"] for call in chat[1]["tool_calls"]]
        assert [one["tool_call_id"] for one in chat[2:]] == ids[::-1]


def test_results_get_the_tool_name_if_it_is_read():
    reads = template_of("{{ m.content }}" + CALLS.replace("BAD", "false"), "{{ m.name }}")
    assert reads.render([QUESTION, called("c1", "c2"), returned("c2")]).endswith("<r>look1</r>")
    assert "name" not in NINE.history([QUESTION, called("c1"), returned("c1")])[2]


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ("{{ m.content }}CALLS", "<a>[c1"),
        ("{{ m.content | string | trim }}CALLS", "<a>[c1"),
        ("{% if m.content is none %}CALLS{% endif %}", "<a>[c1"),
        ("{% if m.content is not defined %}CALLS{% endif %}", "<a>[c1"),
        ("{{ m.content + '' }}CALLS", "<a>[c1"),
        (
            "{% if m.tool_calls is defined %}CALLS{% else %}{{ m.content + '' }}{% endif %}",
            "<a>[c1",
        ),
    ],
)
def test_missing_content_is_rendered_in_the_accepted_form(turn, said):
    template = template_of(turn.replace("CALLS", CALLS.replace("BAD", "false")))
    for content in ("", None):
        message = called("c1").to_openai() | {"content": content}
        assert said in template.render([QUESTION, message])
        del message["content"]
        assert said in template.render([QUESTION, message])
    # A message without calls has empty content too, whatever a client dumps.
    for tool_calls in (None, []):
        message = {"role": "assistant", "content": None, "tool_calls": tool_calls, "refusal": None}
        assert "None" not in template.render([QUESTION, message])


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking", "thought", "musing"])
def test_reasoning_has_the_key_of_the_template(key):
    template = template_of(
        "{% if m.KEY %}({{ m.KEY }}){% endif %}{{ m.content }}".replace("KEY", key)
    )
    message = Message([Reasoning("hm"), Content("Dry.")])
    given = [
        message,
        message.to_openai(),
        {"role": "assistant", "content": "Dry.", "reasoning": "hm"},
    ]

    assert message.to_template(template)[key] == "hm"
    assert {template.render([QUESTION, one]) for one in given} == {"<u>Rain?</u><a>(hm)Dry.</a>"}


def test_reasoning_may_be_a_part_of_the_content_or_under_a_switch():
    template = opened("reasoning_as_a_part_of_content").template
    made = Message([Reasoning("hm"), Content("Dry.")]).to_template(template)
    assert made == {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Dry."}],
    }
    assert opened("reasoning_under_a_switch").template.reasoning_key == "reasoning_content"


def test_truncated_call_is_rendered_as_far_as_it_was_received():
    template = template_of("{{ m.content }}" + CALLS.replace("BAD", "false"))
    cut = Message([ToolCall("c1", "look", '{"city": "Gh', complete=False)])

    assert cut.to_template(template)["tool_calls"][0]["function"]["arguments"] == {"city": "Gh"}
    for text in ("", "[", "[1]", "nonsense"):
        odd = Message([ToolCall("c1", "look", text, complete=False)])
        assert template.render([QUESTION, odd]) == "<u>Rain?</u><a>[c1 look {}]</a>"


def test_arguments_that_are_no_object_are_healed_for_strict_templates():
    refuses = "c.function.arguments is string"
    template = template_of("{{ m.content }}" + CALLS.replace("BAD", refuses))
    message = called("c1").to_openai()
    for text, shown in (
        ('{"city": "Gh', '{"city": "Gh"}'),
        ("[1]", "{}"),
        ('{"a": 1}', '{"a": 1}'),
    ):
        message["tool_calls"][0]["function"]["arguments"] = text
        assert template.render([QUESTION, message]) == f"<u>Rain?</u><a>[c1 look0 {shown}]</a>"


def test_text_parts_are_joined_if_the_template_would_print_the_list():
    plain = template_of("{{ m.content }}")
    parts = [{"type": "text", "text": "Rain"}, {"type": "text", "text": "or snow?"}]
    image = [*parts, {"type": "image_url", "image_url": {"url": "x"}}]

    assert plain.render([{"role": "user", "content": parts}]) == "<u>Rain\nor snow?</u>"
    assert plain.history([{"role": "user", "content": image}])[0]["content"] == image
    reads = ChatTemplate(
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}"
    )
    assert reads.history([{"role": "user", "content": parts}])[0]["content"] == parts
    assert reads.render([{"role": "user", "content": parts}]) == "Rainor snow?"


def test_text_is_converted_to_a_part_if_parts_are_required():
    looks = ChatTemplate(
        "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}{% if p.type == 'image' %}[i]"
        "{% else %}{{ p.text }}{% endif %}{% endfor %}{% endfor %}"
    )
    parts = [{"type": "image"}, {"type": "text", "text": "What is it?"}]
    chat = [{"role": "user", "content": parts}, {"role": "assistant", "content": "A cat."}]
    shown = [chat[0], {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]}]
    assert looks.history(chat) == looks.history(shown) == shown
    assert looks.render(chat) == "<user>[i]What is it?<assistant>A cat."
    assert looks.render([QUESTION, Message([Content("No.")])]) == "<user>Rain?<assistant>No."


def test_messages_of_openais_client_are_taken_as_they_are():
    completion = pytest.importorskip("openai.types.chat.chat_completion_message")
    given = called(CALL_ID, content="Let me see.").to_openai()
    message = completion.ChatCompletionMessage.model_validate(given)
    dumped = message.model_dump()
    texts = {NINE.render([QUESTION, one, returned(CALL_ID)]) for one in (given, message, dumped)}
    assert len(texts) == 1


def test_facts_are_found_once_with_few_renderings():
    template = ChatTemplate(NINE.source)
    runs = []
    run = template._run
    object.__setattr__(template, "_run", lambda *given: runs.append(1) or run(*given))
    said = Message([Reasoning("hm"), *called("c1").parts])
    template.render([QUESTION, said, returned("c1")])
    found = len(runs)
    template.render([QUESTION, said, returned("c1")])

    assert len(runs) == found + 1
    assert found < 60


LEAVES = st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(["", "a", '{"b": 1}', "{"])
MEMBERS = ["role", "content", "tool_calls", "tool_call_id", "id", "function", "name", "arguments"]
KEYS = st.sampled_from([*MEMBERS, "type", "text", "thinking"])
VALUES = st.recursive(
    LEAVES | st.sampled_from(["assistant", "tool", "user"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
ODD_MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["assistant", "tool", "user", "system"])},
        optional={
            "content": VALUES,
            "tool_call_id": VALUES,
            "reasoning": VALUES,
            "tool_calls": VALUES
            | st.lists(st.fixed_dictionaries({"id": LEAVES, "function": VALUES}), max_size=2),
        },
    ),
    max_size=4,
)


@given(name=st.sampled_from(sorted(SOURCES)), messages=ODD_MESSAGES)
def test_odd_messages_are_no_errors_of_ours_and_stay_as_they_are(name, messages):
    template = opened(name).template
    once = template.history(messages)
    assert template.history(once) == once
    assert [message["role"] for message in once] == [message["role"] for message in messages]


class Read:
    """Facts about a template, given by hand."""

    roles_with_content_parts = frozenset()

    def __init__(self, *no_content, ids="any", key="", names=False):
        self.call_capabilities = CallCapabilities(no_content or NO_CONTENT, ids)
        self.reasoning_key = key
        self.reads_result_names = names

    def joins_content_parts(self, role):
        return role == "user"


def asked(*ids, **content):
    """A message of OpenAI's with calls of these ids."""
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": made, "type": "function", "function": function} for made in ids]
    return {"role": "assistant", **content, "tool_calls": calls}


def ids_of(*messages, **read):
    """The ids that calls and results have when they are made for a template."""
    for message in as_read(Read(**read), messages):
        if message["role"] == "tool":
            yield message.get("tool_call_id")
        yield from (call["id"] for call in message.get("tool_calls", ()))


@pytest.mark.parametrize(
    ("given", "ids", "made"),
    [
        (["a"], "any", ["a"]),
        (["abcdefgh1"], "nine", ["abcdefgh1"]),
        (["call_3_x"], "numbered", ["call_3_x"]),
        (["a", "b"], "numbered", ["call_0_a", "call_1_b"]),
        (["a", "look:7"], "named", ["functions.look:0", "look:7"]),
    ],
)
def test_calls_get_the_ids_that_are_taken(given, ids, made):
    results = [returned(one) for one in reversed(given)]
    assert list(ids_of(asked(*given), *results, ids=ids)) == made + made[::-1]


@pytest.mark.parametrize("ids", ["any", "nine", "numbered", "named"])
@pytest.mark.parametrize("given", [("", ""), ("other", "another")])
def test_a_result_of_no_known_call_is_one_of_the_next(ids, given):
    *made, first, second = ids_of(asked("a", "b"), *map(returned, given), ids=ids)
    assert [first, second] == (list(given) if ids == "any" and any(given) else made)


@pytest.mark.parametrize("ids", ["nine", "numbered", "named"])
def test_results_without_ids_are_those_of_calls_without_ids_in_turn(ids):
    said = asked("a", "b")
    for call in said["tool_calls"]:
        del call["id"]
    *made, first, second = ids_of(said, *[{"role": "tool", "content": "x"}] * 2, ids=ids)
    assert [first, second] == made


def test_calls_without_ids_get_no_ids_if_any_id_is_accepted():
    said = asked("a")
    del said["tool_calls"][0]["id"]
    assert as_read(Read(), [said]) == [said]
    for more in ({}, {"id": "a"}):
        odd = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", **more}]}
        assert as_read(Read(ids="named"), [odd]) == [odd]


def test_a_result_without_an_id_is_one_of_the_last_turn():
    made = list(ids_of(asked("a"), asked("b"), {"role": "tool", "content": "x"}, ids="numbered"))
    assert made == ["call_0_a", "call_1_b", "call_1_b"]


def test_a_result_is_known_by_its_role_or_by_the_id_of_a_call():
    chat = [asked("a"), {"role": "function", "tool_call_id": "a", "content": "x"}]
    assert as_read(Read(ids="numbered"), chat)[1]["tool_call_id"] == "call_0_a"
    assert "name" not in as_read(Read(names=True), chat)[1]


def test_null_members_are_removed_except_content():
    said = {"role": "assistant", "content": None, "refusal": None, "audio": None}
    assert as_read(Read(), [said]) == [{"role": "assistant", "content": ""}]
    assert as_read(Read(), [said | {"tool_calls": []}]) == [{"role": "assistant", "content": ""}]
    assert as_read(Read(), [said | {"role": "user"}]) == [{"role": "user", "content": None}]
    called = asked("a", content="See.")
    called["tool_calls"][0]["index"] = None
    assert as_read(Read(), [called]) == [asked("a", content="See.")]


@pytest.mark.parametrize(
    ("role", "part", "content"),
    [
        ("user", {"text": "b"}, "a\nb"),
        ("user", {"type": "input_text", "text": "b"}, "a\nb"),
        ("user", "b", "a\nb"),
        ("user", {"type": "image_url", "text": "b"}, None),
        ("assistant", {"type": "text", "text": "b"}, None),
    ],
)
def test_text_parts_are_joined_if_the_role_requires_a_text(role, part, content):
    parts = [{"type": "text", "text": "a"}, part]
    (made,) = as_read(Read(), [{"role": role, "content": parts}])
    assert made["content"] == (content or parts)


def test_message_without_reasoning_is_unchanged():
    said = {"role": "assistant", "content": "See.", "reasoning": ""}
    assert as_read(Read(key="thinking"), [said]) == [said]


@pytest.mark.parametrize("content", [{}, {"content": ""}, {"content": None}])
@pytest.mark.parametrize("at", range(3))
def test_missing_content_has_the_form_of_the_template(content, at):
    wanted = NO_CONTENT[at]
    said = {"empty": {"content": ""}, "null": {"content": None}, "absent": {}}[wanted]
    (made,) = as_read(Read(wanted), [asked("a", **content)])
    assert made == asked("a", **said)
    assert as_read(Read(), [asked("a", **content)]) == [asked("a", **content)]
    assert as_read(Read(wanted), [asked("a", content="See.")]) == [asked("a", content="See.")]


def test_unchanged_message_keeps_the_order_of_its_keys():
    for no_content in ((), ("empty",)):
        (made,) = as_read(Read(*no_content), [asked("a", content="")])
        assert list(made) == ["role", "content", "tool_calls"]


@pytest.mark.parametrize("kind", ["thinking", "reasoning"])
def test_reasoning_becomes_a_part_once(kind):
    read, part = Read(key=f"content.{kind}"), {"type": kind, kind: "hm"}
    said = {"role": "assistant", "content": "See.", "reasoning_content": "hm"}
    once = as_read(read, [said])
    assert once == [{"role": "assistant", "content": [part, {"type": "text", "text": "See."}]}]
    assert as_read(read, [once[0] | {"reasoning": "hm"}]) == [once[0] | {"reasoning": "hm"}]


def test_only_the_models_reasoning_is_moved():
    said = [
        {"role": role, "content": "a", "reasoning": "hm"} for role in ("user", "system", "tool")
    ]
    assert as_read(Read(key="thinking"), said) == said
    (made,) = as_read(Read(key="thinking"), [{**said[0], "role": "assistant"}])
    assert made["thinking"] == "hm"


def test_result_gets_the_name_of_its_call_if_it_is_read():
    chat = [asked("a"), returned("a"), returned("a", name="own"), returned("b")]
    assert [one.get("name") for one in as_read(Read(names=True), chat)[1:]] == ["look", "own", None]
    assert as_read(Read(), chat)[1] == returned("a")
    said = asked("a")
    del said["tool_calls"][0]["id"]
    question = {"role": "user", "content": "Rain?"}
    assert as_read(Read(names=True), [said, question]) == [said, question]
    nameless = {**asked("a"), "tool_calls": [{"id": "a", "function": {}}]}
    assert as_read(Read(names=True), [nameless, returned("a")])[1] == returned("a")


BY_NAME = "{% for name, value in c.function.arguments.items() %}{{ name }}={{ value }};{% endfor %}"


@pytest.mark.parametrize(
    ("text", "shown", "healed"),
    [
        ('{"city": "Gh', "city=Gh;", '{"city": "Gh"}'),
        ('{"a": 1}{"b": 2}', "a=1;", '{"a": 1}'),
        ("[1]", "", "{}"),
        ("null", "", "{}"),
        ("{bad}", "", "{}"),
        ('{"a":1}', "a=1;", '{"a":1}'),
    ],
)
def test_arguments_that_are_no_object_are_healed_for_every_template(text, shown, healed):
    """A client sends the cut call back, with an error for its result."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": text}}
    chat = [QUESTION, {"role": "assistant", "content": "", "tool_calls": [call]}]
    calls = "{% for c in m.tool_calls or [] %}[" + BY_NAME + "]{% endfor %}"
    assert template_of("{{ m.content }}" + calls).render(chat) == f"<u>Rain?</u><a>[{shown}]</a>"
    assert call["function"]["arguments"] == text
    verbatim = "{% for c in m.tool_calls or [] %}[{{ c.function.arguments }}]{% endfor %}"
    template = template_of(
        "{% if m.tool_calls and m.tool_calls[0].function.arguments is not "
        "string %}{{ raise_exception('no') }}{% endif %}" + verbatim
    )
    assert template.render(chat) == f"<u>Rain?</u><a>[{healed}]</a>"


@needs_corpus
@pytest.mark.parametrize("path", [*templates(), *newer_templates()], ids=lambda path: path.stem)
def test_arguments_that_are_no_object_render_as_healed_in_real_templates(path):
    template = ChatTemplate.load(path)

    def rendered(function, **also):
        call = {"id": "abcdefghi", "type": "function", "function": {"name": "look", **function}}
        said = {"role": "assistant", "content": "", "tool_calls": [call], **also}
        try:
            return template.render([QUESTION, said, QUESTION])
        except TemplateError as error:
            return type(error)

    for broken, healed in (
        ('{"city": "Gh', {"city": "Gh"}),
        ('{"city": ', {}),
        ("oops", {}),
        ('"oops"', {}),
        ("", {}),
        ([1], {}),
        (None, {}),
    ):
        assert rendered({"arguments": broken}) == rendered({"arguments": healed})
    assert rendered({}) == rendered({"arguments": {}})


def test_content_is_removed_if_refused_with_reasoning_and_calls():
    refused = "m.tool_calls and m.content and m.thinking"
    template = template_of(
        "{% if " + refused + " %}{{ raise_exception('both') }}{% endif %}"
        "({{ m.thinking }}){{ m.content }}" + CALLS.replace("BAD", "false")
    )
    parts = [Reasoning("hm"), Content("Dry."), ToolCall("c1", "look", "{}", complete=True)]
    assert template.render([QUESTION, Message(parts)]) == "<u>Rain?</u><a>(hm)[c1 look {}]</a>"
    assert template.render([QUESTION, Message(parts[1:])]).endswith("<a>()Dry.[c1 look {}]</a>")
    assert template.render([QUESTION, Message(parts[:2])]).endswith("<a>(hm)Dry.</a>")
