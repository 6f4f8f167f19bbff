"""The markers of a turn in channels: several messages, each behind a header.

A header says with a marker what the word behind it is: the channel, the recipient, or the form of
the body (`constrain`); the marker `message` ends the header. `ChannelsFormat` describes the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, auto

from deltaparse.partial import marker_set

from .fast_channel_patterns import UsualChannels
from .fast_patterns import LETTER, unambiguous
from .format import ChannelsFormat, WireFormat
from .spellings import length, spellings, stripped, trailing

__all__ = ["READERS", "ChannelMarkers", "HeaderPart"]

READERS = ("all", "user")
"""Recipients that are no functions, beside the model itself: such a message is for the reader."""

LAST_WORD = re.compile(r"(\w+)\W*\Z")


class HeaderPart(Enum):
    """What the text behind a marker in a header names; `MESSAGE`: the body, so the header ends."""

    CHANNEL = auto()
    RECIPIENT = auto()
    CONSTRAIN = auto()
    MESSAGE = auto()


class ChannelMarkers:
    """What readers look for in each place of a turn in channels.

    In a format without channels `message` is "", and nothing is looked for.

    start, message:  the cores of the two markers.
    trailing:        the white space that the template writes behind `message`.
    ends:            the cores of what ends a body: end markers, end-of-turn markers, `start`.
    turn_ends:       those of them that end the turn; `message_ends` end a message only.
    continuing:      the cores of headers that continue the turn behind an end: where its messages
                     end as it does.
    role:            the word that names the model behind `start`; "" where the format has none.
    parts:           the cores of the markers in a header, and what each says.
    openers:         what a header may begin with.
    in_header:       what ends a word in a header.
    after_word:      what ends a word that is followed by white space or a header.
    after_body:      what ends a body.
    in_body:         the same, and the marker of a channel: models write a header without an end
                     before it.
    in_text:         what ends text that stands where a header should: as `after_body`, and the
                     parts of a header but the recipient, which prose has (` to=`).
    outside:         what may stand where a message begins; `longest` is the length of the longest.
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
        ends = (*channels.ends, *fmt.turn.ends, channels.start) if self.message else ()
        cores = stripped(ends)
        self.ends = tuple(sorted(cores))
        self.turn_ends = stripped(fmt.turn.ends)
        self.message_ends = stripped(channels.ends) - self.turn_ends
        self.role = _role(fmt.turn.headers, self.start)
        headers = {self.start, self.start + self.role}
        self.continuing = headers if fmt.turn.several_messages else set()
        kinds = {
            channels.constrain: HeaderPart.CONSTRAIN,
            channels.recipient: HeaderPart.RECIPIENT,
            channels.channel: HeaderPart.CHANNEL,
            channels.message: HeaderPart.MESSAGE,
        }
        self.parts = {text.strip(): kind for text, kind in kinds.items() if text.strip()}
        self.trailing = trailing(channels.message)
        spelled = [text for end in ends for text in spellings(end)]
        special = [text for text, kind in self.parts.items() if kind is not HeaderPart.RECIPIENT]
        self.openers = marker_set(self.parts)
        self.in_header = marker_set([*self.parts, *cores])
        self.after_body = marker_set(spelled)
        self.in_body = marker_set([*spelled, channels.channel.strip()])
        self.in_text = marker_set([*spelled, *special])
        self.after_word = marker_set([*self.parts, *cores, *" \t\r\n"])
        self.outside = marker_set([*self.parts, *cores, *self._with_role(channels.recipient)])
        self.longest = max(map(length, self.outside.literals), default=0)

        self._channels = channels
        self._usual: list[UsualChannels | None] = []

    @property
    def usual(self) -> UsualChannels | None:
        """The steps of a turn that is written as usual; None where nothing tells them."""
        if not self._usual:
            # Compiled when it is asked for: few formats have channels.
            between = self.start + self.role
            told = self._are_told(self._channels, between)
            steps = UsualChannels(self._channels, self.message_ends, between) if told else None
            self._usual.append(steps)
        return self._usual[0]

    def _are_told(self, channels: ChannelsFormat, between: str) -> bool:
        """Whether headers, and what stands between messages, are told at sight."""
        parts = (channels.channel, channels.recipient, channels.constrain, self.message)
        if not (all(map(str.strip, parts)) and self.role):
            return False
        if self.trailing or not self.message_ends:
            return False
        # A marker must not begin in a word, nor go on in it.
        in_word = [text for text in self.in_header.literals if re.match(LETTER, text)]
        recipient = channels.recipient.strip()
        if in_word not in ([], [recipient]) or re.search(LETTER + r"\Z", recipient):
            return False
        around = (*self.message_ends, between, channels.channel.strip())
        return all(unambiguous(text, self.outside) for text in around)

    def _with_role(self, recipient: str) -> list[str]:
        """The spellings of `start` and the role, and of the role where models leave `start` out.

        The role alone is a word of prose, so it counts right before a part of a header only.
        """
        if not self.role:
            return []
        first = [*self.parts, *spellings(recipient)]
        return [
            *([self.start + self.role] if self.start else []),
            *(self.role + text for text in first),
        ]


def _role(headers: Iterable[str], start: str) -> str:
    """The role that a header names: what follows `start` in it, or its last word."""
    for header in headers:
        if start and start in header:
            return header[header.rfind(start) + len(start) :].strip()
        if last := LAST_WORD.search(header):
            return last[1]
    return ""
