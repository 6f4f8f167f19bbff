"""Reasoning, read off prompts."""

from __future__ import annotations

import pytest

from deltaparse import ChatTemplate
from deltaparse.analyzer.phases.reasoning import _closed_pair, _counts
from deltaparse.analyzer.renderer import Renderer


@pytest.mark.parametrize(
    ("prompts", "pair"),
    [
        (["<me>", "<me><t></t>"], ("<t>", "</t>")),
        (["<me><t></t>\n", "<me>"], ("<t>", "</t>")),
        (["<me><t>", "<me><t>\n</t>\n"], ("<t>", "</t>")),
        (["<me>", "<me><t>a</t>"], None),
        (["<me>", "<me><t></t><u>"], None),
        (["<me>", "<me>a b"], None),
        (["<me>", "<me>\n"], None),
        (["<me>", "<you><t></t>"], None),
        ([], None),
    ],
)
def test_a_pair_that_one_prompt_has_and_another_has_not(prompts, pair):
    assert _closed_pair(prompts) == pair


def test_words_count_where_the_prompt_ends_otherwise():
    source = "{{ messages[0].content }}<me>{% if 'yes' in messages[0].content %}<t>{% endif %}"
    render = Renderer(ChatTemplate(source))
    assert _counts(render, ["no", "yes"], "<me>")
    assert not _counts(render, ["no"], "<me>")
    assert not _counts(render, [], "<me>")
