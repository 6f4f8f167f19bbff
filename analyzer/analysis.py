"""The analysis: from a chat template alone to a wire format, with proof.

What the phases are is said in `phases`; in which order they run, and why, in `_read`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from deltaparse.partial import FormatError, UsageError
from deltaparse.stream import ContentFormat, ToolFormat, TurnFormat, WireFormat

from .brackets import find_brackets
from .cache import OUT_OF_TIME, load_or_analyze, ran_out_of_time
from .format_texts import preserved_tokens
from .phases.call_texts import ToolsFinding
from .phases.channels import with_channels
from .phases.content import find_content, with_end_of_content
from .phases.frame import find_frame, needs_eos_token, with_first_ends, without_start_of_calls
from .phases.reasoning import ReasoningFinding, find_reasoning
from .phases.switches import (
    Setting,
    find_settings,
    names_of_switches,
    other_ends_of_calls,
    situation,
    switches_of,
)
from .phases.tool_calls import find_tool_calls, not_understood, showing_calls
from .probes import (
    ARGUMENTS,
    PROBE_TEXTS,
    REASONING_KEYS,
    TOOLS,
    USER,
    VALUES,
    call,
    result,
    thinking,
    user,
)
from .proof.proof import Proof, by_cause, prove
from .renderer import MAX_SECONDS, Renderer
from .suggestion import accepted, suggested_format, without_greed
from .template.budget import Limits
from .template.chat_template import ChatTemplate
from .template.clock import one_moment
from .trace import Trace
from .turns import Turns

__all__ = ["analyze", "prove_format"]

PARTS = ("content", "reasoning", "calls")
NEEDS_EOS_TOKEN = (
    "the template ends turns with eos_token, which was not given: pass it, "
    "ChatTemplate(source, eos_token=...), or load the tokenizer, ChatTemplate.load(...)"
)
IN_CONTENTS = (
    "the template reads {keys} of a content that is an object: what it shows of that, such as "
    "calls, is not known"
)
NO_END = "no marker was found that ends a turn: fmt.replace(turn={'ends': (...,)})"
NOTHING_CAME_BACK = "nothing came back that would prove it"
TOO_LONG = f"{OUT_OF_TIME}: more than {MAX_SECONDS} s for all renderings"


def analyze(
    template: ChatTemplate | str | object,
    *,
    cache: str | os.PathLike[str] | None = None,
    trace: Trace | None = None,
    accept_suggestion: bool = False,
    **switches: Any,
) -> WireFormat:
    """Find out how a model writes, from its chat template alone.

    The template is rendered with conversations that differ in one thing, and the markers are read
    off the differences. Then other conversations are rendered and parsed back: `verified` means
    that all came back; `issues` reports what did not, and what the template does not show. The
    result depends on the template and the switches only. It is kept in memory, unless the analysis
    ran out of time.

    Args:
        template: the template, its source, or a `Path` or tokenizer for `ChatTemplate.load`.
        cache: a directory in which formats are kept between processes; it is made if missing.
        trace: an empty `Trace`, in which the evidence is noted. With it, no kept result is used.
        accept_suggestion: if the template renders no calls but describes those of one named
            format, read calls as that format does; see `WireFormat.suggested`.
        switches: values for switches that the template reads, such as `enable_thinking`. Usually
            not needed: one format serves all settings, and the prompt shows which one is on. Pass
            them if an issue says that a switch changes the syntax of calls.

    Raises:
        TemplateError: the text is no Jinja template.
        UsageError: it is neither a `ChatTemplate` nor a str, or a str that is a path or a name;
            `cache` is no directory; or the template does not read a switch.
    """
    made = _template(template)
    known = names_of_switches(made)
    for name in switches:
        if name not in known:
            words = f"it reads {', '.join(known)}" if known else "it reads no switch"
            raise UsageError(f"the template does not read {name!r}: {words}")
    if trace is not None:
        found = _found(made, switches, trace)
    elif cache is not None:
        found = load_or_analyze(cache, made, switches, lambda: _found(made, switches))
    else:
        found = _analyze(made, switches)
    return accepted(found) if accept_suggestion else found


def _template(given: object) -> ChatTemplate:
    if isinstance(given, ChatTemplate):
        return given
    if isinstance(given, str):
        if given.split() == [given] and "{" not in given:
            raise UsageError(
                f"{given!r:.200} is no source of a template: for one in a file or a model's folder "
                "give a Path, and for a format by name get_format(name)"
            )
        return ChatTemplate(given)
    if isinstance(given, os.PathLike) or hasattr(given, "chat_template"):
        return ChatTemplate.load(given)
    message = f"analyze() takes a ChatTemplate or its source, not {type(given).__name__}"
    raise UsageError(message)


class _OutOfTime(Exception):
    """There was no time for all of the analysis: an exception, since these are not remembered."""

    def __init__(self, fmt: WireFormat) -> None:
        super().__init__(fmt)
        self.fmt = fmt


def _analyze(template: ChatTemplate, switches: Mapping[str, Any]) -> WireFormat:
    # 1 and True are equal, and a template can tell them apart; templates with other limits are too.
    given = tuple((name, value, type(value)) for name, value in sorted(switches.items()))
    try:
        hash(given)
    except TypeError:
        return _found(template, switches)
    try:
        return _remembered(template, template.limits, given)
    except _OutOfTime as late:
        return late.fmt


@lru_cache(maxsize=64)
def _remembered(
    template: ChatTemplate,
    limits: Limits,  # noqa: ARG001 - a part of the key
    switches: tuple[tuple[str, Any, type], ...],
) -> WireFormat:
    fmt = _found(template, {name: value for name, value, _ in switches})
    if ran_out_of_time(fmt):
        raise _OutOfTime(fmt)
    return fmt


@one_moment()
def _found(
    template: ChatTemplate, switches: Mapping[str, Any], trace: Trace | None = None
) -> WireFormat:
    trace = trace or Trace()
    render = Renderer(template, trace, switches)
    try:
        return _derived(render, trace)
    except FormatError as error:
        return _without_format(render, f"what the template shows makes no format: {error}")


def _without_format(render: Renderer, issue: str) -> WireFormat:
    return WireFormat(issues=(issue, *([TOO_LONG] if render.exhausted else [])))


@one_moment()
def prove_format(
    template: ChatTemplate | str | object, fmt: WireFormat, trace: Trace, **switches: Any
) -> tuple[str, ...]:
    """Prove a format on a template that need not be understood; return what speaks against it.

    The conversations are those of `analyze`, and `trace.shown` are the turns that came back.
    """
    render = Renderer(_template(template), trace, switches)
    try:
        found = _read(render)
    except FormatError as error:
        return (f"what the template shows makes no format: {error}",)
    if isinstance(found, str):
        return (found,)
    proof = prove(found.turns, found.reasoning, fmt, found.chosen, found.others, found.tools.lost)
    trace.shown = tuple(proof.shown)
    if fmt.facts.has_calls and not proof.calls and not proof.failed:
        return ("the template renders no calls, so those of the format are not proved",)
    return (*by_cause(proof.failed), *([] if proof.labels else [NOTHING_CAME_BACK]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What the phases have read off a template, and the settings under which it is to be proved."""

    turns: Turns
    reasoning: ReasoningFinding
    tools: ToolsFinding
    fmt: WireFormat
    settings: Sequence[Setting]
    chosen: Setting

    @property
    def others(self) -> list[Setting]:
        """The settings beside the chosen one that change anything."""
        return [one for one in self.settings if one != self.chosen and one.matters]


