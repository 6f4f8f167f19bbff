"""Rendering probes: what a template makes of a conversation, or that it refuses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from time import thread_time
from typing import Any, Unpack

from deltaparse.partial import TemplateError

from .diff import after
from .probes import SYSTEM, TOOLS, USER, Message, Said, assistant, user
from .template.chat_template import ChatTemplate
from .trace import Trace

__all__ = ["MAX_SECONDS", "Renderer"]

MAX_SECONDS = 1.0
"""Of processor time for all renderings of an analysis; those of real templates take 0.1."""


class Renderer:
    """Renders conversations with one template, remembering what came of each.

    A refusal is an answer too: `refusals` keeps the template's words, for the explanation.
    `exhausted` says that the time for all of them was up: from then on everything is refused.
    `context` has the switches of the template with which all is rendered, if any; `under` others.
    """

    def __init__(
        self,
        template: ChatTemplate,
        trace: Trace | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        self.template = template
        self.trace = trace or Trace()
        self.context = dict(context or {})
        self.refusals: list[str] = []
        # Shared with the renderers that `under` makes.
        self._left = [MAX_SECONDS]
        self._rendered: dict[str, str | None] = {}
        # Some templates list the tools without asking whether there are any, or demand a system
        # message.
        self._tools: Sequence[Message] | None = None
        self._first: Sequence[Message] = ()
        system: Message = {"role": "system", "content": SYSTEM}
        for first in ((), (system,)):
            for given in (None, TOOLS):
                self._first, self._tools = first, given
                if self([user()]) is not None:
                    self._rendered.clear()
                    self.refusals.clear()
                    return
        self._first, self._tools = (), None

    @property
    def exhausted(self) -> bool:
        """Whether there is no time left."""
        return self._left[0] <= 0

    @property
    def count(self) -> int:
        """How many conversations were rendered."""
        return len(self._rendered)

    def under(self, context: Mapping[str, Any]) -> Renderer:
        """Return a renderer for the same template with these switches too."""
        other = copy(self)
        other.context = {**self.context, **context}
        return other

    def __call__(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Message] | None = None,
        prompt: bool = False,
        context: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Render; `prompt` adds the generation prompt. None when the template refuses."""
        tools = self._tools if tools is None else tools
        messages = [*self._first, *messages]
        settings = {**self.context, **(context or {}), "add_generation_prompt": prompt}
        key = repr((messages, tools, settings))
        if key not in self._rendered:
            self._rendered[key] = self._render(messages, tools, settings)
        text = self._rendered[key]
        self.trace.note(messages, {**settings, "tools": bool(tools)}, text)
        return text

    def turn(
        self, *, then: Sequence[Message] = (), prompt: bool = False, **said: Unpack[Said]
    ) -> str | None:
        """Render a conversation in which the model answers the user, and `then` follows.

        `said` is what `assistant` takes. The tools are shown where one is called.
        """
        tools = TOOLS if said.get("calls") else None
        return self([user(), assistant(**said), *then], tools=tools, prompt=prompt)

    def prompt_tail(self, text: str = USER, context: Mapping[str, Any] | None = None) -> str | None:
        """What a prompt has after `USER`, with which the user's `text` begins.

        That is the rest of the text, the end of the message and the generation prompt.
        """
        rendered = self([user(text)], prompt=True, context=context)
        return None if rendered is None or USER not in rendered else after(rendered, USER)

    def _render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message] | None,
        settings: Mapping[str, Any],
    ) -> str | None:
        limits, start = self.template.limits, thread_time()
        if self.exhausted:
            return None
        limits = replace(limits, seconds=min(limits.seconds, self._left[0]))
        try:
            return self.template.render_within(limits, messages, tools, settings)
        except TemplateError as error:
            self.refusals.append(str(error))
            return None
        finally:
            self._left[0] -= thread_time() - start
