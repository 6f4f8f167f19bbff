"""Whether a template is understood, and whether its turns keep the invariants."""

from __future__ import annotations

from typing import Any

from deltaparse.analyzer import Trace, analyze
from deltaparse.analyzer.proof.conversations import PROOF_TOOLS
from deltaparse.stream import WireFormat

from .invariants import check_invariants

__all__ = ["check_template"]


def check_template(template: Any, **switches: Any) -> WireFormat:
    """Check that a template is proved, and that its turns keep the invariants; return its format.

    The turns are those of the proof: content, reasoning and calls as the template renders them,
    with values of every type and texts as awkward as they may be, under each switch, with tools and
    without. Each is parsed behind the prompt that stands before it, as `check_invariants` does.

    Args:
        template: what `analyze` takes: a `ChatTemplate`, its source, a tokenizer, a folder.
        switches: of the template, for one of its formats: `style="json"`.

    Raises:
        AssertionError: the format is not proved, or a turn does not keep an invariant.
        DeltaParseError: there is no template, or it cannot be rendered.
    """
    trace = Trace()
    fmt = analyze(template, trace=trace, **switches)
    assert fmt.verified, "not understood: " + "; ".join(fmt.issues)
    assert trace.shown, "no turn of the template came back"
    for shown in trace.shown:
        tools = PROOF_TOOLS if shown.tools else None
        check_invariants(fmt, shown.wire.text, tools, prompt=shown.wire.prompt)
    return fmt
