"""The markers of a turn in channels: several messages, each with a header.

In a header, each marker defines the meaning of the following word: the channel, the recipient, or
the form of the body (`constrain`). The marker `message` ends the header. `ChannelsFormat` describes
the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, auto

from deltaparse.partial import marker_set

from .fast_patterns import LETTER, FastChannels, unambiguous
from .format import ChannelsFormat, WireFormat
from .spellings import length, spellings, stripped, trailing

__all__ = ["READERS", "ChannelMarkers", "HeaderPart"]

READERS = ("all", "user")
"""Recipients that are not functions, besides the model. Their messages are for the reader."""

# Punctuation may follow the role in a header.
LAST_WORD = re.compile(r"(\w+)\W*\Z")


class HeaderPart(Enum):
    """The meaning of the text after a marker in a header. `MESSAGE` ends the header."""

    CHANNEL = auto()
    RECIPIENT = auto()
    CONSTRAIN = auto()
    MESSAGE = auto()


class ChannelMarkers:
    """The marker sets for each place of a turn in channels.

    In a format without channels, `message` is "" and the sets are not used.

    Args:
        fmt: the wire format.

    Attributes:
        start: the core of the marker before a message.
        message: the core of the marker between header and body.
        trailing: the template's whitespace after `message`.
        ends: the cores of the end markers of a body: end markers, end-of-turn markers, `start`.
        turn_ends: the markers in `ends` that end the turn.
        message_ends: the markers in `ends` that end only a message.
        continuing: the cores of headers that continue the turn after an end marker, if messages end
            like the turn.
        role: the word for the model after `start`, "" if the format has none.
        parts: the meanings of the markers in a header, by their cores.
        openers: the markers at the beginning of a header.
        in_header: the end markers of a word in a header.
        after_word: the end markers of a word before whitespace or a header.
        after_body: the end markers of a body.
        in_body: `after_body` and the marker of a channel, because models may write a header without
            an end marker before it.
        in_text: the end markers of text in the place of a header: `after_body` and the markers of a
            header. The recipient is missing, because it occurs in prose (` to=`).
        outside: the markers at the beginning of a message.
        longest: the length of the longest marker in `outside`.
    """

    __slots__ = (
        "_channels",
        "_usual",
        "after_body",
        "after_word",
        "continuing",
        "ends",
        "in_body",
        "in_header",
        "in_text",
        "longest",
        "message",
        "message_ends",
        "openers",
        "outside",
        "parts",
        "role",
        "start",
        "trailing",
        "turn_ends",
    )

    def __init__(self, fmt: WireFormat) -> None:
        channels = fmt.channels
        self.message = channels.message.strip()
        self.start = channels.start.strip()
        # A new message also ends the previous message, because models forget end markers.
        ends = (*channels.ends, *fmt.turn.ends, channels.start) if self.message else ()
        # An empty marker would match anywhere.
        cores = stripped(ends)
        self.ends = tuple(sorted(cores))
        self.turn_ends = stripped(fmt.turn.ends)
        # A marker that ends the turn also ends its last message.
        self.message_ends = stripped(channels.ends) - self.turn_ends
        self.role = _role(fmt.turn.headers, self.start)
        headers = {self.start, self.start + self.role}
        # Otherwise a header after the end does not continue the turn.
        self.continuing = headers if fmt.turn.several_messages else set()
        # In this order, because a format may have the same text twice, and the last entry wins.
        kinds = {
            channels.constrain: HeaderPart.CONSTRAIN,
            channels.recipient: HeaderPart.RECIPIENT,
            channels.channel: HeaderPart.CHANNEL,
            channels.message: HeaderPart.MESSAGE,
        }
        self.parts = {text.strip(): kind for text, kind in kinds.items() if text.strip()}
        # Models may leave out this whitespace, so it is skipped separately.
        self.trailing = trailing(channels.message)
        spelled = [text for end in ends for text in spellings(end)]
        # The recipient's marker is plain text in some formats (` to=`).
        special = [text for text, kind in self.parts.items() if kind is not HeaderPart.RECIPIENT]
        self.openers = marker_set(self.parts)
        self.in_header = marker_set([*self.parts, *cores])
        self.after_body = marker_set(spelled)
        self.in_body = marker_set([*spelled, channels.channel.strip()])
        self.in_text = marker_set([*spelled, *special])
        # A word ends at whitespace, or directly at a marker.
        self.after_word = marker_set([*self.parts, *cores, *" \t\r\n"])
        self.outside = marker_set([*self.parts, *cores, *self._with_role(channels.recipient)])
        self.longest = max(map(length, self.outside.literals), default=0)

        self._channels = channels
        self._usual: list[FastChannels | None] = []

    @property
    def usual(self) -> FastChannels | None:
        """Return the fast patterns of a turn, None if the format has no fast path."""
        if not self._usual:
            # Compiled on first use, because few formats have channels.
            between = self.start + self.role
            told = self._are_told(self._channels, between)
            steps = FastChannels(self._channels, self.message_ends, between) if told else None
            self._usual.append(steps)
        return self._usual[0]

    def _are_told(self, channels: ChannelsFormat, between: str) -> bool:
        """Return whether headers, and the text between messages, have a single meaning."""
        parts = (channels.channel, channels.recipient, channels.constrain, self.message)
        # The patterns need all markers of a header, and the role.
        if not (all(map(str.strip, parts)) and self.role):
            return False
        # The fast path does not skip whitespace of the body.
        if self.trailing or not self.message_ends:
            return False
        # A marker must not begin or continue inside a word. The recipient's marker has a space
        # before it.
        in_word = [text for text in self.in_header.literals if re.match(LETTER, text)]
        recipient = channels.recipient.strip()
        if in_word not in ([], [recipient]) or re.search(LETTER + r"\Z", recipient):
            return False
        around = (*self.message_ends, between, channels.channel.strip())
        # A longer marker with the same beginning would need more text to decide.
        return all(unambiguous(text, self.outside) for text in around)

    def _with_role(self, recipient: str) -> list[str]:
        """Return the spellings of the role, with and without `start`.

        Models may leave out `start`. The role alone is a word of prose, so it counts only directly
        before a part of a header.
        """
        # Without a role, `start` is followed by the header itself.
        if not self.role:
            return []
        first = [*self.parts, *spellings(recipient)]
        return [
            # The role alone is frequent in prose, but not directly before a marker.
            *([self.start + self.role] if self.start else []),
            *(self.role + text for text in first),
        ]


def _role(headers: Iterable[str], start: str) -> str:
    """Return the role in the headers: the text after `start`, or the last word of a header."""
    for header in headers:
        # The last `start` in a header begins the assistant's message.
        if start and start in header:
            return header[header.rfind(start) + len(start) :].strip()
        if last := LAST_WORD.search(header):
            return last[1]
    return ""
