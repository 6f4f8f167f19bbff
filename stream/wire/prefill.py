r"""Check that the text after a header in a prompt can be the beginning of the turn.

If the prompt was made for another format, a user wrote the header. Then the rest of the user's
message follows, and the header of the other format. A beginning of the turn has no special tokens
of other formats, and does not end with the name of an assistant.

    <|im_start|>assistant\n<tool_call>...<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>
"""

from __future__ import annotations

import re
from collections.abc import Collection

from .spellings import TAG

__all__ = ["is_prefill"]

# Bracket and bar variants: some vocabularies use fullwidth characters.
SPECIAL = re.compile(r"[<〈][|｜][^<>〈〉\s]{1,64}[>〉]|<[^<>|｜\s]{1,64}[|｜]>")
"""A special token in the spelling of most vocabularies."""

LONGEST = 256
"""The number of characters at the end of a prompt in which a header is searched."""

LAST_TAG = re.compile(rf"(?:{TAG.pattern})\Z")
# A plain word at the end of a text is not a header, so each way needs a tag, a line or a colon.
LAST_WORD = re.compile(
    r"[>\]](\w+)(?: \w+=\w+)? ?:?\Z"  # directly after a tag
    r"|(?:^|\n)\W*(\w+) ?:\Z"  # the only word of a line, with a colon
    r"|\b([A-Z]\w*) ?:\Z"  # a name, with a colon
)
"""The last word of a text, if it may name the owner of the turn."""

LETTERS = re.compile(r"[^\W\d_]+")
ASSISTANTS = frozenset({"assistant", "model", "ai", "bot", "chatbot", "gpt", "agent", "inst"})
"""Words for the owner of the turn in headers. `[/INST]` ends the user's turn."""


def is_prefill(text: str, own: Collection[str]) -> bool:
    """Return whether a text may be the beginning of a turn.

    Args:
        text: the text after the header.
        own: the markers of the format.
    """
    # A set, because long prompts repeat their tokens.
    strange = {found[0] for found in SPECIAL.finditer(text)}
    # Special tokens of other formats show that the prompt belongs to another format.
    return all(_is_own(one, own) for one in strange) and not _ends_in_header(text, own)


def _is_own(tag: str, own: Collection[str]) -> bool:
    """Return whether a tag occurs in one of the format's markers."""
    return any(tag in marker for marker in own)


def _ends_in_header(text: str, own: Collection[str]) -> bool:
    """Return whether a text ends with a header, for example `<assistant>` or `Assistant:`.

    Tags like `<think>` may follow the header.
    """
    # A limit, because the patterns end with an anchor and are tried at each position.
    rest, said = text[-LONGEST:].rstrip(), list[str]()
    while tag := LAST_TAG.search(rest):
        rest = rest[: tag.start()].rstrip()
        # The format's own tags, like `<think>`, do not name an owner.
        said += [] if _is_own(tag[0], own) else LETTERS.findall(tag[0])
    if word := LAST_WORD.search(rest):
        said += filter(None, word.groups())
    # Spellings vary: `Assistant:` and `ASSISTANT:` are both in use.
    return not ASSISTANTS.isdisjoint(map(str.lower, said))