def _read(render: Renderer) -> _Reading | str:
    """Run the phases, each on what those before it have found; or say why they cannot.

    A phase reads off its own part and leaves the rest alone, so the order is that of what stands
    round what: nothing can be compared before it is known where a turn begins and ends, calls are
    what is left of a turn without reasoning and content. Three times a phase shows that an
    earlier one took too much; then the frame is made smaller, never larger.
    """
    # Reasoning may be shown under a switch only, so that is turned before all else.
    render = with_brackets(showing_calls(render))
    settings = find_settings(render)
    chosen = situation(render, settings)
    prompts = [render.under(one.context).prompt_tail() or "" for one in settings if one.prompted]
    render = render.under(chosen.context)
    frame = find_frame(render, prompts)
    if frame is None:
        refusal = render.refusals[0] if render.refusals else "the texts do not come out"
        return f"the template renders no simple conversation: {refusal}"
    turns = Turns(render, frame)
    # The header may end with a marker that stands before each call. That shows as soon as there
    # are two calls, whatever they look like; so no later phase has to reckon with it.
    turns = turns.within(without_start_of_calls(turns))
    # A turn of several messages must be known before any is cut where its first one ends.
    turns = turns.within(turns.frame.with_several_messages(render.turn(calls=[call()])))
    # Reasoning comes before content and calls: it may stand before either, and in every turn, if
    # only as an empty pair of markers. Without it the rest is alike in turns of all kinds.
    reasoning = find_reasoning(turns, prompts, settings)
    # If it is in every turn and in the prompt, its start was taken for the end of the header.
    turns = turns.within(turns.frame.without(reasoning.format.start.strip()))
    # Content comes before calls: they may stand inside of its markers.
    content = find_content(turns, reasoning)
    # If every turn has content, even an empty one, its end marker was taken for the turn's.
    turns, content = with_end_of_content(turns, reasoning, content)
    # What now remains of a turn with calls are the calls.
    tools = find_tool_calls(turns, reasoning.format, content)
    turn = turns.frame.turn
    # What ends content ends before the turn does.
    for end in turn.ends:
        content = replace(content, end=content.end.partition(end.strip())[0])
    under = other_ends_of_calls(turns.render.unswitched(), settings, turn.ends)
    turn = replace(turn, ends=with_first_ends((*turn.ends, *tools.ends, *under)))
    try:
        fmt = _format(turn, reasoning, content, tools)
    except FormatError:
        # What was found of calls makes no format; the rest may.
        tools = not_understood(tools)
        fmt = _format(turn, reasoning, content, tools)
    # Channels render nothing. They are another reading of the same markers, for which those of
    # reasoning, content and calls must all be there.
    fmt = render.brackets.restored_format(with_channels(fmt, addressed=tools.addressed))
    turns = turns.restored()
    fmt = fmt.replace(preserved_tokens=preserved_tokens(fmt))
    return _Reading(
        turns=turns,
        reasoning=reasoning,
        tools=tools,
        fmt=fmt,
        settings=settings,
        chosen=chosen,
    )


