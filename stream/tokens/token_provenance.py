"""The token and the role of each character of a response.

Readers read text, and report roles of text spans to a `TokenRecorder`. Only the end offset of each
token is recorded, in eight bytes. A role is recorded per span, whatever its number of tokens. Both
are combined on request.

There are two kinds of offsets. In the text that is read, a special token is one character. In the
decoded text, it has the length of its text. All results of a parser use offsets of the decoded
text.
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

__all__ = ["ROLES", "RoleSpan", "TokenRecorder", "TokenRole"]

TokenRole = Literal["content", "reasoning", "name", "arguments", "marker", "end", "dropped"]
"""The role of a token; see `TokenParser.roles`."""

ROLES: tuple[TokenRole, ...] = (
    "marker",
    "content",
    "reasoning",
    "name",
    "arguments",
    "end",
    "dropped",
)
"""The roles by the numbers of `TextRole`."""

SAME = re.compile(rb"(.)\1*", re.DOTALL)
"""A run of equal bytes."""

CHARACTER = re.compile(f"[{SURROGATES}]")
# A surrogate as `repr` and JSON spell it, unless its backslash is itself escaped.
SPELLED = re.compile(r"((?<!\\)(?:\\\\)*)\\u([dD][89a-fA-F][0-9a-fA-F]{2})")

# The setup of `accumulate` costs more than a loop over few texts.
FEW = 8
"""The number of texts below which a loop counts their ends faster."""

Report = TypeVar("Report", Issue, Attempt)
Span = tuple[int, int]


class RoleSpan(NamedTuple):
    """A span `text[start:end]` of the response with its role."""

    start: int
    end: int
    role: TokenRole


@dataclass(slots=True)
class PartStretch:
    """The span of a part in the text that is read, with spans of a call's name and arguments."""

    start: int
    end: int
    name: Span = (0, 0)
    arguments: Span = (0, 0)


