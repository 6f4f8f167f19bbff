"""Headers of other roles, recognized by their similarity to the assistant's header.

A format lists only headers of the assistant's turn. If `<|im_start|>assistant` is one, then
`<|im_start|>user` is the header of another role. Any word of a header may be the role. A header of
another role has a different word in its place, and is otherwise equal.

These headers are searched only after an end-of-turn marker, because other text is not expected
there. If the header is only `<assistant>`, any HTML tag would be similar. Then only common names of
roles count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .spellings import tag_starts

__all__ = ["OtherRoles"]

# A limit, because an incomplete role is buffered.
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
"""Common names of roles."""

LETTER = r"[^\W\d_]"
LETTERS = re.compile(f"{LETTER}+")
WORD = re.compile(r"\w")
# The lookahead excludes the beginning of a longer word.
ROLE = tuple(re.compile(rf"{of}{{1,{LONGEST_ROLE}}}+(?!{of})") for of in (r"\w", LETTER))


class OtherRoles:
    """The headers of roles other than the assistant.

    Args:
        headers: the headers of the assistant.
        markers: the markers of the format, which are not headers of other roles.
    """

    __slots__ = ("_headers", "_markers", "_shapes")

    def __init__(self, headers: Iterable[str], markers: Iterable[str]) -> None:
        self._headers = headers
        self._markers = tuple(markers)
        # Compiled on first use: few turns have text after their end.
        self._shapes: list[_Shape] | None = None

    def match(self, text: str, pos: int, *, final: bool) -> int:
        """Return the end of a header at an index of the text.

        Args:
            text: the text so far.
            pos: the index.
            final: True if no more text follows.

        Returns:
            The end of the header. Or, as for `Markers.match`, `pos` if later text could complete a
            header, otherwise -1.
        """
        if self._shapes is None:
            self._shapes = _shapes(self._headers)
        waits = False
        for shape in self._shapes:
            end = shape.match(text, pos, final=final)
            if end > pos and not text.startswith(self._markers, pos):
                rest = text[pos:]
                # A marker of the format has precedence, and may still be incomplete.
                if final or not any(marker.startswith(rest) for marker in self._markers):
                    return end
                end = pos
            # Another shape may still match, so waiting is decided after the loop.
            waits = waits or end == pos
        return pos if waits and not final else -1


class _Shape:
    """A header with gaps for the role: the same word in each gap, but not the assistant's word."""

    __slots__ = ("_is_bare", "_own", "_parts", "_role")

    def __init__(self, own: str, parts: list[str]) -> None:
        self._own = own
        self._parts = parts
        # A bare tag also matches HTML.
        self._is_bare = not "".join(parts).strip("<>[]{}()/ ")
        # If a digit or underscore follows the role, the role must not consume it.
        self._role = ROLE[WORD.match(parts[1]) is not None]

    def match(self, text: str, pos: int, *, final: bool) -> int:
        """Return the end of the header, as `OtherRoles.match` does."""
        at, role = pos, ""
        for number, part in enumerate(self._parts):
            if number and not role:
                found = self._role.match(text, at)
                # The role may continue in the next chunk.
                if not found or (found.end() == len(text) and not final):
                    return pos if found or at == len(text) else -1
                role = found[0]
            expected = role + part
            if not text.startswith(expected, at):
                return pos if expected.startswith(text[at:]) else -1
            at += len(expected)
        # The assistant's own header is not the header of another role.
        known = role.lower() in ROLES if self._is_bare else role != self._own
        return at if known else -1


def _shapes(headers: Iterable[str]) -> list[_Shape]:
    """Return the shapes of all headers, and of their ends from a tag on."""
    # Models may repeat a header only from its last tag on.
    cores = {text[at:].strip() for text in headers for at in (0, *tag_starts(text))}
    found = []
    for core in sorted(cores):
        # Sorted, so that results do not depend on the hash seed.
        for own in sorted(set(LETTERS.findall(core))):
            # Only complete words are replaced: `user` in `username` is not a role.
            parts = re.split(rf"(?<!{LETTER}){re.escape(own)}(?!{LETTER})", core)
            # A shape that begins with its role would match any word.
            if parts[0]:
                found.append(_Shape(own, parts))
    return found
