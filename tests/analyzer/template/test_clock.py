"""Tests of the time of day in templates, frozen while renderings are compared."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from deltaparse import ChatTemplate, analyze
from deltaparse.analyzer import Trace
from deltaparse.analyzer.template import clock
from deltaparse.analyzer.template.clock import one_moment, time_of_day

from ...strategies.templates import OWN

USER = {"role": "user", "content": "Hi"}
ASKS = ("{{ strftime_now('%H:%M:%S') }}", "{{ datetime }}")


START = datetime.now()  # noqa: DTZ005 - as templates are told


class Ticking(datetime):
    """A clock on which a second ends whenever it is read."""

    seconds = 0

    @classmethod
    def now(cls):
        cls.seconds += 1
        return START + timedelta(seconds=cls.seconds)


@pytest.fixture(autouse=True)
def ticking(monkeypatch):
    monkeypatch.setattr(clock, "datetime", Ticking)


def test_frozen_moment_ends_with_its_block():
    with one_moment():
        first = time_of_day()
        with one_moment():
            assert time_of_day() == first
        assert time_of_day() == first
    assert time_of_day() != first
    with pytest.raises(KeyError), one_moment():
        raise KeyError
    assert time_of_day() != time_of_day()


@pytest.mark.parametrize("asks", ASKS)
def test_each_rendering_is_of_its_own_time(asks):
    template = ChatTemplate(asks)
    assert template.render([USER]) != template.render([USER])


NAMES = ["reasoning_beside_calls_only", "json_list_behind_words", "reasoning_forced_closed"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("asks", ASKS)
def test_analysis_does_not_depend_on_the_end_of_a_second(asks, name):
    source = asks + getattr(OWN, name)
    with one_moment():
        still = analyze(source, trace=Trace())
    assert analyze(source, trace=Trace()) == still


@pytest.mark.parametrize("asks", ASKS)
def test_all_conversations_of_a_bridge_are_of_one_moment(asks):
    turn = "<{{ m.role }}>{{ m.content }}</{{ m.role }}>"
    prompt = "{% if add_generation_prompt %}<assistant>{% endif %}"
    made = ChatTemplate(asks + "{% for m in messages %}" + turn + "{% endfor %}" + prompt)
    for given in ({}, {"datetime": "noon"}):
        found = made.bridge("Dry.", [USER], **given)
        assert found == "</assistant><user>Hi</user><assistant>"


@pytest.mark.parametrize("asks", ASKS)
def test_parts_are_not_joined_because_a_second_ends(asks):
    part = "{% for p in m.content %}{{ p.text }}{% endfor %}"
    either = "{% if m.content is string %}{{ m.content }}{% else %}" + part + "{% endif %}"
    made = ChatTemplate(asks + "{% for m in messages %}" + either + "{% endfor %}")
    assert not made.joins_content_parts("user")
