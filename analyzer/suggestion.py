"""A named format for a template that renders no calls, but describes them.

Evidence is what the template writes to the model where there are tools, and not where there are
none, and the tokens that the tokenizer has for it. A format is meant if all the markers stand there
that its calls begin with; where that is so of none, if one of the tokens does that no other format
has. It is proposed if no other is meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from deltaparse.stream import ToolFormat, WireFormat

from .probes import TOOLS, told, user
from .renderer import Renderer

__all__ = ["accepted", "suggested_format", "without_greed"]

TAKEN = "calls are read as in the named format {name}, which the template describes"
GREEDY = (
    "calls would stand in no markers, which is not proved, so plain brackets are content: describe "
    "them with fmt.replace(tools=...), or take a named format"
)
LONG_ENOUGH = 4
"""Characters of a marker that is evidence: a bracket or two stand in any text."""


def suggested_format(render: Renderer) -> str:
    """Return the name of the format whose calls the template describes, "" if there is not one."""
    described = [
        _more(render(chat) or "", render(chat, tools=TOOLS) or "")
        for chat in ([user()], [told(), user()])
    ]
    evidence = "\n".join([*described, *render.template.added_tokens])
    if not evidence.strip():
        return ""
    # The named formats are read from files, which nothing else of the analysis needs.
    from deltaparse.stream.suggest import call_markers
    from deltaparse.stream.wire.named import get_format

    kept = {name: get_format(name).preserved_tokens for name in call_markers()}
    found = [
        _Known(name, frozenset(texts), _closers(get_format(name)), frozenset(kept[name]))
        for name, texts in call_markers().items()
    ]
    meant = [
        one
        for one in found
        if one.markers
        and all(len(text) >= LONG_ENOUGH for text in one.markers)
        and all(text in evidence for text in one.markers)
    ]
    seen = {
        one.name: one.markers | {text for text in one.closers if text in evidence} for one in meant
    }
    most = [one for one in meant if not any(seen[one.name] < seen[other.name] for other in meant)]
    most = most or _by_tokens(found, evidence)
    first = {_syntax(get_format(one.name)): one.name for one in reversed(most)}
    return next(iter(first.values())) if len(first) == 1 else ""


def accepted(fmt: WireFormat) -> WireFormat:
    """The format with the calls of the one that is proposed, if one is; it is not verified."""
    if not fmt.suggested:
        return fmt
    from deltaparse.stream.wire.named import get_format

    named = get_format(fmt.suggested)
    parts = ("tools", "function", "arguments", "call_id", "code")
    groups = {name: getattr(named, name) for name in parts}
    tokens = dict.fromkeys((*fmt.preserved_tokens, *named.preserved_tokens))
    issues = (*fmt.issues, TAKEN.format(name=fmt.suggested))
    return fmt.replace(**groups, preserved_tokens=tuple(tokens), issues=issues, verified=False)


def without_greed(fmt: WireFormat) -> WireFormat:
    """The format without calls that stand in no markers, where it is not proved that they do."""
    if fmt.verified or not fmt.facts.unmarked_calls or fmt.proved.calls:
        return fmt
    tools = replace(WireFormat().tools, supports_tools=fmt.tools.supports_tools)
    empty = WireFormat()
    return fmt.replace(
        tools=tools,
        function=empty.function,
        arguments=empty.arguments,
        call_id=empty.call_id,
        issues=(*fmt.issues, GREEDY),
    )


@dataclass(frozen=True, slots=True)
class _Known:
    name: str
    markers: frozenset[str]
    closers: frozenset[str]
    tokens: frozenset[str]


def _closers(fmt: WireFormat) -> frozenset[str]:
    """The markers that end its calls."""
    return frozenset(text.strip() for text in fmt.facts.closers if len(text) >= LONG_ENOUGH)


def _by_tokens(known: Sequence[_Known], evidence: str) -> list[_Known]:
    """The formats of which a token stands there that no other has."""
    count = Counter(token for one in known for token in one.tokens)
    own = [text for text, times in count.items() if times == 1 and len(text) >= LONG_ENOUGH]
    seen = {text for text in own if text in evidence}
    return [one for one in known if one.tokens & seen]


def _more(plain: str, shown: str) -> str:
    """What a text has beyond another, by its lines."""
    known = set(plain.splitlines())
    return "\n".join(line for line in shown.splitlines() if line not in known)


def _syntax(fmt: WireFormat) -> object:
    """What formats have in common whose calls begin and end alike."""
    family = fmt.tools.format
    json = family is ToolFormat.JSON_NATIVE
    fields = (fmt.tools.name_field, fmt.tools.arguments_field, fmt.tools.array_wrapped)
    return family, tuple(text.strip() for text in fmt.facts.openers), fields if json else ()
