r"""The primary format, `<tool name="...">{...}</tool>`, found in prose, in one pass.

A tag is a call only where the model speaks for itself: the package has the table. It is quoted, and
no call, in what sets text apart; in reasoning it is a draft, and left out altogether.

Markdown is read as CommonMark has it where that is certain. What is not certain puts every tag of
the text in doubt: a fence that does not stand at the start of a line, that may end with the item of
a list which it stands in, or that nothing closes; a code span that does not end in its line, and a
mark of code that is escaped or stands in an element; a quotation mark that nothing closes, or that
looks as if it closed where it would open; a bracket or another sign right beside a tag, or alone
before it in its line; what hides marks, such as controls of the direction and references of
characters; text behind the end of the turn, in the message of another role, or behind a special
token that no format has round what the model says.
Between the two ends of an element that is not known for what it means, and before an end that
nothing began, tags are in doubt too. So no odd mark can turn a quotation into a call; it can only
cost a call, which the model is asked for again.

A tag ends at the first closing marker, and a marker inside it is a flaw even where it stands in a
JSON string: two readings are possible, and a model can write < as \u003c.
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
"""A tool's name as the primary format can write it."""

CLOSE = "</tool>"
BETWEEN = f'\n<tool name="call">{CLOSE}\n\n'
"""A call of another format, in a line of its own."""


REGIONS = (
    "pre|code|samp|kbd|var|tt|xmp|listing|plaintext|textarea|script|style|template|noscript|math"
    "|svg|title|blockquote|q|cite|quote|example|examples|del|s|strike|ins|table|nowiki"
    "|tool_response|tool_responses|tool_result|tool_results|function_results"
)
"""Elements whose text is not what the model says: code, quotations, what is struck out, results."""

OPENING = re.compile(rf'<tool[ \t\r\n]{{1,16}}name="({NAME.pattern})"[ \t\r\n]{{0,16}}>')
MARKER = re.compile(rf"</?tool{BOUNDARY}")
LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\r|\n|\Z)")
FENCE = re.compile(r" {0,3}+(`{3,}+|~{3,}+)([^\r\n]*+)")
ITEM = r"(?:[-*+•]|\d{1,9}+[.)])"
# Indented code, in a list too: of the white space behind the mark of an item one space belongs to
# it, and a tab behind which there is no more.
ITEMS = rf"(?: {{0,3}}+{ITEM}(?: |\t(?=[^ \t])|(?=\t)))*+"
INDENT = r"(?: {0,3}+\t|[^\S\r\n]{4}|\u3000)"
# The same, a block quote, a row of a table, a comment.
SET_OFF = re.compile(rf"{ITEMS}(?:{INDENT}| {{0,3}}+(?:>|[|│┃║]|#|//|--|%))")
# A block quote, and what divides the head of a table from its rows: the lines that follow belong
# to it too, to the next blank one.
LAZY = re.compile(rf"[ \t]*+(?:{ITEM}[ \t]++)*+(?:>|[- \t]*+[|:][-:| \t]*+(?=[\r\n]|\Z))")
# The same, of which nothing but the marks has come.
SETS_OFF = re.compile(rf"{ITEMS} {{0,3}}+(?:>|[|│┃║]|#|//)[>|│┃║#/ \t]*+")
# What may go on behind an element in which it stands: to Markdown, most end at a blank line.
GOES_ON = re.compile(rf"[`~]|[\r\n](?:{LAZY.pattern}|{ITEMS}{INDENT}[^\r\n]*+\Z)")
CLOSERS = {"<!--": "-->", "<![cdata[": "]]>", "<?": r"\?>"}
"""What begins a region that is no element, in lower case, and what ends it."""

VOID = frozenset({"<br", "<hr", "<img", "<wbr", "<input", "<link", "<meta", "<source", "<embed"})
"""Elements that have no end."""

COMMENTS = {"/*": "*/", "{#": "#}", "<%": "%>"}
"""What may begin a comment, and what ends it then."""

