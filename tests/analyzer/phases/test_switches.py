"""Settings: what they are called, and which matter."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate
from deltaparse.analyzer.phases.switches import Setting, _may_be_off, names_of_switches
from deltaparse.analyzer.probes import USER

PLAIN = (f"{USER}<me>", f"{USER}<me>said", f"{USER}<me>called")


def test_a_setting_in_words():
    assert Setting().label == "default"
    assert Setting((("a", True), ("b", "low"))).label == "a=true, b=low"


@pytest.mark.parametrize(
    ("changes", "matters"),
    [
        ((), False),
        (("instructions",), False),
        (("prompt",), True),
        (("instructions", "calls"), True),
    ],
)
def test_other_instructions_alone_do_not_matter(changes, matters):
    assert Setting((("a", True),), changes).matters is matters
    assert Setting().matters


def test_what_is_refused_or_changes_nothing_beyond_instructions_is_not_set_to_false():
    assert not _may_be_off(PLAIN, None)
    assert _may_be_off(PLAIN, PLAIN)
    assert not _may_be_off(PLAIN, ("told" + PLAIN[0], *PLAIN[1:]))
    assert _may_be_off(PLAIN, (PLAIN[0] + "<in>", *PLAIN[1:]))


def test_what_is_in_the_conversation_is_no_switch():
    names = ("messages", "tools", "functions", "documents", "available_tools", "custom_tools")
    source = "".join("{% if " + name + " %}x{% endif %}" for name in (*names, "deep"))
    assert names_of_switches(ChatTemplate(source)) == ["deep"]
