"""Rendering probes: what a template makes of a conversation, or that it refuses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import thread_time
from typing import Any

from deltaparse.partial import TemplateError

from .probes import SYSTEM, TOOLS, user
from .template.chat_template import ChatTemplate
from .trace import Trace

__all__ = ["MAX_SECONDS", "Renderer"]

MAX_SECONDS = 1.0
"""Of processor time for all renderings of an analysis; those of real templates take 0.1."""


class Renderer:
    """Renders conversations with one template, remembering what came of each.

    A refusal is an answer too: `refusals` keeps the template's words, for the explanation.
    `exhausted` says that the time for all of them was up: from then on everything is refused.
    """

    def __init__(self, template: ChatTemplate, trace: Trace | None = None) -> None:
        self.template = template
        self.trace = trace or Trace()
        self.refusals: list[str] = []
        self._seconds = MAX_SECONDS
        self._rendered: dict[str, str | None] = {}
        # Some templates list the tools without asking whether there are any, or want to be told
        # by a system message first.
        self._tools: Sequence[Mapping[str, Any]] | None = None
        self._first: Sequence[Mapping[str, Any]] = ()
        told: Mapping[str, Any] = {"role": "system", "content": SYSTEM}
        for first in ((), (told,)):
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
        return self._seconds <= 0

    def __call__(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prompt: bool = False,
        context: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Render; `prompt` adds the generation prompt. None when the template refuses."""
        tools = self._tools if tools is None else tools
        messages = [*self._first, *messages]
        settings = {**(context or {}), "add_generation_prompt": prompt}
        key = repr((messages, tools, settings))
        if key not in self._rendered:
            self._rendered[key] = self._render(messages, tools, settings)
        text = self._rendered[key]
        self.trace.note(messages, {**settings, "tools": bool(tools)}, text)
        return text

    def _render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        settings: Mapping[str, Any],
    ) -> str | None:
        limits, start = self.template.limits, thread_time()
        if self.exhausted:
            return None
        limits = replace(limits, seconds=min(limits.seconds, self._seconds))
        try:
            return self.template.render_within(limits, messages, tools, settings)
        except TemplateError as error:
            self.refusals.append(str(error))
            return None
        finally:
            self._seconds -= thread_time() - start
