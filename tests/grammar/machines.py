"""Judges of grammars: a matcher and a sampler of our own, and the real engines.

`accepts` matches an expression slowly and simply, independently of the writers. `read_gbnf` parses
GBNF like llama.cpp, with its limits, back to expressions. `Lark` and `Gbnf` use llguidance and
xgrammar if installed. llguidance lacks wheels for some Python versions, and xgrammar requires torch
without needing it.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import types
from functools import cache

import pytest
from hypothesis import reject

from deltaparse.grammar import (
    EMPTY,
    Chars,
    Choice,
    GrammarRules,
    Literal,
    Ref,
    Repeat,
    Sequence,
    TextUntil,
    TextWithout,
    Token,
    chars,
    except_chars,
    literal,
    seq,
    to_gbnf,
    to_lark,
)
from deltaparse.grammar.notation.write_gbnf import LLAMA_CPP
from deltaparse.testing import Sampler

__all__ = ["Sampler"]


def accepts(grammar, text):
    return Matcher(grammar.rules, text).ends(Ref("root"), 0) >= {len(text)}


def has_tokens(text):
    """Return True if a text contains special tokens, as lone surrogates."""
    return any("\ud800" <= char <= "\udfff" for char in text)


def sized(raw, text):
    begun = text.lstrip(" \t\n\r")[:1]
    right = raw.least <= len(text) and (raw.most is None or len(text) <= raw.most)
    return right and not (begun and begun in raw.not_first)


class Matcher:
    """All ends of an expression's matches, remembered for each position."""

    def __init__(self, rules, text):
        self.rules, self.text, self.known = rules, text, {}

    def ends(self, expr, at):
        key = expr.name if isinstance(expr, Ref) else id(expr), at
        if key not in self.known:
            self.known[key] = self.found(expr, at)
        return self.known[key]

    def found(self, expr, at):
        match expr:
            case Literal(text):
                return {at + len(text)} if self.text.startswith(text, at) else set()
            case Chars(ranges):
                code = ord(self.text[at]) if at < len(self.text) else -1
                return {at + 1} if any(low <= code <= high for low, high in ranges) else set()
            case Sequence(parts):
                found = {at}
                for part in parts:
                    found = self.after(found, part)
                return found
            case Choice(options):
                return set().union(*(self.ends(option, at) for option in options))
            case Repeat(body, least, most):
                return self.repeated(body, least, most, at)
            case Ref(name):
                return self.ends(self.rules[name], at)
            case Token(body):
                return self.ends(body, at)
            case TextUntil(marker, others):
                end = self.text.find(marker, at) + len(marker)
                rest = self.text[at:end]
                if has_tokens(rest[: -len(marker)]):
                    return set()
                lost = end < at + len(marker) or any(
                    other in (rest[:-1] if marker.endswith(other) else rest) for other in others
                )
                return set() if lost or not sized(expr, rest[: len(rest) - len(marker)]) else {end}
            case TextWithout(others, ending):
                ends = set()
                for end in range(at + 1, len(self.text) + 1):
                    text = self.text[at:end]
                    if has_tokens(text) or any(other in text for other in others):
                        break
                    fits = text.endswith(ending) and sized(expr, text[: len(text) - len(ending)])
                    ends |= {end} if fits else set()
                return ends
        raise TypeError(expr)

    def after(self, ats, expr):
        return set().union(*(self.ends(expr, at) for at in ats))

    def repeated(self, body, least, most, at):
        done, found, count = set(), {at}, 0
        while found and (most is None or count <= most):
            if count >= least:
                found -= done
                done |= found
            found, count = self.after(found, body), count + 1
        return done


LIMIT = 2_000  # MAX_REPETITION_THRESHOLD of llama.cpp


ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "[": "[", "]": "]"}


