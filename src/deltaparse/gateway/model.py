"""The model behind an upstream: its template, its format, and the switches that make it reason."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from deltaparse.analyzer import ChatTemplate
from deltaparse.analyzer.reasoning_switches import reasoning_switches
from deltaparse.partial import TemplateError
from deltaparse.protocols import Request
from deltaparse.stream import (
    CallPlace,
    IdFactory,
    StreamParser,
    WireFormat,
    mistral_call_id,
    random_call_id,
)

from .faults import Fault, refusing

__all__ = ["Model", "Thinking"]

OWN = ("messages", "tools", "add_generation_prompt", "bos_token", "eos_token")
"""What a client may not set in the place of the gateway."""

EFFORT = "reasoning_effort"
HI = [{"role": "user", "content": "Hi"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """What a request says of reasoning.

    on: whether there is to be any, None if it does not say.
    effort: how much, in a word.
    budget: how many tokens at most, None for any number.
    shown: whether the client is sent it.
    switches: values for switches of the template, by name.
    """

    on: bool | None = None
    effort: str | None = None
    budget: int | None = None
    shown: bool = True
    switches: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """A template and the format that it writes."""

    template: ChatTemplate
    fmt: WireFormat

    def prompt(self, request: Request, thinking: Thinking, *, continues: bool = False) -> str:
        """Render the prompt of a request.

        Args:
            request: what is asked.
            thinking: what it says of reasoning.
            continues: whether the last message is the beginning of the answer.

        Raises:
            Fault: the template refuses the conversation, or cannot be continued within its last
                message; or a switch is none of the client's.
        """
        for name in OWN:
            if name in thinking.switches:
                raise Fault(f"chat_template_kwargs: {name} is not the client's to set")
        switches = {**self._switched(thinking), **thinking.switches}
        tools = shown_tools(request)
        with refusing():
            if continues:
                return self._continued(request.messages, tools, switches)
            return self._rendered(
                request.messages, tools, {**switches, "add_generation_prompt": True}
            )

    def forced_end(self, output: str, prompt: str) -> str:
        """Return the text that ends reasoning in a turn, "" if the format has none.

        Args:
            output: what the model wrote so far.
            prompt: the rendered prompt.
        """
        fmt = self.fmt
        if fmt.derived.has_channels:
            # The message ends, and another begins.
            ends = [end for end in fmt.channels.ends if end not in fmt.turn.ends]
            return ends[0] + fmt.turn.headers[0] if ends and fmt.turn.headers else ""
        turn = fmt.derived.turn_so_far(prompt) + output
        return fmt.derived.reasoning_in(turn)[1]

    def prepare(self) -> None:
        """Find out what requests will ask for, before the first one waits for it."""
        self.id_factory, self._turns_on  # noqa: B018

    def _continued(
        self, messages: Sequence[Mapping[str, Any]], tools: Any, switches: Mapping[str, Any]
    ) -> str:
        """Render a conversation up to the end of the text of its last message.

        Where that is, a text tells that nobody could have written. What stands before it must end
        with the text as it was given, and a parser must take it for what it is: a template that
        writes it otherwise cannot be continued.
        """
        *before, last = messages
        key = "content"
        if not last.get("content") and last.get("reasoning_content"):
            key = "reasoning_content"
        text, mark = last.get(key) or "", secrets.token_hex(12)
        if last.get("tool_calls"):
            raise Fault("the last message has tool calls: it cannot be continued", param="messages")
        marked = {**last, key: text + mark}
        rendered = self._rendered([*before, marked], tools, switches)
        prompt, found, behind = rendered.partition(mark)
        if found and mark not in behind and prompt.endswith(text.lstrip()):
            if StreamParser(self.fmt, prompt=prompt).in_reasoning is (key != "content"):
                return prompt
        message = "the template writes no assistant's message that could be continued"
        raise Fault(message, param="messages")

    @cached_property
    def id_factory(self) -> IdFactory:
        """What makes the ids of calls: random, in a spelling that the template takes back.

        Some templates refuse all ids but those of nine letters and digits.
        """
        for make in (random_call_id, _random_short_id):
            id = make(CallPlace(name="f", index=0, offset=0, prompt=""))
            call = {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
            result = {"role": "tool", "tool_call_id": id, "name": "f", "content": "1"}
            try:
                self.template.render([*HI, {"role": "assistant", "tool_calls": [call]}, result])
            except TemplateError:
                continue
            return make
        return random_call_id

    def _rendered(self, messages: Any, tools: Any, context: Mapping[str, Any]) -> str:
        """Render a conversation; without tools, a template may want none of them as a list."""
        try:
            return self.template.render(messages, tools=tools, **context)
        except TemplateError:
            if tools is not None:
                raise
            try:
                return self.template.render(messages, tools=[], **context)
            except TemplateError:
                pass
            raise

    def _switched(self, thinking: Thinking) -> dict[str, Any]:
        """Return the values of switches that do what a request says of reasoning."""
        switches: dict[str, Any] = {}
        if thinking.on is not None:
            switches |= {name: value == thinking.on for name, value in self._turns_on.items()}
        if thinking.effort is not None and EFFORT in self.template.variables:
            switches[EFFORT] = thinking.effort
        return switches

    @cached_property
    def _turns_on(self) -> dict[str, bool]:
        """The switches that turn reasoning on or off, each with the value that turns it on."""
        found = reasoning_switches(self.template, self.fmt)
        found.pop(EFFORT, None)  # it takes a word
        return found


def _random_short_id(place: CallPlace) -> str:
    return mistral_call_id(replace(place, prompt=secrets.token_hex(12)))


def shown_tools(request: Request) -> list[Mapping[str, Any]] | None:
    """Return the tools that the template shows: those that may be called.

    A template that knows no tools is not asked to show them.
    """
    choice = request.choice
    if request.tools is None or choice.mode == "none":
        return None
    allowed = choice.allowed
    shown = [tool for tool in request.tools if not allowed or tool["function"]["name"] in allowed]
    return shown or None
