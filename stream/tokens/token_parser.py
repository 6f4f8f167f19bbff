"""The push parser for token ids: ids in, deltas out."""

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
from .token_provenance import RoleSpan, TokenRole, TokenTrail
from .vocabulary import Vocabulary

__all__ = ["TokenParser"]


class TokenParser(TurnParser):
    """A `StreamParser` that is fed with token ids, and says of each token what it was.

    Text cannot tell a special token from the text that looks like it. Here a marker that the
    vocabulary has a special token for is that token, and text that looks like it is text.

        parser = TokenParser(fmt, vocabulary, tools=tools, prompt=prompt_ids)
        for id in sampled:
            for delta in parser.feed(id):
                ...
        parser.finish("stop")
        parser.roles, parser.message.tool_calls[0].tokens

    Args:
        fmt: how the model writes, or the name of a format.
        vocabulary: the tokens of the model.
        prompt: the prompt, or any tail of it that holds the generation prompt, as ids or as text;
            in text, a marker that is a token is one. See `StreamParser`.
        markers: how markers that have a special token are written. "token": as that token; the same
            text in ordinary tokens is text, with the issue `spelled_marker`. "text": in ordinary
            tokens; only an end-of-turn marker is still a token. "either": both, with
            `spelled_marker` for a call whose markers were spelled. A mapping sets it per marker;
            the others are "token". Markers without a special token are always text.
        spans: keep what `roles` and `tokens` are computed from, eight bytes a token.
        tools, tool_choice, parallel_tool_calls, reasoning, policies, response_schema, calls,
            id_factory, record, collect: those of `StreamParser`.

    Spans in characters count the decoded text.

    Raises:
        UsageError: an argument that makes no sense.
    """

    __slots__ = (
        "_first",
        "_given",
        "_noted",
        "_texts",
        "_tokens",
        "_trail",
        "_vocabulary",
    )

    _builder: TokenBuilder

    def __init__(
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
            raise UsageError(f"vocabulary is Vocabulary.load(tokenizer), not {kind}")
        fmt = as_format(fmt)
        check_flag("spans", spans)
        self._tokens = tokens = token_format(fmt, vocabulary, markers)
        self._vocabulary = vocabulary
        # What `feed` takes at once; empty while half a character waits, or all is recorded.
        self._texts = tokens.texts
        if prompt is not None and not isinstance(prompt, str):
            prompt = self._ids(prompt)
        read, decoded = self._read_prompt(prompt)
        request = request_for(
            tokens.fmt,
            tools,
            tool_choice,
            parallel_tool_calls,
            reasoning,
            policies,
            response_schema,
            calls,
            collect,
        )
        asked: Request | None = None
        self._given: dict[str, Any] = {}
        if record:
            asked = replace(request, fmt=fmt)
            chosen = dict(markers) if isinstance(markers, Mapping) else markers
            self._given = {"prompt": prompt, "markers": chosen, "spans": spans}
        trail = self._trail = TokenTrail(
            tokens, raw=reasoning == "raw", stray=policies.stray_token, keeps=spans
        )

        def builds(issues: Issues) -> tuple[TokenBuilder, TokenTrail]:
            trail.issues = issues
            return TokenBuilder(trail, collect=collect), trail

        # While texts pass by, each is a token, and is noted later: of `_passed`, so many are.
        self._noted = 0
        # The number of the token that is the first of `_passed`; None where nobody asks.
        self._first: int | None = 0 if spans else None
        super().__init__(request, read, id_factory, record, decoded, asked, builds)
        self.format = fmt
        if record:
            self._texts = {}

    def feed(self, ids: int | Iterable[int]) -> list[Delta]:
        """Take the next token, or several; return what they make certain, often nothing.

        Raises:
            UsageError: an id that the vocabulary does not have, in which case none was taken; or
                after `finish`.
            MalformedOutput: where a policy says "error".
        """
        # `get` alone would take True for 1.
        text = self._texts.get(ids) if type(ids) is int else None
        if text is None:
            return self._feed(ids)
        trail, lane = self._trail, self._lane
        if lane is not None:
            quick, exact, passed, make = self._path
            size = len(passed)
            if size < MOST_PASSED and (
                quick(text) is None or (exact is not None and exact(text) is None)
            ):
                passed.append(text)
                delta = make(text)
                first = self._first
                if first is not None:
                    delta.place = first + size + 1
                return [delta]
            if size > self._noted:
                self._note()
        else:
            self._refuse_reentry()
        before = trail.end
        trail.end = end = before + len(text)
        window, ends = self._window, trail.ends
        if trail.keeps:
            ends.append(end + end)
        try:
            # What `_take` does, for one token, with nothing unread before it.
            if lane is not None or window.base + window.pos != before:
                return self._take(text, before)
            deltas = self._read(text)
            if self._lane is not None:
                self._count()
            if trail.keeps:
                for delta in deltas:
                    if delta.place is None:
                        delta.place = len(ends)
                        trail.emitted = window.base + window.pos
        except MalformedOutput as error:
            raise self._told(error) from None
        return deltas

    def finish(self, reason: Reason = None, *, stop_reason: StopReason = None) -> list[Delta]:
        """Say that the output has ended; return the last deltas. See `StreamParser.finish`.

        The engine may have kept the end-of-turn token, or left it out, or stopped before it.
        """
        self._texts = {}
        try:
            return super().finish(reason, stop_reason=stop_reason)
        except MalformedOutput as error:
            raise self._told(error) from None

    def _as_read(self, stop: StopReason) -> str:
        if not isinstance(stop, int):
            return self._tokens.characters_in(stop or "")
        chars = {id: char for char, id in self._tokens.marker_ids.items()}
        if stop in chars:
            return chars[stop]
        try:
            return self._vocabulary[stop].decode(errors="replace")
        except UsageError:
            return ""  # no token of this vocabulary: the engine has another

    @property
    def message(self) -> Message:
        """The message so far; its parts know their tokens.

        Raises:
            UsageError: the parser was made with `collect=False`.
        """
        message, trail = super().message, self._trail
        trail.end_part()
        parts = list(map(trail.placed, message.parts, trail.parts))
        issues, attempts = message.issues, message.attempts
        told = tuple(map(trail.told, issues)), tuple(map(trail.told, attempts))
        return Message(parts, *told, message.unproven)

    @property
    def issues(self) -> list[Issue]:
        """What had to be decided so far; see `Issue`."""
        self._settle()
        return list(map(self._trail.told, super().issues))

    @property
    def knows_tokens(self) -> bool:
        """Deltas and parts know their tokens: the parser was made with `spans=True`."""
        return self._trail.keeps

    @property
    def attempts(self) -> list[Attempt]:
        """Every call that was begun so far, in order, and what became of it; see `Attempt`."""
        return list(map(self._trail.told, super().attempts))

    @property
    def roles(self) -> list[TokenRole]:
        """What each token was, by its last character, in the order in which they came.

        "content", "reasoning"; of a call, "name" and "arguments" (in tags, their names and values);
        "end": an end-of-turn marker; "dropped": a policy left it out; "marker": all that only says
        what the others are, with the white space beside it, and what is held back so far.

        Raises:
            UsageError: the parser was made with `spans=False`.
        """
        if not self._trail.keeps:
            raise UsageError("roles were not kept: make the parser with spans=True")
        self._settle()
        return self._trail.roles()

    @property
    def role_spans(self) -> list[RoleSpan]:
        """What each character of the decoded text was: spans without gaps; see `roles`.

        Raises:
            UsageError: the parser was made with `spans=False`.
        """
        if not self._trail.keeps:
            raise UsageError("spans were not kept: make the parser with spans=True")
        self._settle()
        return self._trail.role_spans(self._trail.end)

    @property
    def ends(self) -> list[int]:
        """Where the text of each token ends, in characters of the decoded text.

        Raises:
            UsageError: the parser was made with `spans=False`.
        """
        trail = self._trail
        if not trail.keeps:
            raise UsageError("spans were not kept: make the parser with spans=True")
        self._settle()
        return [trail.decoded(end >> 1) for end in trail.ends]

    @property
    def held(self) -> int:
        """How many characters at the end of the decoded text are held back."""
        trail, end = self._trail, self._trail.end
        return trail.decoded(end) - trail.decoded(max(end - super().held, 0))

    def fork(self) -> TokenParser:
        """Make a second parser in the same state; see `StreamParser.fork`."""
        record = self._recorded("fork()")
        return self._again(record, self._vocabulary, self._given)

    def snapshot(self) -> str:
        """Write the state as a JSON document, from which `restore` makes a parser elsewhere.

        The vocabulary is not in it. See `StreamParser.snapshot`.
        """
        return self._recorded("snapshot()").to_json(self._given)

    @classmethod
    def restore(
        cls, snapshot: str, vocabulary: Vocabulary, *, id_factory: IdFactory = call_id
    ) -> TokenParser:
        """Make the parser of a `snapshot`, for the same vocabulary; nothing is emitted again.

        Raises:
            UsageError: what is given is no snapshot of a `TokenParser`.
        """
        record, given = Recording.read(snapshot, id_factory)
        if not isinstance(given, dict) or given.keys() != {"prompt", "markers", "spans"}:
            raise UsageError("a snapshot of a StreamParser, not of a TokenParser")
        return cls._again(record, vocabulary, given)

    @classmethod
    def _again(
        cls, record: Recording, vocabulary: Vocabulary, given: Mapping[str, Any]
    ) -> TokenParser:
        """A parser that was fed what the record has."""
        parser = cls(**{**record.arguments(), **given, "vocabulary": vocabulary})
        record.replay(parser.feed, parser.finish)
        return parser

    def _feed(self, ids: object) -> list[Delta]:
        """Take tokens that are not of the plainest; return the deltas."""
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
                    texts.append(self._ordinary(id, text))
                else:
                    texts.append(self._end_character())
                    deltas += self._placed("".join(texts))
                    texts.clear()
                    deltas += self._special(id, special)
            text = "".join(texts)
            deltas += self._placed(text)
            if texts and not text:
                self._builder.chunks += 1  # tokens that are a part of a character
        except MalformedOutput as error:
            raise self._told(error) from None
        return deltas

    def _ids(self, ids: Any) -> tuple[int, ...]:
        """The ids that are fed, each of which the vocabulary has."""
        if isinstance(ids, (str, bytes)):
            raise UsageError("feed() takes token ids; text is for a StreamParser")
        try:
            # A tensor of no dimensions has `__iter__` too, and refuses.
            one = not isinstance(ids, Iterable) or getattr(ids, "ndim", 1) == 0
            group = tuple(map(_index, (ids,) if one else ids))
        except TypeError:
            raise UsageError(f"feed() takes token ids, not {ids!r:.200}") from None
        for id in group:
            if id not in self._tokens.texts:
                self._vocabulary[id]
        return group

    def _ordinary(self, id: int, text: str | None) -> str:
        """The text that an ordinary token adds."""
        trail, decoder = self._trail, self._decoder
        waiting = decoder is not None and decoder.waiting
        if text is None or waiting:
            token = self._vocabulary[id]
            text = None if waiting else _whole(token)
            if text is None:
                if decoder is None:
                    decoder = self._decoder = TextDecoder()
                decoder.offset = trail.end
                text = decoder.feed(token)
                trail.token(len(text), cut=decoder.waiting)
                plain = not decoder.waiting and self._record is None
                self._texts = self._tokens.texts if plain else {}
                return text
            if text:
                self._tokens.texts[id] = text
        trail.token(len(text))
        return text

    def _end_character(self) -> str:
        """U+FFFD for the half of a character that a special token follows."""
        decoder = self._decoder
        if decoder is None or not decoder.waiting:
            return ""
        decoder.offset = self._trail.end
        text = decoder.finish()
        self._trail.end += len(text)
        if self._record is None:
            self._texts = self._tokens.texts
        return text

    def _special(self, id: int, text: str) -> list[Delta]:
        """Take a special token; return the deltas."""
        trail = self._trail
        char = text if id in self._tokens.either else self._tokens.character_of(id, text)
        trail.special(char, text)
        trail.token(len(char))
        if len(char) > 1:
            return self._placed(char)
        # No lane lets it pass, and no step reads it.
        self._close_lane()
        self._builder.chunks += 1
        self._window.feed(char)
        self._sink.content(self._resume() or "")
        waiter = self._window.waiter
        if waiter is not None and waiter.lane is not None:
            self._open_lane(waiter, waiter.lane)
        return self._emitted()

    def _placed(self, text: str) -> list[Delta]:
        """Take text whose tokens are noted; return the deltas."""
        return self._take(text, self._trail.end - len(text)) if text else []

    def _take(self, text: str, before: int) -> list[Delta]:
        """Take text that begins at the offset `before`, and whose tokens are noted."""
        window = self._window
        start = window.base + window.pos if self._lane is None else before - len(self._held)
        deltas = self._read(text)
        noted = self._noted = len(self._passed)
        if self._first is None:
            return deltas
        trail = self._trail
        self._first = len(trail.ends) - noted
        end = window.base + window.pos if self._lane is None else trail.end - len(self._held)
        # What passed by comes from nobody who knew of tokens.
        for delta in deltas:
            if getattr(delta, "place", None) is None:
                trail.emitted = end
                delta.place = trail.tokens(start, end)
        return deltas

    def _note(self) -> None:
        """Note the tokens that passed by."""
        passed = self._passed
        if len(passed) > self._noted:
            self._trail.passed(passed[self._noted :])
            self._noted = len(passed)

    def _settle(self) -> None:
        self._note()
        text = "".join(self._passed)
        super()._settle()
        if text:
            self._builder.passed(text)
        self._count()

    def _count(self) -> None:
        """What passes by from here on follows the tokens that are noted."""
        self._noted = len(self._passed)
        if self._first is not None:
            self._first = len(self._trail.ends) - self._noted

    def _decode(self, chunk: str | bytes) -> str:
        # What comes here is decoded, and no lane is open while a record is kept.
        return chunk if isinstance(chunk, str) else ""

    def _told(self, error: MalformedOutput) -> MalformedOutput:
        """An error in terms of the decoded text."""
        issue = self._trail.told(Issue(error.kind, error.span, str(error)))
        return MalformedOutput(issue.detail, kind=issue.kind, span=issue.span)

    def _read_prompt(self, prompt: str | Iterable[int] | None) -> tuple[str, str]:
        """A prompt as it is read, and as text."""
        if prompt is None or isinstance(prompt, str):
            text = replace_surrogates(prompt or "")
            return self._tokens.characters_in(text), text
        read: list[str] = []
        plain: list[str] = []
        between = bytearray()
        chars = {id: char for char, id in self._tokens.marker_ids.items()}
        for id in prompt:
            char = chars.get(id)
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
    """An id as an int; True is none."""
    if isinstance(id, bool):
        raise TypeError
    return index(id)


def _whole(token: bytes) -> str | None:
    """The text of a token, None if a character is cut in it."""
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None
