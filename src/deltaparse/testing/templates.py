"""Whether a template is understood, and whether its turns keep the invariants."""

from __future__ import annotations

import json
from typing import Any

from deltaparse.analyzer import Trace, analyze
from deltaparse.analyzer.analysis import prove_format
from deltaparse.analyzer.proof.conversations import PROOF_TOOLS
from deltaparse.stream import Message, WireFormat, parse
from deltaparse.stream.wire.given import as_format

from .invariants import check_invariants

__all__ = ["check_template"]

MOST_SHOWN = 120
"""Characters of a value that an assertion shows."""


def check_template(
    template: Any, *, fmt: WireFormat | str | None = None, **switches: Any
) -> WireFormat:
    """Check that a template is proved, and that its turns keep the invariants; return its format.

    The turns are those of the proof: content, reasoning and calls as the template renders them,
    with values of every type and texts as awkward as they may be, under each switch, with tools and
    without. Each is parsed behind the prompt that stands before it, as `check_invariants` does.

    Args:
        template: what `analyze` takes: a `ChatTemplate`, its source, a tokenizer, a folder.
        fmt: a format of your own, or the name of one, for a template that the analysis understands
            or does not: what the template renders must come back from it. A template that renders
            no calls proves no format that has some. Then it is this one that is returned.
        switches: of the template, for one of its formats: `style="json"`.

    Raises:
        AssertionError: the format is not proved, a turn does not keep an invariant, or `fmt` makes
            something else of it.
        DeltaParseError: there is no template, or it cannot be rendered.
    """
    trace = Trace()
    found = analyze(template, trace=trace, **switches)
    given = found if fmt is None else as_format(fmt)
    if fmt is None:
        assert found.verified, "not understood: " + "; ".join(found.issues)
    elif not found.verified or (given.facts.has_calls and not found.facts.has_calls):
        # What the analysis has found is no judge of it.
        found, trace = given, Trace()
        wrong = "; ".join(prove_format(template, given, trace, **switches))
        assert not wrong, f"the format is not that of the template: {wrong}"
    assert trace.shown, "no turn of the template came back"
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
    """What is compared of a message; white space at edges is no difference."""
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
    """Say in which part a message is another one; issues that both have are none."""
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
    """Write a value; of a long text, what stands round `at`."""
    text = f"...{value[at - 20 :]!r}" if at > 20 else repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
