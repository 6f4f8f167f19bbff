"""Phase one: extract candidates from a response. It only reads text and has no list of tools.

The primary format has priority. If the text contains one of its markers, no fallback is tried. The
calls of a `Message` are candidates of the primary format, because they had the model's own markers.
They are refused if the surrounding text quotes them. Reasoning is never read, and the text before
it is not joined with the text after it. If the format is given, only the parser's calls count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import dropwhile, groupby
from math import inf

from deltaparse.stream import Content, Issue, Message, Part, Reasoning, ToolCall

from .decision import Candidate, Candidates, Reason
from .fallbacks import DENIAL, after_intent, snippets, starts_with
from .strict_arguments import SPACE
from .tags import after_reasoning, ends_reasoning, others_speak, read_tags, sets_apart
from .telemetry import ParseMode

__all__ = [
    "HARMLESS_ISSUES",
    "PLACED_ISSUES",
    "ExtractionRules",
    "extract_call",
    "extract_message",
    "extract_text",
]

HARMLESS_ISSUES = frozenset(
    {
        "text_after_tool_call",
        "unknown_tool",
        "no_calls",
        "no_header",
        "missing_call",
        "repeated_marker",
        "code_block",
        "stray_marker",
        "cut_marker",
        "missing_arguments",
        "odd_member",
        "late_id",
    }
)
"""The only kinds of issues with which a response may pass. They leave its calls unambiguous."""

PLACED_ISSUES = frozenset({"tool_in_reasoning", "orphan_marker", "invalid_text"})
"""Kinds of issues with which a response may pass if their spans are clear of all calls."""

BEGUN = frozenset({"not_a_call", "truncated"})
"""Statuses of attempted calls without a call in the message, and perhaps without an issue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRules:
    """Settings of phase one: intent markers, enabled fallbacks, and the size limit of a snippet."""

    intents: tuple[str, ...]
    fallbacks: frozenset[str]
    snippet_bytes: int


def extract_text(
    text: str, rules: ExtractionRules, *, intent: bool = False, prompt: str = ""
) -> Candidates:
    """Return the candidates of a raw response.

    Args:
        text: the response.
        rules: the settings of this phase.
        intent: the model stated its intent outside of the response.
        prompt: part of each id. Ids depend on the prompt and the candidate, not on its position.
    """
    body = after_reasoning(text).strip(SPACE)
    denied = starts_with(body, DENIAL)
    body, stated = after_intent(body, rules.intents)
    stated = stated or intent
    tags = read_tags(text)
    mode: ParseMode
    flaw: Reason | None = None
    detail = ""
    if tags and all(tag.quoted for tag in tags):
        detail = "the call is inside code or a quotation"
        return Candidates(mode="none", intent=stated, flaw="quoted", detail=detail)
    if tags:
        mode = "primary"
        calls = [tag for tag in tags if not tag.quoted and not tag.stray]
        found = [
            _candidate(n, mode, tag.name, tag.payload, tag.flaw, prompt, tag.span)
            for n, tag in enumerate(calls)
        ]
        if any(tag.quoted for tag in tags):
            flaw, detail = "ambiguous", "the response contains both calls and quoted calls"
        elif any(tag.stray for tag in tags):
            flaw, detail = "malformed_call", "a closing marker has no opening marker"
    else:
        mode, parts = snippets(body, rules.fallbacks, rules.snippet_bytes)
        found = [
            _candidate(n, mode, name, payload, broken, prompt)
            for n, (name, payload, broken) in enumerate(parts)
        ]
    if denied and mode != "none":
        flaw, detail = "intent_denied", f"the response begins with {DENIAL!r} but contains a call"
    return Candidates(mode=mode, found=tuple(found), intent=stated, flaw=flaw, detail=detail)


def extract_message(
    message: Message,
    rules: ExtractionRules,
    *,
    issues: Iterable[Issue] = (),
    intent: bool = False,
    prompt: str = "",
    parsed: bool = False,
) -> Candidates:
    """Return the candidates of a message: its calls, or else the candidates in its content.

    If `parsed`, the format of the message is known, so its content cannot contain calls.
    """
    contents = _contents(message.parts)
    tags = [
        [] if parsed else [tag for tag in read_tags(text) if not tag.quoted] for text in contents
    ]
    calls = message.tool_calls
    if calls or parsed:
        found = tuple(map(_called, calls))
        mode: ParseMode = "primary" if calls else "none"
        candidates = Candidates(mode=mode, found=found, intent=intent, parsed=parsed)
    else:
        text = contents[-1] if contents else ""
        candidates = extract_text(text, rules, intent=intent, prompt=prompt)
    if calls and any(tags):
        candidates = _refused(candidates, "ambiguous", "the response contains calls in two formats")
    elif any(len(texts) > 1 and sets_apart(texts) for texts in _texts_of_runs(message.parts)):
        candidates = _refused(candidates, "ambiguous", "a call is inside code or a quotation")
    elif message.unproven:
        detail = "an unmarked call has text next to it"
        candidates = _refused(candidates, "ambiguous", detail)
    elif calls and others_speak(_texts_around_calls(message.parts)):
        candidates = _refused(candidates, "ambiguous", "another speaker may begin before a call")
    elif _ends_reasoning_after_a_call(message):
        candidates = _refused(candidates, "ambiguous", "reasoning ends after a call")
    elif any(tags[:-1]):
        detail = "a call precedes reasoning, and text follows it"
        candidates = _refused(candidates, "ambiguous", detail)
    issues = {*message.issues, *issues}
    kinds = _blocking(issues, calls) | _calls_kept_as_text(issues, calls)
    for call in calls:
        kinds |= _odd(call)
    # Most unfinished attempts also have an issue, whose kind is more specific.
    kinds = kinds or _begun(message)
    return _reported(candidates, kinds) if candidates.mode != "none" else candidates


