"""Chat templates: a conversation in, the text that the model reads out.

What a template finds is what transformers' `apply_chat_template` gives it, so the same template
renders to the same text. Templates are hostile input all the same: they run in the sandbox of
`sandbox.py`, under its `Limits`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from jinja2 import Template
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.exceptions import TemplateSyntaxError

from deltaparse.partial import TemplateError, UsageError

from .compiled import Program, compiled
from .sandbox import LimitExceeded, Limits, Refusal

__all__ = ["ChatTemplate"]

# Names that model cards tell the caller to pass, and what they are where the caller does not.
# Both come from Firefunction v2: the tools as JSON text, and the time of day.
CARD_NAMES: dict[str, Callable[[list[Any] | None], str]] = {
    "functions": lambda tools: json.dumps(tools, indent=2, ensure_ascii=False) if tools else "",
    "datetime": lambda _: datetime.now().strftime("%Y-%m-%d %H:%M:%S"),  # noqa: DTZ005
}

REASONING = ("reasoning_content", "thinking", "reasoning")
"""What a message's reasoning is called; most templates read the first, gpt-oss the second."""

# The probe for the shape of arguments, and how its only argument comes out in either shape.
PROBE = {"qzk_key": "qzv value"}
PROBE_JSON, PROBE_REPR, PROBE_TEXTS = json.dumps(PROBE), repr(PROBE), (*PROBE, *PROBE.values())
PROBE_LIMITS = Limits(seconds=0.25)

Shape = Literal["object", "string"]
Message = dict[str, Any]


@dataclass(frozen=True, repr=False)
class ChatTemplate:
    """A chat template in Jinja, compiled once.

    Equal and hashable by source and the two tokens; `limits` bound what a rendering may use.

    It renders as transformers does, and goes beyond it where that would fail:

    - A tool call's `arguments` may be given as an object or as its JSON text; the template gets
      the one it wants, `arguments_shape`. Text that is not JSON is passed as it is.
    - `tojson` writes whatever can be iterated over as a list.
    - A template may `append` to a list that it made itself, and `pop` from it.
    - Where the template reads `functions` or `datetime` and the caller does not pass it, it is
      the tools as JSON text ("" without tools), or the time of day: their model's card asks for
      that.

    It stays behind where no chat template goes: there is no `lipsum` and no `encode`.

    Raises:
        TemplateError: `source` does not compile.
        UsageError: an argument is not a text.
    """

    source: str
    bos_token: str = ""
    eos_token: str = ""
    limits: Limits = field(default=Limits(), kw_only=True, compare=False)

    def __post_init__(self) -> None:
        for name in ("source", "bos_token", "eos_token"):
            value = getattr(self, name)
            if not isinstance(value, str):
                wanted = "the text of a template" if name == "source" else 'a text ("" for none)'
                raise UsageError(f"{name} must be {wanted}, not {type(value).__name__}")
        if not isinstance(self.limits, Limits):
            raise UsageError(f"limits must be Limits(...), not {type(self.limits).__name__}")
        self._program  # noqa: B018 - errors show now, not at the first rendering

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        **context: Any,
    ) -> str:
        """Render a conversation.

        Args:
            messages: OpenAI's; the template sees a copy.
            tools: OpenAI's, with JSON schemas.
            add_generation_prompt: end with what begins the model's answer.
            context: what else the template reads, such as `enable_thinking`; see `variables`.

        Raises:
            TemplateError: the template refuses the conversation (`raise_exception`, its own
                words), fails, or asks for more than its limits.
            UsageError: an argument has the wrong type.
        """
        context["add_generation_prompt"] = add_generation_prompt
        return self.render_within(self.limits, messages, tools, context)

    def render_within(
        self,
        limits: Limits,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        context: Mapping[str, Any],
    ) -> str:
        """Render with limits of its own, as `render` does."""
        chat = _with_reasoning(_dicts("messages", messages, "{'role': 'user', 'content': 'Hi'}"))
        schemas = None
        if tools is not None:
            schemas = _dicts("tools", tools, "{'type': 'function', 'function': {...}}")
        if context.get("documents") is not None:
            _dicts("documents", context["documents"], "{'title': '...', 'text': '...'}")
        context = _copied("context", context)
        shapes: tuple[Shape | None, ...] = (None,)
        if any(message.get("tool_calls") or message.get("function_call") for message in chat):
            shapes = (self._told_shape,) if self._told_shape else ("object", "string")
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
    def sought(self) -> tuple[str, ...]:
        """Those of the constants that the template may look for in what it is given."""
        return self._program.sought

    @property
    def arguments_shape(self) -> Shape:
        """How the template wants a call's arguments: as an object, or as its JSON text.

        Found by rendering a call both ways. "object" too for a template that copes with both or
        shows no calls.
        """
        return self._told_shape or "object"

    @cached_property
    def _program(self) -> Program:
        try:
            return compiled(self.source, self.limits)
        except Exception as error:
            raise TemplateError(_explained(error)) from error

    @cached_property
    def _told_shape(self) -> Shape | None:
        """What the first probe that tells anything says; None if none does."""
        for chat, tools in _probes():
            rendered: list[str | None] = []
            for shape in ("object", "string"):
                try:
                    rendered.append(self._run(chat, tools, {}, (shape,), PROBE_LIMITS))
                except TemplateError as error:
                    if isinstance(error.__cause__, LimitExceeded):
                        return None  # the next probes would take as long
                    rendered.append(None)
            told = _shape_told(*rendered)
            if told:
                return told
        return None

    def _run(
        self,
        chat: list[Message],
        tools: list[Message] | None,
        context: Mapping[str, Any],
        shapes: Sequence[Shape | None],
        limits: Limits,
    ) -> str:
        """Render with the first of `shapes` that the template takes; None leaves `chat` alone."""
        program = self._program
        cards = {name: CARD_NAMES[name](tools) for name in program.variables & CARD_NAMES.keys()}
        tokens = {"bos_token": self.bos_token, "eos_token": self.eos_token}
        variables = {"documents": None, **tokens, **cards, **context, "tools": tools}
        errors = []
        for shape in shapes:
            variables["messages"] = chat if shape is None else _with_shape(chat, shape)
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
        return _restored, (self.source, self.bos_token, self.eos_token, self.limits)


