"""Phases R1 to R3: the reasoning markers of a template.

R1 compares a turn with reasoning to a turn without. R2 compares the generation prompts under all
switches. R3 compares reasoning before content with reasoning before calls. If a template drops
reasoning from history, only two sources remain: its prompts (`reasoning_prompts`), and the text
at which it truncates earlier turns (`reasoning_history`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from deltaparse.stream import ReasoningFormat, ReasoningMode
from deltaparse.stream.wire.spellings import leading

from ..assistant_turns import Turns
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
from ..template.template_capabilities import OTHER_KEYS
from ..trace import phase
from .closing_tags import closing, closings
from .find_switches import SwitchSetting, names_of_switches, views_with_reasoning
from .reasoning_history import MOST_TRIED, cut_off, other_ends
from .reasoning_prompts import (
    CLOSED_BY_NAME,
    after_header,
    begins_a_call,
    closed_by_name,
    from_prompts,
    opened_only,
    prompts_after_words,
)
from .switch_values import Holder, holders

__all__ = ["ReasoningFinding", "around_content", "find_reasoning"]

ANY_VALUE = (
    "the start marker of reasoning, {marker!r}, contains the value of {name}: for other values, "
    "use the format of analyze(template, {name}=...)"
)


@dataclass(frozen=True, slots=True)
class ReasoningFinding:
    """The reasoning markers of a template, and the message key for reasoning.

    Attributes:
        format: the reasoning group of the wire format.
        key: the message key from which the template reads reasoning; "" if it renders none.
        issues: descriptions of missing information.
        answer: the content markers of turns with reasoning, if the template only describes them.
        next_ends: True if the end marker of reasoning is the start marker of content.
    """

    format: ReasoningFormat
    key: str = ""
    issues: tuple[str, ...] = ()
    answer: tuple[str, str] | None = None
    next_ends: bool = False


def find_reasoning(
    turns: Turns, others: Sequence[str] = (), settings: Sequence[SwitchSetting] = ()
) -> ReasoningFinding:
    """Find the reasoning markers and the mode.

    Args:
        turns: renders the turns.
        others: the tails of the prompts under each setting of the switches (R2).
        settings: the values of the switches.
    """
    render = turns.render
    default = render.prompt_tail() or ""
    prompts = [text for text in dict.fromkeys([default, *others]) if not begins_a_call(turns, text)]
    shown = _presence(turns, prompts)
    next_to_calls = None if shown else _scope(turns, prompts)
    start, end, key = shown or next_to_calls or ("", "", "")
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
    mode = _mode(start, end, prompts, tools_only=next_to_calls is not None)
    held = holders(turns, settings) if start.strip() else []
    holding = _holding(prompts, start, held)
    others = _alternatives(turns, settings, start, end, [*holding])
    made = ReasoningFormat(mode=mode, start=start, end=end, alternatives=others)
    # Without a start marker, reasoning includes all text that the prompt adds.
    known = [text.strip() for pair in made.pairs for text in pair]
    unread = opened_only(turns, prompts, known, held)
    unread += by_name + tuple(_any_value(holding))
    unread += () if key else tuple(other_ends(render, end.strip()))
    return ReasoningFinding(made, key, unread, next_ends=_next_ends(turns, start, end))


@phase("R1")
def _presence(turns: Turns, prompts: Sequence[str]) -> tuple[str, str, str] | None:
    """R1: return start, end and key, from a turn with reasoning and content."""
    lead, tail = around_content(turns)
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
            # Content is wrapped, always or after reasoning: the last marker is its start marker.
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
    """Return the start marker if every turn opens reasoning, and turns without it close it at once.

    If all prompts have the same single marker after the header, it is the start marker. If no
    prompt has text there, or only the end marker, the start marker is the end of the header. If
    only some prompts have text there, there is no start marker.
    """
    behind = {after_header(turns, prompt) for prompt in prompts}
    if behind <= {"", end}:
        return last_marker(turns.frame.header)
    opened = behind.pop()
    parts = segments(opened)
    return opened if not behind and len(parts) == 1 and parts[0].marker else ""


def _without_content(turns: Turns, start: str, end: str, prompts: Sequence[str]) -> str:
    """Return the part of the end marker that also precedes calls, or also ends a prompt.

    The text after it there is not content, so the rest of the marker belongs to content.
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
    """Return True if content always begins with the end marker, and turns of calls omit it."""
    core = end.strip()
    if not start.strip() or not (turns.body() or "").lstrip().startswith(core):
        return False
    tail = between(views_with_reasoning(turns.render)[1], REASONING, FUNCTIONS[0])
    return core not in tail if tail is not None else core not in closings(start.strip())


