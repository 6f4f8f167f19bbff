"""Phases R1 to R3: how a template marks reasoning.

R1 compares a turn with reasoning to one without; R2 compares the generation prompt under every
switch that the template reads; R3 compares reasoning beside content with reasoning beside
calls. What a template drops from history shows only in its generation prompts, and there an
end marker may be missing; then it is the text at which the template cuts reasoning off when a
model's whole output comes back to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from deltaparse.stream import ReasoningFormat, ReasoningMode

from ..diff import between, common_prefix, segments, split
from ..probes import (
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
from ..renderer import Renderer
from ..trace import phase
from ..turns import Turns
from .switch_values import Holder, holders
from .switches import Setting, names_of_switches, views_with_reasoning

__all__ = ["ReasoningFinding", "find_reasoning", "round_content"]

LONGEST_SWITCH = 32
"""Characters of a constant that is tried as a switch word or as an end marker."""

MOST_TRIED = 100
"""Switches, words and markers of one template that are tried: real ones have about twenty."""


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
ANY_VALUE = (
    "what opens reasoning, {marker!r}, holds the value of {name}: with another value it is not "
    "read, but in the format of analyze(template, {name}=...)"
)
OTHER_END = (
    "earlier turns are cut at {other!r} as they are at {end!r}: if reasoning ends in either, each "
    "needs a format, fmt.replace(reasoning={{'end': {other!r}}})"
)
CLOSERS = ("</", "[/", "<|/")
"""What a marker begins with that closes something."""
NAMED_TAG = re.compile(r"<[A-Za-z][\w-]*>|\[[A-Za-z][\w-]*\]")
"""A marker of which XML, or BBCode, says how the other is spelled that closes it."""
WORDS = (("begin", "end"), ("start", "end"), ("open", "close"))
"""Words in markers that open and in those that close."""

TAKEN = frozenset({"arguments", "content", "function", "function_call", "id", "name", "role"})
TAKEN |= {"tool_calls", "type"}
"""Keys of a message that hold something else."""


@dataclass(frozen=True, slots=True)
class ReasoningFinding:
    """How a template marks reasoning, and where a message has it.

    Attributes:
        format: the reasoning group of the wire format.
        key: the key of a message under which the template reads reasoning; "" if it shows none.
        issues: what the template does not show.
        answer: the markers of content beside reasoning, where the template only describes them.
        next_ends: what ends reasoning before content is what content begins with.
    """

    format: ReasoningFormat
    key: str = ""
    issues: tuple[str, ...] = ()
    answer: tuple[str, str] | None = None
    next_ends: bool = False


def find_reasoning(
    turns: Turns, others: Sequence[str] = (), settings: Sequence[Setting] = ()
) -> ReasoningFinding:
    """Find the reasoning markers and the mode.

    `others` are the tails of the prompts that the template's switches make (R2); `settings` are
    what the switches may be set to.
    """
    render = turns.render
    default = render.prompt_tail() or ""
    prompts = [
        text for text in dict.fromkeys([default, *others]) if not _begins_a_call(turns, text)
    ]
    shown = _presence(turns, prompts)
    beside_calls = None if shown else _scope(turns, prompts)
    start, end, key = shown or beside_calls or ("", "", "")
    if not end:
        if _pair_of_two(turns, prompts) is None:
            prompts += _prompts_after_words(turns, default)
        start, end = _from_prompts(turns, prompts) or ("", "")
    if not end:
        described = _described_to_the_model(render)
        if described.issues:
            return described
        start, end = _cut_off(turns.render) or ("", "")
    by_name: tuple[str, ...] = ()
    if not end:
        unended = _unended(turns)
        start, end = _closed_by_name(turns, default) or ("", "")
        if unended or not end:
            return replace(described, issues=(*unended, *_opened_only(turns, prompts)))
        by_name = (CLOSED_BY_NAME.format(start=start.strip(), end=end),)
    mode = _mode(start, end, prompts, tools_only=beside_calls is not None)
    held = holders(turns, settings) if start.strip() else []
    holding = _holding(prompts, start, held)
    others = _alternatives(turns, settings, start, end, [*holding]) if start.strip() else ()
    made = ReasoningFormat(mode=mode, start=start, end=end, alternatives=others)
    known = [text.strip() for pair in made.pairs for text in pair]
    unread = _opened_only(turns, prompts, known, held) if start.strip() else ()
    unread += by_name + tuple(_any_value(holding))
    unread += () if key else tuple(_other_ends(render, end.strip()))
    return ReasoningFinding(made, key, unread, next_ends=_next_ends(turns, start, end))


@phase("R2")
def _begins_a_call(turns: Turns, prompt: str) -> bool:
    """Whether a prompt ends in what opens a call in history, and so opens no reasoning.

    What history has before a call may be an empty pair of the markers of reasoning too: then one
    closes the other by its name, or content has them too.
    """
    opened = _behind_header(turns, prompt)
    if not opened or opened.startswith(CLOSERS) or opened in (turns.body() or ""):
        return False
    called = turns.body(content="", calls=[call()]) or ""
    _, found, rest = called.partition(FUNCTIONS[0])[0].partition(opened)
    markers = [part.text.strip() for part in segments(opened) if part.marker]
    closings = [text for marker in markers for text in _closings(marker)]
    return bool(found) and not any(text in opened + rest for text in closings)


@phase("R1")
def _presence(turns: Turns, prompts: Sequence[str]) -> tuple[str, str, str] | None:
    """R1: start, end and key, from a turn with reasoning and content."""
    lead, tail = round_content(turns)
    for key in _keys(turns.render):
        body = turns.body(reasoning=REASONING, key=key)
        if body is None or not _once(body, CONTENT) or body.index(REASONING) > body.index(CONTENT):
            continue
        start, rest = body.split(REASONING, 1)
        if "." in key and not start.strip():
            continue
        end, after = rest.split(CONTENT, 1)
        wrapper = lead if lead.strip() not in ("", end.strip()) and end.endswith(lead) else ""
        end = end.removesuffix(wrapper)
        markers = [part for part in segments(end) if part.marker]
        always = lead.strip().endswith(end.strip())
        if not wrapper and len(markers) > 1 and (always or after.strip() != tail.strip()):
            # Content is wrapped, when there is reasoning or ever: its opening marker comes last.
            end = end[: end.rindex(markers[-1].text)]
        end = _without_content(turns, start, end, prompts)
        if not end.strip():
            continue
        own, theirs = end.strip(), lead.strip()
        if not start.strip() and theirs and (theirs in own or theirs.startswith(own)):
            start = _start_before_turn(turns, prompts, own) + start
        return start, end, key
    return None


def _start_before_turn(turns: Turns, prompts: Sequence[str], end: str) -> str:
    """The start marker where every turn has it, and one without reasoning closes it at once.

    It is what every prompt has behind the header; where only some have anything there, there is
    none, and where none has, or what ends it, it is the end of the header.
    """
    behind = {_behind_header(turns, prompt) for prompt in prompts}
    if behind <= {"", end}:
        return _last_marker(turns.frame.header)
    opened = behind.pop()
    parts = segments(opened)
    return opened if not behind and len(parts) == 1 and parts[0].marker and opened != end else ""


def _without_content(turns: Turns, start: str, end: str, prompts: Sequence[str]) -> str:
    """The end of reasoning before content, as far as it stands before calls or in a prompt too.

    What follows it there is no part of content, so the rest of it is what content begins with.
    """
    begun, core = start.strip(), end.strip()
    texts = [prompt.rpartition(begun)[2] for prompt in prompts if begun and begun in prompt]
    called = between(views_with_reasoning(turns.render)[1], REASONING, FUNCTIONS[0])
    for text in [called or "", *texts]:
        shared = common_prefix(core, text.strip())
        if shared != core and any(part.marker for part in segments(shared)):
            rest = end.partition(shared)[2]
            return end.removesuffix(rest.lstrip())
    return end


@phase("R3")
def _next_ends(turns: Turns, start: str, end: str) -> bool:
    """Whether every turn with content begins with the end marker, and one of calls has none."""
    core = end.strip()
    if not start.strip() or not (turns.body() or "").lstrip().startswith(core):
        return False
    tail = between(views_with_reasoning(turns.render)[1], REASONING, FUNCTIONS[0])
    return core not in tail if tail is not None else core not in _closings(start.strip())


@phase("R3")
def _alternatives(
    turns: Turns, settings: Sequence[Setting], start: str, end: str, starts: Sequence[str] = ()
) -> tuple[str, ...]:
    """Other pairs of markers, beside calls or under a switch; all of it was rendered before.

    `starts` are others that prompts have, with the same end.
    """
    found = {start.strip(): (start, end)}
    base = turns.render.unswitched()
    for one in settings:
        render = base.under(one.context)
        said, called = views_with_reasoning(render)
        for rendered, probe in ((said, CONTENT), (called, FUNCTIONS[0])):
            head = between(rendered, USER, REASONING)
            tail = between(rendered, REASONING, probe)
            header = next((text for text in _headers(turns) if text in (head or "")), None)
            if head is None or tail is None or header is None:
                continue
            if head.rstrip().endswith(tuple(found)):
                continue
            opened = _last_marker(head.rpartition(header)[2])
            parts = segments(tail)
            first = next((at for at, part in enumerate(parts) if part.marker), None)
            if opened.strip() and first is not None:
                closed = "".join(part.text for part in parts[: first + 1])
                found[opened.strip()] = opened, closed
    for text in starts:
        found.setdefault(text.strip(), (text, end))
    return tuple(text for pair in [*found.values()][1:] for text in pair)


def _holding(prompts: Sequence[str], start: str, held: Sequence[Holder]) -> dict[str, list[Holder]]:
    """The markers of prompts that open reasoning and hold the value of a switch, with which."""
    opening = [one for one in held if one.opens_as(start)]
    parts = [part.text for prompt in prompts for part in segments(prompt)]
    found = {text: [one for one in opening if one.is_one(text)] for text in parts}
    return {text: ones for text, ones in found.items() if ones}


def _any_value(holding: Mapping[str, Sequence[Holder]]) -> Iterator[str]:
    """The issues of switches of which any value stands in what opens reasoning."""
    for marker, ones in holding.items():
        names = dict.fromkeys(one.switch for one in ones if one.any_value)
        yield from (ANY_VALUE.format(marker=marker.strip(), name=name) for name in names)


def _headers(turns: Turns) -> list[str]:
    """The headers of a turn, as they may stand before reasoning."""
    texts = (turns.frame.header, *turns.frame.turn.headers)
    return [text for text in map(str.strip, texts) if text]


@phase("R3")
def _scope(turns: Turns, prompts: list[str]) -> tuple[str, str, str] | None:
    """R3: the same from a turn with reasoning and a call, where content shows no reasoning."""
    closed_at_once = round_content(turns)[0].strip()
    for key in _keys(turns.render):
        body = turns.body(content="", calls=[call()], reasoning=REASONING, key=key)
        if body is None or not _once(body, FUNCTIONS[0]):
            continue
        start, rest = body.split(REASONING, 1)
        if not start.strip() and closed_at_once and rest.lstrip().startswith(closed_at_once):
            start = _start_before_turn(turns, prompts, closed_at_once) + start
        if not start.strip():
            continue
        rest = rest[: rest.find(FUNCTIONS[0])]
        # What a prompt with both markers has after the start is the end, with the white space that
        # both have behind it; or else it is the first marker after the reasoning.
        for prompt in prompts:
            behind = prompt.rpartition(start.strip())[2] if start.strip() in prompt else ""
            closed = behind.strip()
            if closed and rest.strip().startswith(closed):
                before, _, after = rest.partition(closed)
                space = common_prefix(after, behind.rpartition(closed)[2])
                return start, before + closed + space, key
        parts = segments(rest)
        first = next((at for at, part in enumerate(parts) if part.marker), None)
        if first is not None:
            return start, "".join(part.text for part in parts[: first + 1]), key
    return None


@phase("R2")
def _described_to_the_model(render: Renderer) -> ReasoningFinding:
    """Find markers that a prompt describes to the model while a switch is on, as empty pairs.

    So may a template ask for reasoning that it shows nowhere: `between <think></think>`.
    """
    plain = render([user()], prompt=True) or ""
    for name in _switches(render):
        switched = render([user()], prompt=True, context={name: True}) or plain
        pairs = [
            (opened.text.strip(), closed.text.strip())
            for opened, closed in pairwise(segments(split(plain, switched).right))
            if opened.marker and closed.text.strip() == _closing(opened.text.strip())
        ]
        if pairs:
            start, end = pairs[0]
            issue = (
                f"reasoning between {start} and {end} is asked for, with {name}, but never shown"
            )
            reasoning = ReasoningFormat(mode=ReasoningMode.TAG_BASED, start=start, end=end)
            answer = pairs[1] if len(pairs) > 1 else None
            return ReasoningFinding(reasoning, issues=(issue,), answer=answer)
    return ReasoningFinding(ReasoningFormat())


def _unended(turns: Turns) -> tuple[str, ...]:
    """The issue of a template that shows reasoning and content with nothing between them.

    Reasoning that is a part of the content is none: there the template writes all parts alike. Nor
    is what stands under another key: it may be anything.
    """
    for key in REASONING_KEYS:
        body = turns.body(reasoning=REASONING, key=key)
        if body is not None and "." not in key and _once(body, CONTENT):
            return ("the template shows reasoning, but no marker that ends it",)
    return ()


def round_content(turns: Turns) -> tuple[str, str]:
    """What a turn of content alone has before it and behind it."""
    before, found, behind = (turns.body() or "").partition(CONTENT)
    return (before, behind) if found else ("", "")


def _closing(marker: str) -> str:
    """The closing marker of a pair: `</think>` for `<think>`."""
    return f"{marker[:1]}/{marker[1:]}"


def _closings(marker: str) -> Iterator[str]:
    """What may close a marker, by its name: a slash in it, its bar behind, a word for the end."""
    yield _closing(marker)
    yield f"{marker[:2]}/{marker[2:]}"
    if marker.startswith("<|") and not marker.endswith("|>"):
        yield f"<{marker[2:-1]}|>"
    for begin, end in WORDS:
        for one, other in ((begin, end), (begin.upper(), end.upper())):
            if one in marker:
                yield marker.replace(one, other)


def _keys(render: Renderer) -> tuple[str, ...]:
    """The keys that may hold reasoning: the usual ones, and others that the template reads.

    The others are tried all at once first: most templates show none of them.
    """
    more = sorted(render.template.keys - TAKEN - set(REASONING_KEYS))[:MOST_TRIED]
    for said in (assistant(), assistant("", calls=[call()])):
        shown = render([user(), said | dict.fromkeys(more, REASONING)], tools=TOOLS)
        if shown and REASONING in shown:
            return (*REASONING_KEYS, *more)
    return REASONING_KEYS


def _once(body: str, other: str) -> bool:
    """Whether a turn has the reasoning once, and `other`.

    A template that writes a list of parts as it is has it twice.
    """
    return body.count(REASONING) == 1 and other in body


@phase("R2")
def _from_prompts(turns: Turns, prompts: list[str]) -> tuple[str, str] | None:
    """Start and end from generation prompts alone."""
    pair = _pair_of_two(turns, prompts) or _empty_pair(turns, prompts)
    if pair is not None:
        return pair
    for opened in map(_last_marker, prompts):
        if opened.strip() in turns.frame.header + (turns.body() or ""):
            continue
        ends = _cut_markers(turns.render) or [_closed_in_text(turns.render, opened)]
        if ends[0]:
            return opened, ends[0]
    return None


def _pair_of_two(turns: Turns, prompts: list[str]) -> tuple[str, str] | None:
    """The markers in which two prompts differ."""
    pair = _closed_pair(prompts, turns.frame.header, turns.body() or "")
    return pair or _other_pair(turns, prompts)


def _other_pair(turns: Turns, prompts: list[str]) -> tuple[str, str] | None:
    """The markers where one prompt ends in what opens reasoning, and another in what ends it.

    What stands in every turn of the history, which has no reasoning, is the end, or what closes
    the other by its name.
    """
    body, behind = turns.body() or "", _all_behind_header(turns, prompts)
    alone = [parts[0] for parts in map(segments, map(str.strip, behind)) if len(parts) == 1]
    markers = {part.text for part in alone if part.marker}
    ends = [text for text in markers if body.lstrip().startswith(text)]
    ends = ends or [text for text in markers if text in map(_closing, markers)]
    starts = sorted(text for text in markers if text not in body and text not in ends)
    if len(ends) != 1 or not starts:
        return None
    named = [text for text in starts if _closing(text) == ends[0]]
    opened = (named or starts)[0]
    return next((_last_marker(text) for text in behind if text.strip() == opened), opened), ends[0]


def _empty_pair(turns: Turns, prompts: list[str]) -> tuple[str, str] | None:
    """The markers that a prompt opens and closes at once behind the header.

    Words between them are of the first where no space parts them from it, and where all prompts
    that begin with it have them; else they are what one prompt says.
    """
    behind = [text.lstrip() for text in _all_behind_header(turns, prompts)]
    for parts in (segments(text.rstrip()) for text in behind):
        begun, end = parts[0].text if parts else "", parts[-1].text if parts else ""
        if not begun or not parts[0].marker or end.strip() not in _closings(begun.strip()):
            continue
        apart = begun[-1].isspace() and not all(part.marker for part in parts)
        start = begun if apart else "".join(part.text for part in parts[:-1])
        alike = (text for text in behind if text.startswith(begun.strip()))
        return common_prefix(start, *alike), end
    return None


def _behind_header(turns: Turns, prompt: str) -> str:
    """What of a prompt stands behind the header, without the space round it."""
    return "".join(_all_behind_header(turns, [prompt])).strip()


def _all_behind_header(turns: Turns, prompts: Sequence[str]) -> list[str]:
    """What of each prompt that has the header stands behind it."""
    header = turns.frame.header.strip()
    return [prompt.rpartition(header)[2] for prompt in prompts if header and header in prompt]


def _closed_in_text(render: Renderer, opened: str) -> str:
    """The marker that closes `opened` by its name, where the template's own text has it, or ""."""
    texts = [*render.template.constants, render([user()], tools=TOOLS) or ""]
    for closing in _closings(opened.strip()):
        if any(closing in text for text in texts):
            return closing
    return ""


