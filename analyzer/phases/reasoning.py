"""Phases R1 to R3: how a template marks reasoning.

R1 compares a turn with reasoning to one without; R2 compares the generation prompt under every
switch that the template reads; R3 compares reasoning beside content with reasoning beside
calls. What a template drops from history shows only in its prompts (`reasoning_prompts`), or in
where it cuts earlier turns (`reasoning_history`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from deltaparse.stream import ReasoningFormat, ReasoningMode
from deltaparse.stream.wire.spellings import leading

from ..diff import between, common_prefix, last_marker, segments, split
from ..probes import (
    CONTENT,
    FUNCTIONS,
    REASONING,
    REASONING_KEYS,
    TOOLS,
    USER,
    assistant,
    call,
    user,
)
from ..renderer import Renderer
from ..template.what_is_read import OTHER_KEYS
from ..trace import phase
from ..turns import Turns
from .closings import closing, closings
from .reasoning_history import MOST_TRIED, cut_off, other_ends
from .reasoning_prompts import (
    CLOSED_BY_NAME,
    begins_a_call,
    behind_header,
    closed_by_name,
    from_prompts,
    opened_only,
    prompts_after_words,
)
from .switch_values import Holder, holders
from .switches import Setting, names_of_switches, views_with_reasoning

__all__ = ["ReasoningFinding", "find_reasoning", "round_content"]

ANY_VALUE = (
    "what opens reasoning, {marker!r}, holds the value of {name}: with another value it is not "
    "read, but in the format of analyze(template, {name}=...)"
)


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
    prompts = [text for text in dict.fromkeys([default, *others]) if not begins_a_call(turns, text)]
    shown = _presence(turns, prompts)
    beside_calls = None if shown else _scope(turns, prompts)
    start, end, key = shown or beside_calls or ("", "", "")
    if not end:
        prompts += prompts_after_words(turns, default)
        start, end = from_prompts(turns, prompts) or ("", "")
    if not end:
        described = _described_to_the_model(render)
        if described.issues:
            return described
        start, end = cut_off(turns.render) or ("", "")
    by_name: tuple[str, ...] = ()
    if not end:
        unended = _unended(turns)
        start, end = closed_by_name(turns, prompts) or ("", "")
        if unended or not end:
            return replace(described, issues=(*unended, *opened_only(turns, prompts)))
        by_name = (CLOSED_BY_NAME.format(start=start.strip(), end=end),)
    mode = _mode(start, end, prompts, tools_only=beside_calls is not None)
    held = holders(turns, settings) if start.strip() else []
    holding = _holding(prompts, start, held)
    others = _alternatives(turns, settings, start, end, [*holding])
    made = ReasoningFormat(mode=mode, start=start, end=end, alternatives=others)
    # Where no marker opens reasoning, it begins with what a prompt says, whatever that is.
    known = [text.strip() for pair in made.pairs for text in pair]
    unread = opened_only(turns, prompts, known, held)
    unread += by_name + tuple(_any_value(holding))
    unread += () if key else tuple(other_ends(render, end.strip()))
    return ReasoningFinding(made, key, unread, next_ends=_next_ends(turns, start, end))


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
    behind = {behind_header(turns, prompt) for prompt in prompts}
    if behind <= {"", end}:
        return last_marker(turns.frame.header)
    opened = behind.pop()
    parts = segments(opened)
    return opened if not behind and len(parts) == 1 and parts[0].marker else ""


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
    return core not in tail if tail is not None else core not in closings(start.strip())


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
            opened = last_marker(head.rpartition(header)[2])
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
                closed = _without_call(turns, closed, key)
                before, _, after = rest.partition(closed)
                shared = common_prefix(after, behind.partition(closed)[2])
                return start, before + closed + leading(shared), key
        parts = segments(rest)
        first = next((at for at, part in enumerate(parts) if part.marker), None)
        if first is not None:
            return start, "".join(part.text for part in parts[: first + 1]), key
    return None


def _without_call(turns: Turns, closed: str, key: str) -> str:
    """What of a prompt's end stands behind reasoning before content too: the rest opens a call."""
    parts = segments(closed)
    if len(parts) > 1 and parts[0].marker:
        body = turns.body(calls=[call()], reasoning=REASONING, key=key)
        shared = common_prefix(closed, between(body, REASONING, CONTENT) or closed)
        return shared if shared.strip() else closed
    return closed


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
            if opened.marker and closed.text.strip() == closing(opened.text.strip())
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


def _keys(render: Renderer) -> tuple[str, ...]:
    """Return the message keys that may hold reasoning: usual ones and others read by the template.

    The unusual keys are first tried together, because most templates render none of them.
    """
    more = sorted(render.template.keys - OTHER_KEYS - set(REASONING_KEYS))[:MOST_TRIED]
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


def _switches(render: Renderer) -> list[str]:
    """The variables that the template reads and does not set itself."""
    return names_of_switches(render.template)[:MOST_TRIED]
