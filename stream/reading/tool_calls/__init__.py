"""Tool calls, one sub-parser for each family of wire forms."""

from __future__ import annotations

from collections.abc import Callable

from deltaparse.partial import Steps, Window, at, json_space, skip

from ...message.sink import Sink
from ...wire.format import ToolFormat
from ...wire.marker_tables import MarkerTables
from ..checkpoint import Checkpoint
from .code import coded_calls
from .json_native import json_calls
from .pythonic import python_calls
from .tagged import tagged_call

__all__ = ["tool_calls"]


def tool_calls(
    src: Window,
    turn: Sink,
    lex: MarkerTables,
    region: Checkpoint,
    emit: Callable[[str], None] | None = None,
) -> Steps[bool]:
    """Read the calls that may begin at the marker that stands here; settle `region`.

    Returns whether there were any. If not, all that was read since `region` began is handed to
    `emit`, as content if there is none. The markers that end the calls are left unread.
    """
    # A section's marker may be followed by that of its first call, and by that of its name.
    tagged = lex.fmt.tools.format in (ToolFormat.TAG_WITH_JSON, ToolFormat.TAG_WITH_TAGGED)
    prefix = lex.fmt.function.name_prefix.strip() if tagged else ""
    code = lex.fmt.code.start.strip() if lex.fmt.code.function else ""
    marker = ""
    while marker != (prefix or None) and (more := (yield from at(src, lex.call_starts))):
        marker = more.strip()
        if code and marker == code:
            yield from skip(src, more, lex.trailing(more))
            break
        src.pos += len(more)
        yield from json_space(src)
    if code and marker == code:
        called = yield from coded_calls(src, turn, lex, region)
    elif lex.fmt.tools.format is ToolFormat.PYTHONIC:
        called = yield from python_calls(src, turn, lex, region)
    elif tagged:
        prefixed = marker == prefix and bool(prefix)
        called = yield from tagged_call(src, turn, lex, region, prefixed=prefixed)
    else:
        called = yield from json_calls(src, turn, lex, region)
    if not called:
        (emit or turn.content)(region.text())
    region.settle()
    return called
