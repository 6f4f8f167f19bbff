"""The text between a model's output and its next turn, so that history need not be rendered again.

A rendered turn can differ from the sampled output in whitespace, the spelling of a boolean or an
empty argument. The tokens then differ too. The prompt and the output are therefore kept verbatim.
Only the text after the output is rendered: the end of the turn, the new messages and the next
generation prompt.

This text may depend on the earlier conversation. Some templates drop the reasoning of earlier
turns, move the list of tools to the last question, or render a turn differently in history. The
proof renders conversations with different model turns. Each rendering must consist of the unchanged
prompt, the turn, and the same remaining text. If the template renders the output as the model wrote
it, the next prompt is then the prompt, the output and this text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from deltaparse.partial import TemplateError, UsageError
from deltaparse.stream import (
    Content,
    Message,
    Part,
    Reasoning,
    StreamParser,
    ToolCall,
    WireFormat,
)

from .analysis import analyze
from .diff import common_prefix, last_marker
from .next_prompt_turns import (
    KEY,
    WORDS,
    NoBridge,
    answered,
    end_of_texts,
    saying,
    squeezed,
    thoughts_in,
)
from .template.clock import one_moment
from .template.jinja_template import JinjaTemplate

__all__ = ["Bridge", "find_bridge"]

Chat = list[Any]
Given = Mapping[str, Any]

REPLIED, MUSED = "zqrepliedzq", "zqmusedzq"
NEW = "zqnewzq"
OLD, OLD_ID = "zqold", "zqold0001"
OTHERS = ("zqone", "zqtwo")
"""Prefixes of the texts in two substitutes for the output."""

UNFINISHED = frozenset({"truncated_call", "unclosed_reasoning", "cut_marker", "missing_closer"})
"""Issues of a truncated output."""

WHOLE = frozenset({"complete", "repaired", "in_reasoning", "unknown_tool"})
"""Statuses of attempts that ended as calls."""

IN_SOME = ", in some conversations: pass messages= to prove it for one conversation only"
LACKS = "the output lacks {!r}, which history has before the end of the turn"
REWRITTEN = "the text before the turn is rewritten when messages follow"


@dataclass(frozen=True, slots=True)
class Bridge:
    """The text after an output, or the reason why it cannot be proved.

    Attributes:
        text: the missing part of the end of the turn, the new messages and the next generation
            prompt. None if the proof failed.
        reason: why the proof failed, or "".
    """

    text: str | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Suffix:
    """Text after a turn: whitespace, the end marker and the rest.

    `closer` is the preceding marker that closes the last part of the turn, or "".
    """

    closer: str
    space: str
    end: str
    rest: str

    @property
    def text(self) -> str:
        """Return the complete text, starting with the whitespace."""
        return self.space + self.end + self.rest


@one_moment()
def find_bridge(
    template: JinjaTemplate,
    output: str,
    new_messages: Sequence[Any],
    *,
    tools: Any = None,
    messages: Sequence[Any] | None = None,
    switches: Given,
) -> Bridge:
    """Find the text after an output, and prove it by rendering.

    The arguments are the same as for `ChatTemplate.bridge`.

    Raises:
        UsageError: an argument has the wrong type.
    """
    if not isinstance(output, str):
        raise UsageError(f"output must be the sampled text (str), not {type(output).__name__}")
    if isinstance(new_messages, str | Mapping) or not isinstance(new_messages, Sequence):
        kind = type(new_messages).__name__
        raise UsageError(f"new_messages must be a list of messages, not {kind}")
    fmt = analyze(template)
    try:
        proof = _Proof(template, fmt, list(new_messages), tools, switches)
        return Bridge(proof.bridge(output, messages))
    except NoBridge as none:
        return Bridge(None, str(none))


class _Proof:
    """Renderings of conversations with the same switches, tools and new messages."""

    def __init__(
        self, template: JinjaTemplate, fmt: WireFormat, new: Chat, tools: Any, switches: Given
    ) -> None:
        self._template, self._fmt, self._new = template, fmt, new
        self._tools, self._switches = tools, switches
        self._reach: int | None = None
        turn, channels = fmt.turn.ends, fmt.channels.ends
        cores = dict.fromkeys(end.strip() for end in (*turn, *channels))
        self._ends = sorted(filter(None, cores), key=len, reverse=True)

    def bridge(self, output: str, messages: Sequence[Any] | None) -> str:
        """Return the text after `output`.

        Raises:
            NoBridge: the text cannot be proved.
        """
        histories = [list(messages)] if messages is not None else list(self._histories())
        prompts = [(chat, self._render(chat)) for chat in histories]
        known = [(chat, prompt) for chat, prompt in prompts if isinstance(prompt, str)]
        if not known:
            raise NoBridge(f"the template refuses the conversation: {prompts[0][1]}")
        output, stopped = self._without_stop(output, *known[0])
        said = self._said(output, known[0][1])
        others = [saying(said, word) for word in OTHERS]
        (chat, prompt), *more = known
        suffix = self._agreed(chat, prompt, others)
        self._check_same(self._turn(chat, prompt, said), said, output, suffix)
        for chat, prompt in more:
            try:
                other = self._agreed(chat, prompt, others)
            except NoBridge as none:
                raise NoBridge(f"{none}{IN_SOME}") from None
            if other.text != suffix.text:
                raise NoBridge(f"the text after a turn depends on earlier messages{IN_SOME}")
        text = self._behind(output, suffix)
        if not text.lstrip().startswith(stopped):
            raise NoBridge(f"the output ends with {stopped!r}, but the next text is different")
        return text.lstrip().removeprefix(stopped) if stopped else text

    def _without_stop(self, output: str, chat: Chat, prompt: str) -> tuple[str, str]:
        """Split off the start marker of the next message, which some models use as a stop.

        If a template has no end-of-turn marker, this marker ends the turn. Engines may keep it in
        the output.
        """
        text, fmt = output.rstrip(), self._fmt
        stop = last_marker(text)
        own = (*self._ends, *fmt.derived.closers, fmt.content.end, fmt.reasoning.end)
        if not stop or text.endswith(tuple(filter(None, map(str.strip, own)))):
            return output, ""
        call = ToolCall("", OLD, "{}", complete=True)
        thought, said = Reasoning(""), Content("")
        turns: tuple[list[Part], ...] = ([said], [thought, said], [call], [thought, call])
        found = False
        for parts in turns:
            with suppress(NoBridge):
                suffix = self._suffix(chat, prompt, *saying(Message(parts), OTHERS[0]))
                found = found or (not suffix.end and suffix.rest.lstrip().startswith(stop))
            self._reach = None  # it was measured for a different turn
        return (text.removesuffix(stop), stop + output[len(text) :]) if found else (output, "")

    def _agreed(self, chat: Chat, prompt: str, others: list[tuple[Message, str]]) -> _Suffix:
        """Return the text after a turn, if it does not depend on the texts in the turn."""
        one, other = (self._suffix(chat, prompt, *said) for said in others)
        if one.text != other.text:
            raise NoBridge("the text after a turn depends on the turn")
        return one

    def _histories(self) -> Iterator[Chat]:
        """Yield possible earlier conversations. A bridge must be right for all of them."""
        user = {"role": "user", "content": KEY}
        parts: list[Part] = [Reasoning(MUSED), Content(REPLIED)]
        yield [user]
        yield [{"role": "system", "content": "zqrules"}, user]
        yield [user, Message(parts), user]
        if self._tools and self._fmt.derived.has_calls:
            call = ToolCall(OLD_ID, OLD, '{"zqkey": "zqvalue"}', complete=True)
            result = {"role": "tool", "tool_call_id": OLD_ID, "content": "zqgot"}
            yield [user, Message([Reasoning(MUSED), call]), result]

    def _said(self, output: str, prompt: str) -> Message:
        """Parse the output into a message, with the call ids of the new messages."""
        parser = StreamParser(self._fmt, tools=self._tools, prompt=prompt)
        parser.feed(output)
        parser.finish("stop")
        said = parser.message
        for issue in said.issues:
            if issue.kind in UNFINISHED:
                raise NoBridge(f"the output is not a complete turn: {issue.kind}: {issue.detail}")
        for attempt in parser.attempts:
            if attempt.status not in WHOLE:
                status = attempt.status.replace("_", " ")
                raise NoBridge(f"an attempt at a call in the output is {status}")
        kinds = [type(part) for part in said.parts]
        order = [kind for kind in (Reasoning, Content, ToolCall) for one in kinds if one is kind]
        if kinds != order:
            raise NoBridge("the parts of the output have an order that history cannot have")
        proved = self._fmt.proved
        for kind, places in (
            (Reasoning, proved.reasoning),
            (Content, proved.content),
            (ToolCall, proved.calls),
        ):
            if kind in kinds and not places:
                raise NoBridge(f"the template does not show {WORDS[kind]}")
        return answered(said, self._new)

    def _suffix(self, chat: Chat, prompt: str, said: Message, word: str) -> _Suffix:
        """Return the text after a turn whose texts all begin with `word`."""
        turn = self._turn(chat, prompt, said)
        at = end_of_texts(turn, said, word)
        if self._reach is None:
            self._reach = self._room(chat, prompt, said, word)
        room = turn[at : at + self._reach]
        ends = [(room.find(end) + at, -len(end), end) for end in self._ends if end in room]
        if ends:
            start, _, end = min(ends)
        else:
            start, end = self._closed(turn, at, said), ""
        body = turn[:start]
        kept = max(len(body.rstrip()), at)
        closer = next((one for one in self._closers(said) if turn[:kept].endswith(one)), "")
        return _Suffix(closer, body[kept:], end, turn[start + len(end) :])

    def _closed(self, turn: str, at: int, said: Message) -> int:
        """Return the end of a turn without an end marker: after the closers of its last part."""
        if said.tool_calls and not self._closers(said):
            raise NoBridge("no marker ends the turn")
        end = at + (self._reach or 0)
        for closer in self._closers(said):
            if closer in turn[at:end]:
                at = turn.index(closer, at) + len(closer)
        return at

    def _room(self, chat: Chat, prompt: str, said: Message, word: str) -> int:
        """Return the distance from the last text of a turn to the text of the first new message."""
        new = [_saying_new(one) for one in self._new]
        text = self._render([*chat, said, *new])
        if isinstance(text, TemplateError) or not text.startswith(prompt) or NEW not in text:
            return len(prompt)
        turn = text[len(prompt) :]
        return turn.find(NEW) - end_of_texts(turn, said, word)

    def _closers(self, said: Message) -> list[str]:
        """Return the markers that may close the last part of a turn, the innermost first."""
        fmt, kinds = self._fmt, {type(part) for part in said.parts}
        found = [fmt.arguments.end, *reversed(fmt.derived.closers)] if ToolCall in kinds else []
        return [marker.strip() for marker in (*found, fmt.content.end) if marker.strip()]

    def _check_same(self, turn: str, said: Message, output: str, suffix: _Suffix) -> None:
        """Check that the rendered turn has the texts and markers of the output, and its suffix."""
        behind = suffix.text
        if not turn.endswith(behind):
            raise NoBridge("the text after a turn depends on the turn")
        body = turn.removesuffix(behind)
        for part in said.parts:
            if not isinstance(part, ToolCall) and part.text not in body:
                changed = "stripped" if part.text.strip() in body else "rewritten"
                raise NoBridge(f"{WORDS[type(part)]} is {changed} in history")
        reasoning = self._fmt.reasoning
        for marker in filter(None, (reasoning.start.strip(), reasoning.end.strip())):
            if output.count(marker) != body.count(marker):
                what = "is dropped from" if marker in output else "is written into"
                raise NoBridge(f"{marker!r} {what} history")
        shown, written = squeezed(body), squeezed(self._without_end(output))
        if not said.tool_calls and shown != written:
            lacks = shown.removeprefix(written) if shown.startswith(written) else ""
            raise NoBridge(LACKS.format(lacks) if lacks else "the turn is rewritten in history")

    def _without_end(self, output: str) -> str:
        """Return the output without an end-of-turn marker."""
        text = output.rstrip()
        return text.removesuffix(next((end for end in self._ends if text.endswith(end)), ""))

    def _turn(self, chat: Chat, prompt: str, said: Message) -> str:
        """Render this turn and the new messages, and return the text after the prompt."""
        text = self._render([*chat, said, *self._new])
        if isinstance(text, TemplateError):
            raise NoBridge(f"the template refuses the new messages: {text}")
        if text.startswith(prompt):
            return text[len(prompt) :]
        kept = len(common_prefix(prompt, text))
        before = self._render(chat, prompt=False)
        if isinstance(before, TemplateError) or kept < len(common_prefix(before, prompt)):
            gone = any(thought not in text for thought in thoughts_in(chat) if thought in prompt)
            raise NoBridge("reasoning of earlier turns is dropped" if gone else REWRITTEN)
        if any(thought not in text for thought in thoughts_in([said])):
            raise NoBridge("reasoning is dropped from history")
        ending = prompt[len(common_prefix(before, prompt)) :]
        raise NoBridge(f"history does not keep the end of the prompt, {ending!r}")

    def _render(self, chat: Chat, *, prompt: bool = True) -> str | TemplateError:
        try:
            return self._template.render(chat, self._tools, prompt, **self._switches)
        except TemplateError as error:
            return error

    def _behind(self, output: str, suffix: _Suffix) -> str:
        """Return the missing part of the suffix of the output."""
        text = output.rstrip()
        end = next((end for end in self._ends if text.endswith(end)), "")
        if end and end != suffix.end:
            raise NoBridge(f"the output ends with {end!r}, but history with {suffix.end!r}")
        if end:
            space = output[len(text) :]
            if not suffix.rest.startswith(space):
                raise NoBridge(f"the output has other whitespace after {end!r} than history")
            return suffix.rest[len(space) :]
        if not text.endswith(suffix.closer):
            raise NoBridge(LACKS.format(suffix.closer))
        behind = suffix.text
        space = behind[: len(behind) - len(behind.lstrip())]
        while space and not output.endswith(space):
            space = space[:-1]
        return behind[len(space) :]


def _saying_new(message: Any) -> Any:
    """Return a new message with a probe as its text, in the same form of content."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        return {**message, "content": NEW}
    return {**message, "content": [{"type": "text", "text": NEW}]} if content else message
