"""The push parser that says of each character of an output what it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..message.deltas import Delta
from ..message.ids import IdFactory, call_id
from ..message.policies import Policies
from ..message.reports import Issues
from ..parser import TurnParser
from ..request import Request
from ..wire.format import WireFormat
from ..wire.format_source import as_format
from .token_builder import TokenBuilder
from .token_format import token_format
from .token_provenance import RoleSpan, TokenTrail
from .vocabulary import Vocabulary

__all__ = ["TracedParser"]

DEFAULTS: Mapping[str, Any] = {
    "tools": None,
    "prompt": "",
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": "separate",
    "policies": Policies(),
    "response_schema": None,
}
"""Those of `StreamParser`."""

NO_TOKENS = Vocabulary({})


class TracedParser(TurnParser):
    """A `StreamParser` that says of each character of the output what it was.

        parser = TracedParser(fmt, tools=tools, prompt=prompt)
        for text in texts:
            parser.feed(text)
        parser.finish("stop")
        parser.role_spans

    It costs somewhat more than a `StreamParser`, and makes the same of every output.

    Args:
        fmt: how the model writes, or the name of a format.
        id_factory, options: those of `StreamParser`, but for `record`.

    Raises:
        UsageError: an argument that makes no sense.
    """

    __slots__ = ("_trail",)

    _builder: TokenBuilder

    def __init__(
        self, fmt: WireFormat | str, *, id_factory: IdFactory = call_id, **options: Any
    ) -> None:
        options = {**DEFAULTS, **options}
        prompt = options.pop("prompt")
        request = Request(as_format(fmt), **options)
        trail = self._trail = TokenTrail(
            token_format(request.fmt, NO_TOKENS, "text"),
            raw=request.reasoning == "raw",
            stray=request.policies.stray_token,
            keeps=True,
        )

        def builds(issues: Issues) -> tuple[TokenBuilder, TokenTrail]:
            trail.issues = issues
            return TokenBuilder(trail, collect=request.collect), trail

        super().__init__(request, prompt, id_factory, record=False, builds=builds)

    def feed(self, text: str | bytes) -> list[Delta]:
        """Take the next chunk of the output; return what it makes certain; see `StreamParser`.

        Raises:
            UsageError: after `finish`.
            MalformedOutput: where a policy says "error".
        """
        return self._read(text)

    @property
    def role_spans(self) -> list[RoleSpan]:
        """What each character of the output was: spans without gaps between them.

        The roles are those of `TokenParser.roles`.
        """
        self._settle()
        return self._trail.role_spans(self._window.end + len(self._held))

    def _settle(self) -> None:
        text = "".join(self._passed)
        super()._settle()
        if text:
            self._builder.passed(text)
