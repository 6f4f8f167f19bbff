"""Handwritten responses in each built-in format, independent of the data of the formats.

Each row has one call of `f` with `city` "NYC", the same followed by a call of `g` with `n` 2, and
reasoning "hm" before content "Hi". A field is "" if the format does not support it.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from hypothesis import strategies as st

from deltaparse import get_format

from .wire_parts import Written, markers_of, mixed, without


class Wire(NamedTuple):
    """Responses of a model."""

    one: str
    two: str
    thinks: str = ""
    says: str = "Hi"
    before_calls: str = "Hi"


F, G = '{"city": "NYC"}', '{"n": 2}'
NF, NG = f'{{"name": "f", "arguments": {F}}}', f'{{"name": "g", "arguments": {G}}}'
PF, PG = f'{{"name": "f", "parameters": {F}}}', f'{{"name": "g", "parameters": {G}}}'
LINES = "<think>\nhm\n</think>\n\nHi"
TIGHT = "<think>hm</think>Hi"


def xml(gap, between="\n", tag="tool_call"):
    """Return one call and two calls between tags."""
    made = [f"<{tag}>{gap}{call}{gap}</{tag}>" for call in (NF, NG)]
    return made[0], between.join(made)


def listed(start, end, calls=(NF, NG), between=", "):
    """Return a list of one call, and a list of two."""
    return f"{start}[{calls[0]}]{end}", f"{start}[{between.join(calls)}]{end}"


def tagged(start, end, gap="\n", between="\n"):
    """Return calls with a tag for the function and one for each argument."""
    made = [
        f"{start}\n<function={name}>\n<parameter={key}>{gap}{value}{gap}</parameter>\n</function>"
        f"\n{end}"
        for name, key, value in (("f", "city", "NYC"), ("g", "n", "2"))
    ]
    return made[0], between.join(made)


def sections(start, calls, end, between=""):
    """Return calls in one section."""
    return start + calls[0] + end, start + between.join(calls) + end


def fenced(name, arguments):
    """Write a call of DeepSeek V3 and R1."""
    return (
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```"
        "<｜tool▁call▁end｜>"
    )


def harmony(name, arguments, start="<|start|>assistant"):
    """Write a call of gpt-oss."""
    return (
        f"{start}<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
        f"{arguments}<|call|>"
    )


GLM = [
    "<tool_call>{}{}<arg_key>{}</arg_key>{}<arg_value>{}</arg_value>{}</tool_call>".format(*values)
    for gap in ("\n", "")
    for values in (("f", gap, "city", gap, "NYC", gap), ("g", gap, "n", gap, "2", gap))
]
KIMI = [
    f"<|tool_call_begin|>functions.{name}:{at}<|tool_call_argument_begin|>{args}<|tool_call_end|>"
    for at, (name, args) in enumerate((("f", F), ("g", G)))
]
INVOKE = [
    f'<invoke name="{name}">\n<parameter name="{key}">{value}</parameter>\n</invoke>\n'
    for name, key, value in (("f", "city", "NYC"), ("g", "n", "2"))
]
STEP = [
    f'<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{name}">\n'
    f'<steptml:parameter name="{key}">{value}</steptml:parameter>\n</steptml:invoke>'
    "<｜tool_call_end｜>"
    for name, key, value in (("f", "city", "NYC"), ("g", "n", "2"))
]
SECTION = ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
V31 = [
    f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{args}<｜tool▁call▁end｜>"
    for name, args in (("f", F), ("g", G))
]
V3 = [fenced("f", F), fenced("g", G)]
MISTRAL = [
    f'{{"name": "{name}", "arguments": {args}, "id": "k3Qz81ab{name}"}}'
    for name, args in (("f", F), ("g", G))
]
SMALL = [
    f"[TOOL_CALLS]{name}[CALL_ID]k3Qz81ab{name}[ARGS]{args}" for name, args in (("f", F), ("g", G))
]
ARGS = [f"[TOOL_CALLS]{name}[ARGS]{args}" for name, args in (("f", F), ("g", G))]
TOOL_NAME = [
    f'{{"tool_name": "{name}", "parameters": {args}}}' for name, args in (("f", F), ("g", G))
]
NUMBERED = [f'{{"tool_call_id": "{at}", {call[1:]}' for at, call in enumerate(TOOL_NAME)]
PYTHON = ['f(city="NYC")', "g(n=2)"]
PLUGIN = ["<|action_start|><|plugin|>\n" + call + "<|action_end|>" for call in (PF, PG)]
SPACED = ["<|action_start|> <|plugin|>\n" + call + "<|action_end|>" for call in (PF, PG)]
ANSWER = ("<|START_RESPONSE|>", "<|END_RESPONSE|>")

DSML = [
    f'<｜DSML｜invoke name="{name}">\n<｜DSML｜parameter name="{key}" string="{text}">{value}'
    "</｜DSML｜parameter>\n</｜DSML｜invoke>\n"
    for name, key, text, value in (("f", "city", "true", "NYC"), ("g", "n", "false", "2"))
]
GEMMA = [
    '<|tool_call>call:f{city:<|"|>NYC<|"|>}<tool_call|>',
    "<|tool_call>call:g{n:2}<tool_call|>",
]
ESCAPED = [
    "<start_function_call>call:f{city:<escape>NYC<escape>}<end_function_call>",
    "<start_function_call>call:g{n:2}<end_function_call>",
]

DOTS = [
    f'<invoke name="{name}">\n<parameter name="{key}">{value}</parameter>\n</invoke>\n'
    for name, key, value in (("f", "city", "NYC"), ("g", "n", "2"))
]
GCML = [call.replace("DSML", "GCML") for call in DSML]
HUNYUAN = [
    f"<tool_call>{name}<tool_sep>\n<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n"
    "</tool_call>\n"
    for name, key, value in (("f", "city", "NYC"), ("g", "n", "2"))
]
SPACED_DSML = [
    call.replace("invoke", " invoke").replace("parameter", " parameter") for call in DSML
]
HUNYUAN_4 = [call.replace("\n", "").replace("<tool_sep>", "") for call in HUNYUAN]
IFM = [
    f"<ifm|tool_call>{name}<ifm|arg_key>{key}</ifm|arg_key><ifm|arg_value>{value}</ifm|arg_value>"
    "</ifm|tool_call>"
    for name, key, value in (("f", "city", "NYC"), ("g", "n", "2"))
]
XTML = [
    f'<|open|>call tool="{name}" index="{at}"<|sep|><|open|>argument key="{key}" type="{kind}"'
    f"<|sep|>{value}<|close|>argument<|sep|><|close|>call<|sep|>"
    for at, (name, key, kind, value) in enumerate(
        (("f", "city", "string", "NYC"), ("g", "n", "number", "2")), 1
    )
]
THOUGHT_XTML = "hm<|close|>think<|sep|>"
NS = "]<]minimax[>["
MINIMAX_3 = [
    f'{NS}<invoke name="{name}">\n{NS}<{key}>{value}{NS}</{key}>\n{NS}</invoke>\n'
    for name, key, value in (("f", "city", "NYC"), ("g", "n", "2"))
]
ATEM = [
    f' to={name}<|message|><atem:function_calls>\n<atem:invoke name="{name}">\n'
    f'<atem:parameter name="{key}">{value}</atem:parameter>\n</atem:invoke>\n'
    "</atem:function_calls>"
    for name, key, value in (("f", "city", "NYC"), ("g", "n", "2"))
]
PLAMO = [
    "<|plamo:begin_tool_request:plamo|>"
    f"<|plamo:begin_tool_name:plamo|>{name}<|plamo:end_tool_name:plamo|>"
    "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>"
    f"{arguments}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>"
    for name, arguments in (("f", F), ("g", G))
]
PLAMO_SECTION = ("<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>")
IQUEST = [call.replace("tool_call", "iquest_tool_call") for call in GLM[2:]]
PARAM = [
    '<function name="f"><param name="city">NYC</param></function>',
    '<function name="g"><param name="n">2</param></function>',
]
THINKS_LIKE_GLM_47 = Wire(
    "hm</think>" + GLM[2],
    "hm</think>" + "".join(GLM[2:]),
    "hm</think>Hi",
    says="</think>Hi",
    before_calls="",
)
LING = [
    f"<tool_call>{name}\n<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n</tool_call>"
    for name, key, value in (("f", "city", "NYC"), ("g", "n", "2"))
]

WIRES = {
    "apertus": Wire(
        *listed("<|tools_prefix|>", "<|tools_suffix|>", (f'{{"f": {F}}}', f'{{"g": {G}}}'))
    ),
    "apriel": Wire(*listed("<tool_calls>", "</tool_calls>"), thinks="<thinking>hm</thinking>\nHi"),
    "apriel_thinker": Wire(
        *(
            f"hm\n[BEGIN FINAL RESPONSE]\n{calls}"
            for calls in listed("<tool_calls>", "</tool_calls>")
        ),
        thinks="hm\n[BEGIN FINAL RESPONSE]\nHi",
        says="[BEGIN FINAL RESPONSE]\nHi",
        before_calls="",
    ),
    "cohere_command4": Wire(
        *(
            "hm<|END_THINKING|>" + calls
            for calls in listed("<|START_ACTION|>", "<|END_ACTION|>", NUMBERED, ",\n    ")
        ),
        thinks="hm<|END_THINKING|><|START_TEXT|>Hi<|END_TEXT|>",
        says="<|END_THINKING|><|START_TEXT|>Hi<|END_TEXT|>",
        before_calls="",
    ),
    "command_r7b": Wire(
        *listed("<|START_ACTION|>", "<|END_ACTION|>", NUMBERED),
        thinks="<|START_THINKING|>hm<|END_THINKING|>" + "Hi".join(ANSWER),
        says="Hi".join(ANSWER),
        before_calls="Hi".join(ANSWER),
    ),
    "command_r_plus": Wire(*listed("\nAction:\n```json\n", "```", TOOL_NAME)),
    "deepseek_r1": Wire(
        *(f"hm\n</think>\n\n{calls}" for calls in sections(SECTION[0], V3, SECTION[1], "\n")),
        thinks="hm\n</think>\n\nHi",
        says="</think>Hi",
        before_calls="",
    ),
    "deepseek_v3": Wire(*sections(SECTION[0], V3, SECTION[1], "\n"), LINES),
    "deepseekv31": Wire(*sections(SECTION[0], V31, SECTION[1]), TIGHT),
    "deepseek_v32": Wire(
        *sections("\n\n<｜DSML｜function_calls>\n", DSML, "</｜DSML｜function_calls>"), TIGHT
    ),
    "deepseek_v4": Wire(
        *sections("\n\n<｜DSML｜tool_calls>\n", DSML, "</｜DSML｜tool_calls>"), TIGHT
    ),
    "deepseek_v41": Wire(
        *sections("\n\n<｜DSML｜ calls>\n", SPACED_DSML, "</｜DSML｜ calls>"), TIGHT
    ),
    "devstral": Wire(ARGS[0], "".join(ARGS)),
    "dots": Wire(*sections("<dots_function_call>\n", DOTS, "</dots_function_call>"), TIGHT),
    "ernie45": Wire(
        *(f"hm\n</think>\n\n{calls}" for calls in xml("\n")),
        thinks="hm\n</think>\n\n<response>\nHi\n</response>\n",
        says="</think><response>\nHi\n</response>\n",
        before_calls="",
    ),
    "firefunction_v2": Wire(*listed(" functools", "")),
    "functionary_v31": Wire(
        f"<function=f>{F}</function>", f"<function=f>{F}</function><function=g>{G}</function>"
    ),
    "functionary_v32": Wire(
        f"f\n{F}", f"f\n{F}>>>g\n{G}", says="all\nHi", before_calls="all\nHi>>>"
    ),
    "functiongemma": Wire(ESCAPED[0], "".join(ESCAPED)),
    "gemma2": Wire("", ""),
    "gemma4": Wire(GEMMA[0], "".join(GEMMA), "<|channel>thought\nhm<channel|>Hi"),
    "gigachat3": Wire(f"<|message_sep|>\n\nfunction call<|role_sep|>\n{NF}", ""),
    "gigachat31": Wire("<|function_call|>" + NF, ""),
    "gigachat35": Wire(*sections("<｜GCML｜tool_calls>\n", GCML, "</｜GCML｜tool_calls>"), TIGHT),
    "glm45": Wire(GLM[0], "\n".join(GLM[:2]), "\n<think>hm</think>\nHi"),
    "glm47": THINKS_LIKE_GLM_47,
    "gpt_oss": Wire(
        harmony("f", F, start=""),
        harmony("f", F, start="") + harmony("g", G),
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi",
        says="<|channel|>final<|message|>Hi<|return|>",
        before_calls="<|channel|>commentary<|message|>Hi<|end|><|start|>assistant",
    ),
    "granite4": Wire(*xml("\n")),
    "granite31": Wire(*listed("<tool_call>", "")),
    "granite32": Wire(
        *listed("<|tool_call|>", ""),
        "Here is my thought process:\nhm\nHere is my response:\nHi",
    ),
    "granite": Wire(*listed("<|tool_call|>", ""), "<think>hm</think><response>Hi</response>"),
    "granite_20b_fc": Wire(f"<function_call> {NF}", f"<function_call> {NF}\n<function_call> {NG}"),
    "hermes": Wire(*xml("\n")),
    "hunyuan_a13b": Wire(
        *listed("<tool_calls>", "</tool_calls>"), "<think>\nhm\n</think>\n<answer>\nHi\n</answer>"
    ),
    "hy_v3": Wire(*sections("<tool_calls>\n", HUNYUAN, "</tool_calls>"), TIGHT),
    "hy3": Wire(
        *(
            calls.replace(">", ":opensource>")
            for calls in sections("<tool_calls>\n", HUNYUAN, "</tool_calls>")
        ),
        TIGHT.replace(">", ":opensource>"),
    ),
    "hy_v4": Wire(
        *(f"hm</think>{calls}" for calls in sections("<tool_calls>", HUNYUAN_4, "</tool_calls>")),
        thinks="hm</think>Hi",
        says="</think>Hi",
        before_calls="",
    ),
    "internlm": Wire(PLUGIN[0], "\n".join(PLUGIN)),
    "interns1": Wire(SPACED[0], "\n".join(SPACED), LINES),
    "iquest_q1": Wire(IQUEST[0], "\n".join(IQUEST), TIGHT),
    "jamba": Wire(*listed("<tool_calls>", "</tool_calls>", between=",\n    ")),
    "k2_horizon": Wire(
        *(
            f"hm</ifm|think>{calls}"
            for calls in sections("<ifm|tool_calls>", IFM, "</ifm|tool_calls>", "\n")
        ),
        thinks="hm</ifm|think>Hi",
        says="</ifm|think>Hi",
        before_calls="",
    ),
    "kimi_k2": Wire(
        *sections("<|tool_calls_section_begin|>", KIMI, "<|tool_calls_section_end|>"), TIGHT
    ),
    "kimi_k3": Wire(
        *(
            THOUGHT_XTML + calls
            for calls in sections("<|open|>tools<|sep|>", XTML, "<|close|>tools<|sep|>")
        ),
        thinks=f"{THOUGHT_XTML}<|open|>response<|sep|>Hi<|close|>response<|sep|>",
        says="<|close|>think<|sep|><|open|>response<|sep|>Hi<|close|>response<|sep|>",
        before_calls="",
    ),
    "kimi_thinking": Wire("", "", "◁think▷hm◁/think▷Hi"),
    "lfm2": Wire(*listed("<|tool_call_start|>", "<|tool_call_end|>", PYTHON), LINES),
    "ling3": Wire(
        *(f"hm</think>{calls}" for calls in (LING[0], "\n".join(LING))),
        thinks="hm</think>Hi",
        says="</think>Hi",
        before_calls="",
    ),
    "llama3_json": Wire(PF, f"<|python_tag|>{PF}; {PG}", before_calls=""),
    "llama4_json": Wire(PF, f"{PF}; {PG}", before_calls=""),
    "llama4_pythonic": Wire(
        f"<|python_start|>[{PYTHON[0]}]<|python_end|>",
        f"[{', '.join(PYTHON)}]",
        before_calls="",
    ),
    "longcat": Wire(
        *xml("\n", tag="longcat_tool_call"), "<longcat_think>\nhm\n</longcat_think>\nHi"
    ),
    "mimo": Wire(*tagged("<tool_call>", "</tool_call>", gap=""), TIGHT),
    "minimax_m2": Wire(
        *(
            f"hm\n</think>\n\n{calls}"
            for calls in sections("\n<minimax:tool_call>\n", INVOKE, "</minimax:tool_call>")
        ),
        thinks="hm\n</think>\n\nHi",
        says="</think>Hi",
        before_calls="",
    ),
    "minicpm5": Wire(PARAM[0], "\n".join(PARAM), TIGHT),
    "ministral": Wire(ARGS[0], "".join(ARGS), "[THINK]hm[/THINK]Hi"),
    "mistral": Wire(*listed("[TOOL_CALLS]", "", MISTRAL)),
    "mistral_small": Wire(SMALL[0], "".join(SMALL)),
    "nemotron3_nano": Wire(
        *(f"hm\n</think>\n{calls}" for calls in tagged("<tool_call>", "</tool_call>")),
        thinks="hm\n</think>\nHi",
        says="</think>Hi",
        before_calls="",
    ),
    "minimax_m3": Wire(
        *sections(f"{NS}<tool_call>\n", MINIMAX_3, f"{NS}</tool_call>"),
        "<mm:think>hm</mm:think>Hi",
    ),
    "muse_glimmer": Wire(
        ATEM[0] + "<|eot|>",
        f"{ATEM[0]}<|eom|><|start|>assistant{ATEM[1]}<|eot|>",
        " to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>Hi<|eot|>",
        says=" to=user<|message|>Hi<|eot|>",
        before_calls=" to=commentary<|message|>Hi<|eom|><|start|>assistant",
    ),
    "nemotron_nano_v2": Wire(
        *(f"hm</think>{calls}" for calls in listed("<TOOLCALL>", "</TOOLCALL>")),
        thinks="hm</think>Hi",
        says="</think>Hi",
        before_calls="",
    ),
    "olmo3": Wire(*sections("<function_calls>", PYTHON, "</function_calls>", "\n"), TIGHT),
    "phi4_mini_json": Wire(*listed("functools", "")),
    "plamo3": Wire(
        *(
            "hm<|plamo:end_think:plamo|>" + calls
            for calls in sections(PLAMO_SECTION[0], PLAMO, PLAMO_SECTION[1])
        ),
        thinks="hm<|plamo:end_think:plamo|>Hi",
        says="<|plamo:end_think:plamo|>Hi",
        before_calls="",
    ),
    "poolside_v1": THINKS_LIKE_GLM_47,
    "pythonic": Wire(*listed("", "", PYTHON), before_calls=""),
    "qwen25": Wire(*xml("\n"), LINES),
    "qwen3_coder": Wire(*tagged("<tool_call>", "</tool_call>")),
    "qwq": Wire(*xml("\n"), LINES),
    "seed_oss": Wire(
        *tagged("<seed:tool_call>", "</seed:tool_call>", gap=""),
        "<seed:think>hm</seed:think>\nHi",
    ),
    "simple_xml": Wire(*xml("", between=""), TIGHT),
    "spark25": THINKS_LIKE_GLM_47,
    "step3": Wire(
        *sections("<｜tool_calls_begin｜>\n", STEP, "<｜tool_calls_end｜>", "\n"),
        "<think>\nhm\n</think>\nHi",
    ),
    "step3p5": Wire(
        *(f"hm\n</think>\n{calls}" for calls in tagged("<tool_call>", "</tool_call>")),
        thinks="hm\n</think>\nHi",
        says="</think>Hi",
        before_calls="",
    ),
    "tool_tag": Wire(
        f'<tool name="f">{F}</tool>', f'<tool name="f">{F}</tool>\n<tool name="g">{G}</tool>'
    ),
}

CALLS = {"one": [("f", {"city": "NYC"})], "two": [("f", {"city": "NYC"}), ("g", {"n": 2})]}
TOOLS = [
    {"name": "f", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
    {"name": "g", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}},
]


@st.composite
def written(draw):
    """Draw a built-in format, a turn, and its text."""
    name = draw(st.sampled_from(sorted(WIRES)))
    kind = draw(st.sampled_from([kind for kind in Wire._fields if getattr(WIRES[name], kind)]))
    text, calls = getattr(WIRES[name], kind), CALLS.get(kind, [])
    if kind == "before_calls":
        text, calls = text + WIRES[name].one, CALLS["one"] if WIRES[name].one else []
    reasoning, content = ("hm" if "hm" in text else "", "Hi" if "Hi" in text else "")
    return get_format(name), Written(reasoning, content, tuple(calls)), text


def texts_of(value):
    """Return all strings in a document."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for part in value for text in texts_of(part)] if isinstance(value, list) else []


@st.composite
def plain(draw):
    """Draw a built-in format, the start of content in it, and content without markers."""
    name = draw(st.sampled_from(sorted(WIRES)))
    fmt = get_format(name)
    opening = WIRES[name].says.partition("Hi")[0]
    return fmt, opening, "." + without(markers_of(fmt), draw(soup_texts(name)))


@st.composite
def soups(draw):
    """Draw a built-in format, and text of its markers, their parts and its responses."""
    name = draw(st.sampled_from(sorted(WIRES)))
    return get_format(name), draw(soup_texts(name))


def soup_texts(name):
    """Return text of the markers of a built-in format, their parts and its responses."""
    wire, fmt = WIRES[name], get_format(name)
    document = json.loads(fmt.to_json())
    parts = [text for text in texts_of(document) if text.strip()]
    parts += [text.strip() for text in parts] + [text[:3] for text in parts]
    parts += [part for text in wire for part in (text, text[:9], text[9:], text[:-4]) if part]
    parts += ["f", "Hi", '{"a": 1}', "{", "}", "[", "]", ",", " ", "\n", "<", "é😀", '"']
    return mixed(parts, most=10)
