"""The analysis: derive a wire format from a chat template and prove it by rendering.

The package `phases` describes the phases. `_read` runs them and explains their order.
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

from .assistant_turns import Turns
from .cache import OUT_OF_TIME, load_or_analyze, ran_out_of_time
from .format_from_description import accepted, suggested_format, without_greed
from .format_markers import preserved_tokens
from .phases.call_texts import ToolsFinding
from .phases.find_channels import with_channels
from .phases.find_content import find_content, with_end_of_content
from .phases.find_frame import find_frame, needs_eos_token, with_first_ends, without_start_of_calls
from .phases.find_reasoning import ReasoningFinding, find_reasoning
from .phases.find_switches import (
    SwitchSetting,
    find_settings,
    names_of_switches,
    other_ends_of_calls,
    situation,
    switches_of,
)
from .phases.find_tool_calls import find_tool_calls, not_understood, showing_calls
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
from .split_markers import find_brackets
from .template.budget import Limits
from .template.clock import one_moment
from .template.jinja_template import JinjaTemplate
from .trace import Trace

__all__ = ["analyze", "prove_format"]

PARTS = ("content", "reasoning", "calls")
NEEDS_EOS_TOKEN = (
    "the template ends turns with eos_token, but none was given: pass it, "
    "ChatTemplate(source, eos_token=...), or load the tokenizer, ChatTemplate.load(...)"
)
IN_CONTENTS = (
    "the template reads {keys} of a content that is an object: calls or other parts that it "
    "renders from this object are not known"
)
NO_END = "no end-of-turn marker was found: add it with fmt.replace(turn={'ends': (...,)})"
NO_ROUND_TRIP = "no rendered turn was parsed back, so the format is not proved"
TOO_LONG = f"{OUT_OF_TIME}: more than {MAX_SECONDS} s for all renderings"


def analyze(
    template: JinjaTemplate | str | object,
    *,
    cache: str | os.PathLike[str] | None = None,
    trace: Trace | None = None,
    accept_suggestion: bool = False,
    **switches: Any,
) -> WireFormat:
    """Derive the wire format of a model from its chat template.

    The analysis renders conversations that differ in one thing and reads the markers off the
    differences. It then renders other conversations and parses them back. `verified` is True if
    all of them round-trip. `issues` lists the failures and the parts that the template does not
    show. The result depends only on the template and the switches. It is cached in memory, unless
    the analysis ran out of time.

    Args:
        template: the template, its source, or a `Path` or tokenizer for `JinjaTemplate.load`.
        cache: a directory for formats, shared between processes. It is created if missing.
        trace: an empty `Trace` that records the evidence. With a trace, cached results are not
            used.
        accept_suggestion: use the calls of `WireFormat.suggested`, if the template describes calls
            of one built-in format but does not render them.
        switches: values for template switches, for example `enable_thinking`. Usually not needed,
            because one format serves all settings and the prompt shows which one is on. Pass them
            if an issue reports that a switch changes the syntax of calls.

    Returns:
        The format. `WireFormat.verified` and `WireFormat.issues` contain the result of the proof.

    Raises:
        TemplateError: the template is not valid Jinja.
        UsageError: `template` has the wrong type, or is a str with a path or a name. Also if
            `cache` is not a directory, or the template does not read one of the switches.
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


def _template(given: object) -> JinjaTemplate:
    if isinstance(given, JinjaTemplate):
        return given
    if isinstance(given, str):
        if given.split() == [given] and "{" not in given:
            raise UsageError(
                f"{given!r:.200} is not Jinja source: pass a Path for a template file or a model "
                "folder, or call get_format(name) for a built-in format"
            )
        return JinjaTemplate(given)
    if isinstance(given, os.PathLike) or hasattr(given, "chat_template"):
        return JinjaTemplate.load(given)
    message = f"analyze() takes a ChatTemplate or its source, not {type(given).__name__}"
    raise UsageError(message)


class _OutOfTime(Exception):
    """Carries an incomplete format. It is an exception because `lru_cache` does not store these."""

    def __init__(self, fmt: WireFormat) -> None:
        super().__init__(fmt)
        self.fmt = fmt


