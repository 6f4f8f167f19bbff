"""What readers say of the text that they read, for whoever must know where each part came from."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

from deltaparse.partial import Window

__all__ = ["TextRole", "Trail"]


class TextRole(IntEnum):
    """What a stretch of text was: what nobody says is a marker, or white space beside one."""

    MARKER = 0
    CONTENT = 1
    REASONING = 2
    NAME = 3
    ARGUMENTS = 4
    END = 5
    DROPPED = 6


class Trail(Protocol):
    """Takes what is said; all spans are half-open, in characters of the text that is read.

    silent: what is emitted was not read here.
    behind: so many characters of what was read are held back behind what is emitted; negative
        where that was not read yet.
    """

    silent: bool
    behind: int

    def reads(self, window: Window, repaired: Window | None = None) -> None:
        """What is emitted next was read from this window, or from what was `repaired` of it."""

    def said(self, start: int, end: int, what: TextRole) -> None:
        """The text between two offsets was this; what is said last counts."""

    def decoded(self, offset: int) -> int:
        """The offset in the output, as it would be as text, of one in the text that is read."""

    def goes_back(self, start: int) -> None:
        """What is emitted next was read from this offset on, behind which something came out."""

    def called(self, name: tuple[int, int], arguments: tuple[int, int]) -> None:
        """The name and the arguments of the call that was begun last stand here."""
