"""What stands around the assistant's turn: headers, end-of-turn strings, generation prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from deltaparse.stream import TurnFormat

from ..diff import common_prefix, common_suffix, segments
from ..probes import (
    CONTENT,
    FUNCTIONS,
    NEXT_USER,
    PROBE_TEXTS,
    RESULT,
    TOOLS,
    USER,
    assistant,
    call,
    result,
    user,
)
from ..turns import Renderer

__all__ = ["Frame", "find_frame", "prompt_tail"]


@dataclass(frozen=True, slots=True)
class Frame:
    """The surroundings of a turn.

    `turn` is what of it goes into the format. `header` stands right before the turn after a
    user's message; `trailer` is what the template writes at the very end of every conversation.
    """

    turn: TurnFormat
    header: str
    trailer: str

    def body(self, rendered: str | None) -> str | None:
        """The assistant's turn that follows `USER`, without the end-of-turn string.

        It is the last of the rendering, or followed by `NEXT_USER`. None when there is none.
        """
        parts = self.body_and_end(rendered)
        return parts[0] if parts else None

    def body_and_end(self, rendered: str | None) -> tuple[str, str] | None:
        """The same with the end of the turn as the template wrote it, "" if it wrote none."""
        if rendered is None or USER not in rendered:
            return None
        after = rendered[rendered.rindex(USER) + len(USER) :]
        # A template may leave out the white space that ends the header.
        header = next((text for text in (self.header, self.header.rstrip()) if text in after), None)
        if header is None:
            return None
        turn = after[after.index(header) + len(header) :]
        if NEXT_USER in turn:
            turn = turn[: turn.index(NEXT_USER)]
            cuts = [(turn.index(end), end) for end in self.turn.ends if end in turn]
            return (turn[: min(cuts)[0]], min(cuts)[1]) if cuts else None
        turn = turn.removesuffix(self.trailer)
        for end in self.turn.ends:
            # The white space round an end-of-turn string may differ between kinds of turns.
            core = end if turn.endswith(end) else end.strip()
            if turn.endswith(end) or turn.rstrip().endswith(core):
                at = turn.rindex(core)
                return turn[:at], turn[at:]
        return turn, ""

    def with_last_end_marker(self) -> Frame:
        """The same with an end-of-turn string of one marker, the last."""
        ends = self.turn.ends
        pieces = [piece.text for piece in segments(ends[0]) if piece.marker] if ends else []
        if len(pieces) < 2:
            return self
        return replace(self, turn=replace(self.turn, ends=(pieces[-1], *ends[1:])))

    def shared_with_calls(self, render: Renderer) -> Frame:
        """The same without the end of the header that stands before each call too.

        Where each message of a turn begins with a marker, the prompt has the first of them.
        """
        calls = [user(), assistant("", calls=[call(), call(1)])]
        pair = render(calls, tools=TOOLS) or ""
        if not _in_order(pair, *FUNCTIONS):
            return self
        shared = common_suffix(self.header, pair[: pair.rindex(FUNCTIONS[1])])
        if not shared.strip() or shared == self.header:
            return self
        return self.without(shared.lstrip())

    def without(self, marker: str) -> Frame:
        """The same with a header that ends before `marker`, if that had got into it."""
        if not marker or marker not in self.header:
            return self
        header = self.header[: self.header.index(marker)]
        headers = tuple(text.partition(marker)[0] for text in self.turn.headers)
        return replace(self, header=header, turn=replace(self.turn, headers=headers))


def find_frame(render: Renderer) -> Frame | None:
    """Find what stands around a turn; None when the template renders no conversation."""
    asked = render([user()])
    spoken = render([user(), assistant()]) if asked is not None else None
    if spoken is None or asked is None or USER not in asked:
        return None
    if not _in_order(spoken, USER, CONTENT):
        return None
    prompt = prompt_tail(render) or ""
    added = prompt.removeprefix(_after(asked, USER)) if prompt != _after(asked, USER) else ""
    header = _header(render, spoken, prompt, added)
    headers = [header]
    after_tool = _header_after_tool(render, header)
    if after_tool:
        shared = common_suffix(header, after_tool)
        headers = [shared] if shared.strip() else [header, after_tool]
    end, trailer = _end(render, spoken, asked, headers[0])
    at = prompt.rfind(headers[0])
    ends = {end: None, render.template.eos_token: None}
    turn = TurnFormat(
        headers=tuple(text for text in headers if text.strip()),
        ends=tuple(text for text in ends if text.strip()),
        generation_prompt=prompt[at:] if at >= 0 else prompt,
    )
    return Frame(turn, header, trailer)


def prompt_tail(
    render: Renderer, text: str = USER, context: Mapping[str, Any] | None = None
) -> str | None:
    """What a prompt has after `USER`, with which the user's `text` begins.

    That is the rest of the text, the end of the message and the generation prompt.
    """
    rendered = render([user(text)], prompt=True, context=context)
    return None if rendered is None or USER not in rendered else _after(rendered, USER)


def _header(render: Renderer, spoken: str, prompt: str, added: str) -> str:
    """What stands between the user's message and the assistant's turn.

    That is the part of the generation prompt that stands there in every kind of turn; where
    the template adds none, the part of every prompt's end.
    """
    between = [_between(spoken, USER, CONTENT)]
    middle = render([user(), assistant(), user(NEXT_USER)])
    if middle is not None and _in_order(middle, USER, CONTENT):
        between.append(_between(middle, USER, CONTENT))
    called = render([user(), assistant("", calls=[call()])], tools=TOOLS)
    if called is not None and _in_order(called, USER, FUNCTIONS[0]):
        between.append(_between(called, USER, FUNCTIONS[0]))
    if not added.strip():
        return common_prefix(prompt, *between)
    first = next(piece.text.strip() for piece in segments(added) if piece.text.strip())
    starts = [text[text.index(first) :] for text in between if first in text]
    # The white space before the first marker of the generation prompt is the header's too.
    space = added[: added.index(first)]
    return space + common_prefix(added[len(space) :], *starts) if starts else added


def _header_after_tool(render: Renderer, header: str) -> str:
    """What stands between a tool's result and the assistant's turn, "" when that is not known."""
    asked = [user(), assistant("", calls=[call()]), result()]
    prompt = render(asked, tools=TOOLS, prompt=True)
    answered = render([*asked, assistant()], tools=TOOLS)
    if prompt is None or answered is None or not _in_order(answered, RESULT, CONTENT):
        return ""
    if RESULT not in prompt:
        return ""
    between = _between(answered, RESULT, CONTENT)
    if header in between:
        return header
    shared = common_prefix(_after(prompt, RESULT), between)
    for probe in PROBE_TEXTS:
        shared = shared[shared.rfind(probe) + len(probe) :] if probe in shared else shared
    pieces = segments(shared)
    first = next((at for at, piece in enumerate(pieces) if piece.marker), len(pieces))
    return "".join(piece.text for piece in pieces[first:])


def _end(render: Renderer, spoken: str, asked: str, header: str) -> tuple[str, str]:
    """The end-of-turn string, and what the template writes at the end of a conversation."""
    tail = _after(spoken, CONTENT)
    theirs = _after(asked, USER)
    middle = render([user(), assistant(), user(NEXT_USER)])
    between = None
    if middle is not None and _in_order(middle, CONTENT, NEXT_USER):
        between = _between(middle, CONTENT, NEXT_USER)
    if not tail.strip():
        opening = common_suffix(between or "", asked[: asked.rindex(USER)])
        end = (between or "").removesuffix(opening)
        # Without an end-of-turn string, a model stops where it would write the user's turn.
        return end if end.strip() or render.template.eos_token else opening, ""
    if header not in tail and (between is None or between.startswith(tail)):
        # What ends the user's message too ends a turn; what stands before it is the content's.
        return (theirs if theirs.strip() and tail.endswith(theirs) else tail), ""
    # More follows than the end of the turn. What ends the user's message ends a turn too, if it
    # is there; otherwise the end is what turns of all kinds have before the next header.
    first = next((piece.text.strip() for piece in segments(theirs)), "")
    if not first or first not in tail:
        core = header.strip()
        own = tail.partition(core)[0] if core else tail
        called = render([user(), assistant("", calls=[call()])], tools=TOOLS) or ""
        shared = common_suffix(own, called.rpartition(core)[0] if core else called)
        first = shared if shared.strip() else own
    at = tail.index(first)
    return first, tail[at + len(first) :]


def _in_order(text: str, first: str, then: str) -> bool:
    return first in text and text.rindex(first) < text.rfind(then)


def _after(text: str, probe: str) -> str:
    return text[text.rindex(probe) + len(probe) :]


def _between(text: str, first: str, then: str) -> str:
    start = text.rindex(first) + len(first)
    return text[start : text.index(then, start)]
