"""The state machines of the readers, and their diagrams and tables in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deltaparse.stream.reading import channels, constrained_json, sections

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
MACHINES = {
    "a turn in sections": sections,
    "a turn in channels": channels,
    "text constrained to JSON": constrained_json,
}


def transitions_of(module):
    """Return the transitions in the code as triples of strings."""
    table = module.TRANSITIONS
    return {
        (str(state), str(event), str(after))
        for state, by_event in table.items()
        for event, after in by_event.items()
    }


def section_of(title):
    """Return the diagram and the rows of the table under a heading."""
    text = PAGE.partition(f"### States of {title}\n")[2].partition("\n##")[0]
    (diagram,) = re.findall(r"^```mermaid\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return diagram, re.findall(r"^\| (.*) \| (.*) \| (.*) \|$", text, re.MULTILINE)[1:]


def drawn(diagram):
    """Return the transitions in a diagram. A choice has the sources of its incoming edges."""
    choices = re.findall(r"state (\w+) <<choice>>", diagram)
    edges = re.findall(r"^ *(\S+) --> ([\w\[\]*]+)(?:: (.+))?$", diagram, re.MULTILINE)

    def sources(name):
        if name not in choices:
            return {name}
        return {one for start, end, _ in edges if end == name for one in sources(start)}

    return {
        (start, event, end)
        for choice, end, event in edges
        for start in sources(choice)
        if end not in choices
    }


@pytest.mark.parametrize("title", MACHINES)
def test_diagram_has_the_transitions_of_the_code(title):
    module = MACHINES[title]
    found = drawn(section_of(title)[0])
    first, last = next(iter(module.State)), module.State.DONE
    assert found == transitions_of(module) | {("[*]", "", first), (last, "", "[*]")}


@pytest.mark.parametrize("title", MACHINES)
def test_table_has_the_transitions_of_the_code(title):
    rows = section_of(title)[1]
    found = {(state, event, to) for states, event, to in rows for state in states.split(", ")}
    assert found == transitions_of(MACHINES[title])


@pytest.mark.parametrize("module", MACHINES.values(), ids=MACHINES)
def test_each_state_is_reachable_and_has_a_reader(module):
    states = set(module.State)
    assert set(module.TRANSITIONS) == set(module.STATE_READERS) == states - {module.State.DONE}
    reached = {next(iter(module.State))}
    while more := {to for one in reached - {"done"} for to in module.TRANSITIONS[one].values()}:
        if more <= reached:
            break
        reached |= more
    assert reached == states


def test_choice_is_replaced_by_its_sources():
    diagram = "    state a <<choice>>\n    b --> a\n    c --> a\n    a --> d: x\n    b --> c: y\n"
    assert drawn(diagram) == {("b", "x", "d"), ("c", "x", "d"), ("b", "y", "c")}
