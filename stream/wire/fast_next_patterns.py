r"""Fast patterns from the end of a call to the beginning of the next one.

    \n</tool_call>\n<tool_call>\n  {"name": "f"

Usually the reader of turns handles each marker. It determines the marker's role, the whitespace
before it, and the text after it. Between two calls this work is unnecessary. `fast_patterns.py`
explains why the results are the same. The openers must be followed by the head of a call up to its
proof, so the step is never undone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from .fast_patterns import LETTER, FastPattern, Text, so_far, some_of, unambiguous, whole
from .layout import Parts, layout_of
from .marker_tables import MarkerTables
from .spellings import trailing

__all__ = ["read_fast_next_call"]

SPACE = r"[ \t\n\r]{0,4}+"
"""Short whitespace, because the reader of turns accepts at least as much between two markers."""

IN_HEAD = re.compile(rf"{LETTER}|\{{")
AFTER_CALL = re.compile(r"[,{}\]]")
"""Characters that may continue the previous call or a list of calls."""


@lru_cache(maxsize=256)
def read_fast_next_call(tables: MarkerTables) -> FastPattern | None:
    """Return the pattern from the end of a call to the next call's name or brace.

    The pattern is made once. Its first group is empty, and marks the start of the next call.

    Args:
        tables: the marker tables.

    Returns:
        The pattern, or None if a fast path is not possible.
    """
    derived, tools, layout = tables.fmt.derived, tables.fmt.tools, layout_of(tables.fmt)
    # An exact spelling must be checked. In a section, the next call has no marker of its own.
    if tables.exact or derived.in_section:
        return None
    if tables.fast_head is not None:
        begins, parts = tables.fast_head.begins + '"', tables.fast_head.parts
        names = tables.fast_head.spelled
    elif tables.fast_tags is not None:
        tags = tables.fast_tags
        begins, parts, names = tags.pattern, tags.parts, [""]
    else:
        return None
    closers, openers = _markers(layout.tail), _markers(layout.head)
    # A separator needs the complete reader.
    if tools.separator.strip() or not _are_known(tables, closers, openers):
        return None
    # Trailing whitespace of the template belongs to its marker.
    ends = [
        part for text in closers for part in (SPACE, Text(text.strip()), some_of(trailing(text)))
    ]
    starts = [part for text in openers for part in (SPACE, Text(text.strip()))] + [SPACE]
    between = "".join(closers) + tools.separator + "".join(openers)
    # The complete usual text is compared first, because a set is faster than a pattern.
    spelled = [before + name + "?" for before in (between, between.lstrip()) for name in names]
    pattern = f"{whole(ends)}(){whole(starts)}(?={begins})"
    return FastPattern(pattern, so_far([*ends, *starts, *parts]), spelled)


def _markers(parts: Parts) -> list[str]:
    """Return the first parts that are markers, without whitespace alone."""
    texts = takewhile(lambda part: isinstance(part, str), parts)
    return [text for text in map(str, texts) if text.strip()]


def _are_known(tables: MarkerTables, closers: Sequence[str], openers: Sequence[str]) -> bool:
    """Return whether each of these markers has only one meaning between calls."""
    ending, opening = [text.strip() for text in closers], [text.strip() for text in openers]
    begun = tables.call_openers
    # Code and sections continue differently after their opener.
    if not opening or {begun.code, begun.section}.intersection(opening):
        return False
    # Another role with the same spelling has a higher rank.
    if not all(map(tables.ends_calls, ending)) or not all(map(tables.begins_calls, opening)):
        return False
    behind = all(unambiguous(text, tables.after_call) for text in [*ending, opening[0]])
    # After the last opener, another opener could replace the name.
    last = opening[-1] == begun.prefix or not any(map(IN_HEAD.match, tables.call_starts.firsts))
    goes_on = any(map(AFTER_CALL.match, [*ending, *opening]))
    return (
        behind
        and last
        and not goes_on
        and all(unambiguous(text, tables.call_starts) for text in opening)
    )
