"""JSON data of an inspection for the script of the page: mainly lists of lengths.

Lengths and offsets are in UTF-16 code units, as in JavaScript strings. Lists of pairs are flat,
because JSON with a million small lists is slow to parse.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from itertools import pairwise
from typing import Any

from .inspection import Held, InspectedPart, Inspection

__all__ = ["page_data", "script_text"]

WIDE = re.compile("[\U00010000-\U0010ffff]")
"""A character of two UTF-16 code units."""

# Characters that could end the script element or a JavaScript string, and lone surrogates, which
# cannot be encoded.
UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


class _Places:
    """Converter of character offsets in a text to UTF-16 offsets."""

    def __init__(self, text: str) -> None:
        wide = not text.isascii() and WIDE.search(text)
        self._wide = [found.start() for found in WIDE.finditer(text)] if wide else []

    def __call__(self, offset: int) -> int:
        """Return the UTF-16 offset of a character offset."""
        return offset + bisect_left(self._wide, offset)

    def lengths(self, lengths: list[int]) -> list[int]:
        """Return the UTF-16 lengths of consecutive stretches."""
        if not self._wide:
            return lengths
        ends, at = [0], 0
        for length in lengths:
            at += length
            ends.append(self(at))
        return [end - start for start, end in pairwise(ends)]


def page_data(inspection: Inspection) -> dict[str, Any]:
    """Return an inspection as data for the script of the page."""
    places = _Places(inspection.text)
    roles = sorted({span.role for span in inspection.spans})
    spans = places.lengths([span.end - span.start for span in inspection.spans])
    states = sorted({state for _, state in inspection.states})
    state_numbers = {state: number for number, state in enumerate(states)}
    role_numbers = {role: number for number, role in enumerate(roles)}
    return {
        "title": inspection.title,
        "format": inspection.format,
        "reason": inspection.reason,
        "finish": inspection.finish_reason,
        "note": inspection.note,
        "error": inspection.error,
        "text": inspection.text,
        "chunks": places.lengths(inspection.chunks),
        "ids": inspection.ids,
        "roles": roles,
        "spans": _flat(
            (role_numbers[span.role], length)
            for span, length in zip(inspection.spans, spans, strict=True)
        ),
        "states": states,
        "stateAt": _flat((step, state_numbers[state]) for step, state in inspection.states),
        **_held(inspection, places),
        "parts": [_part(part) for part in inspection.parts],
        "issues": [
            {
                "step": step,
                "kind": issue.kind,
                "start": places(issue.span[0]),
                "end": places(issue.span[1]),
                "detail": issue.detail,
            }
            for step, issue in inspection.issues
        ],
        "attempts": [
            {
                "name": one.name,
                "status": one.status,
                "detail": one.detail,
                "start": places(one.span[0]),
                "end": places(one.span[1]),
            }
            for one in inspection.attempts
        ],
    }


def script_text(value: Any) -> str:
    """Return a value as JSON that is safe in a script element, whatever its strings contain."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _held(inspection: Inspection, places: _Places) -> dict[str, Any]:
    """Return the buffered text as triples of step, length and index of the reason."""
    reasons = sorted({held.why for held in inspection.held})
    numbers = {why: number for number, why in enumerate(reasons)}
    ends: dict[int, int] = {}
    at, wanted = 0, {held.step for held in inspection.held}
    for step, length in enumerate(inspection.chunks, 1):
        at += length
        if step in wanted:
            ends[step] = at

    def size(held: Held) -> int:
        end = ends.get(held.step, 0)
        return places(end) - places(max(end - held.size, 0))

    flat = _flat((held.step, size(held), numbers[held.why]) for held in inspection.held)
    return {"reasons": reasons, "heldAt": flat}


def _part(part: InspectedPart) -> dict[str, Any]:
    """Return a part with its deltas as pairs of length and distance to the previous step."""
    steps = [step for step, _ in part.deltas]
    gaps = [step - before for step, before in zip(steps, [0, *steps], strict=False)]
    lengths = _Places(part.text).lengths([length for _, length in part.deltas])
    made: dict[str, Any] = {"kind": part.kind, "text": part.text}
    if part.kind == "tool_call":
        made |= {
            "id": part.id,
            "name": part.name,
            "whole": part.whole_at,
            "complete": part.complete,
            "repaired": part.repaired,
        }
    return made | {"deltas": _flat(zip(gaps, lengths, strict=True))}


def _flat(rows: Any) -> list[int]:
    return [number for row in rows for number in row]
