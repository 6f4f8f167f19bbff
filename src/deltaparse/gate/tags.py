r"""One-pass reader of the primary format, `<tool name="...">{...}</tool>`, in prose.

A tag is a call only in the model's own words (see the table of the package). Tags in code,
quotations and similar text are quoted. Tags in reasoning are drafts and are omitted.

Markdown is read by the rules of CommonMark as far as they are unambiguous. Each ambiguity makes
every tag of the text doubtful:

- a fence in the middle of a line, an unclosed fence, or one that may end with its list item;
- a code span that does not end in its line, or backticks that are escaped, inside an element or
  after a link that may contain them;
- strikethrough that does not end in its line, has brackets in it, or is not around words; an
  escaped "~";
- an unclosed quotation mark, or one that seems to close without an opening one;
- hidden marks, e.g. direction controls and character references;
- text after the end of the turn.

Other ambiguities affect only some tags:

- a bracket or another sign directly next to a tag, or alone before it in its line;
- the message of another role, or an unknown special token, before a tag;
- an unknown element around a tag, or an unopened end tag after it.

An odd mark therefore never turns a quotation into a call. At worst a call is lost and requested
again.

A tag ends at the first closing marker. A marker inside the arguments is a flaw, even in a JSON
string, because the text is ambiguous. Models can write < as \u003c.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from unicodedata import category, normalize

from .decision import Reason
from .known_markers import (
    BOUNDARY,
    CLOSES,
    CURLY,
    DOUBLE,
    OPENS,
    SPECIAL,
    KnownMarkers,
    known_markers,
)
from .other_speech import begins_turn, begins_with_prompt, ends_in_prompt

__all__ = [
    "NAME",
    "Tag",
    "after_reasoning",
    "ends_reasoning",
    "others_speak",
    "read_tags",
    "sets_apart",
]

NAME = re.compile(r'[^"<>&\x00-\x20\x7f]{1,128}')
"""A valid name of a tool in the primary format."""

CLOSE = "</tool>"
BETWEEN = f'\n<tool name="call">{CLOSE}\n\n'
"""A placeholder for a call of another format, on a separate line."""


REGIONS = (
    "pre|code|samp|kbd|var|tt|xmp|listing|plaintext|textarea|script|style|template|noscript|math"
    "|svg|title|blockquote|q|cite|quote|example|examples|del|s|strike|ins|table|nowiki"
    "|tool_response|tool_responses|tool_result|tool_results|function_results"
)
"""Elements for quoted text: code, quotations, strikethrough, tool results."""

OPENING = re.compile(rf'<tool[ \t\r\n]{{1,16}}name="({NAME.pattern})"[ \t\r\n]{{0,16}}>')
MARKER = re.compile(rf"</?tool{BOUNDARY}")
LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\r|\n|\Z)")
FENCE = re.compile(r" {0,3}+(`{3,}+|~{3,}+)([^\r\n]*+)")
ITEM = r"(?:[-*+•]|\d{1,9}+[.)])"
# Indented code also occurs in lists. One space after a list marker belongs to the marker, and so
# does a single tab.
ITEMS = rf"(?: {{0,3}}+{ITEM}(?: |\t(?=[^ \t])|(?=\t)))*+"
INDENT = r"(?: {0,3}+\t|[^\S\r\n]{4}|\u3000)"
# Indented code, a block quote, a row of a table, or a comment.
SET_OFF = re.compile(rf"{ITEMS}(?:{INDENT}| {{0,3}}+(?:>|[|│┃║]|#|//|--|%))")
# A block quote, or the delimiter row of a table. It includes the following lines, up to the next
# blank line.
LAZY = re.compile(rf"[ \t]*+(?:{ITEM}[ \t]++)*+(?:>|[- \t]*+[|:][-:| \t]*+(?=[\r\n]|\Z))")
# The delimiter row of a table with one column. Without a bar before it, it underlines a heading.
DASHES = re.compile(r"[ \t]*+-++[ \t]*+(?=[\r\n]|\Z)")
# Links and elements in which "~~" has no effect, and the ends of paragraphs.
BRACKETS = re.compile(r"[][()<>\r\n]")
# The markers alone, if the call follows them directly.
SETS_OFF = re.compile(rf"{ITEMS} {{0,3}}+(?:>|[|│┃║]|#|//)[>|│┃║#/ \t]*+")
# Code and block quotes may continue after the element around them, because in Markdown most
# elements end at a blank line.
GOES_ON = re.compile(rf"[`~]|[\r\n](?:{LAZY.pattern}|{ITEMS}{INDENT}[^\r\n]*+\Z)")
CLOSERS = {"<!--": "-->", "<![cdata[": "]]>", "<?": r"\?>"}
"""The delimiters of regions other than elements, in lower case."""

VOID = frozenset({"<br", "<hr", "<img", "<wbr", "<input", "<link", "<meta", "<source", "<embed"})
"""Elements without an end tag."""

COMMENTS = {"/*": "*/", "{#": "#}", "<%": "%>"}
"""The delimiters of possible comments."""

ENDS_OF_COMMENTS = {end: start for start, end in COMMENTS.items()}
# In Unicode, the code point of a closing mark follows that of its opening mark.
DIRECTED = {mark: max(opens for opens in OPENS if opens < mark) for mark in CLOSES}
"""The closing directed quotation marks, with their opening marks."""

# Invisible characters at the start of a line hide the mark after them.
UNSEEN = re.compile(r"[ \t]*+[\u00ad\u200b-\u200f\u2060-\u206f\ufeff]")
BLANK = re.compile(r"[ \t]*+")
LEAD = 64
"""Number of characters of a line that are searched for indentation and block markers."""

WORD = re.compile(r"\w")
SIGNS = frozenset("$<@&^") | frozenset(map(chr, range(0x2580, 0x25A0)))
"""Signs that make a tag doubtful if only they precede it in its line."""

BESIDE = frozenset(".,:;!?*_>)]}"), frozenset(".,:;!?*_<([{")
"""ASCII signs allowed directly before and directly after a tag in prose."""

SPEECH = re.compile(r"[LMNZ].|Po|Pd|So|Cc")
"""Categories of other allowed characters: letters, numbers, punctuation, pictures."""

APART = frozenset("`\"'’＇′´~｀ˋʼʺ״׳‴‵‶‷〃") | frozenset(DOUBLE) | frozenset(CURLY + OPENS + CLOSES)
"""Marks that quote a tag directly next to it."""


@lru_cache(maxsize=8)
def _inline(known: KnownMarkers) -> re.Pattern[str]:
    """Return a pattern for all tokens of a line. The first alternative has priority."""
    comments = "|".join(map(re.escape, (*COMMENTS, *COMMENTS.values())))
    return re.compile(
        "(?P<ticks>`++|~{3,}+)"
        "|(?P<strike>~~)"
        "|(?P<tilde>~)"
        f"|(?P<double>[{''.join(DOUBLE)}])"
        f"|(?P<single>['’＇′´{CURLY}])"
        f"|(?P<directed>[{re.escape(OPENS + CLOSES)}])"
        f"|(?P<marker></?tool{BOUNDARY})"
        f"|(?P<thinks>{known.opens})"
        f"|(?P<thought>{known.closes})"
        f"|(?P<ends>{known.ends})"
        f"|(?P<starts>{known.starts})"
        f"|(?P<region>(?i:<!--|<!\\[CDATA\\[|<\\?|\\]\\]>|</?(?:{REGIONS}){BOUNDARY}))"
        # In Markdown, a "`" inside a link or a declaration does not begin code. Direction controls
        # hide the real order of characters, and character references hide quotation marks.
        "|(?P<odd>[\x0b\x0c\x1c-\x1e\x85\u2028-\u202e\u2066-\u2069＜＞﹤﹥]|<![A-Za-z]"
        "|<[^\\s<>`]++(?=`)|&(?:quot|apos|[lg]t|[lr]aquo|[lr][ds]quo|[bs][ds]?quo|grave|#\\w{1,7});)"
        f"|(?P<special>{SPECIAL.pattern})"
        r"|(?P<element></?+[^\W\d_][\w.:-]{0,63}+|\[/?+[^\W\d_]\w{0,31}+(?=[]= \t])"
        r"|\\(?:begin|end)\{[a-zA-Z*]{1,32}\})"
        # A link, unless it is plain. In its target and title, a "`" does not begin code.
        r"|(?P<link>\]\((?![^\s()<>\\`]*+(?:[ \t]++\"[^\"()<>\\`]*+\")?+\)))"
        f"|(?P<comment>{comments})"
        "|(?P<bar>[|│┃║])"
    )


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of the format, from its opening marker to its closing marker.

    Attributes:
        span: the position in the text.
        name: the called name.
        payload: the text of the arguments.
        flaw: the reason code if the tag cannot be a call.
        quoted: the tag is inside code, a quotation or similar text.
        stray: the tag is a closing marker without an opening marker.
    """

    span: tuple[int, int]
    name: str = ""
    payload: str = ""
    flaw: Reason | None = None
    quoted: bool = False
    stray: bool = False


