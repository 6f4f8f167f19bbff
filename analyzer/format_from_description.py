"""Suggestion of a built-in format for a template that describes calls but does not render them.

The evidence is the text that the template adds if there are tools, and the added tokens of the
tokenizer. A format matches if the evidence contains all start markers of its calls. If no
format matches, a format matches if the evidence contains a token unique to it. A format is
suggested if it is the only match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from deltaparse.stream import ToolFormat, WireFormat

from .probes import TOOLS, told, user
from .renderer import Renderer

__all__ = ["accepted", "suggested_format", "without_greed"]

TAKEN = "calls are read as in the built-in format {name}, which the template describes"
GREEDY = (
    "calls without markers are not proved, so plain brackets are content: describe the calls with "
    "fmt.replace(tools=...), or use a built-in format"
)
LONG_ENOUGH = 4
"""Minimum characters of a marker that counts as evidence. Any text may contain a bracket."""


def suggested_format(render: Renderer) -> str:
    """Return the name of the only format whose calls the template describes, or ""."""
    described = [
        _more(render(chat) or "", render(chat, tools=TOOLS) or "")
        for chat in ([user()], [told(), user()])
    ]
    evidence = "\n".join([*described, *render.template.added_tokens])
    if not evidence.strip():
        return ""
    # Imported lazily, because built-in formats are read from files and are not needed elsewhere.
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
    """Return the format with the calls of the suggested format, if any. It is not verified."""
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
    """Return the format without unmarked calls, unless they are proved."""
    if fmt.verified or not fmt.derived.unmarked_calls or fmt.proved.calls:
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
    """Return the markers that end the calls of a format."""
    return frozenset(text.strip() for text in fmt.derived.closers if len(text) >= LONG_ENOUGH)


def _by_tokens(known: Sequence[_Known], evidence: str) -> list[_Known]:
    """Return the formats with a unique token in the evidence."""
    count = Counter(token for one in known for token in one.tokens)
    own = [text for text, times in count.items() if times == 1 and len(text) >= LONG_ENOUGH]
    seen = {text for text in own if text in evidence}
    return [one for one in known if one.tokens & seen]


def _more(plain: str, shown: str) -> str:
    """Return the lines of `shown` missing in `plain`."""
    known = set(plain.splitlines())
    return "\n".join(line for line in shown.splitlines() if line not in known)


def _syntax(fmt: WireFormat) -> object:
    """Return a key for comparing formats by their syntax of calls."""
    family = fmt.tools.format
    json = family is ToolFormat.JSON_NATIVE
    fields = (fmt.tools.name_field, fmt.tools.arguments_field, fmt.tools.array_wrapped)
    return family, tuple(text.strip() for text in fmt.derived.openers), fields if json else ()
