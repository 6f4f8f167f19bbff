"""Expected output of a model, reconstructed from a history with its turn.

The output differs from the history, and the history does not begin with the prompt. Templates drop
the reasoning of earlier turns, trim texts, and write an empty pair of markers for missing
reasoning. Prompts open or close reasoning, depending on a switch. The turn of the history is
therefore aligned with the prompt. Text already in the prompt is removed, and reasoning opened by
the prompt is closed.
"""

from __future__ import annotations

import re

from deltaparse.stream import ReasoningMode, WireFormat

from ..diff import after
from ..phases.find_content import without_reasoning
from ..probes import NEXT_USER, RESULT
from .conversations import Turn
from .proved_turn import Wire

__all__ = ["answer_in", "wire_for"]

WORDS = re.compile(r"\w+(?: \w+)*")


def answer_in(rendered: str, behind: str) -> str:
    """Return the text of a history between `behind` and the message after the turn."""
    answer = after(rendered, behind)
    for following in (RESULT, NEXT_USER):
        answer = answer.partition(following)[0]
    return answer


def wire_for(
    turn: Turn,
    body: str,
    end: str,
    answer: str,
    calls: int,
    prompt: str | None,
    fmt: WireFormat,
    behind: str | None = None,
) -> Wire:
    """Return the expected output for `body`, a turn of a history.

    The output follows the template's own `prompt`. If the prompt contains text that is not in the
    history, the output follows only a header.

    Args:
        turn: the expected parts.
        body: the rendered turn.
        end: the rendered end of the turn.
        answer: all text between two user messages, since content may be rendered after the end of
            the turn.
        calls: the number of calls in `body`.
        prompt: the rendered prompt, None if it could not be rendered.
        fmt: the format.
        behind: the turn after the prompt, if the history begins with the prompt.
    """
    header = fmt.turn.headers[0] if fmt.turn.headers else ""
    content, thought = _shown(turn.content, answer), _shown(turn.reasoning, body)
    if not content and _words_of(turn.content) in answer.replace(body, ""):
        content = turn.content  # escaped, and after the end of the turn
    if prompt is None:
        prompt = header
    so_far = fmt.derived.turn_so_far(prompt)
    mode, (start, closing) = fmt.reasoning.mode, fmt.derived.reasoning_in(so_far)
    if turn.calls and start.strip() and content and not thought and start + content in body:
        # The template renders content as reasoning in turns with calls.
        content, thought = "", content
    dropped = turn.reasoning and not thought and not _has_reasoning(start, closing, body)
    unknown = bool(so_far.strip()) and not _opened(so_far, fmt)
    if dropped and not unknown and fmt.derived.has_reasoning and not _closed(so_far, fmt):
        # The template drops reasoning from history, so it is inserted as the model writes it.
        first = "" if _opened(so_far, fmt) else start
        text = first + turn.reasoning + closing + without_reasoning(body, fmt.reasoning)
        return Wire(prompt, text, end, content, turn.reasoning, calls, put_back=True)
    opened, plain = _opened(so_far, fmt), without_reasoning(body, fmt.reasoning)
    written = _after_prompt(so_far, body, fmt)
    if written is not None and behind is not None:
        written = behind
    if written is not None and not (opened and not thought and closing.strip() not in body):
        return Wire(prompt, written, end, content, thought, calls)
    if opened and thought and thought in body:
        return Wire(prompt, body[body.index(thought) :], end, content, thought, calls)
    head = body.partition(closing.strip() or "\n")[0].strip().removeprefix(start.strip())
    empty = closing.strip() not in body or not head.strip()
    if not thought and empty and fmt.derived.has_reasoning and _closed(so_far, fmt):
        return Wire(prompt, plain, end, content, "", calls)
    if opened and not thought:
        # The template drops reasoning, so it is inserted as the model writes it.
        thought = turn.reasoning or "So be it"
        return Wire(prompt, thought + closing + plain, end, content, thought, calls, put_back=True)
    if mode is ReasoningMode.DELIMITER and not thought:
        return Wire(prompt, fmt.reasoning.end + plain, end, content, "", calls)
    if behind is not None:
        return Wire(prompt, behind, end, content, thought, calls)
    return Wire(header, body, end, content, thought, calls)


def _shown(text: str, body: str) -> str:
    """Return the part of a text found in a turn: all of it, the trimmed text, or ""."""
    return next((part for part in (text, text.strip()) if part and part in body), "")


def _words_of(text: str) -> str:
    """Return the longest run of words in a text, spelled alike in all notations."""
    return max(WORDS.findall(text), key=len, default=text)


def _has_reasoning(start: str, end: str, body: str) -> bool:
    """Return True if a turn has text between its reasoning markers."""
    if not (start.strip() and end.strip()):
        return False
    _, opened, rest = body.partition(start.strip())
    inner, closed, _ = rest.partition(end.strip())
    return bool(opened and closed and inner.strip())


def _after_prompt(so_far: str, body: str, fmt: WireFormat) -> str | None:
    """Return the part of a turn after the prompt, or None if it does not begin with the prompt."""
    if fmt.reasoning.mode is ReasoningMode.DELIMITER and fmt.reasoning.end.strip() not in body:
        return None
    if body.startswith(so_far):
        return body[len(so_far) :]
    core = so_far.strip()
    if core and body.lstrip().startswith(core):
        return body.lstrip()[len(core) :]
    return None


def _opened(so_far: str, fmt: WireFormat) -> bool:
    """Return True if a prompt ends within reasoning it opened."""
    start, end = map(str.strip, fmt.derived.reasoning_in(so_far))
    return bool(start) and start in so_far and end not in so_far.rpartition(start)[2]


def _closed(so_far: str, fmt: WireFormat) -> bool:
    """Return True if a prompt ends after closed or absent reasoning."""
    end = fmt.derived.reasoning_in(so_far)[1].strip()
    return so_far.rstrip().endswith(end)
