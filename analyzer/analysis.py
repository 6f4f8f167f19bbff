"""The analysis: from a chat template alone to a wire format, with proof.

What the phases are is said in `phases`; in which order they run, and why, in `_derived`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from deltaparse.partial import FormatError, UsageError
from deltaparse.stream import ToolFormat, WireFormat

from .cache import load_or_analyze
from .format_texts import preserved_tokens
from .phases.channels import with_channels
from .phases.content import find_content, with_end_of_content
from .phases.frame import find_frame, without_start_of_calls
from .phases.reasoning import find_reasoning
from .phases.switches import find_settings, matters, prompted, situation
from .phases.tool_calls import find_tool_calls, showing_calls
from .probes import PROBE_TEXTS
from .proof.proof import Proof, prove
from .renderer import MAX_SECONDS, Renderer
from .template.chat_template import ChatTemplate
from .trace import Trace
from .turns import Turns

__all__ = ["analyze"]


def analyze(
    template: ChatTemplate | str,
    *,
    cache: str | os.PathLike[str] | None = None,
    trace: Trace | None = None,
) -> WireFormat:
    """Find out how a model writes, from its chat template alone.

    The template is rendered with conversations that differ in one thing, and the markers are
    read off the differences. Then conversations that were not used so are rendered and parsed
    back: `verified` says that all came back; `issues` reports what did not, and what the template
    does not show. A pure function of the template, remembered by its text.

    Args:
        template: the template, or its source.
        cache: a directory in which formats are kept between processes, made where there is none.
        trace: an empty `Trace`, in which the evidence is noted; then nothing is remembered.

    Raises:
        TemplateError: the text is no Jinja template.
        UsageError: it is neither a `ChatTemplate` nor a str, or `cache` is no directory.
    """
    made = _template(template)
    if trace is not None:
        return _found(made, trace)
    return _analyze(made) if cache is None else load_or_analyze(cache, made, _analyze)


def _template(given: object) -> ChatTemplate:
    if isinstance(given, ChatTemplate):
        return given
    if isinstance(given, str):
        return ChatTemplate(given)
    message = f"analyze() takes a ChatTemplate or its source, not {type(given).__name__}"
    raise UsageError(message)


@lru_cache(maxsize=64)
def _analyze(template: ChatTemplate) -> WireFormat:
    return _found(template, Trace())


def _found(template: ChatTemplate, trace: Trace) -> WireFormat:
    try:
        return _derived(Renderer(template, trace), trace)
    except FormatError as error:
        return WireFormat(issues=(f"what the template shows makes no format: {error}",))


def _derived(render: Renderer, trace: Trace) -> WireFormat:
    """Run the phases, each on what those before it have found, and prove the whole.

    A phase reads off its own part and leaves the rest alone, so the order is that of what stands
    round what: nothing can be compared before it is known where a turn begins and ends, calls are
    what is left of a turn without reasoning and content. Three times a phase shows that an
    earlier one took too much; then the frame is made smaller, never larger.
    """
    # Reasoning may be shown under a switch only, so that is turned before all else.
    render = showing_calls(render)
    settings = find_settings(render)
    chosen = situation(render, settings)
    prompts = [render.under(one.context).prompt_tail() or "" for one in settings if prompted(one)]
    render = render.under(chosen.context)
    frame = find_frame(render, prompts)
    if frame is None:
        refusal = render.refusals[0] if render.refusals else "the texts do not come out"
        return WireFormat(issues=(f"the template renders no simple conversation: {refusal}",))
    turns = Turns(render, frame)
    # The header may end with a marker that stands before each call. That shows as soon as there
    # are two calls, whatever they look like; so no later phase has to reckon with it.
    turns = turns.within(without_start_of_calls(turns))
    # Reasoning comes before content and calls: it may stand before either, and in every turn, if
    # only as an empty pair of markers. Without it the rest is alike in turns of all kinds.
    reasoning = find_reasoning(turns, prompts)
    # If it is in every turn and in the prompt, its start was taken for the end of the header.
    turns = turns.within(turns.frame.without(reasoning.format.start.strip()))
    # Content comes before calls: they may stand inside of its markers.
    content = find_content(turns, reasoning)
    # If every turn has content, even an empty one, its end marker was taken for the turn's.
    turns, content = with_end_of_content(turns, reasoning, content)
    # What now remains of a turn with calls are the calls.
    tools = find_tool_calls(turns, reasoning.format, content)
    turn = turns.frame.turn
    fmt = WireFormat(
        turn=replace(turn, ends=(*turn.ends, *tools.ends)),
        reasoning=reasoning.format,
        content=content,
        tools=tools.format,
        function=tools.function,
        arguments=tools.arguments,
        call_id=tools.call_id,
    )
    # Channels render nothing. They are another reading of the same markers, for which those of
    # reasoning, content and calls must all be there.
    fmt = with_channels(fmt)
    fmt = fmt.replace(preserved_tokens=preserved_tokens(fmt))
    # Each phase may have been wrong, and all of them together in a way that none can see.
    others = [one for one in settings if one != chosen and matters(one)]
    proof = prove(turns, reasoning, fmt, chosen, others)
    trace.proved, trace.disproved = tuple(proof.labels), tuple(proof.failed)
    issues = (*reasoning.issues, *tools.issues, *proof.failed, *_doubts(render, fmt, proof))
    return fmt.replace(verified=not issues, issues=issues)


def _doubts(render: Renderer, fmt: WireFormat, proof: Proof) -> Iterator[str]:
    """What speaks against a format, beside the turns that did not come back."""
    document = fmt.to_json()
    for probe in PROBE_TEXTS:
        if probe in document:
            yield f"the probe {probe!r} got into the format"
    if render.prompt_tail() is None:
        yield "the template renders no prompt for an answer, so its header is not known"
    if render.exhausted:
        yield f"the template takes too long: more than {MAX_SECONDS} s for all renderings"
    calls = fmt.tools.format is not ToolFormat.NONE
    if not proof.labels or (calls and not proof.calls):
        yield "nothing came back that would prove it"
