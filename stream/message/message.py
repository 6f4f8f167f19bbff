"""The message that the deltas add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from deltaparse.partial import MAX_DEPTH

from .fields import ReasoningField, reasoning_fields

__all__ = ["Attempt", "Content", "Issue", "Message", "Part", "Reasoning", "Status", "ToolCall"]


Status = Literal[
    "in_reasoning", "truncated", "broken", "unknown_tool", "repaired", "complete", "not_a_call"
]


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that a parser had to decide, or text that it read and did not emit.

    `span` is the half-open range of characters of the output that it is about; `detail` says in
    words what was decided, and about which text. A parser keeps 100 issues of each kind; one more
    counts the rest, and its span covers them. `kind` is one of these; a policy governs the first
    group (see `Policies`):

    `tool_in_reasoning`     a call began while reasoning was open
    `unclosed_reasoning`    the turn ended while reasoning was open
    `text_after_tool_call`  text follows a call
    `unknown_tool`          a call of a function that is not one of the tools; in formats with
                            unmarked calls it is content
    `repaired_arguments`    something in a call or beside it had to be repaired
    `malformed_arguments`   arguments that are no JSON object
    `duplicate_keys`        a key stands twice in an object of the arguments (only under "error")
    `extra_call`            a second call, where one was allowed

    The others:

    `truncated_call`        the output ends in a call; what was read of it and not emitted is in
                            the detail
    `cut_marker`            the output ends in the beginning of a marker, behind a call, or in what
                            separates two; that text is in the detail only. Or it ended by itself,
                            and the marker that closes the last call did not come, where no
                            argument can be missing
    `missing_closer`        the output ended by itself, and the marker that closes a call did not
                            come: another argument may have stood before it
    `missing_arguments`     a call has no arguments at all; they become `{}`
    `odd_member`            name or arguments stand under another key than the format's
    `repeated_id`           a call has the id of one before it
    `late_id`               an id came when the call had been emitted with another
    `ambiguous_marker`      a marker that ends or begins an argument stood inside a value, and was
                            taken for text
    `unused_member`         a meaningless member beside name and arguments in the JSON of a call, or
                            one that stands there twice; it is in the detail only
    `no_calls`              an empty list of calls
    `no_header`             nothing in the prompt shows where the assistant's turn begins, so it
                            does not set the state to start in
    `wrong_tool`            another function was called than `tool_choice` names
    `unknown_finish`        the engine's finish reason is not a known one; the turn counts as cut
                            off
    `missing_call`          `tool_choice` asked for a call, and none came
    `text_after_end`        text after an end-of-turn marker is content, and so is the marker where
                            no header follows it; a call there is a call, but behind the header of
                            another role it is text
    `repeated_marker`       the model wrote again what its prompt ends with
    `stray_marker`          a marker of the format's own calls, or a code block, round calls that
                            were asked for in JSON; it is left out
    `stray_text`            where calls were asked for in JSON, text that is none; it is content
    `orphan_marker`         an end of reasoning where none is open; behind content it is content,
                            and the detail names what may help. (At the start of a turn it means
                            that there is no reasoning, and is no issue.) Or a closer of calls that
                            closes none, with no text behind it
    `invalid_text`          bytes that are not UTF-8, or half of a surrogate pair, became U+FFFD;
                            reported once, at the end, from the first to the last
    `foreign_recipient`     a message in channels to someone who is neither a function nor the
                            reader; its text is in the detail only
    `foreign_role`          a message in channels by someone who is not the model; its text is in
                            the detail only
    `odd_header`            the header of a message in channels has unknown text in it, no message
                            follows it, text stands where it should begin, or the function that is
                            called stands in a namespace that is not the format's
    `stray_token`           a special token where no marker may stand: its text comes out, or
                            nothing, as `Policies.stray_token` has it (from a `TokenParser`)
    `spelled_marker`        the text of a marker that has a special token was spelled in ordinary
                            tokens: it is text, or, with `markers="either"`, the markers of a call
                            were taken for that (from a `TokenParser`)
    `lost_marker`           content begins like a call of a tool that should stand behind a special
                            token: the decoder may have dropped that token
    `code_block`            the fences round JSON that was asked for were left out
    `internal_error`        a bug of deltaparse: the rest of the text is content

    A message that `deltaparse.protocols` read from a server's events may have two more:
    `stream_error`, the server reports that it failed; `stream_cut`, the events stop before the
    final one.
    """

    kind: str
    span: tuple[int, int]
    detail: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that the model began, and what became of it.

    `name` is "" if the output ends before it; `span` is the half-open range of characters of the
    output that the call was read from, `tokens` that of its tokens (from a `TokenParser`). A parser
    keeps 100 attempts of each status; one more counts the rest in its `detail`. `status` is the
    first of these that fits:

    `in_reasoning`  it stands in reasoning, and was a draft
    `truncated`     the output ends in it, or in the beginning of its marker
    `broken`        its arguments are no JSON object
    `unknown_tool`  its function is not one of the tools; `detail` says where it is text
    `repaired`      something in it or beside it had to be repaired
    `complete`      it is whole
    `not_a_call`    no call followed the marker that begins one, or what looked like an unmarked
                    call does not fill its part; `detail` says which
    """

    name: str
    span: tuple[int, int]
    status: Status
    detail: str = ""
    tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Content:
    """A run of content between other parts of a message.

    `tokens`: the half-open range of the tokens that it was read from, None from a `StreamParser`.
    """

    text: str
    tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A run of reasoning between other parts of a message; `tokens` as those of `Content`."""

    text: str
    tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call. `arguments` is JSON text.

    JSON that the model wrote is kept verbatim; arguments in another notation, or repaired, are
    written as JSON by the parser. `complete`: the arguments are a whole JSON object and the call
    was not cut off; a call that is not complete must not be executed. `repaired`: something in it
    or beside it had to be repaired, so that it may not be what the model meant (an issue says
    what). `span`: the half-open range of characters of the output that it was read from, from the
    first marker to the end of its arguments. `issues`: the kinds of the issues that were reported,
    before it ended, about text in that range. `tokens` is the half-open range of the call's tokens,
    `name_tokens` and `arguments_tokens` those of its name and its arguments; None from a
    `StreamParser`.
    """

    id: str
    name: str
    arguments: str
    complete: bool
    repaired: bool = False
    span: tuple[int, int] = field(default=(0, 0), compare=False, repr=False)
    issues: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)
    name_tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)
    arguments_tokens: tuple[int, int] | None = field(default=None, compare=False, repr=False)

    def healed(self) -> dict[str, Any]:
        """Return the arguments as a value; of a cut-off call, the part that arrived.

        Strings may be cut; an unfinished number or literal is left out.
        """
        from deltaparse.partial import heal_json  # which most programs never need

        # A value in tags may be as deep as a value may be, and stands in an object.
        value = heal_json(self.arguments, max_depth=MAX_DEPTH + 1).value
        return value if isinstance(value, dict) else {}

    def to_openai(self) -> dict[str, Any]:
        """Return the call as it stands in an OpenAI message."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


