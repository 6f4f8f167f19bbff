"""Frame of an assistant turn: headers, end-of-turn markers, generation prompt."""

from __future__ import annotations

from collections.abc import Sequence

from deltaparse.stream import TurnFormat

from ..assistant_turns import Frame, Turns
from ..diff import (
    after,
    begins_with_marker,
    between,
    common_prefix,
    common_suffix,
    first_marker,
    segments,
)
from ..probes import (
    CONTENT,
    FUNCTIONS,
    NEXT_USER,
    PROBE_TEXTS,
    REASONING,
    RESULT,
    USER,
    assistant,
    call,
    result,
    user,
)
from ..renderer import Renderer
from ..template.jinja_template import JinjaTemplate
from .find_switches import views_with_reasoning

__all__ = ["find_frame", "needs_eos_token", "with_first_ends", "without_start_of_calls"]

EOS = "zqendedzq"
"""Placeholder for a missing `eos_token`."""

# All other phases compare turns, so this one must find the start and end of a turn. It sees only
# complete renderings, in which the borders of a turn are unmarked.
#
# The obvious method is one comparison: `add_generation_prompt` adds the header, and the text after
# the content is the end. Both are often wrong:
#
# - The prompt may add more than the header: the start of reasoning, or the name of a channel. So
#   the header is the part of the prompt shared by all kinds of turns: the last one, one in the
#   middle, one with calls.
# - The prompt may add no text if a turn begins directly after the end of the user's message. Then
#   the header is found by comparing the same texts from the other side.
# - The last content may be followed by more than the end: some templates always write a generation
#   prompt. So the end is taken from a turn followed by another message. The end of the user's
#   message also ends a turn.
#
# Borders visible only to a later phase are not guessed here. A marker before each call, or
# reasoning in every turn, is first included in the header, and the end marker of content in the
# end of the turn. `analysis` corrects the frame after the later phases.
#
# The cost is at most seven renderings of short conversations, because renderings are cached and
# shared with other phases.


def find_frame(render: Renderer, prompts: Sequence[str] = ()) -> Frame | None:
    """Find the frame of a turn; return None if the template renders no conversation.

    Args:
        render: renders conversations with the template.
        prompts: the tails of the prompts under each setting of the switches, the default first.
    """
    asked = render([user()])
    spoken = render.turn() if asked is not None else None
    if asked is None or USER not in asked or spoken is None:
        return None
    if between(spoken, USER, CONTENT) is None:
        return None
    theirs, prompt = after(asked, USER), render.prompt_tail() or ""
    added = prompt.removeprefix(theirs)
    others = [text.removeprefix(theirs) for text in prompts]
    header, more = _header(render, prompt, added, others)
    if not header.strip():
        header = theirs  # the prompts share only the end of the user's message
    headers = [header]
    if after_tool := _header_after_tool(render, header):
        shared = common_suffix(header, after_tool)
        headers = [shared] if shared.strip() else [header, after_tool]
    headers += more
    tail, gap = after(spoken, CONTENT), _gap(render)
    opening = common_suffix(gap or "", asked[: asked.rindex(USER)])
    # The end of any message is not part of the start of the user's message.
    opening = opening.removeprefix(theirs) if theirs.strip() else opening
    in_the_middle = (gap or "").removesuffix(opening)
    if tail.strip():
        end, trailer = _end_and_trailer(render, theirs, tail, gap, headers[0])
        begins = headers[0].strip() in trailer
        if end.strip() and not begins and not asked.endswith(trailer):  # it ends turns only
            end, trailer = end + trailer, ""
    else:
        # Without an end-of-turn marker, a model stops at the start of the user's turn.
        known = in_the_middle.strip() or render.template.eos_token
        end, trailer = in_the_middle if known else tail + opening, ""
    # The generation prompt is the default's, independent of the current setting.
    prompt = prompts[0] if prompts else prompt
    at = prompt.rfind(headers[0])
    inner = _end_in_the_middle(render, tail, in_the_middle, headers[0])
    ends = {inner: None, end: None, render.template.eos_token: None}
    turn = TurnFormat(
        headers=tuple(text for text in headers if text.strip()),
        ends=tuple(text for text in ends if text.strip()),
        generation_prompt=prompt[at:] if at >= 0 else prompt,
    )
    answered = render.settings.style.answered
    returned = _opening_of_result(render, turn.ends, header) if answered else ""
    return Frame(turn, header, trailer, theirs, opening, returned)


def without_start_of_calls(turns: Turns) -> Frame:
    """Return the frame without the end of its header if this text precedes each call too.

    If each message of a turn begins with a marker, the generation prompt contains the first of
    these markers. A colon after two different words does not count as a marker.
    """
    frame = turns.frame
    pair = turns.render.turn(content="", calls=[call(), call(1)])
    if pair is None or between(pair, *FUNCTIONS) is None:
        return frame
    before = pair[: pair.rindex(FUNCTIONS[1])]
    shared = common_suffix(frame.header, before)
    ends_word = before.removesuffix(shared)[-1:].isalnum() and not any(map(str.isalnum, shared))
    return frame if shared == frame.header or ends_word else frame.without(shared.lstrip())


def needs_eos_token(render: Renderer) -> bool:
    """Return True if the missing `eos_token` ends turns before a message of the user or a tool."""
    template = render.template
    if template.eos_token or "eos_token" not in template.variables:
        return False
    given = render.of(JinjaTemplate(template.source, template.bos_token, EOS))
    called = given.turn(content="", calls=[call()], then=[result(), user(NEXT_USER)])
    gaps = [_gap(given), between(called, FUNCTIONS[0], RESULT)]
    return any(gap is not None and EOS in gap for gap in gaps)


