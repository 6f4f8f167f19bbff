"""What generation prompts show of reasoning: they end in what opens it, or in an empty pair.

What a template drops from history shows here alone, and an end marker may be missing; then it is
the text at which the template cuts reasoning off, or what closes the other by its name.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..diff import common_prefix, last_marker, segments
from ..probes import FUNCTIONS, TOOLS, USER, call, user
from ..renderer import Renderer
from ..trace import phase
from ..turns import Turns
from .closings import CLOSERS, NAMED_TAG, closing, closings
from .reasoning_history import cut_markers, words_of
from .switch_values import Holder

__all__ = [
    "CLOSED_BY_NAME",
    "OPENED_ONLY",
    "begins_a_call",
    "behind_header",
    "closed_by_name",
    "from_prompts",
    "opened_only",
    "pair_of_two",
    "prompts_after_words",
]

GROUPS = 3
"""Prompts in which all words are tried at once, before each is alone."""

LONGEST_SHOWN = 60
"""Characters of a prompt that an issue shows."""

OPENED_ONLY = (
    "the prompt opens a part of the turn with {rest!r}, and nothing shows what ends it: if it is "
    "reasoning, fmt.replace(reasoning=...); if it only says how to go on, nothing is to be done"
)
CLOSED_BY_NAME = (
    "the prompt opens {start!r}, and nothing shows what ends it: it is read as reasoning up to "
    "{end!r}, which closes it by its name; if that is wrong, fmt.replace(reasoning=...)"
)


@phase("R2")
def begins_a_call(turns: Turns, prompt: str) -> bool:
    """Whether a prompt ends in what opens a call in history, and so opens no reasoning.

    What history has before a call may be an empty pair of the markers of reasoning too: then one
    closes the other by its name, or content has them too.
    """
    opened = behind_header(turns, prompt)
    if opened.startswith(CLOSERS) or opened in (turns.body() or ""):
        return False
    called = turns.body(content="", calls=[call()]) or ""
    _, found, rest = called.partition(FUNCTIONS[0])[0].partition(opened)
    closed = [text for part in segments(opened) for text in closings(part.text.strip())]
    return bool(found) and not any(text in opened + rest for text in closed)


@phase("R2")
def prompts_after_words(turns: Turns, default: str) -> list[str]:
    """The ends of prompts whose message holds a word that the template may look for."""
    tails: list[str] = []
    header = turns.frame.header
    if not header or header not in default:
        return tails
    words = words_of(turns.render)
    # Many at once first, for most templates look for none; but words that stand side by side in
    # the template, such as that for yes and that for no, not together.
    groups = [words[at::GROUPS] for at in range(GROUPS)]
    own = default[default.rindex(header) :]
    for word in [word for group in groups if _counts(turns.render, group, own) for word in group]:
        tail = turns.render.prompt_tail(f"{USER} {word}") or ""
        if header in tail:
            # The message itself may differ by the word; only what follows it counts.
            tails.append(default.rpartition(header)[0] + header + tail.rpartition(header)[2])
    return tails


def _counts(render: Renderer, words: Sequence[str], own: str) -> bool:
    """Whether a prompt does not end as it does without words in its message."""
    tail = render.prompt_tail(f"{USER} {' '.join(words)}") if words else own
    return tail is None or not tail.endswith(own)


@phase("R2")
def from_prompts(turns: Turns, prompts: list[str]) -> tuple[str, str] | None:
    """Start and end from generation prompts alone."""
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
    """The markers in which two prompts differ."""
    pair = _closed_pair(prompts, turns.frame.header, turns.body() or "")
    return pair or _other_pair(turns, prompts)


def _closed_pair(prompts: list[str], header: str = "", body: str = "") -> tuple[str, str] | None:
    """The markers that one prompt has and another has not, or has not closed.

    What ends the `header` of all turns opens nothing, unless its name or their `body` says so; nor
    does a prompt without it show anything.
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
    """The markers where one prompt ends in what opens reasoning, and another in what ends it.

    What stands in every turn of the history, which has no reasoning, is the end, or what closes
    the other by its name.
    """
    body, behind = turns.body() or "", _each_behind_header(turns, prompts)
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
    """The markers that a prompt opens and closes at once behind the header.

    Words between them are of the first where no space parts them from it, and where all prompts
    that begin with it have them; else they are what one prompt says.
    """
    behind = [text.lstrip() for text in _each_behind_header(turns, prompts)]
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
    """The marker that closes `opened` by its name, where the template's own text has it, or ""."""
    texts = [*render.template.constants, render([user()], tools=TOOLS) or ""]
    for closed in closings(opened.strip()):
        if any(closed in text for text in texts):
            return closed
    return ""


@phase("R2")
def closed_by_name(turns: Turns, prompts: Sequence[str]) -> tuple[str, str] | None:
    """Start and end where all that a prompt has behind the header is a tag that nothing closes.

    Only a tag: how `<|mull|>` is closed is not known, and what is more than one may say anything.
    """
    shown = turns.body() or ""
    for prompt in prompts:
        opened = behind_header(turns, prompt)
        if NAMED_TAG.fullmatch(opened) and opened not in shown:
            return last_marker(prompt), closing(opened)
    return None


def opened_only(
    turns: Turns, prompts: Sequence[str], known: Sequence[str] = (), held: Sequence[Holder] = ()
) -> tuple[str, ...]:
    """The issue of a prompt that goes on behind the header, with what no turn shows.

    Nor is it one of the `known` markers of reasoning, or begins with one, or closes something, once
    what is `held` to say the value of a switch is left out.
    """
    shown = turns.body() or ""
    for prompt in prompts:
        parts = [part.text for part in segments(behind_header(turns, prompt))]
        rest = "".join(
            text
            for text in parts
            if text.strip() in known or not any(one.is_one(text) for one in held)
        )
        if rest not in shown and not rest.startswith((*known, *CLOSERS)):
            return (OPENED_ONLY.format(rest=rest[-LONGEST_SHOWN:]),)
    return ()


def behind_header(turns: Turns, prompt: str) -> str:
    """What of a prompt stands behind the header, without the space round it."""
    return "".join(_each_behind_header(turns, [prompt])).strip()


def _each_behind_header(turns: Turns, prompts: Sequence[str]) -> list[str]:
    """What of each prompt that has the header stands behind it."""
    header = turns.frame.header.strip()
    return [prompt.rpartition(header)[2] for prompt in prompts if header and header in prompt]
