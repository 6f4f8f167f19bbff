"""Tests of response templates in both directions, with the parser of transformers."""

from __future__ import annotations

import copy
import json

import pytest

from deltaparse import (
    FormatError,
    StreamParser,
    ToolCallDelta,
    from_response_template,
    get_format,
    list_formats,
    parse,
    response_template_limits,
    to_response_template,
)
from deltaparse.stream.wire.response_template.anchors import (
    AnchorPart,
    PartKind,
    literals,
    read_anchor,
)

from ....strategies.response_templates import CASES, CODER, GEMMA, MISTRAL, NAMED, QWEN
from ....strategies.wire_by_hand import fed
from ....strategies.wire_named import WIRES

TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": schema}},
    }
    for name, schema in (
        ("f", {"city": {"type": "string"}}),
        ("g", {"n": {"type": "integer"}}),
    )
]
OUTPUTS = [(name, text) for name, (_, texts) in CASES.items() for text in texts]


def ours(message):
    """Return a message without outer whitespace, as transformers does."""
    calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
    return message.content.strip(), message.reasoning_content.strip(), calls


def theirs(template, text, prefix=""):
    """Return the message according to transformers' own parser."""
    from transformers.utils.chat_parsing import parse_response

    found = parse_response(text, copy.deepcopy(template), prefix=prefix, tools=TOOLS)
    calls = [call["function"] for call in found.get("tool_calls", [])]
    reasoning = found.get("reasoning_content", found.get("thinking", ""))
    return (
        found.get("content", ""),
        reasoning,
        [(call["name"], call["arguments"]) for call in calls],
    )


@pytest.mark.transformers
@pytest.mark.parametrize(("name", "text"), OUTPUTS)
def test_both_parsers_return_the_same_message(name, text):
    template = CASES[name][0]
    parser = fed(from_response_template(template), text, tools=TOOLS)
    assert ours(parser.message) == theirs(template, text)


@pytest.mark.transformers
@pytest.mark.parametrize(("name", "text"), OUTPUTS)
def test_round_tripped_template_parses_the_same(name, text):
    template = CASES[name][0]
    written = to_response_template(from_response_template(template))
    assert theirs(written, text) == theirs(template, text)
    assert json.loads(json.dumps(written)) == written


@pytest.mark.transformers
def test_prompt_opens_reasoning_in_both_parsers():
    prompt = "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\n<think>\n"
    text = "hm\n</think>\n\nHi<|im_end|>"
    message = parse(text, from_response_template(QWEN), prompt=prompt)
    assert ours(message) == theirs(QWEN, text, prompt) == ("Hi", "hm", [])


def expressible():
    for name in list_formats():
        try:
            to_response_template(get_format(name))
        except FormatError:
            continue
        yield name


EXPRESSIBLE = list(expressible())
KINDS = ("one", "two", "thinks", "says")


def prompt_of(fmt):
    """Return the end of a prompt, with text before the generation prompt."""
    return f"Hi\n{fmt.turn.generation_prompt}"


def test_most_built_in_formats_have_a_response_template():
    assert set(EXPRESSIBLE) >= {"hermes", "qwen25", "qwen3_coder", "deepseekv31", "mistral"}
    assert set(EXPRESSIBLE) >= {"glm45", "glm47", "minimax_m2", "seed_oss", "command_r7b"}
    assert set(EXPRESSIBLE) >= {"gpt_oss", "kimi_k2", "llama3_json", "apriel_thinker", "simple_xml"}


@pytest.mark.transformers
@pytest.mark.parametrize("name", EXPRESSIBLE)
def test_written_template_parses_the_samples_of_its_format(name):
    fmt = get_format(name)
    template, prompt = to_response_template(fmt), prompt_of(fmt)
    for text in filter(None, (getattr(WIRES[name], kind) for kind in KINDS)):
        message = parse(text, fmt, tools=TOOLS, prompt=prompt)
        assert theirs(template, text, prompt) == ours(message)


