"""Outputs for tests of the inspector: one with a bit of everything, and a hostile one."""

from __future__ import annotations

from deltaparse import get_format
from deltaparse.inspector import inspect_record
from deltaparse.replay import Replayer

FORMAT = get_format("qwen3")
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {}}}]


def call(name, arguments):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


TEXT = (
    "<think>\nShe asks about 天気 😀, so I look it up.\n</think>\n\nLet me check that for you.\n"
    + call("get_weather", '{"city": "Paris", "days": 3}')
    + "\n"
    + call("get_whether", '{"city": "Oslo", }')
    + "<|im_end|>"
)

HOSTILE = (
    "<think>\n</script><script>window.owned = 1</script><!-- <script> \u2028 ]]> </think>\n"
    '<img src=x onerror="window.owned = 2"><svg onload=window.owned=3></svg>'
    "<style>* { display: none }</style></textarea></title><base href='//evil.example'>"
    "<meta http-equiv=refresh content='0;url=//evil.example'>&lt;b&gt; "
    "\x1b[31mred\x07 \u202eevil\x00"
    + call("</script><script>window.owned = 4</script>", '{"<!--": "</script>\\ud800"}')
)


def inspected(text=TEXT, fmt=FORMAT, title="Paris", policies=None, **fields):
    """The inspection of an output, four characters at a time."""
    given = {} if policies is None else {"policies": policies}
    record = {"id": title, "text": text, "tools": TOOLS, "finish_reason": "stop"} | fields
    return inspect_record(record, Replayer(fmt, **given), format=fields.get("named", "qwen3"))
