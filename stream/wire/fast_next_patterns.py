r"""From the end of a call to the beginning of the next, as models write it, in one step.

    \n</tool_call>\n<tool_call>\n  {"name": "f"

A turn has its sections, a marker ends one or begins another, and each is looked at by the reader of
turns: what it means there, whether white space before it is text, what comes behind it. Between
two calls that is all for nothing. `usual.py` says why this is right; what follows the openers must
be the head of a call up to where it is one in any case, so that nothing of this is taken back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .fast_patterns import LETTER, FastPattern, Text, so_far, some_of, unambiguous, whole
from .marker_tables import MarkerTables
from .spellings import trailing

__all__ = ["next_usual_call"]

SPACE = r"[ \t\n\r]{0,4}+"
"""No more than is white space between two markers for the reader of turns."""

IN_HEAD = re.compile(rf"{LETTER}|\{{")
BEHIND_CALL = re.compile(r"[,{}\]]")
"""What may go on with the call before, or with a list of calls."""


@lru_cache(maxsize=256)
def next_usual_call(tables: MarkerTables) -> FastPattern | None:
    """What reads from the end of a call up to the name or the brace of the next, made once.

    Its first group is empty, and stands where that call begins. None where it is not told at sight.
    """
    fmt, derived, tools = tables.fmt, tables.fmt.derived, tables.fmt.tools
    if tables.exact or derived.in_section:
        return None
    closers, openers = [tools.per_call_end], [tools.per_call_start]
    if tables.usual_head is not None:
        begins, parts = tables.usual_head.begins + '"', tables.usual_head.parts
        names = tables.usual_head.spelled
    elif tables.usual_tags is not None:
        tags = tables.usual_tags
        begins, parts, names = tags.pattern, tags.parts, [""]
        closers.insert(0, fmt.function.close)
        openers.append(fmt.function.name_prefix)
    else:
        return None
    closers, openers = ([text for text in texts if text.strip()] for texts in (closers, openers))
    if tools.separator.strip() or not _are_known(tables, closers, openers):
        return None
    ends = [
        part for text in closers for part in (SPACE, Text(text.strip()), some_of(trailing(text)))
    ]
    starts = [part for text in openers for part in (SPACE, Text(text.strip()))] + [SPACE]
    between = "".join(closers) + tools.separator + "".join(openers)
    spelled = [before + name + "?" for before in (between, between.lstrip()) for name in names]
    pattern = f"{whole(ends)}(){whole(starts)}(?={begins})"
    return FastPattern(pattern, so_far([*ends, *starts, *parts]), spelled)


def _are_known(tables: MarkerTables, closers: Sequence[str], openers: Sequence[str]) -> bool:
    """Whether each of these markers, where it stands, is known for nothing else."""
    ending, opening = [text.strip() for text in closers], [text.strip() for text in openers]
    begun = tables.call_openers
    if not opening or {begun.code, begun.section}.intersection(opening):
        return False
    if not all(map(tables.ends_calls, ending)) or not all(map(tables.begins_calls, opening)):
        return False
    behind = all(unambiguous(text, tables.after_call) for text in [*ending, opening[0]])
    # Behind the last opener, another could stand where the name does.
    last = opening[-1] == begun.prefix or not any(map(IN_HEAD.match, tables.call_starts.firsts))
    goes_on = any(map(BEHIND_CALL.match, [*ending, *opening]))
    return (
        behind
        and last
        and not goes_on
        and all(unambiguous(text, tables.call_starts) for text in opening)
    )
