"""Response templates in all shapes of real checkpoints, rewritten for these tests."""

from __future__ import annotations

FUNCTION = {"type": "function", "function": "{content}"}
NAMED = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
THINK = {"open": "<think>", "close": "</think>"}

QWEN = {
    "version": 1,
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "reasoning_content": THINK,
        "tool_calls": {
            "open_pattern": r"\s*<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": FUNCTION,
        },
        "content": {"close_pattern": r"\s*(?:<\|im_end\|>|<\|endoftext\|>)"},
    },
}
CODER = {
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "thinking": THINK,
        "tool_calls": {
            "open_pattern": r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>",
            "close_pattern": r"</function>\s*</tool_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</parameter>"
            },
            "transform": NAMED,
        },
        "content": {"close_pattern": r"\s*<\|im_end\|>"},
    },
}
DEEPSEEK = {
    "start_anchor": "<｜Assistant｜>",
    "fields": {
        "thinking": THINK,
        "tool_calls": {
            "open_pattern": r"(?:<｜tool▁calls▁begin｜>)?<｜tool▁call▁begin｜>"
            r"(?P<name>.+?)<｜tool▁sep｜>",
            "close_pattern": r"<｜tool▁call▁end｜>(?:<｜tool▁calls▁end｜>)?",
            "repeats": True,
            "content": "json",
            "transform": NAMED,
        },
        "content": {"close": "<｜end▁of▁sentence｜>"},
    },
}
MISTRAL = {
    "start_anchor": ["[/INST]", "[/TOOL_RESULTS]"],
    "fields": {
        "tool_calls": {
            "open": "[TOOL_CALLS]",
            "close_pattern": r"</s>|\Z",
            "content": "json",
            "transform": {
                "type": "function",
                "id": "{id}",
                "function": {"name": "{name}", "arguments": "{arguments}"},
            },
            "transform_each": True,
        },
        "content": {"close": "</s>"},
    },
}
SMALL = {
    "start_anchor": "[/INST]",
    "fields": {
        "tool_calls": {
            "open_pattern": r"\[TOOL_CALLS\](?P<name>\w+)\[CALL_ID\](?P<id>\w+)\[ARGS\]",
            "close_pattern": r"</s>|(?=\[TOOL_CALLS\])|\Z",
            "repeats": True,
            "content": "json",
            "transform": {**NAMED, "id": "{id}"},
        },
        "content": {"close": "</s>"},
    },
}
COHERE = {
    "start_anchor": "<|CHATBOT_TOKEN|>",
    "fields": {
        "thinking": {"open": "<|START_THINKING|>", "close": "<|END_THINKING|>"},
        "content": {"open": "<|START_RESPONSE|>", "close": "<|END_RESPONSE|>"},
        "tool_calls": {
            "open": "<|START_ACTION|>",
            "close": "<|END_ACTION|>",
            "content": "json",
            "transform": {
                "type": "function",
                "function": {"name": "{tool_name}", "arguments": "{parameters}"},
            },
            "transform_each": True,
        },
    },
}
GEMMA = {
    "start_anchor": ["<|turn>model\n", "<tool_response|>"],
    "fields": {
        "reasoning_content": {"open": "<|channel>thought\n", "close": "<channel|>"},
        "tool_calls": {
            "open_pattern": r"<\|tool_call>call:(?P<name>\w+)",
            "close": "<tool_call|>",
            "repeats": True,
            "content": "json",
            "content_args": {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]},
            "transform": NAMED,
        },
        "content": {"close": ["<turn|>", "<|tool_response>"]},
    },
}
NESTED = {
    "start_anchor_pattern": r"<bot>\n?",
    "fields": {
        "tool_calls": {
            "open": "<call>",
            "close": "</call>",
            "repeats": True,
            "content": "json",
            "transform": {
                "function": {
                    "name": "{content.fn.tool}",
                    "arguments": "{content.fn.input}",
                }
            },
        },
        "content": {},
    },
}
F, G = '{"city": "NYC"}', '{"n": 2}'
SEP, CALL, END = "<｜tool▁sep｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
CASES = {
    "qwen": (
        QWEN,
        [
            "<think>\nhm\n</think>\n\nHi<|im_end|>",
            (
                'Hi\n<tool_call>\n{"name": "f", "arguments": {"city": "NYC"}}\n</tool_call>'
                '\n<tool_call>\n{"name": "g", "arguments": {"n": 2}}\n</tool_call><|im_end|>'
            ),
            "Hi, a < b <tool",
        ],
    ),
    "coder": (
        CODER,
        [
            "<think>hm</think>Hi",
            (
                "Hi\n\n<tool_call>\n<function=f>\n<parameter=city>\nNYC\n</parameter>\n</function>\n"
                "</tool_call>\n<tool_call>\n<function=g>\n<parameter=n>\n2\n</parameter>\n"
                "</function>\n</tool_call><|im_end|>"
            ),
        ],
    ),
    "deepseek": (
        DEEPSEEK,
        [
            "<think>hm</think>Hi",
            f"Hi<｜tool▁calls▁begin｜>{CALL}f{SEP}{F}{END}{CALL}g{SEP}{G}{END}<｜tool▁calls▁end｜>",
        ],
    ),
    "mistral": (
        MISTRAL,
        [
            "Hi</s>",
            (
                f'[TOOL_CALLS][{{"name": "f", "arguments": {F}, "id": "123456789"}}, '
                f'{{"name": "g", "arguments": {G}, "id": "abcdefghi"}}]'
            ),
        ],
    ),
    "small": (
        SMALL,
        ["Hi", f"[TOOL_CALLS]f[CALL_ID]123[ARGS]{F}[TOOL_CALLS]g[CALL_ID]456[ARGS]{G}</s>"],
    ),
    "cohere": (
        COHERE,
        [
            "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Hi<|END_RESPONSE|>",
            (
                f'<|START_ACTION|>[\n{{"tool_name": "f", "parameters": {F}}},\n'
                f'{{"tool_name": "g", "parameters": {G}}}\n]<|END_ACTION|>'
            ),
        ],
    ),
    "gemma": (
        GEMMA,
        [
            "<|channel>thought\nhm<channel|>Hi<turn|>",
            '<|tool_call>call:f{city:<|"|>NYC<|"|>}<tool_call|><|tool_call>call:g{n:2}<tool_call|>',
        ],
    ),
    "nested": (NESTED, [f'Hi<call>{{"fn": {{"tool": "f", "input": {F}}}}}</call>']),
}
"""Each template with responses for it."""
