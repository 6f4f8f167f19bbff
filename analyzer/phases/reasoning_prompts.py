"""Reasoning markers in generation prompts: an open start marker, or an empty pair.

If a template drops reasoning from history, its prompts are the only source, and they may lack the
end marker. Then the end marker is the text at which the template truncates earlier turns, or is
derived from the name of the start marker.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..assistant_turns import Turns
from ..diff import common_prefix, last_marker, segments
from ..probes import FUNCTIONS, TOOLS, USER, call, user
from ..renderer import Renderer
from ..trace import phase
from .closing_tags import CLOSERS, NAMED_TAG, closing, closings
from .reasoning_history import cut_markers, words_of
from .switch_values import Holder

__all__ = [
    "CLOSED_BY_NAME",
    "OPENED_ONLY",
    "after_header",
    "begins_a_call",
    "closed_by_name",
    "from_prompts",
    "opened_only",
    "pair_of_two",
    "prompts_after_words",
]

GROUPS = 3
"""Number of prompts in which several words are tried together, before each is tried alone."""

LONGEST_SHOWN = 60
"""Maximum number of characters of a prompt quoted in an issue."""

OPENED_ONLY = (
    "the prompt opens a part of the turn with {rest!r}, but its end marker is unknown: if it is "
    "reasoning, use fmt.replace(reasoning=...); if it is only an instruction, ignore this issue"
)
CLOSED_BY_NAME = (
    "the prompt opens {start!r}, but its end marker is never rendered: it is parsed as reasoning "
    "up to {end!r}, derived from its name; if this is wrong, use fmt.replace(reasoning=...)"
)


@phase("R2")
def begins_a_call(turns: Turns, prompt: str) -> bool:
    """Return True if a prompt ends with the start of a call instead of reasoning.

    The text before a call in history may also be an empty pair of reasoning markers. In this case
    one marker closes the other by name, or turns with content contain the pair too.
    """
    opened = after_header(turns, prompt)
    if opened.startswith(CLOSERS) or opened in (turns.body() or ""):
        return False
    called = turns.body(content="", calls=[call()]) or ""
    _, found, rest = called.partition(FUNCTIONS[0])[0].partition(opened)
    closed = [text for part in segments(opened) for text in closings(part.text.strip())]
    return bool(found) and not any(text in opened + rest for text in closed)


@phase("R2")
def prompts_after_words(turns: Turns, default: str) -> list[str]:
    """Return the tails of prompts after user messages with each word sought by the template."""
    tails: list[str] = []
    header = turns.frame.header
    if not header or header not in default:
        return tails
    words = words_of(turns.render)
    # Several words at once first, because most templates search for none. Adjacent words of the
    # template, e.g. for yes and for no, are put in different groups.
    groups = [words[at::GROUPS] for at in range(GROUPS)]
    own = default[default.rindex(header) :]
    for word in [word for group in groups if _counts(turns.render, group, own) for word in group]:
        tail = turns.render.prompt_tail(f"{USER} {word}") or ""
        if header in tail:
            # Only the text after the message counts: the message contains the word.
            tails.append(default.rpartition(header)[0] + header + tail.rpartition(header)[2])
    return tails


def _counts(render: Renderer, words: Sequence[str], own: str) -> bool:
    """Return True if words in the message change the end of the prompt."""
    tail = render.prompt_tail(f"{USER} {' '.join(words)}") if words else own
    return tail is None or not tail.endswith(own)


@phase("R2")
def from_prompts(turns: Turns, prompts: list[str]) -> tuple[str, str] | None:
    """Return the start and end markers found in generation prompts alone, or None."""
    pair = pair_of_two(turns, prompts) or _empty_pair(turns, prompts)
    if pair is not None:
        return pair
    for opened in map(last_marker, prompts):
        if opened.strip() in turns.frame.header + (turns.body() or ""):
            continue
        ends = cut_markers(turns.render) or [_closed_in_text(turns.render, opened)]
        if ends[0]:
            return opened, ends[0]
    return None


def pair_of_two(turns: Turns, prompts: list[str]) -> tuple[str, str] | None:
    """Return the markers in which two prompts differ, or None."""
    pair = _closed_pair(prompts, turns.frame.header, turns.body() or "")
    return pair or _other_pair(turns, prompts)


def _closed_pair(prompts: list[str], header: str = "", body: str = "") -> tuple[str, str] | None:
    """Return the markers that one prompt adds to another, or the marker that closes it.

    The end of the shared `header` opens reasoning only if its name or the `body` confirms it. A
    prompt without the header is ignored.
    """
    for shorter in (prompt for prompt in prompts if header.strip() in prompt):
        for longer in prompts:
            known, rest = shorter.strip(), longer.strip()
            if not rest.startswith(known):
                continue
            added = rest[len(known) :].strip()
            more = segments(added)
            if len(more) == 2 and all(part.marker for part in more):
                return more[0].text, more[1].text
            if len(more) == 1 and more[0].marker:
                start = last_marker(shorter)
                begun = start.strip()
                closed = added in body or added in closings(begun)
                if begun and (closed or not header.strip().endswith(begun)):
                    return start, added
    return None


def _other_pair(turns: Turns, prompts: list[str]) -> tuple[str, str] | None:
    """Return the markers if one prompt ends with the start marker and another with the end marker.

    The end marker also begins every turn in history, because history contains no reasoning.
    Otherwise it closes the start marker by name.
    """
    body, behind = turns.body() or "", _each_after_header(turns, prompts)
    alone = [parts[0] for parts in map(segments, map(str.strip, behind)) if len(parts) == 1]
    markers = {part.text for part in alone if part.marker}
    ends = [text for text in markers if body.lstrip().startswith(text)]
    ends = ends or [text for text in markers if text in map(closing, markers)]
    starts = sorted(text for text in markers if text not in body and text not in ends)
    if len(ends) != 1 or not starts:
        return None
    named = [text for text in starts if closing(text) == ends[0]]
    opened = (named or starts)[0]
    return next((last_marker(text) for text in behind if text.strip() == opened), opened), ends[0]


def _empty_pair(turns: Turns, prompts: list[str]) -> tuple[str, str] | None:
    """Return the markers that a prompt opens and closes at once after the header.

    Words between them belong to the start marker if no space separates them from it, and if all
    prompts with this marker contain them. Otherwise they are text of one prompt.
    """
    behind = [text.lstrip() for text in _each_after_header(turns, prompts)]
    for parts in (segments(text.rstrip()) for text in behind):
        begun, end = parts[0].text if parts else "", parts[-1].text if parts else ""
        if not begun or not parts[0].marker or end.strip() not in closings(begun.strip()):
            continue
        apart = begun[-1].isspace() and not all(part.marker for part in parts)
        start = begun if apart else "".join(part.text for part in parts[:-1])
        alike = (text for text in behind if text.startswith(begun.strip()))
        return common_prefix(start, *alike), end
    return None


def _closed_in_text(render: Renderer, opened: str) -> str:
    """Return the closing marker of `opened` if the template's own text contains it, else ""."""
    texts = [*render.template.constants, render([user()], tools=TOOLS) or ""]
    for closed in closings(opened.strip()):
        if any(closed in text for text in texts):
            return closed
    return ""


