"""Recorded outputs, parsed again: is it the model or the parser?

    records.py, layouts.py      what is read of a record, and where logs have it
    replayer.py                 the one function over a record
    expected.py, classes.py     what a server made of the output, and how it differs
    local_engine.py             a file of records: all cores, in order, resumable
    tally.py, tables.py         what is counted of results, and the table of it

Users import what is here.
"""

from .classes import CLASSES, Difference, difference
from .expected import Call, Made, made_of, read_expected
from .layouts import FIELDS, LAYOUTS
from .local_engine import Interrupted, replay_file, replay_stream
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
    "difference",
    "made_of",
    "read_expected",
    "replay_file",
    "replay_stream",
    "table",
    "verdict",
]