ENDS_OF_COMMENTS = {end: start for start, end in COMMENTS.items()}
# In Unicode a mark stands behind the one that it closes.
DIRECTED = {mark: max(opens for opens in OPENS if opens < mark) for mark in CLOSES}
"""What closes a quotation in its own direction, with what opens it."""

# What hides a mark at the start of a line from who reads it as text.
UNSEEN = re.compile(r"[ \t]*+[\u00ad\u200b-\u200f\u2060-\u206f\ufeff]")
BLANK = re.compile(r"[ \t]*+")
LEAD = 64
"""Characters of a line among which stands what sets it off."""

WORD = re.compile(r"\w")
SIGNS = frozenset("$<@&^") | frozenset(map(chr, range(0x2580, 0x25A0)))
"""What sets off a tag before which nothing else stands in its line."""

BESIDE = frozenset(".,:;!?*_>)]}"), frozenset(".,:;!?*_<([{")
"""The signs of ASCII that speech may have right before a tag, and right behind it."""

SPEECH = re.compile(r"[LMNZ].|Po|Pd|So|Cc")
"""Categories of other characters there: letters, numbers, marks of a sentence, pictures."""

APART = frozenset("`\"'’＇′´~｀ˋʼʺ״׳‴‵‶‷〃") | frozenset(DOUBLE) | frozenset(CURLY + OPENS + CLOSES)
"""What sets a tag apart where it stands right beside it."""


@lru_cache(maxsize=8)
def _inline(known: KnownMarkers) -> re.Pattern[str]:
    """What is looked for in a line; the first of these that fits counts."""
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
        # To Markdown a "`" belongs to the link or the declaration that it stands in.
        # Controls of the direction hide what stands where; a reference is a mark that is no text.
        "|(?P<odd>[\x0b\x0c\x1c-\x1e\x85\u2028-\u202e\u2066-\u2069＜＞﹤﹥]|<![A-Za-z]"
        "|<[^\\s<>`]++(?=`)|&(?:quot|apos|[lg]t|[lr]aquo|[lr][ds]quo|[bs][ds]?quo|grave|#\\w{1,7});)"
        f"|(?P<special>{SPECIAL.pattern})"
        r"|(?P<element></?+[^\W\d_][\w.:-]{0,63}+|\[/?+[^\W\d_]\w{0,31}+(?=[]= \t])"
        r"|\\(?:begin|end)\{[a-zA-Z*]{1,32}\})"
        f"|(?P<comment>{comments})"
        "|(?P<bar>[|│┃║])"
    )


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


