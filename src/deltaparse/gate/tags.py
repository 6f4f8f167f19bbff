r"""The primary format, `<tool name="...">{...}</tool>`, found in prose, in one pass.

A tag is a call only where the model speaks for itself. It is quoted, and no call, when it stands
in fenced or indented code, in a code span, in a block quote, between quotation marks, or inside
one of the elements of `REGIONS`; in reasoning it is a draft, and left out altogether.

Markdown is read as CommonMark has it where that is certain. What is not certain puts every tag of
the text in doubt: a fence that does not stand at the start of a line, or that nothing closes; a
code span that does not end in its line; a double quotation mark that nothing closes, or that looks
as if it closed where it would open. A closing single quotation mark or element that nothing opened
puts the tags before it in doubt. So no odd mark can turn a quotation into a call; it can only cost
a call, which the model is asked for again.

A tag ends at the first closing marker, and a marker inside it is a flaw even where it stands in a
JSON string: two readings are possible, and a model can write < as \u003c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .records import Reason

__all__ = ["NAME", "Tag", "after_reasoning", "read_tags"]

NAME = re.compile(r'[^"<>&\x00-\x20\x7f]{1,128}')
"""A tool's name as the primary format can write it."""

CLOSE = "</tool>"
REASONING = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|seed:think"
REGIONS = "pre|code|samp|blockquote|example|quote|tool_response|tool_result|tool_results"

BOUNDARY = r"(?![A-Za-z0-9_.:-])"
OPENING = re.compile(rf'<tool[ \t\r\n]{{1,16}}name="({NAME.pattern})"[ \t\r\n]{{0,16}}>')
MARKER = re.compile(rf"</?tool{BOUNDARY}")
LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\r|\n|\Z)")
FENCE = re.compile(r" {0,3}+(`{3,}+|~{3,}+)([^\r\n]*+)")
SET_OFF = re.compile(r"(?: {0,3}+(?:[-*+]|\d{1,9}+[.)]) ++)*+(?: {0,3}+(>|\t)| {4})")
INLINE = re.compile(
    "(?P<ticks>`++|~{3,}+)"
    '|(?P<double>["“”„‟«»\uff02])'
    "|(?P<single>['‘’‚‛‹›])"
    f"|(?P<marker></?tool{BOUNDARY})"
    f"|(?P<region>(?i:<!--|</?(?:{REASONING}|{REGIONS}){BOUNDARY}))"
    r"|(?P<bracket>\[/?THINK\])"
)
LAST_REASONING = re.compile(rf"(?i:</(?:{REASONING})[ \t]*+>)|\[/THINK\]")
CLOSERS = {"<!--": "-->", "[think]": r"\[/THINK\]"}
IS_REASONING = re.compile(rf"(?i:</?(?:{REASONING})\Z)|\[/?THINK\]")
QUOTES = frozenset("`\"'“”„‟«»\uff02‘’‚‛‹›")


@dataclass(frozen=True, slots=True)
class Tag:
    """A marker of the format and what belongs to it; `flaw` is why it cannot be a call."""

    span: tuple[int, int]
    name: str = ""
    payload: str = ""
    flaw: Reason | None = None
    quoted: bool = False
    stray: bool = False


def read_tags(text: str) -> list[Tag]:
    """Every tag of the text that is not a draft in reasoning, in order.

    `stray` is a closing marker that closes nothing.
    """
    return _Reader(text).read() if MARKER.search(text) else []


def after_reasoning(text: str) -> str:
    """The text after its last end of reasoning; all of it when there is none."""
    end = 0
    for found in LAST_REASONING.finditer(text):
        end = found.end()
    return text[end:]


