"""Chat templates, which render a conversation to the prompt of a model.

Templates run in the same environment as in transformers' `apply_chat_template`, so they render the
same text. They are untrusted input, so they run in a `sandbox` with `Limits`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from jinja2 import Template
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.exceptions import TemplateSyntaxError

from deltaparse.partial import TemplateError, UsageError
from deltaparse.stream.message.message import Message as ParsedMessage
from deltaparse.stream.tools import Tools

from .arguments_shape import PROBE_LIMITS, SHAPES, Shape, wanted_shape, with_shape
from .budget import LimitExceeded, Limits
from .clock import time_of_day
from .compiled import Program, compiled
from .history import as_read
from .loading import load_template
from .plain_values import plain_copy, plain_dicts
from .safe_repr import without_addresses
from .template_capabilities import (
    CallCapabilities,
    Probes,
    call_capabilities,
    in_parts,
    joins_content_parts,
    reads_result_names,
    reasoning_excludes_content,
    reasoning_key,
    roles_with_content_parts,
    settings_of,
)
from .template_globals import Refusal
from .tool_members import with_all_members

__all__ = ["JinjaTemplate"]

# Defaults for variables that the model card of Firefunction v2 asks the caller to pass: the tools
# as JSON text, and the time of day.
CARD_NAMES: dict[str, Callable[[list[Any] | None], str]] = {
    "functions": lambda tools: json.dumps(tools, indent=2, ensure_ascii=False) if tools else "",
    "datetime": lambda _: time_of_day().strftime("%Y-%m-%d %H:%M:%S"),
}

REASONING = ("reasoning_content", "thinking", "reasoning")
"""Keys of reasoning in a message. Most templates read the first, gpt-oss reads the second."""

Message = dict[str, Any]


@dataclass(frozen=True, repr=False, eq=False)
class JinjaTemplate:
    """A chat template that renders conversations; `ChatTemplate` documents its arguments."""

    source: str
    bos_token: str = ""
    eos_token: str = ""
    limits: Limits = field(default=Limits(), kw_only=True, compare=False)
    added_tokens: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        for name in ("source", "bos_token", "eos_token"):
            value = getattr(self, name)
            if not isinstance(value, str):
                wanted = "a str of Jinja source" if name == "source" else 'a str (default: "")'
                raise UsageError(f"{name} must be {wanted}, not {type(value).__name__}")
        if not isinstance(self.limits, Limits):
            raise UsageError(f"limits must be Limits(...), not {type(self.limits).__name__}")
        self._program  # noqa: B018 - compiles now, so that errors are raised here

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.source, self.bos_token, self.eos_token, self.added_tokens

    # Subclasses are equal too, so that the cache of analyses serves both classes.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JinjaTemplate):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @classmethod
    def load(cls, source: object, name: str | None = None) -> Self:
        """Load the chat template of a model, with its special tokens.

        Args:
            source: a tokenizer (any object with `chat_template`, `bos_token` and `eos_token`), a
                processor with a tokenizer, or the path of a `.jinja` file, a
                `tokenizer_config.json`, a model folder or a GGUF file.
            name: the name of the template, if there are several. Default: "tool_use", or else
                "default".

        Returns:
            The compiled template.

        Raises:
            UsageError: the source has no template, or no template with this name.
            TemplateError: the template does not compile.
        """
        made = load_template(source, name)
        return cls(made.source, made.bos_token, made.eos_token, added_tokens=made.added_tokens)

    def render(
        self,
        /,
        messages: Sequence[Mapping[str, Any] | ParsedMessage],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        **context: Any,
    ) -> str:
        """Render a conversation.

        Args:
            messages: messages in OpenAI's format, as dicts or as objects of the OpenAI client.
                Parsed `Message` objects are accepted too. They are adapted as by `history`.
            tools: tools in OpenAI's format, with JSON schemas.
            add_generation_prompt: append the generation prompt, which starts the model's turn.
            context: other variables of the template, for example `enable_thinking`. `variables`
                lists them. Any name is allowed, except the names of the other arguments.

        Returns:
            The rendered text.

        Raises:
            TemplateError: the template refuses the conversation (the message is the text of its
                `raise_exception`), fails, or exceeds its limits.
            UsageError: an argument has the wrong type.
        """
        context["add_generation_prompt"] = add_generation_prompt
        return self.render_within(self.limits, as_read(self, messages), tools, context)

    def history(self, messages: Sequence[Mapping[str, Any] | ParsedMessage]) -> list[Message]:
        """Return the messages of a conversation in the form that this template accepts.

        `render` calls this method itself. Use it for other renderers, for example
        `tokenizer.apply_chat_template(...)`. Only parts that the template would refuse, omit or
        misread are changed:

        - Arguments of calls are converted to objects or JSON text. Truncated JSON is completed,
          and arguments that are not an object are replaced by an empty object.
        - Content is removed from messages with reasoning and calls, if the template refuses it.
        - Missing content next to calls is written as "" or None, or its key is removed.
        - Reasoning is moved to the key used by the template.
        - Call ids, also in tool results, are converted to the required form.
        - Tool results get the name of their tool, if the template reads it.
        - Text content is converted to a list with one part, if the template requires a list.

        Args:
            messages: the conversation, as for `render`.

        Returns:
            New messages. The given messages are not changed.

        Raises:
            UsageError: `messages` is not a list of messages.
        """
        return with_shape(as_read(self, messages), self._known_shape)

    def render_within(
        self,
        limits: Limits,
        messages: Iterable[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        context: Mapping[str, Any],
    ) -> str:
        """Render already adapted messages within the given limits."""
        chat = [_with_reasoning_keys(message) for message in messages]
        schemas = None
        if tools is not None:
            listed = list(tools) if isinstance(tools, Tools) else tools
            schemas = plain_dicts("tools", listed, "{'type': 'function', 'function': {...}}")
        if context.get("documents") is not None:
            plain_dicts("documents", context["documents"], "{'title': '...', 'text': '...'}")
        context = plain_copy("context", context)
        shapes: tuple[Shape | None, ...] = (None,)
        if any(message.get("tool_calls") or message.get("function_call") for message in chat):
            shapes = (self._known_shape,) if self._known_shape else SHAPES
        return self._run(chat, schemas, context, shapes, limits)

    @property
    def variables(self) -> frozenset[str]:
        """Return the names read but not defined by the template.

        `render` accepts these as keyword arguments.
        """
        return self._program.variables

    @property
    def constants(self) -> tuple[str, ...]:
        """Return the distinct texts of the template, plain or quoted, in the order of its tree."""
        return self._program.constants

    @property
    def keys(self) -> frozenset[str]:
        """Return the names of attributes and items read by the template."""
        return self._program.keys

    @property
    def content_part_keys(self) -> frozenset[str]:
        """Return the names that the template reads from contents that are objects."""
        return self._program.content_part_keys

    @property
    def switches(self) -> frozenset[str]:
        """Return the `variables` that the template does not set itself, or only as a default."""
        return self._program.switches

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """Return the texts that the template compares each of its `variables` with."""
        return self._program.choices

    @property
    def searched_constants(self) -> tuple[str, ...]:
        """Return the `constants` that the template may search for in its input."""
        return self._program.searched_constants

    @property
    def arguments_shape(self) -> Shape:
        """Return the form of call arguments that the template expects: "object" or "string".

        The form is found by rendering a call both ways. "string" is JSON text. "object" is also
        returned if the template accepts both or shows no calls.
        """
        return self._known_shape or "object"

    @cached_property
    def call_capabilities(self) -> CallCapabilities:
        """Return the form of messages with calls that this template shows."""
        return call_capabilities(self._probes)

    @cached_property
    def reasoning_key(self) -> str:
        """Return the key of a message whose reasoning this template shows, or "".

        `content.thinking` is a part of the content with the type "thinking".
        """
        settings = settings_of(self.switches, self.choices)
        return reasoning_key(self._probes, self.keys, list(settings))

    @cached_property
    def reads_result_names(self) -> bool:
        """Return True if this template shows the name of the tool in tool results."""
        return reads_result_names(self._probes, self.call_capabilities.ids)

    @cached_property
    def reasoning_excludes_content(self) -> bool:
        """Return True if this template refuses content and reasoning in one message with calls."""
        key = self.reasoning_key
        return bool(key) and reasoning_excludes_content(
            self._probes, self.call_capabilities.ids, key
        )

    @cached_property
    def roles_with_content_parts(self) -> frozenset[str]:
        """Return the roles whose messages are shown only if their content is a list of parts."""
        if "text" not in self.keys:
            return frozenset()
        return roles_with_content_parts(
            Probes(lambda chat, tools, more: self._run(chat, tools, more, SHAPES, PROBE_LIMITS))
        )

    def joins_content_parts(self, role: str) -> bool:
        """Return True if a list of parts must be joined to one text for this role."""
        if role not in self._joined:
            self._joined[role] = joins_content_parts(self._probes, role)
        return self._joined[role]

    @cached_property
    def _joined(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _probes(self) -> Probes:
        def render(
            chat: list[Message], tools: list[Message] | None, context: Mapping[str, Any]
        ) -> str:
            shapes: tuple[Shape | None, ...] = (None,)
            if any(message.get("tool_calls") for message in chat):
                shapes = (self._known_shape,) if self._known_shape else SHAPES
            chat = in_parts(chat, self.roles_with_content_parts)
            return self._run(chat, tools, context, shapes, PROBE_LIMITS)

        return Probes(render)

    @cached_property
    def _program(self) -> Program:
        try:
            return compiled(self.source, self.limits)
        except Exception as error:
            raise TemplateError(_explained(error)) from error

    @cached_property
    def _known_shape(self) -> Shape | None:
        first, roles = self._probes.first, self.roles_with_content_parts

        def render(chat: list[Message], tools: list[Message] | None, shape: Shape) -> str:
            said = in_parts([*first, *chat], roles)
            return self._run(said, tools, {}, (shape,), PROBE_LIMITS)

        return wanted_shape(render)

    def _run(
        self,
        chat: list[Message],
        tools: list[Message] | None,
        context: Mapping[str, Any],
        shapes: Sequence[Shape | None],
        limits: Limits,
    ) -> str:
        """Render with the first of `shapes` that the template accepts. None leaves `chat` as is.

        If the template fails without refusing the conversation, try again with all optional
        members of tools.
        """
        try:
            return self._run_with(chat, tools, context, shapes, limits)
        except TemplateError as error:
            whole = tools and with_all_members(tools)
            if whole == tools or isinstance(error.__cause__, Refusal | LimitExceeded):
                raise
            try:
                return self._run_with(chat, whole, context, shapes, limits)
            except TemplateError:
                pass
            raise

    def _run_with(
        self,
        chat: list[Message],
        tools: list[Message] | None,
        context: Mapping[str, Any],
        shapes: Sequence[Shape | None],
        limits: Limits,
    ) -> str:
        """Render with these tools and the first of `shapes` that the template accepts."""
        program = self._program
        wanted = program.variables & CARD_NAMES.keys()
        cards: dict[str, Any] = {name: CARD_NAMES[name](tools) for name in wanted}
        if "functions" in program.taken_apart:
            cards["functions"] = [tool.get("function", tool) for tool in tools or ()]
        tokens = {"bos_token": self.bos_token, "eos_token": self.eos_token}
        variables = {"documents": None, **tokens, **cards, **context, "tools": tools}
        errors = []
        for shape in shapes:
            variables["messages"] = with_shape(chat, shape)
            try:
                return program.room.run(program.template, variables, limits)
            except Exception as error:  # noqa: BLE001 - a template can raise anything
                errors.append(error)
                if isinstance(error, LimitExceeded):
                    break
        raise TemplateError(_explained(errors[0], program.template)) from errors[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.source)} characters>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled code cannot be pickled; it is compiled again where it arrives.
        tokens = (self.bos_token, self.eos_token, self.added_tokens)
        return _restored, (type(self), self.source, *tokens, self.limits)


def _restored(
    kind: type[JinjaTemplate],
    source: str,
    bos_token: str,
    eos_token: str,
    added_tokens: tuple[str, ...],
    limits: Limits,
) -> JinjaTemplate:
    return kind(source, bos_token, eos_token, limits=limits, added_tokens=added_tokens)


def _explained(error: Exception, template: Template | None = None) -> str:
    """Describe an error and its place in the template in one line."""
    words = " ".join(str(error).split())
    if isinstance(error, Refusal):
        return words or "the chat template refuses the conversation"
    words = without_addresses(words)
    place = f" at line {line}" if (line := _line(error, template)) else ""
    if isinstance(error, LimitExceeded):
        return f"the chat template exceeds its limits{place}: {words}"
    if isinstance(error, TemplateSyntaxError):
        words = str(error.message)
    elif isinstance(error, RecursionError):
        words = "it is nested too deeply"
    elif not isinstance(error, JinjaError):
        words = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return f"the chat template {'fails' if template else 'does not compile'}{place}: {words}"


def _line(error: Exception, template: Template | None) -> int | None:
    """Return the template line of the error."""
    line = error.lineno if isinstance(error, TemplateSyntaxError) else None
    trace = error.__traceback__
    while template is not None and trace is not None:
        running: object = trace.tb_frame.f_globals.get("__jinja_template__")
        if running is template:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


def _with_reasoning_keys(message: Mapping[str, Any]) -> Message:
    """Return the message with its reasoning under the most common keys."""
    given = [message[name] for name in REASONING if message.get(name) is not None]
    if not given:
        return dict(message)
    return {"thinking": given[0], **message, "reasoning_content": given[0]}