class TokenRecorder:
    """The token ends, special tokens and text roles of one turn.

    Args:
        fmt: the special tokens by character.
        raw: True if markers are emitted as text, so that they are never stray tokens.
        stray: the policy for stray tokens, i.e. special tokens outside of markers.
        keeps: True to record tokens and roles, False to record offsets only.
    """

    # Slots, because the attributes are read for each token.
    __slots__ = (
        "_chars",
        "_extra",
        "_fmt",
        "_last",
        "_next",
        "_policy",
        "_raw",
        "_repaired",
        "_roles",
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
    """The issues of the sink, set when the sink is made."""

    def __init__(self, fmt: TokenFormat, *, raw: bool, stray: str, keeps: bool) -> None:
        self._fmt = fmt
        self._raw = raw
        self._policy = stray
        self.keeps = keeps
        self.silent = False
        self.behind = 0
        # Weak reference: window -> emitter -> self would be a cycle.
        self._window: Callable[[], Window | None] = lambda: None
        self._repaired: Callable[[], Window | None] = lambda: None
        # Twice the end offset of each token, plus one if the token ends within the next character.
        # So one search finds the first or the last token of a character.
        self.ends = array("Q")
        self.end = 0
        # The offset up to which deltas were emitted.
        self.emitted = 0
        # The offsets and characters of special tokens, and the characters that their texts so far
        # add to the decoded text. Arrays, because a list needs several times the memory.
        self._special = array("Q")
        self._chars = array("H")
        self._extra = array("Q")
        self._next = 0
        self._roles: list[tuple[int, int, TextRole]] = []
        self._last: tuple[int, int, TextRole] = (0, 0, TextRole.MARKER)
        self._tail, self._tail_end = "", 0
        self.parts: list[PartStretch] = []

    def reads(self, window: Window, repaired: Window | None = None) -> None:
        """Set the window from which the next emitted text was read.

        Args:
            window: the window.
            repaired: the window of repaired text, if the text was read from one.
        """
        # Weak references, as in `__init__`.
        self._window = ref(window)
        self._repaired = ref(repaired) if repaired is not None else lambda: None

    @property
    def offset(self) -> int:
        """The end of the text that was read, for text that is emitted right after reading."""
        window, repaired = self._window(), self._repaired()
        behind = self.behind + (len(repaired.unread) if repaired is not None else 0)
        return (window.offset if window is not None else self.end) - behind

    def token(self, size: int, *, cut: bool = False) -> None:
        """Record the next token.

        Args:
            size: the number of characters of its text.
            cut: True if the token ends within the following character.
        """
        self.end += size
        if self.keeps:
            self.ends.append(2 * self.end + cut)

    def passed(self, texts: list[str]) -> None:
        """Record the next tokens, which have these texts."""
        # Offsets are needed even if tokens are not recorded.
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
        """Record a special token.

        Args:
            char: its character, or its text if it is read as text.
            text: its text.
        """
        self._special.append(self.end)
        self._chars.append(ord(char[0]))
        self._extra.append((self._extra[-1] if self._extra else 0) + len(text) - len(char))

    def set_role(self, start: int, end: int, role: TextRole) -> None:
        """Record the role of the text between two offsets, overriding earlier roles."""
        # Offsets of the prompt are negative.
        start = max(start, 0)
        if end <= start or self.silent or not self.keeps:
            return
        first, last, before = self._last
        # Merged, because text is usually emitted in many small pieces.
        if role is before and start == last:
            self._last = first, end, role
        else:
            self._roles.append(self._last)
            self._last = start, end, role

    def rewind(self, start: int) -> None:
        """Set the offset of the next emitted text, which precedes text that was emitted."""
        self.emitted = start

    def called(self, name: Span, arguments: Span) -> None:
        """Record the spans of the name and arguments of the last call."""
        part = self.parts[-1]
        part.name, part.arguments = name, arguments

    def stand(self, start: int, end: int) -> Span | None:
        """Record that text was emitted in the last part, and return the range of its tokens.

        The range of `silent` text is empty.
        """
        # Silent text was inserted, so it has no tokens of its own.
        if self.silent:
            return self._empty_range(end)
        part = self.parts[-1]
        if part.start < 0:
            part.start = start
        # Buffered text may be emitted after later text, so the offset must not decrease.
        self.emitted = max(self.emitted, end)
        return self.tokens(start, end)

    def _empty_range(self, offset: int) -> Span:
        """Return the empty range after the tokens that end at or before an offset."""
        count = bisect_right(self.ends, 2 * offset)
        return count, count

    def begin_part(self) -> None:
        """Begin a part."""
        self.end_part()
        self.parts.append(PartStretch(-1, -1))

    def end_part(self) -> None:
        """End the open part."""
        if self.parts:
            self.parts[-1].end = max(self.parts[-1].end, self.emitted)

    def look(self, text: str, end: int) -> None:
        """Report text that is spelled like a marker, if the marker counts only as a token.

        Args:
            text: the emitted text.
            end: the offset of its end.
        """
        pattern = self._fmt.look_alike
        if pattern is None or self.silent:
            return
        # A marker may be split between two texts, so the tail of the last one is searched again.
        before = self._tail if end - len(text) == self._tail_end else ""
        both = before + text
        for found in pattern.finditer(both):
            at = end - len(both) + found.start()
            # A match within the tail was reported with the last text.
            if found.end(1) > len(before):
                detail = f"{found[1]!r} is spelled in ordinary tokens, so it is kept as text"
                self.issues.append(Issue("spelled_marker", (at, at + len(found[1])), detail))
        # A longer tail would contain a complete marker, which was found above.
        self._tail, self._tail_end = both[max(len(both) - self._fmt.longest + 1, 0) :], end

    def text_of(self, text: str) -> str:
        """Replace characters in emitted text with the texts of their tokens, and report them."""
        return CHARACTER.sub(lambda found: self._stray(found[0]), text)

    def json_of(self, text: str) -> str:
        """Replace characters as `text_of` in JSON strings, in which they may be escaped."""
        # If the characters are not escaped here, an escape in the text was written by the model.
        if not is_whole(text):
            return CHARACTER.sub(lambda found: _in_json(self._stray(found[0])), text)
        # Tokens of emitted text cannot occur again.
        coming = {chr(code) for code in self._chars[bisect_left(self._special, self.emitted) :]}
        # Nearly all text ends here, because special tokens are rare in arguments.
        if not coming:
            return text

        def written(found: re.Match[str]) -> str:
            char = chr(int(found[2], 16))
            return found[1] + _in_json(self._stray(char)) if char in coming else found[0]

        return SPELLED.sub(written, text)

    def _stray(self, char: str) -> str:
        id, text = self._fmt.tokens[char]
        # Before any return, because each occurrence must be counted.
        at = self._next_of(char)
        # Raw output contains markers, so a marker's token in it is not stray.
        if self._raw and char in self._fmt.marker_ids:
            return text
        dropped = self._policy == "drop"
        became = "dropped" if dropped else "kept as text"
        detail = f"{text!r}, token {id}, is not a marker here, so it is {became}"
        # Reported before the error is raised, so that the issue is kept if it is caught.
        self.issues.append(Issue("stray_token", (at, at + 1), detail))
        if self._policy == "error":
            raise MalformedOutput(detail, kind="stray_token", span=(at, at + 1))
        if dropped:
            self.set_role(at, at + 1, TextRole.DROPPED)
        return "" if dropped else text

    def _next_of(self, char: str) -> int:
        """Return the offset of the next special token with this character."""
        # Special tokens are emitted in order, so earlier ones need not be searched again.
        code, chars = ord(char), self._chars
        for place in range(self._next, len(chars)):
            if chars[place] == code:
                self._next = place + 1
                return self._special[place]
        return self.emitted

    def begin_call(self, name: str, start: int) -> None:
        """Report a call with markers in ordinary tokens, if markers may be tokens or text.

        Args:
            name: the name of the function.
            start: the offset of the call.
        """
        # A special token after the start means that the call has its marker.
        place = bisect_left(self._special, start)
        if self._fmt.either_opens and place == len(self._special):
            detail = f"the markers of the call of {name!r} are spelled in ordinary tokens"
            self.issues.append(Issue("spelled_marker", (start, self.offset), detail))

    def decoded(self, offset: int) -> int:
        """Convert an offset in the text that is read to an offset in the decoded text."""
        before = bisect_left(self._special, offset)
        return offset + (self._extra[before - 1] if before else 0)

    def span(self, start: int, end: int) -> Span:
        """Convert both ends of a span to the decoded text."""
        return self.decoded(start), self.decoded(end)

    def tokens(self, start: int, end: int) -> Span | None:
        """Return the range of the tokens with text between two offsets.

        For an empty span, return the token before it. Returns None if no token precedes it.
        """
        if start >= end:
            start = end - 1
        ends = self.ends
        count = len(ends)
        if end <= 0 or not count:
            return None
        start = 2 * start if start > 0 else 0
        # Nearly always it is one of the last two tokens, so the search is avoided.
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
        """Return the role of each token, which is that of its last character."""
        # Filled by span, because a response has far more tokens than spans.
        roles = bytearray(len(self.ends))
        for start, end, what in (*self._roles, self._last):
            # A token ends in the span if its end is after the start, and not after the end.
            first, last = (bisect_left(self.ends, 2 * at + 1) for at in (start, end))
            roles[first:last] = bytes((what,)) * (last - first)
        return [ROLES[role] for role in roles]

    def role_spans(self, size: int) -> list[RoleSpan]:
        """Return the roles of the first `size` characters as spans without gaps."""
        # Runs of equal bytes are then found by one pattern.
        roles = bytearray(size)
        for start, end, what in (*self._roles, self._last):
            roles[start:end] = bytes((what,)) * (min(end, size) - start)
        return [
            RoleSpan(*self.span(*same.span()), ROLES[same[1][0]]) for same in SAME.finditer(roles)
        ]

    def told(self, report: Report) -> Report:
        """Return an issue or attempt with offsets and texts of the decoded text."""
        span, detail = self.span(*report.span), self._plain(report.detail)
        # Only attempts have a name and tokens.
        if isinstance(report, Attempt):
            tokens = self.tokens(*report.span)
            name = CHARACTER.sub(lambda found: self._fmt.tokens[found[0]][1], report.name)
            return replace(report, name=name, span=span, detail=detail, tokens=tokens)
        return replace(report, span=span, detail=detail)

    def placed(self, part: Part, stretch: PartStretch) -> Part:
        """Return a part of the message with its token range and its span in the decoded text."""
        # If no text of the part was read, all of it was inserted.
        inserted = stretch.start < 0
        # The end of the emitted text depends on buffering, so a call has the end of its arguments.
        end = max(stretch.name[1], stretch.arguments[1]) or stretch.end
        tokens = self._empty_range(end) if inserted else self.tokens(stretch.start, end)
        # Only calls have spans and ranges of their own parts.
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
        """Replace the escaped characters in the detail of a report with the texts of tokens."""

        def written(found: re.Match[str]) -> str:
            known = self._fmt.tokens.get(chr(int(found[2], 16)))
            return found[1] + repr(known[1])[1:-1] if known else found[0]

        # The pattern starts with a lookbehind, so it is slower than a search for the escape.
        return SPELLED.sub(written, text) if "\\u" in text else text


def _in_json(text: str) -> str:
    """Return a text as the inside of a JSON string."""
    return encode_basestring(text)[1:-1]
