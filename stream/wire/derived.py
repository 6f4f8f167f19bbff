"""Properties of a wire format that follow from its markers, each computed once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from deltaparse.partial import is_whole

from .groups import (
    CallIdFormat,
    CallIdPosition,
    MarkerGroups,
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
    """The properties that follow from a wire format, available as `fmt.derived`.

    Markers have the whitespace of the format. Empty markers are omitted. Code after its own marker
    (`code.start`) does not count as a call here.

    Args:
        groups: the groups of the wire format.
        preserved_tokens: the markers that a tokenizer must not drop.

    Attributes:
        has_reasoning: True if the format has markers of reasoning.
        next_ends_reasoning: True if only the start of content or calls ends reasoning.
        shares_end: True if the end of reasoning begins like an end-of-turn marker.
        has_channels: True if a turn has several messages with headers, and calls are messages too.
        calls_in_messages: True if messages to functions contain calls with markers.
        has_calls: True if the parser finds calls, by their own syntax or in channels.
        is_tagged: True if a call's name is outside JSON, in a tag or between markers.
        writes_ids: True if the model writes the ids of its calls.
        id_before_arguments: True if an id may occur between a call's name and its arguments.
        openers: the markers that may begin a call, the outermost first. Models leave out outer
            markers, so each marker before the name may be the first.
        needs_token: True if an opener is a special token. Then each call begins with one. Lone
            surrogates represent special tokens (`stream/tokens/token_format.py`).
        inner_openers: the openers after the last special token. Alone, they do not begin a call.
        token_sections: True if only the section's opener is a special token, and a section may have
            several calls. Calls in an open section then begin without one.
        separated_openers: the separator and the opener of the next call, in each spelling of the
            whitespace between them. Empty if calls have no separator.
        closers: the markers that may end calls, the outermost first.
        closes_by_name: True if the closing marker repeats the function's name.
        in_section: True if calls are in a section, without their own start marker.
        several_calls: True if a turn may have several calls: the format allows it, or its markers
            show the start of the next call. A call in a section without an end marker is the last
            one.
        unmarked_calls: True if calls have no markers. They are recognized by their structure at the
            start of a text.
        unproven_calls: True if no marker proves a call, only its name. Calls are unmarked, or all
            their openers also begin content (`>>>name`, `>>>all`), or are brackets before the name
            (`<name>`), or code fences.
        like_text: True if text next to a call may be about the call: calls are unproven, or begin
            with plain words in the middle of a line (`functools`).
        in_one_list: True if one list, `[call, call]`, has all calls of a turn. Otherwise each call
            may have its own list.
        tables: the cache of `marker_tables`, so that parsers find tables without comparing formats.
        last_request: the last request to a parser of this format (`request_for`).
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

    def __init__(self, groups: MarkerGroups, preserved_tokens: tuple[str, ...]) -> None:
        turn, reasoning, content, tools, function, arguments, call_id, channels, _ = groups
        # Caches, filled by other modules. Lookups by format would need its hash.
        self.tables: dict[tuple[bool, bool, bool], Any] = {}
        self.last_request: Any = None
        self.has_reasoning = reasoning.mode is not ReasoningMode.NONE
        end = reasoning.end.strip()
        # One marker may end reasoning and begin content. The format then has it in both fields.
        self.next_ends_reasoning = bool(end) and end == content.start.strip()
        # `startswith` with an empty tuple is False, so formats without end markers are covered.
        self.shares_end = end.startswith((*filter(None, map(str.strip, turn.ends)),))
        # `ChannelsFormat` is in use only if it has a marker for the end of the header.
        self.has_channels = bool(channels.message.strip())
        # In channels, a message to a function is a call.
        self.has_calls = self.has_channels or tools.format is not ToolFormat.NONE
        self.is_tagged = tools.format in TAGGED
        self.writes_ids, self.id_before_arguments = _ids(tools, call_id)
        starts = [tools.section_start, tools.per_call_start]
        ends = [tools.section_end, tools.per_call_end]
        # Only the reader of the call knows its name, so this marker is not in `closers`.
        self.closes_by_name = self.is_tagged and bool(function.close_suffix.strip())
        self.in_section = self.is_tagged and not _is_opener(tools.per_call_start, starts)
        if self.is_tagged:
            # If arguments are lines `name:` or elements `<name>`, the same text does not begin a
            # call.
            tagged = tools.format is ToolFormat.TAG_WITH_TAGGED and any(map(str.strip, starts))
            plain = bool(tagged and arguments.named_by(function.name_prefix))
            plain |= _is_word_behind(function.name_prefix, starts)
            if not plain and _is_opener(function.name_prefix, starts):
                # The marker before the name begins the call, so the section is not its only marker.
                starts.append(function.name_prefix)
                self.in_section = False
            # A closing marker with a name has no fixed text to search.
            if not self.closes_by_name:
                ends.append(function.close)
        # Missing markers are empty strings.
        self.openers = tuple(filter(None, starts))
        self._know_sections(tools)
        # If calls have no own marker, the marker before the name separates them.
        inside = function.name_prefix if self.is_tagged else ""
        opener = tools.per_call_start if tools.per_call_start.strip() else inside
        # A marker before each call shows the start of the next one.
        self.several_calls |= bool(opener.strip())
        self.separated_openers = _separated(tools.separator, opener)
        self.closers = tuple(filter(None, ends))
        self.calls_in_messages = self.has_channels and any(map(str.strip, starts))
        # In channels the header marks the call.
        marked = self.has_channels or any(map(str.strip, starts))
        self.unmarked_calls = self.has_calls and not marked
        # If content begins with the same marker (`>>>name`, `>>>all`), the marker alone does not
        # prove a call.
        shared = [content.start.strip().startswith(marker.strip()) for marker in self.openers]
        # A bracket before the name (`<name>`) is frequent in text, for example in HTML.
        by_name = self.closes_by_name and not any(map(has_word, self.openers))
        # Answers contain code fences too.
        fenced = bool(self.openers) and all(map(is_fence, self.openers))
        # One opener of its own is enough to prove a call.
        shares = any(shared) and all(shared)
        self.unproven_calls = self.unmarked_calls or by_name or fenced or shares
        self.like_text = self.unproven_calls or _are_words(self.openers, tools.content_separator)
        # With a marker before each call, the brackets are inside it.
        self.in_one_list = tools.array_wrapped and not tools.per_call_start.strip()
        # A reference to the format itself would be a cycle.
        self._turn = turn
        self._written = groups, preserved_tokens
        self._pairs, self._start = reasoning.pairs, reasoning.start.strip()
        self._know_prompt(turn, reasoning)

    def _know_prompt(self, turn: TurnFormat, reasoning: ReasoningFormat) -> None:
        """Find the part of the generation prompt that belongs to the turn."""
        generated = turn.generation_prompt
        # The generation prompt may open reasoning. That opener belongs to the turn, not to the
        # header.
        last = max((at for at, _ in self._starts_in(generated)), default=len(generated))
        opener = generated[last:] if self._is_opener(generated[last:]) else ""
        self._addressed = generated.removesuffix(opener).strip()
        behind = self._after_header(generated)
        self._generated = opener if behind is None else behind
        # Without a header, the start of the turn cannot be found in a prompt. So the turn always
        # begins inside reasoning.
        if reasoning.mode is ReasoningMode.FORCED_OPEN and not (turn.headers or generated):
            self._generated = self._start

    def _know_sections(self, tools: ToolsFormat) -> None:
        """Set the attributes of special tokens and of sections."""
        # Lone surrogates are not encodable. They represent special tokens.
        tokens = [at for at, opener in enumerate(self.openers) if not is_whole(opener)]
        self.needs_token = bool(tokens)
        self.inner_openers = self.openers[tokens[-1] + 1 :] if tokens else ()
        # A section with an end marker may contain any number of calls.
        self.several_calls = bool(tools.section_end.strip()) or tools.supports_parallel_calls
        # If inner openers are special tokens too, each call begins with its own.
        self.token_sections = bool(tools.section_start) and self.several_calls and tokens == [0]

    def reasoning_in(self, turn: str) -> tuple[str, str]:
        """Return the reasoning markers that apply after the beginning of a turn.

        Args:
            turn: the beginning of the turn.

        Returns:
            The pair of markers that was opened last, or the usual pair if none was opened.
        """
        last = max(self._starts_in(turn), default=(0, 0))
        # The negated number makes `max` prefer the first of two pairs with the same position.
        return self._pairs[-last[1]]

    def _starts_in(self, text: str) -> list[tuple[int, int]]:
        """Return the last position of each start of reasoning, with its pair's negated number."""
        cores = enumerate(start.strip() for start, _ in self._pairs)
        return [(text.rfind(core), -at) for at, core in cores if core in text]

    def turn_so_far(self, prompt: str = "") -> str:
        """Return the part of a prompt that belongs to the assistant's turn.

        Args:
            prompt: the rendered prompt. If "", the generation prompt of the format is used.

        Returns:
            The beginning of the turn. If `turn_in` does not find it, the same as without a prompt.
        """
        return self.turn_shown(prompt)[0]

    def turn_shown(self, prompt: str) -> tuple[str, bool]:
        """Return the beginning of the turn, and whether the prompt shows it.

        Args:
            prompt: the rendered prompt.

        Returns:
            The result of `turn_so_far`, and False if a prompt was given in which the turn was not
            found.
        """
        turn = self.turn_in(prompt) if prompt else None
        if turn is None:
            return self._generated, not prompt
        return turn, True

    def turn_in(self, prompt: str) -> str | None:
        """Return the assistant's turn in a prompt, None if it is not found.

        The turn begins after the last header. It must not have ended already, and must be a
        possible beginning of a turn. Otherwise a user wrote the header, and the prompt belongs to
        another format. Without a header, the prompt must end with the generation prompt of the
        format, optionally with an opener of reasoning. Text before it is not trusted, because
        anyone may have written it.

        Args:
            prompt: the rendered prompt.
        """
        generated, own = self._turn.generation_prompt, self._addressed
        # The most frequent case: the template was rendered with its default settings.
        if generated and prompt.endswith(generated):
            return self._generated
        # A caller may pass only the header, or its end from a tag on.
        openings = [text[at:] for text in self._turn.headers for at in tag_starts(text)]
        if generated and own in prompt:
            # If the generation prompt is only an opener of reasoning, this is the empty string.
            openings.append(prompt[: (prompt.rindex(own) if own else 0) + len(own)])
        for opening in openings:
            # The opening must be the whole prompt, except for an opener of reasoning.
            rest = prompt.removeprefix(opening)
            if prompt.startswith(opening) and self._is_opener(rest):
                return rest.lstrip()
        behind = self._after_header(prompt)
        ends = filter(None, map(str.strip, self._turn.ends))
        # An end marker after the header means that the turn is over.
        if behind is None or any(end in behind for end in ends):
            return None
        is_turn = self._is_opener(behind) or is_prefill(behind, _texts_of(*self._written))
        return behind if is_turn else None

    def _after_header(self, prompt: str) -> str | None:
        """Return the text after the last header, None if the text has no header."""
        headers = self._turn.headers
        # Headers may contain each other, so the last end counts.
        ends = [prompt.rfind(header) + len(header) for header in headers if header in prompt]
        return prompt[max(ends) :] if ends else None

    def _is_opener(self, text: str) -> bool:
        """Return whether a text is empty, opens reasoning, or opens and closes it."""
        rest = text.strip()
        for start, end in self._pairs:
            # Whitespace around the markers is optional.
            if rest.startswith(start.strip()):
                behind = rest.removeprefix(start.strip()).lstrip()
                if not behind.removeprefix(end.strip()):
                    return True
        return not rest


