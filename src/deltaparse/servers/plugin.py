"""What every plugin does: find its format and its server's classes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream import (
    IdFactory,
    Policies,
    ReasoningMode,
    StreamParser,
    WireFormat,
    get_format,
    random_call_id,
)
from deltaparse.stream.message.ids import check_id_factory
from deltaparse.stream.request import behind_reasoning, check_policies

from .special_tokens import StrayTokens

__all__ = [
    "SERVERS",
    "CallsSoFar",
    "FormatSource",
    "Options",
    "check_source",
    "class_name",
    "format_of",
    "imported",
    "not_there",
]

SERVERS = {"vllm": ("vLLM", "0.33.0"), "sglang": ("SGLang", "0.5.23")}
"""The servers that there are plugins for, and the versions that they are made for."""

FormatSource = WireFormat | str | Callable[[Any], WireFormat]
"""A format, its name, or a function that returns it for the server's tokenizer."""


class Options:
    """What a plugin's parsers are made with, the same for every request; it never changes.

    Args:
        whole: the plugin reads outputs from their start, where a prompt may have opened
            reasoning. Otherwise another parser has taken the reasoning off before.
        policies: what to do where the output is odd. By default `stray_token` is "drop": a
            special token that stands in no marker of the format does not come out.
        id_factory: makes the id of a call that the model wrote without one. By default it is
            random: a plugin does not know the prompt, by which `call_id` keeps turns apart.
    """

    __slots__ = ("id_factory", "policies", "whole")

    def __init__(
        self,
        *,
        whole: bool = False,
        policies: Policies = Policies(stray_token="drop"),  # noqa: B008 - frozen
        id_factory: IdFactory = random_call_id,
    ) -> None:
        check_policies(policies)
        check_id_factory(id_factory)
        self.whole = whole
        self.policies = policies
        self.id_factory = id_factory

    def parser(self, fmt: WireFormat, *, whole: bool, **request: Any) -> StreamParser:
        """Make a parser of one output; `request` are further arguments of a `StreamParser`."""
        fmt, prompt = _unopened(fmt) if whole else behind_reasoning(fmt)
        return StreamParser(
            fmt, policies=self.policies, id_factory=self.id_factory, prompt=prompt, **request
        )

    def strays(self, fmt: WireFormat, tokenizer: object) -> StrayTokens:
        """Make what leaves special tokens of no meaning out of one output, as the policy has it."""
        return StrayTokens(fmt, tokenizer if self.policies.stray_token == "drop" else None)


class CallsSoFar:
    """What servers read of a parser beside its methods: the calls of the output so far.

    It is made when a server asks, at the end of an output. To keep it up to date would cost each
    step as much as there is from all steps before it.
    """

    _parser: StreamParser | None = None

    @property
    def prev_tool_call_arr(self) -> list[dict[str, Any]]:
        """Name and arguments of each call."""
        calls = self._parser.message.tool_calls if self._parser else []
        return [{"name": call.name, "arguments": call.arguments} for call in calls]

    @property
    def streamed_args_for_tool(self) -> list[str]:
        """The arguments of each call, all of which were emitted."""
        return [call["arguments"] for call in self.prev_tool_call_arr]

    @property
    def current_tool_id(self) -> int:
        """The index of the last call that has begun, -1 before the first."""
        return len(self.prev_tool_call_arr) - 1

    @property
    def current_tool_name_sent(self) -> bool:
        """Whether a call has begun: its name comes with its first delta."""
        return self.current_tool_id >= 0


def _unopened(fmt: WireFormat) -> tuple[WireFormat, str]:
    """A format and a prompt for an output of which nobody says whether its prompt opened reasoning.

    What a model writes in a prompt that opened it is content then, and calls are calls: taken for
    reasoning, the answer of a prompt that had closed it would be lost.
    """
    start, end = fmt.reasoning.start.strip(), fmt.reasoning.end.strip()
    prompt, header = fmt.turn.generation_prompt, next(iter(fmt.turn.headers), "")
    if not start or prompt.rfind(start) <= prompt.rfind(end):
        return fmt, ""
    if header:
        return fmt, header
    closed = {"mode": ReasoningMode.TAG_BASED}
    return fmt.replace(turn={"generation_prompt": ""}, reasoning=closed), ""


def check_source(source: object) -> None:
    """Refuse now what `format_of` would refuse in the middle of a request.

    Raises:
        UsageError: no format, or an unknown name.
    """
    if isinstance(source, str):
        if "{%" in source or "{{" in source:
            raise UsageError(
                "that is a chat template: use analyze(template), or the name of its format"
            )
        get_format(source)
    elif not isinstance(source, WireFormat) and not callable(source):
        kind = type(source).__name__
        raise UsageError(f"a plugin is made of a WireFormat, a name or a function, not {kind}")


def format_of(source: FormatSource, tokenizer: object) -> WireFormat:
    """Return the format that a source stands for."""
    if isinstance(source, str):
        return get_format(source, tokenizer)
    fmt: object = source if isinstance(source, WireFormat) else source(tokenizer)
    if not isinstance(fmt, WireFormat):
        raise UsageError(f"{source!r} returned no WireFormat but {type(fmt).__name__}")
    return fmt


def imported(modules: Iterable[str], *names: str) -> list[Any] | None:
    """Return attributes of the first of the modules that is there and has them all, or None.

    Servers move their classes from version to version, so several places are tried.
    """
    for module in modules:
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        if all(hasattr(found, name) for name in names):
            return [getattr(found, name) for name in names]
    return None


def not_there(what: str, server: str) -> str:
    """Say that a server cannot be imported, or is not of a version that a plugin is made for."""
    name, made_for = SERVERS[server]
    try:
        found = version(server)
    except PackageNotFoundError:
        return f"{what} is for a process in which {name} is installed; it is made for {made_for}"
    return f"{what} does not find its place in {name} {found}: it is made for {made_for}"


def class_name(source: FormatSource, suffix: str) -> str:
    """Make the name of the class for a source, as a server's log shows it."""
    words = source.replace("-", "_").split("_") if isinstance(source, str) else []
    return "".join(map(str.capitalize, words)) + suffix