class _Reader:
    """Walks the lines once; `pos` is the end of what a tag or an element has consumed."""

    __slots__ = (
        "block_quote",
        "double",
        "doubt",
        "element_end",
        "fence",
        "marker",
        "markers",
        "paragraph",
        "pos",
        "set_off",
        "single",
        "tags",
        "text",
        "ticks",
    )

    def __init__(self, text: str) -> None:
        self.text = text
        self.markers = [*MARKER.finditer(text)]
        self.marker = 0
        self.pos = 0
        self.tags: list[Tag] = []
        self._forget()

    def read(self) -> list[Tag]:
        for line in LINE.finditer(self.text):
            start, end = line.span(1)
            if end >= self.pos:
                self._line(start, end)
        if self.doubt or self.fence or self.ticks or self.double:
            self._doubt_from(0)
        return self.tags

    def _forget(self) -> None:
        self.element_end = self.paragraph = 0
        self.fence = self.ticks = ""
        self.double = self.single = self.doubt = self.set_off = self.block_quote = False

    def _doubt_from(self, first: int) -> int:
        """Put in doubt the tags from `first` on; return the number of tags, to go on from."""
        self.tags[first:] = [
            replace(tag, flaw=tag.flaw or "ambiguous") for tag in self.tags[first:]
        ]
        return len(self.tags)

    def _line(self, start: int, end: int) -> None:
        if start >= self.pos:
            fence = FENCE.match(self.text, start, end)
            if self.fence:
                if fence and fence[1].startswith(self.fence) and not fence[2].strip(" \t"):
                    self.fence = ""
                self._mentions(end)
                return
            # A backtick after a fence of backticks: a code span, which `_inline` takes for doubt.
            if fence and not (fence[1][0] == "`" and "`" in fence[2]):
                self.fence = fence[1]
                self._mentions(end)
                return
            if not self.text[start:end].strip():
                # An apostrophe looks like a quotation mark: no further than its paragraph.
                self.block_quote = self.single = False
                self.paragraph = len(self.tags)
            set_off = SET_OFF.match(self.text, start, end)
            self.set_off = set_off is not None
            # The lines of a paragraph that follow one with ">" belong to the quotation too.
            self.block_quote |= set_off is not None and set_off[1] == ">"
        self._inline(max(start, self.pos), end)
        if self.ticks and self.pos <= end:
            self.doubt = True
            self.ticks = ""

    def _inline(self, start: int, end: int) -> None:
        for token in INLINE.finditer(self.text, start, end):
            if token.start() < self.pos:
                continue
            kind = token.lastgroup
            if kind == "marker":
                self._tag(token.start())
            elif kind == "ticks":
                self.doubt |= len(token[0]) > 2
                if not self.ticks:
                    self.ticks = token[0]
                elif self.ticks == token[0]:
                    self.ticks = ""
            elif self.ticks:
                continue
            elif kind == "double":
                opens, closes = self._sides(*token.span())
                self.doubt |= token[0] == '"' and not (closes if self.double else opens)
                self.double = not self.double
            elif kind == "single":
                opens, closes = self._sides(*token.span())
                if closes and not self.single and not opens:
                    self.paragraph = self._doubt_from(self.paragraph)
                self.single = not closes if self.single else opens
            else:
                self._element(token)

    def _sides(self, start: int, end: int) -> tuple[bool, bool]:
        """Whether a quotation mark can open here, and whether it can close."""
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        opens = not before.isalnum() and bool(after) and not after.isspace()
        closes = not after.isalnum() and bool(before) and not before.isspace()
        return opens, closes

    def _element(self, token: re.Match[str]) -> None:
        """An element that sets its text off begins here, or ends without having begun."""
        reasoning = IS_REASONING.match(token[0]) is not None
        if token[0].startswith(("</", "[/")):
            if reasoning:
                # It was opened by the prompt: all of this was reasoning.
                self.tags.clear()
                self._forget()
            else:
                self.element_end = self._doubt_from(self.element_end)
            return
        opened = token[0].lower()
        closer = CLOSERS.get(opened) or f"(?i:</{opened[1:]}){BOUNDARY}"
        found = re.compile(closer).search(self.text, token.end())
        # What is left of the closer, a ">", is text.
        end = found.end() if found else len(self.text)
        if reasoning:
            self._skip(end)
        else:
            self._mentions(end)
        self.pos = end

    def _skip(self, end: int) -> list[re.Match[str]]:
        """The markers before `end`, passed over."""
        first = self.marker
        while self.marker < len(self.markers) and self.markers[self.marker].start() < end:
            self.marker += 1
        return self.markers[first : self.marker]

    def _mentions(self, end: int) -> None:
        self.tags += [Tag(found.span(), quoted=True) for found in self._skip(end)]

    def _tag(self, start: int) -> None:
        """Read the tag whose marker stands at `start`."""
        self._mentions(start)
        opener = self.markers[self.marker]
        self.marker += 1
        tag = self._unquoted(opener)
        inside = self.set_off or self.block_quote or self.ticks or self.double or self.single
        before, after = self.text[start - 1 : start], self.text[tag.span[1] : tag.span[1] + 1]
        beside = (before in QUOTES) + (after in QUOTES)
        # A quotation mark on one side only: who knows what it belongs to.
        flaw = tag.flaw or ("ambiguous" if beside == 1 else None)
        self.tags.append(replace(tag, quoted=bool(inside) or beside == 2, flaw=flaw))

    def _unquoted(self, opener: re.Match[str]) -> Tag:
        """The tag that begins with `opener`, which is read to its end if it has one."""
        start, end = opener.span()
        if opener[0].startswith("</"):
            return Tag((start, end), stray=True)
        opening = OPENING.match(self.text, start)
        closer = self.markers[self.marker] if self.marker < len(self.markers) else None
        if opening is None:
            return Tag((start, end), flaw="malformed_call")
        if closer is None:
            return Tag((start, opening.end()), opening[1], flaw="incomplete")
        if not self.text.startswith(CLOSE, closer.start()):
            return Tag((start, opening.end()), opening[1], flaw="malformed_call")
        self.pos = closer.start() + len(CLOSE)
        self.marker += 1
        return Tag((start, self.pos), opening[1], self.text[opening.end() : closer.start()])
