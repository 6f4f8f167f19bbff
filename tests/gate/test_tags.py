"""The primary format: detection of tags and of quoting context."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from deltaparse import WireFormat, register_format
from deltaparse.stream.wire.named import registry

from ..strategies.gate_samples import NORMAL, called, decided, reason, tag

TAG = tag()


@pytest.mark.parametrize(
    "text",
    [
        TAG,
        f"Let me see. {TAG} One moment.",
        f"\n\n{TAG}\n",
        f"It's Tom's and the users' idea.\n{TAG}",
        f'He said "hello" to `x`. {TAG}',
        f"```python\nprint('\"')\n```\n{TAG}\n~~~\n`\n~~~\nDone.",
        f"```\n- ```\n```\n{TAG}",
        f"It's a quotation. {TAG}",
        f"> a quotation\n\n{TAG}",
        f"> a quotation\n \t\n{TAG}",
        f"A --> B, 1 < 2, a<toolbox> and a </toolbar>. {TAG}",
        f"<code>x</code> {TAG} <pre>\n</pre>",
        f"`<think>` is a marker. {TAG}",
        f"```\nx\n``` \t\n{TAG}",
        f"1. x\n   ```\n\n   y\n   ```\n{TAG}",
        f"-\t{TAG}",
        f"-    {TAG}",
        f"| x |\n|---|\n\n{TAG}",
        f"`x\\` {TAG}",
        f"-“-x” “ y” {TAG}",
        f"{TAG} It's -'- so.",
        f"{TAG} ‘a ‘ b’",
        f"~~a b~~ {TAG} ~~c~~",
        f"[a](b/c?d=e) `x` {TAG}",
        f'[a](b "c d") `x` {TAG}',
        f"[a](b (c)) {TAG}",
        f"| a |\n\n---\n{TAG}",
        f"a\n---\n{TAG}",
        f"~a b~ ~ {TAG} c~",
        f"~a {TAG} ~b",
        f"{TAG} src/*.py",
        f"{TAG}\n\nThe users' idea.",
        f"'a\n\nb'\n\n{TAG}\n\nThe users' idea.",
        f"{TAG} <B>x</b>",
        f"``x`` {TAG}",
        f"{TAG} /* x */ {{# y #}} <% z %>",
        f"```\n    ```\n```\n{TAG}",
        f"{TAG} <br> <b>x</b>",
        f"{TAG} \\begin{{x}}y\\end{{x}}",
        f"</b> {TAG} <b>x</b>",
        f"<b>x</b> {TAG} <b><b>y</b></b>",
        '<tool \n name="get_weather" >\n\t{"city": "Antwerp"}\n</tool>',
    ],
)
def test_tag_in_prose_is_a_call(text):
    assert called(text) == [NORMAL]


def test_several_calls_of_the_primary_format():
    text = f'{TAG} and <tool name="now">\n    {{}}</tool> {TAG}'
    assert called(text) == [NORMAL, {"name": "now", "arguments": {}}, NORMAL]
    ids = [call.id for call in decided(text).calls]
    assert len(set(ids)) == 3


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{TAG}\n```",
        f"```xml\n{TAG}\n```\nThat is how.",
        f"~~~~\n```\n{TAG}\n```\n~~~~",
        f"````\n```\n{TAG}\n````",
        f"```\n- ```\n{TAG}\n- ```\n```",
        f"> {TAG}",
        f"- > {TAG}",
        f"> as follows\n{TAG}",
        f"    {TAG}",
        f"1. so:\n\n\t{TAG}",
        f"`{TAG}`",
        f"``use {TAG} here``",
        f"`` a ` {TAG} ` b ``",
        f"~~~ {TAG}",
        f'"{TAG}"',
        f'He wrote "please {TAG} now" to me.',
        f'The page says: "Hello.\n\n{TAG}\n\nBye."',
        f"“so: {TAG} there”",
        f"„{TAG}“",
        f"« {TAG} »",
        f"「x {TAG}⟩ y」",
        f"「x⟩ {TAG} ⟨y」",
        f"「「x」 {TAG} y」",
        f"'{TAG}'",
        f"the text 'run {TAG} now' is",
        f"<!-- {TAG} -->",
        f"<pre>\n{TAG}\n</pre>",
        f'<CODE class="x">{TAG}</CODE>',
        f"<tool_response>{TAG}</tool_response>",
        f"<example>\n\n{TAG}",
        f"```\n```x\n{TAG}\n```x\n```",
        f"~~~ a`b\n{TAG}\n~~~",
        f"~{TAG}~",
        f"so 'it's {TAG}",
        f"x‘ {TAG} y’",
        f"-'- {TAG}",
        f"-     {TAG}",
        f"1.\t\t{TAG}",
        f"-\t  {TAG}",
        f"-\t> {TAG}",
        f"-\t > a\n{TAG}",
        f"1.  a\n\n    > b\n{TAG}",
        f"> a\n\u00a0\n{TAG}",
        f"| a |\n|---|\n{TAG}",
        f"| a |\n---\n{TAG}",
        f"- | a |\n  -\n  {TAG}",
        f"`\\|`\n---\n{TAG}",
        f"`{TAG} `",
        f"a ` b\n\n` {TAG} `\n\nc ` d",
        f"- a ` b\n- ` {TAG} `\n- c ` d",
        f"a ` b\n\n` {TAG} c ` d",
        f'The 27" display. {TAG}',
    ],
)
def test_quoted_tag_is_not_requested_again(text):
    decision = decided(text)
    assert decision.reason == "quoted"
    assert decision.re_emit is None
    assert (decision.telemetry.parse_mode, decision.telemetry.candidate_count) == ("none", 0)


@pytest.mark.parametrize(
    "text",
    [
        f"code\n\n{TAG} is before what nothing closes\n```",
        f"perhaps ```x {tag('{}')} or</think>\n{TAG}",
        f"{TAG}'",
        f'The 27" screen. "Please do {TAG} now" and 5" more.',
        f"the text 'run the users' {TAG} now' is",
        f"{TAG} <br></code> {TAG}",
        f"{TAG}\n```\nnever closed",
        f"- ```\n  code\n  ```\ntext\n```\n{TAG}\n```",
        f"```inline``` {TAG}",
        f"text</code> {TAG}</code>",
        f"x <pre>{TAG}</pre> {TAG}",
        f"`{TAG}` means {TAG}",
        f"```\n{TAG}\n```\n{TAG}",
        f"``` a`b\n{TAG}\n```",
        f"a ` b\n{TAG}",
        f'`<tool name="now">{{\n}}</tool>\n{TAG}` x',
        f'`<tool name="now">{{\n}}</tool>` {TAG}',
        f"- x\n  ```\n  y\nz\n```\n{TAG}\n```\n\n```\n```\n```",
        f"- x\n  ```\n     ```\n  ```\n  {TAG}\n  ```\n  ```",
        f"x \\` ` {TAG} ` \\`",
        f"x <a:`> ` {TAG} ` <a:`>",
        f"x <!A `> ` {TAG} ` <!A `>",
        f"x <code>`</code> {TAG} <code>`</code>",
        f"x <del>~~</del> {TAG} <del>~~</del>",
        f"<del>\n\n> x\n</del> {TAG}",
        f"x <!-- y\n\n    z --> {TAG}",
        f"<del>\n\n-     x</del> {TAG}",
        f"[x](`) ` {TAG} ` [x](`)",
        f"[x](\n`) ` {TAG} ` [x](\n`)",
        f"[x](<a )`>) ` {TAG} ` [x](<a )`>)",
        f"[x](a(b)`) ` {TAG} ` [x](a(b)`)",
        f"[x](a\\)`) ` {TAG} ` [x](a\\)`)",
        f"[x](y (`)) ` {TAG} ` [x](y (`))",
        f"[x](~~)~~, {TAG} ,~~[x](~~)",
        f"[~~](x)~~, {TAG} ,~~[~~](x)",
        f"<b a=~~>~~, {TAG} ,~~<b a=~~>",
        f"~~x\n\n,~~, {TAG} ,~~,\n\nx~~",
        f"- ~~x\n- ,~~, {TAG} ,~~,\n- x~~",
        f"\\~~x ,~~, {TAG} ,~~, x\\~~",
        f"🙂~~, ,~~, {TAG} ,~~, x~~",
        f"x~, ,~, {TAG} ,~,",
        f"\\~, ,~, ,\\~ {TAG} ,~,",
        f"x ~~ ~~y {TAG} y~~ ~~ z",
        f"a~x {TAG} y~ b",
        f"~a {TAG} ~b c~",
        f"{TAG} ~~x",
        f"{TAG} ' x",
        f"' {TAG}",
        f"<{TAG}",
        f'"x"{TAG}',
        f"{TAG}>",
        f"{TAG}<b>x</b> </b>",
        f"{TAG}<|im_end|>So.<|im_end|>",
        f"{TAG}<|start|>assistant",
        f"y” “so {TAG} there” “z",
        f"“x“ {TAG}",
        f"”x ” {TAG}",
        f"{TAG} 「x",
        f"x」 {TAG}",
        f"{TAG} “x",
    ],
)
def test_ambiguous_tag_is_refused_and_requested_again(text):
    decision = decided(text)
    assert decision.reason == "ambiguous"
    assert not decision.calls
    assert '<tool name="NAME">' in decision.re_emit


BEGINS = ["", "", "", "  ", "    ", "\t", "- ", "-\t", "-    ", "1. ", "10.  ", "> "]
MARKS = [
    "",
    "",
    "",
    "x",
    "y z",
    "```",
    "~~~",
    "`",
    "` ",
    "\\` ",
    "~~",
    "~~ ",
    "|-|",
    "\u00a0",
    "<a:`> ",
]
MARKS += ["x <!a `> ", "<q>", "</q>", "x <q>`</q> ", "x <!--", "-->", "> ", ",~,"]
HIDING = ["", "x ", "[x](`) ` ", "|a|\n---", "[~~](x),~~,", "\\~~,~~,", "\\~,~,"]
"""Marks of which some have no effect, because they are part of a link or escaped."""


@st.composite
def lines_with_a_tag(draw):
    """Generate lines of a few kinds, half of them mirrored around the tag."""
    begins = st.sampled_from(draw(st.lists(st.sampled_from(BEGINS), min_size=1, max_size=2)))
    kinds = st.sampled_from(draw(st.sampled_from([MARKS, HIDING])))
    marks = st.sampled_from(draw(st.lists(kinds, min_size=1, max_size=3)))
    line = st.builds("{}{}{}".format, begins, marks, marks)
    lines = draw(st.lists(line, max_size=4))
    after = lines[::-1] if draw(st.booleans()) else draw(st.lists(line, max_size=4))
    gap = st.sampled_from(["\n", " ", "  ", "x"])
    return draw(gap).join(["\n".join(lines), TAG]) + draw(gap) + "\n".join(after)


DIALECTS = [
    MarkdownIt("commonmark", {"strikethrough_single_tilde": single}).enable(
        ["strikethrough", "table"]
    )
    for single in (False, True)
]
"""GitHub reads a single "~" as strikethrough. Others need two."""


def is_set_apart(text, markdown):
    """Return True if a tag is in code, a block quote, a table or strikethrough in Markdown."""
    depth = 0
    for block in markdown.parse(text):
        for token in (block, *(block.children or ())):
            depth += token.nesting * (token.tag in ("blockquote", "s", "table"))
            if "<tool" in token.content + token.info and (depth or token.tag == "code"):
                return True
    return False


@settings(max_examples=1000)
@given(lines_with_a_tag())
def test_tag_quoted_in_markdown_is_not_a_call(text):
    executed = bool(decided(text).calls)
    assert not (executed and any(is_set_apart(text, markdown) for markdown in DIALECTS))


@pytest.mark.parametrize(
    "text",
    [
        f"<think>perhaps {TAG}</think>No.",
        f"perhaps {TAG}\n</think>\n\nNo.",
        f"<think>perhaps {TAG}",
        f"<Reasoning>{TAG}</reasoning>",
        f"[THINK]{TAG}[/THINK]ok",
        f"<think>{TAG}</thinking>{TAG}",
    ],
)
def test_tag_in_reasoning_is_not_a_candidate(text):
    assert reason(text) == "no_candidate"


def test_tag_after_reasoning_is_a_call():
    assert called(f'<think>perhaps `{tag("{}")} " or</think>\n{TAG}') == [NORMAL]
    assert called(f'perhaps "x {tag("{}")} or</think>\n{TAG}') == [NORMAL]
    assert called(f"<think>the <tool></think>{TAG}") == [NORMAL]
    assert reason("perhaps</think>CALL_TOOL <|im_end|>") == "no_call_found"
    assert called(f"{TAG}<think>and now?</think>") == [NORMAL]


@pytest.mark.parametrize(
    "draft",
    ["> x | y", "so 'x", "x ~~y", "~x", "` x\n", "<tool> </b>", '"x', "「x", "|-|\n", '27" x'],
)
def test_open_delimiters_in_reasoning_end_with_it(draft):
    assert called(f"{draft}</think>{TAG} y~") == [NORMAL]
    assert reason(f"{TAG}\n{draft}</think>{TAG} | y") == "ambiguous"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('<tool name="get_weather">{"city": "x"}', "incomplete"),
        ('<tool name="get_weather">{"city": "x"}</tool', "malformed_call"),
        ('<tool name="get_weather">{"city": "x"}</tool >', "malformed_call"),
        ('<tool name="get_weather"', "malformed_call"),
        ("<tool name='get_weather'>{}</tool>", "malformed_call"),
        ("<tool name=get_weather>{}</tool>", "malformed_call"),
        ('<tool id="1" name="get_weather">{}</tool>', "malformed_call"),
        ('<tool name="get_weather" />', "malformed_call"),
        ('<tool name="">{}</tool>', "malformed_call"),
        ('<tool name="a b">{}</tool>', "malformed_call"),
        (f'<tool name="{"n" * 129}">{{}}</tool>', "malformed_call"),
        ("<tool>get_weather</tool>", "malformed_call"),
        ("use the <tool> marker", "malformed_call"),
        ('the <tool> marker on a 27" screen', "malformed_call"),
        (f"{TAG}</tool>", "malformed_call"),
        (f"</tool>{TAG}", "malformed_call"),
        (f"{TAG} <tool", "malformed_call"),
        (f'<tool name="any">{TAG}</tool>', "malformed_call"),
        (f'<tool name="any">{TAG}', "malformed_call"),
        ('<tool name="any">{"x": "</tool>"}</tool>', "ambiguous"),
        ('<tool name="any">{"x": "<tool>"}</tool>', "ambiguous"),
        ('<tool name="any">{"x": "a <tool name=\\"now\\">{}</tool> b"}</tool>', "ambiguous"),
        (f"{TAG}{tag('{}', 'no')}", "unknown_tool"),
    ],
)
def test_malformed_tag_stops_all_calls(text, why):
    decision = decided(text)
    assert decision.reason == why
    assert not decision.calls
    assert decision.re_emit is not None
    assert decision.telemetry.parse_mode == "primary"


def test_escaped_marker_in_arguments_is_text():
    text = tag(r'{"x": "\u003c/tool> \u003ctool>"}', "any")
    assert called(text) == [{"name": "any", "arguments": {"x": "</tool> <tool>"}}]


@pytest.mark.parametrize("text", [TAG.upper(), TAG.replace("tool", "Tool"), TAG.replace("<", "＜")])
def test_other_spellings_of_a_tag_are_text(text):
    assert reason(text) == "no_candidate"


def test_names_are_compared_exactly():
    for name in ("Get_weather", "get_weather\u200b", "get‐weather", "ｇet_weather", "get_weathe"):
        assert reason(tag(name=name)) == "unknown_tool"
    assert reason(tag(name="get_weather ")) == "malformed_call"


def test_marker_inside_a_registered_marker_is_not_a_tag(monkeypatch):
    monkeypatch.setattr(registry.Registered, "entries", dict(registry._entries()))
    register_format("mine", WireFormat().replace(turn={"ends": ("{end}</tool>",)}))
    assert reason(f"x{{end}}</tool>{TAG}") == "ambiguous"
