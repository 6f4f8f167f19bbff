"""A random model under a grammar: the parser reads all of its responses as valid calls.

The worst possible model picks each allowed character at random. Here it samples from the rules of
the grammar, as `deltaparse.testing` does for your tests.
`tools/random_model.py` uses the same grammar with real grammar engines and vocabularies.
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
