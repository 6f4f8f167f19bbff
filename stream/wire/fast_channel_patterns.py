r"""The header of a message in channels as models write it, and what stands between two messages.

    <|call|><|start|>assistant  <|channel|>commentary to=functions.f <|constrain|>json<|message|>

`usual.py` says why that is right.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from .fast_patterns import WORD, FastPattern, Text, so_far, whole
from .format import ChannelsFormat

__all__ = ["UsualChannels"]

SPACE = " ?+"


class UsualChannels:
    """The steps of a turn in channels.

    `header` reads a header, with the channel and the recipient, if there is one, as its groups;
    `following` what ends a message that does not end the turn, and what begins the next by the
    model, up to a header such as `header` reads. `ends` are the cores of the markers of the one,
    `start` is all that stands before the other.
    """

    __slots__ = ("following", "header")

    def __init__(self, channels: ChannelsFormat, ends: Collection[str], start: str) -> None:
        channel, message = Text(channels.channel.strip()), Text(channels.message.strip())
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
        self.header = FastPattern(header, cut, [channel + "?"])
        any_end = "|".join(map(re.escape, sorted(ends)))
        before = [f"(?:{any_end})", Text(start)]
        cuts = [so_far([Text(end), Text(start)]) for end in sorted(ends)]
        spelled = [end + start + channel + "?" for end in ends]
        begun = "|".join([*cuts, f"{whole(before)}(?:{cut})"])
        self.following = FastPattern(f"{whole(before)}(?={header})", begun, spelled)
