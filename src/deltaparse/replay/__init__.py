"""Replay of recorded outputs, to attribute faults to the model or the parser.

    log_schemas.py, record_choices.py   paths of fields in known logs, several choices of a record
    records.py, replayer.py             fields of a record, the replay function
    expected.py, classes.py             the server's message, the class of its difference
    minimize.py                         reduction of an output that breaks a parser
    sources.py, checkpoints.py          blocks of input files, result files and their progress
    local_engine.py                     replay of files: on all cores, ordered, resumable
    ray_engine.py                       the same on a cluster
    tally.py, tables.py                 statistics of results, their table

Import the public names from this package.
"""

from .blocks import Interrupted
from .classes import CLASSES, Difference, difference
from .expected import Call, Made, made_of, read_expected
from .local_engine import replay_file, replay_stream
from .log_schemas import FIELDS, LAYOUTS
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
