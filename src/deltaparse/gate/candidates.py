"""Phase one: from an output to candidates. It only reads text, and knows no tool.

The primary format wins: where one of its markers stands, no fallback is tried. Of a `Message` its
calls are candidates of the primary format, since they stood in the markers of the model's own
format, unless what stands round them is certain to set them apart; reasoning is never read. What
stands before and after reasoning is not joined. With the format at hand, in a parser or to parse
with, what the parser calls no call is none.
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
"""Kinds of issue with which the calls are still what the model plainly said. No others are."""

PLACED_ISSUES = frozenset({"tool_in_reasoning", "orphan_marker", "invalid_text"})
"""Kinds that are harmless where they are certain to be about other text than that of the calls."""

BEGUN = frozenset({"not_a_call", "truncated"})
"""What becomes of attempts that no call of the message shows, and maybe no issue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRules:
    """What phase one goes by: markers of intent, the fallbacks, and the size of a snippet."""

    intents: tuple[str, ...]
    fallbacks: frozenset[str]
    snippet_bytes: int


def extract_text(
    text: str, rules: ExtractionRules, *, intent: bool = False, prompt: str = ""
) -> Candidates:
    """Find the candidates of a raw output; `intent` says that one was stated elsewhere.

    Ids are made from `prompt` and the candidate, not from where it stands.
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
        detail = "what looks like a call stands in code or in a quotation"
        return Candidates(mode="none", intent=stated, flaw="quoted", detail=detail)
    if tags:
        mode = "primary"
        calls = [tag for tag in tags if not tag.quoted and not tag.stray]
        found = [
            _candidate(n, mode, tag.name, tag.payload, tag.flaw, prompt, tag.span)
            for n, tag in enumerate(calls)
        ]
        if any(tag.quoted for tag in tags):
            flaw, detail = "ambiguous", "there are calls, and quoted ones beside them"
        elif any(tag.stray for tag in tags):
            flaw, detail = "malformed_call", "a closing marker closes nothing"
    else:
        mode, parts = snippets(body, rules.fallbacks, rules.snippet_bytes)
        found = [
            _candidate(n, mode, name, payload, broken, prompt)
            for n, (name, payload, broken) in enumerate(parts)
        ]
    if denied and mode != "none":
        flaw, detail = "intent_denied", f"the output says {DENIAL!r} and calls one all the same"
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
    """Find the candidates of a message: its calls, or else what its content has as a raw output.

    `parsed`: its format is at hand, and in content there are no calls.
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
        candidates = _refused(candidates, "ambiguous", "there are calls of two formats")
    elif any(len(texts) > 1 and sets_apart(texts) for texts in _round_calls(message.parts)):
        candidates = _refused(candidates, "ambiguous", "a call stands in what is set apart")
    elif message.unproven:
        detail = "text stands beside a call that nothing but its look tells from text"
        candidates = _refused(candidates, "ambiguous", detail)
    elif calls and others_speak(_round_all_calls(message.parts)):
        candidates = _refused(candidates, "ambiguous", "somebody else may speak before a call")
    elif _ends_reasoning_behind_a_call(message):
        candidates = _refused(candidates, "ambiguous", "what ends reasoning stands behind a call")
    elif any(tags[:-1]):
        detail = "there is a call before reasoning, and text after it"
        candidates = _refused(candidates, "ambiguous", detail)
    issues = {*message.issues, *issues}
    kinds = _blocking(issues, calls) | _calls_kept_as_text(issues, calls)
    for call in calls:
        kinds |= _odd(call)
    # Most of these have an issue, which says more.
    kinds = kinds or _begun(message)
    return _reported(candidates, kinds) if candidates.mode != "none" else candidates


def extract_call(call: ToolCall, issues: Iterable[Issue] = ()) -> Candidates:
    """Make the one candidate of a call that a parser has read."""
    candidates = Candidates(mode="primary", found=(_called(call),), parsed=True)
    return _reported(candidates, _blocking(issues, [call]) | _odd(call))


def _refused(candidates: Candidates, flaw: Reason, detail: str) -> Candidates:
    """The candidates of an output that is refused as a whole."""
    return replace(candidates, flaw=flaw, detail=detail)


def _reported(candidates: Candidates, kinds: Collection[str]) -> Candidates:
    """The candidates of an output of which a parser reports such issues, if any."""
    if not kinds:
        return candidates
    return _refused(candidates, "parser_issue", f"the parser reports {', '.join(sorted(kinds))}")