class GbnfReader:
    """`llama_grammar_parser`, except that it builds our expressions and raises errors."""

    def __init__(self, text, tokens):
        self.text, self.at, self.symbols = text, 0, 0
        self.chars = {str(token.id): char for char, token in tokens.items()}

    def rules(self):
        rules = {}
        while self.at < len(self.text):
            name = self.name()
            self.take(" ::= ")
            rules[name] = self.alternatives()
            self.take("\n")
        assert {ref for body in rules.values() for ref in references(body)} <= rules.keys()
        return rules

    def take(self, text):
        assert self.text.startswith(text, self.at), self.text[self.at - 20 : self.at + 20]
        self.at += len(text)

    def peek(self, chars_):
        return self.at < len(self.text) and self.text[self.at] in chars_

    def name(self):
        start = self.at
        while self.text[self.at].isascii() and (self.text[self.at].isalnum() or self.peek("-")):
            self.at += 1
        assert start < self.at, self.text[start - 20 : start + 20]
        return self.text[start : self.at]

    def alternatives(self):
        options = [self.sequence()]
        while self.text.startswith(" | ", self.at):
            self.at += 3
            options.append(self.sequence())
        return Choice(tuple(options))

    def sequence(self):
        parts = []
        while not self.peek("|)\n"):
            if self.peek(" "):
                if self.text.startswith(" | ", self.at):
                    break
                self.at += 1
            body, symbols = self.symbol()
            parts.append(self.repeated(body, symbols))
        return Sequence(tuple(parts))

    def symbol(self):
        if self.peek('"'):
            self.at += 1
            found = ""
            while not self.peek('"'):
                found += self.char()
            self.at += 1
            return literal(found), 1
        if self.peek("<"):
            self.take("<[")
            end = self.text.index("]>", self.at)
            found = self.text[self.at : end]
            self.at = end + 2
            return literal(self.chars[found]), 1
        if self.peek("["):
            return self.klass(), 1
        if self.peek("("):
            self.at += 1
            before = self.symbols
            self.symbols += 1
            body = self.alternatives()
            self.take(")")
            return body, max(1, self.symbols - before)
        return Ref(self.name()), 1

    def klass(self):
        self.at += 1
        negated = self.peek("^")
        self.at += negated
        ranges = []
        while not self.peek("]"):
            low = high = self.char()
            if self.peek("-") and self.text[self.at + 1] != "]":
                self.at += 1
                high = self.char()
            ranges.append((ord(low), ord(high)))
        self.at += 1
        return except_chars(chars(*ranges)) if negated else chars(*ranges)

    def char(self):
        char = self.text[self.at]
        self.at += 1
        if char != "\\":
            return char
        kind = self.text[self.at]
        self.at += 1
        if kind in ESCAPES:
            return ESCAPES[kind]
        count = {"x": 2, "u": 4, "U": 8}[kind]
        self.at += count
        return chr(int(self.text[self.at - count : self.at], 16))

    def repeated(self, body, symbols):
        if self.peek("*+?"):
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self.text[self.at]]
            self.at += 1
        elif self.peek("{"):
            end = self.text.index("}", self.at)
            low, comma, high = self.text[self.at + 1 : end].partition(",")
            self.at = end + 1
            least, most = int(low), int(high) if high else None if comma else int(low)
        else:
            return body
        total = most or least or 1
        assert symbols * total < LIMIT, "too many repetitions"
        self.symbols += 1 if most is None else most - least
        return Repeat(body, least, most)


def references(expr):
    match expr:
        case Sequence(inner) | Choice(inner):
            return set().union(*map(references, inner))
        case Repeat(body, _, _):
            return references(body)
        case Ref(name):
            return {name}
        case _:
            return set()


def read_gbnf(text, tokens=()):
    return GrammarRules(GbnfReader(text, dict(tokens)).rules())


class Bytes:
    """A tokenizer with one token per byte, and an end token."""

    eos_token_id = 256
    bos_token_id = None
    special_token_ids = (256,)
    tokens = (*(bytes([byte]) for byte in range(256)), b"<end>")

    def __call__(self, text):
        return list(text if isinstance(text, bytes) else text.encode())


