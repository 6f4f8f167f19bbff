"""Tool calls, one sub-parser for each family of wire forms."""

from __future__ import annotations

from deltaparse.partial import Source, Steps, at, json_space

from ..format import ToolFormat
from ..lexicon import Lexicon
from ..region import Region
from ..turn import Turn
from .json_native import json_calls
from .tagged import tagged_call

__all__ = ["tool_calls"]


def tool_calls(src: Source, turn: Turn, lex: Lexicon, region: Region) -> Steps[bool]:
    """Read the calls that may begin at the marker that stands here; settle `region`.

    Returns whether there were any. If not, all that was read since `region` began is handed out
    as content. The markers that end the calls are left unread.
    """
    # A section's marker may be followed by that of its first call, and by that of its name.
    tagged = lex.fmt.tools.format in (ToolFormat.TAG_WITH_JSON, ToolFormat.TAG_WITH_TAGGED)
    prefix = lex.fmt.function.name_prefix.strip() if tagged else ""
    marker = ""
    while marker != (prefix or None) and (more := (yield from at(src, lex.call_starts))):
        src.pos += len(more)
        marker = more.strip()
        yield from json_space(src)
    if tagged:
        prefixed = marker == prefix and bool(prefix)
        called = yield from tagged_call(src, turn, lex, region, prefixed=prefixed)
    else:
        called = yield from json_calls(src, turn, lex, region)
    if not called:
        turn.content(region.text())
    region.settle()
    return called
