"""Rendering probes: what a template makes of a conversation, or that it refuses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltaparse.partial import TemplateError

from .probes import TOOLS, user
from .template import ChatTemplate

__all__ = ["Renderer"]


class Renderer:
    """Renders conversations with one template, remembering what came of each.

    A refusal is an answer too: `refusals` keeps the template's words, for the explanation.
    """

    def __init__(self, template: ChatTemplate) -> None:
        self.template = template
        self.refusals: list[str] = []
        self._rendered: dict[str, str | None] = {}
        # Some templates list the tools without asking whether there are any.
        self._tools: Sequence[Mapping[str, Any]] | None = None
        if self([user()]) is None and self([user()], tools=TOOLS) is not None:
            self._tools = TOOLS
            self._rendered.clear()
            self.refusals.clear()

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
        key = repr((messages, tools, prompt, context))
        if key not in self._rendered:
            self._rendered[key] = self._render(messages, tools, prompt, context or {})
        return self._rendered[key]

    def _render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        prompt: bool,
        context: Mapping[str, Any],
    ) -> str | None:
        try:
            return self.template.render(
                [dict(message) for message in messages],
                tools=None if tools is None else [dict(tool) for tool in tools],
                add_generation_prompt=prompt,
                **context,
            )
        except TemplateError as error:
            self.refusals.append(str(error))
            return None
