"""Check of a template: its format is verified, and its turns keep the invariants."""

from __future__ import annotations

import json
from typing import Any

from deltaparse.analyzer import Trace, analyze
from deltaparse.analyzer.analysis import prove_format
from deltaparse.analyzer.proof.conversations import PROOF_TOOLS
from deltaparse.stream import Message, WireFormat, parse
from deltaparse.stream.wire.format_source import as_format

from .invariants import check_invariants

__all__ = ["check_template"]

MOST_SHOWN = 120
"""Maximum number of characters of a value in an assertion message."""


def check_template(
    template: Any, *, fmt: WireFormat | str | None = None, **switches: Any
) -> WireFormat:
    """Check that a template's format is verified and its turns keep the invariants.

    The turns are the renderings of the analysis: content, reasoning and calls with values of every
    type and difficult texts. They are rendered with each switch, with and without tools. Each turn
    is checked by `check_invariants`, with its prompt.

    Args:
        template: the argument of `analyze`: a `ChatTemplate`, its source, a tokenizer, a folder.
        fmt: a format, or its name, to check instead of the derived one. The template's renderings
            must round-trip in it. A template that renders no calls cannot verify a format with
            calls.
        switches: template variables that select one of its formats, e.g. `style="json"`.

    Returns:
        The format: `fmt`, or else the derived one.

    Raises:
        AssertionError: the format is not verified, a turn violates an invariant, or `fmt` returns
            a different message.
        DeltaParseError: the template is missing, or cannot be rendered.
    """
    trace = Trace()
    found = analyze(template, trace=trace, **switches)
    given = found if fmt is None else as_format(fmt)
    if fmt is None:
        assert found.verified, "not verified: " + "; ".join(found.issues)
    elif not found.verified or (given.derived.has_calls and not found.derived.has_calls):
        # The derived format is unverified or lacks calls, so it cannot serve as the reference.
        found, trace = given, Trace()
        wrong = "; ".join(prove_format(template, given, trace, **switches))
        assert not wrong, f"the format is not that of the template: {wrong}"
    assert trace.shown, "no turn of the template round-trips"
    for shown in trace.shown:
        tools, prompt = PROOF_TOOLS if shown.tools else None, shown.wire.prompt
        check_invariants(given, shown.wire.text, tools, prompt=prompt)
        if given is not found:
            for end in ("", *found.turn.ends[:1]):
                text = shown.wire.text + end
                made, wanted = (
                    parse(text, each, tools=tools, prompt=prompt, finish_reason="stop")
                    for each in (given, found)
                )
                wrong = _difference(_parts(made), _parts(wanted))
                assert not wrong, f"{shown.turn.label}: {wrong}, from {_short(text)}"
    return given


def _parts(message: Message) -> dict[str, Any]:
    """Return the compared parts of a message, without outer whitespace."""
    calls = [
        (call.name, json.loads(call.arguments) if call.complete else call.arguments)
        for call in message.tool_calls
    ]
    return {
        "reasoning": message.reasoning_content.strip(),
        "content": message.content.strip(),
        "calls": calls,
        "issues": [f"{issue.kind}: {issue.detail}" for issue in message.issues],
    }


def _difference(made: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Return a description of the different parts, without issues of both messages."""
    made["issues"] = [issue for issue in made["issues"] if issue not in wanted["issues"]]
    wanted["issues"] = []
    told = []
    for name, one in made.items():
        two = wanted[name]
        if one != two:
            same = 0
            if isinstance(one, str):
                cuts = range(1, len(one) + 1)
                same = next((cut - 1 for cut in cuts if one[:cut] != two[:cut]), len(one))
            told.append(f"{name} {_short(one, same)}, not {_short(two, same)}")
    return "; ".join(told)


def _short(value: Any, at: int = 0) -> str:
    """Return a short `repr` of a value, starting near `at` for a long text."""
    text = f"...{value[at - 20 :]!r}" if at > 20 else repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
