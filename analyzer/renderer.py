"""Rendering probes: what a template makes of a conversation, or that it refuses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from time import thread_time
from typing import Any, Unpack

from deltaparse.partial import TemplateError

from .brackets import Brackets
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
from .template.chat_template import ChatTemplate
from .template.what_is_read import in_parts
from .trace import Trace

__all__ = ["MAX_SECONDS", "CallStyle", "Renderer"]

MAX_SECONDS = 1.5
"""Of processor time for all renderings of an analysis; those of real templates take 0.1."""


@dataclass(frozen=True, slots=True)
class CallStyle:
    """How a message with calls must be made for a template to show them.

    `content` is what stands beside calls where nothing is said: "", None, `ABSENT` or a text. `ids`
    is the pattern of their ids, of `{id}`, `{name}` and `{at}`, the number of the call, of which
    that of the first is `first`. `answered`: calls that nothing follows are given results.
    """

    content: str | None = ""
    ids: str = "{id}"
    first: int = 0
    answered: bool = False

    def applied(self, messages: Sequence[Message]) -> Iterator[Message]:
        """Yield messages, those with calls in this style, and results with the ids of the calls."""
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


class Renderer:
    """Renders conversations with one template, remembering what came of each.

    A refusal is an answer too: `refusals` has the template's words, for the explanation.
    `exhausted` says that the time for all of them was up: from then on everything is refused.
    `described` are the tools that `TOOLS` stands for, with as much said of them as they need.
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
        self.style = CallStyle()
        self.switched: Mapping[str, Any] = {}
        self.brackets = Brackets()
        # Shared with the renderers that `under` makes.
        self._left = [MAX_SECONDS]
        self._rendered: dict[str, str | None] = {}
        self._refused: dict[str, str] = {}
        self.described: Sequence[Message] = TOOLS
        # Some templates list the tools without asking whether there are any, or demand a system
        # message.
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
        """Whether there is no time left."""
        return self._left[0] <= 0

    @property
    def refusals(self) -> list[str]:
        """The template's words for each conversation that it refused, in order."""
        return [*self._refused.values()]

    def unswitched(self) -> Renderer:
        """Return a renderer for the same template without the switches that `under` has set."""
        other = copy(self)
        kept = self.context.keys() - self.switched.keys()
        other.context = {key: value for key, value in self.context.items() if key in kept}
        other.switched = {}
        return other

    def styled(self, style: CallStyle) -> Renderer:
        """Return a renderer for the same template that writes messages with calls so."""
        other = copy(self)
        other.style = style
        return other

    def of(self, template: ChatTemplate) -> Renderer:
        """Return a renderer for another template that makes conversations as this one does."""
        other = Renderer(template, self.trace, self.context)
        other.style, other.brackets = self.style, self.brackets
        other.described = self.described
        return other

    def with_all_of_tools(self) -> Renderer:
        """Return a renderer for the same template that says more of tools than most ask for."""
        other = copy(self)
        other.described = ALL_OF_TOOLS
        return other

    def with_brackets(self, brackets: Brackets) -> Renderer:
        """Return a renderer for the same template that writes these as plain tags."""
        other = copy(self)
        other.brackets = brackets
        return other

    def under(self, context: Mapping[str, Any]) -> Renderer:
        """Return a renderer for the same template with these switches too."""
        other = copy(self)
        other.context = {**self.context, **context}
        other.switched = {**self.switched, **context}
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
        asked = self._asked(messages, tools, {**(context or {}), "add_generation_prompt": prompt})
        messages, tools, settings = asked
        key = repr(asked)
        if key not in self._rendered:
            self.trace.count()
            self._rendered[key] = self._render(key, messages, tools, settings)
        text = self._rendered[key]
        self.trace.note(messages, {**settings, "tools": bool(tools)}, text)
        return text if text is None else self.brackets.plain(text)

    def refusal(self, messages: Sequence[Message], tools: Sequence[Message]) -> str:
        """The template's words where it refuses a conversation; "" where it does not."""
        self(messages, tools=tools)
        key = repr(self._asked(messages, tools, {"add_generation_prompt": False}))
        return self._refused.get(key, "")

    def _asked(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message] | None,
        context: Mapping[str, Any],
    ) -> tuple[Sequence[Message], Sequence[Message] | None, dict[str, Any]]:
        """A conversation, its tools and settings as the template is given them."""
        tools = self._tools if tools is None else tools
        said = [*self._first, *self.style.applied(messages)]
        messages = in_parts(said, self.template.roles_in_parts)
        return messages, self.described if tools is TOOLS else tools, {**self.context, **context}

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
