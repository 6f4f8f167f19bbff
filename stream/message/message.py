"""The message of a turn, its parts, and the issues and attempts of its parser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from deltaparse.partial import MAX_DEPTH

from .fields import ReasoningField, reasoning_fields

__all__ = ["Attempt", "Content", "Issue", "Message", "Part", "Reasoning", "Status", "ToolCall"]


# In order of precedence: the first fitting status counts.
Status = Literal[
    "in_reasoning", "truncated", "broken", "unknown_tool", "repaired", "complete", "not_a_call"
]


@dataclass(frozen=True, slots=True)
class Issue:
    """A decision of the parser about malformed output, or text that was read and not emitted.

    A parser keeps 100 issues of each kind. One more issue counts the rest, and its span covers
    them.

    Attributes:
        kind: one of the kinds below.
        span: half-open range of the characters concerned, in the output.
        detail: the decision in words, and the text concerned.

    A policy governs each kind of the first group (see `Policies`):

    `tool_in_reasoning`     a call began while reasoning was open
    `unclosed_reasoning`    the turn ended while reasoning was open
    `text_after_tool_call`  text follows a call
    `unknown_tool`          the called function is not one of the tools. In formats with unmarked
                            calls, the call is content
    `repaired_arguments`    something in a call or next to it was repaired
    `malformed_arguments`   the arguments are not a JSON object
    `duplicate_keys`        a key occurs twice in an object of the arguments (only under "error")
    `extra_call`            a second call, although only one was allowed

    The other kinds:

    `truncated_call`        the output ends inside a call. The detail has the text of the call that
                            was read and not emitted
    `cut_marker`            the output ends inside a marker after a call, or inside a separator of
                            calls. Only the detail has this text. Or the output ended by itself
                            without the marker that closes the last call, and no argument can be
                            missing
    `missing_closer`        the output ended by itself without the marker that closes a call.
                            Another argument may be missing
    `missing_arguments`     a call has no arguments. They become `{}`
    `odd_member`            the name or the arguments have another key than in the format
    `repeated_id`           a call has the id of an earlier call
    `late_id`               an id arrived after the call was emitted with another id
    `ambiguous_marker`      an argument in tags contains a marker of a call or of the turn, without
                            a matching marker. It is text
    `unused_member`         a meaningless or repeated member next to name and arguments in the JSON
                            of a call, or an unknown attribute in tags. Only the detail has it
    `no_calls`              an empty list of calls
    `no_header`             the prompt shows no beginning of the assistant's turn, so it does not
                            set the initial state
    `wrong_tool`            the called function is not the one of `tool_choice`
    `unknown_finish`        the engine's finish reason is unknown. The turn counts as truncated
    `missing_call`          `tool_choice` required a call, but the turn has none
    `text_after_end`        text after an end-of-turn marker is content. So is the marker, unless a
                            header follows. A call there is a call, but after the header of another
                            role it is text
    `repeated_marker`       the model repeated the end of its prompt
    `stray_marker`          a marker of the format's own calls, or a code block, around calls that
                            were requested as JSON. It is removed
    `stray_text`            text other than calls, although calls were requested as JSON. It is
                            content
    `orphan_marker`         an end of reasoning while reasoning is not open. After content it is
                            content, and the detail names a possible fix. (At the start of a turn it
                            means "no reasoning", and is not an issue). Or a closer of calls without
                            an open call and without text after it
    `invalid_text`          bytes that are not UTF-8, or half of a surrogate pair, became U+FFFD.
                            Reported once, at the end, from the first to the last
    `foreign_recipient`     a message in channels to neither a function nor the reader. Only the
                            detail has its text
    `foreign_role`          a message in channels from another role than the model. Only the detail
                            has its text
    `odd_header`            the header of a message in channels contains unknown text, has no
                            message after it, has text in its place, or names a function outside of
                            the format's namespace. Or a section has a name unknown to the format,
                            and its text is content
    `stray_token`           a special token at a position without markers. Its text is emitted or
                            dropped, see `Policies.stray_token` (from a `TokenParser`)
    `spelled_marker`        a marker with a special token was spelled in ordinary tokens. It is
                            text, or with `markers="either"` it counts as a marker of a call (from a
                            `TokenParser`)
    `lost_marker`           content begins like a call of a tool without its special token. The
                            decoder may have dropped the token
    `code_block`            the code fence around requested JSON was removed
    `internal_error`        a bug of deltaparse. The rest of the text is content

    A message that `deltaparse.protocols` read from a server's events may have two more.
    `stream_error`: the server reports a failure. `stream_cut`: the events end before the final
    event.
    """

    kind: str
    span: tuple[int, int]
    detail: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that the model began, and its result.

    A parser keeps 100 attempts of each status. One more attempt counts the rest in its `detail`.

    Attributes:
        name: the called function, "" if the output ends before the name.
        span: half-open range of the characters of the call, in the output.
        status: the first fitting status of the list below.
        detail: a reason in words for some of the statuses.
        tokens: half-open range of the tokens of the call (from a `TokenParser`).

    The statuses:

    `in_reasoning`  the call is in reasoning, and was a draft
    `truncated`     the output ends inside the call, or inside its first marker
    `broken`        the arguments are not a JSON object
    `unknown_tool`  the function is not one of the tools. `detail` reports if the call is text
    `repaired`      something in the call or next to it was repaired
    `complete`      the call is complete
    `not_a_call`    the marker of a call without a call after it, or text like an unmarked call that
                    does not fill its part. `detail` reports which of the two
    """

    name: str
    span: tuple[int, int]
    status: Status
    detail: str = ""
    # Not compared, so that attempts of both kinds of parsers can be equal.
    tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Content:
    """A run of content between other parts of a message.

    Attributes:
        text: the content.
        tokens: half-open range of its tokens, None from a `StreamParser`.
    """

    text: str
    # Not compared, so that messages of both kinds of parsers can be equal.
    tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A run of reasoning between other parts of a message.

    Attributes:
        text: the reasoning.
        tokens: half-open range of its tokens, None from a `StreamParser`.
    """

    text: str
    tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call.

    JSON of the model is kept verbatim. Repaired arguments, and arguments in another notation, are
    written as JSON by the parser.

    Attributes:
        id: the id of the call.
        name: the called function.
        arguments: the arguments as JSON text.
        complete: True if the arguments are a complete JSON object and the call was not truncated.
            Never execute an incomplete call.
        repaired: True if something in the call or next to it was repaired. The call may differ from
            the model's intention. An issue describes the repair.
        span: half-open range of the characters of the call, from its first marker to the end of its
            arguments.
        issues: kinds of the issues in this range that were reported before the call ended.
        tokens: half-open range of the tokens of the call, None from a `StreamParser`.
        name_tokens: the same for its name.
        arguments_tokens: the same for its arguments.
    """

    id: str
    name: str
    arguments: str
    complete: bool
    repaired: bool = False
    # Positions and issues are not compared: only the call itself decides if two calls are equal.
    span: tuple[int, int] = field(default=(0, 0), compare=False, repr=False)
    issues: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)
    name_tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)
    arguments_tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)

    def healed(self) -> dict[str, Any]:
        """Return the arguments as a value. For a truncated call, return the part that arrived.

        Strings may be truncated. An unfinished number or literal is left out.
        """
        # Imported lazily, because most programs never heal arguments.
        from deltaparse.partial import heal_json

        # The limit is for values. A value in tags is in an object, one level deeper.
        value = heal_json(self.arguments, max_depth=MAX_DEPTH + 1).value
        # Callers expect an object, even if the call was truncated before its arguments.
        return value if isinstance(value, dict) else {}

    def to_openai(self) -> dict[str, Any]:
        """Return the call in the form of an OpenAI message."""
        # Arguments remain a string, as in OpenAI's API.
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