def _restored(source: str, bos_token: str, eos_token: str, limits: Limits) -> ChatTemplate:
    return ChatTemplate(source, bos_token, eos_token, limits=limits)


def _explained(error: Exception, template: Template | None = None) -> str:
    """One line on what went wrong and where."""
    words = " ".join(str(error).split())
    if isinstance(error, Refusal):
        return words or "the chat template refuses the conversation"
    place = f" at line {line}" if (line := _line(error, template)) else ""
    if isinstance(error, LimitExceeded):
        return f"the chat template asks for too much{place}: {words}"
    if isinstance(error, TemplateSyntaxError):
        words = error.message or "syntax error"
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


def _plain(value: Any) -> Any:
    """Copy into plain types: other objects have methods, which a template must not reach.

    What has no plain form becomes its type's name in angle brackets, as in transformers.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    if isinstance(value, type):
        return f"<{type(value).__name__}>"
    if is_dataclass(value):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if callable(getattr(value, "model_dump", None)):  # a model of Pydantic's
        return _plain(value.model_dump())
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return _plain(value.item())
    return f"<{type(value).__name__}>"


def _copied(name: str, value: Any) -> Any:
    try:
        return _plain(value)
    except RecursionError:
        raise UsageError(f"{name} must not hold itself, nor nest hundreds deep") from None


def _dicts(name: str, values: object, example: str) -> list[Message]:
    """Copy a list of dicts; a `UsageError` shows an `example` of one."""
    if not isinstance(values, list | tuple):
        raise UsageError(
            f"{name} must be a list of dicts such as {example}, not {type(values).__name__}"
        )
    copies: list[Any] = _copied(name, list(values))
    for index, copy in enumerate(copies):
        if not isinstance(copy, dict):
            kind = type(values[index]).__name__
            raise UsageError(f"{name}[{index}] must be a dict such as {example}, not {kind}")
    return copies


def _with_reasoning(chat: list[Message]) -> list[Message]:
    """Give reasoning, whatever it is called, the names that templates read."""
    for index, message in enumerate(chat):
        given = [message[name] for name in REASONING if message.get(name) is not None]
        if given:
            chat[index] = {"thinking": given[0], **message, "reasoning_content": given[0]}
    return chat


def _with_shape(chat: list[Message], shape: Shape) -> list[Message]:
    return [_call_with_shape(message, shape) for message in chat]


def _call_with_shape(part: Any, shape: Shape) -> Any:
    """Give the arguments in a message, in a call, or in its function the shape wanted."""
    if not isinstance(part, dict):
        return part
    part = dict(part)
    for key in ("function", "function_call"):
        if key in part:
            part[key] = _call_with_shape(part[key], shape)
    if isinstance(part.get("tool_calls"), list | tuple):
        part["tool_calls"] = [_call_with_shape(call, shape) for call in part["tool_calls"]]
    arguments = part.get("arguments")
    if shape == "object" and isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            part["arguments"] = json.loads(arguments)
    if shape == "string" and isinstance(arguments, dict | list):
        part["arguments"] = json.dumps(arguments, ensure_ascii=False)
    return part


def _probes() -> Iterator[tuple[list[Message], list[Message] | None]]:
    """Conversations with a call: some templates show it only beside an answer, or with tools."""
    function = {"name": "qzf", "arguments": PROBE}
    call = {"id": "qzi000001", "type": "function", "function": function}
    question = {"role": "user", "content": "qzu"}
    answer = {"role": "tool", "name": "qzf", "tool_call_id": "qzi000001", "content": "qza"}
    schema = {"type": "object", "properties": {"qzk_key": {"type": "string", "description": "qzp"}}}
    tool = {"name": "qzf", "description": "qzd", "parameters": schema}
    for tools in (None, [{"type": "function", "function": tool}]):
        for content in (None, ""):
            turn = {"role": "assistant", "content": content, "tool_calls": [call]}
            yield [question, turn], tools
            yield [question, turn, answer], tools


def _shape_told(as_object: str | None, as_string: str | None) -> Shape | None:
    """What two renderings of one call tell, None standing for one that failed."""
    if as_object is None:
        return None if as_string is None else "string"
    if as_string is None:
        return "object"
    if PROBE_REPR in as_object:
        return "string"
    if all(text in as_object for text in PROBE_TEXTS):
        return "object"
    return "string" if PROBE_JSON in as_string else None
