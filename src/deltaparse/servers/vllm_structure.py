"""What vLLM constrains a turn with: our structural tags, or else JSON.

vLLM asks a tool parser for a structural tag where the request forces a call, wants one at most, or
has strict tools. Where no tag can say the format, a forced call is constrained to be JSON, and read
as JSON: `calls_of` says of a request which of the two it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from deltaparse.stream import WireFormat

from .plugin import imported
from .requests import forces_calls, named_function
from .xgrammar_tags import structural_tag_of

__all__ = ["calls_of", "constrain_to_json", "tag_of"]

PARAMETER_LEVEL = 2
"""vLLM's `ToolStrictLevel.PARAMETER`: the arguments of all tools are held to their schemas."""


def tag_of(fmt: WireFormat, request: Any, strict_level: int) -> Any:
    """Make xgrammar's `StructuralTag` for a request, None where none can say it."""
    if imported(["vllm.envs"], "VLLM_ENFORCE_STRICT_TOOL_CALLING") == [False]:
        return None
    return structural_tag_of(
        fmt,
        request.tools,
        request,
        parallel=getattr(request, "parallel_tool_calls", None) is not False,
        all_strict=strict_level >= PARAMETER_LEVEL,
    )


def constrain_to_json(request: Any) -> None:
    """Hold a request that forces a call, and has no tag, to the JSON that `calls_of` speaks of."""
    if not forces_calls(request) or _has_tag(request):
        return
    found = imported(["vllm.tool_parsers.utils"], "get_json_schema_from_tools")
    params = imported(["vllm.sampling_params"], "StructuredOutputsParams")
    if found is None or params is None or not hasattr(request, "structured_outputs"):
        return
    schema = found[0](
        tool_choice=request.tool_choice,
        tools=request.tools,
        parallel_tool_calls=request.parallel_tool_calls,
    )
    if schema is not None:
        request.structured_outputs = params[0](json=schema)
        # A format for the answer as a whole cannot hold beside it.
        for other in ("response_format", "text"):
            if getattr(request, other, None) is not None:
                setattr(request, other, None)


def calls_of(request: Any) -> Literal["format", "json"]:
    """Return how the calls of an answer to a request are written."""
    outputs = getattr(request, "structured_outputs", None)
    schema = getattr(outputs, "json", None)
    if schema is None or not forces_calls(request):
        return "format"
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except ValueError:
            return "format"
    return "json" if named_function(request) or _lists_calls(schema) else "format"


def _lists_calls(schema: object) -> bool:
    """Return whether a schema is that of a list of calls."""
    return isinstance(schema, Mapping) and schema.get("type") == "array"


def _has_tag(request: Any) -> bool:
    outputs = getattr(request, "structured_outputs", None)
    return getattr(outputs, "structural_tag", None) is not None
