"""Plugins for inference servers: adapters with the classes and methods expected by each server.

    vllm      `ToolParser` and `ReasoningParser`
    sglang    a detector of tool calls, and a detector of reasoning

Import the public names from here. Requests are read by field name, so no server has to be
installed. Results are instances of the server's own classes if available. Otherwise they are
instances of equivalent classes in this package, with the same names and fields.
"""

from .sglang import (
    SglangDetector,
    SglangReasoningDetector,
    register_sglang_detector,
    sglang_detector,
    sglang_reasoning_detector,
)
from .vllm import (
    VllmReasoningParser,
    VllmToolParser,
    register_vllm_parsers,
    vllm_reasoning_parser,
    vllm_tool_parser,
)

__all__ = [
    "SglangDetector",
    "SglangReasoningDetector",
    "VllmReasoningParser",
    "VllmToolParser",
    "register_sglang_detector",
    "register_vllm_parsers",
    "sglang_detector",
    "sglang_reasoning_detector",
    "vllm_reasoning_parser",
    "vllm_tool_parser",
]
