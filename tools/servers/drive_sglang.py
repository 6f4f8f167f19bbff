"""Drives SGLang's two parsers with our plugins, in the order that its chat serving has."""

from __future__ import annotations

from typing import Any

from cases import FUNCTIONS, Case, Expected, Tokens, cuts
from sglang.srt.entrypoints.openai.protocol import Tool
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser

from deltaparse.servers import register_sglang_detector

__all__ = ["differences"]

TOOLS = [Tool(**tool) for tool in FUNCTIONS]


def differences(case: Case) -> list[str]:
    """Return each way of serving a case that gives something else than our parser."""
    fmt = case.fmt
    # Channels are read by the detector of calls alone, from the start of the answer.
    channels = fmt.facts.has_channels
    register_sglang_detector("driven", fmt, whole=channels)
    tokens, expected = Tokens(fmt), case.expected
    ids = tokens.encode(case.text)
    # SGLang says so of what its template's rendering ended with.
    start, end = fmt.reasoning.start.strip(), fmt.reasoning.end.strip()
    opened = bool(start) and case.prompt.rstrip().endswith(start)
    opened = opened or (not start and not case.prompt.rstrip().endswith(end or "\0"))

    def readers() -> tuple[Any, Any]:
        thinking = None
        if not channels:
            thinking = ReasoningParser(
                "driven", True, opened, tokenizer=tokens, tool_call_parser_active=True
            )
        return thinking, FunctionCallParser(TOOLS, "driven", tokenizer=tokens)

    found = []
    if (got := whole(*readers(), case.text)) != expected:
        found.append(f"whole: {got} instead of {expected}")
    for way, parts in cuts(ids, case.text):
        got = streamed(*readers(), [tokens.decode(part) for part in parts])
        if got != expected:
            found.append(f"streamed, {way}: {got} instead of {expected}")
    return found


def whole(thinking: Any, calling: Any, text: str) -> Expected:
    """What a response that is not streamed has."""
    reasoning = ""
    if thinking is not None:
        reasoning, text = thinking.parse_non_stream(text)
    content, calls = text, []
    if calling.has_tool_call(text):
        content, calls = calling.parse_non_stream(text)
    elif calling.detector is not None:
        content = calling.parse_non_stream(text)[0]
    return content or "", reasoning or "", [(call.name, call.parameters) for call in calls]


def streamed(thinking: Any, calling: Any, texts: list[str]) -> Expected:
    """What a response that is streamed adds up to."""
    content, reasoning = "", ""
    calls: list[list[str]] = []
    for at, chunk in enumerate(texts):
        last = at == len(texts) - 1
        rest = chunk
        if thinking is not None:
            thought, rest = thinking.parse_stream_chunk(chunk)
            if last:
                ended = thinking.parse_stream_end()
                thought, rest = (thought or "") + (ended[0] or ""), (rest or "") + (ended[1] or "")
            reasoning += thought or ""
        steps = [calling.parse_stream_chunk(rest)] if rest or last else []
        steps += [calling.parse_stream_end()] if last else []
        for text, items in steps:
            content += text or ""
            for item in items:
                if item.name:
                    calls.append([item.name, ""])
                calls[item.tool_index][1] += item.parameters
    return content, reasoning, [(name, arguments) for name, arguments in calls]