def _derived(render: Renderer, trace: Trace) -> WireFormat:
    """Read a format off the template, and prove it."""
    found = _read(render)
    if isinstance(found, str):
        return _without_format(render, found)
    # Each phase may have been wrong, and all of them together in a way that none can see.
    reasoning, tools, fmt, render = found.reasoning, found.tools, found.fmt, found.turns.render
    proof = prove(found.turns, reasoning, fmt, found.chosen, found.others, tools.lost)
    trace.proved, trace.disproved = tuple(proof.labels), tuple(proof.failed)
    trace.shown = tuple(proof.shown)
    trace.conversations = {part: sum(getattr(proof, part).values()) for part in PARTS}
    # Where what ends turns is missing, that is why turns do not come back.
    failed = [NEEDS_EOS_TOKEN] if needs_eos_token(render) else by_cause(proof.failed)
    issues = (
        *reasoning.issues,
        *tools.issues,
        *tools.losses,
        *failed,
        *_doubts(render, fmt, proof, reasoning),
    )
    places = {part: tuple(getattr(proof, part)) for part in PARTS}
    fmt = fmt.replace(
        switches=switches_of(names_of_switches(render.template), found.settings),
        proved=places,
        verified=not issues,
        issues=issues,
    )
    if fmt.tools.format is ToolFormat.NONE and not fmt.facts.has_channels:
        fmt = fmt.replace(suggested=suggested_format(render))
    return without_greed(fmt)


def _format(
    turn: TurnFormat, reasoning: ReasoningFinding, content: ContentFormat, tools: ToolsFinding
) -> WireFormat:
    return WireFormat(
        turn=turn,
        reasoning=reasoning.format,
        content=content,
        tools=tools.format,
        function=tools.function,
        arguments=tools.arguments,
        call_id=tools.call_id,
    )


def with_brackets(render: Renderer) -> Renderer:
    """The renderer with the tokens that are no markers by themselves written as tags."""
    calls = [call(0, dict(zip(ARGUMENTS, VALUES, strict=True))), call(1)]
    chats = [[user(), thinking(calls=calls[:most]), result()] for most in (2, 1)]
    ways = [*chats, *(chat[:2] for chat in chats)]
    shown = next(filter(None, (render(chat, tools=TOOLS) for chat in ways)), "")
    return render.with_brackets(find_brackets(shown.partition(USER)[2]))


def _doubts(
    render: Renderer, fmt: WireFormat, proof: Proof, reasoning: ReasoningFinding
) -> Iterator[str]:
    """What speaks against a format, beside the turns that did not come back."""
    yield from _unproved(render, fmt, proof, known=bool(reasoning.issues))
    document = fmt.to_json()
    for probe in PROBE_TEXTS:
        if json.dumps(probe)[1:-1] in document:
            yield f"the probe {probe!r} got into the format"
    if render.prompt_tail() is None:
        yield "the template renders no prompt for an answer, so its header is not known"
    if render.exhausted:
        yield TOO_LONG
    if not fmt.turn.ends:
        yield NO_END


def _unproved(render: Renderer, fmt: WireFormat, proof: Proof, *, known: bool) -> Iterator[str]:
    """What the template reads, and what was found, that no turn that came back has shown.

    `known`: that reasoning is not understood is said already.
    """
    calls = fmt.tools.format is not ToolFormat.NONE
    if not proof.labels or (calls and not proof.calls):
        yield NOTHING_CAME_BACK
    if not calls and not fmt.facts.has_channels and (parts := render.template.keys_of_contents):
        yield IN_CONTENTS.format(keys=" and ".join(sorted(parts)))
    if known or fmt.facts.has_reasoning or proof.reasoning:
        return
    read = [key for key in REASONING_KEYS if key in render.template.keys]
    if read:
        yield f"the template reads {' and '.join(read)} of a message, and no rendering shows it"