REFUSED = {
    "apriel_thinker": "can match without a text",
    "gpt_oss": "only text, optional whitespace and named groups",
    "kimi_k2": "groups must be 'name'",
    "llama3_json": "only one opening pattern",
    "llama4_json": "only one opening pattern",
    "deepseek_v32": "the groups key and value",
    "deepseek_v4": "the groups key and value",
    "deepseek_v41": "the groups key and value",
    "granite32": "reasoning needs one opening and one closing marker",
    "gigachat3": "only one opening pattern",
    "gigachat31": "only one opening pattern",
    "kimi_k3": "only text, optional whitespace and named groups",
    "minimax_m3": "only text, optional whitespace and named groups",
}
"""Templates that only transformers can read, with our error messages."""

NO_HEADER = (
    "response_template.start_anchor_pattern: only text, optional whitespace and named groups"
)


@pytest.mark.parametrize("name", EXPRESSIBLE)
def test_written_template_can_be_read_again(name):
    fmt = get_format(name)
    written = to_response_template(fmt)
    if name in REFUSED or not fmt.turn.headers:
        with pytest.raises(FormatError, match=REFUSED.get(name, NO_HEADER)):
            from_response_template(written)
        again = fmt
    else:
        again = from_response_template(written)
    prompt = prompt_of(fmt)
    for text in filter(None, (getattr(WIRES[name], kind) for kind in KINDS)):
        message = parse(text, fmt, tools=TOOLS, prompt=prompt)
        assert ours(parse(text, again, tools=TOOLS, prompt=prompt)) == ours(message)


def test_arguments_are_streamed():
    parser = StreamParser(from_response_template(QWEN))
    deltas = parser.feed('<tool_call>\n{"name": "f", "arguments": {"city": "New Yo')
    assert [delta.arguments for delta in deltas if isinstance(delta, ToolCallDelta)] == [
        "",
        '{"city": "New Yo',
    ]


def test_tokenizer_configuration_is_accepted():
    assert from_response_template({"response_template": QWEN}) == from_response_template(QWEN)


@pytest.mark.parametrize("close", [r"</tool_call>", r"\s*</tool_call>\s*"])
def test_text_before_the_close_does_not_belong_to_an_argument(close):
    fmt = from_response_template(changed(CODER, "fields/tool_calls/close_pattern", close))
    start = "<tool_call>\n<function=f>\n<parameter=city>\nParis\n</parameter>\n"
    for text in (f"{start}</function>\n</tool_call>", f"{start}</tool_call>"):
        parser = fed(fmt, text)
        (call,) = parser.message.tool_calls
        assert (call.arguments, call.complete) == ('{"city": "Paris"}', True)
        assert parser.message.content == ""


CLOSES = [
    {"close": "</tool_call>"},
    {"close": ["</tool_call>", "<|im_end|>"]},
    {"close": ["<|eot|>", "</tool_call>"]},
    {"close_pattern": r"</tool_call>|\Z"},
    {"close_pattern": r"\s*</tool_call>|<\|im_end\|>|\Z"},
    {"close_pattern": r"</function>\s*</tool_call>"},
    {"close_pattern": r"(?:</function>\s*)?</tool_call>"},
]
UNCLOSED = [
    {},
    {"close": "<|im_end|>"},
    {"close_pattern": r"<\|im_end\|>|(?=<tool_call>)|\Z"},
]


def closed_by(close):
    """Return a template of tagged calls with these close texts."""
    template = changed(CODER, "fields/tool_calls/close_pattern", None)
    template["fields"]["tool_calls"].update(close)
    return template


