"""Why text is held back, in a sentence for people."""

from __future__ import annotations

from deltaparse.stream import WireFormat
from deltaparse.stream.tokens.token_format import written_texts

__all__ = ["WhyHeld"]

SHOWN = 40
"""Characters of a marker that are shown."""

MOST = 3
"""Markers that are named."""

UNPROVEN = "it may be calls: without tools, those are calls that fill their part of the turn"

STATES = (
    ("header", "the header of a message is not whole yet"),
    ("head", "the head of a call is not whole yet"),
    ("name", "a name is not whole yet"),
    ("argument", "a value of the arguments is not whole yet"),
    ("value", "a value of the arguments is not whole yet"),
    ("json", "a value in JSON is not whole yet"),
    ("python", "a value in Python is not whole yet"),
    ("call", "it may be a call: that is not certain yet"),
    ("reasoning", "what follows says whether it is reasoning"),
)
"""What a word in the name of the sub-parser that waits, the innermost first, says of the text."""


class WhyHeld:
    """Says why the end of an output in this format is held back."""

    def __init__(self, fmt: WireFormat) -> None:
        texts = {text.strip() for text in written_texts(fmt)}
        self._markers = sorted(filter(None, texts), key=lambda text: (len(text), text))

    def __call__(self, text: str, size: int, state: str) -> str:
        """Return the reason; `text` is what is held back, or the end of it if that is long."""
        begins = text.strip()
        if not begins:
            return "white space: what follows says where it belongs"
        begun, found = self._begun(text)
        if found and begun == len(text.lstrip()):
            return f"it may become {_either(found)}"
        # What holds back all of it comes before what holds back its end.
        names = state.split(" > ")
        if "prove" in names:
            return UNPROVEN
        marker = max((one for one in self._markers if begins.startswith(one)), key=len, default="")
        if marker and size == len(text):
            what = (
                "a call is not certain yet" if "call" in state else "what follows says what it is"
            )
            return f"behind {_shown(marker)}, {what}"
        if found:
            return f"its end may become {_either(found)}"
        for name in reversed(names):
            for word, reason in STATES:
                if word in name:
                    return reason
        return "what follows says what it is"

    def _begun(self, text: str) -> tuple[int, list[str]]:
        """How much of the end of the text markers may begin with, at most, and which do."""
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
