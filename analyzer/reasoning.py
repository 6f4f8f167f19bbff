"""Phases R1 to R3: how a template marks reasoning.

R1 compares a turn with reasoning to one without; R2 compares the generation prompt under every
switch that the template reads; R3 compares reasoning beside content with reasoning beside
calls. What a template drops from history shows only in its generation prompts, and there an
end marker may be missing; then it is the text at which the template cuts reasoning off when a
model's whole output comes back to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from deltaparse.stream import ReasoningFormat, ReasoningMode

from .diff import Segment, segments
from .frame import Frame, prompt_tail
from .probes import (
    CONTENT,
    FUNCTIONS,
    NEXT_USER,
    REASONING,
    REASONING_KEYS,
    TOOLS,
    USER,
    assistant,
    call,
    user,
)
from .render import Renderer

__all__ = ["ReasoningFinding", "find_reasoning"]

LONGEST_SWITCH = 32
"""Characters of a constant that is tried as a switch word or as an end marker."""

NOT_SWITCHES = frozenset(
    {"add_generation_prompt", "bos_token", "documents", "eos_token", "messages", "tools"}
)


@dataclass(frozen=True, slots=True)
class ReasoningFinding:
    """What was found.

    The format, under which key a message carries reasoning ("" if none is rendered), the switch
    that turns thinking off or on, if there is one, and the evidence in words.
    """

    format: ReasoningFormat
    key: str = ""
    switch: str = ""
    evidence: tuple[str, ...] = ()


def find_reasoning(render: Renderer, frame: Frame) -> ReasoningFinding:
    """Find the reasoning markers and the mode."""
    tails = _prompt_tails(render)
    switch = next((name for name in tails if name), "")
    prompts = list(tails.values())
    tools_only = False
    shown = _presence(render, frame)
    if shown is None:
        shown = _scope(render, frame, prompts)
        tools_only = shown is not None
    if shown is not None:
        start, end, key = shown
        source = f"a message's {key} is rendered between {start!r} and {end!r}"
    else:
        found = _from_prompts(render, prompts)
        if found is None:
            return ReasoningFinding(ReasoningFormat(), switch=switch)
        (start, end), key = found, ""
        source = f"the generation prompt has {start!r}, which {end!r} closes"
    mode = _mode(start, end, prompts, tools_only=tools_only)
    made = ReasoningFormat(mode=mode, start=start, end=end)
    return ReasoningFinding(made, key, switch, (source,))


def _presence(render: Renderer, frame: Frame) -> tuple[str, str, str] | None:
    """R1: start, end and key, from a turn with reasoning and content."""
    plain = frame.body(render([user(), assistant()]))
    for key in REASONING_KEYS:
        said = assistant(reasoning=REASONING, reasoning_key=key)
        body = frame.body(render([user(), said]))
        if body is None or REASONING not in body or CONTENT not in body:
            continue
        if body.index(REASONING) > body.index(CONTENT):
            continue
        start, rest = body.split(REASONING, 1)
        end = rest[: rest.index(CONTENT)]
        lead = plain.split(CONTENT, 1)[0] if plain and CONTENT in plain else ""
        wrapper = lead if lead.strip() and end != lead and end.endswith(lead) else ""
        end = end.removesuffix(wrapper)
        pieces = segments(end)
        markers = [piece for piece in pieces if piece.marker]
        after = rest[rest.index(CONTENT) + len(CONTENT) :]
        bare = plain.split(CONTENT, 1)[1] if plain and CONTENT in plain else ""
        if not wrapper and len(markers) > 1 and after.strip() != bare.strip():
            # Content is wrapped when there is reasoning: its opening marker comes last here.
            end = end[: end.rindex(markers[-1].text)]
        if not end.strip():
            continue
        if not start.strip() and lead.strip() and lead.strip() in end.strip():
            # Every turn has the start marker, and one without reasoning closes it at once.
            start = _last_marker(frame.header) + start
        return start, end, key
    return None


def _scope(render: Renderer, frame: Frame, prompts: list[str]) -> tuple[str, str, str] | None:
    """R3: the same from a turn with reasoning and a call, where content shows no reasoning."""
    for key in REASONING_KEYS:
        said = assistant("", calls=[call()], reasoning=REASONING, reasoning_key=key)
        body = frame.body(render([user(), said], tools=TOOLS))
        if body is None or REASONING not in body or FUNCTIONS[0] not in body:
            continue
        start, rest = body.split(REASONING, 1)
        rest = rest[: rest.find(FUNCTIONS[0])]
        # What a prompt with both markers has after the start is the end; or else it is the
        # first marker after the reasoning.
        for prompt in prompts:
            closed = prompt.rsplit(start.strip(), 1)[-1].strip() if start.strip() in prompt else ""
            if closed and rest.strip().startswith(closed):
                return start, rest[: rest.index(closed) + len(closed)], key
        pieces = segments(rest)
        first = next((at for at, piece in enumerate(pieces) if piece.marker), None)
        if first is not None:
            return start, "".join(piece.text for piece in pieces[: first + 1]), key
    return None


def _prompt_tails(render: Renderer) -> dict[str, str]:
    """R2: the ends of the prompt, by the switch that makes them; "" is the default.

    Switches are the variables that the template reads and does not set itself.
    """
    default = prompt_tail(render) or ""
    tails = {"": default}
    for name in sorted(render.template.variables - NOT_SWITCHES):
        for value in (True, False):
            tail = prompt_tail(render, USER, {name: value})
            if tail is not None and tail not in tails.values():
                tails[f"{name}={str(value).lower()}"] = tail
    return tails


def _from_prompts(render: Renderer, prompts: list[str]) -> tuple[str, str] | None:
    """Start and end from generation prompts alone."""
    pair = _closed_pair(prompts)
    if pair is None:
        words = [text for text in render.template.constants if _is_word(text)]
        switched = [prompt_tail(render, f"{USER} {word}") for word in words]
        told = [tail for text in switched if text and (tail := _without_word(text, words))]
        pair = _closed_pair([*prompts, *told])
    if pair is not None:
        return pair
    opened = _last_marker(prompts[0])
    spoken = render([user(), assistant()]) or ""
    if not opened or opened.strip() in spoken:
        return None
    end = _cut_marker(render)
    return (opened, end) if end else None


def _closed_pair(prompts: list[str]) -> tuple[str, str] | None:
    """The markers that one prompt has and another has not, or has not closed."""
    for shorter in prompts:
        for longer in prompts:
            known, rest = shorter.strip(), longer.strip()
            if known == rest or not rest.startswith(known):
                continue
            more = [piece for piece in segments(rest[len(known) :]) if piece.text.strip()]
            if len(more) == 2 and all(piece.marker for piece in more):
                return more[0].text, more[1].text.rstrip()
            if len(more) == 1 and more[0].marker:
                after = longer[longer.index(known) + len(known) :] if known else longer
                end = after[len(after) - len(after.lstrip()) :].rstrip()
                return _last_marker(shorter), end
    return None


def _cut_marker(render: Renderer) -> str:
    """The text up to which the template cuts an earlier turn's output, "" if it cuts nowhere."""
    for text in sorted(filter(_is_word, render.template.constants), key=len, reverse=True):
        marker = text.strip()
        whole = f"{REASONING}{marker}{CONTENT}"
        past = render([user(), assistant(whole), user(NEXT_USER)]) or ""
        if marker and CONTENT in past and REASONING not in past:
            return marker
    return ""


def _mode(start: str, end: str, prompts: list[str], *, tools_only: bool) -> ReasoningMode:
    if not start.strip():
        return ReasoningMode.DELIMITER
    begin, close = start.strip(), end.strip()
    last = [prompt.rsplit(begin, 1)[-1] for prompt in prompts if begin in prompt]
    opened = any(close not in rest for rest in last)
    closed = any(close in rest for rest in last)
    if opened:
        return ReasoningMode.FORCED_CLOSED if closed else ReasoningMode.FORCED_OPEN
    return ReasoningMode.TOOLS_ONLY if tools_only else ReasoningMode.TAG_BASED


def _last_marker(text: str) -> str:
    """The marker that a text ends with, and the white space after it, or ""."""
    pieces: list[Segment] = segments(text)
    return pieces[-1].text if pieces and pieces[-1].marker else ""


def _is_word(text: str) -> bool:
    return bool(text.strip()) and len(text) <= LONGEST_SWITCH and "\n" not in text.strip()


def _without_word(tail: str, words: list[str]) -> str:
    """A prompt's end, without the switch word if the template left that in the message."""
    for word in words:
        tail = tail.removeprefix(f" {word}")
    return tail