@pytest.mark.transformers
@pytest.mark.parametrize("close", CLOSES)
@pytest.mark.parametrize("after", ["", "<|im_end|>", "Bye<|im_end|>"])
def test_text_after_the_last_argument_is_parsed_as_by_transformers(close, after):
    template = closed_by(close)
    call = (
        "<tool_call>\n<function=f>\n<parameter=city>\nNYC\n</parameter>\n</function>\n</tool_call>"
    )
    for text in (call + after, f"{call}\n{call}{after}"):
        parser = fed(from_response_template(template), text, tools=TOOLS)
        assert ours(parser.message) == theirs(template, text)


@pytest.mark.transformers
@pytest.mark.parametrize("close", UNCLOSED)
def test_call_without_a_close_ends_at_its_own_tags(close):
    template = closed_by(close)
    text = (
        "<tool_call>\n<function=f>\n<parameter=city>\nNYC\n</parameter>\n</function>\n</tool_call>"
    )
    for after in ("", "<|im_end|>"):
        parser = fed(from_response_template(template), text + after, tools=TOOLS)
        assert ours(parser.message) == theirs(template, text + after)


def test_several_close_texts_of_a_call_raise():
    for close in (["</function>", "</tool_call>"], ["<|a|>", "<|b|>"]):
        with pytest.raises(FormatError, match="'tool_calls': the close pattern has several texts"):
            from_response_template(closed_by({"close": close}))


def changed(template, path, value):
    """Return the template with one changed value. None deletes the key."""
    made = copy.deepcopy(template)
    *outer, last = path.split("/")
    inner = made
    for key in outer:
        inner = inner[key]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return made