@phase("R2")
def _closed_by_name(turns: Turns, prompt: str) -> tuple[str, str] | None:
    """Start and end where all that the prompt has behind the header is a tag that nothing closes.

    Only a tag: how `<|mull|>` is closed is not known, and what is more than one may say anything.
    """
    opened = _behind_header(turns, prompt)
    if not NAMED_TAG.fullmatch(opened) or opened in (turns.body() or ""):
        return None
    return _last_marker(prompt), _closing(opened)


def _opened_only(
    turns: Turns, prompts: Sequence[str], known: Sequence[str] = (), held: Sequence[Holder] = ()
) -> tuple[str, ...]:
    """The issue of a prompt that goes on behind the header, with what no turn shows.

    Nor is it one of the `known` markers of reasoning, or begins with one, or closes something, once
    what is `held` to say the value of a switch is left out.
    """
    shown = turns.body() or ""
    for prompt in prompts:
        parts = [part.text for part in segments(_behind_header(turns, prompt))]
        rest = "".join(
            text
            for text in parts
            if text.strip() in known or not any(one.is_one(text) for one in held)
        )
        if rest and rest not in shown and not rest.startswith((*known, *CLOSERS)):
            return (OPENED_ONLY.format(rest=rest[-LONGEST_SHOWN:]),)
    return ()