def read_tags(text: str) -> list[Tag]:
    """Return all tags outside of reasoning, in order."""
    return _Reader(text).read() if MARKER.search(text) else []


def sets_apart(texts: Sequence[str]) -> bool:
    """Return True if a call between these texts is certainly quoted.

    The calls had the markers of the model's format, so ambiguous marks do not count here. Unclosed
    delimiters do not count either, except fences, and elements and comments at the start of a line.
    Whitespace around the markers may be missing from the texts.
    """
    texts = [MARKER.sub(" ", text) for text in texts]
    reader = _Reader(BETWEEN.join(texts), closed=True)
    calls = [tag for tag in reader.read() if tag.name]
    if len(calls) < len(texts) - 1 or any(tag.flaw for tag in calls):
        return True
    if reader.ended is not None and reader.ended < calls[-1].span[0]:
        return True
    lines = (re.split(r"[\r\n]", text.removesuffix("\n"))[-1] for text in texts[:-1])
    if any(map(begins_with_prompt, lines)):
        return True  # The call may be the output of a command.
    lines = (re.split(r"[\r\n]", text)[-1] for text in texts[:-1])
    beside = ((one[-1:], other[:1]) for one, other in pairwise(filter(None, texts)))
    return any(map(_sets_off, lines)) or any(APART.issuperset(pair) for pair in beside)


