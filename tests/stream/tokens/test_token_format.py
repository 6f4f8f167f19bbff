"""A format in the tokens of a vocabulary."""

from __future__ import annotations

import sys
from threading import Event, Thread

import pytest

from deltaparse import UsageError, Vocabulary, get_format
from deltaparse.stream.tokens.token_format import FIRST_STRAY, LAST, TokenFormat, token_format

from ...strategies.token_texts import CALL, QWEN, TOOLS, Text
from ...strategies.wire_by_hand import TAGS


def test_more_special_tokens_than_there_are_characters_for():
    """Each has one of its own, as long as there are some; beyond that it is its text."""
    many = LAST - FIRST_STRAY + 2  # with that of the marker
    texts = ["<think>", *(f"<{id}>" for id in range(many + 2))]
    vocabulary = Vocabulary(
        {id: text.encode() for id, text in enumerate(texts)}, special=range(len(texts))
    )
    fmt = TokenFormat(get_format("qwen3"), vocabulary, "token")
    chars = [fmt.character_of(id, text) for id, text in enumerate(texts)]
    assert len(set(chars[:many])) == many
    assert all(0xD800 <= ord(char) <= 0xDFFF for char in chars[:many])
    assert chars[many:] == texts[many:]
    assert [fmt.character_of(id, text) for id, text in enumerate(texts)] == chars
    assert [fmt.tokens[char] for char in chars[:many]] == list(enumerate(texts))[:many]


def test_a_call_that_is_spelled_is_reported_where_it_could_be_a_token():
    fmt, spelled = get_format("qwen3"), [*"<tool_call>", *CALL[1:-1], "</tool_call>"]
    for special, kinds in ((["<think>"], []), (["<think>", "<tool_call>"], ["spelled_marker"])):
        parser = Text(fmt, special, spelled).read(tools=TOOLS, markers="either")
        assert len(parser.message.tool_calls) == 1
        assert [issue.kind for issue in parser.issues] == kinds


@pytest.mark.parametrize("marker", ["<|call|>", "<|call|>in", " <|call|>in\n"])
def test_a_marker_is_named_by_its_token_or_whole(marker):
    fmt = TAGS.replace(tools={"per_call_start": "<|call|>in\n"})
    tokens = ["<|call|>", "in", "\n", '{"name": "f", "arguments": {}}', "\n", "</call>"]
    text = Text(fmt, ["<|call|>"], tokens)
    assert len(text.read().message.tool_calls) == 1
    assert text.read(markers={marker: "text"}).message.tool_calls == []


@pytest.mark.parametrize(
    ("markers", "token", "spelled"),
    [("token", "end", "content"), ("text", "end", "content"), ("either", "end", "end")],
)
def test_a_turn_ends_with_a_token_and_with_its_text_where_either_will_do(markers, token, spelled):
    fmt, end = get_format("qwen3"), "<|im_end|>"
    for tokens, role in (([end], token), (["<|im_", "end|>"], spelled)):
        parser = Text(fmt, [end], ["Hi", *tokens]).read(markers=markers)
        assert parser.roles == ["content", *([role] * len(tokens))]


def test_markers_that_are_not_named_are_tokens():
    fmt, tokens = get_format("qwen3"), ["<think>", "hm", "</think>", *CALL]
    parser = Text(fmt, ["<think>", "</think>", "<tool_call>"], tokens).read(
        markers={"<think>": "text", "</think>": "text"}
    )
    assert parser.message.reasoning_content == ""
    assert len(parser.message.tool_calls) == 1


@pytest.mark.parametrize(
    ("fmt", "markers", "said"),
    [
        (TAGS, {" ": "text"}, "unknown marker ' '"),
        (TAGS, {"<x>": "text"}, "unknown marker '<x>' .the format has '</call>', '<call>'"),
        (TAGS.replace(tools={"per_call_start": "<c>"}), {"<call>": "text"}, "format has '</call>'"),
        (TAGS, "words", 'markers must be "token", "text" or "either"'),
        (TAGS, {"<call>": None}, 'markers must be "token", "text" or "either"'),
        (TAGS.replace(tools={"per_call_start": "<\ud800"}), "token", "half a character"),
    ],
)
def test_what_is_no_marker_or_no_choice_is_refused(fmt, markers, said):
    with pytest.raises(UsageError, match=said):
        Text(fmt, ["<call>", "</call>"], ["Hi"]).parser(markers=markers)


def test_the_special_tokens_are_named_if_there_are_any():
    with pytest.raises(UsageError, match="the format has no marker with a special token"):
        Text(TAGS, [], ["Hi"]).parser(markers={"<x>": "text"})


def test_of_two_special_tokens_the_longer_one_is_the_marker():
    fmt = TAGS.replace(tools={"per_call_start": "<call>", "per_call_end": "<call>end"})
    vocabulary = Text(fmt, ["<call>", "<call>end"], []).vocabulary
    tools = token_format(fmt, vocabulary, "token").fmt.tools
    assert len({tools.per_call_start, tools.per_call_end}) == 2
    assert (len(tools.per_call_start), len(tools.per_call_end)) == (1, 1)


def test_it_is_made_once():
    fmt = get_format("qwen3")
    made = token_format(fmt, QWEN.vocabulary, "token")
    assert token_format(fmt, QWEN.vocabulary, "token") is made
    assert token_format(fmt, QWEN.vocabulary, "text") is not made
    assert token_format(fmt, Vocabulary({0: b"a"}), "token").fmt is fmt


def test_markers_are_read_while_strays_come():
    """All parsers of a format and a vocabulary share it, those of other threads too."""
    texts = ["<tool_call>", *(f"<{id}>" for id in range(900))]
    vocabulary = Vocabulary(
        {id: text.encode() for id, text in enumerate(texts)}, special=range(len(texts))
    )
    fmt, failed, all_came = TokenFormat(get_format("qwen3"), vocabulary, "token"), [], Event()

    def read():
        try:
            while not all_came.is_set():
                assert fmt.characters_in("<tool_call>") == fmt.character_of(0, "<tool_call>")
        except Exception as error:  # noqa: BLE001 - of another thread
            failed.append(error)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    readers = [Thread(target=read) for _ in range(4)]
    for thread in readers:
        thread.start()
    for id, text in enumerate(texts):
        fmt.character_of(id, text)
    all_came.set()
    for thread in readers:
        thread.join()
    sys.setswitchinterval(usual)
    assert failed == []
