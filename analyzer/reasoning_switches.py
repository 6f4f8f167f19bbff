"""Switches that turn the reasoning of a model on or off, proved by rendering.

A client that requests reasoning does not name a switch. A switch is therefore set for the client
only if renderings with both values prove two facts. First, the prompts differ in whether reasoning
is open. Second, the conversation before the prompt is the same, except for reasoning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deltaparse.stream import WireFormat

from .probes import (
    NEXT_USER,
    PROBE_TEXTS,
    REASONING,
    TOOLS,
    USER,
    Message,
    call,
    result,
    thinking,
    told,
    user,
)
from .renderer import Renderer
from .template.jinja_template import JinjaTemplate

__all__ = ["reasoning_switches"]

AGAIN = [thinking(), user(NEXT_USER)]
ONE_CALL = [user(), thinking("", [call()]), result(), *AGAIN]
TWO_CALLS = [user(), thinking("", [call(), call(1)]), result(), result(1)]
CONVERSATIONS: Sequence[tuple[Sequence[Message], Sequence[Message] | None]] = (
    ([user(), *AGAIN], None),
    ([told(), user(), *AGAIN], None),
    (ONE_CALL, TOOLS),
    ([told(), *ONE_CALL], TOOLS),
    (TWO_CALLS, TOOLS),
)
USERS = re.compile(f"{USER}|{NEXT_USER}")
PROBES = re.compile("|".join(text for text in PROBE_TEXTS if text != REASONING))


def reasoning_switches(template: JinjaTemplate, fmt: WireFormat) -> dict[str, bool]:
    """Return the switches that turn reasoning on or off, each with its value for on.

    Args:
        template: the template with the switches.
        fmt: its format, with the names of the switches and the markers of reasoning.
    """
    render, found = Renderer(template), {}
    for name, changes in fmt.switches.items():
        if "prompt" not in changes:
            continue
        off, on = ({name: value} for value in (False, True))
        was, now = (_state(render, fmt, context) for context in (off, on))
        if was is None or now is None or was == now:
            continue
        if _same_history(render, fmt, off, on):
            found[name] = was < now
    return {} if render.exhausted else found


def _state(render: Renderer, fmt: WireFormat, context: Mapping[str, Any]) -> int | None:
    """Return 1 for a prompt that opens reasoning, -1 for one that closes it, 0 for others.

    Return None if the template refuses the switch.
    """
    prompt = render([user()], prompt=True, context=context)
    if prompt is None:
        return None
    prompt = prompt.rstrip()
    start, end = fmt.reasoning.start.strip(), fmt.reasoning.end.strip()
    if end and prompt.endswith(end):
        return -1
    return 1 if start and prompt.endswith(start) else 0


def _same_history(
    render: Renderer, fmt: WireFormat, off: Mapping[str, Any], on: Mapping[str, Any]
) -> bool:
    """Return whether all conversations are the same under both values, except for reasoning."""
    for messages, tools in CONVERSATIONS:
        chat = render.template.history(messages)
        texts = [render(chat, tools=tools, context=context) for context in (off, on)]
        plain = [_without_reasoning(text, fmt) for text in texts if text is not None]
        if len(plain) == 1 or (plain and not _alike(*plain)):
            return False
    return True


def _without_reasoning(text: str, fmt: WireFormat) -> str:
    """Return a rendering up to its last probe text, without reasoning and whitespace."""
    for marker in (REASONING, *_markers(fmt)):
        text = text.replace(marker, "")
    ends = [found.end() for found in PROBES.finditer(text)]
    return "".join(text[: ends[-1] if ends else None].split())


def _markers(fmt: WireFormat) -> Iterator[str]:
    """Yield the markers around reasoning, the longest first."""
    markers = {marker.strip() for pair in fmt.reasoning.pairs for marker in pair}
    yield from sorted(filter(None, markers), key=len, reverse=True)


def _alike(left: str, right: str) -> bool:
    """Return whether two renderings have the same turns.

    The instructions before the first turn may differ. The end of each user message may also
    differ, because some templates turn reasoning off with a word there.
    """
    if PROBES.findall(left) != PROBES.findall(right):
        return False
    ends: set[str] = set()
    for one, other in zip(USERS.split(left)[1:], USERS.split(right)[1:], strict=True):
        short, long = sorted((one, other), key=len)
        if not long.endswith(short):
            return False
        ends.add(long[: len(long) - len(short)])
    return len(ends - {""}) <= 1 and not any(map(PROBES.search, ends))
