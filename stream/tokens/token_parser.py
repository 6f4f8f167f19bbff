"""The push parser of token ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import Any, Literal

from deltaparse.partial import MalformedOutput, TextDecoder, UsageError, replace_surrogates

from ..fast_path import MOST_PASSED
from ..finish_reasons import Reason, StopReason
from ..message.deltas import Delta
from ..message.ids import IdFactory, call_id
from ..message.message import Attempt, Issue, Message
from ..message.policies import Policies
from ..message.reports import Issues
from ..parser import TurnParser
from ..request import Request, ToolChoice, check_flag, request_for
from ..snapshot import Recording
from ..wire.format import WireFormat
from ..wire.format_source import as_format
from .token_builder import TokenBuilder
from .token_format import Markers, token_format
from .token_provenance import RoleSpan, TokenRecorder, TokenRole
from .vocabulary import Vocabulary

__all__ = ["TokenParser"]


class TokenParser(TurnParser):
    """A `StreamParser` of token ids that reports the role of each token.

    In text, a special token and ordinary text of the same form cannot be distinguished. In this
    parser, if a marker has a special token in the vocabulary, only that token is the marker, and
    ordinary text of the same form is text.

        parser = TokenParser(fmt, vocabulary, tools=tools, prompt=prompt_ids)
        for id in sampled:
            for delta in parser.feed(id):
                ...
        parser.finish("stop")
        parser.roles, parser.message.tool_calls[0].tokens

    Args:
        fmt: the wire format of the model, or the name of a built-in format.
        vocabulary: the tokens of the model.
        prompt: the prompt, or any tail of it with the generation prompt, as ids or as text. In a
            text, the text of a marker's special token counts as the token. See `StreamParser`.
        markers: the spelling of markers that have a special token. "token": the special token. The
            same text in ordinary tokens is text, with the issue `spelled_marker`. "text": ordinary
            tokens, except for end-of-turn markers, which are tokens. "either": both, with
            `spelled_marker` for a call whose markers are spelled in ordinary tokens. A mapping sets
            the spelling by marker, with "token" as the default. Markers without a special token are
            always text.
        spans: True to record the data of `roles` and `tokens`, eight bytes per token.
        tools, tool_choice, parallel_tool_calls, reasoning, policies, response_schema, calls,
            id_factory, record, collect: see `StreamParser`.

    Spans are in characters of the decoded text.

    Raises:
        UsageError: an argument is invalid.
    """

    # Slots, because a server makes one parser for each request.
    __slots__ = (
        "_first",
        "_given",
        "_noted",
        "_recorder",
        "_texts",
        "_tokens",
        "_vocabulary",
    )

    _builder: TokenBuilder

    def __init__(  # noqa: PLR0913 - the public options
        self,
        fmt: WireFormat | str,
        vocabulary: Vocabulary,
        *,
        prompt: str | Iterable[int] | None = None,
        markers: Markers = "token",
        spans: bool = True,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: ToolChoice = "auto",
        parallel_tool_calls: bool = True,
        reasoning: Literal["separate", "inline", "raw"] = "separate",
        policies: Policies = Policies(),  # noqa: B008 - frozen
        response_schema: Mapping[str, Any] | None = None,
        calls: Literal["format", "json"] = "format",
        id_factory: IdFactory = call_id,
        record: bool = False,
        collect: bool = True,
    ) -> None:
        words: object = vocabulary
        if not isinstance(words, Vocabulary):
            kind = type(words).__name__
            raise UsageError(
                f"vocabulary must be a Vocabulary, e.g. Vocabulary.load(tokenizer), not {kind}"
            )
        fmt = as_format(fmt)
        check_flag("spans", spans)
        self._tokens = tokens = token_format(fmt, vocabulary, markers)
        self._vocabulary = vocabulary
        # The texts that may bypass. Empty while half a character waits or while a record is kept,
        # so that all tokens go through `_feed`.
        self._texts = tokens.texts
        # An iterator can be read only once, and the record needs the ids too.
        if prompt is not None and not isinstance(prompt, str):
            prompt = self._ids(prompt)
        read, decoded = self._read_prompt(prompt)
        options = (
            tools,
            tool_choice,
            parallel_tool_calls,
            reasoning,
            policies,
            response_schema,
            calls,
            collect,
        )
        request = request_for(tokens.fmt, options)
        asked: Request | None = None
        self._given: dict[str, Any] = {}
        if record:
            # The record has the original format, because the characters are valid in this process.
            asked = replace(request, fmt=fmt)
            chosen = dict(markers) if isinstance(markers, Mapping) else markers
            self._given = {"prompt": prompt, "markers": chosen, "spans": spans}
        recorder = self._recorder = TokenRecorder(
            tokens, raw=reasoning == "raw", stray=policies.stray_token, keeps=spans
        )

        # The recorder is made before the sink, whose issues it needs.
        def builds(issues: Issues) -> tuple[TokenBuilder, TokenRecorder]:
            recorder.issues = issues
            return TokenBuilder(recorder, collect=collect), recorder

        # The number of recorded texts in `_passed`. A bypassing text is one token, and is recorded
        # later, many at once.
        self._noted = 0
        # The index of the token of the first text in `_passed`, None if spans are not recorded.
        self._first: int | None = 0 if spans else None
        super().__init__(
            request, read, id_factory, record, decoded=decoded, asked=asked, builds=builds
        )
        # The adapted format is internal, so callers get the original.
        self.format = fmt
        # Bypassing tokens would be missing in the record.
        if record:
            self._texts = {}

    def feed(self, ids: int | Iterable[int]) -> list[Delta]:
        """Parse the next token or tokens.

        Args:
            ids: a token id, or several.

        Returns:
            The deltas that became certain, often an empty list.

        Raises:
            UsageError: an id is not in the vocabulary (no id was read then), or `finish` was called
                before.
            MalformedOutput: a policy is "error".
        """
        # The type is checked, because True would be found as 1.
        text = self._texts.get(ids) if type(ids) is int else None
        if text is None:
            return self._feed(ids)
        recorder, lane = self._recorder, self._lane
        if lane is not None:
            # Inlined as in `StreamParser.feed`, because nearly all tokens end here.
            quick, exact, passed, make = self._path
            size = len(passed)
            if size < MOST_PASSED and (
                quick(text) is None or (exact is not None and exact(text) is None)
            ):
                passed.append(text)
                delta = make(text)
                first = self._first
                if first is not None:
                    # An int instead of a range, because a tuple for each token would cost more.
                    delta.place = first + size + 1
                return [delta]
            # The bypassing tokens precede this one, so they must be recorded first.
            if size > self._noted:
                self._note()
        else:
            # While a lane is open, the id factory cannot be running.
            self._refuse_reentry()
        before = recorder.end
        # Set before the text is read, because roles and issues refer to the end.
        recorder.end = end = before + len(text)
        window, ends = self._window, recorder.ends
        if recorder.keeps:
            ends.append(end + end)
        try:
            # The rest is `_take` inlined for one token, which is valid only without unread text.
            if lane is not None or window.base + window.pos != before:
                return self._take(text, before)
            deltas = self._read(text)
            if self._lane is not None:
                self._count()
            if recorder.keeps:
                for delta in deltas:
                    if delta.place is None:
                        delta.place = len(ends)
                        recorder.emitted = window.base + window.pos
        # The error has offsets of the text that is read, but the caller knows the decoded text.
        except MalformedOutput as error:
            raise self._decoded_error(error) from None
        return deltas

    def finish(self, reason: Reason = None, *, stop_reason: StopReason = None) -> list[Delta]:
        """End the turn, and return the last deltas. See `StreamParser.finish`.

        The end-of-turn token may have been fed or left out by the engine.
        """
        # So that later tokens go through `_feed`, which refuses them.
        self._texts = {}
        try:
            return super().finish(reason, stop_reason=stop_reason)
        except MalformedOutput as error:
            raise self._decoded_error(error) from None

    def _as_read(self, stop: StopReason) -> str:
        # The readers know the markers by their characters.
        if not isinstance(stop, int):
            return self._tokens.characters_in(stop or "")
        chars = {id: char for char, id in self._tokens.marker_ids.items()}
        if stop in chars:
            return chars[stop]
        try:
            return self._vocabulary[stop].decode(errors="replace")
        # The engine may use another vocabulary, so an unknown id is not an error.
        except UsageError:
            return ""

    @property
    def message(self) -> Message:
        """The message so far, with token spans in its parts.

        Raises:
            UsageError: the parser was made with `collect=False`.
        """
        message, recorder = super().message, self._recorder
        # The open part needs an end for its range.
        recorder.end_part()
        parts = list(map(recorder.placed, message.parts, recorder.parts))
        issues, attempts = message.issues, message.attempts
        reports = tuple(map(recorder.told, issues)), tuple(map(recorder.told, attempts))
        return Message(parts, *reports, message.unproven)

    @property
    def issues(self) -> list[Issue]:
        """The issues so far (see `Issue`)."""
        # Bypassing text may be spelled like a marker, which is reported when it is settled.
        self._settle()
        return list(map(self._recorder.told, super().issues))

    @property
    def knows_tokens(self) -> bool:
        """True if deltas and parts have token spans, i.e. the parser has `spans=True`."""
        return self._recorder.keeps

    @property
    def attempts(self) -> list[Attempt]:
        """All calls begun so far, in order, each with its status (see `Attempt`)."""
        return list(map(self._recorder.told, super().attempts))

    @property
    def roles(self) -> list[TokenRole]:
        """The role of each token, in order. The last character of a token determines its role.

        "content" and "reasoning": text of the message.
        "name" and "arguments": parts of a call. In tags, "arguments" are names and values.
        "end": an end-of-turn marker.
        "dropped": text dropped by a policy.
        "marker": delimiters with the whitespace around them, and text that is still buffered.

        Raises:
            UsageError: the parser was made with `spans=False`.
        """
        if not self._recorder.keeps:
            raise UsageError("roles were not recorded: create the parser with spans=True")
        self._settle()
        return self._recorder.roles()

    @property
    def role_spans(self) -> list[RoleSpan]:
        """The roles of the characters of the decoded text, as spans without gaps (see `roles`).

        Raises:
            UsageError: the parser was made with `spans=False`.
        """
        if not self._recorder.keeps:
            raise UsageError("spans were not recorded: create the parser with spans=True")
        self._settle()
        return self._recorder.role_spans(self._recorder.end)

    @property
    def ends(self) -> list[int]:
        """The end of the text of each token, in characters of the decoded text.

        Raises:
            UsageError: the parser was made with `spans=False`.
        """
        recorder = self._recorder
        if not recorder.keeps:
            raise UsageError("spans were not recorded: create the parser with spans=True")
        self._settle()
        return [recorder.decoded(end >> 1) for end in recorder.ends]

    @property
    def held(self) -> int:
        """The number of buffered characters at the end of the decoded text."""
        # Both ends are decoded, because a buffered special token is longer in the decoded text.
        recorder, end = self._recorder, self._recorder.end
        return recorder.decoded(end) - recorder.decoded(max(end - super().held, 0))

    def fork(self) -> TokenParser:
        """Make an independent parser in the same state (see `StreamParser.fork`)."""
        record = self._recorded("fork()")
        return self._again(record, self._vocabulary, self._given)

    def snapshot(self) -> str:
        """Return the state as a JSON document, for `restore` in another process.

        The document does not contain the vocabulary. See `StreamParser.snapshot`.
        """
        return self._recorded("snapshot()").to_json(self._given)

    @classmethod
    def restore(
        cls, snapshot: str, vocabulary: Vocabulary, *, id_factory: IdFactory = call_id
    ) -> TokenParser:
        """Make a parser from a `snapshot`, without emitting its deltas again.

        Args:
            snapshot: the document.
            vocabulary: the vocabulary of the parser that made the snapshot.
            id_factory: makes the ids of later calls.

        Raises:
            UsageError: `snapshot` is not a snapshot of a `TokenParser`.
        """
        record, given = Recording.read(snapshot, id_factory)
        # Checked exactly, because the members become arguments of the parser.
        if not isinstance(given, dict) or given.keys() != {"prompt", "markers", "spans"}:
            raise UsageError(
                "the snapshot is of a StreamParser: use StreamParser.restore(snapshot)"
            )
        return cls._again(record, vocabulary, given)

    @classmethod
    def _again(
        cls, record: Recording, vocabulary: Vocabulary, given: Mapping[str, Any]
    ) -> TokenParser:
        """Make a parser, and feed it with the recorded tokens."""
        # The record has no prompt of its own, so the given one overrides it.
        parser = cls(**{**record.arguments(), **given, "vocabulary": vocabulary})
        record.replay(parser.feed, parser.finish)
        return parser

    def _feed(self, ids: object) -> list[Delta]:
        """Parse tokens that did not bypass, and return their deltas."""
        # All ids are checked first, so that an unknown id leaves the parser unchanged.
        group = self._ids(ids)
        if self._window.closed:
            raise UsageError("feed() after finish(): a parser reads one turn")
        self._refuse_reentry()
        if self._record is not None:
            self._record.chunks.append(group)
        self._note()
        deltas: list[Delta] = []
        texts: list[str] = []
        known = self._tokens.texts
        try:
            for id in group:
                text = known.get(id)
                special = self._vocabulary.special_text(id) if text is None else None
                if special is None:
                    # Collected, because one longer text costs less than several short ones.
                    texts.append(self._ordinary(id, text))
                else:
                    # A special token cannot complete a character, so the buffered half ends here.
                    texts.append(self._end_character())
                    deltas += self._placed("".join(texts))
                    texts.clear()
                    deltas += self._special(id, special)
            text = "".join(texts)
            deltas += self._placed(text)
            # Tokens of a part of a character add no text, but count as a chunk too.
            if texts and not text:
                self._builder.chunks += 1
        except MalformedOutput as error:
            raise self._decoded_error(error) from None
        return deltas

    def _ids(self, ids: Any) -> tuple[int, ...]:
        """Return the ids as a tuple, and check that the vocabulary has each."""
        if isinstance(ids, (str, bytes)):
            raise UsageError("feed() takes token ids, not text: use a StreamParser for text")
        try:
            # A tensor without dimensions has `__iter__` too, but it raises TypeError.
            one = not isinstance(ids, Iterable) or getattr(ids, "ndim", 1) == 0
            group = tuple(map(_index, (ids,) if one else ids))
        except TypeError:
            raise UsageError(f"feed() takes a token id or several, not {ids!r:.200}") from None
        for id in group:
            # A cached text proves that the vocabulary has the id.
            if id not in self._tokens.texts:
                self._vocabulary[id]
        return group

    def _ordinary(self, id: int, text: str | None) -> str:
        """Return the text that an ordinary token adds, and record the token."""
        recorder, decoder = self._recorder, self._decoder
        waiting = decoder is not None and decoder.waiting
        # A buffered half changes the text even if the token's own text is cached.
        if text is None or waiting:
            token = self._vocabulary[id]
            text = None if waiting else _whole(token)
            if text is None:
                if decoder is None:
                    decoder = self._decoder = TextDecoder()
                decoder.offset = recorder.end
                text = decoder.feed(token)
                recorder.token(len(text), cut=decoder.waiting)
                # The next token may complete the character, so it must not bypass.
                plain = not decoder.waiting and self._record is None
                self._texts = self._tokens.texts if plain else {}
                return text
            # Cached for all parsers, except an empty text, which would become an empty delta.
            if text:
                self._tokens.texts[id] = text
        recorder.token(len(text))
        return text

    def _end_character(self) -> str:
        """Return U+FFFD if half a character is buffered, because a special token follows."""
        decoder = self._decoder
        if decoder is None or not decoder.waiting:
            return ""
        decoder.offset = self._recorder.end
        text = decoder.finish()
        # The tokens of the half are recorded already, so only the end moves.
        self._recorder.end += len(text)
        if self._record is None:
            self._texts = self._tokens.texts
        return text

    def _special(self, id: int, text: str) -> list[Delta]:
        """Parse a special token, and return its deltas."""
        recorder = self._recorder
        # A token of `either` is read as its text, like the same text in ordinary tokens.
        char = text if id in self._tokens.either else self._tokens.character_of(id, text)
        recorder.special(char, text)
        recorder.token(len(char))
        if len(char) > 1:
            return self._placed(char)
        # Surrogates bypass no lane and are read by no step, so the sub-parsers are resumed at once.
        self._close_lane()
        # Other chunks are counted by `_read`.
        self._builder.chunks += 1
        self._window.feed(char)
        return self._emitted(self._resume())

    def _placed(self, text: str) -> list[Delta]:
        """Parse text whose tokens are recorded, and return its deltas."""
        return self._take(text, self._recorder.end - len(text)) if text else []

    def _take(self, text: str, before: int) -> list[Delta]:
        """Parse text that starts at the offset `before`, and whose tokens are recorded."""
        window = self._window
        # While a lane is open, the window is not up to date, and only the buffered tail is unread.
        start = window.base + window.pos if self._lane is None else before - len(self._held)
        deltas = self._read(text)
        noted = self._noted = len(self._passed)
        # Without spans, deltas need no tokens.
        if self._first is None:
            return deltas
        recorder = self._recorder
        self._first = len(recorder.ends) - noted
        end = window.base + window.pos if self._lane is None else recorder.end - len(self._held)
        # Text that bypassed the reader carries no token information.
        for delta in deltas:
            if getattr(delta, "place", None) is None:
                recorder.emitted = end
                delta.place = recorder.tokens(start, end)
        return deltas

    def _note(self) -> None:
        """Record the tokens that bypassed."""
        passed = self._passed
        # The texts stay in the list until they are settled, so some may be recorded already.
        if len(passed) > self._noted:
            self._recorder.passed(passed[self._noted :])
            self._noted = len(passed)

    def _settle(self) -> None:
        self._note()
        # Joined before `_passed` is cleared.
        text = "".join(self._passed)
        super()._settle()
        if text:
            self._builder.passed(text)
        self._count()

    def _count(self) -> None:
        """Update the index of the first text in `_passed` after tokens were recorded."""
        self._noted = len(self._passed)
        if self._first is not None:
            self._first = len(self._recorder.ends) - self._noted

    def _decode(self, chunk: str | bytes) -> str:
        # The text of tokens is already decoded, and `_feed` has recorded the ids.
        return chunk if isinstance(chunk, str) else ""

    def _decoded_error(self, error: MalformedOutput) -> MalformedOutput:
        """Return the error with offsets and texts of the decoded text."""
        issue = self._recorder.told(Issue(error.kind, error.span, str(error)))
        return MalformedOutput(issue.detail, kind=issue.kind, span=issue.span)

    def _read_prompt(self, prompt: str | Iterable[int] | None) -> tuple[str, str]:
        """Return the prompt as the sub-parsers read it, and as text."""
        if prompt is None or isinstance(prompt, str):
            text = replace_surrogates(prompt or "")
            return self._tokens.characters_in(text), text
        # Both are built from the ids, because a spelled marker in the prompt is not a token.
        read: list[str] = []
        plain: list[str] = []
        between = bytearray()
        chars = {id: char for char, id in self._tokens.marker_ids.items()}
        for id in prompt:
            char = chars.get(id)
            # Bytes are joined before decoding, because a token may be a part of a character.
            if char is None:
                between += self._vocabulary[id]
                continue
            text = between.decode(errors="replace")
            read += text, char
            plain += text, self._tokens.tokens[char][1]
            between.clear()
        text = between.decode(errors="replace")
        return "".join([*read, text]), "".join([*plain, text])


def _index(id: Any) -> int:
    """Return an id as an int.

    Raises:
        TypeError: `id` is not an integer, or it is a bool.
    """
    if isinstance(id, bool):
        raise TypeError
    return index(id)


def _whole(token: bytes) -> str | None:
    """Return the text of a token, None if a character is truncated in it."""
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None
