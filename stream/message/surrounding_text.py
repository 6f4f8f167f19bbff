"""Detection of text next to calls that look like text.

A call without markers may be a mention: `f()? No.` So a message records if such a call has text
next to it. Some formats mark both content and calls (`>>>all`, `>>>name`). There a section of
content before a call does not count, if the exact marker of the call follows it directly.
"""

from __future__ import annotations

__all__ = ["SurroundingText"]


class SurroundingText:
    """A record of the text and the calls of one turn.

    Attributes:
        found: True if text is next to a call.
        in_section: True while a section of content is open that began with the format's own marker.
    """

    __slots__ = ("_called", "_section", "_text", "found", "in_section")

    def __init__(self) -> None:
        self.found = self.in_section = False
        self._called = self._text = False
        # The last text of the open section: `call` needs only its last character.
        self._section = ""

    def text(self, text: str) -> None:
        """Record text of the content."""
        if self.in_section:
            # Content in a marked section cannot be confused with a call.
            self._section = text or self._section
        # Whitespace between calls does not make a call a mention.
        elif text.strip():
            self._text = True
            # Text after a call counts as well as text before it.
            self.found |= self._called

    def call(self, *, exact: bool) -> None:
        """Record a call.

        Args:
            exact: True if the beginning of the call is spelled exactly as in the format.
        """
        # Whitespace after the section, or another spelling, means that the text may quote the call.
        inline = not self._section or (exact and not self._section[-1].isspace())
        self._called = True
        self.found |= self._text or not inline
        self.in_section, self._section = False, ""
