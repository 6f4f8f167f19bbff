"""What stands around the assistant's turn: headers, end-of-turn markers, generation prompt."""

from __future__ import annotations

from collections.abc import Sequence

from deltaparse.stream import TurnFormat

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
from ..template.chat_template import ChatTemplate
from ..turns import Frame, Turns
from .switches import views_with_reasoning

__all__ = ["find_frame", "needs_eos_token", "with_first_ends", "without_start_of_calls"]

EOS = "zqendedzq"
"""Stands for an `eos_token` that was not given."""

# Every other phase compares turns, so this one has to say where a turn begins and where it ends,
# and it has whole renderings only, in which nothing marks that.
#
# The obvious way is one comparison: what `add_generation_prompt` adds is the header, and what
# stands behind the content is the end. Both are wrong often:
#
# - The prompt may add more than the header: the start of reasoning, the name of a channel. So the
#   header is as much of it as stands before every kind of turn: the last one, one in the middle,
#   one with calls.
# - It may add nothing, where the end of the user's message is all that a turn begins with. Then
#   the header is what is left when the same texts are compared from the other side.
# - Behind the last content there may stand more than the end: some templates write a generation
#   prompt whether they are asked or not. So the end is looked for where a turn ends and another
#   message follows, and what ends the user's message too ends a turn.
#
# What only a later phase can see is not guessed at here. A marker that begins each call, or
# reasoning in every turn, is in the header at first, and content's end marker in the end of the
# turn; `analysis` has the frame corrected when they are known.
#
# It costs seven renderings of short conversations, and less than that: those that other phases
# ask for too are remembered.


def find_frame(render: Renderer, prompts: Sequence[str] = ()) -> Frame | None:
    """Find what stands around a turn; None when the template renders no conversation.

    `prompts` are the tails of the prompts that the template's switches make, the default's first.
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
        header = theirs  # prompts that have no more in common
    headers = [header]
    if after_tool := _header_after_tool(render, header):
        shared = common_suffix(header, after_tool)
        headers = [shared] if shared.strip() else [header, after_tool]
    headers += more
    tail, gap = after(spoken, CONTENT), _gap(render)
    opening = common_suffix(gap or "", asked[: asked.rindex(USER)])
    # What ends a message before the user's, as it ends the user's own, does not open that.
    opening = opening.removeprefix(theirs) if theirs.strip() else opening
    in_the_middle = (gap or "").removesuffix(opening)
    if tail.strip():
        end, trailer = _end_and_trailer(render, theirs, tail, gap, headers[0])
        begins = headers[0].strip() in trailer
        if end.strip() and not begins and not asked.endswith(trailer):  # it ends turns only
            end, trailer = end + trailer, ""
    else:
        # Without an end-of-turn marker, a model stops where it would write the user's turn.
        known = in_the_middle.strip() or render.template.eos_token
        end, trailer = in_the_middle if known else tail + opening, ""
    # That of the default, whatever is switched on here.
    prompt = prompts[0] if prompts else prompt
    at = prompt.rfind(headers[0])
    inner = _end_in_the_middle(render, tail, in_the_middle, headers[0])
    ends = {inner: None, end: None, render.template.eos_token: None}
    turn = TurnFormat(
        headers=tuple(text for text in headers if text.strip()),
        ends=tuple(text for text in ends if text.strip()),
        generation_prompt=prompt[at:] if at >= 0 else prompt,
    )
    returned = _opening_of_result(render, turn.ends, header) if render.style.answered else ""
    return Frame(turn, header, trailer, theirs, opening, returned)


def without_start_of_calls(turns: Turns) -> Frame:
    """The frame without the end of its header, where that stands before each call too.

    Where each message of a turn begins with a marker, the prompt has the first of them. A colon
    behind two different words is none.
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
    """Whether the `eos_token`, which is not given, is in what ends a turn before another message.

    Be it the user's, or what a tool returned.
    """
    template = render.template
    if template.eos_token or "eos_token" not in template.variables:
        return False
    given = render.of(ChatTemplate(template.source, template.bos_token, EOS))
    called = given.turn(content="", calls=[call()], then=[result(), user(NEXT_USER)])
    gaps = [_gap(given), between(called, FUNCTIONS[0], RESULT)]
    return any(gap is not None and EOS in gap for gap in gaps)


def with_first_ends(ends: tuple[str, ...]) -> tuple[str, ...]:
    """The ends of a turn, and what of them is left where the last marker is cut off.

    An engine stops at a token, and leaves it out; what the model wrote before it stays.
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
            # The prompt says more to the model before what every turn begins with.
            shared = common_prefix(*heads).removeprefix(prompt.removesuffix(added))
        return shared if shared.strip() and shared in added else added, []
    # The white space before the first marker of the generation prompt is the header's too.
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
    """What stands between a tool's result and the assistant's turn, "" when that is not known."""
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
    """The `end` of a turn before another message, where another ends the `last`; else "".

    It begins with a marker: other text is what the template adds to content. What stands behind
    reasoning too ends a message of the turn, and not the turn.
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
    """The end of the turn, and what the template writes at the end of a conversation.

    `tail` is what follows the last turn, `gap` what follows one before the user's next message,
    `theirs` what ends the user's.
    """
    if header not in tail and (gap is None or gap.startswith(tail)):
        # What ends the user's message too ends a turn; what stands before it is the content's.
        # White space before it is the template's.
        own = tail.removesuffix(theirs) if theirs.strip() else tail
        return (theirs if own != tail and own.strip() else tail), ""
    # More follows than the end of the turn. What ends the user's message ends a turn too, if it
    # is there; otherwise the end is what turns of all kinds have before the next header.
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
