"""Recorded outputs, parsed again: is it the model or the parser?

    layouts.py, choices.py      where logs have what is read of a record, and of each choice
    records.py, replayer.py     what is read of a record; the one function over it
    expected.py, classes.py     what a server made of the output, and how it differs
    minimize.py                 the cut of an output that breaks a parser, made small
    sources.py, kept.py         the blocks of files; their results, and how far those are
    local_engine.py             files of records: all cores, in order, resumable
    ray_engine.py               the same on a cluster
    tally.py, tables.py         what is counted of results, and the table of it

Users import what is here.
"""

from .blocks import Interrupted
from .classes import CLASSES, Difference, difference
from .expected import Call, Made, made_of, read_expected
from .layouts import FIELDS, LAYOUTS
from .local_engine import replay_file, replay_stream
from .minimize import breaks_peer, minimal
from .records import BadRecord
from .replayer import Replayer, verdict
from .tables import table
from .tally import Tally

__all__ = [
    "CLASSES",
    "FIELDS",
    "LAYOUTS",
    "BadRecord",
    "Call",
    "Difference",
    "Interrupted",
    "Made",
    "Replayer",
    "Tally",
    "breaks_peer",
    "difference",
    "made_of",
    "minimal",
    "read_expected",
    "replay_file",
    "replay_stream",
    "table",
    "verdict",
]
