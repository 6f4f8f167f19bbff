"""Fast patterns for a usual header in channels, and for the text between two messages.

    <|call|><|start|>assistant  <|channel|>commentary to=functions.f <|constrain|>json<|message|>

`fast_patterns.py` explains why the results are the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from .fast_patterns import WORD, FastPattern, Text, so_far, whole
from .format import ChannelsFormat

__all__ = ["FastChannels"]

# More than one space is rare, and left to the complete reader.
SPACE = " ?+"


class FastChannels:
    """The fast patterns of a turn in channels.

    Args:
        channels: the markers of channels.
        ends: the cores of the markers at the end of a message inside the turn.
        start: all text between such a marker and the next header.

    Attributes:
        header: a header. Its groups are the channel and the recipient, if there is one.
        following: the end of a message and the start of the model's next one, up to a usual header.
    """

    __slots__ = ("following", "header")

    def __init__(self, channels: ChannelsFormat, ends: Collection[str], start: str) -> None:
        channel, message = Text(channels.channel.strip()), Text(channels.message.strip())
        begin = [channel, WORD]
        recipient = [Text(" " + channels.recipient.strip()), WORD]
        form = [SPACE, Text(channels.constrain.strip()), WORD]
        # Recipient and form are optional. Each combination is listed, so that beginnings can be
        # matched.
        ways = [
            [*begin, *recipient, *form, SPACE, message],
            [*begin, *recipient, SPACE, message],
            [*begin, *form, SPACE, message],
            [*begin, SPACE, message],
        ]
        to, constrain = (rf"(?:{whole(parts)})?+" for parts in (recipient, form))
        # Only the pattern for reading needs the group.
        to = to.replace(WORD, f"({WORD})")
        header = f"{re.escape(channel)}({WORD}){to}{constrain}{SPACE}{re.escape(message)}"
        # The last character is removed, because a complete header is read and does not wait.
        cut = "|".join(so_far([*parts[:-1], Text(message[:-1])]) for parts in ways)
        self.header = FastPattern(header, cut, [channel + "?"])
        any_end = "|".join(map(re.escape, sorted(ends)))
        before = [f"(?:{any_end})", Text(start)]
        cuts = [so_far([Text(end), Text(start)]) for end in sorted(ends)]
        spelled = [end + start + channel + "?" for end in ends]
        begun = "|".join([*cuts, f"{whole(before)}(?:{cut})"])
        # The header is only looked ahead at, because another step reads it.
        self.following = FastPattern(f"{whole(before)}(?={header})", begun, spelled)