Part = Content | Reasoning | ToolCall
"""A part of a message, in the order in which the model wrote them."""


class TakesBack(Protocol):
    """A chat template, which says in which form it takes messages back."""

    def history(self, messages: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the messages in that form."""


@dataclass(frozen=True, slots=True)
class Message:
    """The assistant's turn: `parts` in order of appearance, and the same by kind.

    `issues`: what its parser had to decide. `attempts`: the calls that the model began. `unproven`:
    text stands beside a call that nothing but its look tells from text, so that the call may be a
    mention of it.
    """

    parts: list[Part] = field(default_factory=list)
    issues: tuple[Issue, ...] = field(default=(), compare=False, repr=False)
    attempts: tuple[Attempt, ...] = field(default=(), compare=False, repr=False)
    unproven: bool = field(default=False, compare=False, repr=False)

    @property
    def content(self) -> str:
        """All content, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Content))

    @property
    def reasoning_content(self) -> str:
        """All reasoning, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls, in order."""
        return [part for part in self.parts if isinstance(part, ToolCall)]

    def to_openai(self, *, reasoning: ReasoningField = "reasoning_content") -> dict[str, Any]:
        """Return an OpenAI assistant message, without empty fields except `content`.

        `content` is None if there are calls and no content, as in OpenAI's own. `reasoning` names
        the field for the reasoning, as in deltas.
        """
        calls = self.tool_calls
        message: dict[str, Any] = {"role": "assistant"}
        message["content"] = self.content or (None if calls else "")
        if thought := self.reasoning_content:
            message |= reasoning_fields(thought, reasoning)
        if calls:
            message["tool_calls"] = [call.to_openai() for call in calls]
        return message

    def to_template(self, template: TakesBack) -> dict[str, Any]:
        """Return the message as a chat template takes it back into the history.

        Content, arguments and ids have the form that the template reads, and reasoning stands under
        its key. A call that was cut off has `healed()` arguments. If the conversation has tool
        results, give all of it to `ChatTemplate.history`, which matches their ids with the calls;
        `ChatTemplate.render` takes messages as they are.
        """
        return template.history([self])[0]