def with_first_ends(ends: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ends of a turn, and each end of several markers without its last marker.

    An engine stops at a token and omits it, but keeps the markers before it.
    """
    more: list[str] = []
    for end in ends:
        parts = segments(end)
        if len(parts) > 1 and all(part.marker for part in parts):
            more.append("".join(part.text for part in parts[:-1]))
    return tuple(dict.fromkeys((*ends, *more)))


def _header(
    render: Renderer, prompt: str, added: str, others: Sequence[str]
) -> tuple[str, list[str]]:
    """Return the text between the user's message and the assistant's turn.

    The header is the part of the generation prompt shared by all kinds of turns and all settings.
    If the template adds no generation prompt, the header is the common start of these texts.

    Args:
        render: renders conversations with the template.
        prompt: the tail of the default prompt.
        added: the part of `prompt` after the end of the user's message.
        others: the same part of the prompts under switches.

    Returns:
        The header, and the headers with additional text in the middle under a switch.
    """
    thought, planned = (between(text, USER, REASONING) for text in views_with_reasoning(render))
    said = between(render.turn(), USER, CONTENT)
    in_the_middle = between(render.turn(then=[user(NEXT_USER)]), USER, CONTENT)
    called = between(render.turn(content="", calls=[call()]), USER, FUNCTIONS[0])
    heads = [text for text in (said, in_the_middle, called, thought, planned) if text is not None]
    if not added.strip():
        return common_prefix(prompt, *heads), []
    first = first_marker(added)
    shown = [text[text.index(first) :] for text in heads if first in text]
    if not shown:
        shared = common_suffix(added, *heads)
        if not shared.strip():
            # The prompt contains additional instructions before the header.
            shared = common_prefix(*heads).removeprefix(prompt.removesuffix(added))
        return shared if shared.strip() and shared in added else added, []
    # Whitespace before the first marker of the prompt belongs to the header.
    space = added[: added.index(first)]
    header, more = common_prefix(added[len(space) :], *shown), []
    for other in (text[text.index(first) :] for text in others if first in text):
        shared = common_prefix(header, other)
        rest = header[len(shared) :].strip()
        if rest and other.rstrip().endswith(rest) and not shared.endswith(tuple("> ]\n")):
            more.append(space + other)
        else:
            header = shared
    return space + header, more


def _header_after_tool(render: Renderer, header: str) -> str:
    """Return the header between a tool result and the assistant's turn, "" if it is unknown."""
    prompt = render.turn(content="", calls=[call()], then=[result()], prompt=True)
    answered = render.turn(content="", calls=[call()], then=[result(), assistant()])
    head = between(answered, RESULT, CONTENT)
    if head is None or prompt is None or RESULT not in prompt:
        return ""
    if header in head:
        return header
    shared = common_prefix(after(prompt, RESULT), head)
    for probe in PROBE_TEXTS:
        shared = after(shared, probe) if probe in shared else shared
    parts = segments(shared)
    first = next((at for at, part in enumerate(parts) if part.marker), len(parts))
    return "".join(part.text for part in parts[first:])


def _opening_of_result(render: Renderer, ends: Sequence[str], header: str) -> str:
    """Return the start of a tool result, or `header` if results are rendered only after calls."""
    gap = between(render.turn(then=[result()]), CONTENT, RESULT)
    if gap is None:
        return header
    end = next((end for end in ends if end in gap), "")
    return gap.partition(end)[2] if end else gap


def _gap(render: Renderer) -> str | None:
    """Return the text between a turn and the next user message, None if it is not rendered."""
    return between(render.turn(then=[user(NEXT_USER)]), CONTENT, NEXT_USER)


def _end_in_the_middle(render: Renderer, last: str, end: str, header: str) -> str:
    """Return the `end` of a turn before another message if it differs from the `last` end, else "".

    It must begin with a marker, because templates may append other text to content. A text after
    reasoning ends one message of the turn, not the turn.
    """
    known = end.lstrip().startswith(last.strip()) or last.lstrip().startswith(end.strip())
    if known or not begins_with_marker(end) or header.strip() in end:
        return ""
    said, called = views_with_reasoning(render)
    inside = (between(said, REASONING, CONTENT), between(called, REASONING, FUNCTIONS[0]))
    return "" if any(end.strip() in (text or "") for text in inside) else end


def _end_and_trailer(
    render: Renderer, theirs: str, tail: str, gap: str | None, header: str
) -> tuple[str, str]:
    """Return the end of the turn, and the trailing text at the end of a conversation.

    Args:
        render: renders conversations with the template.
        theirs: the end of the user's message.
        tail: the text after the last turn.
        gap: the text between a turn and the next user message.
        header: the header of a turn.
    """
    if header not in tail and (gap is None or gap.startswith(tail)):
        # The end of the user's message ends a turn too; text before it belongs to content,
        # but whitespace before it belongs to the turn's end.
        own = tail.removesuffix(theirs) if theirs.strip() else tail
        return (theirs if own != tail and own.strip() else tail), ""
    # The tail is longer than the end of the turn. If it contains the end of the user's message,
    # this ends the turn too; otherwise all kinds of turns share their end before the next header.
    first = first_marker(theirs)
    if not first or first not in tail:
        core = header.strip()
        own = tail.partition(core)[0] if core else tail
        called = render.turn(content="", calls=[call()]) or ""
        shared = common_suffix(own, called.rpartition(core)[0] if core else called)
        first = shared if shared.strip() else own
    at = tail.index(first)
    space = tail[:at] if not tail[:at].strip() and tail[:at] + first in theirs else ""
    return space + first, tail[at + len(first) :]
