"""Phase one: from an output to candidates. It only reads text, and knows no tool.

The primary format wins: where one of its markers stands, no fallback is tried. Of a `Message` its
calls are candidates of the primary format, since they stood in the markers of the model's own
format; reasoning is never read. What stands before and after reasoning is not joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b

from deltaparse.stream import Content, Issue, Message

from .fallbacks import DENIAL, after_intent, snippets, starts_with
from .payload import SPACE
from .records import Candidate, Candidates, Reason
from .tags import after_reasoning, read_tags
from .telemetry import ParseMode

__all__ = ["BLOCKING_ISSUES", "ExtractionRules", "extract_message", "extract_text"]

BLOCKING_ISSUES = frozenset(
    {
        "repaired_arguments",
        "malformed_arguments",
        "duplicate_keys",
        "truncated_call",
        "unclosed_reasoning",
        "extra_call",
        "wrong_tool",
        "internal_error",
    }
)
"""Kinds of issue after which no call of the turn is what the model plainly said."""


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
) -> Candidates:
    """Find the candidates of a message: its calls, or else what its content has as a raw output."""
    contents = [p.text for p in message.parts if isinstance(p, Content) and p.text.strip()]
    tagged = [any(not tag.quoted for tag in read_tags(text)) for text in contents]
    flaw: Reason | None = None
    detail = ""
    if calls := message.tool_calls:
        found = [
            Candidate(
                id=call.id,
                mode="primary",
                name=call.name,
                payload=call.arguments,
                flaw=None if call.complete else "incomplete",
            )
            for call in calls
        ]
        candidates = Candidates(mode="primary", found=tuple(found), intent=True)
        if any(tagged):
            flaw, detail = "ambiguous", "there are calls of two formats"
    else:
        candidates = extract_text(
            contents[-1] if contents else "", rules, intent=intent, prompt=prompt
        )
        if any(tagged[:-1]):
            flaw, detail = "ambiguous", "there is a call before reasoning, and text after it"
    kinds = {issue.kind for issue in issues}
    if any(call.repaired for call in message.tool_calls):
        kinds.add("repaired_arguments")
    altered = sorted(kinds & BLOCKING_ISSUES)
    if altered and candidates.mode != "none":
        flaw, detail = "parser_issue", f"the parser reports {', '.join(altered)}"
    return replace(candidates, flaw=flaw, detail=detail) if flaw else candidates


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
