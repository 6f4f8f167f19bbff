"""Defaults for optional members of tools, which some templates read without a check."""

from __future__ import annotations

from typing import Any

__all__ = ["with_all_members"]

Tool = dict[str, Any]


def with_all_members(tools: list[Tool]) -> list[Tool]:
    """Return the tools with an empty description and object schema added if they are missing."""
    return [_whole_tool(tool) for tool in tools]


def _whole_tool(tool: Tool) -> Tool:
    function = tool.get("function", tool)
    if not isinstance(function, dict) or "name" not in function:
        return tool
    whole = {"name": function["name"], "description": "", **function}
    if whole["description"] is None:
        whole["description"] = ""
    whole["parameters"] = _whole_schema(function.get("parameters"))
    return {**tool, "function": whole} if "function" in tool else whole


def _whole_schema(schema: Any) -> Any:
    if schema is None:
        schema = {}
    if not isinstance(schema, dict):
        return schema
    whole = {"type": "object", **schema}
    members = whole.get("properties") or {}
    if isinstance(members, dict):
        whole["properties"] = {name: _described(member) for name, member in members.items()}
    return whole


def _described(member: Any) -> Any:
    """Return the schema of an argument with a description."""
    return {"description": "", **member} if isinstance(member, dict) else member
