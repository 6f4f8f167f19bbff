"""What follows from a wire format: the questions that its readers ask, each answered once."""

from __future__ import annotations

from .groups import (
    CallIdFormat,
    CallIdPosition,
    ChannelsFormat,
    ContentFormat,
    FunctionFormat,
    ReasoningFormat,
    ReasoningMode,
    ToolFormat,
    ToolsFormat,
    TurnFormat,
)

__all__ = ["Facts"]

TAGGED = (ToolFormat.TAG_WITH_JSON, ToolFormat.TAG_WITH_TAGGED)


class Facts:
    """What follows from a wire format, made once for each; `fmt.facts`.

    has_reasoning:   the format has markers of reasoning.
    has_channels:    a turn is several messages with headers, and calls are messages too.
    has_calls:       the parser finds calls: in a syntax of their own, or in channels.
    is_tagged:       a call's name stands outside JSON, in a tag or between markers.
    writes_ids:      the model writes the ids of its calls.
    openers:         the markers that a call may begin with, the outermost first. Models leave
                     out the outer ones, so each that stands before the name may be the first.
    closers:         the markers that may end calls, the outermost first.
    unmarked_calls:  calls stand in no markers at all, and are found by what they look like at
                     the start of a text.
    unproven_calls:  no marker says that a call is one: they are unmarked, or all that they begin
                     with content begins with too (`>>>name`, `>>>all`). The name must say it.
    in_one_list:     all calls of a turn stand in one list, `[call, call]`; otherwise a format
                     with lists has one for each call.

    Markers come as the format has them, white space and all; empty ones are left out. Code behind
    a marker of its own (`code.start`) is none of these calls.
    """

    __slots__ = (
        "_generated",
        "_headers",
        "_reasoning_start",
        "closers",
        "has_calls",
        "has_channels",
        "has_reasoning",
        "in_one_list",
        "is_tagged",
        "openers",
        "unmarked_calls",
        "unproven_calls",
        "writes_ids",
    )

    def __init__(
        self,
        turn: TurnFormat,
        reasoning: ReasoningFormat,
        content: ContentFormat,
        tools: ToolsFormat,
        function: FunctionFormat,
        call_id: CallIdFormat,
        channels: ChannelsFormat,
    ) -> None:
        self.has_reasoning = reasoning.mode is not ReasoningMode.NONE
        self.has_channels = bool(channels.message.strip())
        self.has_calls = self.has_channels or tools.format is not ToolFormat.NONE
        self.is_tagged = tools.format in TAGGED
        by_position = call_id.position is not CallIdPosition.NONE
        self.writes_ids = bool(tools.id_field or tools.generated_id_field) or by_position
        starts = [tools.section_start, tools.per_call_start]
        ends = [tools.section_end, tools.per_call_end]
        if self.is_tagged:
            starts.append(function.name_prefix)
            ends.append(function.close)
        self.openers = tuple(filter(None, starts))
        self.closers = tuple(filter(None, ends))
        marked = self.has_channels or any(map(str.strip, starts))
        self.unmarked_calls = self.has_calls and not marked
        shared = [content.start.strip().startswith(marker.strip()) for marker in self.openers]
        self.unproven_calls = self.unmarked_calls or (any(shared) and all(shared))
        self.in_one_list = tools.array_wrapped and not tools.per_call_start.strip()
        self._headers = turn.headers
        self._reasoning_start = reasoning.start.strip()
        self._generated = self._turn_in(turn.generation_prompt)
        if not (turn.headers or turn.generation_prompt):
            # Nothing shows where the turn begins; with reasoning open, in any case.
            forced = reasoning.mode is ReasoningMode.FORCED_OPEN
            self._generated = self._reasoning_start if forced else ""

    def turn_so_far(self, prompt: str = "") -> str:
        """What a prompt holds of the assistant's turn: what follows the last header.

        Without a prompt it is the format's own generation prompt. Where the format names no
        header, only a start marker of reasoning shows where the turn begins; where it names some
        and none is in the prompt, the prompt is a tail that begins inside of the turn.
        """
        return self._turn_in(prompt) if prompt else self._generated

    def _turn_in(self, prompt: str) -> str:
        ends = [prompt.rfind(header) + len(header) for header in self._headers if header in prompt]
        if ends:
            return prompt[max(ends) :]
        if self._headers:
            return prompt
        start = self._reasoning_start
        return prompt[prompt.rfind(start) :] if start and start in prompt else ""
