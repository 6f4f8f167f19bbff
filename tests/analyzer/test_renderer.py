"""Rendering probes: refusals, turns and prompts, and the limit for all of it together."""

from __future__ import annotations

import itertools
import time

import pytest

from deltaparse import ChatTemplate, TemplateError, analyze
from deltaparse.analyzer import renderer
from deltaparse.analyzer.probes import ABSENT, NEXT_USER, TOOLS, USER, assistant, call, result, user
from deltaparse.analyzer.renderer import CallStyle, Renderer
from deltaparse.analyzer.split_markers import PREFIX, Brackets
from deltaparse.analyzer.template.budget import Limits
from deltaparse.analyzer.trace import Trace

from ..strategies.templates import OWN

LESS = 0.3
"""Seconds that these have instead of `MAX_SECONDS`, so that nobody has to wait for them."""
SLOW = "{% for a in range(10**5) %}{% for b in range(10**5) %}{% endfor %}{% endfor %}"
BURNS = {
    "always": SLOW,
    "with tools": "{% if tools %}" + SLOW + "{% endif %}",
    "with calls": "{% for m in messages %}{% if m.tool_calls %}" + SLOW + "{% endif %}{% endfor %}",
    "with reasoning": "{% if messages[-1].reasoning_content %}" + SLOW + "{% endif %}",
    "with the prompt": "{% if add_generation_prompt %}" + SLOW + "{% endif %}",
    "with long texts": "{% if messages[-1].content | length > 20 %}" + SLOW + "{% endif %}",
    "a huge text": "{{ 'x' * 10**9 }}",
    "a huge number": "{{ 10 ** 10 ** 10 }}",
    "a long range": "{% for a in range(10**9) %}{% endfor %}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "attributes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "attributes with tools": "{% if tools %}{{ tools.__class__.__mro__ }}{% endif %}",
    "much text": "{% for a in range(10**4) %}{{ 'x' * 1000 }}{% endfor %}",
    "switches": "".join("{% if s" + str(n) + " %}x{% endif %}" for n in range(1500)),
    "slow switches": "{% set n = namespace(t='') %}"
    + "".join("{% if s" + str(n) + " %}x{% endif %}" for n in range(200))
    + "{% for a in range(2000) %}{% set n.t = n.t ~ 'ab' %}{% endfor %}",
    "words": "".join(
        "{% if 'w" + str(n) + "' in messages[0].content %}{% endif %}" for n in range(900)
    ),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", BURNS)
def test_a_hostile_template_is_given_up(name, monkeypatch):
    monkeypatch.setattr(renderer, "MAX_SECONDS", LESS)
    source = BURNS[name] + OWN.reasoning_beside_calls_only
    start = time.thread_time()
    try:
        fmt = analyze(source)
    except TemplateError:
        pass
    else:
        assert fmt.verified or fmt.issues
    assert time.thread_time() - start < LESS + 1


def test_when_the_time_is_up_everything_is_refused(monkeypatch):
    monkeypatch.setattr(renderer, "MAX_SECONDS", 0.0)
    made = Renderer(ChatTemplate(OWN.reasoning_beside_calls_only))
    assert made.exhausted
    assert made([user()]) is None
    fmt = analyze(ChatTemplate(OWN.reasoning_beside_calls_only + " "))
    assert not fmt.verified


def test_remaining_time_is_not_exhausted(monkeypatch):
    monkeypatch.setattr(renderer, "MAX_SECONDS", LESS)
    assert not Renderer(ChatTemplate("{{ messages[0].content }}")).exhausted


def test_each_rendering_is_limited_to_the_remaining_time(monkeypatch):
    given, clock = [], itertools.count(0, 5)
    monkeypatch.setattr(renderer, "MAX_SECONDS", 13.0)
    monkeypatch.setattr(renderer, "thread_time", lambda: next(clock))
    monkeypatch.setattr(
        ChatTemplate, "render_within", lambda _, limits, *asked: given.append(limits.seconds) or ""
    )
    made = Renderer(ChatTemplate("", limits=Limits(seconds=10.0)))
    for text in ("a", "b", "c"):
        made([user(text)])
    assert given == [10.0, 8.0, 3.0]
    assert made.exhausted


def test_a_refusal_is_remembered_in_the_templates_words():
    made = Renderer(ChatTemplate("{{ raise_exception('only prose') }}"))
    assert made([user()]) is None
    assert "only prose" in made.refusals[0]


def test_refusals_are_stored_by_conversation():
    made = Renderer(ChatTemplate("{{ raise_exception('no tools') if tools }}{{ messages }}"))
    assert made([user()]) is not None
    assert made.refusal([user()], TOOLS) == "no tools"
    assert made.refusal([user("more")], ()) == ""
    assert made.refusals == ["no tools"]


def test_refusals_during_setup_are_forgotten():
    made = Renderer(ChatTemplate("{{ raise_exception('tools!') if not tools }}{{ messages }}"))
    assert made([user()]) is not None
    assert made.refusals == []


def test_markers_of_several_tokens_are_written_as_tags():
    made = Renderer(ChatTemplate("{{ raise_exception('no') if tools }}|+{{ messages[0].content }}"))
    plain = made.with_brackets(Brackets(prefixes=("|+",)))
    assert plain([user("<a>")]) == f"<{PREFIX}a>"
    assert made([user("<a>")]) == "|+<a>"
    assert plain([user()], tools=TOOLS) is None


def test_all_members_of_tools_can_be_rendered():
    source = "{% for t in tools or [] %}{{ t.function.returns.type }}{% endfor %}"
    made = Renderer(ChatTemplate(source))
    assert made([user()], tools=TOOLS) is None
    full = made.with_all_of_tools()
    assert full([user()], tools=TOOLS) == "stringstring"
    assert full.of(made.template)([user()], tools=TOOLS) == "stringstring"
    assert full([user()]) == ""
    assert made([user()], tools=TOOLS) is None


def test_a_conversation_with_one_turn():
    made = Renderer(ChatTemplate(OWN.json_list_behind_words))
    assert made.turn() == made([user(), assistant()])
    assert made.turn(content="", calls=[call()]) == made(
        [user(), assistant("", calls=[call()])], tools=TOOLS
    )
    then = [user(NEXT_USER)]
    assert made.turn(then=then, prompt=True) == made([user(), assistant(), *then], prompt=True)


def test_the_end_of_a_prompt():
    made = Renderer(ChatTemplate(OWN.reasoning_forced_closed))
    assert made.prompt_tail().endswith("<a>[mind][/mind]")
    assert made.prompt_tail(context={"deep": True}).endswith("<a>[mind]")
    assert made.prompt_tail(f"{USER} and more").startswith(" and more")
    assert made.prompt_tail("nothing of the sort") is None


def test_a_style_changes_messages_with_calls_and_the_ids_of_results():
    said = [user(), assistant("", calls=[call(), call(1)]), result(), result(1), assistant("x")]
    style = CallStyle(content=None, ids="{name}-{at}", first=1)
    asked, called, first, second, last = style.applied(said)
    ids = [f"{made['function']['name']}-{at}" for at, made in enumerate((call(), call(1)), 1)]
    assert (asked, last) == (said[0], said[-1])
    assert called == {
        **said[1],
        "content": None,
        "tool_calls": [{**call(), "id": ids[0]}, {**call(1), "id": ids[1]}],
    }
    assert [first, second] == [
        {**result(), "tool_call_id": ids[0]},
        result(1) | {"tool_call_id": ids[1]},
    ]
    beside = assistant("words", calls=[call()])
    assert next(style.applied([beside]))["content"] == "words"


def test_absent_content_has_no_key():
    (called,) = CallStyle(content=ABSENT).applied([assistant("", calls=[call()])])
    assert "content" not in called
    bare = {key: value for key, value in called.items() if key != "content"}
    assert list(CallStyle().applied([bare])) == [bare]


def test_only_results_of_calls_get_their_ids():
    style = CallStyle(ids="{name}")
    assert [*style.applied([result(), user()])] == [result(), user()]
    *_, last = style.applied([assistant("", calls=[call()]), user()])
    assert last == user()


def test_trailing_calls_are_answered_on_request():
    said = [user(), assistant("", calls=[call(1), call()])]
    style = CallStyle(answered=True, ids="{name}")
    *_, first, second = style.applied(said)
    assert first == result(1) | {"tool_call_id": call(1)["function"]["name"]}
    assert second == result() | {"tool_call_id": call()["function"]["name"]}
    for followed in ([*said, result(1), result()], [user()], []):
        assert len([*style.applied(followed)]) == len(followed)
    assert len([*CallStyle().applied(said)]) == len(said)


def test_switches_are_taken_back_and_the_rest_stays():
    made = Renderer(ChatTemplate("{{ a }}|{{ b }}"), context={"a": 1})
    under = made.under({"b": 2})
    assert under([user()]) == "1|2"
    assert under.unswitched()([user()]) == made([user()]) == "1|"


def test_tools_are_passed_if_a_tool_is_called():
    made = Renderer(ChatTemplate("{{ tools | length if tools else 'none' }}"))
    assert made.turn() == "none"
    assert made.turn(calls=[call()]) == str(len(TOOLS))


def test_renderings_are_cached():
    trace = Trace()
    made = Renderer(ChatTemplate("{{ messages[0].content }}"), trace)
    before = sum(trace.rendered.values())
    for _ in range(3):
        assert made([user()]) == USER
    assert sum(trace.rendered.values()) - before == 1
    assert made([user()], tools=TOOLS, prompt=True) == USER
    said = (f"user({USER!r})",)
    assert [one.parts for one in trace.renderings] == [said, (*said, "generation prompt", "tools")]
