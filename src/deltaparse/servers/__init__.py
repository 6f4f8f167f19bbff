"""The engine under the class and method names that servers' plugins have.

    vllm      `ToolParser` and `ReasoningParser`
    sglang    detector of calls

Both import without those packages: requests are read by the names of their fields, and results
are of the package's own classes where it is at hand, of the like-named ones here where it is not.
"""

from .sglang import SglangDetector, register_sglang_detector, sglang_detector
from .vllm import (
    VllmReasoningParser,
    VllmToolParser,
    register_vllm_parsers,
    vllm_reasoning_parser,
    vllm_tool_parser,
)

__all__ = [
    "SglangDetector",
    "VllmReasoningParser",
    "VllmToolParser",
    "register_sglang_detector",
    "register_vllm_parsers",
    "sglang_detector",
    "vllm_reasoning_parser",
    "vllm_tool_parser",
]