@phase("R2")
def closed_by_name(turns: Turns, prompts: Sequence[str]) -> tuple[str, str] | None:
    """Return start and end if a prompt adds only an unclosed tag after the header, else None.

    Only tags are accepted: the closing marker of `<|mull|>` is unknown, and longer text may mean
    anything.
    """
    shown = turns.body() or ""
    for prompt in prompts:
        opened = after_header(turns, prompt)
        if NAMED_TAG.fullmatch(opened) and opened not in shown:
            return last_marker(prompt), closing(opened)
    return None


def opened_only(
    turns: Turns, prompts: Sequence[str], known: Sequence[str] = (), held: Sequence[Holder] = ()
) -> tuple[str, ...]:
    """Return the issue of a prompt that adds unknown text after the header.

    Text is known if turns contain it, if it begins with a known marker, or if it begins like a
    closing marker.

    Args:
        turns: renders the turns.
        prompts: the tails of the prompts.
        known: the known reasoning markers.
        held: texts with switch values, removed before the comparison.
    """
    shown = turns.body() or ""
    for prompt in prompts:
        parts = [part.text for part in segments(after_header(turns, prompt))]
        rest = "".join(
            text
            for text in parts
            if text.strip() in known or not any(one.is_one(text) for one in held)
        )
        if rest not in shown and not rest.startswith((*known, *CLOSERS)):
            return (OPENED_ONLY.format(rest=rest[-LONGEST_SHOWN:]),)
    return ()


def after_header(turns: Turns, prompt: str) -> str:
    """Return the text of a prompt after the header, without surrounding whitespace."""
    return "".join(_each_after_header(turns, [prompt])).strip()


def _each_after_header(turns: Turns, prompts: Sequence[str]) -> list[str]:
    """Return the text after the header, for each prompt with a header."""
    header = turns.frame.header.strip()
    return [prompt.rpartition(header)[2] for prompt in prompts if header and header in prompt]
