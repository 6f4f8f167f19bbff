"""The table of SECURITY.md, row by row: an accepted text and a similar refused text."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import deltaparse.gate
from deltaparse import (
    Content,
    Issue,
    Message,
    Reasoning,
    StreamParser,
    ToolCall,
    ToolCallDelta,
    UsageError,
    WireFormat,
    gbnf,
    get_format,
    list_formats,
    parse,
    register_format,
)
from deltaparse.gate import ToolGate
from deltaparse.gate.known_markers import known_markers
from deltaparse.stream.wire.named import registry
from deltaparse.testing import Sampler

from ..strategies.gate_samples import (
    BLOCK,
    BRACKET,
    CITY,
    NORMAL,
    TOOLS,
    called,
    decided,
    reason,
    tag,
)

SECURITY = Path(__file__).parents[2] / "SECURITY.md"
GATE = ToolGate(TOOLS)
TAG = tag()
QWEN = get_format("qwen25")
CALL = f'<tool_call>\n{{"name": "get_weather", "arguments": {CITY}}}\n</tool_call>'
QUOTES = "“” „“ ”” «» »« ‹› 「」 『』 ｢｣ 《》 〝〟 ❝❞ ⸂⸃ ＂＂ ″″ \"\" ‘’ ‚‘ ''"
ELEMENTS = "del q s kbd script STRIKE style textarea cite table answer user-input 引用"

PROMPTS = ["root@host:~#", "[me@host ~]$", "In [1]:", ">>>", "...", "PS C:\\x>", "sh-5.1$"]
TURNS = [
    *("Human: x", "**User**: x", "### User", "user", "User 1 (12:03): x", "USER> x"),
    *("[INST] x [/INST]", "<user>x</user>", "用户：x", "> User: x", "Usuario: x"),
]

RAW = {
    "reasoning": [
        (f"<think>x</think>{TAG}", f"<think>{TAG}</think>"),
        (f"think</think>{TAG}", f"{TAG}</think>No."),
        (f"<|START_THINKING|>x<|END_THINKING|>{TAG}", f"<|START_THINKING|>{TAG}<|END_THINKING|>"),
        (f"<longcat_think>x</longcat_think>{TAG}", f"<longcat_think>{TAG}</longcat_think>"),
        (f"<|channel>thought\nx<channel|>{TAG}", f"<|channel>thought\n{TAG}<channel|>"),
        (f"x\n[BEGIN FINAL RESPONSE]\n{TAG}", f"{TAG}\n[BEGIN FINAL RESPONSE]\n"),
        (f"[THINK]x[/THINK]{TAG}", f"[THINK]{TAG}"),
        (
            f"<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>{TAG}",
            f"<|channel|>analysis<|message|>{TAG}<|end|>",
        ),
        (f"x {TAG}", f"{TAG}<|end|><|start|>assistant<|channel|>final<|message|>No."),
    ],
    "quotation marks": [
        *(
            (f"{one}x{two} {TAG}", f"{one}{gap}{TAG}{gap}{two}")
            for one, two in QUOTES.split()
            for gap in ["", "so ", " "]
            if (one, gap) not in [('"', " "), ("”", " "), ("＂", " "), ("″", " ")]
        ),
        (f"「a「b」c」 {TAG}", f"「a「b」{TAG}」"),
        (f"“a «b» c” {TAG}", f"“a «b» {TAG}”"),
        (f"«a» «b» {TAG}", f"«a «b {TAG}» c»"),
        (f"‘Hello.’\n\n{TAG}\n\nBye.", f"‘Hello.\n\n{TAG}\n\nBye.’"),
        (f"“a” “b” {TAG}", f"“one\n\n“two {TAG}”"),
        (f"It’s the users’ idea. {TAG}", f"It’s ‘the users’ {TAG} idea.’"),
        (f"x {TAG}", f"x “ {TAG}"),
        (f"x {TAG}", f"x {TAG}」"),
        *((f"{one}x{one} {TAG}", f"{one}{TAG}{one}") for one in "ʼʺ״׳ˋ｀‶"),
        (f"AT&T; {TAG}", f"&quot;x {TAG}&#34;"),
    ],
    "code": [
        (f"```\nx\n```\n{TAG}", f"```\n{TAG}\n```"),
        (f"`x` {TAG}", f"`x {TAG}`"),
        (f"[x](y) `z` {TAG}", f"[x](`) ` {TAG} ` [x](`)"),
        (f"   {TAG}", f"    {TAG}"),
        (f"\u00a0{TAG}", f"\u00a0\u00a0\u00a0\u00a0{TAG}"),
        (f"x\n{TAG}", f"x\u2028    {TAG}"),
        (f"x {TAG}", f"x \\{TAG}"),
        (f"x (y): {TAG}", f"x ({TAG})"),
        (f"**{TAG}**", f"${TAG}$"),
        (f"ー{TAG}…", f"【{TAG}】"),
        (f"{{x}} {TAG}", f"{{{TAG}}}"),
        (f"क\u200dष {TAG}", f"x \u202e{TAG}\u202c"),
        (f"x < y {TAG}", f"＜code＞ {TAG} ＜/code＞"),
        (f"x < y {TAG}", f"&lt;code&gt; {TAG} &lt;/code&gt;"),
    ],
    "a line": [
        (f"> x\n\n{TAG}", f"> {TAG}"),
        (f"| a | b |\n|---|---|\n\n{TAG}", f"| a | {TAG} |"),
        (f"a\n---\n{TAG}", f"| a |\n---\n{TAG}"),
        (f"a `|` b {TAG}", f"a | {TAG}"),
        (f"│ x │\n{TAG}", f"│ {TAG} │"),
        (f"// x\n{TAG}", f"// {TAG}"),
        (f"src/*.py {TAG}", f"/* {TAG} */"),
        (f"a\n{TAG}\n| b", f"{TAG} | b"),
        (f"5 $ {TAG}", f"$ {TAG}"),
        (f"🔎 → {TAG}", f"▌ {TAG}"),
        (f"1. {TAG}", f"＞ {TAG}"),
        (f"x\u200b {TAG}", f"\u200b> {TAG}"),
        (f"- {TAG}", f"-{TAG}"),
        *((f"{line}\n\nSo.\n{TAG}", f"{line} {TAG}") for line in PROMPTS),
        (f"$ ls\n\nSo.\n{TAG}", f"$ cat x\n{TAG}"),
        (f"It is 5 % {TAG}", f"me@mac ~ % {TAG}"),
        (f"<b>x</b> {TAG}", f"mysql> {TAG}"),
    ],
    "struck out": [
        (f"~~x~~ {TAG}", f"~~{TAG}~~"),
        (f"~~x~~ {TAG}", f"~~ or {TAG} ~~"),
        (f"~5 and ~6: {TAG}", f"~or {TAG} so~"),
        (f"~~x y~~ {TAG}", f"[~~](x)~~, {TAG} ,~~[~~](x)"),
    ],
    "elements": [
        *(
            (f"<{name}>x</{name}> {TAG}", f"<{name}>\n{TAG}\n</{name}>")
            for name in ELEMENTS.split()
        ),
        (f"<script>x</script>{TAG}", f"<script>{TAG}"),
        (f"<![CDATA[x]]>{TAG}", f"<![CDATA[{TAG}]]>"),
        (f"<!-- x -->{TAG}", f"<!-- {TAG} -->"),
        (f"<?x?>{TAG}", f"<?{TAG}?>"),
        (f"<a>x</a>{TAG}", f"<a><a></a>{TAG}</a>"),
        (f"[code]x[/code] {TAG}", f"[code]{TAG}[/code]"),
        (f"x <br> {TAG}", f"x </del> {TAG} </del>"),
        *(
            (f"x {end} {TAG}", f"{TAG} {end} No.")
            for end in ("</analysis>", "*/", "#}", "%>", "[/quote]", r"\end{quote}", "</b>")
        ),
        (f'[quote author="x"]x[/quote] {TAG}', f'[quote author="x"]{TAG}[/quote]'),
        (f"[code lang=xml]x[/code] {TAG}", f"[code lang=xml]{TAG}[/code]"),
        (f"[see x](y) {TAG}", f"{TAG} [/see x]"),
        (f"x <details> {TAG}", f"<details>\n<summary>x</summary>\n{TAG}"),
        (f"<br>\n{TAG}", f"<example>\n{TAG}"),
    ],
    "the end of the turn": [
        (f"{TAG}<|im_end|>\n", f"{TAG}<|im_end|>\nSo."),
        (f"{TAG}<|im_end|><|endoftext|>", f"<|im_end|>{TAG}"),
        (f"x</think>{TAG}<|im_end|>", f"Hi.<|im_end|>\n<|im_start|>user\nx</think>{TAG}"),
        (f"{TAG}</s>", f"Done.</s>{TAG}"),
        (f"<|im_start|>assistant\n{TAG}", f"Hi.<|im_start|>user\n{TAG}"),
        (f"<｜Assistant｜>{TAG}", f"Hi.<｜User｜>{TAG}"),
        (f"assistant<|role_sep|>\n{TAG}", f"Hi.\nuser<|role_sep|>\n{TAG}"),
        (
            f'<|open|>message role="assistant"<|sep|>{TAG}',
            f'<|open|>message role="tool"<|sep|>{TAG}',
        ),
        (f"<|im_assistant|>assistant<|im_middle|>{TAG}", f"<|im_system|>tool<|im_middle|>{TAG}"),
        (f"<start_of_turn>model\n{TAG}", f"Hi.<start_of_turn>user\n{TAG}"),
        (f"{TAG}<|im_start|>", f"{TAG}<|im_start|>system\n"),
        (f"<|start|>assistant {TAG}", f"{TAG}<|start|>assistant"),
        (f"The user: x\n{TAG}", f"Hi.\n**User:** x\n{TAG}"),
        (f"Observations:\n{TAG}", f"Observation: {TAG}"),
        *((f"```\n{line}\n```\n{TAG}", f"Hi.\n\n{line}\n{TAG}") for line in TURNS),
        (f"{TAG}<|eos|>", f"<|tool_output|>{TAG}"),
    ],
    "a fallback": [
        (f"CALL_TOOL\n{BLOCK}", f"CALL_TOOL\nSo: {BLOCK}"),
        (f"x</think>CALL_TOOL {BLOCK}", f"<|im_start|>user\nx</think>CALL_TOOL {BLOCK}"),
        (f"<|START_THINKING|>x<|END_THINKING|>CALL_TOOL {BLOCK}", f"CALL_TOOL {BLOCK}{BLOCK}"),
    ],
}
PARSED = {
    "a finished `StreamParser`; raw text with its format": [
        (f"So. {CALL}<|im_end|>\n", TAG),
        (f"<think>x</think>{CALL}", f"<think>{CALL}</think>"),
        (f"So: {CALL}", f"CALL_TOOL {BLOCK}"),
        (f"```\nx\n```\n{CALL}", f"```xml\n{CALL}\n```"),
        (f"{CALL}\n```\nx\n```", f"```xml\n{CALL}"),
        (f"So: `x`\n{CALL}\n`y`", f"So: `{CALL}`."),
        (f'27" or 28": {CALL}', f'So: "{CALL}".'),
        (f"“x”: {CALL}", f"“{CALL}{CALL}”"),
        (f"# X\n{CALL}", f"# {CALL}"),
        (f"> x\n\n{CALL}", f"> {CALL}"),
        (f"| a |\n|---|\n| b |\n\n{CALL}", f"- a\n- | {CALL} |"),
        (f"The <title> is x. {CALL}", f"<title>{CALL}</title>"),
        (f"<code>x</code> {CALL}", f"<code>\nx\n{CALL}\n</code>"),
        (f"<!-- x --> {CALL}", f"<!-- {CALL} -->"),
        (f"<tool_response>x</tool_response>{CALL}", f"<tool_response>x {CALL} </tool_response>"),
        (f"<scratchpad>x</scratchpad>{CALL}", f"<scratchpad>{CALL}</scratchpad>So."),
        (f"{CALL}\n<|im_start|>", f"<|im_start|>user\n{CALL}"),
        *((f"{CALL}\n{line}", f"Hi.\n\n{line}\n{CALL}") for line in TURNS),
        *((f"{line}\n\n\n{CALL}", f"{line} {CALL}") for line in PROMPTS if line != ">>>"),
        (f"So.\n{CALL}", f"$ cat x\n{CALL}"),
        (f"> x\n\n{CALL}", f"> So: {CALL}"),
        (f"x <details> {CALL}", f"<details>\n<summary>x</summary>\n\n{CALL}"),
        (f"<aside>x</aside>\n{CALL}", f"<aside>x {CALL} </aside>"),
        (f"/* x */ {CALL}", f"/* {CALL} */"),
        (f"x <!-- y --> {CALL}", f"x <!-- {CALL}"),
        (f"{CALL} <b>x</b>", f"{CALL} x</b>"),
        (f"User: x</think>{CALL}", f"User: x<think>y</think>{CALL}"),
    ],
    "the call": [
        (CALL[:-14], CALL[:-15]),
        (CALL, CALL.replace("}\n", ",}\n")),
        (CALL, CALL.replace("}\n", ', "and": 1}\n')),
        (CALL, CALL.replace("}\n", ', "name": "now"}\n')),
        (CALL, CALL.replace("}\n", ', "name": null}\n')),
        (CALL, CALL.replace("}\n", ', "arguments": {"city": "x"}}\n')),
        (CALL, CALL.replace("}\n", ', "arguments": null}\n')),
        (CALL, CALL.replace('{"name"', '{"name": null, "name"')),
    ],
    "the turn": [
        (f"{CALL}<|im_end|>\n", f"{CALL}<|im_end|>\nuser"),
        (f"{CALL}\nSo.", f"{CALL}<|im_end|>{CALL}"),
        (f"{CALL}\nSo.", f"{CALL}<tool_call>{BLOCK}</tool_call>"),
        (f"So. {CALL}", f"<tool_call>{BLOCK}</tool_call>{CALL}"),
        (f"<think>x <tool_call> y</think>{CALL}", f"{CALL}<tool_call> y"),
        (f"x <tool_call> y</think>{CALL}", f'{CALL}<tool_call>{{"na'),
        (f"{CALL}<", f"{CALL}<tool"),
        (f"<think>{CALL}</think>{CALL}", f"<think>{CALL}"),
        (f"<think>x</think>{CALL}", f"<think>x {CALL} and {CALL}"),
        (f"x</think>{CALL}", f"x {CALL} y</think>"),
    ],
}
MESSAGES = {
    "a `Message`": [
        ([Content(TAG)], [Content(TAG), Reasoning("x"), Content("No.")]),
        ([ToolCall("1", "get_weather", CITY, True)], [Reasoning(TAG)]),
        (
            [Content("So."), ToolCall("1", "get_weather", CITY, True)],
            [Content(TAG), ToolCall("1", "get_weather", CITY, True)],
        ),
        (
            [Content("x</think>"), ToolCall("1", "get_weather", CITY, True)],
            [ToolCall("1", "get_weather", CITY, True), Content("x</think>")],
        ),
        # A server may split adjacent content into several parts.
        ([Content("I wrote:"), Content(TAG)], [Content('I wrote "'), Content(f'{TAG}".')]),
        ([Content("`x"), Content(f"` {TAG}")], [Content("```\n"), Content(TAG)]),
        (
            [ToolCall("1", "get_weather", CITY, True), Content("x</"), Content(" think>")],
            [ToolCall("1", "get_weather", CITY, True), Content("x</"), Content("think>")],
        ),
    ]
}


def pairs(rows):
    return [pair for row in rows.values() for pair in row]


def test_tables_of_the_documentation_have_the_same_rows():
    text = SECURITY.read_text(encoding="utf-8")
    table = text[text.index("## What may be executed") : text.index("## What is not promised")]
    rows = [line.split(" | ")[0].strip("| ") for line in table.splitlines() if line[:1] == "|"]
    assert sorted(rows[2:]) == sorted([*PARSED, *MESSAGES, *RAW])
    for row in [*RAW, "the call", "the turn"]:
        assert f"\n    {row}  " in deltaparse.gate.__doc__


@pytest.mark.parametrize(("text", "neighbour"), pairs(RAW))
def test_raw_text_passes_but_its_neighbor_does_not(text, neighbour):
    assert called(text) == [NORMAL]
    assert not decided(neighbour).calls


@pytest.mark.parametrize(("text", "neighbour"), pairs(PARSED))
def test_text_with_format_passes_but_its_neighbor_does_not(text, neighbour):
    for output, passes in ((text, True), (neighbour, False)):
        parser = StreamParser(QWEN, tools=TOOLS)
        parser.feed(output)
        parser.finish("stop")
        message = parser.message
        assert decided(parser).executable is passes
        assert GATE.decide(output, QWEN, finish_reason="stop").executable is passes
        # A message and its calls also have the issues of their parser.
        if message.tool_calls:
            assert decided(message).executable is passes
            assert decided(message, issues=parser.issues).executable is passes


@pytest.mark.parametrize("text", [text for text, _ in pairs(PARSED)])
def test_passing_call_also_passes_early(text):
    parser = StreamParser(QWEN, tools=TOOLS)
    for char in text:
        for delta in parser.feed(char):
            if isinstance(delta, ToolCallDelta) and delta.last:
                call = parser.message.tool_calls[delta.index]
                assert GATE.decide_call(call, issues=parser.issues).executable


def test_issue_after_the_start_of_an_unfinished_call_stops_it():
    calls = [ToolCall(str(at), "get_weather", CITY, True, span=(at, at)) for at in (0, 9)]
    issue = Issue("invalid_text", (20, 21), "")
    assert GATE.decide_call(calls[1], issues=[issue]).reason == "parser_issue"
    assert reason(Message(calls), issues=[issue]) == "parser_issue"
    assert GATE.decide_call(calls[1], issues=[Issue("invalid_text", (8, 9), "")]).executable


CLOSED = ("quotation marks", "code", "a line", "struck out", "elements")


@pytest.mark.parametrize("text", [text for row in CLOSED for text, _ in RAW[row]])
def test_closed_delimiters_do_not_quote_a_parsed_call(text):
    assert GATE.decide(text.replace(TAG, CALL), QWEN, finish_reason="stop").executable


TO_WEATHER = f"<|channel|>commentary to=functions.get_weather <|message|>{CITY}"
SAYS = "<|channel|>final<|message|>So."
OBJECT = f'{{"name": "get_weather", "arguments": {CITY}}}'
NUMBERED = f'{{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {CITY}}}'
TWICE = f"{NUMBERED}, {NUMBERED}"
TAGGED = "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Gent</arg_value>\n"
WEATHER_OBJECT = f'{{"name": "get_weather", "parameters": {CITY}}}'
OTHER_FORMATS = {
    "gpt_oss": [
        (f"{TO_WEATHER}<|call|>", f"{SAYS}<|return|><|start|>assistant{TO_WEATHER}<|call|>"),
        (f"{SAYS}<|end|><|start|>assistant{TO_WEATHER}", f"{SAYS}<|return|>{TO_WEATHER}"),
        (f"{TO_WEATHER}<|return|>", f"<|return|>{TO_WEATHER}<|call|>"),
        (f"{TO_WEATHER}<|call|><|start|>assistant{SAYS}", f"{TO_WEATHER}<|return|>So."),
        (f"{TO_WEATHER}<|call|>", f"{TO_WEATHER}<|return|><|start|>assistant{SAYS}"),
        *(
            (f"{TO_WEATHER.replace('functions.', own)}<|call|>", TO_WEATHER.replace(*other))
            for own in ("", "functions.")
            for other in [("functions.", "browser."), ("functions.", "a.b."), ("to=", "to=x.")]
        ),
    ],
    "hermes": [(CALL, f"{CALL}<|im_end|>So.")],
    "pythonic": [
        (BRACKET, f"[rm(), {BRACKET[1:]}"),
        (BRACKET, f"{BRACKET} So."),
        (f"{BRACKET}\n", f"{BRACKET[:-1]}, rm(path='/')]"),
        (BRACKET[1:-1], f"rm(); {BRACKET}"),
        (f"\n{BRACKET}", f"So: {BRACKET}"),
        (f"{BRACKET}<|eot_id|>", f"```\n{BRACKET}\n```"),
    ],
    "llama3_json": [
        (WEATHER_OBJECT, WEATHER_OBJECT.replace("get_weather", "rm")),
        (WEATHER_OBJECT, f"{WEATHER_OBJECT} So."),
        (f"{WEATHER_OBJECT}\n", f'{WEATHER_OBJECT}; {{"name": "rm", "parameters": {{}}}}'),
        (f"<|python_tag|>{WEATHER_OBJECT}", f"{WEATHER_OBJECT}\n\nis how it would look."),
        (WEATHER_OBJECT, f'{{"name": "rm", "parameters": {WEATHER_OBJECT}}}'),
        (f"<|python_tag|>{WEATHER_OBJECT}", f"So: {WEATHER_OBJECT}"),
    ],
    "functionary_v32": [
        (f"get_weather\n{CITY}", f"rm\n{CITY}"),
        (f"all\nSo.>>>get_weather\n{CITY}", f"all\nSo.>>>get_weather\n{CITY}>>>rm\n{{}}"),
        (f"get_weather\n{CITY}>>>all\nSo.", f"get_weather\n{CITY} so."),
        (f"get_weather\n{CITY}\n", f"all\nIn the REPL:\n\n>>> get_weather\n{CITY}"),
        (f"all\n>>>get_weather\n{CITY}", f"all\nSo.>>> get_weather\n{CITY}"),
        ("all\nA.>>>now\n{}\n>>>now\n{}", f"all\nSo.\n>>>get_weather\n{CITY}"),
    ],
    "phi4_mini_json": [(f"functools[{OBJECT}]", f"functools[{OBJECT}] would ask.")],
    "command_r7b": [
        (f"<|START_ACTION|>[{NUMBERED}]<|END_ACTION|>", f"<|START_ACTION|>[{TWICE}]<|END_ACTION|>"),
    ],
    "glm45": [(f"{TAGGED}</tool_call>", TAGGED), (f"{TAGGED}</tool", f"{TAGGED}<")],
    "minicpm5": [
        (
            f'<function name="get_weather"><param name="city">{part}</param></function>',
            f'<function name="get_weather"><param name="city">{part}</param>',
        )
        for part in ("Gent", "")
    ],
}


@pytest.mark.parametrize("name", OTHER_FORMATS)
def test_other_formats_pass_but_their_neighbors_do_not(name):
    fmt = get_format(name)
    for text, neighbour in OTHER_FORMATS[name]:
        for output, passes in ((text, True), (neighbour, False)):
            message = parse(output, fmt, tools=TOOLS, finish_reason="stop")
            assert GATE.decide(output, fmt, finish_reason="stop").executable is passes, output
            assert decided(message).executable is passes, output


HEADS = [
    (
        "llama3_json",
        WEATHER_OBJECT,
        ";",
        ' {"name": "get_weather", "param',
        ["stop", "length", None],
    ),
    ("mistral", f"[TOOL_CALLS][{OBJECT}", ",", ' {"name": "get_weather", "arg', ["length", None]),
    ("mistral", f"[TOOL_CALLS][{OBJECT}", ", {", '"name": "get_weather', ["stop"]),
    ("pythonic", BRACKET, "\n[", "get_weather(city=", ["length", None]),
    ("pythonic", BRACKET[:-1], ",", " get_weather(city=", ["length", None]),
]


@pytest.mark.parametrize(("name", "call", "between", "head", "reasons"), HEADS)
def test_call_truncated_in_its_head_stops_earlier_calls(name, call, between, head, reasons):
    assert GATE.decide(call, name, finish_reason=reasons[0]).executable
    start = 1 if between == ";" else 0  # A lone semicolon has no meaning at a natural end.
    for cut in range(start + 1, len(head) + 1):
        for ended in reasons:
            text = f"{call}{between}{head[:cut]}"
            assert not GATE.decide(text, name, finish_reason=ended).executable, text


@pytest.mark.parametrize(("parts", "neighbour"), pairs(MESSAGES))
def test_message_passes_but_its_neighbor_does_not(parts, neighbour):
    assert called(Message(parts)) == [NORMAL]
    assert not decided(Message(neighbour)).calls


@pytest.mark.parametrize("name", list_formats())
def test_markers_of_every_named_format_are_known(name):
    fmt = get_format(name)
    for start, end in fmt.reasoning.pairs if fmt.reasoning.end else ():
        assert called(f"{start}x{end}{TAG}") == [NORMAL]
        assert not decided(f"{start}{TAG}{end}").calls
        assert not decided(f"{TAG}{end}").calls
        assert reason(f"{start}{TAG}") == ("no_candidate" if start else None)
    channels = fmt.channels
    for word in channels.reasoning:
        header = f"{channels.start}assistant{channels.channel or channels.recipient}{word}"
        for end in channels.ends:
            assert called(f"{header}{channels.message}x{end}{TAG}") == [NORMAL]
            assert reason(f"{header}{channels.message}{TAG}{end}") == "no_candidate"
        # Alone it is a word.
        assert called(f"x {word} {TAG}") == [NORMAL]
    for mark in fmt.turn.ends:
        assert not decided(f"x{mark}{TAG}").calls
    for header in fmt.turn.headers:
        if role := re.search(r"(?<=[]>])(assistant|model|ai)\b", header, re.IGNORECASE):
            # A header beginning with the end of the previous turn ends the turn.
            ends = header.startswith(tuple(fmt.turn.ends))
            assert called(f"{header}{TAG}") == ([] if ends else [NORMAL])
            assert not decided(f"{header[: role.start()]}user{header[role.end() :]}{TAG}").calls


@pytest.fixture
def registered(monkeypatch):
    """Register a format for the duration of the test."""
    monkeypatch.setattr(registry.Registered, "entries", dict(registry._entries()))
    return lambda **groups: register_format("mine", WireFormat().replace(**groups))


def test_markers_of_a_registered_format_are_known(registered):
    before = known_markers()
    draft = f"<<hm>>{TAG}<<ok>>"
    assert called(draft.replace("<<", "( ").replace(">>", " )")) == [NORMAL]
    registered(reasoning={"mode": "TAG_BASED", "start": "{hm}", "end": "{ok}"})
    assert known_markers() is not before
    assert called(f"{{hm}}x{{ok}}{TAG}") == [NORMAL]
    assert not decided(f"{{hm}}{TAG}{{ok}}").calls


PAIRS = [
    (f"{{hm}}x{{ok}}{TAG}", f"{{hm}}{TAG}{{ok}}"),
    (f"{{hm 2}}x{{ok 2}}{TAG}", f"{{hm 2}}{TAG}{{ok}}"),
    (f"{{HM}}x{{Ok}}{TAG}", f"{TAG}{{OK}}"),
    (f"<Hm>x</hm >{TAG}", f"<hm a='b'>{TAG}</hm>"),
    (f"<note>x</note>{TAG}", f"<note>{TAG}{{go}}"),
    (f"<note>x{{go}}{TAG}", f"{TAG}{{go}}"),
    (f"{{in}}draft{{text}}x{{out}}{TAG}", f"{{in}}draft{{text}}{TAG}{{out}}"),
    (f"{{in}}draft{{text}}x{{out 2}}{TAG}", f"{{in}}draft{{text}}{TAG}{{to}}"),
    (f"{{in}}draft{{text}}x{{next}}{TAG}", f"{TAG}{{next}}"),
    # The end of a channel ends only the channel.
    (f"{TAG}{{out}}", f"{{in}}draft {TAG}"),
    (f"{TAG}{{stop}}\n", f"{{stop}}{TAG}"),
    (f"{TAG}{{stop}}{{now}}", f"{TAG}{{stop}}{{no}}"),
    (f"[begin]Assistant {TAG}", f"[begin]user {TAG}"),
]


def test_registered_markers_are_known_without_whitespace(registered):
    registered(
        turn={
            "ends": ("\n{stop}\n", "{stop}{now}"),
            "headers": ("\n [begin]Assistant\n", "{no role}"),
        },
        reasoning={
            "mode": "TAG_BASED",
            "start": " {Hm}\n",
            "end": "\n{OK} ",
            "alternatives": ("\n{hm 2}", "{ok 2}\n", " <hm>", "</hm> ", "<note>\n", " {go}"),
        },
        channels={
            "start": "\n{next}\n",
            "channel": " {in} ",
            "message": "{text}",
            "ends": ("\n{out}\n", " {out 2}"),
            "reasoning": ("draft",),
        },
    )
    for text, neighbour in PAIRS:
        assert called(text) == [NORMAL], text
        assert not decided(neighbour).calls, neighbour


def test_unclosed_reasoning_continues(registered):
    channels = {"channel": "{in}", "message": "{text}", "reasoning": ("draft",)}
    registered(channels=channels)
    assert called(f"{{in}}final{{text}}{TAG}") == [NORMAL]
    assert reason(f"{{in}}draft{{text}}x\n\n{TAG}") == "no_candidate"


def test_format_determines_types_of_arguments_in_tags():
    text = (
        "<tool_call>\n<function=get_weather>\n<parameter=city>\n12\n</parameter>\n"
        "</function>\n</tool_call>"
    )
    decision = GATE.decide(text, get_format("qwen3_coder"), finish_reason="stop")
    assert decision.calls[0].arguments == {"city": "12"}


def test_re_emit_asks_for_the_parsed_format():
    assert "<tool name=" in GATE.decide(tag("{}")).re_emit
    decision = GATE.decide(CALL.replace("city", "town"), QWEN, finish_reason="stop")
    assert decision.reason == "schema"
    assert "<tool name=" not in decision.re_emit


def test_unfinished_or_mismatched_parser_is_rejected():
    parser = StreamParser(QWEN)
    parser.feed(CALL)
    with pytest.raises(UsageError, match="finish"):
        GATE.decide(parser)
    parser.finish()
    with pytest.raises(UsageError, match="already parsed"):
        GATE.decide(parser, QWEN)
    with pytest.raises(UsageError, match="WireFormat"):
        GATE.decide(CALL, 25)
    assert GATE.decide(CALL, "qwen25") == GATE.decide(CALL, QWEN)


KINDS = ["text_after_end", "tool_in_reasoning", "unused_member", "odd_header", "foreign_role"]


@pytest.mark.parametrize("kind", [*KINDS, "a_kind_of_next_year"])
def test_unknown_kind_of_issue_stops_a_call(kind):
    call = ToolCall("1", "get_weather", CITY, True)
    issue = Issue(kind, (0, 0), "")
    assert reason(Message([call]), issues=[issue]) == "parser_issue"
    assert reason(Message([call], (issue,))) == "parser_issue"
    assert GATE.decide_call(call, issues=[issue]).reason == "parser_issue"
    odd = ToolCall("1", "get_weather", CITY, True, issues=frozenset([kind]))
    assert GATE.decide_call(odd).reason == reason(Message([odd])) == "parser_issue"


def test_decide_call_decides_before_the_end():
    logged = []
    gate = ToolGate(TOOLS, on_telemetry=logged.append)
    parser = StreamParser(QWEN, tools=TOOLS)
    parser.feed(f"{CALL}\n{CALL.replace('city', 'town')}")
    first, second = parser.message.tool_calls
    decision = gate.decide_call(first)
    assert [call.normalized() for call in decision.calls] == [NORMAL]
    assert decision.calls[0].id == first.id
    assert gate.decide_call(second).reason == "schema"
    assert [record.schema_validation for record in logged] == ["pass", "fail"]
    # For the complete response, no call passes.
    parser.finish("stop")
    assert not gate.decide(parser).calls
    with pytest.raises(UsageError, match="ToolCall"):
        gate.decide_call(CALL)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (ToolCall("1", "get_weather", CITY, False), "incomplete"),
        (ToolCall("1", "get_weather", CITY, True, repaired=True), "parser_issue"),
        (ToolCall("1", "rm", "{}", True), "unknown_tool"),
        (ToolCall("1", "get_weather", "{}", True), "schema"),
        (ToolCall("1", "any", '{"a": 1, "a": 2}', True), "duplicate_key"),
    ],
)
def test_decide_call_applies_the_same_checks(call, why):
    assert GATE.decide_call(call).reason == why == reason(Message([call]))


def test_draft_before_a_call_does_not_stop_decide_call():
    message = parse(f"<think>{CALL}</think>{CALL}", QWEN)
    assert message.issues
    assert GATE.decide_call(message.tool_calls[0]).executable


CHUNKS = [CALL, TAG, "<think>", "</think>", "<|im_end|>", "x", " ", '"', "「", "」", "~~", "<q>"]


@given(st.lists(st.sampled_from(CHUNKS), max_size=6).map("".join))
def test_parser_is_at_least_as_permissive_as_its_message(text):
    parser = StreamParser(QWEN, tools=TOOLS)
    parser.feed(text)
    parser.finish("stop")
    decision = GATE.decide(parser)
    assert decision.calls == GATE.decide(text, QWEN, finish_reason="stop").calls
    if parser.message.tool_calls:
        assert GATE.decide(parser.message).calls in ((), decision.calls)
    early = [GATE.decide_call(call).executable for call in parser.message.tool_calls]
    assert all(early) or not decision.calls


MARKS = ["“", "«", "「", "‘", '"', "〝", "~~", "<del>", "<a>", "/*"]


@given(
    st.lists(st.sampled_from(MARKS), min_size=1, max_size=3, unique=True),
    st.sampled_from(["", " ", "a "]),
)
def test_tag_between_matching_delimiters_is_not_executed(opened, gap):
    mirror = str.maketrans("“«「‘〝", "”»」’〟")
    closed = " ".join(reversed(opened)).translate(mirror).replace("<", "</").replace("/*", "*/")
    assert not GATE.decide(f"so {''.join(opened)}{gap}{TAG} is{closed}").calls


ENDS = ["</a>", "</my-note>", "*/", "#}", "%>", "[/quote]", "\\end{quote}", "</q>", "]]>"]
QUIET = st.text("abc .\n", max_size=9).map(" ".join)


@given(QUIET, st.lists(st.sampled_from(ENDS), min_size=1, max_size=3), QUIET)
def test_tag_before_an_unopened_end_is_not_executed(before, ends, after):
    assert GATE.decide(f"{' '.join(ends)}\n\nSo {TAG}").executable
    assert not GATE.decide(f"So {TAG}{before}{' '.join(ends)}{after}").calls


@pytest.mark.parametrize("stop", ["</tool_call>", "\n</tool_call>", "</tool_call><|user|>"])
def test_closing_marker_may_be_the_stop_string(stop):
    for output in (TAGGED, TAGGED.rstrip(), "<tool_call>now\n"):
        assert GATE.decide(output, "glm45", finish_reason="stop", stop_reason=stop).executable
        for other in (None, "User:", 7, ""):
            decision = GATE.decide(output, "glm45", finish_reason="stop", stop_reason=other)
            assert decision.reason == "parser_issue"
            assert "missing_closer" in decision.detail
        # Inside an argument, the call is incomplete.
        cut = output.removesuffix("\n").removesuffix("</arg_value>") if "arg" in output else "<to"
        assert not GATE.decide(cut, "glm45", finish_reason="stop", stop_reason=stop).executable
        assert not GATE.decide(output, "glm45", finish_reason="length", stop_reason=stop).executable


def test_second_call_with_the_same_id_is_refused():
    parser = StreamParser("command_r7b", tools=TOOLS)
    parser.feed(f"<|START_ACTION|>[{TWICE}]<|END_ACTION|>")
    parser.finish("stop")
    decision = GATE.decide(parser)
    assert (decision.reason, decision.detail) == (
        "parser_issue",
        "the parser reported repeated_id",
    )
    early = [GATE.decide_call(call).executable for call in parser.message.tool_calls]
    assert early == [True, False]


def test_value_containing_a_marker_is_refused():
    text = TAGGED.replace("Gent", "Gent</arg_value>x") + "</tool_call>"
    decision = GATE.decide(text, "glm45", finish_reason="stop")
    assert decision.reason == "parser_issue"
    assert "ambiguous_marker" in decision.detail


LIKE_TEXT = [name for name in list_formats() if get_format(name).derived.like_text]
WORDS = st.text("ab ?.,:;!#>$`'\n", min_size=1, max_size=12).filter(str.strip)


@pytest.mark.parametrize("name", LIKE_TEXT)
@given(data=st.data(), before=WORDS | st.just(""), after=WORDS | st.just(""))
def test_unmarked_call_with_prose_is_not_executed(name, data, before, after):
    assume(before or after)
    fmt = get_format(name)
    call = written("now", fmt, TOOLS)
    gap = data.draw(st.sampled_from(["", " ", "\n", "\n\n"]))
    assert GATE.decide(f"{gap}{call}{gap}", fmt, finish_reason="stop").executable
    text = f"{before}{gap}{call}{gap}{after}"
    for ended in ("stop", "length", None):
        parser = StreamParser(fmt, tools=TOOLS)
        for char in text:
            parser.feed(char)
        parser.finish(ended)
        assert not GATE.decide(parser).executable
        assert not parser.message.tool_calls or not GATE.decide(parser.message).executable
        assert not GATE.decide(text, fmt, finish_reason=ended).executable


IN_MARKERS = ["hermes", "qwen3_coder", "mistral", "mistral_small", "devstral", "deepseek_v3"]
IN_MARKERS += ["kimi_k2", "glm45", "step3", "functiongemma", "command_r7b", "lfm2", "minicpm5"]


def written(name, fmt, tools):
    """Return a call of a tool in a format, generated by its grammar."""
    choice = {"type": "function", "function": {"name": name}}
    options = {"parallel_tool_calls": False, "reasoning": "exclude", "spacing": "dumps"}
    return Sampler(gbnf(fmt, tools, tool_choice=choice, **options).rules).text(Random(1))


@pytest.mark.costly
@pytest.mark.parametrize("name", IN_MARKERS)
def test_call_before_a_truncated_call_does_not_pass(name):
    fmt = get_format(name)
    gent = {"type": "object", "properties": {"city": {"const": "Gent"}}, "required": ["city"]}
    tools = [{"name": tool, "parameters": gent} for tool in ("get_weather", "rm_all")]
    gate = ToolGate(tools)
    first, second = (written(tool["name"], fmt, tools) for tool in tools)
    for end in ("stop", "length"):
        assert gate.decide(first, fmt, finish_reason=end).executable
    for cut in range(1, len(second)):
        decision = gate.decide(first + second[:cut], fmt, finish_reason="length")
        assert len(decision.calls) in (0, 2), second[:cut]
    # The end marker of the first call may be truncated, too.
    closer = not first.endswith("}")
    assert gate.decide(first.rstrip()[:-1], fmt, finish_reason="stop").executable is closer
