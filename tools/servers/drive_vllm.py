"""Run vLLM's chat serving with our plugins, and return the differences from our own parser."""

from __future__ import annotations

from typing import Any

from cases import FUNCTIONS, Case, Expected, Tokens, cuts
from vllm.entrypoints.openai.chat_completion.message_assembly import (
    assemble_chat_message_fields,
)
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.chat_completion.stream_processor import ChatStreamProcessor
from vllm.parser.parser_manager import ParserManager

from deltaparse.servers import register_vllm_parsers

__all__ = ["differences", "whole"]


def request(**fields: Any) -> Any:
    """Return a request to vLLM."""
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": FUNCTIONS}
    return ChatCompletionRequest(**asked | {"tool_choice": "auto"} | fields)


def differences(case: Case) -> list[str]:
    """Return the differences of a case from our parser, for each way of serving."""
    register_vllm_parsers("driven", case.fmt)
    thinks = not case.fmt.derived.has_channels
    parser_class = ParserManager.get_parser(
        "driven", "driven" if thinks else None, enable_auto_tools=True
    )
    tokens, expected = Tokens(case.fmt), case.expected
    prompt, ids = tokens.encode(case.prompt), tokens.encode(case.text)
    found = []
    if (got := whole(parser_class, tokens, prompt, ids, case)) != expected:
        found.append(f"whole: {got} instead of {expected}")
    for way, parts in cuts(ids, case.text):
        if (got := streamed(parser_class, tokens, prompt, parts)) != expected:
            found.append(f"streamed, {way}: {got} instead of {expected}")
    return found


def whole(
    parser_class: Any, tokens: Any, prompt: list[int], ids: list[int], case: Case, **switches: Any
) -> Expected:
    """Return the parts of a complete response."""
    parser = parser_class(tokens, request().tools, chat_template_kwargs=switches)
    asked = parser.adjust_request(request(chat_template_kwargs=switches))
    parser.set_prompt_token_ids(prompt)
    reasoning, content, calls = parser.parse(case.text, asked, True, ids)
    fields = assemble_chat_message_fields(
        asked, reasoning, content, calls, enable_auto_tools=True, parser_cls=parser_class
    )
    called = [(call.function.name, call.function.arguments) for call in fields.tool_calls]
    return fields.content or "", fields.reasoning or "", called


def streamed(
    parser_class: Any, tokens: Tokens, prompt: list[int], parts: list[list[int]]
) -> Expected:
    """Return the accumulated parts of a streamed response."""
    asked = request(stream=True)
    parser_class(tokens, asked.tools, chat_template_kwargs={}).adjust_request(asked)
    processor = ChatStreamProcessor(
        asked,
        parser_class(tokens, asked.tools, chat_template_kwargs={}),
        enable_auto_tools=True,
        parser_cls=parser_class,
    )
    content, reasoning = "", ""
    calls: list[list[str]] = []
    for at, part in enumerate(parts):
        last = "stop" if at == len(parts) - 1 else None
        delta = processor.step(tokens.decode(part), part, last, prompt).delta
        if delta is None:
            continue
        content += delta.content or ""
        reasoning += delta.reasoning or ""
        for call in delta.tool_calls or []:
            if call.function.name:
                calls.append([call.function.name, ""])
            calls[call.index][1] += call.function.arguments or ""
    return content, reasoning, [(name, arguments) for name, arguments in calls]