def extract_call(call: ToolCall, issues: Iterable[Issue] = ()) -> Candidates:
    """Return the candidate for one call of a parser."""
    candidates = Candidates(mode="primary", found=(_called(call),), parsed=True)
    return _reported(candidates, _blocking(issues, [call]) | _odd(call))


def _refused(candidates: Candidates, flaw: Reason, detail: str) -> Candidates:
    """Return the candidates with a flaw, for which phase two refuses the response."""
    return replace(candidates, flaw=flaw, detail=detail)


def _reported(candidates: Candidates, kinds: Collection[str]) -> Candidates:
    """Return the candidates, refused if the parser reported issues of any `kinds`."""
    if not kinds:
        return candidates
    return _refused(candidates, "parser_issue", f"the parser reported {', '.join(sorted(kinds))}")


def _called(call: ToolCall) -> Candidate:
    """Return the candidate for a parsed call."""
    flaw: Reason | None = None if call.complete else "incomplete"
    return Candidate(id=call.id, mode="primary", name=call.name, payload=call.arguments, flaw=flaw)


def _odd(call: ToolCall) -> set[str]:
    """Return the kinds of the call's own issues for which it is refused."""
    kinds = call.issues - HARMLESS_ISSUES
    return {*kinds, "repaired_arguments"} if call.repaired else set(kinds)


def _blocking(issues: Iterable[Issue], calls: Sequence[ToolCall]) -> set[str]:
    """Return the kinds of issues for which a response with these calls is refused."""
    spans = _spans(calls)
    return {
        issue.kind
        for issue in issues
        if issue.kind not in HARMLESS_ISSUES
        and not (issue.kind in PLACED_ISSUES and _elsewhere(issue, spans))
    }


def _calls_kept_as_text(issues: Iterable[Issue], calls: Sequence[ToolCall]) -> set[str]:
    """Return "unknown_tool" if a call of an unknown tool became content.

    Phase two cannot refuse a call that is missing from the message. Without this check, the other
    calls would pass alone. An unknown tool among the message's calls is refused for its name.
    """
    spans = _spans(calls)
    unknown = (issue for issue in issues if issue.kind == "unknown_tool")
    return {issue.kind for issue in unknown if _elsewhere(issue, spans)}


def _begun(message: Message) -> set[str]:
    """Return descriptions of attempted calls that are missing from the message.

    Attempts before an unopened end of reasoning were drafts and are skipped.
    """
    ends = (issue.span[0] for issue in message.issues if issue.kind == "orphan_marker")
    draft = max(ends, default=-1)
    begun = (one for one in message.attempts if one.status in BEGUN and one.span[1] > draft)
    return {f"an unfinished call ({one.status})" for one in begun}


def _spans(calls: Iterable[ToolCall]) -> list[tuple[int, float]]:
    """Return the spans of calls. The span of an unfinished call has no end."""
    spans = (call.span for call in calls)
    return sorted((start, end if start < end else inf) for start, end in spans)


def _elsewhere(issue: Issue, spans: Sequence[tuple[int, float]]) -> bool:
    """Return True if an issue certainly concerns text outside of the calls at `spans`."""
    start, end = issue.span
    if start >= end or (0, inf) in spans[:1]:
        # The position of the issue or of a call is unknown.
        return False
    before = bisect_left(spans, (end, end))
    if issue.kind == "orphan_marker":
        # An orphan marker after a call shows that the call was part of the reasoning.
        return not before
    return not before or spans[before - 1][1] <= start


def _contents(parts: Iterable[Part]) -> list[str]:
    """Return the content between other parts.

    Consecutive parts are joined, because servers may split content into several.
    """
    contents = (
        "".join(part.text for part in run if isinstance(part, Content))
        for _, run in groupby(parts, type)
    )
    return [content for content in contents if content.strip()]


def _texts_of_runs(parts: Iterable[Part]) -> Iterator[list[str]]:
    """Yield the texts around the calls of each run of parts without reasoning."""
    for _, run in groupby(parts, lambda part: isinstance(part, Reasoning)):
        yield _texts_around_calls(part for part in run if not isinstance(part, Reasoning))


def _texts_around_calls(parts: Iterable[Part]) -> list[str]:
    """Return the content before, between and after the calls.

    Reasoning counts as a line break.
    """
    texts = [""]
    for part in parts:
        if isinstance(part, ToolCall):
            texts.append("")
        else:
            texts[-1] += "\n" if isinstance(part, Reasoning) else part.text
    return texts


def _ends_reasoning_after_a_call(message: Message) -> bool:
    rest = dropwhile(lambda part: not isinstance(part, ToolCall), message.parts)
    return any(map(ends_reasoning, _contents(rest)))


def _candidate(
    index: int,
    mode: ParseMode,
    name: str,
    payload: str,
    flaw: Reason | None,
    prompt: str,
    span: tuple[int, int] | None = None,
) -> Candidate:
    # Without the lengths, two different candidates could have the same key.
    key = f"{index}\0{mode}\0{len(name)}\0{name}\0{len(payload)}\0{payload}\0{prompt}"
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return Candidate(
        id=f"call_{digest}", mode=mode, name=name, payload=payload, span=span, flaw=flaw
    )
