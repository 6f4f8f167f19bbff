"""A random model under a grammar: whatever it writes, the parser reads back as valid calls.

The worst model that there can be picks each character at random, of those that the grammar allows.
Here it walks through the grammar's rules, as `deltaparse.testing` does for your tests;
`tools/random_model.py` puts the same grammar into the hands of a real engine, with real
vocabularies.
"""

import random

import deltaparse as dp
from deltaparse.testing import Sampler

FORMAT = dp.get_format("qwen3_coder")
BOOK = {
    "type": "object",
    "properties": {
        "hotel": {"type": "string"},
        "nights": {"type": "integer", "minimum": 1, "maximum": 30},
        "class": {"enum": ["single", "double", "suite"]},
    },
    "required": ["hotel", "nights"],
}
TOOLS = [{"type": "function", "function": {"name": "book", "parameters": BOOK}}]


if __name__ == "__main__":
    chance = random.Random(7)
    model = Sampler(dp.gbnf(FORMAT, TOOLS, tool_choice="required").rules)
    for _ in range(50):
        message = dp.parse(model.text(chance), FORMAT, tools=TOOLS, finish_reason="stop")
        decision = dp.ToolGate(TOOLS).decide(message, finish_reason="stop")
        assert decision.executable, decision
        assert message.content == ""
    print("every text was read back as valid calls, such as", message.tool_calls[-1].arguments)
