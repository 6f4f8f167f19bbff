"""A random model under a grammar: whatever it writes, the parser reads back as valid calls.

The worst model that there can be picks each character at random, of those that the grammar allows.
With llguidance installed (`pip install llguidance`), its mask says which: the grammar is in the
hands of a real engine. Without, a few lines here walk through the grammar's rules.
"""

import argparse
import json
import random
from importlib.util import find_spec

import deltaparse as dp
from deltaparse import grammar as g

TEMPLATE = """\
{%- for message in messages -%}
<{{ message.role }}>{{ message.content or "" }}
{%- for call in message.tool_calls or [] %}
<call>
<name={{ call.function.name }}>
{%- for key, value in call.function.arguments.items() %}
<arg={{ key }}>{{ value if value is string else value | tojson }}</arg>
{%- endfor %}
</name>
</call>
{%- endfor %}</{{ message.role }}>
{%- endfor %}
{%- if add_generation_prompt %}<assistant>{% endif %}"""

BOOK = {
    "type": "object",
    "properties": {
        "hotel": {"type": "string"},
        "nights": {"type": "integer", "minimum": 1, "maximum": 30},
        "class": {"enum": ["single", "double", "suite"]},
        "breakfast": {"type": "boolean"},
    },
    "required": ["hotel", "nights"],
}
TOOLS = [{"type": "function", "function": {"name": "book", "parameters": BOOK}}]
LONGEST = 400


def walked(grammar: dp.Grammar, chance: random.Random) -> str:
    """Write a text by walking through the rules."""
    assert grammar.rules is not None
    rules = grammar.rules.rules

    def text(expr: g.Expr) -> str:
        match expr:
            case g.Literal(written):
                return written
            case g.Chars(ranges):
                low, high = chance.choice(ranges)
                return chr(chance.randint(low, min(high, low + 90)))
            case g.Sequence(parts):
                return "".join(map(text, parts))
            case g.Choice(options):
                return text(chance.choice(options))
            case g.Repeat(body, least, most):
                count = chance.randint(least, least + 2 if most is None else min(most, least + 2))
                return "".join(text(body) for _ in range(count))
            case g.Ref(name):
                return text(rules[name])
            case g.Token(body):
                return text(body)
            case g.TextUntil(marker):
                return "".join(chance.choice("ab <>/é") for _ in range(8)) + marker

    return text(rules["root"])


def masked(grammar: dp.Grammar, chance: random.Random) -> str | None:
    """Write a text byte by byte under llguidance's mask; None if it gets too long."""
    import llguidance

    class Bytes:
        """A tokenizer with a token for each byte, and one for the end."""

        eos_token_id, bos_token_id, special_token_ids = 256, None, (256,)
        tokens = (*(bytes([byte]) for byte in range(256)), b"<end>")

        def __call__(self, text: str) -> list[int]:
            return list(text.encode())

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Bytes()))
    source = llguidance.LLMatcher.grammar_from_lark(grammar.as_lark())
    matcher, written = llguidance.LLMatcher(tokenizer, source), bytearray()
    while len(written) < LONGEST:
        mask = matcher.compute_bitmask()
        allowed = [token for token in range(257) if mask[token // 8] >> token % 8 & 1]
        # Any byte would do; these end a text before it gets too long.
        ending = [token for token in allowed if token == 256 or chr(token) in "</arg>"]
        token = chance.choice(ending if ending and len(written) % 40 > 15 else allowed)
        if token == 256:
            return written.decode()
        matcher.consume_token(token)
        written.append(token)
    return None


def is_valid(arguments: dict[str, object]) -> bool:
    """Whether arguments are what `BOOK` says."""
    nights = arguments["nights"]
    return (
        isinstance(arguments["hotel"], str)
        and isinstance(nights, int)
        and 1 <= nights <= 30
        and arguments.get("class", "suite") in ("single", "double", "suite")
        and isinstance(arguments.get("breakfast", True), bool)
        and arguments.keys() <= BOOK["properties"].keys()
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--show", action="store_true", help="print what the model writes")
    given = options.parse_args()
    fmt = dp.analyze(TEMPLATE)
    grammar = dp.gbnf(fmt, TOOLS, tool_choice="required")
    chance = random.Random(given.seed)
    for turn in range(given.turns):
        write = masked if find_spec("llguidance") and turn % 4 == 0 else walked
        text = write(grammar, chance)
        if text is None:
            continue
        parser = dp.StreamParser(fmt, tools=TOOLS)
        for character in text:
            parser.feed(character)
        parser.finish("stop")
        message = parser.message
        if given.show:
            print(text, *(call.arguments for call in message.tool_calls), sep="\n", end="\n\n")
        read = (bool(message.tool_calls), message.content, parser.issues)
        if read != (True, "", []):
            raise SystemExit(f"{read} from {text!r}")
        for call in message.tool_calls:
            if not (call.complete and is_valid(json.loads(call.arguments))):
                raise SystemExit(f"{call} from {text!r}")
    print("every text was read back as valid calls, and nothing else")


if __name__ == "__main__":
    main()
