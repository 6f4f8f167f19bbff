"""The push parser of text that reports the role of each character."""

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
from .token_provenance import RoleSpan, TokenRecorder
from .vocabulary import Vocabulary

__all__ = ["TracedParser"]

# A test compares these with the signature of `StreamParser`.
DEFAULTS: Mapping[str, Any] = {
    "tools": None,
    "prompt": "",
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": "separate",
    "policies": Policies(),
    "response_schema": None,
}
"""The defaults of `StreamParser`."""

# Every marker is then text, so the recorder records text roles only.
NO_TOKENS = Vocabulary({})


class TracedParser(TurnParser):
    """A `StreamParser` that reports the role of each character of a response.

        parser = TracedParser(fmt, tools=tools, prompt=prompt)
        for text in texts:
            parser.feed(text)
        parser.finish("stop")
        parser.role_spans

    It costs somewhat more than a `StreamParser`, and returns the same results.

    Args:
        fmt: the wire format of the model, or the name of a built-in format.
        id_factory: see `StreamParser`.
        options: the other options of `StreamParser`, except `record`.

    Raises:
        UsageError: an argument is invalid.
    """

    __slots__ = ("_recorder",)

    _builder: TokenBuilder

    def __init__(
        self, fmt: WireFormat | str, *, id_factory: IdFactory = call_id, **options: Any
    ) -> None:
        options = {**DEFAULTS, **options}
        prompt = options.pop("prompt")
        request = Request(as_format(fmt), **options)
        recorder = self._recorder = TokenRecorder(
            token_format(request.fmt, NO_TOKENS, "text"),
            raw=request.reasoning == "raw",
            stray=request.policies.stray_token,
            # Without tokens, roles must be recorded all the same.
            keeps=True,
        )

        # The recorder is made before the sink, whose issues it needs.
        def builds(issues: Issues) -> tuple[TokenBuilder, TokenRecorder]:
            recorder.issues = issues
            return TokenBuilder(recorder, collect=request.collect), recorder

        super().__init__(request, prompt, id_factory, record=False, builds=builds)

    def feed(self, text: str | bytes) -> list[Delta]:
        """Parse the next chunk of the response (see `StreamParser.feed`).

        Args:
            text: a string or UTF-8 bytes.

        Returns:
            The deltas that became certain.

        Raises:
            UsageError: `finish` was called before.
            MalformedOutput: a policy is "error".
        """
        # The fast path of `StreamParser.feed` is not worth its code here.
        return self._read(text)

    @property
    def role_spans(self) -> list[RoleSpan]:
        """The roles of the characters of the response, as spans without gaps.

        `TokenParser.roles` describes the roles.
        """
        # The buffered tail is not in the window while a lane is open.
        self._settle()
        return self._recorder.role_spans(self._window.end + len(self._held))

    # Bypassing text has no other way to the recorder.
    def _settle(self) -> None:
        # Joined before `_passed` is cleared.
        text = "".join(self._passed)
        super()._settle()
        if text:
            self._builder.passed(text)
