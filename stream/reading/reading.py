"""The shared state of the readers of a turn."""

from __future__ import annotations

from dataclasses import dataclass

from deltaparse.partial import Window

from ..message.policy_sink import Sink
from ..wire.format import WireFormat
from ..wire.marker_tables import MarkerTables
from .checkpoint import Checkpoint

__all__ = ["Reading"]


@dataclass(slots=True, eq=False)
class Reading:
    """One turn while it is read, the argument of every reader.

    Readers that look ahead or read text again have a `Reading` of their own.

    Attributes:
        src: the window to read from.
        sink: the receiver of all parts.
        tables: the markers to look for.
        after_code_marker: True after the code marker, a proof of a call.
    """

    src: Window
    sink: Sink
    tables: MarkerTables
    after_code_marker: bool = False
    # A section of calls that are all text is text too, including its closer.
    before_section: int = -1
    """The number of calls before the open section of calls."""
    recipient: str = ""
    """The addressed function, for calls in a message in channels."""
    in_section: bool = False
    """True in a section with a special token as opener, in which calls have no opener."""
    in_other: bool = False
    """True in a section that the format does not have, whose text is content."""

    @property
    def fmt(self) -> WireFormat:
        """Return the wire format of the turn."""
        # The tables may have a derived format, for constrained calls, so the format is taken from
        # them.
        return self.tables.fmt

    @property
    def needs_token(self) -> bool:
        """Return True if a call must start with a special token here."""
        # Inside a section its opener was the token, and constrained JSON needs no token.
        tables = self.tables
        return tables.derived.needs_token and not (self.in_section or tables.constrained)

    def closes(self, marker: str) -> None:
        """Note a closer of calls, which may end the section."""
        # Models vary the whitespace around markers, so it is ignored.
        if marker.strip() == self.fmt.tools.section_end.strip():
            self.in_section = False

    def checkpoint(self) -> Checkpoint:
        """Buffer the text from here on until its meaning is known."""
        return Checkpoint(self.src)