def others_speak(texts: Sequence[str]) -> bool:
    """Return True if another speaker may begin before a call between these texts."""
    reader = _Reader(BETWEEN.join(MARKER.sub(" ", text) for text in texts), closed=True)
    reader.read()
    return reader.others is not None and reader.others < len(reader.tags)


def after_reasoning(text: str) -> str:
    """Return the text after the last end of reasoning, or all of it if the turn has no such end."""
    known = known_markers()
    end = 0
    for found in known.last_close.finditer(text):
        end = found.end()
    return text if re.search(known.ends, text[:end]) else text[end:]


def ends_reasoning(text: str) -> bool:
    """Return True if the text contains the end of reasoning."""
    return known_markers().last_close.search(text) is not None


def _sets_off(line: str) -> bool:
    """Return True if the text before a call in its line quotes the call."""
    row = line.lstrip(" \t").startswith("|")
    return row or SETS_OFF.fullmatch(line) is not None or ends_in_prompt(line)


class _Reader:
    """One-pass reader of lines.

    For each open delimiter, the number of tags before it is recorded. Its effect on the tags is
    applied at the end.

    Attributes:
        pos: the end of the text consumed by a tag or an element.
        start: the start of the line.
        first: the first character of the line after whitespace.
        edge: the end of reasoning.
        ended: the end of the turn.
        doubts: ranges of doubtful tags, ignored if `closed`.
        apart: ranges of doubtful tags, applied always.
        doubt: all tags are doubtful.
        others: the number of tags before another speaker may have begun.
        blocks: the open elements at the start of a line, with the number of tags before each.
        closed: elements need an end tag, and only elements, prompts and other speakers cause doubt.
        endless: the names of elements without an end tag, if `closed`.
        link: the paragraph has a link that may contain later backticks.
    """

    __slots__ = (
        "apart",
        "bar",
        "blocks",
        "closed",
        "directed",
        "double",
        "doubt",
        "doubts",
        "edge",
        "elements",
        "ended",
        "endless",
        "fence",
        "first",
        "inline",
        "inset",
        "known",
        "lazy",
        "left_open",
        "line",
        "link",
        "marker",
        "markers",
        "others",
        "paragraph",
        "pos",
        "set_off",
        "single",
        "start",
        "strike",
        "tags",
        "text",
        "ticks",
        "tilde",
    )

    def __init__(self, text: str, *, closed: bool = False) -> None:
        self.text = text
        self.closed = closed
        self.endless = set[str]()
        self.known = known_markers()
        self.inline = _inline(self.known)
        self.markers = [*MARKER.finditer(text)]
        self.marker = self.pos = self.inset = self.start = self.first = self.edge = 0
        self.ended: int | None = None
        self._forget()

    def read(self) -> list[Tag]:
        for line in LINE.finditer(self.text):
            self._line(*line.span(1))
        if not self.closed:
            unclosed = self.fence or self.double or self.directed.total()
            unclosed = unclosed or self.strike is not None
            if self.doubt or unclosed or self._goes_on():
                self.doubts.append((0, len(self.tags)))
            self.apart += self.doubts
        for first in (self.others, *self.blocks.values()):
            if first is not None:
                self.apart.append((first, len(self.tags)))
        changes = [0] * (len(self.tags) + 1)
        for first, last in self.apart:
            changes[first] += 1
            changes[last] -= 1
        return [
            replace(tag, flaw=tag.flaw or "ambiguous") if doubts else tag
            for tag, doubts in zip(self.tags, accumulate(changes), strict=False)
        ]

    def _forget(self) -> None:
        """Reset the state, because all text so far was reasoning."""
        self.tags: list[Tag] = []
        self.doubts: list[tuple[int, int]] = []
        self.apart: list[tuple[int, int]] = []
        self.blocks: dict[str, int] = {}
        self.elements: dict[str, tuple[int, int]] = {}
        self.double: dict[str, str] = {}
        self.directed: Counter[str] = Counter()
        self.paragraph = self.line = 0
        self.fence = self.ticks = ""
        self.single: int | None = None
        self.left_open: int | None = None
        self.tilde: int | None = None
        self.strike: int | None = None
        self.others: int | None = None
        self.doubt = self.set_off = self.lazy = self.bar = self.link = False

    def _others_from(self, other: bool) -> None:
        """Record the index of the first tag after another speaker may have begun."""
        if other and self.others is None:
            self.others = len(self.tags)

    def _doubt_from(self, first: int) -> None:
        """Make the tags from `first` on doubtful. With `closed`, this has no effect."""
        self.doubts.append((first, len(self.tags)))

    def _set_apart(self, first: int) -> None:
        """Make the tags from `first` on doubtful, also with `closed`."""
        self.apart.append((first, len(self.tags)))

    def _goes_on(self) -> bool:
        """Return True if text follows the end of the turn."""
        if self.ended is None:
            return False
        rest = self.known.all_ends.sub("", self.text[self.ended :])
        return bool(SPECIAL.sub("", rest).strip())

    def _line(self, start: int, end: int) -> None:
        if start >= self.pos:
            row = "|" in self.text[self.start : start]
            self.line, self.start = len(self.tags), start
            blank = BLANK.match(self.text, start, end)
            self.first = blank.end() if blank else start
            self.bar = UNSEEN.match(self.text, start, end) is not None
            fence = FENCE.match(self.text, start, end)
            if self.fence:
                if self.inset:
                    self._may_end_with_its_item(start, end, fence is not None)
                if fence and fence[1].startswith(self.fence) and not fence[2].strip(" \t"):
                    self.fence = ""
                self._mentions(end)
                return
            self._others_from(begins_turn(self.text, start, end))
            # With backticks in its info string it is a code span, which `_read` treats as a doubt.
            if fence and not ("`" in fence[1] and "`" in fence[2]):
                self.fence, self.inset = fence[1], fence.start(1) - start
                return
            if not self.text[start:end].strip(" \t"):
                self._end_paragraph()
            begun = self.text[start : min(end, start + LEAD)]
            forms = (begun, normalize("NFKC", begun))  # "＞" has the same effect as ">"
            self.set_off = any(map(SET_OFF.match, forms))
            self.lazy |= LAZY.match(self.text, start, end) is not None
            self.lazy |= row and DASHES.match(self.text, start, end) is not None
            self.lazy |= begins_with_prompt(self.text, start, end)
        self._read(max(start, self.pos), end)
        if self.bar:
            self._doubt_from(self.line)
        if self.ticks and self.pos <= end:
            self.doubt = True
            self.ticks = ""

    def _may_end_with_its_item(self, start: int, end: int, fence: bool) -> None:
        """Doubt an indented fence if it may end early, at the end of its list item."""
        line = self.text[start:end]
        ends = line[: self.inset].strip(" \t") != ""
        # In a list item, the closing fence may be indented further.
        self.doubt |= ends or (not fence and line.lstrip(" \t").startswith(self.fence))

    def _end_paragraph(self) -> None:
        # An apostrophe looks like an opening mark. It counts only within its paragraph, unless a
        # later paragraph has an unopened closing mark.
        if self.left_open is None:
            self.left_open = self.single
        self.lazy = self.link = False
        self.single = self.tilde = None
        self.paragraph = len(self.tags)

    def _read(self, start: int, end: int) -> None:
        for token in self.inline.finditer(self.text, start, end):
            if token.start() < self.pos:
                continue
            kind = token.lastgroup
            if kind == "marker":
                self._tag(token.start())
            elif kind == "ticks":
                escaped = not self.ticks and self.text[token.start() - 1 : token.start()] == "\\"
                self.doubt |= len(token[0]) > 2 or escaped or self.link
                if not self.ticks:
                    self.ticks = token[0]
                elif self.ticks == token[0]:
                    self.ticks = ""
            elif not self.ticks:
                self._mark(kind, token)

    def _mark(self, kind: str | None, token: re.Match[str]) -> None:  # noqa: C901 - one case for each kind
        """Handle a token outside of code spans that may quote text."""
        match kind:
            case "double":
                self._double(token)
            case "single":
                self._single(token)
            case "directed":
                self._directed(token[0])
            case "strike":
                self._strike(*token.span())
            case "tilde":
                self._tilde(token)
            case "thinks":
                self._skip(self._end_of(token, self.known.closers.get(token[0].lower())))
                self.edge = self.pos
            case "thought":
                # The prompt opened the reasoning, so all text so far belongs to it.
                self._forget()
                self.edge = token.end()
            case "ends":
                self.ended = token.start() if self.ended is None else self.ended
            case "starts":
                self._doubt_from(0)
            case "region":
                self._region(token)
            case "element" | "comment":
                self._element(token)
            case "bar":
                self.bar = True
            case "link":
                self.link = True
            case "special":
                self._others_from(token[0] not in self.known.specials)
            case "odd":
                self.doubt = True

    def _double(self, token: re.Match[str]) -> None:
        mark, family = token[0], DOUBLE[token[0]]
        opens, closes = self._sides(*token.span())
        opened = self.double.pop(family, "")
        if not opened:
            self.double[family] = mark
        if len(family) == 1:
            # Only the adjacent characters show on which side of the quotation a straight mark is.
            self.doubt |= not (closes if opened else opens)
        elif not opened:
            self.doubt |= closes and not opens
        elif mark == opened:
            # Swedish opens and closes with the same mark. In other languages this is nesting.
            self.doubt |= mark not in "”»›" or not closes

    def _directed(self, mark: str) -> None:
        opens = DIRECTED.get(mark)
        if opens is None:
            self.directed[mark] += 1
        elif self.directed[opens]:
            self.directed[opens] -= 1
        else:
            self.doubt = True

    def _single(self, token: re.Match[str]) -> None:
        opens, closes = self._sides(*token.span())
        if closes and self.single is not None:
            self.single = None
        elif opens or token[0] in CURLY:
            self.single = len(self.tags)
        elif closes:
            self._doubt_from(self.paragraph if self.left_open is None else self.left_open)
            self.left_open = None
        elif not self._beside(*token.span())[0].isalnum():
            self.doubt = True  # After a letter it would be an apostrophe.

    def _strike(self, start: int, end: int) -> None:
        before, after = self._beside(start, end)
        if self.strike is None:
            sound = after.isalnum() and not before.isalnum() and before != "\\"
            self.strike = end
        else:
            sound = before.isalnum() and not after.isalnum()
            sound = sound and not BRACKETS.search(self.text, self.strike, start)
            self.strike = None
        self.doubt |= not sound

    def _tilde(self, token: re.Match[str]) -> None:
        before, after = self._beside(*token.span())
        self.doubt |= before == "\\"
        if before.strip() and self.tilde is not None:
            self._doubt_from(self.tilde)
            self.tilde = None
        # A mark that seems to close may open, if the mark before it does not open in all dialects.
        if after.strip() and self.tilde is None:
            self.tilde = len(self.tags)

    def _beside(self, start: int, end: int) -> tuple[str, str]:
        """Return the characters before and after a span, "" at the ends of the text."""
        return self.text[start - 1 : start], self.text[end : end + 1]

    def _sides(self, start: int, end: int) -> tuple[bool, bool]:
        """Return two flags: a quotation mark can open here, and it can close here."""
        before, after = self._beside(start, end)
        opens = not before.isalnum() and bool(after) and not after.isspace()
        closes = not after.isalnum() and bool(before) and not before.isspace()
        return opens, closes

    def _region(self, token: re.Match[str]) -> None:
        """Handle the beginning of a quoting element, or its unopened end."""
        opened = token[0].lower()
        if opened.startswith(("</", "]")):
            self._set_apart(0)
            return
        closer = CLOSERS.get(opened)
        end = self._end_of(token, re.compile(closer) if closer else None)
        self.doubt |= GOES_ON.search(self.text, token.end(), end) is not None
        self._mentions(end)

    def _end_of(self, token: re.Match[str], closer: re.Pattern[str] | None) -> int:
        """Move to the end of the element or region beginning with `token`. Return the position."""
        opened = token[0].lower()
        if opened in self.endless:
            self._begins_line(token, opened)
            return self.pos
        if closer is None:
            closer = re.compile(f"(?i:</{re.escape(opened[1:])}){BOUNDARY}")
        found = closer.search(self.text, token.end())
        if found is None and self.closed:
            self.endless.add(opened)
            self._begins_line(token, opened)
            return self.pos
        # The remaining ">" of the end tag is harmless text.
        self.pos = found.end() if found else len(self.text)
        return self.pos

    def _begins_line(self, token: re.Match[str], name: str) -> None:
        """Record an element at the start of a line. Unclosed, it makes all later tags doubtful.

        Other regions, e.g. `<!--`, are recorded anywhere in a line.
        """
        block = token.start() == self.first and name[0] != "["
        if (block and name not in VOID | self.known.elements) or name in CLOSERS:
            self.blocks.setdefault(name, len(self.tags))

    def _element(self, token: re.Match[str]) -> None:
        """Handle a start or end tag of an unknown element, or a delimiter of a comment."""
        marker = token[0].lower()
        if marker in ENDS_OF_COMMENTS:
            name = ENDS_OF_COMMENTS[marker]
        elif marker in COMMENTS:
            name = marker
        else:
            name = marker.replace("/", "").replace("\\end", "\\begin")
        begins = name == marker
        first, depth = self.elements.pop(name, (len(self.tags), 0))
        if begins:
            self._begins_line(token, name)
        elif depth or (marker not in ENDS_OF_COMMENTS and self.ended is None):
            # An unopened end tag may close text from anywhere before it.
            self._set_apart(first if depth else 0)
        else:
            self._doubt_from(0)
        depth += 1 if begins else -1
        if depth > 0:
            self.elements[name] = (first, depth)
        else:
            self.blocks.pop(name, None)

    def _skip(self, end: int) -> list[re.Match[str]]:
        """Skip the markers before `end` and return them."""
        first = self.marker
        while self.marker < len(self.markers) and self.markers[self.marker].start() < end:
            self.marker += 1
        return self.markers[first : self.marker]

    def _mentions(self, end: int) -> None:
        self.tags += [Tag(found.span(), quoted=True) for found in self._skip(end)]

    def _tag(self, start: int) -> None:
        """Read the tag whose marker begins at `start`."""
        self._mentions(start)
        opener = self.markers[self.marker]
        self.marker += 1
        tag = self._unquoted(opener)
        apart = (
            self.ticks,
            self.strike is not None,
            self.double,
            self.directed.total(),
            self.single is not None,
        )
        quoted = self.set_off or self.lazy or any(apart)
        before, after = self._beside(*tag.span)
        beside = (before in APART) + (after in APART)
        # A quotation mark on one side only is ambiguous. Other signs may be escapes.
        speaks = tag.span[0] == self.edge or _is_speech(before, 0)
        odd = beside == 1 or not (speaks and _is_speech(after, 1))
        if self.line == len(self.tags):
            led = self.text[self.start : tag.span[0]]
            odd = odd or not (SIGNS.isdisjoint(led) or WORD.search(led)) or ends_in_prompt(led)
        odd |= self.closed and self.lazy
        flaw = tag.flaw or ("ambiguous" if odd else None)
        self.tags.append(replace(tag, quoted=quoted or beside == 2, flaw=flaw))

    def _unquoted(self, opener: re.Match[str]) -> Tag:
        """Return the tag beginning with `opener`, up to its end if it has one."""
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


def _is_speech(char: str, side: int) -> bool:
    """Return True if a character, or "", may be next to a call: before (0) or after it (1)."""
    if char.isascii():
        return not char or char.isalnum() or char.isspace() or char in BESIDE[side]
    return SPEECH.match(category(char)) is not None
