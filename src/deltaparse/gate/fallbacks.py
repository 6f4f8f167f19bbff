r"""Text patterns of the two fallbacks. A match is a candidate, not yet a call.

    output   = [ intent SPACE ] body            the response, with an intent marker
    json     = "{" ... '"tool"' ... "}"         fallback A: the complete body, after trimming
    bracket  = "[" name "(" ... ")" ... "]"     fallback B: the complete body too

An intent marker counts only at the start of the response, so prose can mention it. JSON and bracket
style must fill the complete body, because long text often contains similar text by chance. Each
block or call in the body is a candidate, and phase two refuses several. A body over the size limit
is one candidate without further analysis.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from .decision import Reason
from .strict_arguments import SPACE
from .telemetry import ParseMode

__all__ = ["DENIAL", "Snippet", "after_intent", "size", "snippets"]

DENIAL = "need_tool: no"
CALL = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,127}+)\((.*)\)", re.DOTALL)
BRACKET_START = re.compile(r"\[[ \t\r\n]{0,16}[A-Za-z_][A-Za-z0-9_.-]{0,127}+\(")
BRACKET_END = re.compile(r"\)[ \t\r\n]{0,16}\]\Z")
# Unclosed strings are consumed too, so no character is read twice.
JSON_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[][{}]', re.DOTALL)
CALL_TOKENS = re.compile(
    r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)' r"|'(?:[^'\\]++|\\.)*+(?:'|\\?\Z)|[][(){},]", re.DOTALL
)

Snippet = tuple[str, str, Reason | None]
"""The name, the payload and the flaw (or None) of one candidate."""


def size(text: str) -> int:
    """Return the size in bytes of UTF-8. A lone surrogate counts as three bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def after_intent(body: str, intents: Sequence[str]) -> tuple[str, bool]:
    """Return a trimmed body without its intent marker, and True if it had one."""
    for intent in intents:
        if starts_with(body, intent):
            return body[len(intent) :].lstrip(SPACE), True
    return body, False


def starts_with(body: str, intent: str) -> bool:
    """Return True if the body begins with the intent marker as a separate word."""
    after = body[len(intent) : len(intent) + 1]  # "" at the end is in any string
    return body.startswith(intent) and after in SPACE + "{["


def snippets(body: str, fallbacks: Collection[str], limit: int) -> tuple[ParseMode, list[Snippet]]:
    """Return the fallback matching a trimmed body, and its snippets."""
    if "json" in fallbacks and body[:1] == "{" and body[-1:] == "}" and '"tool"' in body:
        blocks = [*_blocks(body, JSON_TOKENS)] if size(body) <= limit else []
        return "json", [("", block, None) for block in blocks or [body]]
    if "bracket" in fallbacks and BRACKET_START.match(body) and BRACKET_END.search(body):
        blocks = [*_blocks(body, CALL_TOKENS)] if size(body) <= limit else []
        calls = [call for block in blocks for call in _calls(block[1:-1])]
        return "bracket", calls or [("", body, "malformed_call")]
    return "none", []


def _blocks(body: str, tokens: re.Pattern[str]) -> Iterator[str]:
    """Yield the bracketed blocks of the body. Yield nothing if it has other text."""
    spans: list[tuple[int, int]] = []
    depth = start = end = 0
    for token in tokens.finditer(body):
        if token[0] in ("[", "{", "("):
            if not depth:
                start = token.start()
                if body[end:start].strip(SPACE):
                    return
            depth += 1
        elif token[0] in ("]", "}", ")"):
            depth -= 1
            end = token.end()
            if not depth:
                spans.append((start, end))
    if not depth and end == len(body):
        yield from (body[start:end] for start, end in spans)


def _calls(inner: str) -> Iterator[Snippet]:
    """Yield the comma-separated calls of one block of bracket style."""
    depth = start = 0
    ends = []
    for token in CALL_TOKENS.finditer(inner):
        depth += (token[0] in ("[", "{", "(")) - (token[0] in ("]", "}", ")"))
        if token[0] == "," and not depth:
            ends.append(token.start())
    for end in [*ends, len(inner)]:
        call = CALL.fullmatch(inner[start:end].strip(SPACE))
        yield (call[1], call[2], None) if call else ("", inner[start:end], "malformed_call")
        start = end + 1
