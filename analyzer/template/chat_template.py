"""Chat templates: a conversation in, the text that the model reads out.

What a template finds is what it finds in transformers' `apply_chat_template`, so the same template
renders to the same text. Templates are hostile input all the same: they run in a `sandbox`, under
`Limits`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
from .library import Refusal
from .loading import load_template
from .plain_values import plain_copy, plain_dicts
from .shown import without_addresses
from .tool_members import with_all_members
from .what_is_read import (
    CallsRead,
    Probes,
    calls_read,
    in_parts,
    joins_parts,
    reads_names_of_results,
    reasoning_key,
    refuses_both,
    roles_in_parts,
    settings_of,
)

if TYPE_CHECKING:
    from ..bridge import Bridge

__all__ = ["ChatTemplate"]

# Names that model cards ask the caller to pass, and what they are where the caller does not.
# Both come from Firefunction v2: the tools as JSON text, and the time of day.
CARD_NAMES: dict[str, Callable[[list[Any] | None], str]] = {
    "functions": lambda tools: json.dumps(tools, indent=2, ensure_ascii=False) if tools else "",
    "datetime": lambda _: time_of_day().strftime("%Y-%m-%d %H:%M:%S"),
}

REASONING = ("reasoning_content", "thinking", "reasoning")
"""What a message's reasoning is called; most templates read the first, gpt-oss the second."""

Message = dict[str, Any]


