"""Rendering of probe conversations, with a cache, a time limit and a record of refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Any, Unpack

from deltaparse.partial import TemplateError

from .diff import after
from .probes import (
    ABSENT,
    ALL_OF_TOOLS,
    CALL_IDS,
    TOOLS,
    USER,
    Message,
    Said,
    assistant,
    result,
    told,
    user,
)
from .split_markers import Brackets
from .template.jinja_template import JinjaTemplate
from .template.template_capabilities import in_parts
from .trace import Trace

__all__ = ["MAX_SECONDS", "CallStyle", "RenderSettings", "Renderer"]

MAX_SECONDS = 1.5
"""Processor time for all renderings of one analysis. Real templates take about 0.1 s."""


@dataclass(frozen=True, slots=True)
class CallStyle:
    """Form of messages with calls that a template accepts and shows.

    Attributes:
        content: the content next to calls if a message has no text: "", None, `ABSENT` or a text.
        ids: a format string for call ids, with `{id}`, `{name}` and `{at}`, the call number.
        first: the number of the first call.
        answered: add tool results after calls at the end of a conversation.
    """

    content: str | None = ""
    ids: str = "{id}"
    first: int = 0
    answered: bool = False

    def applied(self, messages: Sequence[Message]) -> Iterator[Message]:
        """Yield the messages, with calls in this style and results with the ids of these calls."""
        ids: list[str] = []
        open_calls = messages[-1].get("tool_calls", ()) if self.answered and messages else ()
        # A call of a function with another name has the id of the first.
        results = [result(CALL_IDS.index(made["id"])) for made in open_calls]
        for made, answer in zip(open_calls, results, strict=True):
            answer["name"] = made["function"]["name"]
        for message in [*messages, *results]:
            changed = dict(message)
            if calls := message.get("tool_calls"):
                names = [made["function"]["name"] for made in calls]
                ids = [
                    self.ids.format(id=made["id"], name=names[at - self.first], at=at)
                    for at, made in enumerate(calls, self.first)
                ]
                changed["tool_calls"] = [
                    {**made, "id": new} for made, new in zip(calls, ids, strict=True)
                ]
                if message.get("content") == "":
                    changed["content"] = self.content
                if changed.get("content", "") is ABSENT:
                    del changed["content"]
            elif "tool_call_id" in message and ids:
                changed["tool_call_id"] = ids.pop(0)
            yield changed


@dataclass(frozen=True, slots=True)
class RenderSettings:
    """Settings of all renderings of a `Renderer`.

    Attributes:
        context: switches of the template, including `switched`.
        switched: the switches that `Renderer.under` added.
        style: the form of messages with calls.
        described: the tools rendered for `TOOLS`, with optional members if needed.
        brackets: the brackets to write as plain tags.
    """

    context: Mapping[str, Any] = field(default_factory=dict)
    switched: Mapping[str, Any] = field(default_factory=dict)
    style: CallStyle = CallStyle()
    described: Sequence[Message] = field(default_factory=lambda: TOOLS)
    brackets: Brackets = field(default_factory=Brackets)


class Renderer:
    """Renders conversations with one template and caches the results.

    A refusal by the template is also a result. After the time limit (`exhausted`), every rendering
    is refused. Renderers that `under`, `styled` and similar methods return share the cache and the
    time limit.

    Attributes:
        settings: the settings of all renderings.
    """

    def __init__(
        self,
        template: JinjaTemplate,
        trace: Trace | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        self.template = template
        self.trace = trace or Trace()
        self.settings = RenderSettings(context=dict(context or {}))
        # A list, because renderers made by `under` and `styled` share one time limit.
        self._left = [MAX_SECONDS]
        self._rendered: dict[str, str | None] = {}
        self._refused: dict[str, str] = {}
        # Some templates list tools without checking for them, or require a system message.
        self._tools: Sequence[Message] | None = None
        self._first: Sequence[Message] = ()
        for first in ((), (told(),)):
            for given in (None, TOOLS):
                self._first, self._tools = first, given
                if self([user()]) is not None:
                    self._rendered.clear()
                    self._refused.clear()
                    return
        self._first, self._tools = (), None

    @property
    def exhausted(self) -> bool:
        """Return True if no time is left."""
        return self._left[0] <= 0

    @property
    def refusals(self) -> list[str]:
        """Return the template's error message for each refused conversation, in order."""
        return [*self._refused.values()]

    def unswitched(self) -> Renderer:
        """Return a renderer for the same template without the switches set by `under`."""
        context, switched = self.settings.context, self.settings.switched
        kept = {key: value for key, value in context.items() if key not in switched}
        return self._with(context=kept, switched={})

    def styled(self, style: CallStyle) -> Renderer:
        """Return a renderer for the same template with this style of calls."""
        return self._with(style=style)

    def of(self, template: JinjaTemplate) -> Renderer:
        """Return a renderer for another template with the same settings, except for `under`."""
        other = Renderer(template, self.trace, self.settings.context)
        other.settings = replace(self.settings, switched={})
        return other

    def with_all_of_tools(self) -> Renderer:
        """Return a renderer for the same template that passes all optional members of tools."""
        return self._with(described=ALL_OF_TOOLS)

    def with_brackets(self, brackets: Brackets) -> Renderer:
        """Return a renderer for the same template that writes these brackets as plain tags."""
        return self._with(brackets=brackets)

    def under(self, context: Mapping[str, Any]) -> Renderer:
        """Return a renderer for the same template with these additional switches."""
        now = self.settings
        return self._with(context={**now.context, **context}, switched={**now.switched, **context})

    def _with(self, **changes: Any) -> Renderer:
        other = copy(self)
        other.settings = replace(self.settings, **changes)
        return other

    def __call__(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Message] | None = None,
        prompt: bool = False,
        context: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Render a conversation, or return None if the template refuses it.

        `prompt` adds the generation prompt.
        """
        asked = self._asked(messages, tools, {**(context or {}), "add_generation_prompt": prompt})
        messages, tools, settings = asked
        key = repr(asked)
        if key not in self._rendered:
            self.trace.count()
            self._rendered[key] = self._render(key, messages, tools, settings)
        text = self._rendered[key]
        self.trace.note(messages, {**settings, "tools": bool(tools)}, text)
        return text if text is None else self.settings.brackets.plain(text)

    def refusal(self, messages: Sequence[Message], tools: Sequence[Message]) -> str:
        """Return the template's error message for a conversation, or "" if it is accepted."""
        self(messages, tools=tools)
        key = repr(self._asked(messages, tools, {"add_generation_prompt": False}))
        return self._refused.get(key, "")

    def _asked(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message] | None,
        context: Mapping[str, Any],
    ) -> tuple[Sequence[Message], Sequence[Message] | None, dict[str, Any]]:
        """Return the messages, tools and settings as given to the template."""
        tools = self._tools if tools is None else tools
        said = [*self._first, *self.settings.style.applied(messages)]
        messages = in_parts(said, self.template.roles_with_content_parts)
        tools = self.settings.described if tools is TOOLS else tools
        return messages, tools, {**self.settings.context, **context}

    def turn(
        self, *, then: Sequence[Message] = (), prompt: bool = False, **said: Unpack[Said]
    ) -> str | None:
        """Render a user message, an assistant turn and the messages in `then`.

        `said` contains the arguments of `assistant`. Tools are passed only if the turn has calls.
        """
        tools = TOOLS if said.get("calls") else None
        return self([user(), assistant(**said), *then], tools=tools, prompt=prompt)

    def prompt_tail(self, text: str = USER, context: Mapping[str, Any] | None = None) -> str | None:
        """Return the end of a prompt: everything after `USER`, the beginning of `text`.

        This is the rest of the text, the end of the message and the generation prompt.
        """
        rendered = self([user(text)], prompt=True, context=context)
        return None if rendered is None or USER not in rendered else after(rendered, USER)

    def _render(
        self,
        key: str,
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
            self._refused[key] = str(error)
            return None
        finally:
            self._left[0] -= thread_time() - start
