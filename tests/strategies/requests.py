"""Options of a parser for a request, and finish reasons."""

from __future__ import annotations

from hypothesis import strategies as st

from deltaparse import Policies

from .wire_json_and_tags import TOOLS

policies = st.builds(
    Policies,
    tool_in_reasoning=st.sampled_from(["defer", "reasoning", "call"]),
    unclosed_reasoning=st.sampled_from(["reasoning", "copy"]),
    text_after_tool_call=st.sampled_from(["keep", "drop"]),
    unknown_tool=st.sampled_from(["pass", "text"]),
    malformed_arguments=st.sampled_from(["repair", "strict", "text"]),
    extra_calls=st.sampled_from(["flag", "drop", "text"]),
)
NAMED = {"type": "function", "function": {"name": "get_weather"}}


def consistent(kw):
    """Remove options that contradict others."""
    if kw.get("tools") == []:
        kw = {key: kw[key] for key in kw if key not in ("calls", "tool_choice")}
    if kw.get("tools") == [{"name": "f"}] and kw.get("tool_choice") == NAMED:
        kw = {**kw, "tool_choice": "required"}
    return kw


options = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.sampled_from([None, [], TOOLS, [{"name": "f"}], [{"name": "get_weather"}]]),
        "reasoning": st.sampled_from(["separate", "inline", "raw"]),
        "parallel_tool_calls": st.booleans(),
        "policies": policies,
        "calls": st.just("json"),
        "tool_choice": st.sampled_from(["required", NAMED]),
        "prompt": st.sampled_from(["", "<|header|>model\n", "<|header|>model\nHello <"]),
    },
).map(consistent)
reasons = st.sampled_from(["stop", "length", None])
