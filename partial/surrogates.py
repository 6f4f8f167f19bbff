r"""Surrogates: halves of characters, which a `str` can hold and no encoding can.

UTF-16 writes a character beyond U+FFFF as two surrogates. Tokenizers and languages whose strings
are UTF-16 cut text between the two, and JSON spells such a character as two escapes. A surrogate
alone has no bytes in UTF-8, so to emit one would make an HTTP layer raise far away from here.
What stands for it depends on the text: in JSON its escape (`\ud83d`), elsewhere U+FFFD.

To encode a text says whether it holds one in a twentieth of the time that a search for them
takes, so each function here asks that first.
"""

from __future__ import annotations

import re

__all__ = [
    "REPLACEMENT",
    "SURROGATE",
    "SURROGATES",
    "escape_surrogates",
    "is_whole",
    "replace_surrogates",
]

SURROGATES = "\ud800-\udfff"
"""All surrogates, for use within a class of characters in a pattern."""

SURROGATE = re.compile(f"[{SURROGATES}]")

REPLACEMENT = "\ufffd"
"""What stands for bytes or surrogates that are no character."""


def is_whole(text: str) -> bool:
    r"""Return whether `text` holds no surrogate, and so can be encoded.

    >>> is_whole("\U0001f600"), is_whole("\ud83d")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_surrogates(text: str) -> str:
    r"""Return the JSON `text` with each surrogate in it spelled as an escape.

    >>> print(escape_surrogates('["\ud83d"]'))
    ["\ud83d"]
    """
    if text.isascii() or is_whole(text):
        return text
    return SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def replace_surrogates(text: str) -> str:
    r"""Return `text` with U+FFFD for each surrogate in it.

    >>> replace_surrogates("a\ud83d") == "a\ufffd"
    True
    """
    return text if is_whole(text) else SURROGATE.sub(REPLACEMENT, text)
