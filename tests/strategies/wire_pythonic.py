"""Random turns with Python calls and with code, as a model would write them.

As in `wire_json_and_tags`, the text depends on the fields of the format only.
"""

from __future__ import annotations

import json

from hypothesis import strategies as st

from deltaparse import (
    CodeFormat,
    FunctionFormat,
    ReasoningFormat,
    ReasoningMode,
    ToolsFormat,
    TurnFormat,
    WireFormat,
)

from .wire_parts import (
    HEADER,
    TEASING,
    Written,
    fragments,
    is_unmarked,
    json_values,
    marker_sets,
    markers_of,
    mixed,
    plain_texts,
    spaces,
)

names = st.sampled_from(["f", "get_weather", "run", "module.f", "multi-edit", "é2"])
keys = st.sampled_from(["a", "_b", "c2", "location", "é", "user_id"])
arguments = st.dictionaries(keys, json_values, max_size=4)
TOOLS = [{"name": name} for name in ("f", "get_weather", "run", "module.f", "multi-edit", "é2")]


@st.composite
def pythonic_formats(draw):
    """Draw a wire format of Python calls, marked or unmarked."""
    opens, closes, section, section_end, per_call, per_call_end, end = draw(marker_sets(7))
    shape = draw(st.sampled_from(["section", "per_call", "both", "unmarked"]))
    mode = draw(st.sampled_from(["NONE", "TAG_BASED", "DELIMITER"]))
    in_section, in_tags = shape in ("section", "both"), shape in ("per_call", "both")
    in_list = draw(st.booleans())
    # Some models print the result of the call.
    opened, closed = draw(st.sampled_from([("", ""), ("", ""), ("print(", ")")]))
    between = [", ", ",\n", ","] if in_list and not in_tags else [";", "; ", ", ", "\n"]
    return WireFormat(
        turn=TurnFormat(headers=(HEADER,), ends=(end,), generation_prompt=HEADER),
        reasoning=ReasoningFormat(
            mode=ReasoningMode(mode),
            start=opens + draw(spaces) if mode == "TAG_BASED" else "",
            end=draw(spaces) + closes + draw(spaces) if mode != "NONE" else "",
        ),
        tools=ToolsFormat(
            format="PYTHONIC",
            section_start=section + draw(spaces) + opened if in_section else "",
            section_end=closed + draw(spaces) + section_end if in_section else "",
            per_call_start=per_call + draw(spaces) if in_tags else "",
            per_call_end=draw(spaces) + per_call_end if in_tags else "",
            separator=draw(spaces) if in_tags else draw(st.sampled_from(between)),
            content_separator=draw(spaces),
            array_wrapped=in_list,
        ),
        function=FunctionFormat(namespace=draw(st.sampled_from(["", "functions."]))),
    )


def plain_text(fmt):
    """Return text without markers of the format and without whitespace at its edges."""
    texts = plain_texts(markers_of(fmt), TEASING + "=")
    # A separator at the start of a part may be text.
    return texts.filter(lambda text: not text.startswith((",", ";", "{")))


@st.composite
def pythonic_turns(draw, fmt):
    """Draw a turn for a format."""
    calls = tuple(draw(st.lists(st.tuples(names, arguments), max_size=3)))
    has_reasoning = fmt.reasoning.mode is not ReasoningMode.NONE
    return Written(
        reasoning=draw(plain_text(fmt)) if has_reasoning else "",
        content="" if is_unmarked(fmt) and calls else draw(plain_text(fmt)),
        calls=calls,
    )


@st.composite
def pythons(draw, value):
    """Draw a value as a Python literal, with all kinds of quotes."""
    if isinstance(value, str):
        spellings = [repr(value), json.dumps(value), json.dumps(value, ensure_ascii=False)]
        spellings.append(f'"""{json.dumps(value)[1:-1]}"""')
        return draw(st.sampled_from(spellings))
    if isinstance(value, list):
        return f"[{', '.join([draw(pythons(item)) for item in value])}]"
    if isinstance(value, dict):
        items = [f"{draw(pythons(key))}: {draw(pythons(item))}" for key, item in value.items()]
        return f"{{{', '.join(items)}}}"
    return repr(value)