Part = Content | Reasoning | ToolCall
"""A part of a message."""


class TakesBack(Protocol):
    """A chat template that converts messages to the form it renders."""

    # A protocol, because `analyzer` imports this package and not the reverse.
    def history(self, messages: Sequence[Any]) -> list[dict[str, Any]]:
        """Return messages in the form of the template.

        Args:
            messages: messages of a conversation.
        """


@dataclass(frozen=True, slots=True)
class Message:
    """The assistant's turn.

    Attributes:
        parts: content, reasoning and calls in order of appearance.
        issues: the decisions of the parser.
        attempts: all calls that the model began.
        unproven: True if a call without markers has text next to it. The call may be a mention.
    """

    parts: list[Part] = field(default_factory=list)
    # Not compared: two messages are equal if their parts are.
    issues: tuple[Issue, ...] = field(default=(), compare=False, repr=False)
    attempts: tuple[Attempt, ...] = field(default=(), compare=False, repr=False)
    unproven: bool = field(default=False, compare=False, repr=False)

    @property
    def content(self) -> str:
        """Return all content, joined."""
        # Computed on demand, because a message may be created after each chunk.
        return "".join(part.text for part in self.parts if isinstance(part, Content))

    @property
    def reasoning_content(self) -> str:
        """Return all reasoning, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """Return the calls in order."""
        return [part for part in self.parts if isinstance(part, ToolCall)]

    def to_openai(self, *, reasoning: ReasoningField = "reasoning_content") -> dict[str, Any]:
        """Return an OpenAI assistant message, without empty fields except `content`.

        As in OpenAI's messages, `content` is None if there are calls and no content.

        Args:
            reasoning: name of the field for the reasoning, as in deltas.
        """
        calls = self.tool_calls
        message: dict[str, Any] = {"role": "assistant"}
        # OpenAI's schema requires the field, also without content.
        message["content"] = self.content or (None if calls else "")
        # OpenAI has no field for reasoning, so the usual message has no extra key.
        if thought := self.reasoning_content:
            message |= reasoning_fields(thought, reasoning)
        # OpenAI rejects an empty list of calls.
        if calls:
            message["tool_calls"] = [call.to_openai() for call in calls]
        return message

    def to_template(self, template: TakesBack) -> dict[str, Any]:
        """Return the message in the form that a chat template renders in a history.

        The form of content, reasoning, arguments and ids is the one that the template reads. A
        truncated call has `healed()` arguments. If the conversation has tool results, pass all
        messages to `ChatTemplate.history`, which matches ids of results and calls.
        `ChatTemplate.render` does not convert messages.

        Args:
            template: the chat template.
        """
        # The same conversion as for complete histories, so that both render alike.
        return template.history([self])[0]