def sets_apart(texts: Sequence[str]) -> bool:
    """Whether one of the calls that stand between these texts is certain not to be the model's own.

    They stood in the markers of its own format, so that marks which may set text apart or not are
    no doubt here, and what nothing closes sets none apart, but for a fence, and for an element or
    a comment that begins a line. White space beside a marker may be missing.
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
        return True  # the call may be what a command wrote
    lines = (re.split(r"[\r\n]", text)[-1] for text in texts[:-1])
    beside = ((one[-1:], other[:1]) for one, other in pairwise(filter(None, texts)))
    return any(map(_sets_off, lines)) or any(APART.issuperset(pair) for pair in beside)


def others_speak(texts: Sequence[str]) -> bool:
    """Whether somebody else may speak before one of the calls that stand between these texts."""
    reader = _Reader(BETWEEN.join(MARKER.sub(" ", text) for text in texts), closed=True)
    reader.read()
    return reader.others is not None and reader.others < len(reader.tags)


def after_reasoning(text: str) -> str:
    """The text after its last end of reasoning; all of it when there is none in the turn."""
    known = known_markers()
    end = 0
    for found in known.last_close.finditer(text):
        end = found.end()
    return text if re.search(known.ends, text[:end]) else text[end:]


def ends_reasoning(text: str) -> bool:
    """Whether a marker that ends reasoning stands in the text."""
    return known_markers().last_close.search(text) is not None


def _sets_off(line: str) -> bool:
    """Whether what stands in a line before a call sets it off."""
    row = line.lstrip(" \t").startswith("|")
    return row or SETS_OFF.fullmatch(line) is not None or ends_in_prompt(line)


class _Reader:
    """Walks the lines once; `pos` is the end of what a tag or an element has consumed.

    `doubts` are ranges of tags that are in doubt, `doubt` says that all are. Of what may turn out
    to set text apart, the number of tags is kept that stood before it. `start` is that of the line,
    `edge` where reasoning ended, `others` how many tags stood before somebody else may speak.
    `first` is where the line has its first character. `blocks` are the elements that are open and
    began a line, with the number of tags before each.
    `closed`: an element is one only if it ends; `endless` are those that do not. What is in doubt
    for other reasons than an element, a prompt or another speaker is in none then.
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
            unclosed = self.fence or self.double or self.directed.total() or self.strike
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
        """Begin anew: what came so far was reasoning."""
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
        self.others: int | None = None
        self.doubt = self.set_off = self.lazy = self.strike = self.bar = False

    def _others_from(self, other: bool) -> None:
        """From here on somebody else may speak."""
        if other and self.others is None:
            self.others = len(self.tags)

    def _doubt_from(self, first: int) -> None:
        """Put in doubt the tags from `first` on."""
        self.doubts.append((first, len(self.tags)))

    def _set_apart(self, first: int) -> None:
        """Put them in doubt in any case."""
        self.apart.append((first, len(self.tags)))

    def _goes_on(self) -> bool:
        """Whether anything stands behind the end of the turn."""
        if self.ended is None:
            return False
        behind = self.known.all_ends.sub("", self.text[self.ended :])
        return bool(SPECIAL.sub("", behind).strip())

    def _line(self, start: int, end: int) -> None:
        if start >= self.pos:
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
            # A backtick after a fence of backticks: a code span, which `_read` takes for doubt.
            if fence and not ("`" in fence[1] and "`" in fence[2]):
                self.fence, self.inset = fence[1], fence.start(1) - start
                return
            if not self.text[start:end].strip(" \t"):
                self._end_paragraph()
            begun = self.text[start : min(end, start + LEAD)]
            ways = (begun, normalize("NFKC", begun))  # "＞" sets off as ">" does
            self.set_off = any(map(SET_OFF.match, ways))
            self.lazy |= LAZY.match(self.text, start, end) is not None
            self.lazy |= begins_with_prompt(self.text, start, end)
        self._read(max(start, self.pos), end)
        if self.bar:
            self._doubt_from(self.line)
        if self.ticks and self.pos <= end:
            self.doubt = True
            self.ticks = ""

    def _may_end_with_its_item(self, start: int, end: int, fence: bool) -> None:
        """A line of a fence that is set in: it may be of an item, at whose end the fence ends."""
        line = self.text[start:end]
        ends = line[: self.inset].strip(" \t") != ""
        # In an item, the mark that closes the fence may be set in further.
        self.doubt |= ends or (not fence and line.lstrip(" \t").startswith(self.fence))

    def _end_paragraph(self) -> None:
        # An apostrophe looks like a quotation mark: no further than its paragraph, unless a mark
        # in a later one closes what nothing there has opened.
        if self.left_open is None:
            self.left_open = self.single
        self.lazy = False
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
                self.doubt |= len(token[0]) > 2 or escaped
                if not self.ticks:
                    self.ticks = token[0]
                elif self.ticks == token[0]:
                    self.ticks = ""
            elif not self.ticks:
                self._mark(kind, token)

    def _mark(self, kind: str | None, token: re.Match[str]) -> None:
        """Something that may set text apart, outside of code spans."""
        match kind:
            case "double":
                self._double(token)
            case "single":
                self._single(token)
            case "directed":
                self._directed(token[0])
            case "strike":
                opens, closes = self._sides(*token.span())
                self.doubt |= not (closes if self.strike else opens)
                self.strike = not self.strike
            case "tilde":
                self._tilde(token)
            case "thinks":
                self._skip(self._end_of(token, self.known.closers.get(token[0].lower())))
                self.edge = self.pos
            case "thought":
                # It was opened by the prompt: all of this was reasoning.
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
            # A straight mark shows on which side it is by what is beside it.
            self.doubt |= not (closes if opened else opens)
        elif not opened:
            self.doubt |= closes and not opens
        elif mark == opened:
            # Swedish closes with the mark that it opens with; all else is nested.
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
            self.doubt = True  # within a word it is an apostrophe

    def _tilde(self, token: re.Match[str]) -> None:
        before, after = self._beside(*token.span())
        if before.strip() and self.tilde is not None:
            self._doubt_from(self.tilde)
            self.tilde = None
        elif after.strip() and self.tilde is None:
            self.tilde = len(self.tags)

    def _beside(self, start: int, end: int) -> tuple[str, str]:
        """The characters before and after, "" for none."""
        return self.text[start - 1 : start], self.text[end : end + 1]

    def _sides(self, start: int, end: int) -> tuple[bool, bool]:
        """Whether a quotation mark can open here, and whether it can close."""
        before, after = self._beside(start, end)
        opens = not before.isalnum() and bool(after) and not after.isspace()
        closes = not after.isalnum() and bool(before) and not before.isspace()
        return opens, closes

    def _region(self, token: re.Match[str]) -> None:
        """An element that sets its text apart begins here, or ends without having begun."""
        opened = token[0].lower()
        if opened.startswith(("</", "]")):
            self._set_apart(0)
            return
        closer = CLOSERS.get(opened)
        end = self._end_of(token, re.compile(closer) if closer else None)
        self.doubt |= GOES_ON.search(self.text, token.end(), end) is not None
        self._mentions(end)

    def _end_of(self, token: re.Match[str], closer: re.Pattern[str] | None) -> int:
        """Go to the end of what begins with `token`, which by itself is an element; return it."""
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
        # What is left of the closer, a ">", is text.
        self.pos = found.end() if found else len(self.text)
        return self.pos

    def _begins_line(self, token: re.Match[str], name: str) -> None:
        """An element begins, which sets all behind it apart if it begins its line and never ends.

        So does what is no element wherever it begins: `<!--`.
        """
        block = token.start() == self.first and name[0] != "["
        if (block and name not in VOID | self.known.elements) or name in CLOSERS:
            self.blocks.setdefault(name, len(self.tags))

    def _element(self, token: re.Match[str]) -> None:
        """An element, or a comment, of which nothing is known but where it begins and ends."""
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
            # Who knows where it began, if nothing before it did.
            self._set_apart(first if depth else 0)
        else:
            self._doubt_from(0)
        depth += 1 if begins else -1
        if depth > 0:
            self.elements[name] = (first, depth)
        else:
            self.blocks.pop(name, None)

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
        apart = (
            self.ticks,
            self.strike,
            self.double,
            self.directed.total(),
            self.single is not None,
        )
        quoted = self.set_off or self.lazy or any(apart)
        before, after = self._beside(*tag.span)
        beside = (before in APART) + (after in APART)
        # On one side only, who knows what it belongs to; the others are escapes.
        speaks = tag.span[0] == self.edge or _is_speech(before, 0)
        odd = beside == 1 or not (speaks and _is_speech(after, 1))
        if self.line == len(self.tags):
            led = self.text[self.start : tag.span[0]]
            odd = odd or not (SIGNS.isdisjoint(led) or WORD.search(led)) or ends_in_prompt(led)
        odd |= self.closed and self.lazy
        flaw = tag.flaw or ("ambiguous" if odd else None)
        self.tags.append(replace(tag, quoted=quoted or beside == 2, flaw=flaw))

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


def _is_speech(char: str, side: int) -> bool:
    """Whether a character, or none, may stand beside a call, before it or behind: 0 or 1."""
    if char.isascii():
        return not char or char.isalnum() or char.isspace() or char in BESIDE[side]
    return SPEECH.match(category(char)) is not None