CALLS = "fields/tool_calls"
BAD = [
    (3, "a response template must be a mapping"),
    ({"fields": []}, "a response template must be a mapping"),
    (changed(QWEN, "version", 2), "version 2: only version 1"),
    (changed(QWEN, "odd", 1), "unknown key 'odd' of a response template"),
    (changed(QWEN, "start_anchor", None), "needs a start_anchor"),
    (changed(QWEN, "defaults", {"content": "none"}), "defaults: only the role"),
    (changed(QWEN, "defaults", 3), "defaults: only the role"),
    (changed(QWEN, "start_anchor", 3), "must be a string or a list of strings"),
    (changed(QWEN, "start_anchor_pattern", "x"), "are both given"),
    (changed(QWEN, "fields/citations", {"open": "<c>"}), "field 'citations'"),
    (changed(QWEN, "fields/citations", {}), "only one field may have no opening marker"),
    (changed(QWEN, "fields/content", 3), "must be an object"),
    (changed(QWEN, "fields/content/odd", 3), "field 'content': unknown key 'odd'"),
    (
        changed(QWEN, "fields/thinking", {"open": "<t>", "close": "</t>"}),
        "only one field of reasoning",
    ),
    (changed(QWEN, "fields/content/content", "int"), "content must be 'text', not 'int'"),
    (changed(QWEN, "fields/content/transform", "{content}"), "transform cannot be expressed"),
    (changed(QWEN, "fields/reasoning_content/repeats", True), "repeats cannot be expressed"),
    (
        changed(QWEN, "fields/reasoning_content/close", ["a", "b"]),
        "one opening and one closing marker",
    ),
    (
        changed(QWEN, "fields/reasoning_content", {"open_pattern": r"(?:^|<t>)", "close": "</t>"}),
        "reasoning_content: open_pattern can match without a text",
    ),
    (changed(QWEN, "fields/content/open", ["<a>", "<b>"]), "only one opening marker"),
    (
        changed(
            changed(CODER, f"{CALLS}/open_pattern", r"\[call\]\s*\[to\](?P<name>\w+)\s*"),
            f"{CALLS}/close_pattern",
            r"\[end\]",
        ),
        "field 'tool_calls': the close pattern has no end for",
    ),
    (changed(QWEN, f"{CALLS}/repeats", None), "calls need repeats or transform_each"),
    (changed(MISTRAL, f"{CALLS}/repeats", True), "calls need repeats or transform_each"),
    (changed(QWEN, f"{CALLS}/transform", None), "transform must contain a function"),
    (changed(QWEN, f"{CALLS}/transform", "{content}"), "transform must contain a function"),
    (changed(QWEN, f"{CALLS}/open_pattern", "(?i)<call>"), "letters in either case"),
    (changed(QWEN, "fields/content/close_pattern", r"<e>|(?<=<x>)<y>"), "'<y>' is not supported"),
    (changed(QWEN, "fields/content/join", " "), "join cannot be expressed"),
    (changed(QWEN, f"{CALLS}/content", "kv-lines"), "content must be 'json' or 'xml-inline'"),
    (changed(QWEN, f"{CALLS}/content_args", {"allow_non_json": True}), "allow_non_json"),
    (changed(QWEN, f"{CALLS}/open_pattern", r"<a>|<b>"), "only one opening pattern"),
    (changed(QWEN, f"{CALLS}/open_pattern", r"\s*"), "the opening pattern has no text"),
    (
        changed(QWEN, f"{CALLS}/open_pattern", r"<a>[ab]"),
        "only text, optional whitespace and named groups",
    ),
    (changed(QWEN, f"{CALLS}/open_pattern", r"<a>.*<b>"), "'.' with '\\*'"),
    (changed(QWEN, f"{CALLS}/open_pattern", r"(a"), "is not a pattern"),
    (changed(QWEN, f"{CALLS}/open_pattern", r"<a>\s*<b>\s*<c>"), "more than two opening markers"),
    (changed(QWEN, f"{CALLS}/open_pattern", r"<a>(?:<b>)?<c>"), "optional text"),
    (changed(QWEN, f"{CALLS}/open_pattern", "(?:a|b)" * 9), "more than 32 alternatives"),
    (changed(QWEN, f"{CALLS}/transform", {"function": "{name}"}), "transform must contain"),
    (changed(QWEN, f"{CALLS}/transform", NAMED), "groups must be 'name'"),
    (
        changed(CODER, f"{CALLS}/transform/function/name", "x"),
        "one path in braces for the name, not 'x'",
    ),
    (changed(CODER, f"{CALLS}/transform/function/arguments", "{content.a}"), "must be a group"),
    (
        changed(CODER, f"{CALLS}/close_pattern", "(?P<x>a)</function>"),
        "a named group in the close",
    ),
    (
        changed(CODER, f"{CALLS}/content_args/merge_duplicates", True),
        "merge_duplicates cannot be expressed",
    ),
    (changed(CODER, f"{CALLS}/content_args/tag_pattern", "<(?P<key>a)>"), "the groups key and"),
    (changed(CODER, f"{CALLS}/content_args", {}), "the groups key and"),
    (
        changed(CODER, f"{CALLS}/content_args/tag_pattern", "<(?P<key>a)>(?P<value>.*?)(?=<|$)"),
        "tag_pattern has a condition",
    ),
    (
        changed(CODER, f"{CALLS}/content_args/tag_pattern", "(?:<i>)?<(?P<key>a)>(?P<value>b)<"),
        "tag_pattern has optional text '<i>'",
    ),
    (
        changed(CODER, f"{CALLS}/content_args/value_parser", {"name": "int"}),
        "value_parser must be 'text' or 'json'",
    ),
    (
        changed(GEMMA, f"{CALLS}/content_args/string_delims", [["<", ">"]]),
        "cannot be expressed",
    ),
    (
        changed(MISTRAL, f"{CALLS}/transform/function/name", "{fn.name}"),
        "must be in the same object",
    ),
]


@pytest.mark.parametrize(("template", "words"), BAD)
def test_unsupported_template_raises_with_the_field(template, words):
    with pytest.raises(FormatError, match=words):
        from_response_template(template)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pythonic", "calls in Python"),
        ("apertus", "names that are keys"),
        ("functionary_v32", "calls that begin like content"),
    ],
)
def test_inexpressible_built_in_format_raises(name, words):
    with pytest.raises(FormatError, match=f"a response template cannot express: .*{words}"):
        to_response_template(get_format(name))


