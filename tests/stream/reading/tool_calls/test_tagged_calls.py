"""Calls in tags; strings stream while they are written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import Content, Policies, StreamParser, ToolCallDelta, WireFormat, get_format
from deltaparse.stream.wire.spellings import MOST_GAP

from ....strategies.wire_by_hand import calls, fed, in_tags, kinds
from ....strategies.wire_json_and_tags import TOOLS, tagged_formats, write
from ....strategies.wire_parts import Written, markers_of
from ....support import cuts
from ...invariants import run


@given(
    fmt=tagged_formats(kinds=["TAG_WITH_TAGGED"], streamed=True),
    text=st.text("ab<[/\n> é", max_size=60),
)
def test_7_string_in_tags_buffers_only_a_possible_closer(fmt, text):
    text = "é" + text  # no marker contains this character
    wire = write(fmt, Written("", "", (("f", {"s": text}),)))
    start = wire.rindex(text)
    longest = 2 * max(map(len, markers_of(fmt))) + 8
    parser = StreamParser(fmt, tools=TOOLS)
    seen = "".join(
        delta.arguments for delta in parser.feed(wire[:start]) if isinstance(delta, ToolCallDelta)
    )
    for at, char in enumerate(text, 1):
        seen += "".join(delta.arguments for delta in parser.feed(char))
        value = json.loads(seen + '"}')["s"] if seen.count('"') > 2 else ""
        assert text[:at].startswith(value)
        assert at - len(value) <= longest


BY_NAME = WireFormat().replace(
    turn={"ends": ("</a>",)},
    tools={"format": "TAG_WITH_JSON"},
    function={
        "name_prefix": "<run=",
        "name_suffix": ">",
        "close": "</run=",
        "close_suffix": ">\n",
    },
)
"""A format whose closer repeats the name of the function."""
TAGGED_BY_NAME = BY_NAME.replace(
    tools={"format": "TAG_WITH_TAGGED"},
    arguments={"name_prefix": "<p=", "name_suffix": ">", "value_suffix": "</p>"},
)
CALLED, CLOSER = '<run=f>{"a": 1}', "</run=f>\n"


@pytest.mark.parametrize(
    ("behind", "content"),
    [
        (CLOSER, ""),
        (f" \n {CLOSER}</a>", ""),
        (f"{CLOSER}x", "x"),
        ("</run=f> y", " y"),
        ("</run=g>\nx", "</run=g>\nx"),
        ("</run=ff>\nx", "</run=ff>\nx"),
    ],
)
def test_call_is_closed_by_its_own_name(behind, content):
    parser = fed(BY_NAME, CALLED + behind)
    call, *rest = parser.message.parts
    assert (call.name, call.arguments, call.complete) == ("f", '{"a": 1}', True)
    assert rest == [Content(content)] * bool(content)
    missing = ["cut_marker"] * content.startswith("</run")
    assert kinds(parser) == ["text_after_tool_call"] * bool(content) + missing


@pytest.mark.parametrize("space", ["", " ", "  \n", "\t"])
@pytest.mark.parametrize(
    ("fmt", "called"),
    [
        (TAGGED_BY_NAME, f"<run=f><p=a>1</p>{CLOSER}"),
        (get_format("devstral"), '[TOOL_CALLS]f[ARGS]{"a": 1}'),
    ],
)
def test_whitespace_after_a_call_is_content(fmt, called, space):
    (call, rest) = fed(fmt, called + space + "y").message.parts
    assert (call.name, call.complete) == ("f", True)
    assert rest == Content(space + "y")


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize("cut", range(1, len(CLOSER) - 1))
def test_truncated_closer_is_reported(cut, reason):
    assert kinds(fed(BY_NAME, CALLED, reason)) == ["cut_marker"] * (reason == "stop")
    parser = fed(BY_NAME, CALLED + CLOSER[:cut], reason)
    (call,) = parser.message.parts
    assert call.arguments == '{"a": 1}'
    (issue,) = parser.issues
    assert issue.kind == "cut_marker"
    assert issue.span == (len(CALLED), len(CALLED) + cut)
    assert issue.detail.endswith(f"not emitted: {CLOSER[:cut]!r}")


def test_calls_closed_by_name_may_be_adjacent():
    parser = fed(BY_NAME, (CALLED + CLOSER) * 2)
    assert [call.complete for call in parser.message.parts] == [True, True]
    assert parser.issues == []


SECTION = WireFormat().replace(
    turn={"ends": ("<|end|>",)},
    tools={"format": "TAG_WITH_JSON", "section_start": "<s>", "section_end": "</s>"},
    function={"name_prefix": "<f=", "name_suffix": ">", "close": "</f>"},
)
"""A section of calls without start markers; each call starts with its name."""
ONE = '<f=f>{"a": 1}</f>'


@pytest.mark.parametrize("cut", ["", "<", "</run=", "</run=f", "</run=f>"])
def test_last_closer_may_be_truncated_at_a_natural_end(cut):
    for fmt in (BY_NAME, BY_NAME.replace(tools={"per_call_start": "<c>", "per_call_end": "</c>"})):
        opening = "<c>" if fmt.tools.per_call_start else ""
        (call,) = fed(fmt, opening + CALLED + cut, "stop").message.tool_calls
        assert (call.arguments, call.complete) == ('{"a": 1}', True)


NAMED = SECTION.replace(
    tools={"format": "TAG_WITH_TAGGED"},
    function={"name_prefix": "", "name_suffix": "\n"},
    arguments={"name_prefix": "<a=", "name_suffix": ">", "value_suffix": "</a>"},
)
"""A section of calls without any prefix before their names."""


IN_SECTION = SECTION.replace(function={"name_prefix": ".", "name_suffix": ":"})
"""The same with a punctuation prefix before the name."""


IN_SECTIONS = [(SECTION, ONE), (NAMED, "f\n<a=x>1</a></f>"), (IN_SECTION, '.f:{"a": 1}</f>')]


@pytest.mark.parametrize("gap", ["", "\n", " "])
@pytest.mark.parametrize(("fmt", "one"), IN_SECTIONS)
def test_calls_of_a_section_are_emitted_when_they_end(fmt, one, gap):
    parser = StreamParser(fmt)
    parser.feed("<s>" + one)
    for count in range(2, 5):
        made = [delta for char in gap + one for delta in parser.feed(char)]
        assert sum(isinstance(delta, ToolCallDelta) and bool(delta.name) for delta in made) == 1
        assert len(parser.message.tool_calls) == count
    parser = fed(fmt, "<s>" + gap.join([one] * 3) + "</s>x")
    assert [call.complete for call in parser.message.tool_calls] == [True] * 3
    assert parser.message.content == "x"
    assert [issue.kind for issue in parser.issues] == ["text_after_tool_call"]
    parser = StreamParser(fmt)
    parser.feed("<s>" + gap.join([one] * 3))
    assert len(parser.message.tool_calls) == 3


@pytest.mark.parametrize("separator", [";", ";\n", "\n;\n", ","])
@pytest.mark.parametrize(("fmt", "one"), IN_SECTIONS)
def test_separator_between_calls_of_a_section_is_markup(fmt, one, separator):
    fmt = fmt.replace(tools={"separator": separator})
    for between in (separator, separator.strip()):
        parser = fed(fmt, f"<s>{between.join([one] * 3)}</s>")
        assert [call.complete for call in parser.message.tool_calls] == [True] * 3
        assert (parser.message.content, parser.issues) == ("", [])


@pytest.mark.parametrize("more", ["f\n<!", "f\n<!y</f>"])
def test_rejected_text_after_a_section_call_is_content(more):
    parser = fed(NAMED, f"<s>f\n<a=x>1</a></f>{more}")
    assert calls(parser) == [("f", '{"x": 1}')]
    assert parser.message.content == more.removesuffix("</f>")
    assert set(kinds(parser)) <= {"text_after_tool_call", "orphan_marker"}


@pytest.mark.parametrize("gap", ["", " ", "; ", ","])
def test_content_between_section_calls_is_verbatim(gap):
    parser = fed(SECTION, f"<s>{ONE}{gap}x:y{ONE}</s>")
    assert [call.complete for call in parser.message.tool_calls] == [True] * 2
    assert parser.message.content == f"{gap}x:y"
    parser = fed(IN_SECTION, f'<s>.f:{{"a": 1}}</f>{gap}x:y')
    assert (parser.message.content, kinds(parser)) == (f"{gap}x:y", ["text_after_tool_call"])


def test_name_may_start_like_the_section_end():
    fmt = SECTION.replace(
        tools={"section_end": "done"},
        function={"name_prefix": "", "name_suffix": ":", "close": "</", "close_suffix": ">"},
    )
    parser = fed(fmt, '<s>f:{"a": 1}</f>dog:{"a": 2}</dog>done')
    assert calls(parser) == [("f", '{"a": 1}'), ("dog", '{"a": 2}')]


@pytest.mark.parametrize(("fmt", "one"), IN_SECTIONS)
def test_section_call_started_in_the_prompt_is_complete(fmt, one):
    fmt = fmt.replace(turn={"headers": ("<|start|>",)})
    cut = one.index("1")
    parser = fed(fmt, one[cut:] + "</s>", prompt=f"<|start|><s>{one}{one[:cut]}")
    (call,) = parser.message.tool_calls
    assert (call.name, call.complete) == ("f", True)
    assert call.arguments in ('{"a": 1}', '{"x": 1}')


@pytest.mark.parametrize(
    ("fmt", "one"),
    [
        *IN_SECTIONS,
        (
            in_tags(name_prefix="<a=", name_suffix=">", value_suffix="</a>"),
            "<c><f=f><a=x>1</a></f></c>",
        ),
    ],
)
def test_dropped_calls_are_not_buffered(fmt, one):
    policies = Policies(extra_calls="drop")
    held = []
    for times in (2, 8):
        parser = StreamParser(fmt, parallel_tool_calls=False, policies=policies)
        parser.feed(fmt.tools.section_start + one * times)
        assert len(parser.attempts) == times
        held.append(parser.held)
    assert held[0] == held[1]


@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize("cut", ["</run=", "</run=f"])
def test_truncated_closer_closes_tagged_arguments_at_stop(cut, reason):
    (call,) = fed(TAGGED_BY_NAME, "<run=f>" + cut, reason).message.tool_calls
    assert call.complete == (reason == "stop")


@pytest.mark.parametrize(
    ("change", "before"),
    [
        ({"arguments": {"start": "</args>"}}, ":</args>"),
        (
            {
                "call_id": {
                    "position": "BETWEEN_FUNC_AND_ARGS",
                    "prefix": "</id>",
                    "suffix": "<id/>",
                }
            },
            ":</id>7<id/>",
        ),
        ({"function": {"name_suffix": "<named>"}}, "<named>"),
    ],
)
@pytest.mark.parametrize("reason", ["length", "stop", None])
def test_possible_closer_before_arguments_completes_no_call(change, before, reason):
    text = f'<calls>f{before}{{"a": 1}}</f></calls>'
    fmt = (
        WireFormat()
        .replace(
            tools={
                "format": "TAG_WITH_JSON",
                "section_start": "<calls>",
                "section_end": "</calls>",
            },
            function={"name_suffix": ":", "close": "</", "close_suffix": ">"},
        )
        .replace(**change)
    )
    assert [call.arguments for call in fed(fmt, text).message.tool_calls] == ['{"a": 1}']
    for cut in range(len("<calls>f"), len(text)):
        for call in fed(fmt, text[:cut], reason).message.tool_calls:
            assert not call.complete or call.arguments == '{"a": 1}', text[:cut]


@pytest.mark.parametrize("reason", ["length", None])
def test_truncated_name_end_never_completes_a_call(reason):
    fmt = WireFormat().replace(
        tools={
            "format": "TAG_WITH_TAGGED",
            "section_start": "<calls>",
            "section_end": "</calls>",
        },
        function={"name_prefix": "<", "name_suffix": "<named>"},
        arguments={"name_prefix": "<key>", "name_suffix": "<is>", "value_suffix": "</>"},
    )
    text = "<calls><f<named><key>a<is>1</></calls>"
    for cut in range(len("<calls><f"), text.index("<is>")):
        for call in fed(fmt, text[:cut], reason).message.tool_calls:
            assert not call.complete, text[:cut]


@pytest.mark.parametrize("several", [1, 2])
@pytest.mark.parametrize("behind", ["</s>", " z </s>"])
def test_prompt_text_after_section_calls_is_not_emitted(behind, several):
    fmt = IN_SECTION.replace(turn={"headers": ("<|start|>",)})
    text = "<s>" + '.f:{"a": 1}</f>' * several + behind + " c"
    for cut in range(len(text)):
        content = fed(fmt, text[cut:], prompt="<|start|>" + text[:cut]).message.content
        assert text[cut:].endswith(content)


def test_call_truncated_before_its_arguments_is_truncated():
    for cut in ("", " ", "\n"):
        parser = fed(SECTION, "<s><f=f>" + cut, "length")
        (call,) = parser.message.tool_calls
        assert (call.name, call.arguments, call.complete) == ("f", "", False)
        assert kinds(parser) == ["truncated_call"]


@pytest.mark.parametrize("section", [{}, {"section_start": "<s>", "section_end": "</s>"}])
@pytest.mark.parametrize(
    ("cut", "whole"), [("", False), ("</run=", False), ("</run=f>", True), ("</run=f></", True)]
)
def test_only_the_last_closer_after_a_named_one_may_be_missing(cut, whole, section):
    tools = {"per_call_start": "<c>", "per_call_end": "</c>", **section}
    fmt = TAGGED_BY_NAME.replace(tools=tools)
    text = f"{fmt.tools.section_start}<c><run=f><p=a>1</p>{cut}"
    (call,) = fed(fmt, text, "stop").message.tool_calls
    assert call.complete == whole
    assert call.arguments == '{"a": 1' + "}" * whole


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_named_closer_ends_tagged_arguments(reason):
    fmt = BY_NAME.replace(
        tools={"format": "TAG_WITH_TAGGED"},
        arguments={"name_prefix": "<p=", "name_suffix": ">", "value_suffix": "</p>"},
    )
    parser = fed(fmt, "<run=f><p=x>1</p>" + CLOSER, reason)
    (call,) = parser.message.tool_calls
    assert (call.arguments, call.complete) == ('{"x": 1}', True)
    assert parser.issues == []


@pytest.mark.parametrize(
    ("tools", "called"), [([], False), (["f"], True), (["g"], False), (["f", "g"], True)]
)
def test_bracketed_name_is_a_call_if_it_is_a_tool(tools, called):
    fmt = WireFormat().replace(
        turn={"ends": ("<|end|>",)},
        tools={"format": "TAG_WITH_TAGGED"},
        function={"name_prefix": "<", "name_suffix": ">", "close": "</", "close_suffix": ">"},
        arguments={"name_prefix": "<a=", "name_suffix": ">", "value_suffix": "</a>"},
    )
    text = "<f><a=x>1</a></f>"
    parser = fed(fmt, text, tools=[{"name": name} for name in tools])
    assert [call.arguments for call in parser.message.tool_calls] == ['{"x": 1}'] * called
    assert parser.message.content == ("" if called else text)
    # Without tools, calls are not searched.
    said = (
        []
        if not tools
        else [("f", "complete", "") if called else ("f", "unknown_tool", "it is text")]
    )
    assert [(one.name, one.status, one.detail) for one in parser.attempts[:1]] == said


@pytest.mark.parametrize("behind", ["", " more", "</run=g>\n"])
def test_unclosed_tagged_arguments_are_incomplete(behind):
    (call,) = fed(TAGGED_BY_NAME, "<run=f><p=x>1</p>" + behind, "length").message.tool_calls
    assert not call.complete


LISTED = WireFormat().replace(
    turn={"ends": ("<|end|>",)},
    tools={"format": "TAG_WITH_JSON", "section_start": "<calls>", "section_end": "</calls>"},
    function={"name_suffix": ":", "close": "</", "close_suffix": ">"},
)
"""A format without start markers of calls."""
FIRST, CALLED_F = '<calls>f:{"a": 1}</f>', ("f", '{"a": 1}')


@pytest.mark.parametrize(
    ("prefix", "space", "made"),
    [("", 0, 2), ("", MOST_GAP, 2), ("", MOST_GAP + 1, 1), ("@=", 0, 2), ("@=", MOST_GAP, 2)],
)
def test_whitespace_between_section_calls_is_limited(prefix, space, made):
    fmt = LISTED.replace(function={"name_prefix": prefix})
    text = f'<calls>{prefix}f:{{"a": 1}}</f>{" " * space}{prefix}f:{{"a": 1}}</f></calls>'
    assert calls(fed(fmt, text)) == [CALLED_F, CALLED_F][:made]


@pytest.mark.parametrize(
    ("behind", "content", "said"),
    [("</", "", "cut_marker"), ("(", "(", "text_after_tool_call")],
)
def test_text_that_starts_no_name_is_not_a_next_call(behind, content, said):
    parser = fed(LISTED, FIRST + behind)
    assert (parser.message.content, calls(parser), kinds(parser)) == (content, [CALLED_F], [said])


def test_section_start_ends_a_call_without_arguments():
    parser = fed(LISTED, "<calls>f<calls>")
    assert parser.attempts[0].status == "complete"
    assert calls(parser) == [("f", "{}")]


def test_call_truncated_at_its_id_or_end_is_truncated():
    fmt = LISTED.replace(
        call_id={"position": "BETWEEN_FUNC_AND_ARGS", "prefix": "</id>", "suffix": "<id/>"}
    )
    parser = fed(fmt, "<calls>f:<id/></", "length")
    assert (calls(parser), kinds(parser)) == ([("f", "")], ["truncated_call"])


def test_section_that_starts_with_a_rejected_call_is_content():
    text = '<calls>f:!g:{"a": 1}</g></calls>'
    parser = fed(LISTED, text)
    assert (parser.message.content, calls(parser)) == (text, [])


IN_TAGS = in_tags(name_prefix="<a=", name_suffix=">", value_suffix="</a>")
WITH_ID = IN_TAGS.replace(call_id={"position": "POST_ARGS", "prefix": "<id>", "suffix": "</id>"})


def test_null_arguments_in_tags_are_empty():
    fmt = IN_TAGS.replace(tools={"format": "TAG_WITH_JSON"})
    parser = fed(fmt, "<c><f=f>null</f></c>")
    assert (calls(parser), parser.issues) == ([("f", "{}")], [])


def test_text_call_between_calls_is_text_completely():
    first, second = "<c><f=f><a=x>1</a></f></c>", "<c><f=g><a=x>1</a></f></c>"
    policies = Policies(unknown_tool="text")
    parser = fed(IN_TAGS, f"{first}\n{second}\n{first}", tools=[{"name": "f"}], policies=policies)
    assert calls(parser) == [("f", '{"x": 1}')] * 2
    assert parser.message.content == f"\n{second}\n"
    assert [(tried.status, tried.detail) for tried in parser.attempts] == [
        ("complete", ""),
        ("unknown_tool", ""),
        ("complete", ""),
    ]


@pytest.mark.parametrize(
    ("gap", "written", "made"), [("", "7", "7"), (" \n ", "7", "7"), ("", "", "new")]
)
@pytest.mark.parametrize(
    ("change", "arguments"),
    [({}, "<a=x>1</a>"), ({"tools": {"format": "TAG_WITH_JSON"}}, '{"x": 1}')],
)
def test_id_after_the_arguments_is_used(change, arguments, gap, written, made):
    text = f"<c><f=f>{arguments}{gap}<id>{written}</id></f></c>"
    parser = fed(WITH_ID.replace(**change), text, id_factory=lambda *_: "new")
    assert [(call.id, call.arguments) for call in parser.message.tool_calls] == [(made, '{"x": 1}')]
    assert (parser.message.content, parser.issues) == ("", [])


IN_JSON = IN_TAGS.replace(tools={"format": "TAG_WITH_JSON"})


def test_id_after_json_needs_no_start_marker():
    fmt = IN_JSON.replace(call_id={"position": "POST_ARGS", "suffix": "</id>"})
    (call,) = fed(fmt, '<c><f=f>{"x": 1}7</id></f></c>').message.tool_calls
    assert (call.id, call.arguments, call.complete) == ("7", '{"x": 1}', True)


def test_text_after_broken_arguments_is_reported_only():
    for behind, change in (
        ("<id>7</id>", {"call_id": {"position": "POST_ARGS", "prefix": "<id>", "suffix": "</id>"}}),
        ("</args>", {"arguments": {"start": "<args>", "end": "</args>"}}),
    ):
        fmt = IN_JSON.replace(**change)
        parser = fed(fmt, f'<c><f=f>{fmt.arguments.start}{{"x": {behind}</f></c>')
        assert (calls(parser), kinds(parser)) == ([("f", '{"x": ')], ["malformed_arguments"])
        assert parser.issues[0].detail.endswith(f"not emitted: {behind!r}")


@pytest.mark.parametrize(
    ("change", "arguments", "made"),
    [
        ({"format": "TAG_WITH_JSON"}, '{"x": 1}', '{"x": 1}'),
        ({"format": "TAG_WITH_JSON"}, '{"x": 1} \n', '{"x": 1}'),
        ({}, "<a=x>1</a>, <a=y>2</a>", '{"x": 1, "y": 2}'),
    ],
)
def test_end_marker_of_all_arguments_is_read_once(change, arguments, made):
    fmt = IN_TAGS.replace(
        tools=change, arguments={"start": "<args>", "end": "</args>", "separator": ","}
    )
    parser = fed(fmt, f"<c><f=f><args>{arguments}</args></f></c>")
    assert (calls(parser), parser.issues) == ([("f", made)], [])


@pytest.mark.parametrize("text", ["<c><f=", "<c><f=<!>"])
def test_call_after_a_rejected_call_is_parsed(text):
    called = "<c><f=f><a=x>1</a></f></c>"
    for before in ("", called):
        parser = fed(IN_TAGS, f"{before}{text}</f></c>{called}")
        assert calls(parser) == [("f", '{"x": 1}')] * (1 + bool(before))
        assert parser.message.content == f"{text}</f></c>"


OBJECT = WireFormat().replace(
    tools={"format": "TAG_WITH_TAGGED", "per_call_start": "<c>", "per_call_end": "</c>"},
    function={"name_suffix": "|"},
    arguments={
        "name_prefix": "<a=",
        "name_suffix": ">",
        "value_suffix": "</a>",
        "object_start": "<json>",
        "object_end": "</json>",
    },
)


@pytest.mark.parametrize(
    ("text", "made", "content"),
    [
        ('<c>f|<json>{"a":1}</json></c>', [('{"a":1}', True)], ""),
        ('<c>f|\n<json>\n{"a": "</json>"}\n</json>\n</c>Bye', [('{"a": "</json>"}', True)], "Bye"),
        ("<c>f|<json>{}</json></c>" * 2, [("{}", True)] * 2, ""),
        (
            '<c>f|<json>{"a":1}</json></c><c>f|<a=b>2</a></c>',
            [('{"a":1}', True), ('{"b": 2}', True)],
            "",
        ),
        ('<c>f|<json>{"a":1}</c>Bye', [('{"a":1}', True)], "Bye"),
        ('<c>f|<json>{"a":1', [('{"a":', False)], ""),
        ("<c>f|<json>", [("", False)], ""),
    ],
)
def test_tagged_arguments_may_be_one_json_object(text, made, content):
    message = fed(OBJECT, text).message
    assert [(call.arguments, call.complete) for call in message.tool_calls] == made
    assert message.content == content


def test_other_form_of_kimi_k3_is_read():
    text = (
        '<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|>'
        '<|open|>json type="object"<|sep|>{"city":"SF"}<|close|>json<|sep|><|close|>call<|sep|>'
        "<|close|>tools<|sep|><|close|>message<|sep|>"
    )
    fmt = get_format("kimi_k3")
    parser = fed(fmt, text, prompt=fmt.turn.generation_prompt)
    (call,) = parser.message.tool_calls
    assert (call.name, call.arguments, call.complete) == ("f", '{"city":"SF"}', True)
    assert (parser.message.content, [*parser.issues]) == ("", [])


BLOCKS = [
    ("gemma4", "<|tool_call>", "call:f{s:1}", "<tool_call|>"),
    ("functiongemma", "<start_function_call>", "call:f{s:1}", "<end_function_call>"),
]


@pytest.mark.parametrize(("name", "start", "call", "end"), BLOCKS)
@given(data=st.data())
def test_one_block_may_hold_several_calls(name, start, call, end, data):
    between = st.sampled_from(["", "\n", ", "])
    text = start + call + "".join(data.draw(between) + call for _ in range(2)) + end
    parser, _ = run(get_format(name), data.draw(cuts(text)))
    assert calls(parser) == [("f", '{"s":1}')] * 3
    assert (parser.message.content, parser.issues) == ("", [])


@pytest.mark.parametrize(("name", "start", "call", "end"), BLOCKS)
def test_marker_suffix_after_a_closed_block_starts_no_call(name, start, call, end):
    parser = fed(get_format(name), start + call + end + call)
    assert (len(parser.message.tool_calls), parser.message.content) == (1, call)
    parser = fed(get_format(name), start + call + " call me" + end)
    assert (len(parser.message.tool_calls), parser.message.content) == (1, " call me")


@pytest.mark.parametrize("policy", ["defer", "call"])
def test_one_block_in_reasoning_may_hold_several_calls(policy):
    text = "<|channel>thought\nhm<|tool_call>call:f{}call:g{}<tool_call|>"
    parser = fed(get_format("gemma4"), text, policies=Policies(tool_in_reasoning=policy))
    assert [name for name, _ in calls(parser)] == ["f", "g"]


def test_second_call_in_a_block_may_be_truncated_or_rejected():
    cut = fed(get_format("gemma4"), "<|tool_call>call:f{}call:g{a:", "length")
    assert [(call.name, call.complete) for call in cut.message.tool_calls] == [
        ("f", True),
        ("g", False),
    ]
    none = fed(get_format("gemma4"), "<|tool_call>call:f{}call:<tool_call|>")
    assert (len(none.message.tool_calls), none.message.content) == (1, "call:")
