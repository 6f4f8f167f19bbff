r"""The header of a message in channels as models write it, and what stands between two messages.

    <|call|><|start|>assistant  <|channel|>commentary to=functions.f <|constrain|>json<|message|>

`usual.py` says why that is right.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .format import ChannelsFormat
from .usual import LETTER, WORD, Text, Usual, alone, so_far, whole

if TYPE_CHECKING:
    from .channel_markers import ChannelMarkers

__all__ = ["UsualChannels", "usual_channels"]

SPACE = " ?+"


class UsualChannels:
    """The steps of a turn in channels.

    `header` reads a header, with the channel and the recipient, if there is one, as its groups;
    `following` what ends a message that does not end the turn, and what begins the next by the
    model, up to a header such as `header` reads.
    """

    __slots__ = ("following", "header")

    def __init__(self, channels: ChannelsFormat, marks: ChannelMarkers) -> None:
        channel, message = Text(channels.channel.strip()), Text(marks.message)
        begin = [channel, WORD]
        recipient = [Text(" " + channels.recipient.strip()), WORD]
        form = [SPACE, Text(channels.constrain.strip()), WORD]
        ways = [
            [*begin, *recipient, *form, SPACE, message],
            [*begin, *recipient, SPACE, message],
            [*begin, *form, SPACE, message],
            [*begin, SPACE, message],
        ]
        to, constrain = (rf"(?:{whole(parts)})?+" for parts in (recipient, form))
        to = to.replace(WORD, f"({WORD})")
        header = f"{re.escape(channel)}({WORD}){to}{constrain}{SPACE}{re.escape(message)}"
        cut = "|".join(so_far([*parts[:-1], Text(message[:-1])]) for parts in ways)
        self.header = Usual(header, cut, [channel + "?"])
        ends = "|".join(map(re.escape, sorted(marks.message_ends)))
        start = Text(marks.start + marks.role)
        before = [f"(?:{ends})", start]
        cuts = [so_far([Text(end), start]) for end in sorted(marks.message_ends)]
        spelled = [end + start + channel + "?" for end in marks.message_ends]
        begun = "|".join([*cuts, f"{whole(before)}(?:{cut})"])
        self.following = Usual(f"{whole(before)}(?={header})", begun, spelled)


def usual_channels(channels: ChannelsFormat, marks: ChannelMarkers) -> UsualChannels | None:
    """The steps of a format; None where they are not told at sight."""
    parts = (channels.channel, channels.recipient, channels.constrain, marks.message)
    named = all(map(str.strip, parts)) and bool(marks.start and marks.role)
    if not named or marks.trailing or not marks.message_ends:
        return None
    # A marker must not begin in a word, nor go on in it.
    in_word = [text for text in marks.in_header.literals if re.match(LETTER, text)]
    recipient = channels.recipient.strip()
    told = in_word in ([], [recipient]) and not re.search(LETTER + r"\Z", recipient)
    between = [*marks.message_ends, marks.start + marks.role, channels.channel.strip()]
    told = told and all(alone(text, marks.outside) for text in between)
    return UsualChannels(channels, marks) if told else None
