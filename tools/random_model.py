"""A random model under a grammar: the parser reads all of its responses as valid calls.

The worst possible model picks each allowed character at random. With llguidance installed
(`pip install llguidance`), its mask lists the allowed characters, so a real engine enforces the
grammar. Otherwise `deltaparse.testing` samples from the grammar's rules.

With a real vocabulary, the model picks tokens, as with random logits. Markers that are special
tokens are then written as these tokens:

    python tools/random_model.py --vocabulary tekken.json --format mistral --show
"""

import argparse
import json
import random
from importlib.util import find_spec

import deltaparse as dp
from deltaparse.testing import Sampler

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
    """Write a text by sampling from the rules."""
    assert grammar.rules is not None
    return Sampler(grammar.rules).text(chance)


def masked(grammar: dp.Grammar, chance: random.Random) -> str | None:
    """Write a text byte by byte under llguidance's mask, None if it gets too long."""
    import llguidance

    class Bytes:
        """A tokenizer with a token for each byte, and an end token."""

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
        # Any byte is valid, but these end a text before it gets too long.
        ending = [token for token in allowed if token == 256 or chr(token) in "</arg>"]
        token = chance.choice(ending if ending and len(written) % 40 > 15 else allowed)
        if token == 256:
            return written.decode()
        matcher.consume_token(token)
        written.append(token)
    return None


class Tokens:
    """A vocabulary in the form of llguidance, with an additional end token."""

    bos_token_id = None

    def __init__(self, vocabulary: dp.Vocabulary) -> None:
        self.eos_token_id = end = max(vocabulary) + 1
        self.tokens = [*[b""] * end, b"<end>"]
        for id in vocabulary:
            self.tokens[id] = vocabulary[id]
        self.special_token_ids = sorted({*vocabulary.special_ids, end})
        special = vocabulary.special_ids
        self.ids = {vocabulary[id]: id for id in vocabulary if id not in special}
        self.longest = max(map(len, self.ids))

    def __call__(self, text: str | bytes) -> list[int]:
        """Split a text into the longest tokens."""
        data, ids, at = text if isinstance(text, bytes) else text.encode(), [], 0
        while at < len(data):
            sizes = range(min(self.longest, len(data) - at), 0, -1)
            size = next(size for size in sizes if data[at : at + size] in self.ids)
            ids.append(self.ids[data[at : at + size]])
            at += size
        return ids


class RandomLogits:
    """A model with equal logits for all tokens of a vocabulary."""

    def __init__(self, fmt: dp.WireFormat, vocabulary: dp.Vocabulary) -> None:
        import llguidance

        self.words = Tokens(vocabulary)
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(self.words))
        grammar = dp.gbnf(fmt, TOOLS, tool_choice="required", vocabulary=vocabulary)
        self.source = llguidance.LLMatcher.grammar_from_lark(grammar.as_lark())
        self.end = self.words.eos_token_id
        # Preferred endings of a long text, in order: strings first, then the values around them.
        special = [[id] for id in reversed(self.words.special_token_ids)]
        closers = (fmt.arguments.value_suffix.strip(), '"', "}", "]", ",", ":")
        self.endings = [*special, *(self.spelled(text, vocabulary) for text in closers if text)]

    def spelled(self, text: str, vocabulary: dp.Vocabulary) -> list[int]:
        """Encode a text, with special tokens for their texts."""
        parts = vocabulary.spelled(text).stretches
        ids = ([part.id] if part.id is not None else self.words(part.text) for part in parts)
        return [id for some in ids for id in some]

    def turn(self, chance: random.Random) -> list[int] | None:
        """Write a turn, None if it gets too long."""
        import llguidance

        matcher, ids = llguidance.LLMatcher(self.tokenizer, self.source), []
        while len(ids) < LONGEST:
            chosen = None
            if len(ids) > 20:
                fits = (end for end in self.endings if matcher.validate_tokens(end) == len(end))
                chosen = next(fits, None)
            if chosen is None:
                chosen = [self.drawn(matcher.compute_bitmask(), chance)]
            if chosen == [self.end]:
                return ids
            matcher.consume_tokens(chosen)
            ids += chosen
        return None

    def drawn(self, mask: bytes, chance: random.Random) -> int:
        """Draw one of the allowed tokens."""
        for _ in range(100):
            id = chance.randint(0, self.end)
            if mask[id // 8] >> id % 8 & 1:
                return id
        # Few tokens are allowed, or one would have been drawn
        some = (at for at, byte in enumerate(mask) if byte)
        allowed = [8 * at + bit for at in some for bit in range(8) if mask[at] >> bit & 1]
        return chance.choice([id for id in allowed if id <= self.end])


def is_valid(arguments: dict[str, object]) -> bool:
    """Return True if arguments match the schema `BOOK`."""
    nights = arguments["nights"]
    return (
        isinstance(arguments["hotel"], str)
        and isinstance(nights, int)
        and 1 <= nights <= 30
        and arguments.get("class", "suite") in ("single", "double", "suite")
        and isinstance(arguments.get("breakfast", True), bool)
        and arguments.keys() <= BOOK["properties"].keys()
    )


def check(parser: dp.StreamParser | dp.TokenParser, written: str, show: bool) -> None:
    """Exit unless the text was read as valid calls without other content."""
    message = parser.message
    if show:
        print(written, *(call.arguments for call in message.tool_calls), sep="\n", end="\n\n")
    read = (bool(message.tool_calls), message.content, parser.issues)
    if read != (True, "", []):
        raise SystemExit(f"{read} from {written!r}")
    for call in message.tool_calls:
        if not (call.complete and is_valid(json.loads(call.arguments))):
            raise SystemExit(f"{call} from {written!r}")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--turns", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--show", action="store_true", help="print the responses")
    options.add_argument("--format", help="built-in format, e.g. hermes")
    options.add_argument("--vocabulary", help="tokenizer file or model folder")
    given = options.parse_args()
    fmt = dp.get_format(given.format) if given.format else dp.analyze(TEMPLATE)
    grammar = dp.gbnf(fmt, TOOLS, tool_choice="required")
    chance = random.Random(given.seed)
    if given.vocabulary:
        vocabulary = dp.Vocabulary.load(given.vocabulary)
        model = RandomLogits(fmt, vocabulary)
    for turn in range(given.turns):
        if given.vocabulary:
            ids = model.turn(chance)
            if ids is None:
                continue
            tokens = dp.TokenParser(fmt, vocabulary, tools=TOOLS)
            for id in ids:
                tokens.feed(id)
            tokens.finish("stop")
            written = b"".join(vocabulary[id] for id in ids).decode(errors="replace")
            check(tokens, written, given.show)
            continue
        write = masked if find_spec("llguidance") and turn % 4 == 0 else walked
        text = write(grammar, chance)
        if text is None:
            continue
        parser = dp.StreamParser(fmt, tools=TOOLS)
        for character in text:
            parser.feed(character)
        parser.finish("stop")
        check(parser, text, given.show)
    print("every text was read back as valid calls, and nothing else")


if __name__ == "__main__":
    main()
