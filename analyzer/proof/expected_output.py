"""What a model writes, behind a prompt that the template makes, where a history has its turn.

A history is not what was written, and a prompt is not the beginning of a history. Templates drop
the reasoning of earlier turns, trim texts, and write an empty pair of markers where there was no
reasoning; a prompt opens reasoning or closes it, as a switch says. So a turn of the history is
laid against the prompt: what of it stands in the prompt is not written again, what the prompt
leaves open is closed.
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
    """All that a history has between what stands before a turn and what follows it."""
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
    """What a model writes where the history has `body`, which shows so many calls.

    `answer` is all that stands between the user's message and the next: content that is shown
    behind the end of the turn is shown all the same.

    That is behind the template's own `prompt`, or, where that says what is not in the history,
    behind a header alone. `behind` is the turn as it stands behind the prompt, where the history
    begins with that.
    """
    header = fmt.turn.headers[0] if fmt.turn.headers else ""
    content, thought = _shown(turn.content, answer), _shown(turn.reasoning, body)
    if not content and _words_of(turn.content) in answer.replace(body, ""):
        content = turn.content  # spelled otherwise, behind the end of the turn
    if prompt is None:
        prompt = header
    so_far = fmt.derived.turn_so_far(prompt)
    mode, (start, closing) = fmt.reasoning.mode, fmt.derived.reasoning_in(so_far)
    if turn.calls and start.strip() and content and not thought and start + content in body:
        # The template shows content as reasoning, beside calls.
        content, thought = "", content
    dropped = turn.reasoning and not thought and not _says_else(start, closing, body)
    unknown = bool(so_far.strip()) and not _opened(so_far, fmt)
    if dropped and not unknown and fmt.derived.has_reasoning and not _closed(so_far, fmt):
        # The template drops reasoning from history: put it where the model writes it.
        first = "" if _opened(so_far, fmt) else start
        text = first + turn.reasoning + closing + without_reasoning(body, fmt.reasoning)
        return Wire(prompt, text, end, content, turn.reasoning, calls, put_back=True)
    opened, plain = _opened(so_far, fmt), without_reasoning(body, fmt.reasoning)
    written = _behind(so_far, body, fmt)
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
        # The template drops reasoning: put it where the model writes it.
        thought = turn.reasoning or "So be it"
        return Wire(prompt, thought + closing + plain, end, content, thought, calls, put_back=True)
    if mode is ReasoningMode.DELIMITER and not thought:
        return Wire(prompt, fmt.reasoning.end + plain, end, content, "", calls)
    if behind is not None:
        return Wire(prompt, behind, end, content, thought, calls)
    return Wire(header, body, end, content, thought, calls)


def _shown(text: str, body: str) -> str:
    """What of a text a turn has: all of it, or what is left when it is trimmed."""
    return next((part for part in (text, text.strip()) if part and part in body), "")


def _words_of(text: str) -> str:
    """The longest words in a row of a text, which are spelled alike in all notations."""
    return max(WORDS.findall(text), key=len, default=text)


def _says_else(start: str, end: str, body: str) -> bool:
    """Whether a turn has something between the markers of reasoning."""
    if not (start.strip() and end.strip()):
        return False
    _, opened, rest = body.partition(start.strip())
    inner, closed, _ = rest.partition(end.strip())
    return bool(opened and closed and inner.strip())


def _behind(so_far: str, body: str, fmt: WireFormat) -> str | None:
    """What of a turn is not yet in the prompt; None if the prompt is not its beginning."""
    if fmt.reasoning.mode is ReasoningMode.DELIMITER and fmt.reasoning.end.strip() not in body:
        return None
    if body.startswith(so_far):
        return body[len(so_far) :]
    core = so_far.strip()
    if core and body.lstrip().startswith(core):
        return body.lstrip()[len(core) :]
    return None


def _opened(so_far: str, fmt: WireFormat) -> bool:
    """Whether a prompt ends in reasoning that it opened."""
    start, end = map(str.strip, fmt.derived.reasoning_in(so_far))
    return bool(start) and start in so_far and end not in so_far.rpartition(start)[2]


def _closed(so_far: str, fmt: WireFormat) -> bool:
    """Whether a prompt ends behind reasoning that is closed, or has none."""
    end = fmt.derived.reasoning_in(so_far)[1].strip()
    return so_far.rstrip().endswith(end)