def _analyze(template: JinjaTemplate, switches: Mapping[str, Any]) -> WireFormat:
    # The type is part of the key, because 1 == True and a template can distinguish them.
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
    template: JinjaTemplate,
    limits: Limits,  # noqa: ARG001 - part of the key, because equal templates may differ in it
    switches: tuple[tuple[str, Any, type], ...],
) -> WireFormat:
    fmt = _found(template, {name: value for name, value, _ in switches})
    if ran_out_of_time(fmt):
        raise _OutOfTime(fmt)
    return fmt


@one_moment()
def _found(
    template: JinjaTemplate, switches: Mapping[str, Any], trace: Trace | None = None
) -> WireFormat:
    trace = trace or Trace()
    render = Renderer(template, trace, switches)
    try:
        return _derived(render, trace)
    except FormatError as error:
        return _without_format(render, f"the rendered markers do not form a valid format: {error}")


def _without_format(render: Renderer, issue: str) -> WireFormat:
    return WireFormat(issues=(issue, *([TOO_LONG] if render.exhausted else [])))


@one_moment()
def prove_format(
    template: JinjaTemplate | str | object, fmt: WireFormat, trace: Trace, **switches: Any
) -> tuple[str, ...]:
    """Prove a given format on a template and return the objections.

    The analysis need not have understood the template. The conversations are the same as in
    `analyze`. Successfully parsed turns are stored in `trace.shown`.
    """
    render = Renderer(_template(template), trace, switches)
    try:
        found = _read(render)
    except FormatError as error:
        return (f"the rendered markers do not form a valid format: {error}",)
    if isinstance(found, str):
        return (found,)
    proof = prove(found.turns, found.reasoning, fmt, found.chosen, found.others, found.tools.lost)
    trace.shown = tuple(proof.shown)
    if fmt.derived.has_calls and not proof.calls and not proof.failed:
        return ("the template renders no calls, so the calls of the format are not proved",)
    return (*by_cause(proof.failed), *([] if proof.labels else [NO_ROUND_TRIP]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """Results of all phases, with the settings for the proof."""

    turns: Turns
    reasoning: ReasoningFinding
    tools: ToolsFinding
    fmt: WireFormat
    settings: Sequence[SwitchSetting]
    chosen: SwitchSetting

    @property
    def others(self) -> list[SwitchSetting]:
        """Return the settings, other than the chosen one, that change a rendering."""
        return [one for one in self.settings if one != self.chosen and one.matters]


def _read(render: Renderer) -> _Reading | str:
    """Run the phases in order and return their results, or the reason why they cannot run.

    Each phase uses the results of the earlier phases and reads only its own part. Outer parts are
    read first: the borders of a turn, then reasoning, then content. The remaining text of a turn
    is its calls. Three times, a phase shows that an earlier one took too much. The frame is then
    made smaller, never larger.
    """
    # Set the switches first, because some templates show reasoning only under a switch.
    render = with_brackets(showing_calls(render))
    settings = find_settings(render)
    chosen = situation(render, settings)
    prompts = [render.under(one.context).prompt_tail() or "" for one in settings if one.prompted]
    render = render.under(chosen.context)
    frame = find_frame(render, prompts)
    if frame is None:
        refusal = render.refusals[0] if render.refusals else "its texts are not in the rendering"
        return f"the template renders no simple conversation: {refusal}"
    turns = Turns(render, frame)
    # The header may include a marker that starts each call. Two calls in one turn reveal it in any
    # syntax, so it is removed here and later phases need not handle it.
    turns = turns.within(without_start_of_calls(turns))
    # Turns of several messages must be detected before any turn is cut at its first end marker.
    turns = turns.within(turns.frame.with_several_messages(render.turn(calls=[call()])))
    # Reasoning is found before content and calls, because it can precede both and may be in every
    # turn as an empty pair of markers. Without it, turns of all kinds can be compared.
    reasoning = find_reasoning(turns, prompts, settings)
    # If reasoning is in every turn and in the prompt, the header wrongly includes its start marker.
    turns = turns.within(turns.frame.without(reasoning.format.start.strip()))
    # Content is found before calls, because calls may be inside the markers of content.
    content = find_content(turns, reasoning)
    # If every turn has content, even empty content, its end marker was mistaken for the turn's.
    turns, content = with_end_of_content(turns, reasoning, content)
    # The remaining text of a turn with calls is the calls.
    tools = find_tool_calls(turns, reasoning.format, content)
    turn = turns.frame.turn
    # The end marker of content must not include the end of the turn.
    for end in turn.ends:
        content = replace(content, end=content.end.partition(end.strip())[0])
    under = other_ends_of_calls(turns.render.unswitched(), settings, turn.ends)
    turn = replace(turn, ends=with_first_ends((*turn.ends, *tools.ends, *under)))
    try:
        fmt = _format(turn, reasoning, content, tools)
    except FormatError:
        # Without the calls, the other findings may still form a valid format.
        tools = not_understood(tools)
        fmt = _format(turn, reasoning, content, tools)
    # Channels reinterpret the markers of reasoning, content and calls, so they need all of them.
    fmt = render.settings.brackets.restored_format(with_channels(fmt, addressed=tools.addressed))
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
    """Derive a format from the template and prove it."""
    found = _read(render)
    if isinstance(found, str):
        return _without_format(render, found)
    # Only a proof of the complete format detects mistakes that no single phase can see.
    reasoning, tools, fmt, render = found.reasoning, found.tools, found.fmt, found.turns.render
    proof = prove(found.turns, reasoning, fmt, found.chosen, found.others, tools.lost)
    trace.proved, trace.disproved = tuple(proof.labels), tuple(proof.failed)
    trace.shown = tuple(proof.shown)
    trace.conversations = {part: sum(getattr(proof, part).values()) for part in PARTS}
    # A missing end of turn is the cause of all failures, so only this cause is reported.
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
    if fmt.tools.format is ToolFormat.NONE and not fmt.derived.has_channels:
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
    """Return the renderer with multi-token markers written as plain tags."""
    calls = [call(0, dict(zip(ARGUMENTS, VALUES, strict=True))), call(1)]
    chats = [[user(), thinking(calls=calls[:most]), result()] for most in (2, 1)]
    ways = [*chats, *(chat[:2] for chat in chats)]
    shown = next(filter(None, (render(chat, tools=TOOLS) for chat in ways)), "")
    return render.with_brackets(find_brackets(shown.partition(USER)[2]))


def _doubts(
    render: Renderer, fmt: WireFormat, proof: Proof, reasoning: ReasoningFinding
) -> Iterator[str]:
    """Yield the objections to a format, other than failed turns."""
    yield from _unproved(render, fmt, proof, known=bool(reasoning.issues))
    document = fmt.to_json()
    for probe in PROBE_TEXTS:
        if json.dumps(probe)[1:-1] in document:
            yield f"the format contains the probe {probe!r}"
    if render.prompt_tail() is None:
        yield "the template renders no generation prompt, so the header of a turn is not known"
    if render.exhausted:
        yield TOO_LONG
    if not fmt.turn.ends:
        yield NO_END


def _unproved(render: Renderer, fmt: WireFormat, proof: Proof, *, known: bool) -> Iterator[str]:
    """Yield the parts of the format or template not shown by any proved turn.

    `known` is True if an earlier issue already reports that reasoning is not understood.
    """
    calls = fmt.tools.format is not ToolFormat.NONE
    if not proof.labels or (calls and not proof.calls):
        yield NO_ROUND_TRIP
    if not calls and not fmt.derived.has_channels and (parts := render.template.content_part_keys):
        yield IN_CONTENTS.format(keys=" and ".join(sorted(parts)))
    if known or fmt.derived.has_reasoning or proof.reasoning:
        return
    read = [key for key in REASONING_KEYS if key in render.template.keys]
    if read:
        yield f"the template reads {' and '.join(read)} of a message, but no rendering shows it"