def _closed_pair(prompts: list[str], header: str = "", body: str = "") -> tuple[str, str] | None:
    """The markers that one prompt has and another has not, or has not closed.

    What ends the `header` of all turns opens nothing, unless its name or their `body` says so; nor
    does a prompt without it show anything.
    """
    for shorter in (prompt for prompt in prompts if header.strip() in prompt):
        for longer in prompts:
            known, rest = shorter.strip(), longer.strip()
            if known == rest or not rest.startswith(known):
                continue
            more = [part for part in segments(rest[len(known) :]) if part.text.strip()]
            if len(more) == 2 and all(part.marker for part in more):
                return more[0].text, more[1].text.rstrip()
            if len(more) == 1 and more[0].marker:
                after = longer[longer.index(known) + len(known) :] if known else longer
                end = after[len(after) - len(after.lstrip()) :].rstrip()
                start = _last_marker(shorter)
                begun, core = start.strip(), end.strip()
                closed = core in body or core in _closings(begun)
                if begun and (closed or not header.strip().endswith(begun)):
                    return start, end
    return None


def _cut_markers(render: Renderer) -> list[str]:
    """The texts up to which the template cuts an earlier turn's output, the longest first."""
    words = sorted((text.strip() for text in _words(render)), key=len, reverse=True)

    def past(*markers: str) -> str:
        whole = f"{REASONING}{' '.join(markers)}{CONTENT}"
        return render.turn(content=whole, then=[user(NEXT_USER)]) or ""

    if not words or REASONING in past(*words):
        return []  # most templates cut nowhere
    shown = {marker: past(marker) for marker in words if marker}
    return [text for text in shown if CONTENT in shown[text] and REASONING not in shown[text]]