@phase("R3")
def _alternatives(
    turns: Turns,
    settings: Sequence[SwitchSetting],
    start: str,
    end: str,
    starts: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return additional pairs of markers, used before calls or under a switch.

    Earlier phases already rendered all of these turns.

    Args:
        turns: renders the turns.
        settings: the values of the switches.
        start: the start marker of the default pair.
        end: the end marker of the default pair.
        starts: additional start markers of prompts, with the same end marker.
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
    """Return the start markers of prompts with a switch value inside, and the matching holders."""
    opening = [one for one in held if one.opens_as(start)]
    parts = [part.text for prompt in prompts for part in segments(prompt)]
    found = {text: [one for one in opening if one.is_one(text)] for text in parts}
    return {text: ones for text, ones in found.items() if ones}


def _any_value(holding: Mapping[str, Sequence[Holder]]) -> Iterator[str]:
    """Yield an issue for each switch whose arbitrary value is part of a start marker."""
    for marker, ones in holding.items():
        names = dict.fromkeys(one.switch for one in ones if one.any_value)
        yield from (ANY_VALUE.format(marker=marker.strip(), name=name) for name in names)


def _headers(turns: Turns) -> list[str]:
    """Return the possible headers before reasoning."""
    texts = (turns.frame.header, *turns.frame.turn.headers)
    return [text for text in map(str.strip, texts) if text]


@phase("R3")
def _scope(turns: Turns, prompts: list[str]) -> tuple[str, str, str] | None:
    """R3: return start, end and key from a turn with reasoning and a call.

    This is used if turns with content render no reasoning.
    """
    closed_at_once = around_content(turns)[0].strip()
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
        # If a prompt contains both markers, its text after the start is the end marker, with the
        # whitespace shared by prompt and turn. Otherwise the first marker after reasoning is used.
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
    """Return the part of a prompt's end that follows reasoning before content too.

    The rest of the prompt opens a call.
    """
    parts = segments(closed)
    if len(parts) > 1 and parts[0].marker:
        body = turns.body(calls=[call()], reasoning=REASONING, key=key)
        shared = common_prefix(closed, between(body, REASONING, CONTENT) or closed)
        return shared if shared.strip() else closed
    return closed


@phase("R2")
def _described_to_the_model(render: Renderer) -> ReasoningFinding:
    """Find markers described in the prompt while a switch is on, as empty pairs.

    Such instructions request reasoning without rendering it: `between <think></think>`.
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
            issue = f"{name} requests reasoning between {start} and {end}, but it is never rendered"
            reasoning = ReasoningFormat(mode=ReasoningMode.TAG_BASED, start=start, end=end)
            answer = pairs[1] if len(pairs) > 1 else None
            return ReasoningFinding(reasoning, issues=(issue,), answer=answer)
    return ReasoningFinding(ReasoningFormat())


def _unended(turns: Turns) -> tuple[str, ...]:
    """Return the issue of reasoning and content rendered without a marker between them.

    Reasoning inside a content part is ignored, because these templates render all parts alike. Text
    under an unusual key is ignored too, because its purpose is unknown.
    """
    for key in REASONING_KEYS:
        body = turns.body(reasoning=REASONING, key=key)
        if body is not None and "." not in key and _once(body, CONTENT):
            return ("the template shows reasoning, but no marker that ends it",)
    return ()


def around_content(turns: Turns) -> tuple[str, str]:
    """Return the texts before and after the content of a turn without reasoning or calls."""
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
    """Return True if a turn contains the reasoning exactly once, and contains `other`.

    A template that prints a list of parts as Python text contains the reasoning twice.
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
    """Return the variables that the template reads but does not set."""
    return names_of_switches(render.template)[:MOST_TRIED]
