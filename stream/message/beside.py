"""Text beside calls that nothing but their look tells from text.

Such a call may be a mention: `f()? No.` So a message tells whether each of them stands alone in its
turn. Where the format marks both content and calls (`>>>all`, `>>>name`), content in a section of
its own is no such text, if the marker of the call stands right behind it, to the letter.
"""

from __future__ import annotations

__all__ = ["Beside"]


class Beside:
    """Notes the text and the calls of one turn; `found`: some text stands beside some call.

    `in_section`: the section of content is open that the format's own marker began.
    """

    __slots__ = ("_called", "_section", "_text", "found", "in_section")

    def __init__(self) -> None:
        self.found = self.in_section = False
        self._called = self._text = False
        # The text of the section of content before the call that comes.
        self._section = ""

    def text(self, text: str) -> None:
        """Note text."""
        if self.in_section:
            self._section = text or self._section
        elif text.strip():
            self._text = True
            self.found |= self._called

    def call(self, *, exact: bool) -> None:
        """Note a call; `exact`: its head is to the letter."""
        inline = not self._section or (exact and not self._section[-1].isspace())
        self._called = True
        self.found |= self._text or not inline
        self.in_section, self._section = False, ""
