"""Expected output of a model, reconstructed from a history with its turn.

The output differs from the history, and the history does not begin with the prompt. Templates drop
the reasoning of earlier turns, trim texts, and write an empty pair of markers for missing
reasoning. Prompts open or close reasoning, depending on a switch. The turn of the history is
therefore aligned with the prompt. Text already in the prompt is removed, and reasoning opened by
the prompt is closed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deltaparse.stream import ReasoningMode, WireFormat

from ..diff import after
from ..phases.find_content import without_reasoning
from ..probes import NEXT_USER, RESULT
from .conversations import Turn
from .proved_turn import Wire

__all__ = ["RenderedTurn", "answer_in", "wire_for"]

WORDS = re.compile(r"\w+(?: \w+)*")


def answer_in(rendered: str, behind: str) -> str:
    """Return the text of a history between `behind` and the message after the turn."""
    answer = after(rendered, behind)
    for following in (RESULT, NEXT_USER):
        answer = answer.partition(following)[0]
    return answer


@dataclass(frozen=True, slots=True)
class RenderedTurn:
    """A turn of a history, as the template renders it.

    Attributes:
        turn: the expected parts.
        body: the rendered turn.
        end: the rendered end of the turn.
        answer: all text between two user messages, since content may be rendered after the end of
            the turn.
        calls: the number of calls in `body`.
    """

    turn: Turn
    body: str
    end: str
    answer: str
    calls: int


def wire_for(
    rendered: RenderedTurn, prompt: str | None, fmt: WireFormat, behind: str | None = None
) -> Wire:
    """Return the expected output for a turn of a history.

    The output follows the template's own `prompt`. If the prompt contains text that is not in the
    history, the output follows only a header.

    Args:
        rendered: the turn.
        prompt: the rendered prompt, None if it could not be rendered.
        fmt: the format.
        behind: the turn after the prompt, if the history begins with the prompt.
    """
    header = fmt.turn.headers[0] if fmt.turn.headers else ""
    begun = header if prompt is None else prompt
    aligned = _Aligned(rendered, begun, fmt)
    thought = aligned.thought

    def wire(text: str, reasoning: str, *, after: str = begun, put_back: bool = False) -> Wire:
        parts = aligned.content, reasoning, rendered.calls
        return Wire(after, text, rendered.end, *parts, put_back=put_back)

    if aligned.drops_reasoning():
        # The template drops reasoning from history, so it is inserted as the model writes it.
        first = "" if aligned.opened else aligned.start
        inserted = rendered.turn.reasoning
        return wire(first + inserted + aligned.closing + aligned.plain, inserted, put_back=True)
    written = aligned.after_prompt(behind)
    if written is not None:
        return wire(written, thought)
    if aligned.opened and not thought:
        # The prompt opens reasoning, so the model must write some.
        inserted = rendered.turn.reasoning or "So be it"
        return wire(inserted + aligned.closing + aligned.plain, inserted, put_back=True)
    if fmt.reasoning.mode is ReasoningMode.DELIMITER and not thought:
        return wire(fmt.reasoning.end + aligned.plain, "")
    if behind is not None:
        return wire(behind, thought)
    return wire(rendered.body, thought, after=header)


class _Aligned:
    """A rendered turn next to the part of it that the prompt already contains.

    Attributes:
        start: the start marker of reasoning.
        closing: the end marker of reasoning.
        opened: True if the prompt ends within reasoning.
        closed: True if the prompt ends after closed or absent reasoning.
        plain: the turn without reasoning.
        content: the content in the turn.
        thought: the reasoning in the turn.
    """

    def __init__(self, rendered: RenderedTurn, prompt: str, fmt: WireFormat) -> None:
        self._turn, self._body, self._fmt = rendered.turn, rendered.body, fmt
        self._so_far = so_far = fmt.derived.turn_so_far(prompt)
        self.start, self.closing = fmt.derived.reasoning_in(so_far)
        self.opened, self.closed = _opened(so_far, fmt), _closed(so_far, fmt)
        self.plain = without_reasoning(self._body, fmt.reasoning)
        self.content, self.thought = self._parts(rendered.answer)

    def _parts(self, answer: str) -> tuple[str, str]:
        """Return the content and the reasoning in the turn."""
        turn, body = self._turn, self._body
        content, thought = _shown(turn.content, answer), _shown(turn.reasoning, body)
        if not content and _words_of(turn.content) in answer.replace(body, ""):
            content = turn.content  # escaped, and after the end of the turn
        if turn.calls and self.start.strip() and content and not thought:
            # Some templates render content as reasoning in turns with calls.
            if self.start + content in body:
                return "", content
        return content, thought

    def drops_reasoning(self) -> bool:
        """Return True if the template drops the reasoning, and the model may still write it."""
        if not self._turn.reasoning or self.thought or self.closed:
            return False
        unknown = bool(self._so_far.strip()) and not self.opened
        if unknown or not self._fmt.derived.has_reasoning:
            return False
        return not _has_reasoning(self.start, self.closing, self._body)

    def after_prompt(self, behind: str | None) -> str | None:
        """Return the turn without the part in the prompt, None if it does not continue the prompt.

        Args:
            behind: the turn after the prompt, if the history begins with the prompt.
        """
        body, thought, end = self._body, self.thought, self.closing.strip()
        written = _after_prompt(self._so_far, body, self._fmt)
        lacks_end = self.opened and not thought and end not in body
        if written is not None and not lacks_end:
            return written if behind is None else behind
        if self.opened and thought and thought in body:
            return body[body.index(thought) :]
        head = body.partition(end or "\n")[0].strip().removeprefix(self.start.strip())
        empty = not thought and (end not in body or not head.strip())
        return self.plain if empty and self._fmt.derived.has_reasoning and self.closed else None


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