@phase("R2")
def _cut_off(render: Renderer) -> tuple[str, str] | None:
    """The markers of what the template leaves out of an earlier turn, which no prompt opens.

    It may look for the end alone, so what opens it is what that closes by its name.
    """
    for end in _words(render):
        if not end.strip().startswith(CLOSERS):
            continue
        start = end.strip().replace("/", "", 1)
        whole = f"{start}{REASONING}{end.strip()}{CONTENT}"
        shown = render.turn(content=whole, then=[user(NEXT_USER)], prompt=True) or ""
        if CONTENT in shown and REASONING not in shown:
            return start, end.strip()
    return None


def _other_ends(render: Renderer, end: str) -> Iterator[str]:
    """The issues of a template that cuts earlier turns at other markers than the one that ends."""
    ends = _cut_markers(render)
    for other in ends if end in ends else ():
        if other != end:
            yield OTHER_END.format(other=other, end=end)


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
    parts = segments(text)
    return parts[-1].text if parts and parts[-1].marker else ""


def _switches(render: Renderer) -> list[str]:
    """The variables that the template reads and does not set itself."""
    return names_of_switches(render.template)[:MOST_TRIED]


def _words(render: Renderer) -> list[str]:
    """The short texts that the template may look for in a message."""
    short = (text for text in render.template.sought if len(text) <= LONGEST_SWITCH)
    return [text for text in short if text.strip() and "\n" not in text.strip()][:MOST_TRIED]


@phase("R2")
def _prompts_after_words(turns: Turns, default: str) -> list[str]:
    """The ends of prompts whose message holds a word that the template may look for."""
    tails: list[str] = []
    header = turns.frame.header
    if not header or header not in default:
        return tails
    words = _words(turns.render)
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