@dataclass(frozen=True, repr=False)
class ChatTemplate:
    """A chat template in Jinja, compiled once.

    Equal and hashable by source and tokens. `limits` bound what a rendering may use; `added_tokens`
    are the tokens that the tokenizer adds to its plain vocabulary, if they are known.

    It renders as transformers does, and also where transformers would fail:

    - A tool call's `arguments` may be given as an object or as its JSON text; the template gets
      the one it wants, `arguments_shape`. Truncated JSON is completed. Arguments that hold no
      object, and missing ones, become an empty object.
    - Where the template needs what a tool need not have, the tool has an empty one: a description,
      its own or an argument's, and the schema of an object without members.
    - `tojson` writes whatever can be iterated over as a list.
    - A template may `append` to a list that it made itself, and `pop` from it.
    - Where the template reads `functions` or `datetime` and the caller does not pass it, it is
      the tools as JSON text ("" without tools), or the time of day: the cards of such models ask
      for that. Where it takes `functions` apart, it gets a list of them.

    Jinja's `lipsum` and the `encode` of strings are not available.

    Raises:
        TemplateError: `source` does not compile.
        UsageError: an argument is not a text.
    """

    source: str
    bos_token: str = ""
    eos_token: str = ""
    limits: Limits = field(default=Limits(), kw_only=True, compare=False)
    added_tokens: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        for name in ("source", "bos_token", "eos_token"):
            value = getattr(self, name)
            if not isinstance(value, str):
                wanted = "the text of a template" if name == "source" else 'a text ("" for none)'
                raise UsageError(f"{name} must be {wanted}, not {type(value).__name__}")
        if not isinstance(self.limits, Limits):
            raise UsageError(f"limits must be Limits(...), not {type(self.limits).__name__}")
        self._program  # noqa: B018 - errors show now, not at the first rendering

    @classmethod
    def load(cls, source: object, name: str | None = None) -> ChatTemplate:
        """Load a template with its special tokens from where models keep it.

        Args:
            source: a tokenizer (anything with `chat_template`, `bos_token` and `eos_token`), a
                processor that has one, or the path of a `.jinja` file, a `tokenizer_config.json`,
                a model's folder, or a GGUF file.
            name: which of several named templates; "tool_use" or "default" where none is asked for.

        Raises:
            UsageError: there is no template, or none of this name.
            TemplateError: it does not compile.
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
            messages: messages in OpenAI's form, as dicts or as objects of its client, and
                `Message`s of a parser. They are adapted as by `history`.
            tools: tools in OpenAI's form, with JSON schemas.
            add_generation_prompt: end with the generation prompt, which begins the model's answer.
            context: other variables that the template reads, such as `enable_thinking`; see
                `variables`. Any name is allowed, except those of the other arguments.

        Raises:
            TemplateError: the template refuses the conversation (`raise_exception`, its own
                words), fails, or asks for more than its limits.
            UsageError: an argument has the wrong type.
        """
        context["add_generation_prompt"] = add_generation_prompt
        return self.render_within(self.limits, as_read(self, messages), tools, context)

    def history(self, messages: Sequence[Mapping[str, Any] | ParsedMessage]) -> list[Message]:
        """Return the messages of a conversation as this template takes them back.

        Only what the template would refuse, leave out or misread is changed: arguments of calls
        become objects or text: truncated JSON is completed, arguments that hold no object become
        an empty one; content is left out
        if the template refuses it beside reasoning and calls; missing content beside calls becomes
        "", None or is left out; reasoning goes under the key that is read; ids get the form that
        is asked for, in tool results too; a tool result gets the name of its tool if that is read;
        a text becomes a list of one part if the template takes contents apart. `render` does this
        itself; call it for another renderer, such as `tokenizer.apply_chat_template(...)`.

        Raises:
            UsageError: `messages` is not a list of messages.
        """
        return with_shape(as_read(self, messages), self._known_shape)

    def bridge(
        self,
        /,
        output: str,
        new_messages: Sequence[Mapping[str, Any] | ParsedMessage],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        messages: Sequence[Mapping[str, Any] | ParsedMessage] | None = None,
        **switches: Any,
    ) -> str | None:
        """Return the text that goes behind a prompt and its output to make the next prompt.

        That is the end of the turn if the output has none, the new messages, and the next
        generation prompt. So what a model wrote is never rendered again, which would change its
        tokens. Returns None if nothing proves that this text is independent of the output;
        `why_no_bridge` has the reason.

        Args:
            output: what was sampled, with or without its end-of-turn marker.
            new_messages: what follows it: tool results, or the user's.
            tools: those of the prompt.
            messages: the conversation that the prompt was rendered of, if the proof is to be for
                this one only; without, it is for any.
            switches: those that the prompt was rendered with.

        Raises:
            UsageError: an argument has the wrong type.
        """
        return self._bridge(output, new_messages, tools, messages, switches).text

    def why_no_bridge(
        self,
        /,
        output: str,
        new_messages: Sequence[Mapping[str, Any] | ParsedMessage],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        messages: Sequence[Mapping[str, Any] | ParsedMessage] | None = None,
        **switches: Any,
    ) -> str:
        """Return why `bridge` returns None for these arguments; "" where it does not."""
        return self._bridge(output, new_messages, tools, messages, switches).reason

    def _bridge(
        self, output: str, new: Any, tools: Any, messages: Any, switches: Mapping[str, Any]
    ) -> Bridge:
        from ..bridge import find_bridge  # which analyzes templates

        if "add_generation_prompt" in switches:
            raise UsageError("add_generation_prompt is not a switch: a bridge always ends with it")
        return find_bridge(self, output, new, tools=tools, messages=messages, switches=switches)

    def render_within(
        self,
        limits: Limits,
        messages: Iterable[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        context: Mapping[str, Any],
    ) -> str:
        """Render messages that are as the template reads them with limits of its own."""
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
        """The names that the template reads and does not define: what `render` may pass."""
        return self._program.variables

    @property
    def constants(self) -> tuple[str, ...]:
        """The texts in the template, plain or quoted, each once, in the order of its tree."""
        return self._program.constants

    @property
    def keys(self) -> frozenset[str]:
        """The names under which the template reads parts of messages, tools and the rest."""
        return self._program.keys

    @property
    def keys_of_contents(self) -> frozenset[str]:
        """The names under which it reads parts of contents that are objects."""
        return self._program.keys_of_contents

    @property
    def switches(self) -> frozenset[str]:
        """Those of the `variables` that the template does not set itself, or only as a default."""
        return self._program.switches

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """The texts that the template compares each of its `variables` with."""
        return self._program.choices

    @property
    def sought(self) -> tuple[str, ...]:
        """Those of the constants that the template may look for in what it is given."""
        return self._program.sought

    @property
    def arguments_shape(self) -> Shape:
        """How the template wants a call's arguments: as an object, or as its JSON text.

        Found by rendering a call both ways. "object" too for a template that copes with both or
        shows no calls.
        """
        return self._known_shape or "object"

    @cached_property
    def calls_read(self) -> CallsRead:
        """How a message with calls must be made for this template to show them."""
        return calls_read(self._probes)

    @cached_property
    def reasoning_key(self) -> str:
        """The key of a message whose reasoning this template shows, "" if it shows none.

        `content.thinking`: it is a part of the content, of the type "thinking".
        """
        settings = settings_of(self.switches, self.choices)
        return reasoning_key(self._probes, self.keys, list(settings))

    @cached_property
    def reads_names_of_results(self) -> bool:
        """Whether this template shows the name of the tool beside what it returned."""
        return reads_names_of_results(self._probes, self.calls_read.ids)

    @cached_property
    def refuses_both(self) -> bool:
        """Whether this template refuses content and reasoning in one message with calls."""
        key = self.reasoning_key
        return bool(key) and refuses_both(self._probes, self.calls_read.ids, key)

    @cached_property
    def roles_in_parts(self) -> frozenset[str]:
        """The roles whose messages this template shows only if their content is a list of parts."""
        if "text" not in self.keys:
            return frozenset()
        return roles_in_parts(
            Probes(lambda chat, tools, more: self._run(chat, tools, more, SHAPES, PROBE_LIMITS))
        )

    def joins_parts(self, role: str) -> bool:
        """Whether a content of parts must be one text in a message of this role."""
        if role not in self._joined:
            self._joined[role] = joins_parts(self._probes, role)
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
            chat = in_parts(chat, self.roles_in_parts)
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
        first, roles = self._probes.first, self.roles_in_parts

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
        """Render with the first of `shapes` that the template takes; None leaves `chat` alone.

        A template that fails of itself is given tools with all members, too.
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
        """Render with the first of `shapes` that the template takes, and these tools."""
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
        return f"<ChatTemplate of {len(self.source)} characters>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled code cannot be pickled; it is made anew where it arrives.
        tokens = (self.bos_token, self.eos_token, self.added_tokens)
        return _restored, (self.source, *tokens, self.limits)


def _restored(
    source: str, bos_token: str, eos_token: str, added_tokens: tuple[str, ...], limits: Limits
) -> ChatTemplate:
    return ChatTemplate(source, bos_token, eos_token, limits=limits, added_tokens=added_tokens)


def _explained(error: Exception, template: Template | None = None) -> str:
    """One line on what went wrong and where."""
    words = " ".join(str(error).split())
    if isinstance(error, Refusal):
        return words or "the chat template refuses the conversation"
    words = without_addresses(words)
    place = f" at line {line}" if (line := _line(error, template)) else ""
    if isinstance(error, LimitExceeded):
        return f"the chat template asks for too much{place}: {words}"
    if isinstance(error, TemplateSyntaxError):
        words = str(error.message)
    elif isinstance(error, RecursionError):
        words = "it nests too deep"
    elif not isinstance(error, JinjaError):
        words = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return f"the chat template {'fails' if template else 'does not compile'}{place}: {words}"


def _line(error: Exception, template: Template | None) -> int | None:
    """The line of the template that was last at work."""
    line = error.lineno if isinstance(error, TemplateSyntaxError) else None
    trace = error.__traceback__
    while template is not None and trace is not None:
        running: object = trace.tb_frame.f_globals.get("__jinja_template__")
        if running is template:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


def _with_reasoning_keys(message: Mapping[str, Any]) -> Message:
    """The message with its reasoning, whatever it is called, under the names templates read."""
    given = [message[name] for name in REASONING if message.get(name) is not None]
    if not given:
        return dict(message)
    return {"thinking": given[0], **message, "reasoning_content": given[0]}
