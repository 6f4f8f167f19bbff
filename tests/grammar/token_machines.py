"""Engines that read tokens, and texts split into tokens in many ways."""

from __future__ import annotations

import importlib.util
from functools import cache

import pytest

import deltaparse as dp
from deltaparse import get_format, list_formats

from .. import vocabularies
from .machines import xgrammar

SURROGATES = range(0xD800, 0xE000)


@cache
def markers():
    """Return markers of built-in formats that may be special tokens."""
    formats = [get_format(name) for name in list_formats()]
    texts = {text for fmt in formats for text in (*fmt.preserved_tokens, *fmt.turn.ends)}
    return sorted({text.strip() for text in texts} - {""})


@cache
def small():
    """Return a trained vocabulary with all of these as special tokens."""
    return dp.Vocabulary.load(vocabularies.trained(("<eos>", *markers())))


@cache
def large():
    """Return a real vocabulary with them."""
    real = dp.Vocabulary.load(vocabularies.path("qwen"))
    special = {text: len(real) + i for i, text in enumerate(["<eos>", *markers()])}
    return dp.Vocabulary.load(vocabularies.path("qwen"), special=special)


class Encoder:
    """Splits texts into ordinary tokens of a vocabulary."""

    def __init__(self, vocabulary):
        special = vocabulary.special_ids
        self.ids = {vocabulary[id]: id for id in vocabulary if id not in special}
        # Keyed by the first two bytes, because most tokens are much shorter than the longest.
        self.longest = {}
        for token in self.ids:
            self.longest[token[:2]] = max(self.longest.get(token[:2], 0), len(token))

    def of(self, text, random=None):
        """Return the ids of a text: the longest tokens, or random ones that fit."""
        data, ids, at = text if isinstance(text, bytes) else text.encode(), [], 0
        while at < len(data):
            longest = self.longest.get(data[at : at + 2], 1)
            sizes = range(min(longest, len(data) - at), 0, -1)
            fitting = [size for size in sizes if data[at : at + size] in self.ids]
            size = random.choice(fitting) if random else fitting[0]
            ids.append(self.ids[data[at : at + size]])
            at += size
        return ids

    def marked(self, text, tokens, random=None):
        """Return the ids of a text with lone surrogates for special tokens."""
        ids, plain = [], ""
        for char in text:
            if ord(char) in SURROGATES:
                ids += [*self.of(plain, random), tokens[char].id]
                plain = ""
            else:
                plain += char
        return [*ids, *self.of(plain, random)]


@cache
def encoder(vocabulary):
    return Encoder(vocabulary)


@cache
def llguidance(vocabulary, end):
    """Return the matcher of llguidance, and its tokenizer for a vocabulary."""
    if importlib.util.find_spec("llguidance") is None:
        pytest.skip("llguidance is not installed")
    import llguidance

    words = [b""] * (max(vocabulary) + 1)
    for id in vocabulary:
        words[id] = vocabulary[id]

    class Tokens:
        eos_token_id = vocabulary.find(end)
        bos_token_id = None
        tokens = words
        special_token_ids = tuple(sorted(vocabulary.special_ids))

        def __call__(self, text):
            return encoder(vocabulary).of(text)

    return llguidance.LLMatcher, llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()))


class TokenLark:
    """A grammar in llguidance, with a vocabulary."""

    def __init__(self, grammar, vocabulary, end="<eos>"):
        self.vocabulary, self.end, self.last = vocabulary, vocabulary.find(end), max(vocabulary)
        self.engine, self.tokenizer = llguidance(vocabulary, end)
        self.source = self.engine.grammar_from_lark(grammar.as_lark())
        error = self.engine.validate_grammar(self.source, self.tokenizer)
        assert not error, error

    def matcher(self):
        return self.engine(self.tokenizer, self.source, log_level=0)

    def taken(self, ids):
        """Return the number of ids the grammar accepts."""
        return self.matcher().try_consume_tokens(list(ids))

    def accepts(self, ids):
        matcher = self.matcher()
        return matcher.try_consume_tokens(list(ids)) == len(ids) and matcher.is_accepting()

    def sampled(self, random, ends, size=20, most=200):
        """Return ids chosen by random logits under the mask, or None if it takes too long.

        From some size on, the first fitting end token is chosen.
        """
        matcher, ids = self.matcher(), []
        special = [[id] for id in sorted(self.vocabulary.special_ids - {self.end})]
        texts = [encoder(self.vocabulary).of(text) for text in ends if text]

        def fitting(closing):
            return [end for end in closing if matcher.validate_tokens(end) == len(end)]

        while len(ids) < most:
            chosen = [self.drawn(random, matcher.compute_bitmask())]
            if len(ids) > size:
                late = fitting([[self.end]]) or random.sample(found := fitting(special), len(found))
                chosen = next(iter(late or fitting(texts)), chosen)
            if chosen == [self.end]:
                return ids
            assert matcher.consume_tokens(chosen)
            ids += chosen
        return None

    def drawn(self, random, mask):
        for _ in range(50):
            id = random.randint(0, self.last)
            if mask[id // 8] >> id % 8 & 1:
                return id
        some = (8 * at + bit for at, byte in enumerate(mask) if byte for bit in range(8))
        return random.choice([id for id in some if id <= self.last and mask[id // 8] >> id % 8 & 1])


@cache
def compiler(vocabulary):
    """Return the compiler of xgrammar for a vocabulary without gaps."""
    module, _ = xgrammar()
    words = [vocabulary[id] for id in sorted(vocabulary)]
    ends = [vocabulary.find("<eos>")]
    info = module.TokenizerInfo(words, vocab_type=module.VocabType.RAW, stop_token_ids=ends)
    return module.GrammarCompiler(info)


class TokenTag:
    """A structural tag in xgrammar, with a vocabulary."""

    def __init__(self, tag, vocabulary):
        self.compiled = compiler(vocabulary).compile_structural_tag(tag)

    def accepts(self, ids):
        matcher = xgrammar()[0].GrammarMatcher(self.compiled, terminate_without_stop_token=True)
        return all(map(matcher.accept_token, ids)) and matcher.is_completed()
