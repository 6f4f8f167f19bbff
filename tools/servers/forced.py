"""Check with xgrammar that forced calls can be written: part of `make test-servers`.

For each built-in format, the structural tag of a request with `tool_choice="required"` must accept
the format's own calls with all arguments, with and without strict tools.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections import Counter
from types import SimpleNamespace

from cases import FUNCTIONS
from tests.strategies.wire_named import WIRES

import peers
from deltaparse import WireFormat, get_format
from deltaparse.servers.xgrammar_tags import structural_tag_of

__all__ = ["main"]

SPACE = "a model writes other white space here than the format has, to which a grammar holds it"
ENDS = "the last marker ends the turn, which a tag leaves to the stop tokens"
ONE = "the format has one call in a turn"
REFUSES = {
    "command_r_plus": SPACE,
    "gpt_oss": ENDS,
    "internlm": SPACE,
    "interns1": SPACE,
    "llama3_json": ONE,
    "llama4_json": ONE,
    "llama4_pythonic": "the markers round calls are read, and not asked for",
    "muse_glimmer": ENDS,
    "nemotron3_nano": SPACE,
    "step3p5": SPACE,
}
"""Formats whose tag rejects a text of `WIRES`, and the reasons."""

FORCED = SimpleNamespace(tool_choice="required")


def main() -> int:
    """Print the formats whose tags reject their own calls. Return 1 if there are any."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    peers.install(("vllm",))
    counts: Counter[str] = Counter()
    for name, wire in sorted(WIRES.items()):
        fmt = get_format(name)
        for strict in (False, True):
            for text in filter(None, (wire.one, wire.two)):
                found = passes(fmt, after_reasoning(fmt, text), strict=strict)
                if found == "refused" and name in REFUSES:
                    found = "refused for a reason"
                counts[found] += 1
                if found == "refused":
                    print(f"{name}, {'strict' if strict else 'not strict'}: refused: {text!r}")
    print("forced calls:", dict(counts))
    return min(counts["refused"], 1)


def after_reasoning(fmt: WireFormat, text: str) -> str:
    """Return the calls without the reasoning before them, which servers do not constrain."""
    end = fmt.reasoning.end.strip()
    return text.rpartition(end)[2].lstrip() if end else text


def passes(fmt: WireFormat, text: str, *, strict: bool) -> str:
    """Return the result of matching a text with the tag of a format."""
    from xgrammar import Grammar
    from xgrammar.testing import _is_grammar_accept_string

    tools = [
        {"type": "function", "function": {**tool["function"], "strict": strict}}
        for tool in FUNCTIONS
    ]
    tag = structural_tag_of(fmt, tools, FORCED, parallel=True)
    if tag is None:
        return "no tag"
    grammar = Grammar.from_structural_tag(tag.model_dump_json())
    return "passes" if _is_grammar_accept_string(grammar, text) else "refused"


if __name__ == "__main__":
    sys.exit(main())
