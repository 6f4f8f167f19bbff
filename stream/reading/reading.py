"""What the readers of a turn share."""

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
    """One turn that is being read: the argument of every reader.

    `src` is the window that is read, `sink` takes what comes out, `tables` have the markers that
    are looked for. A reader that looks ahead, or reads text that was kept, has a `Reading` of its
    own with another window or a draft of the sink. `behind_code`: what is read stands behind the
    marker of code, which says that it is a call.
    """

    src: Window
    sink: Sink
    tables: MarkerTables
    behind_code: bool = False
    before_section: int = -1
    """How many calls there were before the section of calls that is open."""
    recipient: str = ""
    """The function that the message in channels is addressed to, if calls stand in it."""
    in_section: bool = False
    """A section is open whose opener is a special token, in which calls begin without one."""
    in_other: bool = False
    """A section is open that the format does not have: its text is content."""

    @property
    def fmt(self) -> WireFormat:
        """The format that the turn is written in."""
        return self.tables.fmt

    @property
    def needs_token(self) -> bool:
        """Whether a call that begins here must begin with a special token."""
        tables = self.tables
        return tables.derived.needs_token and not (self.in_section or tables.constrained)

    def closes(self, marker: str) -> None:
        """Note a marker that ends calls: it may end the section."""
        if marker.strip() == self.fmt.tools.section_end.strip():
            self.in_section = False

    def checkpoint(self) -> Checkpoint:
        """Buffer the text from here on, until it is known what it is."""
        return Checkpoint(self.src)