@pytest.mark.transformers
def test_optional_delimiters_of_a_value():
    tag = r"<(?P<key>\w+)>(?:\[\[)?(?P<value>.*?)(?:\]\])?</p>"
    template = changed(CODER, f"{CALLS}/content_args/tag_pattern", tag)
    call = "<tool_call>\n<function=f><city>{}</p></function></tool_call>"
    for value in ("[[<NYC>]]", "NYC"):
        parser = fed(from_response_template(template), call.format(value), tools=TOOLS)
        assert ours(parser.message) == theirs(template, call.format(value))


@pytest.mark.transformers
def test_close_next_to_a_lookahead_ends_all_calls():
    template = changed(CODER, f"{CALLS}/open_pattern", r"(?:\[calls\])?\[call\](?P<name>\w+)\|")
    template = changed(template, f"{CALLS}/close_pattern", r"(?=\[call\])|\[/calls\]")
    calls = "[call]f|<parameter=city>NYC</parameter>[call]g|<parameter=n>2</parameter>"
    for text in (f"[calls]{calls}[/calls]", f"{calls}<|im_end|>"[:-10], calls):
        parser = fed(from_response_template(template), text, tools=TOOLS)
        missing = not text.endswith("[/calls]")
        assert {issue.kind for issue in parser.issues} <= ({"missing_closer"} if missing else set())
        assert ours(parser.message) == theirs(template, text)


def formats_with_limits():
    """Return a format for each limit of response templates."""
    hermes, tagged = get_format("hermes"), get_format("qwen3_coder")
    rows = hermes.replace(tools={"section_start": "<c>", "per_call_start": "", "separator": ""})
    lists = hermes.replace(tools={"array_wrapped": True})
    post = get_format("mistral_small").replace(call_id={"position": "POST_ARGS"})
    return [
        (hermes, ()),
        (rows, ("calls in a row without a separator",)),
        (lists, ("several calls in one list",)),
        (post, ("ids after the arguments",)),
        (tagged, ("objects and lists that are not JSON",)),
        ("gpt_oss", ("several messages of reasoning or of content in one turn",)),
        ("command_r7b", ("text outside of the markers of content",)),
        ("llama4_json", ("code after its marker", "calls in a row")),
        ("functiongemma", ("names without quotes that are not words",)),
    ]


@pytest.mark.parametrize(("fmt", "limits"), formats_with_limits())
def test_limits_of_built_in_formats(fmt, limits):
    to_response_template(fmt)
    found = response_template_limits(fmt)
    assert len(found) == len(limits)
    assert all(one.startswith(words) for one, words in zip(found, limits, strict=True))


def test_parts_of_a_pattern():
    pattern = r"\s*(?:<s>)?<\|a\|>\n(?P<name>\w+)(?=\{)(b|c)\Z"
    text, capture = AnchorPart(PartKind.TEXT, "<|a|>\n"), AnchorPart(PartKind.CAPTURE, "name")
    start = [
        AnchorPart(PartKind.SPACE),
        AnchorPart(PartKind.OPTIONAL, "<s>"),
        text,
        capture,
        AnchorPart(PartKind.AHEAD),
    ]
    assert read_anchor({"open_pattern": pattern}, "open", "x") == [
        [*start, AnchorPart(PartKind.TEXT, letter), AnchorPart(PartKind.EDGE)] for letter in "bc"
    ]
    assert literals({"close_pattern": r"\s*(?:<a>|\[b\])\s*"}, "close", "x") == ["<a>", "[b]"]
    assert literals({}, "close", "x") == []
    with pytest.raises(FormatError, match="more than one text"):
        literals({"close_pattern": r"<a>\s*<b>"}, "close", "x")
