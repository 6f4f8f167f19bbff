"""The pytest plugin of `suites.py`: names of parsers stand for our plugins.

`ToolParserManager.get_tool_parser(name)` and `ReasoningParserManager.get_reasoning_parser(name)`,
which the tests ask for the parser of a name, return ours where we have that name.
"""

from __future__ import annotations

import warnings

import peers

warnings.simplefilter("ignore")
peers.install(("vllm",))

from vllm.reasoning.abs_reasoning_parsers import ReasoningParserManager  # noqa: E402
from vllm.tool_parsers.abstract_tool_parser import ToolParserManager  # noqa: E402

from deltaparse import DeltaParseError  # noqa: E402
from deltaparse.servers import vllm_reasoning_parser, vllm_tool_parser  # noqa: E402

their_tools, their_reasoning = (
    ToolParserManager.get_tool_parser,
    ReasoningParserManager.get_reasoning_parser,
)


def tool_parser(name: str) -> type:
    """Our tool parser of a name, theirs where we have none."""
    try:
        return vllm_tool_parser(f"vllm:{name}")
    except DeltaParseError:
        return their_tools(name)


def reasoning_parser(name: str) -> type:
    """Our reasoning parser of a name, theirs where we have none."""
    try:
        return vllm_reasoning_parser(f"vllm:{name}")
    except DeltaParseError:
        return their_reasoning(name)


ToolParserManager.get_tool_parser = staticmethod(tool_parser)
ReasoningParserManager.get_reasoning_parser = staticmethod(reasoning_parser)
