"""Human-readable reasons for buffered text."""

from __future__ import annotations

from deltaparse.stream import WireFormat
from deltaparse.stream.tokens.token_format import written_texts

__all__ = ["WhyHeld"]

SHOWN = 40
"""Maximum number of displayed characters of a marker."""

MOST = 3
"""Maximum number of named markers."""

UNPROVEN = "it may be calls: without tools, calls must fill their part of the turn"

STATES = (
    ("header", "the header of a message is incomplete"),
    ("head", "the head of a call is incomplete"),
    ("name", "a name is incomplete"),
    ("argument", "an argument value is incomplete"),
    ("value", "an argument value is incomplete"),
    ("json", "a JSON value is incomplete"),
    ("python", "a Python value is incomplete"),
    ("call", "it may be a call"),
    ("reasoning", "the next characters decide if it is reasoning"),
)
"""Reasons by a word in the name of a waiting sub-parser. The innermost sub-parser comes first."""


class WhyHeld:
    """Callable that returns the reason for buffered text of a format."""

    def __init__(self, fmt: WireFormat) -> None:
        texts = {text.strip() for text in written_texts(fmt)}
        self._markers = sorted(filter(None, texts), key=lambda text: (len(text), text))

    def __call__(self, text: str, size: int, state: str) -> str:
        """Return the reason.

        Args:
            text: the buffered text, or its end if it is long.
            size: the number of buffered characters.
            state: the state of the parser.
        """
        begins = text.strip()
        if not begins:
            return "whitespace: its role depends on the next characters"
        begun, found = self._begun(text)
        if found and begun == len(text.lstrip()):
            return f"it may become {_either(found)}"
        # A reason for the complete text takes precedence over a reason for its end.
        names = state.split(" > ")
        if "prove" in names:
            return UNPROVEN
        marker = max((one for one in self._markers if begins.startswith(one)), key=len, default="")
        if marker and size == len(text):
            what = "a call is not certain yet" if "call" in state else "the next characters decide"
            return f"after {_shown(marker)}, {what}"
        if found:
            return f"its end may become {_either(found)}"
        for name in reversed(names):
            for word, reason in STATES:
                if word in name:
                    return reason
        return "its role depends on the next characters"

    def _begun(self, text: str) -> tuple[int, list[str]]:
        """Return the longest end of the text that starts a marker, and these markers."""
        most, found = 0, list[str]()
        for marker in self._markers:
            for size in range(min(len(marker) - 1, len(text)), max(most, 1) - 1, -1):
                if text.endswith(marker[:size]):
                    found = [*found, marker] if size == most else [marker]
                    most = size
                    break
        return most, found


def _either(markers: list[str]) -> str:
    shown = [_shown(marker) for marker in markers[:MOST]]
    if len(markers) > MOST:
        return f"{', '.join(shown)} or another marker"
    return " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _shown(marker: str) -> str:
    return marker if len(marker) <= SHOWN else f"{marker[:SHOWN]}…"