@lru_cache(maxsize=256)
def _texts_of(groups: tuple[object, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Return all texts of the model in the groups of a format, and others."""
    found = list(others)
    for group in groups:
        for name in marker_fields_of(type(group)):
            # A field holds one marker or several.
            value = getattr(group, name)
            found += [value] if isinstance(value, str) else value
    return tuple(found)


def _ids(tools: ToolsFormat, call_id: CallIdFormat) -> tuple[bool, bool]:
    """Return whether the model writes ids, and whether an id may precede the arguments in tags."""
    in_json, position = tools.format is ToolFormat.JSON_NATIVE, call_id.position
    # In JSON, ids are members of the call.
    by_key = in_json and bool(tools.id_field or tools.generated_id_field)
    none = position is CallIdPosition.NONE
    # Other versions of the model may write ids between these markers.
    of_others = none and bool(call_id.prefix.strip())
    return by_key or not none, of_others or position is CallIdPosition.BETWEEN_FUNC_AND_ARGS


def _separated(separator: str, opener: str) -> tuple[str, ...]:
    """Return the separator with the following opener, empty if either is whitespace."""
    # Whitespace around markers is optional in responses.
    between, core = separator.strip(), opener.strip()
    # An opener that begins with the separator is already searched as an opener.
    if not core or core.startswith(between):
        return ()
    # Besides the format's own whitespace, models write none, a space or a line end.
    gaps = {trailing(separator) + leading(opener), "", " ", "\n"}
    return tuple(between + gap + core + trailing(opener) for gap in sorted(gaps))


def _is_opener(marker: str, outer: list[str]) -> bool:
    """Return whether calls may begin with a marker.

    A bracket alone does not begin a call if another marker with a word does, because brackets are
    frequent in text.

    Args:
        marker: the marker.
        outer: the markers before it, which models may leave out.
    """
    return bool(marker.strip()) and (has_word(marker) or not any(map(has_word, outer)))


def _are_words(openers: tuple[str, ...], before: str) -> bool:
    """Return whether calls begin with words in the middle of a line.

    Args:
        openers: the openers of calls.
        before: the text before the first opener.
    """
    # A format without openers has unmarked calls, which are covered elsewhere.
    words = bool(openers) and all(map(is_prose, openers))
    return words and "\n" not in before + leading(openers[0])


def _is_word_behind(marker: str, outer: list[str]) -> bool:
    """Return whether a marker is only words, after a marker that does not occur in plain text.

    The words do not begin a call without the other marker.

    Args:
        marker: the marker.
        outer: the markers before it.
    """
    return is_prose(marker) and any(has_word(text) and not is_prose(text) for text in outer)
