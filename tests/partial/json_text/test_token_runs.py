"""Runs of tokens for all short texts, compared with a lexer that reads token by token."""

from __future__ import annotations

from itertools import product

import pytest

from deltaparse.partial import JsonLexer, JsonState
from deltaparse.partial.json_text.token_runs import OF_BOTH, OF_OBJECTS, _runs

S = JsonState
TOKENS = [
    "",
    '"',
    '"a"',
    "\\n",
    "\\",
    ",",
    ":",
    " ",
    "1",
    "-.5e",
    "tru",
    "true",
    "fals",
    "nu",
    "]",
    "{",
]
TEXTS = sorted({"".join(tokens) for tokens in product(TOKENS, repeat=3)})
STATES = {"{": OF_OBJECTS, "[": OF_BOTH, "": set()}


def read(state, bracket, text, pos, hold_commas):
    """Return the end and the state of a lexer without runs."""
    lexer = JsonLexer(hold_commas=hold_commas, tracks=True)
    lexer.go_back(state, bracket)
    end = lexer.scan(text, pos)
    return end, lexer.state, lexer.stack, lexer.problem


@pytest.mark.parametrize("hold_commas", [False, True])
@pytest.mark.parametrize("bracket", STATES)
def test_a_run_is_made_where_tokens_follow_between_brackets(bracket, hold_commas):
    runs = _runs(hold_commas)[bracket]

    assert {state for state in S if runs[state] is not None} == STATES[bracket]


@pytest.mark.parametrize("hold_commas", [False, True])
@pytest.mark.parametrize(
    ("bracket", "state"),
    [(bracket, state) for bracket in "{[" for state in sorted(STATES[bracket])],
)
def test_run_reads_all_tokens_up_to_a_bracket(bracket, state, hold_commas):
    match, ends = _runs(hold_commas)[bracket][state]
    for text in TEXTS:
        found = match(text, 0)
        end = found.end()
        now, cut = ends[found.lastindex] if found.lastindex else (state, False)
        rest = read(now, bracket, text, end, hold_commas)

        assert rest == read(state, bracket, text, 0, hold_commas), text
        stays = rest[:2] == (end, now)
        in_string = now in (S.STRING, S.KEY)
        if end < len(text) and not stays and rest[1] is not S.BROKEN:
            assert not in_string, text
            assert text[end] in "{[]}", text
        assert cut is (stays and not in_string and end < len(text)), text
