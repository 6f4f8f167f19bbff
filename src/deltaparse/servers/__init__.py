"""Plugins for servers: the engine under the names of classes and methods that servers call.

    vllm      `ToolParser` and `ReasoningParser`
    sglang    a detector of calls, and one of reasoning

Users import what is here. No server has to be installed: requests are read by the names of their
fields, and results are of the server's own classes where it is at hand, and otherwise of classes
here that have the same names and fields.
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
