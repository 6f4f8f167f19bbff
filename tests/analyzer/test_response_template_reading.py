"""What our parser makes of outputs, through response templates as checkpoints have them.

The property: a response template is refused by the name of the field, or our parser makes the
message of it that transformers' own parser makes: of whole outputs, and of outputs that are cut
off, where our parser reports no issue.
"""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import deltaparse as dp
from deltaparse.analyzer.transformers_parser import judge

from ..strategies.random_response_templates import TOOLS, drawn

pytestmark = pytest.mark.skipif(
    judge() is None, reason="the installed transformers has no parser of responses"
)
OPENS = {"open", "open_pattern"}


def read(template, text, prompt):
    """What transformers' parser makes of an output: a message, or why there is none."""
    reader = judge().reader(copy.deepcopy(template))
    assert not isinstance(reader, str), reader
    return reader([text], prompt, TOOLS)


def ours(fmt, text, prompt, reason):
    """What our parser makes of it: a message with its issues."""
    parser = dp.StreamParser(fmt, tools=TOOLS, prompt=prompt)
    parser.feed(text)
    parser.finish(reason)
    return parser.message


def assert_same(template, mine, theirs):
    """Hold our message against theirs, in which text that no field takes is dropped."""
    content, taken = mine.content.strip(), theirs.get("content") or ""
    implicit = "content" in template["fields"] and not OPENS & template["fields"]["content"].keys()
    assert content == taken if implicit else taken in content
    reasoning = theirs.get("thinking") or theirs.get("reasoning_content") or ""
    assert mine.reasoning_content.strip() == reasoning
    found = theirs.get("tool_calls") or []
    made = [(call.name, json.loads(call.arguments)) for call in mine.tool_calls]
    assert json.dumps(made) == json.dumps([[*call["function"].values()] for call in found])
    for call, whole in zip(mine.tool_calls, found, strict=True):
        assert "id" not in whole or whole["id"] == call.id


def as_format(template):
    """The wire format of a response template, None where it is refused by a name of its own."""
    try:
        return dp.from_response_template(template)
    except dp.FormatError as error:
        names = [*template, *template["fields"]]
        if not any(name in str(error) for name in names):
            raise
        return None


@given(drawn())
def test_outputs_are_read_as_by_transformers(case):
    fmt = as_format(case.template)
    theirs = read(case.template, case.text, case.prompt)
    assume(fmt is not None and not isinstance(theirs, str))
    assert_same(case.template, ours(fmt, case.text, case.prompt, "stop"), theirs)


@given(drawn(), st.floats(0, 1))
def test_outputs_that_are_cut_off_are_read_so_too_or_reported(case, part):
    fmt = as_format(case.template)
    assume(fmt is not None)
    text = case.text[: int(part * len(case.text))]
    theirs = read(case.template, text, case.prompt)
    mine = ours(fmt, text, case.prompt, "length")
    if not mine.issues and not isinstance(theirs, str):
        assert_same(case.template, mine, theirs)