@cache
def llguidance():
    """Return the matcher of llguidance and a tokenizer, or None if not installed."""
    if importlib.util.find_spec("llguidance") is None:
        return None
    import llguidance

    return llguidance.LLMatcher, llguidance.LLTokenizer(llguidance.TokenizerWrapper(Bytes()))


CLOSING = (256, *b']}",:')
"""Preferred characters near the end of a sample. Otherwise brackets would be opened forever."""


class Lark:
    """A grammar in llguidance."""

    def __init__(self, grammar):
        if llguidance() is None:
            pytest.skip("llguidance is not installed")
        self.engine, self.tokenizer = llguidance()
        self.source = self.engine.grammar_from_lark(to_lark(grammar))
        error = self.engine.validate_grammar(self.source, self.tokenizer)
        # llguidance reads only about sixty nested brackets, which integers of 15 digits with a
        # limit reach.
        if "too deeply nested" in error:
            reject()
        assert not error, error

    def matcher(self):
        return self.engine(self.tokenizer, self.source, log_level=0)

    def accepts(self, text):
        data = list(text.encode())
        matcher = self.matcher()
        return matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting()

    def sampled(self, random, size=80):
        """Choose bytes within the engine's mask, or return None if it takes too long."""
        matcher, data = self.matcher(), bytearray()
        while len(data) < 20 * size:
            mask = matcher.compute_bitmask()
            allowed = [i for i in range(257) if mask[i // 8] >> i % 8 & 1]
            closing = [byte for byte in CLOSING if byte in allowed]
            wanted = closing if closing and len(data) > size else allowed
            byte = random.choice(wanted)
            if byte == 256:
                return data.decode()
            assert matcher.consume_token(byte)
            data.append(byte)
        return None


@cache
def xgrammar():
    """Return xgrammar without torch, used for masks only, or None if not installed."""
    if importlib.util.find_spec("xgrammar") is None:
        return None
    if importlib.util.find_spec("torch") is None:
        import tvm_ffi  # noqa: F401  looks whether torch is there, before it seems to be

        class Stand:
            def __init__(self, *args, **kwargs):
                pass

        torch = types.ModuleType("torch")
        torch.__spec__ = importlib.machinery.ModuleSpec("torch", None)
        torch.__getattr__ = lambda name: Stand
        sys.modules["torch"] = torch
        try:
            import xgrammar
        finally:
            del sys.modules["torch"]
    import xgrammar

    info = xgrammar.TokenizerInfo(
        list(Bytes.tokens), vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256]
    )
    return xgrammar, xgrammar.GrammarCompiler(info)


class Gbnf:
    """The GBNF of a grammar in xgrammar."""

    def __init__(self, grammar, dialect=LLAMA_CPP):
        if xgrammar() is None:
            pytest.skip("xgrammar is not installed")
        self.module, compiler = xgrammar()
        text = to_gbnf(grammar, dialect)
        self.compiled = compiler.compile_grammar(self.module.Grammar.from_ebnf(text))

    def accepts(self, text):
        matcher = self.module.GrammarMatcher(self.compiled, terminate_without_stop_token=True)
        return (not text or matcher.accept_string(text.encode())) and matcher.is_completed()

    def sampled(self, random, size=80):
        """Choose bytes the engine accepts, or return None if it takes too long."""
        matcher, data = self.module.GrammarMatcher(self.compiled), bytearray()
        while len(data) < 20 * size:
            order = random.sample(range(257), 257)
            closing = CLOSING if len(data) > size else ()
            byte = next(byte for byte in (*closing, *order) if matcher.accept_token(byte))
            if byte == 256:
                return data.decode(errors="replace")  # its free text accepts any bytes
            data.append(byte)
        return None


class Tag(Gbnf):
    """A structural tag in xgrammar."""

    def __init__(self, tag):
        if xgrammar() is None:
            pytest.skip("xgrammar is not installed")
        self.module, compiler = xgrammar()
        self.compiled = compiler.compile_structural_tag(tag)


def grammar_of(expr, **rules):
    """Return the grammar of an expression by itself."""
    return GrammarRules({"root": expr if expr != EMPTY else seq(), **rules})
