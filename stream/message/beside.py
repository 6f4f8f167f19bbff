"""Text beside calls that nothing but their look tells from text.

Such a call may be a mention: `f()? No.` So each call is reported that does not stand alone in its
turn. Where the format marks both content and calls (`>>>all`, `>>>name`), content in a section of
its own is no such text, if the marker of the call stands right behind it, to the letter.
"""

from __future__ import annotations

__all__ = ["Beside", "Span"]

Span = tuple[int, int]


class Beside:
    """Notes the text and the calls of one turn, and says which calls are to be reported.

    `in_section`: the section of content is open that the format's own marker began.
    """

    __slots__ = ("_call", "_section", "_text", "in_section")

    def __init__(self) -> None:
        self.in_section = False
        self._text = False
        # The text of the section of content before the call that comes.
        self._section = ""
        # The last call that no text stood beside so far.
        self._call: Span | None = None

    def text(self, text: str) -> Span | None:
        """Note text; return where the call stands that it is the first to stand beside."""
        if self.in_section:
            self._section = text or self._section
            return None
        if not text.strip():
            return None
        self._text = True
        call, self._call = self._call, None
        return call

    def call(self, span: Span, *, exact: bool) -> bool:
        """Note a call; return whether text stands before it. `exact`: its head is to the letter."""
        inline = not self._section or (exact and not self._section[-1].isspace())
        beside = self._text or not inline
        self.in_section, self._section = False, ""
        self._call = None if beside else span
        return beside
