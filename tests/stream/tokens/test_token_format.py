"""A format in the tokens of a vocabulary."""

from __future__ import annotations

import sys
from threading import Event, Thread

import pytest

from deltaparse import UsageError, Vocabulary, get_format
from deltaparse.stream.tokens.token_format import FIRST_STRAY, LAST, TokenFormat, token_format

from ...strategies.token_texts import CALL, QWEN, TOOLS, Text
from ...strategies.wire_by_hand import TAGS


def test_more_special_tokens_than_characters():
    """Each token has its own character, or its text if all characters are used."""
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


def test_spelled_call_is_reported_if_its_marker_is_a_token():
    fmt, spelled = get_format("qwen3"), [*"<tool_call>", *CALL[1:-1], "</tool_call>"]
    for special, kinds in ((["<think>"], []), (["<think>", "<tool_call>"], ["spelled_marker"])):
        parser = Text(fmt, special, spelled).read(tools=TOOLS, markers="either")
        assert len(parser.message.tool_calls) == 1
        assert [issue.kind for issue in parser.issues] == kinds


@pytest.mark.parametrize("marker", ["<|call|>", "<|call|>in", " <|call|>in\n"])
def test_marker_is_named_by_its_token_or_its_text(marker):
    fmt = TAGS.replace(tools={"per_call_start": "<|call|>in\n"})
    tokens = ["<|call|>", "in", "\n", '{"name": "f", "arguments": {}}', "\n", "</call>"]
    text = Text(fmt, ["<|call|>"], tokens)
    assert len(text.read().message.tool_calls) == 1
    assert text.read(markers={marker: "text"}).message.tool_calls == []


@pytest.mark.parametrize(
    ("markers", "token", "spelled"),
    [("token", "end", "content"), ("text", "end", "content"), ("either", "end", "end")],
)
def test_spelled_end_of_turn_counts_only_with_either(markers, token, spelled):
    fmt, end = get_format("qwen3"), "<|im_end|>"
    for tokens, role in (([end], token), (["<|im_", "end|>"], spelled)):
        parser = Text(fmt, [end], ["Hi", *tokens]).read(markers=markers)
        assert parser.roles == ["content", *([role] * len(tokens))]


def test_unnamed_markers_are_tokens():
    fmt, tokens = get_format("qwen3"), ["<think>", "hm", "</think>", *CALL]
    parser = Text(fmt, ["<think>", "</think>", "<tool_call>"], tokens).read(
        markers={"<think>": "text", "</think>": "text"}
    )
    assert parser.message.reasoning_content == ""
    assert len(parser.message.tool_calls) == 1


@pytest.mark.parametrize(
    ("fmt", "markers", "message"),
    [
        (TAGS, {" ": "text"}, "unknown marker ' '"),
        (TAGS, {"<x>": "text"}, "unknown marker '<x>' .the format has '</call>', '<call>'"),
        (TAGS.replace(tools={"per_call_start": "<c>"}), {"<call>": "text"}, "format has '</call>'"),
        (TAGS, "words", 'markers must be "token", "text" or "either"'),
        (TAGS, {"<call>": None}, 'markers must be "token", "text" or "either"'),
        (TAGS.replace(tools={"per_call_start": "<\ud800"}), "token", "half a character"),
    ],
)
def test_unknown_markers_and_spellings_are_refused(fmt, markers, message):
    with pytest.raises(UsageError, match=message):
        Text(fmt, ["<call>", "</call>"], ["Hi"]).parser(markers=markers)


def test_format_without_special_tokens_is_reported():
    with pytest.raises(UsageError, match="the format has no marker with a special token"):
        Text(TAGS, [], ["Hi"]).parser(markers={"<x>": "text"})


def test_longer_special_token_is_the_marker():
    fmt = TAGS.replace(tools={"per_call_start": "<call>", "per_call_end": "<call>end"})
    vocabulary = Text(fmt, ["<call>", "<call>end"], []).vocabulary
    tools = token_format(fmt, vocabulary, "token").fmt.tools
    assert len({tools.per_call_start, tools.per_call_end}) == 2
    assert (len(tools.per_call_start), len(tools.per_call_end)) == (1, 1)


def test_token_format_is_cached():
    fmt = get_format("qwen3")
    made = token_format(fmt, QWEN.vocabulary, "token")
    assert token_format(fmt, QWEN.vocabulary, "token") is made
    assert token_format(fmt, QWEN.vocabulary, "text") is not made
    assert token_format(fmt, Vocabulary({0: b"a"}), "token").fmt is fmt


def test_markers_are_read_while_other_threads_add_strays():
    """Parsers in several threads share a token format."""
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
