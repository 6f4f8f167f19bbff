"""Reports of readers about the role of the text that they read."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

from deltaparse.partial import Window

__all__ = ["RoleRecorder", "TextRole"]


class TextRole(IntEnum):
    """The role of a stretch of text.

    Text without a reported role is a marker, or whitespace next to one.
    """

    MARKER = 0
    CONTENT = 1
    REASONING = 2
    NAME = 3
    ARGUMENTS = 4
    END = 5
    # Text that was read, but is only in an issue.
    DROPPED = 6


class RoleRecorder(Protocol):
    """Receives the roles of text. All spans are half-open, in characters of the text that is read.

    Attributes:
        silent: True while text is emitted that was not read here.
        behind: number of read characters that follow the emitted text and are still buffered.
            Negative if the emitted text was not read yet.
    """

    # A protocol, because `stream/tokens` imports this package and not the reverse.
    silent: bool
    # Filters such as `JsonFence` set both, because they emit text later than it was read.
    behind: int

    def reads(self, window: Window, repaired: Window | None = None) -> None:
        """Set the window of the text that is emitted next, and its repaired version if any."""

    def set_role(self, start: int, end: int, role: TextRole) -> None:
        """Record the role of the text between two offsets. The last record counts."""

    def decoded(self, offset: int) -> int:
        """Convert an offset in the read text to an offset in the output as text."""

    def rewind(self, start: int) -> None:
        """Restart at an offset: text after it, partly emitted before, is emitted next."""

    def called(self, name: tuple[int, int], arguments: tuple[int, int]) -> None:
        """Record the spans of the name and the arguments of the call that began last."""
