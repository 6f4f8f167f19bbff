"""Shared parts of the plugins: options, and the lookup of formats and server classes."""

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
from deltaparse.stream.request import after_reasoning, check_policies

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
"""The supported servers and their versions."""

FormatSource = WireFormat | str | Callable[[Any], WireFormat]
"""A format, its name, or a function from the server's tokenizer to a format."""


class Options:
    """Immutable options of a plugin's parsers, the same for all requests.

    Args:
        whole: read responses from their start, where reasoning may be open. By default another
            parser has already removed the reasoning.
        policies: how to handle malformed output. By default `stray_token` is "drop", so special
            tokens outside of the format's markers are removed.
        id_factory: creates an id for a call without one. Ids are random by default, because
            `call_id` needs the prompt to keep turns apart, and plugins do not have it.
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
        """Return a parser for one response. `request` has further arguments for `StreamParser`."""
        fmt, prompt = _unopened(fmt) if whole else after_reasoning(fmt)
        return StreamParser(
            fmt, policies=self.policies, id_factory=self.id_factory, prompt=prompt, **request
        )

    def strays(self, fmt: WireFormat, tokenizer: object) -> StrayTokens:
        """Return a filter for stray special tokens of one response, following the policy."""
        return StrayTokens(fmt, tokenizer if self.policies.stray_token == "drop" else None)


class CallsSoFar:
    """Attributes that servers read from a parser: the calls of the response so far.

    Each attribute is computed on access, which happens at the end of a response. Updating it at
    each step would take quadratic time.
    """

    _parser: StreamParser | None = None

    @property
    def prev_tool_call_arr(self) -> list[dict[str, Any]]:
        """The name and arguments of each call."""
        calls = self._parser.message.tool_calls if self._parser else []
        return [{"name": call.name, "arguments": call.arguments} for call in calls]

    @property
    def streamed_args_for_tool(self) -> list[str]:
        """The emitted arguments of each call. No arguments are pending."""
        return [call["arguments"] for call in self.prev_tool_call_arr]

    @property
    def current_tool_id(self) -> int:
        """The index of the last call so far, -1 before the first."""
        return len(self.prev_tool_call_arr) - 1

    @property
    def current_tool_name_sent(self) -> bool:
        """True if a call has begun, because its first delta contains the name."""
        return self.current_tool_id >= 0


def _unopened(fmt: WireFormat) -> tuple[WireFormat, str]:
    """Return a format and a prompt with reasoning not open, for a response with an unknown prompt.

    If the real prompt opened reasoning, the reasoning becomes content, and its calls are calls. The
    opposite assumption could lose a complete answer.
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
    """Check a source early, because `format_of` would fail in the middle of a request.

    Raises:
        UsageError: the source is not a format or a known name.
    """
    if isinstance(source, str):
        if "{%" in source or "{{" in source:
            raise UsageError(
                "source is a chat template: use analyze(template), or the name of its format"
            )
        get_format(source)
    elif not isinstance(source, WireFormat) and not callable(source):
        kind = type(source).__name__
        raise UsageError(f"source must be a WireFormat, a name or a function, not {kind}")


def format_of(source: FormatSource, tokenizer: object) -> WireFormat:
    """Return the format of a source."""
    if isinstance(source, str):
        return get_format(source, tokenizer)
    fmt: object = source if isinstance(source, WireFormat) else source(tokenizer)
    if not isinstance(fmt, WireFormat):
        raise UsageError(f"{source!r} must return a WireFormat, not {type(fmt).__name__}")
    return fmt


def imported(modules: Iterable[str], *names: str) -> list[Any] | None:
    """Return attributes from the first importable module with all of them, or None.

    Several modules are tried, because servers move their classes between versions.
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
    """Return a message about a server that is not installed or has an unsupported version."""
    name, made_for = SERVERS[server]
    try:
        found = version(server)
    except PackageNotFoundError:
        return f"{what} requires {name} {made_for}, which is not installed"
    return f"{what} requires {name} {made_for}, but {name} {found} has a different interface"


def class_name(source: FormatSource, suffix: str) -> str:
    """Return a class name for a source, shown in the server's log."""
    words = source.replace("-", "_").split("_") if isinstance(source, str) else []
    return "".join(map(str.capitalize, words)) + suffix
