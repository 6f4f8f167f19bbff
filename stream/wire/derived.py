"""What follows from a wire format: the questions that its readers ask, each answered once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from deltaparse.partial import is_whole

from .groups import (
    ArgumentsFormat,
    CallIdFormat,
    CallIdPosition,
    ChannelsFormat,
    CodeFormat,
    ContentFormat,
    FunctionFormat,
    ReasoningFormat,
    ReasoningMode,
    ToolFormat,
    ToolsFormat,
    TurnFormat,
    marker_fields_of,
)
from .prefill import is_prefill
from .spellings import has_word, is_fence, is_prose, leading, tag_starts, trailing

__all__ = ["DerivedFormat"]

TAGGED = (ToolFormat.TAG_WITH_JSON, ToolFormat.TAG_WITH_TAGGED)


class DerivedFormat:
    """What follows from a wire format, made once for each; `fmt.derived`.

    has_reasoning:   the format has markers of reasoning.
    next_ends_reasoning:  nothing ends reasoning but the start of what follows: content, or calls.
    shares_end:      what ends reasoning begins with what ends other parts of a turn too.
    has_channels:    a turn is several messages with headers, and calls are messages too.
    calls_in_messages:  the messages to functions have calls in a syntax of their own.
    has_calls:       the parser finds calls: in a syntax of their own, or in channels.
    is_tagged:       a call's name stands outside JSON, in a tag or between markers.
    writes_ids:      the model writes the ids of its calls.
    id_before_arguments:  an id may stand between the name of a call and its arguments.
    openers:         the markers that a call may begin with, the outermost first. Models leave
                     out the outer ones, so each that stands before the name may be the first.
    needs_token:     an opener is a special token, so that no call begins without one. Lone
                     surrogates stand for special tokens (`stream/tokens/token_format.py`).
    inner_openers:   the openers inside the innermost one that is a special token: none of them
                     begins a call alone.
    token_sections:  only the opener of the section is a special token, and the calls in an open
                     section, of which there may be several, begin without one.
    separated_openers:  what a call in markers of its own begins with behind another, where text
                     separates calls: that text and the opener, in each spelling of the white
                     space between them.
    closers:         the markers that may end calls, the outermost first.
    closes_by_name:  what closes a call repeats the name of its function.
    in_section:      calls stand in a section, and none has a marker of its own to begin with.
    several_calls:   a turn may have several calls: the format says so, or its markers tell where
                     the next one begins. One in a section that nothing ends is the last.
    unmarked_calls:  calls stand in no markers at all, and are found by what they look like at
                     the start of a text.
    unproven_calls:  no marker says that a call is one: they are unmarked, or all that they begin
                     with content begins with too (`>>>name`, `>>>all`), or that is no more than a
                     bracket before the name (`<name>`), or than a code fence, which answers have
                     too. The name must say it.
    like_text:       text beside a call may be about it: calls are unproven, or begin with mere
                     words in the middle of a line (`functools`).
    in_one_list:     all calls of a turn stand in one list, `[call, call]`; otherwise a format
                     with lists has one for each call.

    Markers come as the format has them, white space and all; empty ones are left out. Code behind
    a marker of its own (`code.start`) is none of these calls.

    `tables` keeps what `marker_tables` made of the format, so that a parser finds it without
    comparing formats; `last_request` is what a parser of it was asked last (`request_for`).
    """

    __slots__ = (
        "_addressed",
        "_generated",
        "_pairs",
        "_start",
        "_turn",
        "_written",
        "calls_in_messages",
        "closers",
        "closes_by_name",
        "has_calls",
        "has_channels",
        "has_reasoning",
        "id_before_arguments",
        "in_one_list",
        "in_section",
        "inner_openers",
        "is_tagged",
        "last_request",
        "like_text",
        "needs_token",
        "next_ends_reasoning",
        "openers",
        "separated_openers",
        "several_calls",
        "shares_end",
        "tables",
        "token_sections",
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
        arguments: ArgumentsFormat,
        call_id: CallIdFormat,
        channels: ChannelsFormat,
        code: CodeFormat,
        preserved_tokens: tuple[str, ...],
    ) -> None:
        self.tables: dict[tuple[bool, bool, bool], Any] = {}
        self.last_request: Any = None
        self.has_reasoning = reasoning.mode is not ReasoningMode.NONE
        end = reasoning.end.strip()
        self.next_ends_reasoning = bool(end) and end == content.start.strip()
        self.shares_end = end.startswith((*filter(None, map(str.strip, turn.ends)),))
        self.has_channels = bool(channels.message.strip())
        self.has_calls = self.has_channels or tools.format is not ToolFormat.NONE
        self.is_tagged = tools.format in TAGGED
        self.writes_ids, self.id_before_arguments = _ids(tools, call_id)
        starts = [tools.section_start, tools.per_call_start]
        ends = [tools.section_end, tools.per_call_end]
        # What closes a call with its name is known with that name only, by who reads the call.
        self.closes_by_name = self.is_tagged and bool(function.close_suffix.strip())
        self.in_section = self.is_tagged and not _is_opener(tools.per_call_start, starts)
        if self.is_tagged:
            # A line `name:` or an element `<name>` begins none, if arguments are such lines.
            tagged = tools.format is ToolFormat.TAG_WITH_TAGGED and any(map(str.strip, starts))
            plain = bool(tagged and arguments.named_by(function.name_prefix))
            plain |= _is_word_behind(function.name_prefix, starts)
            if not plain and _is_opener(function.name_prefix, starts):
                starts.append(function.name_prefix)
                self.in_section = False
            if not self.closes_by_name:
                ends.append(function.close)
        self.openers = tuple(filter(None, starts))
        self._know_sections(tools)
        inside = function.name_prefix if self.is_tagged else ""
        opener = tools.per_call_start if tools.per_call_start.strip() else inside
        self.several_calls |= bool(opener.strip())
        self.separated_openers = _separated(tools.separator, opener)
        self.closers = tuple(filter(None, ends))
        self.calls_in_messages = self.has_channels and any(map(str.strip, starts))
        marked = self.has_channels or any(map(str.strip, starts))
        self.unmarked_calls = self.has_calls and not marked
        shared = [content.start.strip().startswith(marker.strip()) for marker in self.openers]
        by_name = self.closes_by_name and not any(map(has_word, self.openers))
        fenced = bool(self.openers) and all(map(is_fence, self.openers))
        shares = any(shared) and all(shared)
        self.unproven_calls = self.unmarked_calls or by_name or fenced or shares
        self.like_text = self.unproven_calls or _are_words(self.openers, tools.content_separator)
        self.in_one_list = tools.array_wrapped and not tools.per_call_start.strip()
        self._turn = turn
        self._written = (
            (turn, reasoning, content, tools, function, arguments, call_id, channels, code),
            preserved_tokens,
        )
        self._pairs, self._start = reasoning.pairs, reasoning.start.strip()
        self._know_prompt(turn, reasoning)

    def _know_prompt(self, turn: TurnFormat, reasoning: ReasoningFormat) -> None:
        """Say which part of the generation prompt belongs to the turn."""
        generated = turn.generation_prompt
        last = max((at for at, _ in self._starts_in(generated)), default=len(generated))
        opener = generated[last:] if self._is_opener(generated[last:]) else ""
        self._addressed = generated.removesuffix(opener).strip()
        behind = self._behind_header(generated)
        self._generated = opener if behind is None else behind
        # Where nothing shows where the turn begins, it begins with reasoning open in any case.
        if reasoning.mode is ReasoningMode.FORCED_OPEN and not (turn.headers or generated):
            self._generated = self._start

    def _know_sections(self, tools: ToolsFormat) -> None:
        """Say which openers are special tokens, and whether a section holds several calls."""
        tokens = [at for at, opener in enumerate(self.openers) if not is_whole(opener)]
        self.needs_token = bool(tokens)
        self.inner_openers = self.openers[tokens[-1] + 1 :] if tokens else ()
        self.several_calls = bool(tools.section_end.strip()) or tools.supports_parallel_calls
        self.token_sections = bool(tools.section_start) and self.several_calls and tokens == [0]

    def reasoning_in(self, turn: str) -> tuple[str, str]:
        """The markers of the reasoning that a beginning of the turn has opened last.

        The usual ones where it has opened none.
        """
        last = max(self._starts_in(turn), default=(0, 0))
        return self._pairs[-last[1]]

    def _starts_in(self, text: str) -> list[tuple[int, int]]:
        """Where in a text the starts of reasoning stand, each with which pair it is, negated."""
        cores = enumerate(start.strip() for start, _ in self._pairs)
        return [(text.rfind(core), -at) for at, core in cores if core in text]

    def turn_so_far(self, prompt: str = "") -> str:
        """What a prompt holds of the assistant's turn: the format's own, without a prompt.

        Where `turn_in` finds nothing, nothing of the prompt is read, as if there were none.
        """
        return self.turn_shown(prompt)[0]

    def turn_shown(self, prompt: str) -> tuple[str, bool]:
        """The same, and whether something in the prompt, if there is one, shows where it begins."""
        turn = self.turn_in(prompt) if prompt else None
        if turn is None:
            return self._generated, not prompt
        return turn, True

    def turn_in(self, prompt: str) -> str | None:
        """What a prompt holds of the assistant's turn, None where nothing shows where it begins.

        The turn is what follows the last header, if it does not end behind that, and if it can be
        the beginning of a turn: behind a header that a user wrote stands one of another format.
        Where no header stands in the prompt, only the format's own generation prompt counts, maybe
        with an opener of reasoning, and as the prompt's very end: anyone may have written what
        stands before it.
        """
        generated, own = self._turn.generation_prompt, self._addressed
        if generated and prompt.endswith(generated):
            return self._generated
        openings = [text[at:] for text in self._turn.headers for at in tag_starts(text)]
        if generated and own in prompt:
            # Where the generation prompt is an opener and no more, this is all of the prompt.
            openings.append(prompt[: (prompt.rindex(own) if own else 0) + len(own)])
        for opening in openings:
            rest = prompt.removeprefix(opening)
            if prompt.startswith(opening) and self._is_opener(rest):
                return rest.lstrip()
        behind = self._behind_header(prompt)
        ends = filter(None, map(str.strip, self._turn.ends))
        if behind is None or any(end in behind for end in ends):
            return None
        is_turn = self._is_opener(behind) or is_prefill(behind, _texts_of(*self._written))
        return behind if is_turn else None

    def _behind_header(self, prompt: str) -> str | None:
        headers = self._turn.headers
        ends = [prompt.rfind(header) + len(header) for header in headers if header in prompt]
        return prompt[max(ends) :] if ends else None

    def _is_opener(self, text: str) -> bool:
        """Whether a text is nothing, or opens reasoning, or opens and closes it."""
        rest = text.strip()
        for start, end in self._pairs:
            if rest.startswith(start.strip()):
                behind = rest.removeprefix(start.strip()).lstrip()
                if not behind.removeprefix(end.strip()):
                    return True
        return not rest


@lru_cache(maxsize=256)
def _texts_of(groups: tuple[object, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """The texts that a model writes or reads in the groups of a format, and others."""
    found = list(others)
    for group in groups:
        for name in marker_fields_of(type(group)):
            value = getattr(group, name)
            found += [value] if isinstance(value, str) else value
    return tuple(found)


def _ids(tools: ToolsFormat, call_id: CallIdFormat) -> tuple[bool, bool]:
    """Whether the model writes ids, and whether one may stand before the arguments in tags."""
    in_json, position = tools.format is ToolFormat.JSON_NATIVE, call_id.position
    by_key = in_json and bool(tools.id_field or tools.generated_id_field)
    none = position is CallIdPosition.NONE
    of_others = none and bool(call_id.prefix.strip())
    return by_key or not none, of_others or position is CallIdPosition.BETWEEN_FUNC_AND_ARGS


def _separated(separator: str, opener: str) -> tuple[str, ...]:
    """What separates calls and the opener behind it; nothing where one of them is white space."""
    between, core = separator.strip(), opener.strip()
    if not core or core.startswith(between):
        return ()
    gaps = {trailing(separator) + leading(opener), "", " ", "\n"}
    return tuple(between + gap + core + trailing(opener) for gap in sorted(gaps))


def _is_opener(marker: str, outer: list[str]) -> bool:
    """Whether calls may begin with a marker, where the `outer` ones may be left out.

    A bracket alone begins none where another marker does: text is full of them.
    """
    return bool(marker.strip()) and (has_word(marker) or not any(map(has_word, outer)))


def _are_words(openers: tuple[str, ...], before: str) -> bool:
    """Whether calls begin with words that stand in a line; `before` stands before the first."""
    words = bool(openers) and all(map(is_prose, openers))
    return words and "\n" not in before + leading(openers[0])


def _is_word_behind(marker: str, outer: list[str]) -> bool:
    """Whether a marker is words, which begin no call where one that text does not have does."""
    return is_prose(marker) and any(has_word(text) and not is_prose(text) for text in outer)