def _called(call: ToolCall) -> Candidate:
    """The candidate that a call is."""
    flaw: Reason | None = None if call.complete else "incomplete"
    return Candidate(id=call.id, mode="primary", name=call.name, payload=call.arguments, flaw=flaw)


def _odd(call: ToolCall) -> set[str]:
    """The kinds of issue for which a call is refused, as far as it shows them itself."""
    kinds = call.issues - HARMLESS_ISSUES
    return {*kinds, "repaired_arguments"} if call.repaired else set(kinds)


def _blocking(issues: Iterable[Issue], calls: Sequence[ToolCall]) -> set[str]:
    """The kinds of issue for which an output with these calls is refused."""
    spans = _spans(calls)
    return {
        issue.kind
        for issue in issues
        if issue.kind not in HARMLESS_ISSUES
        and not (issue.kind in PLACED_ISSUES and _elsewhere(issue, spans))
    }


def _calls_kept_as_text(issues: Iterable[Issue], calls: Sequence[ToolCall]) -> set[str]:
    """The kinds of issue that are about a call of an unknown tool which is text in the message.

    One that is a call of the message is refused for its name; of one that is not, nothing is left
    to refuse, and the others would pass without it.
    """
    spans = _spans(calls)
    unknown = (issue for issue in issues if issue.kind == "unknown_tool")
    return {issue.kind for issue in unknown if _elsewhere(issue, spans)}


def _begun(message: Message) -> set[str]:
    """What became of calls that were begun and are none of the message.

    What stands before an end of reasoning that nothing began was a draft.
    """
    ends = (issue.span[0] for issue in message.issues if issue.kind == "orphan_marker")
    draft = max(ends, default=-1)
    begun = (one for one in message.attempts if one.status in BEGUN and one.span[1] > draft)
    return {f"a call that was begun ({one.status})" for one in begun}


def _spans(calls: Iterable[ToolCall]) -> list[tuple[int, float]]:
    """Where calls stand; one that its parser still reads goes on."""
    spans = (call.span for call in calls)
    return sorted((start, end if start < end else inf) for start, end in spans)


def _elsewhere(issue: Issue, spans: Sequence[tuple[int, float]]) -> bool:
    """Whether an issue is certain to be about other text than that of calls at `spans`."""
    start, end = issue.span
    if start >= end or (0, inf) in spans[:1]:
        # Nothing is known of where it is, or of where a call is.
        return False
    before = bisect_left(spans, (end, end))
    if issue.kind == "orphan_marker":
        # Behind a call, it says that the call stood in reasoning.
        return not before
    return not before or spans[before - 1][1] <= start


def _contents(parts: Iterable[Part]) -> list[str]:
    """The content between other parts; a server may send what belongs together in several."""
    contents = (
        "".join(part.text for part in run if isinstance(part, Content))
        for _, run in groupby(parts, type)
    )
    return [content for content in contents if content.strip()]


def _round_calls(parts: Iterable[Part]) -> Iterator[list[str]]:
    """The content round each call, between one section of reasoning and another."""
    for _, run in groupby(parts, lambda part: isinstance(part, Reasoning)):
        yield _round_all_calls(part for part in run if not isinstance(part, Reasoning))


def _round_all_calls(parts: Iterable[Part]) -> list[str]:
    """The content round each call; a line ends where reasoning stands in it."""
    texts = [""]
    for part in parts:
        if isinstance(part, ToolCall):
            texts.append("")
        else:
            texts[-1] += "\n" if isinstance(part, Reasoning) else part.text
    return texts


def _ends_reasoning_behind_a_call(message: Message) -> bool:
    behind = dropwhile(lambda part: not isinstance(part, ToolCall), message.parts)
    return any(map(ends_reasoning, _contents(behind)))


def _candidate(
    index: int,
    mode: ParseMode,
    name: str,
    payload: str,
    flaw: Reason | None,
    prompt: str,
    span: tuple[int, int] | None = None,
) -> Candidate:
    # The lengths keep two different candidates from having one key.
    key = f"{index}\0{mode}\0{len(name)}\0{name}\0{len(payload)}\0{payload}\0{prompt}"
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return Candidate(
        id=f"call_{digest}", mode=mode, name=name, payload=payload, span=span, flaw=flaw
    )
