"""The headers of other roles, as far as the assistant's own shows how they are written.

A format names the headers of the assistant's turn. Where `<|im_start|>assistant` is one, what looks
like `<|im_start|>user` is the header of another role. The role may be any word of a header: it is
replaced by another one, wherever it stands, and all else stays. That is looked for behind an
end-of-turn marker only, where nothing else should stand. Of a header that is a mere `<assistant>`,
any tag of HTML would be the like, so that only words count that name roles everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .spellings import tag_starts

__all__ = ["OtherRoles"]

LONGEST_ROLE = 32
ROLES = frozenset(
    {
        "user",
        "human",
        "system",
        "developer",
        "tool",
        "tools",
        "function",
        "functions",
        "observation",
        "environment",
    }
)
"""Words that name roles everywhere."""

LETTER = r"[^\W\d_]"
LETTERS = re.compile(f"{LETTER}+")
WORD = re.compile(r"\w")
ROLE = tuple(re.compile(rf"{of}{{1,{LONGEST_ROLE}}}+(?!{of})") for of in (r"\w", LETTER))


class OtherRoles:
    """The headers of other roles than the assistant; `headers` are the assistant's own.

    `markers` are those of the format, which are no headers.
    """

    __slots__ = ("_headers", "_markers", "_shapes")

    def __init__(self, headers: Iterable[str], markers: Iterable[str]) -> None:
        self._headers = headers
        self._markers = tuple(markers)
        self._shapes: list[_Shape] | None = None

    def match(self, text: str, pos: int, *, final: bool) -> int:
        """Where such a header that begins at `pos` ends; as `Markers.match`.

        `pos` itself if text that may come could make one; -1 if none begins here.
        """
        if self._shapes is None:
            self._shapes = _shapes(self._headers)
        waits = False
        for shape in self._shapes:
            end = shape.match(text, pos, final=final)
            if end > pos and not text.startswith(self._markers, pos):
                rest = text[pos:]
                if final or not any(marker.startswith(rest) for marker in self._markers):
                    return end
                end = pos
            waits = waits or end == pos
        return pos if waits and not final else -1


class _Shape:
    """A header with a gap where the role stands: the same word in each gap, but not the own."""

    __slots__ = ("_is_bare", "_own", "_parts", "_role")

    def __init__(self, own: str, parts: list[str]) -> None:
        self._own = own
        self._parts = parts
        self._is_bare = not "".join(parts).strip("<>[]{}()/ ")
        # What stands behind it would be taken for a part of it.
        self._role = ROLE[WORD.match(parts[1]) is not None]

    def match(self, text: str, pos: int, *, final: bool) -> int:
        """As `OtherRoles.match`."""
        at, role = pos, ""
        for number, part in enumerate(self._parts):
            if number and not role:
                found = self._role.match(text, at)
                if not found or (found.end() == len(text) and not final):
                    return pos if found or at == len(text) else -1
                role = found[0]
            expected = role + part
            if not text.startswith(expected, at):
                return pos if expected.startswith(text[at:]) else -1
            at += len(expected)
        known = role.lower() in ROLES if self._is_bare else role != self._own
        return at if known else -1


def _shapes(headers: Iterable[str]) -> list[_Shape]:
    """All that the headers, and their ends from a tag on, may look like."""
    cores = {text[at:].strip() for text in headers for at in (0, *tag_starts(text))}
    found = []
    for core in sorted(cores):
        for own in sorted(set(LETTERS.findall(core))):
            parts = re.split(rf"(?<!{LETTER}){re.escape(own)}(?!{LETTER})", core)
            if parts[0]:
                found.append(_Shape(own, parts))
    return found
