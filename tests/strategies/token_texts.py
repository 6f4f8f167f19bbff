"""Texts split into tokens of a custom vocabulary, with known special tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hypothesis import strategies as st

from deltaparse import TokenParser, Vocabulary, get_format

from .wire_parts import markers_of

BYTES = 256


@dataclass
class Ids:
    """Ids for the given special tokens, for each byte, and for new texts on demand."""

    special: list
    tokens: dict = field(default_factory=dict)

    def __post_init__(self):
        self.tokens = {id: bytes([id]) for id in range(BYTES)}
        self.tokens |= {BYTES + at: text.encode() for at, text in enumerate(self.special)}
        self.known = {}

    def of_special(self, text):
        return BYTES + self.special.index(text)

    def of(self, token):
        """Return the id of an ordinary token, possibly only a part of a character."""
        if len(token) == 1:
            return token[0]
        if token not in self.known:
            self.known[token] = len(self.tokens)
            self.tokens[self.known[token]] = token
        return self.known[token]

    def vocabulary(self):
        return Vocabulary(self.tokens, special=range(BYTES, BYTES + len(self.special)))


def cores_of(fmt):
    """Return the possible special tokens of a format: markers without other markers inside."""
    cores = {marker.strip() for marker in markers_of(fmt)} - {""}
    return sorted(core for core in cores if not any(other in core for other in cores - {core}))


def pattern_of(special):
    """Return a pattern that finds special tokens like a tokenizer."""
    return "|".join(map(re.escape, sorted(special, key=len, reverse=True)))


def crossed(fmt, text, special):
    """Return whether a special token crosses the border of a marker, which only a value may do."""
    tokens = [found.span() for found in re.finditer(pattern_of(special), text) if special]
    markers = [
        found.span(1)
        for core in {marker.strip() for marker in markers_of(fmt)}
        for found in re.finditer(f"(?=({re.escape(core)}))", text)
    ]
    return any(
        start < first < end < last or first < start < last < end
        for start, end in tokens
        for first, last in markers
    )


def pieces(data, text, special):
    """Split the text into special tokens and the bytes between them, like a tokenizer."""
    pattern = pattern_of(special)
    for part in re.split(f"({pattern})", text) if pattern else [text]:
        if part in special:
            yield part
        else:
            yield from ordinary(data, part.encode())


def ordinary(data, text):
    """Split bytes into ordinary tokens, also within characters."""
    while text:
        size = data.draw(st.integers(1, 6))
        yield text[:size]
        text = text[size:]


def tokenized(data, fmt, text, special):
    """Return the ids of a text and their vocabulary."""
    ids = Ids(sorted(special))
    made = [
        ids.of_special(part) if isinstance(part, str) else ids.of(part)
        for part in pieces(data, text, special)
    ]
    return made, ids.vocabulary()


@st.composite
def groups(draw, ids):
    """Draw groups of ids, as in speculative decoding."""
    made, at = [], 0
    while at < len(ids):
        size = draw(st.integers(1, 4))
        made.append(ids[at] if size == 1 else ids[at : at + size])
        at += size
    return made


def _ends_in_part(prompt, core):
    """Return whether a prompt ends with a proper prefix of a marker."""
    return any(prompt.endswith(core[:length]) for length in range(1, len(core)))


def drawn_special(data, fmt):
    """Draw some markers of a format as special tokens, none of them started by a prompt."""
    prompt = fmt.turn.generation_prompt
    cores = [core for core in cores_of(fmt) if not _ends_in_part(prompt, core)]
    return set(data.draw(st.lists(st.sampled_from(cores), max_size=8))) if cores else set()


TOOLS = [{"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "n": {}}}}]


class Text:
    """A text as a list of tokens, with the special ones in `special`."""

    def __init__(self, fmt, special, *tokens):
        tokens = [token for some in tokens for token in some]
        ids = Ids(special)
        self.tokens = tokens
        self.ids = [
            ids.of_special(token) if token in special else ids.of(token.encode())
            for token in tokens
        ]
        self.vocabulary = ids.vocabulary()
        self.fmt = fmt

    def parser(self, **options):
        return TokenParser(self.fmt, self.vocabulary, **options)

    def read(self, reason="stop", **options):
        parser = self.parser(**options)
        for id in self.ids:
            parser.feed(id)
        parser.finish(reason)
        return parser


HERMES = ["<tool_call>", "</tool_call>", "<|im_end|>", "<|im_start|>", "<think>", "</think>"]
CALL = ["<tool_call>", "\n", '{"', "name", '": "', "f", '", "', "arguments", '": ']
CALL += ['{"', "a", '": "', "x", '"}', "}\n", "</tool_call>"]
QWEN = Text(get_format("qwen3"), HERMES, ["Hi", "!", "\n", *CALL, "<|im_end|>"])
