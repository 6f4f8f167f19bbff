"""A random model under a grammar: whatever it writes, the parser reads back as valid calls.

The worst model that there can be picks each character at random, of those that the grammar allows.
Here it walks through the grammar's rules; `tools/random_model.py` puts the same grammar into the
hands of a real engine, with real vocabularies.
"""

import random

import deltaparse as dp
from deltaparse import grammar as g

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


def text(expr: g.Expr, rules: dict[str, g.Expr]) -> str:
    """Write something that fits."""
    match expr:
        case g.Literal(written):
            return written
        case g.Chars(ranges):
            low, high = random.choice(ranges)
            return chr(random.randint(low, min(high, low + 90)))
        case g.Sequence(parts):
            return "".join(text(part, rules) for part in parts)
        case g.Choice(options):
            return text(random.choice(options), rules)
        case g.Repeat(body, least, most):
            count = random.randint(least, least + 2 if most is None else min(most, least + 2))
            return "".join(text(body, rules) for _ in range(count))
        case g.Ref(name):
            return text(rules[name], rules)
        case g.Token(body):
            return text(body, rules)
        case g.TextUntil(marker):
            return "".join(random.choice("ab <>/é") for _ in range(8)) + marker


if __name__ == "__main__":
    random.seed(7)
    rules = dp.gbnf(FORMAT, TOOLS, tool_choice="required").rules.rules
    for _ in range(50):
        message = dp.parse(text(rules["root"], rules), FORMAT, tools=TOOLS, finish_reason="stop")
        decision = dp.ToolGate(TOOLS).decide(message, finish_reason="stop")
        assert decision.executable, decision
        assert message.content == ""
    print("every text was read back as valid calls, such as", message.tool_calls[-1].arguments)