@st.composite
def written(draw, formats):
    """Draw a format, a turn, and its text with or without the end marker."""
    fmt = draw(formats)
    turn = draw(pythonic_turns(fmt))
    wire = before_calls(fmt, turn)
    if turn.calls:
        wire += draw(calls_text(fmt, turn.calls))
    return fmt, turn, wire + draw(st.sampled_from(["", *fmt.turn.ends]))


def before_calls(fmt, turn):
    """Write the turn up to its calls."""
    wire = ""
    if fmt.reasoning.mode is ReasoningMode.DELIMITER or turn.reasoning:
        wire += fmt.reasoning.start + turn.reasoning + fmt.reasoning.end
    return wire + turn.content


@st.composite
def calls_text(draw, fmt, calls):
    """Draw the text of the calls."""
    tools = fmt.tools
    made = []
    for name, values in calls:
        items = [f"{key}={draw(pythons(value))}" for key, value in values.items()]
        made.append(f"{fmt.function.namespace}{name}({', '.join(items)})")
    opened, closed = ("[", "]") if tools.array_wrapped else ("", "")
    if tools.per_call_start:
        marked = (tools.per_call_start + opened, closed + tools.per_call_end)
        body = tools.separator.join(text.join(marked) for text in made)
    else:
        body = opened + tools.separator.join(made) + closed
    return tools.content_separator + tools.section_start + body + tools.section_end


@st.composite
def soups(draw, formats):
    """Draw a format, and text of its markers, their parts and Python in any order."""
    fmt = draw(formats)
    parts = fragments(markers_of(fmt))
    parts += ["f(a=1)", "f(a='x", "g(", "f(1)", "f()", "run(x=[(1, 'b'), None]", "functions.f("]
    parts += ["[", "]", "(", ")", "{", ",", ";", " ", "\n", "'", '"', "\\", "=", "a=", "b=True"]
    parts += ["f", "foo.call(", 'q="x")', "print(1)", "1.5", "nan", "é😀", "a < b", "#"]
    parts += ['{"name": "f", "parameters": {"a": 1}}']
    return fmt, draw(mixed(parts))


@st.composite
def code_formats(draw):
    """Draw a wire format with code after a marker, and JSON calls."""
    start, section, section_end, end, think, answer = draw(marker_sets(6))
    unmarked = draw(st.booleans())
    thinks = draw(st.booleans())
    return WireFormat(
        turn=TurnFormat(headers=(HEADER,), ends=(draw(spaces) + end,), generation_prompt=HEADER),
        reasoning=ReasoningFormat(
            mode="TAG_BASED" if thinks else "NONE",
            start=think if thinks else "",
            end=answer if thinks else "",
        ),
        tools=ToolsFormat(
            format="JSON_NATIVE",
            section_start="" if unmarked else section,
            section_end="" if unmarked else section_end,
            name_field="name",
            arguments_field="parameters",
        ),
        code=CodeFormat(
            start=draw(spaces) + start + draw(spaces),
            function=draw(st.sampled_from(["python", "code_interpreter"])),
            argument=draw(st.sampled_from(["code", 'so"urce'])),
            method=draw(st.sampled_from(["", ".call", "->do"])),
        ),
    )


@st.composite
def coded(draw):
    """Draw a format, a turn with code or with a call in its place, and its text."""
    fmt = draw(code_formats())
    literals = [text.strip() for text in markers_of(fmt)]
    kind = draw(st.sampled_from(["code", "json", *(["method"] if fmt.code.method else [])]))
    content = draw(plain_text(fmt))
    name, values = draw(st.tuples(names, arguments))
    if kind == "code":
        texts = st.text(TEASING + "()=#\n", min_size=1, max_size=40).filter(
            lambda text: (
                text.strip()
                and text.lstrip()[0] != "{"
                and not text[-1:].isspace()
                and not any(literal in text for literal in literals)
            )
        )
        text = draw(texts)
        name, values = fmt.code.function, {fmt.code.argument: text}
    elif kind == "json":
        text = f'{{"name": {json.dumps(name)}, "parameters": {json.dumps(values)}}}'
    else:
        items = [f"{key}={draw(pythons(value))}" for key, value in values.items()]
        text = f"{name}{fmt.code.method}({', '.join(items)})"
    end = draw(st.sampled_from(["", *fmt.turn.ends]))
    return fmt, Written("", content, ((name, values),)), content + fmt.code.start + text + end
