"""Constrained decoding in vLLM: structural tags, or else JSON.

vLLM requests a structural tag if the request forces a call, disables parallel calls, or has strict
tools. If a tag cannot express the format, a forced call is constrained to JSON and parsed as JSON.
`calls_of` returns the notation of a request's calls.
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
"""vLLM's `ToolStrictLevel.PARAMETER`: constrain the arguments of all tools to their schemas."""


def tag_of(fmt: WireFormat, request: Any, strict_level: int) -> Any:
    """Return xgrammar's `StructuralTag` for a request, or None if it is impossible."""
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
    """Constrain a request to JSON if it forces a call and has no structural tag."""
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
        # The response format conflicts with the schema of the calls.
        for other in ("response_format", "text"):
            if getattr(request, other, None) is not None:
                setattr(request, other, None)


def calls_of(request: Any) -> Literal["format", "json"]:
    """Return the notation of calls in the response: the format's own, or JSON."""
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
    """Return True if a schema describes a list of calls."""
    return isinstance(schema, Mapping) and schema.get("type") == "array"


def _has_tag(request: Any) -> bool:
    outputs = getattr(request, "structured_outputs", None)
    return getattr(outputs, "structural_tag", None) is not None
