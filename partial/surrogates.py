r"""Surrogates: halves of characters that a `str` can hold and no encoding can.

UTF-16 writes a character beyond U+FFFF as two surrogates. Tokenizers, and languages with UTF-16
strings, cut text between the two. JSON spells such a character as two escapes. A single surrogate
has no bytes in UTF-8, so emitting one would raise later, in an HTTP layer. Its replacement is its
escape in JSON (`\ud83d`), and U+FFFD elsewhere.

Encoding a text detects surrogates twenty times faster than searching for them, so each function
here encodes first.
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
"""All surrogates, for a character class in a pattern."""

# One surrogate, because two in sequence are replaced separately.
SURROGATE = re.compile(f"[{SURROGATES}]")

REPLACEMENT = "\ufffd"
"""The replacement of invalid bytes and surrogates."""


def is_whole(text: str) -> bool:
    r"""Return True if `text` has no surrogate, so that it can be encoded.

    >>> is_whole("\U0001f600"), is_whole("\ud83d")
    (True, False)
    """
    # UTF-8 cannot encode surrogates, and the failing encoder is much faster than a search.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_surrogates(text: str) -> str:
    r"""Return the JSON `text` with each surrogate spelled as an escape.

    >>> print(escape_surrogates('["\ud83d"]'))
    ["\ud83d"]
    """
    # Python stores a flag for ASCII, so most texts need no pass over their characters.
    if text.isascii() or is_whole(text):
        return text
    return SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def replace_surrogates(text: str) -> str:
    r"""Return `text` with U+FFFD in place of each surrogate.

    >>> replace_surrogates("a\ud83d") == "a\ufffd"
    True
    """
    # Most texts have no surrogates, and the same object is returned without a copy.
    return text if is_whole(text) else SURROGATE.sub(REPLACEMENT, text)
