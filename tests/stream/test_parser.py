"""Arguments, state, bytes and internal errors of the push parser."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import (
    Policies,
    StreamParser,
    TokenParser,
    ToolGate,
    UsageError,
    Vocabulary,
    WireFormat,
    gbnf,
    get_format,
    iter_deltas,
    parse,
    structural_tag,
    to_response_template,
)
from deltaparse.servers import sglang_detector, vllm_tool_parser
from deltaparse.stream import parser as parser_module
from deltaparse.stream.reading import sections as grammar

from ..strategies.wire_by_hand import CALL, TAGS, UNMARKED, WRAPPED, chunkings, fed, kinds
from ..support import as_joined, cuts, joined


class Shape:
    """A fake pydantic class."""

    model_json_schema = dict


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tools": ["f"]}, "a tool must have the form"),
        ({"tools": [{"function": {}}]}, "a tool must have the form"),
        *(({"tool_choice": value}, "tool_choice must be") for value in ("maybe", "")),
        ({"tool_choice": {"function": {"name": "x"}}, "tools": [{"name": "f"}]}, "not one of"),
        *(({"reasoning": value}, '"separate", "inline"') for value in ("loud", None, [], True)),
        *(({"prompt": value}, "prompt must be the") for value in (None, b"", 5, ["a"])),
        *(({"tools": value}, "tools must be a list") for value in (5, "f", {}, iter([]), print)),
        *(({"tool_choice": value}, "tool.choice") for value in (3, True, [], "f", {})),
        *(({"policies": value}, r"Policies\(") for value in (None, {}, "text", Policies)),
        *(({"response_schema": value}, "a JSON Schema as") for value in ("x", True, [], 5, Shape)),
        *(
            ({name: value}, f"{name} must be True or False")
            for name in ("parallel_tool_calls", "record", "collect")
            for value in ("no", None, 0, 1, [])
        ),
        *(
            ({"id_factory": value, "record": record}, "id_factory must be a function")
            for value in (None, "call_1", 5)
            for record in (False, True)
        ),
    ],
)
def test_bad_arguments_are_refused_at_once(options, says):
    with pytest.raises(UsageError, match=says):
        StreamParser(TAGS, **options)


def test_bad_id_factory_is_rejected_by_all_entry_points():
    parser = StreamParser(TAGS, record=True)
    for use in (
        lambda: StreamParser.restore(parser.snapshot(), id_factory=7),
        lambda: vllm_tool_parser("hermes", id_factory=7),
    ):
        with pytest.raises(UsageError, match="id_factory must be a function"):
            use()
    with pytest.raises(UsageError, match=r"Policies\("):
        sglang_detector("hermes", policies="text")


@pytest.mark.parametrize("made", [None, 5, b"call", ""])
def test_id_of_another_type_is_rejected_without_losing_text(made):
    parser = StreamParser(TAGS, id_factory=lambda _: made)
    with pytest.raises(UsageError, match="must return a non-empty string"):
        parser.feed(f"one {CALL} two")
    parser.feed(" three")
    parser.finish("stop")
    assert parser.message.content == f"one {CALL} two three"


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, pickle.dumps, lambda parser: copy.copy([parser])[0].fork()]
)
@pytest.mark.parametrize("fed", ["", "Hi", '<call>{"name": "f", "arguments": {"a'])
def test_copy_and_pickle_of_a_parser_are_rejected(copied, fed):
    parser = StreamParser(TAGS)
    parser.feed(fed)
    with pytest.raises(UsageError, match="record=True"):
        copied(parser)


def test_unknown_format_is_rejected():
    with pytest.raises(UsageError, match="analyze"):
        StreamParser(7)
    with pytest.raises(UsageError, match="chat template"):
        StreamParser("{{ messages }}")
    with pytest.raises(UsageError, match="no format is called 'hermess'"):
        StreamParser("hermess")


def test_all_entry_points_accept_the_name_of_a_format():
    text = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    fmt = get_format("hermes")
    for taken in (
        lambda fmt: StreamParser(fmt).format,
        lambda fmt: parse(text, fmt),
        lambda fmt: list(iter_deltas([text], fmt)),
        lambda fmt: gbnf(fmt, tools).text,
        lambda fmt: structural_tag(fmt, tools),
        to_response_template,
        lambda fmt: ToolGate(tools).decide(text, fmt).reason,
    ):
        assert taken("hermes") == taken(fmt)
    assert StreamParser("Hermes").format is fmt


def test_feed_takes_text_or_bytes_before_the_end():
    parser = StreamParser(TAGS)
    with pytest.raises(UsageError, match="str or bytes"):
        parser.feed(7)
    parser.finish("stop")
    with pytest.raises(UsageError, match="after finish"):
        parser.feed("x")
    with pytest.raises(UsageError, match="reason"):
        StreamParser(TAGS).finish(7)


@pytest.mark.parametrize(
    "text", ["x" * 70_000, '<call>{"name": "f", "arguments": {"a": "' + "x" * 70_000]
)
def test_message_reuses_unchanged_parts(text):
    parser = StreamParser(TAGS)
    parser.feed(text)
    first = parser.message.parts[-1]
    assert parser.message.parts[-1] is first
    parser.feed("more")
    assert parser.message.parts[-1] != first
    assert parser.message.parts[0] is parser.message.parts[0]
    other = StreamParser(TAGS)
    other.feed(text + "more")
    assert parser.message == other.message


def test_where_returns_the_active_sub_parsers():
    parser = StreamParser(TAGS)
    assert parser.where() == "sections"  # before any text
    parser.feed('<call>{"name": "f", "arguments": {"a')
    assert parser.where().endswith(
        "json_calls > call_object > fast_head > json_arguments > repaired_json > json_value"
    )
    assert "json_value" in repr(parser)
    parser.finish("length")
    assert parser.where() == "end"


@pytest.mark.parametrize(
    ("text", "reason", "finish_reason"),
    [
        ("hi", "stop", "stop"),
        ("hi", None, "stop"),
        ("hi", "length", "length"),
        (CALL, "stop", "tool_calls"),
        (CALL, "tool_calls", "tool_calls"),
        (CALL, None, "tool_calls"),
        (CALL, "length", "length"),
        (CALL[:-20], None, "length"),
        (CALL[:-3], None, "length"),
        (CALL[:-3], "stop", "tool_calls"),
        ('<call>{"name": "f", "arguments": {"a', None, "length"),
    ],
)
def test_the_finish_reason(text, reason, finish_reason):
    assert fed(TAGS, text, reason).finish_reason == finish_reason


@pytest.mark.parametrize("again", ["stop", "length", None, "because"])
def test_a_turn_ends_once(again):
    parser = StreamParser(TAGS, record=True)
    parser.feed(f"Hi{CALL[:-20]}")
    parser.finish("max_tokens")
    ended = parser.message, parser.issues, parser.finish_reason, parser.snapshot()
    assert parser.finish(again) == []
    assert (parser.message, parser.issues, parser.finish_reason, parser.snapshot()) == ended


def test_ids_are_a_function_of_the_output_and_the_prompt():
    first = parse(CALL, TAGS, prompt="<|start|>model\n").tool_calls[0].id
    assert first == parse(CALL, TAGS, prompt="<|start|>model\n").tool_calls[0].id
    assert first != parse(CALL, TAGS, prompt="again: <|start|>model\n").tool_calls[0].id
    assert len({call.id for call in parse(CALL * 5, TAGS).tool_calls}) == 5
    vocabulary = Vocabulary({0: CALL.encode()}, special={"<|start|>": 1})
    parser = TokenParser(TAGS, vocabulary, prompt="<|start|>model\n")
    parser.feed(0)
    assert first == parser.message.tool_calls[0].id


def test_a_copy_of_a_thousand_copies_makes_ids_as_the_first():
    parser = StreamParser(TAGS, record=True)
    for _ in range(1000):
        parser = parser.fork()
    parser.feed(CALL)
    assert parser.message == parse(CALL, TAGS)


@pytest.mark.parametrize(
    ("reasoning", "content"),
    [
        ("separate", "yz"),
        ("inline", "<think>a</think>y<think>b</think>z"),
        ("raw", "<plan>a</plan>y<plan>b</plan>z"),
    ],
)
def test_reasoning_option_determines_its_place(reasoning, content):
    text = "<plan>a</plan><answer>y</answer><plan>b</plan>z"
    message = fed(WRAPPED, text, reasoning=reasoning).message
    assert message.content == content
    assert message.reasoning_content == ("ab" if reasoning == "separate" else "")


def test_counts_and_attempts_are_available_while_streaming():
    parser = StreamParser(TAGS, tools=[{"name": "g"}])
    told = []
    for text in ("<think>", "hm ", "so", "</think>", "Hi ", "there", CALL):
        parser.feed(text)
        counts = parser.counts
        chars = counts.reasoning.characters, counts.content.characters
        told.append((parser.in_reasoning, *chars, len(parser.attempts), parser.issue_count))
    assert told == [
        *((False, 0, 0, 0, 0), (True, 3, 0, 0, 0), (True, 5, 0, 0, 0)),
        *((False, 5, 0, 0, 0), (False, 5, 3, 0, 0), (False, 5, 8, 0, 0), (False, 5, 8, 1, 1)),
    ]
    assert [(one.name, one.status) for one in parser.attempts] == [("f", "unknown_tool")]


def test_fork_and_snapshot_require_a_record():
    parser = StreamParser(TAGS)
    for ask in (parser.fork, parser.snapshot):
        with pytest.raises(UsageError, match=rf"^{ask.__name__}\(\) needs .* record=True"):
            ask()


def test_inline_reasoning_that_the_prompt_opened_has_both_tags():
    message = fed(
        TAGS, "a</think>b", prompt="<|start|>model\n<think>\n", reasoning="inline"
    ).message
    assert message.content == "<think>a</think>b"
    assert fed(TAGS, "<think></think>b", reasoning="inline").message.content == "b"


def test_raw_output_is_untouched():
    text = "<think>\na\n</think>\n\n  b"
    assert fed(TAGS, text, reasoning="raw").message.content == text


def test_plain_text_does_not_resume_the_sub_parsers(monkeypatch):
    resumes = []
    resume = StreamParser._resume
    monkeypatch.setattr(
        parser_module.StreamParser, "_resume", lambda self: resumes.append(1) or resume(self)
    )
    parser = StreamParser(TAGS)
    parser.feed("start")
    for _ in range(1000):
        parser.feed("plain text, ")
    assert len(resumes) <= 2
    parser.feed('<call>{"name": "f", "arguments": {"code": "x')
    before = len(resumes)
    for _ in range(1000):
        parser.feed("print(x) ")
    assert len(resumes) <= before + 1


def test_internal_error_loses_no_text(monkeypatch):
    def breaks(*_, **__):
        raise ZeroDivisionError

    parser = StreamParser(TAGS)
    parser.feed("one ")
    monkeypatch.setattr(grammar, "tool_calls", breaks)
    content = joined(parser.feed(f"two {CALL} three"))[0]
    content += joined(parser.feed(" four") + parser.finish("stop"))[0]
    assert content == f"two {CALL} three four"
    (issue,) = parser.issues
    assert issue.kind == "internal_error"
    assert issue.span == (len("one two "), len("one two "))


def test_partial_character_after_an_internal_error_is_reported(monkeypatch):
    def breaks(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(grammar, "tool_calls", breaks)
    parser = StreamParser(TAGS)
    deltas = parser.feed(CALL) + parser.feed("é".encode()[:1]) + parser.finish("stop")
    assert joined(deltas)[0] == f"{CALL}\ufffd"
    assert kinds(parser) == ["internal_error", "invalid_text"]


def test_content_in_markers_may_have_text_before_it():
    after_reasoning = WRAPPED.replace(content={"mode": "WRAPPED_WITH_REASONING"})
    text = "Well. <answer>Yes</answer>."
    assert fed(WRAPPED, text).message.content == "Well. Yes."
    assert fed(after_reasoning, text).message.content == text
    assert fed(after_reasoning, f"<plan>hm</plan>{text}").message.content == "Well. Yes."
    delimited = after_reasoning.replace(reasoning={"mode": "DELIMITER", "start": ""})
    assert fed(delimited, f"hm</plan>{text}").message.content == "Well. Yes."


def test_word_marker_of_content_ends_with_its_whitespace():
    fmt = WRAPPED.replace(content={"start": ">>>all\n", "end": "<<<"})
    assert fed(fmt, ">>>all\n\nYes<<<").message.content == "\nYes"
    assert fed(fmt, ">>>allow\n").message.content == ">>>allow\n"


def test_a_call_after_text_does_not_wait_for_the_end():
    for texts in chunkings(f"Well. {CALL}"):
        parser = StreamParser(TAGS)
        _, _, made = joined(delta for text in texts for delta in parser.feed(text))
        assert [arguments for _, _, arguments in made] == ['{"a": 1}'], texts


def test_prompt_is_ignored_by_a_format_without_headers():
    fmt = TAGS.replace(turn={"headers": ()})
    prompt = "<|user|>What is <call>?<|model|><think>\n"
    assert fed(fmt, "a</think>b", prompt=prompt).message.content == "a</think>b"
    assert fed(WireFormat(), "a", prompt="anything").message.content == "a"


def test_the_end_of_a_header_is_enough_of_a_prompt():
    fmt = UNMARKED.replace(turn={"headers": ("<|eot|><|head|>model\n",)})
    text = '{"name": "f", "parameters": {}}'
    assert fed(fmt, text, prompt="<|head|>model\n").finish_reason == "tool_calls"


def test_span_of_an_issue_locates_it_in_the_response():
    text = f"Hi.\n{CALL}"
    parser = fed(TAGS, text, tools=[{"name": "g"}])
    (issue,) = parser.issues
    assert text[slice(*issue.span)] == "f"


# Bytes, and halves of characters.

PARTS = [CALL, "<think>\n", "\n</think>\n\n", "plain", "é€😀", "\ufffd", "<call>\n{", '"']


@given(
    st.lists(
        st.sampled_from([*(chunk.encode() for chunk in PARTS), b"\xff", b"\xf0\x9f", b"\xa9"])
    ),
    st.data(),
)
def test_bytes_in_any_chunks_give_the_same_as_text(parts, data):
    output = b"".join(parts)
    text = output.decode("utf-8", "replace")
    whole = StreamParser(TAGS)
    whole.feed(text)
    whole.finish()
    parser = StreamParser(TAGS)
    deltas = [delta for chunk in data.draw(cuts(output)) for delta in parser.feed(chunk)]
    deltas += parser.finish()
    reported = [issue for issue in parser.issues if issue.kind == "invalid_text"]

    assert parser.message == whole.message
    assert joined(deltas) == as_joined(whole.message)
    assert [issue for issue in parser.issues if issue not in reported] == whole.issues
    assert len(reported) == (text.count("\ufffd") > output.count("\ufffd".encode()))
    for issue in reported:
        assert text[slice(*issue.span)].strip("\ufffd") != text[slice(*issue.span)]


@given(st.lists(st.sampled_from([*PARTS, "\ud83d", "\ude00", "\ud83d\ude00"])), st.data())
def test_surrogates_are_never_emitted(parts, data):
    parser = StreamParser(TAGS)
    deltas = [delta for chunk in data.draw(cuts("".join(parts))) for delta in parser.feed(chunk)]
    deltas += parser.finish()
    emitted = [delta.to_openai() for delta in deltas]
    emitted += [parser.message.to_openai(), *(issue.detail for issue in parser.issues)]

    text = json.dumps(emitted, ensure_ascii=False)
    assert text.encode(errors="replace").decode() == text


@pytest.mark.parametrize(
    ("output", "span", "detail"),
    [
        (b"a\xffb\xf0\x9f", (1, 4), "2 sequences were not valid UTF-8 and replaced by U+FFFD"),
        (b"caf\xc3\xa9 \xff.", (5, 6), "1 sequence was not valid UTF-8 and replaced by U+FFFD"),
        (
            b"<think>\nx\xff</think>y",
            (9, 10),
            "1 sequence was not valid UTF-8 and replaced by U+FFFD",
        ),
        (b"<call>\n{\x80", (8, 9), "1 sequence was not valid UTF-8 and replaced by U+FFFD"),
    ],
)
def test_invalid_utf_8_is_reported_at_the_end(output, span, detail):
    for chunks in chunkings(output):
        parser = StreamParser(TAGS, prompt="<|start|>model\n")
        for chunk in chunks:
            parser.feed(chunk)
        assert "invalid_text" not in kinds(parser)
        parser.finish()
        (issue,) = (issue for issue in parser.issues if issue.kind == "invalid_text")
        assert (issue.span, issue.detail) == (span, detail)
        assert output.decode(errors="replace")[slice(*span)].startswith("\ufffd")


@pytest.mark.parametrize(
    ("chunks", "given"),
    [
        (["a\ud83d", "\ude00b"], ["a", "😀b", ""]),
        (["a\ud83d", "b"], ["a", "\ufffdb", ""]),
        (["a\ud83d", b"\xc3", "b"], ["a", "\ufffd", "\ufffdb", ""]),
        (["\ude00", "\ud83d"], ["\ufffd", "", "\ufffd"]),
        (["你\ud83d", "", "\ude00"], ["你", "", "😀", ""]),
    ],
)
def test_half_a_pair_waits_for_the_next_chunk(chunks, given):
    parser = StreamParser(TAGS)
    content = [joined(parser.feed(chunk))[0] for chunk in chunks]
    assert [*content, joined(parser.finish())[0]] == given
    assert ("invalid_text" in kinds(parser)) == any("\ufffd" in text for text in given)


def test_halves_of_a_pair_in_arguments_and_markers():
    text = CALL.replace('"a": 1', '"a": "\ud83d\ude00"') + "<think>\n\ud83d</think>"
    parser = fed(TAGS, text)
    assert parser.message.tool_calls[0].arguments == '{"a": "😀"}'
    assert parser.message.reasoning_content == "\ufffd"
    assert kinds(parser) == ["invalid_text"]


def test_genuine_replacement_characters_are_not_reported():
    assert fed(TAGS, "a\ufffd").issues == []
    parser = StreamParser(TAGS)
    parser.feed("\ufffd".encode())
    parser.finish()
    assert parser.issues == []


def test_span_counts_text_that_bypassed_the_decoder():
    parser = StreamParser(TAGS)
    for chunk in ("<think>\n", "plain", "né", b"", "x\ud83d", "\n</think>\n\n", CALL, b"\xff"):
        parser.feed(chunk)
    parser.finish()
    (issue,) = (issue for issue in parser.issues if issue.kind == "invalid_text")
    assert issue.span == (16, 16 + 1 + len("\n</think>\n\n") + len(CALL) + 1)


def test_held_counts_the_buffered_characters():
    for text in ("ab <ca", "<call", f"{CALL} x <th", "<think>\nhm </thi"):
        parser, seen = StreamParser(TAGS), []
        for char in text:
            parser.feed(char)
            seen.append(parser.held)
        assert seen[0] == text.startswith("<")
        assert seen[-1] > 0
        parser.finish("stop")
        assert parser.held == 0


def test_lost_marker_is_not_reported_if_calls_are_disabled():
    text = '{"name": "f", "arguments": {}}'
    for choice, kinds_ in (("auto", ["lost_marker"]), ("none", [])):
        parser = StreamParser("hermes", tools=[{"name": "f"}], tool_choice=choice)
        parser.feed(text)
        parser.finish("stop")
        assert kinds(parser) == kinds_


def test_snapshot_of_a_token_parser_has_the_prompt_once():
    parser = TokenParser("hermes", Vocabulary({0: b"a"}), prompt="the prompt", record=True)
    snapshot = parser.snapshot()
    assert snapshot.count("the prompt") == 1
    assert json.loads(snapshot)["options"]["prompt"] == ""


def test_internal_error_at_the_start_has_a_span_at_zero(monkeypatch):
    def breaks(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(grammar, "tool_calls", breaks)
    for prompt in ("", f"<|start|>model\n{CALL}"):
        parser = StreamParser(TAGS, prompt=prompt)
        parser.feed(CALL)
        parser.finish("stop")
        assert parser.message.content == CALL
        assert [(issue.kind, issue.span) for issue in parser.issues] == [("internal_error", (0, 0))]
