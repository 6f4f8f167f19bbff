"""What grammars make of the JSON Schema test suite: the page of keywords.

    python tools/schema_suite.py SUITE     prints docs/json-schema.md

SUITE is the folder of the official test suite, which the source distribution of `jsonschema` has:
`make schema-suite` puts it beside the virtual environment. Each schema becomes a grammar, read as
the standard reads it, and each instance, as JSON text, is judged by llguidance.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import islice, permutations, product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from deltaparse import UsageError
from deltaparse.grammar import GrammarRules, SchemaRules, schema_rules, to_lark

__all__ = ["Verdict", "beside", "cases", "judged", "page"]

DRAFTS = ("draft7", "draft2020-12")
LEFT_OUT = {
    "format": "says that formats assert nothing; those that assert are in `optional/format`",
}
ORDERS = 200
"""Orders of an instance's members that are tried."""

Judge: TypeAlias = Callable[[GrammarRules], Callable[[str], bool]]


class Case(NamedTuple):
    """One schema of the suite, and its instances: what it is, the value, whether it is valid."""

    draft: str
    keyword: str
    what: str
    schema: Any
    tests: list[tuple[str, Any, bool]]


class Verdict(NamedTuple):
    """What became of one instance, or with `refused` of all that a schema has.

    `kind`: "exact", "wider" (a keyword in `not_expressed` says so), "refused", "silent" (wider, and
    nothing says so) or "narrower" (it is valid, and left out).
    """

    case: Case
    what: str
    kind: str
    why: str = ""


def beside() -> Path:
    """Where `make` puts the suite."""
    return Path(sys.prefix, "schema-suite")


def cases(suite: Path) -> Iterator[Case]:
    """Iterate over the cases of the drafts, `optional/format` among them."""
    for draft in DRAFTS:
        folder = suite / "tests" / draft
        files = [*folder.glob("*.json"), *folder.glob("optional/format/*.json")]
        for file in sorted(files):
            keyword = file.stem if file.parent == folder else f"format: {file.stem}"
            if keyword in LEFT_OUT:
                continue
            for group in json.loads(file.read_text(encoding="utf-8")):
                tests = [
                    (test["description"], test["data"], test["valid"]) for test in group["tests"]
                ]
                yield Case(draft, keyword, group["description"], group["schema"], tests)


def judged(case: Case, judge: Judge) -> Iterator[Verdict]:
    """Judge the instances of a case, each written as JSON in any order of its members."""
    try:
        found = schema_rules(case.schema, standard=True)
    except UsageError as error:
        yield Verdict(case, "", "refused", str(error))
        return
    accepts = judge(found.grammar())
    for what, value, valid in case.tests:
        taken = any(map(accepts, dict.fromkeys(islice(_texts(value), ORDERS))))
        yield Verdict(case, what, _kind(found, taken=taken, valid=valid))


def _kind(found: SchemaRules, *, taken: bool, valid: bool) -> str:
    if taken == valid:
        return "exact"
    if valid:
        return "narrower"
    return "wider" if found.not_expressed else "silent"


def _texts(value: Any) -> Iterator[str]:
    """Write a value as JSON, its members in each order, a whole number without a point too."""
    match value:
        case dict():
            for members in permutations(value.items()):
                inner = [list(_texts(item)) for _, item in members]
                for texts in product(*inner):
                    pairs = zip(members, texts, strict=True)
                    yield f"{{{', '.join(f'{json.dumps(key)}: {t}' for (key, _), t in pairs)}}}"
        case list():
            for texts in product(*map(list, map(_texts, value))):
                yield f"[{', '.join(texts)}]"
        case float() if value.is_integer():
            yield from (json.dumps(value), str(int(value)))
        case _:
            yield json.dumps(value)


def lark(grammar: GrammarRules) -> Callable[[str], bool]:
    """Judge with llguidance."""
    import llguidance

    engine = llguidance.LLMatcher
    tokenizer = _tokenizer()
    source = engine.grammar_from_lark(to_lark(grammar))

    def accepts(text: str) -> bool:
        matcher = engine(tokenizer, source, log_level=0)
        if matcher.get_error():
            raise ValueError(matcher.get_error())
        data = list(text.encode())
        return bool(matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting())

    return accepts


class _Bytes:
    """A tokenizer with a token for each byte, and one for the end."""

    eos_token_id = 256
    bos_token_id = None
    special_token_ids = (256,)
    tokens = (*(bytes([byte]) for byte in range(256)), b"<end>")

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


_made: list[Any] = []


def _tokenizer() -> Any:
    if not _made:
        import llguidance

        _made.append(llguidance.LLTokenizer(llguidance.TokenizerWrapper(_Bytes())))
    return _made[0]


if __name__ == "__main__":
    c = Counter()
    for case in cases(Path(sys.argv[1])):
        try:
            for v in judged(case, lark):
                c[v.kind]+=1
                if v.kind in ("silent", "narrower", "refused"):
                    print(v.kind, "|", case.draft, "|", case.keyword, "|", case.what, "|", v.what, "|", v.why, "|", json.dumps(case.schema)[:300])
        except Exception as e:
            print("ERROR", case.draft, case.keyword, case.what, repr(e)[:300])
    print(c)
