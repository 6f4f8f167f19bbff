"""Run SGLang's chat serving with our plugins, and return the differences from our own parser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

from cases import FUNCTIONS, Case, Expected, Tokens, cuts
from sglang.srt.entrypoints.openai import serving_chat
from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest, Tool
from sglang.srt.parser.reasoning_parser import ReasoningParser

from deltaparse.servers import register_sglang_detector

__all__ = ["TOOLS", "Serving", "differences", "opens", "request"]

TOOLS = [Tool(**tool) for tool in FUNCTIONS]


class _Off:
    """Server settings with all options off."""

    def __getattr__(self, name: str) -> bool:
        return False


serving_chat.get_serving = _Off
serving_chat.build_endpoint_weight_version_metadata = Mock(return_value=None)
serving_chat.should_include_usage = Mock(return_value=(False, False))


def request(**fields: Any) -> Any:
    """Return a request to SGLang."""
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": FUNCTIONS}
    return ChatCompletionRequest(**asked | fields)


class Serving(serving_chat.OpenAIServingChat):  # type: ignore[misc]
    """SGLang's chat serving, from the model's output on.

    Rendering and generation are replaced by the given output.

    Args:
        tokens: the tokenizer.
        calls: the name of the tool parser, None without.
        thinks: the name of the reasoning parser, None without.
        opened: True if the prompt opens reasoning, by SGLang's rule for templates.
    """

    def __init__(self, tokens: Any, calls: str | None, thinks: str | None, *, opened: bool) -> None:
        self.tokenizer_manager = SimpleNamespace(tokenizer=tokens, generate_request=self._generated)
        self.template_manager = SimpleNamespace(force_reasoning=opened, reasoning_config=None)
        self.tool_call_parser = calls
        self.reasoning_parser = thinks
        self.chat_encoding_spec = self._encoding_adapter = self._reasoning_detector = None
        if thinks:
            self._reasoning_detector = ReasoningParser(thinks, tokenizer=tokens).detector
        self._steps: list[str] = []

    async def _generated(self, *asked: object) -> AsyncIterator[Any]:
        del asked
        for at, text in enumerate(self._steps):
            yield returned(text, "stop" if at == len(self._steps) - 1 else None)

    def whole(self, text: str, asked: Any) -> Expected:
        """Return the parts of a complete response."""
        response = self._build_chat_response(asked, [returned(text, "stop")], 0)
        message = response.choices[0].message
        calls = [(one.function.name, one.function.arguments) for one in message.tool_calls or []]
        return message.content or "", message.reasoning_content or "", calls

    def streamed(self, parts: list[str], asked: Any) -> Expected:
        """Return the accumulated parts of a streamed response."""
        self._steps = ["".join(parts[: at + 1]) for at in range(len(parts))]
        return asyncio.run(self._added_up(asked))

    async def _added_up(self, asked: Any) -> Expected:
        content, reasoning = "", ""
        calls: list[list[str]] = []
        async for event in self._generate_chat_stream(None, asked, None):
            data = event.removeprefix("data: ").strip()
            if data == "[DONE]":
                continue
            for choice in json.loads(data)["choices"]:
                delta = choice["delta"]
                content += delta.get("content") or ""
                reasoning += delta.get("reasoning_content") or ""
                for call in delta.get("tool_calls") or ():
                    if call["function"].get("name"):
                        calls.append([call["function"]["name"], ""])
                    calls[call["index"]][1] += call["function"].get("arguments") or ""
        return content, reasoning, [(name, arguments) for name, arguments in calls]


def returned(text: str, reason: str | None) -> dict[str, Any]:
    """Return a step of SGLang's engine, with the complete text so far."""
    finish = {"type": reason} if reason else None
    counts = {"prompt_tokens": 1, "completion_tokens": 1, "cached_tokens": 0}
    return {"text": text, "meta_info": {"id": "x", "finish_reason": finish, **counts}}


def differences(case: Case) -> list[str]:
    """Return the differences of a case from our parser, for each way of serving."""
    fmt = case.fmt
    # Channels are read by the call detector alone, from the start of the output.
    channels = fmt.derived.has_channels
    register_sglang_detector("driven", fmt, whole=channels)
    tokens, expected = Tokens(fmt), case.expected
    thinks = None if channels else "driven"

    # The option of a request that matches the prompt.
    switched = {"enable_thinking": case.prompt_kind != "closed"}

    def serving() -> Serving:
        return Serving(tokens, "driven", thinks, opened=opens(case))

    found = []
    asked = request(chat_template_kwargs=switched)
    if (got := serving().whole(case.text, asked)) != expected:
        found.append(f"whole: {got} instead of {expected}")
    for way, parts in cuts(tokens.encode(case.text), case.text):
        asked = request(chat_template_kwargs=switched, stream=True)
        got = serving().streamed([tokens.decode(part) for part in parts], asked)
        if got != expected:
            found.append(f"streamed, {way}: {got} instead of {expected}")
    return found


def opens(case: Case) -> bool:
    """Return True if a prompt opens reasoning, by SGLang's rule for templates."""
    reasoning, prompt = case.fmt.reasoning, case.prompt.rstrip()
    start, end = reasoning.start.strip(), reasoning.end.strip()
    return prompt.endswith(start) if start else not prompt.endswith(end or "\0")
