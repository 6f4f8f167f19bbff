"""The model of an upstream: its template, its format, and its reasoning switches."""

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
"""Template variables reserved for the gateway."""

EFFORT = "reasoning_effort"
HI = [{"role": "user", "content": "Hi"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """The reasoning options of a request.

    on: True or False to switch reasoning on or off, None for the default.
    effort: the reasoning effort, e.g. "low".
    budget: the limit of reasoning tokens, None for no limit.
    shown: include reasoning in the response.
    switches: values of template variables, by name.
    """

    on: bool | None = None
    effort: str | None = None
    budget: int | None = None
    shown: bool = True
    switches: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """A template and its format."""

    template: ChatTemplate
    fmt: WireFormat

    def prompt(self, request: Request, thinking: Thinking, *, continues: bool = False) -> str:
        """Render the prompt of a request.

        Args:
            request: the request.
            thinking: its reasoning options.
            continues: the last message is the beginning of the response.

        Raises:
            Fault: the template rejects the conversation, cannot continue its last message, or a
                switch is reserved for the gateway.
        """
        for name in OWN:
            if name in thinking.switches:
                raise Fault(f"chat_template_kwargs: {name} is reserved for the gateway")
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
            output: the output so far.
            prompt: the rendered prompt.
        """
        fmt = self.fmt
        if fmt.derived.has_channels:
            # In channels, a new message follows the reasoning message.
            ends = [end for end in fmt.channels.ends if end not in fmt.turn.ends]
            return ends[0] + fmt.turn.headers[0] if ends and fmt.turn.headers else ""
        turn = fmt.derived.turn_so_far(prompt) + output
        return fmt.derived.reasoning_in(turn)[1]

    def prepare(self) -> None:
        """Compute the cached properties before the first request needs them."""
        self.id_factory, self._turns_on  # noqa: B018

    def _continued(
        self, messages: Sequence[Mapping[str, Any]], tools: Any, switches: Mapping[str, Any]
    ) -> str:
        """Render a conversation up to the end of the text of its last message.

        A random mark at the end of the text locates that position. The prompt before it must end
        with the unchanged text, and the parser must read the text as the same part. Otherwise the
        template does not support continuation.
        """
        *before, last = messages
        key = "content"
        if not last.get("content") and last.get("reasoning_content"):
            key = "reasoning_content"
        text, mark = last.get(key) or "", secrets.token_hex(12)
        if last.get("tool_calls"):
            raise Fault(
                "cannot continue the last message, because it has tool calls", param="messages"
            )
        marked = {**last, key: text + mark}
        rendered = self._rendered([*before, marked], tools, switches)
        prompt, found, behind = rendered.partition(mark)
        if found and mark not in behind and prompt.endswith(text.lstrip()):
            if StreamParser(self.fmt, prompt=prompt).in_reasoning is (key != "content"):
                return prompt
        message = "the template does not support continuing an assistant message"
        raise Fault(message, param="messages")

    @cached_property
    def id_factory(self) -> IdFactory:
        """The factory of call ids: random, in a form accepted by the template.

        Some templates reject all ids except nine letters and digits.
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
        """Render a conversation. Some templates require a missing tool list as an empty list."""
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
        """Return the template variables for the reasoning options."""
        switches: dict[str, Any] = {}
        if thinking.on is not None:
            switches |= {name: value == thinking.on for name, value in self._turns_on.items()}
        if thinking.effort is not None and EFFORT in self.template.variables:
            switches[EFFORT] = thinking.effort
        return switches

    @cached_property
    def _turns_on(self) -> dict[str, bool]:
        """The variables that switch reasoning, each with the value that switches it on."""
        found = reasoning_switches(self.template, self.fmt)
        found.pop(EFFORT, None)  # its values are strings
        return found


def _random_short_id(place: CallPlace) -> str:
    return mistral_call_id(replace(place, prompt=secrets.token_hex(12)))


def shown_tools(request: Request) -> list[Mapping[str, Any]] | None:
    """Return the callable tools for the template, or None instead of an empty list.

    Some templates do not support tools and must not receive an empty list.
    """
    choice = request.choice
    if request.tools is None or choice.mode == "none":
        return None
    allowed = choice.allowed
    shown = [tool for tool in request.tools if not allowed or tool["function"]["name"] in allowed]
    return shown or None
