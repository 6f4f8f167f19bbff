"""Which token each character came from, and what became of it.

Readers know nothing of tokens: they read text, and say of stretches of it what they were. So all
that is kept of a token is where its text ends, eight bytes, and what is said of a stretch is kept
as that, however many tokens it has. Both are brought together when somebody asks.

Two kinds of offsets: in the text that is read, a special token is one character; in the decoded
text, it has all that its text has. What leaves the parser counts decoded text.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from json.encoder import encode_basestring
from operator import add
from typing import Literal, NamedTuple, TypeVar
from weakref import ref

from deltaparse.partial import SURROGATES, MalformedOutput, Window, is_whole

from ..message.message import Attempt, Issue, Part, ToolCall
from ..message.provenance import TextRole
from ..message.reports import Issues
from .token_format import TokenFormat

__all__ = ["ROLES", "RoleSpan", "TokenRole", "TokenTrail"]

TokenRole = Literal["content", "reasoning", "name", "arguments", "marker", "end", "dropped"]
"""What a token was; see `TokenParser.roles`."""

ROLES: tuple[TokenRole, ...] = (
    "marker",
    "content",
    "reasoning",
    "name",
    "arguments",
    "end",
    "dropped",
)
"""The roles by the numbers of `Said`."""

SAME = re.compile(rb"(.)\1*", re.DOTALL)
"""As many equal bytes as stand behind one another."""

CHARACTER = re.compile(f"[{SURROGATES}]")
# The same as `repr` and JSON spell it, if no backslash stands before it that takes it away.
SPELLED = re.compile(r"((?<!\\)(?:\\\\)*)\\u([dD][89a-fA-F][0-9a-fA-F]{2})")

FEW = 8
"""Of fewer texts than these, the ends are counted up sooner one by one."""

Report = TypeVar("Report", Issue, Attempt)
Span = tuple[int, int]


class RoleSpan(NamedTuple):
    """A stretch of the output, `text[start:end]`, and what it was."""

    start: int
    end: int
    role: TokenRole


@dataclass(slots=True)
class PartStretch:
    """Where a part stands in the text that is read; of a call, its name and arguments too."""

    start: int
    end: int
    name: Span = (0, 0)
    arguments: Span = (0, 0)


class TokenTrail:
    """Where the tokens of one turn end, where special tokens stand, and what was said of the text.

    Args:
        fmt: what the characters of special tokens stand for.
        raw: markers come out too, and are none out of place.
        stray: the policy for special tokens that are out of place.
        keeps: tokens are told apart; otherwise only offsets are known.
    """

    __slots__ = (
        "_chars",
        "_extra",
        "_fmt",
        "_last",
        "_next",
        "_policy",
        "_raw",
        "_repaired",
        "_said",
        "_special",
        "_tail",
        "_tail_end",
        "_window",
        "behind",
        "emitted",
        "end",
        "ends",
        "issues",
        "keeps",
        "parts",
        "silent",
    )

    issues: Issues
    """Where what is out of place is reported: those of the sink, once there is one."""

    def __init__(self, fmt: TokenFormat, *, raw: bool, stray: str, keeps: bool) -> None:
        self._fmt = fmt
        self._raw = raw
        self._policy = stray
        self.keeps = keeps
        self.silent = False
        self.behind = 0
        # Weakly, for the window refers to what emits, and that to this.
        self._window: Callable[[], Window | None] = lambda: None
        self._repaired: Callable[[], Window | None] = lambda: None
        # Twice the offset at which each token's text ends, and one more if it ends within the
        # character that stands there: so one search finds the first or the last token of it.
        self.ends = array("Q")
        self.end = 0
        # Up to where deltas came out.
        self.emitted = 0
        # Of special tokens: offsets, characters, and how much longer all texts so far are.
        self._special = array("Q")
        self._chars = array("H")
        self._extra = array("Q")
        self._next = 0
        self._said: list[tuple[int, int, TextRole]] = []
        self._last: tuple[int, int, TextRole] = (0, 0, TextRole.MARKER)
        self._tail, self._tail_end = "", 0
        self.parts: list[PartStretch] = []

    def reads(self, window: Window, repaired: Window | None = None) -> None:
        """What is emitted next was read from this window, or from what was `repaired` of it."""
        self._window = ref(window)
        self._repaired = ref(repaired) if repaired is not None else lambda: None

    @property
    def offset(self) -> int:
        """Up to where the text was read, for what is emitted right behind that."""
        window, repaired = self._window(), self._repaired()
        behind = self.behind + (len(repaired.unread) if repaired is not None else 0)
        return (window.offset if window is not None else self.end) - behind

    def token(self, size: int, *, cut: bool = False) -> None:
        """Take a token whose text adds `size` characters; `cut`: it ends within one more."""
        self.end += size
        if self.keeps:
            self.ends.append(2 * self.end + cut)

    def passed(self, texts: list[str]) -> None:
        """Take tokens with these texts."""
        if not self.keeps:
            self.end += sum(map(len, texts))
            return
        if len(texts) < FEW:
            end = self.end
            for text in texts:
                end += len(text)
                self.ends.append(end + end)
            self.end = end
            return
        ends = list(accumulate(map(len, texts), initial=self.end))
        self.end = ends[-1]
        self.ends.extend(map(add, ends[1:], ends[1:]))

    def special(self, char: str, text: str) -> None:
        """Take note of a special token, which is read as `char`, or as all of its text."""
        self._special.append(self.end)
        self._chars.append(ord(char[0]))
        self._extra.append((self._extra[-1] if self._extra else 0) + len(text) - len(char))

    def said(self, start: int, end: int, what: TextRole) -> None:
        """The text between two offsets was this; what is said last counts."""
        start = max(start, 0)
        if end <= start or self.silent or not self.keeps:
            return
        first, last, before = self._last
        if what is before and start == last:
            self._last = first, end, what
        else:
            self._said.append(self._last)
            self._last = start, end, what

    def goes_back(self, start: int) -> None:
        """What is emitted next was read from this offset on, behind which something came out."""
        self.emitted = start

    def called(self, name: Span, arguments: Span) -> None:
        """The name and the arguments of the call that was begun last stand here."""
        part = self.parts[-1]
        part.name, part.arguments = name, arguments

    def stand(self, start: int, end: int) -> Span | None:
        """The text between two offsets comes out, in the last part; return its tokens.

        What is `silent` has none: an empty range, where it comes out.
        """
        if self.silent:
            return self._nothing(end)
        part = self.parts[-1]
        if part.start < 0:
            part.start = start
        self.emitted = max(self.emitted, end)
        return self.tokens(start, end)

    def _nothing(self, offset: int) -> Span:
        """The empty range of tokens at an offset: behind those that end before it."""
        count = bisect_right(self.ends, 2 * offset)
        return count, count

    def begin_part(self) -> None:
        """Another part begins."""
        self.end_part()
        self.parts.append(PartStretch(-1, -1))

    def end_part(self) -> None:
        """No more comes of the part that is open."""
        if self.parts:
            self.parts[-1].end = max(self.parts[-1].end, self.emitted)

    def look(self, text: str, end: int) -> None:
        """Report what is spelled like a marker that counts as a token only; it ends at `end`."""
        pattern = self._fmt.look_alike
        if pattern is None or self.silent:
            return
        before = self._tail if end - len(text) == self._tail_end else ""
        both = before + text
        for found in pattern.finditer(both):
            at = end - len(both) + found.start()
            if found.end(1) > len(before):
                detail = f"{found[1]!r} is spelled in ordinary tokens, and is text"
                self.issues.append(Issue("spelled_marker", (at, at + len(found[1])), detail))
        self._tail, self._tail_end = both[max(len(both) - self._fmt.longest + 1, 0) :], end

    def text_of(self, text: str) -> str:
        """Text that comes out with the texts of special tokens, which are reported."""
        return CHARACTER.sub(lambda found: self._stray(found[0]), text)

    def json_of(self, text: str) -> str:
        """The same inside of strings in JSON, which may have spelled such characters."""
        if not is_whole(text):  # they stand as they are, and what is spelled the model wrote
            return CHARACTER.sub(lambda found: _in_json(self._stray(found[0])), text)
        coming = {chr(code) for code in self._chars[bisect_left(self._special, self.emitted) :]}
        if not coming:
            return text

        def written(found: re.Match[str]) -> str:
            char = chr(int(found[2], 16))
            return found[1] + _in_json(self._stray(char)) if char in coming else found[0]

        return SPELLED.sub(written, text)

    def _stray(self, char: str) -> str:
        id, text = self._fmt.tokens[char]
        at = self._next_of(char)
        if self._raw and char in self._fmt.marker_ids:
            return text
        dropped = self._policy == "drop"
        became = "left out" if dropped else "text"
        detail = f"{text!r}, token {id}, stands where it is no marker, and is {became}"
        self.issues.append(Issue("stray_token", (at, at + 1), detail))
        if self._policy == "error":
            raise MalformedOutput(detail, kind="stray_token", span=(at, at + 1))
        if dropped:
            self.said(at, at + 1, TextRole.DROPPED)
        return "" if dropped else text

    def _next_of(self, char: str) -> int:
        """Where the next special token of this character stands: they come out in order."""
        code, chars = ord(char), self._chars
        for place in range(self._next, len(chars)):
            if chars[place] == code:
                self._next = place + 1
                return self._special[place]
        return self.emitted

    def begin_call(self, name: str, start: int) -> None:
        """Report a call whose markers were spelled, where they may be tokens or text."""
        place = bisect_left(self._special, start)
        if self._fmt.either_opens and place == len(self._special):
            detail = f"the markers of the call of {name!r} are spelled in ordinary tokens"
            self.issues.append(Issue("spelled_marker", (start, self.offset), detail))

    def decoded(self, offset: int) -> int:
        """The offset in the decoded text of an offset in the text that is read."""
        before = bisect_left(self._special, offset)
        return offset + (self._extra[before - 1] if before else 0)

    def span(self, start: int, end: int) -> Span:
        """The same for both ends of a span."""
        return self.decoded(start), self.decoded(end)

    def tokens(self, start: int, end: int) -> Span | None:
        """The tokens that have a part of a stretch of text; of none, the one before it."""
        if start >= end:
            start = end - 1
        ends = self.ends
        count = len(ends)
        if end <= 0 or not count:
            return None
        start = 2 * start if start > 0 else 0
        # Nearly always it is the token that came last, or the one before it.
        before = ends[-2] if count > 1 else 0
        first, last = count - 1, count
        if before > start:
            first = count - 2
            if first and ends[-3] > start:
                first = bisect_left(ends, start + 1)
            if before >= 2 * end:
                last = bisect_left(ends, 2 * end) + 1
        return first, last

    def roles(self) -> list[TokenRole]:
        """What each token was, by its last character."""
        roles = bytearray(len(self.ends))
        for start, end, what in (*self._said, self._last):
            first, last = (bisect_left(self.ends, 2 * at + 1) for at in (start, end))
            roles[first:last] = bytes((what,)) * (last - first)
        return [ROLES[role] for role in roles]

    def role_spans(self, size: int) -> list[RoleSpan]:
        """What each of the first `size` characters was: spans without gaps between them."""
        roles = bytearray(size)
        for start, end, what in (*self._said, self._last):
            roles[start:end] = bytes((what,)) * (min(end, size) - start)
        return [
            RoleSpan(*self.span(*same.span()), ROLES[same[1][0]]) for same in SAME.finditer(roles)
        ]

    def told(self, report: Report) -> Report:
        """An issue or an attempt in terms of the decoded text."""
        span, detail = self.span(*report.span), self._plain(report.detail)
        if isinstance(report, Attempt):
            tokens = self.tokens(*report.span)
            name = CHARACTER.sub(lambda found: self._fmt.tokens[found[0]][1], report.name)
            return replace(report, name=name, span=span, detail=detail, tokens=tokens)
        return replace(report, span=span, detail=detail)

    def placed(self, part: Part, stretch: PartStretch) -> Part:
        """A part of the message with its place in tokens, and in the decoded text."""
        none = stretch.start < 0  # all of it is text that was inserted
        # When a call came out depends on what else was there: where it stands does not.
        end = max(stretch.name[1], stretch.arguments[1]) or stretch.end
        tokens = self._nothing(end) if none else self.tokens(stretch.start, end)
        if not isinstance(part, ToolCall):
            return replace(part, tokens=tokens)
        return replace(
            part,
            span=self.span(*part.span),
            tokens=tokens,
            name_tokens=self.tokens(*stretch.name),
            arguments_tokens=self.tokens(*stretch.arguments),
        )

    def _plain(self, text: str) -> str:
        """What a report says, which spells what it quotes, with the texts of special tokens."""

        def written(found: re.Match[str]) -> str:
            known = self._fmt.tokens.get(chr(int(found[2], 16)))
            return found[1] + repr(known[1])[1:-1] if known else found[0]

        return SPELLED.sub(written, text) if "\\u" in text else text


def _in_json(text: str) -> str:
    """A text as it stands inside of a string in JSON."""
    return encode_basestring(text)[1:-1]
