"""Run grammars on the JSON Schema test suite, and write the page of keywords.

    python tools/schema_suite.py SUITE     print docs/json-schema.md

SUITE is the folder of the official test suite, a part of the source distribution of `jsonschema`.
`make schema-suite` installs it next to the virtual environment. Each schema is converted to a
grammar in standard mode, and llguidance checks each instance as JSON text.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, permutations, product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from deltaparse import UsageError
from deltaparse.grammar import GrammarRules, SchemaRules, schema_rules, to_lark

__all__ = ["Verdict", "beside", "by_keyword", "cases", "counted", "judged", "line", "page", "texts"]

DRAFTS = ("draft7", "draft2020-12")
NOT_RUN = {"format"}
"""A file for formats without assertions. Asserting formats are in `optional/format`."""

LEAP = "leap seconds, and `t` and `z` in small letters"
LEFT_OUT = {
    ("format: time", "validation of time strings"): LEAP,
    ("format: date-time", "validation of date-time strings"): LEAP,
    ("format: email", "validation of e-mail addresses"): "addresses with quotes or numeric hosts",
    ("ref", "ref overrides any sibling keywords"): "values that only keywords beside a `$ref` "
    "exclude: up to draft 7 these count for nothing, and here they do",
    (
        "vocabulary",
        "schema that uses custom metaschema with with no validation vocabulary",
    ): "values of schemas whose own vocabulary takes a keyword's meaning away",
}
"""Intended omissions, by keyword and case."""

KINDS = ("exact", "wider", "left out", "refused", "silent", "narrower")
COLUMNS = ("cases", "instances", *KINDS[:4], "by default")

HEAD = """# JSON Schema, keyword by keyword

What a grammar holds a model to, measured with the [official test suite](https://github.com/json-schema-org/\
JSON-Schema-Test-Suite), drafts 7 and 2020-12: each schema becomes a grammar, and an engine judges
each instance, written as JSON, its members in any order. `make schema-suite` fetches the suite,
which is part of the source distribution of `jsonschema`, and writes this page with
`tools/schema_suite.py`; a test holds it up to date.

- **exact**: valid, and the grammar takes it; or not, and it does not.
- **wider**: not valid, and the grammar takes it; the keyword is in `not_expressed`.
- **left out**: valid, and the grammar does not take it, for one of the reasons below.
- **refused**: the schema is an error that says where: it allows nothing, or a `$ref` leads nowhere.
- **by default**: valid too, and left out unless a schema is read with `standard=True`: keys that
  an object with `properties` does not describe, and values of types that no keyword speaks of. A
  tool's schema means what it describes.

Nothing is wider without being listed, and nothing else is left out.

| keyword | cases | instances | exact | wider | left out | refused | by default |
|---|--:|--:|--:|--:|--:|--:|--:|"""

TAIL = """`format` has what asserts: the suite's `optional/format`. Not run are the other optional
parts, and `format.json`, which says that formats assert nothing.
"""

ORDERS = 200
"""Limit of tried member orders of an instance."""

Judge: TypeAlias = Callable[[GrammarRules], Callable[[str], bool]]


class Case(NamedTuple):
    """One schema of the suite, and its instances: description, value, and validity."""

    draft: str
    keyword: str
    what: str
    schema: Any
    tests: list[tuple[str, Any, bool]]


class Verdict(NamedTuple):
    """The result for one instance, or for all instances of a rejected schema.

    `kind`: one of `KINDS`. "wider": reported in `not_expressed`. "silent": not reported. "left
    out":
    with a reason in `LEFT_OUT`. "narrower": without a reason.
    """

    case: Case
    what: str
    kind: str
    why: str = ""


def beside() -> Path:
    """Return the folder into which `make` installs the suite."""
    return Path(sys.prefix, "schema-suite")


def cases(suite: Path) -> Iterator[Case]:
    """Yield the cases of all drafts, including `optional/format`."""
    for draft in DRAFTS:
        folder = suite / "tests" / draft
        files = [*folder.glob("*.json"), *folder.glob("optional/format/*.json")]
        for file in sorted(files):
            keyword = file.stem if file.parent == folder else f"format: {file.stem}"
            if keyword in NOT_RUN:
                continue
            for group in json.loads(file.read_text(encoding="utf-8")):
                tests = [
                    (test["description"], test["data"], test["valid"]) for test in group["tests"]
                ]
                yield Case(draft, keyword, group["description"], group["schema"], tests)


def judged(case: Case, judge: Judge, *, standard: bool = True) -> Iterator[Verdict]:
    """Check the instances of a case, each written as JSON in several member orders."""
    try:
        found = schema_rules(case.schema, standard=standard)
    except UsageError as error:
        yield Verdict(case, "", "refused", str(error))
        return
    accepts = judge(found.grammar())
    for what, value, valid in case.tests:
        taken = any(map(accepts, texts(value)))
        yield Verdict(case, what, _kind(case, found, taken=taken, valid=valid))


def _kind(case: Case, found: SchemaRules, *, taken: bool, valid: bool) -> str:
    if taken == valid:
        return "exact"
    if valid:
        return "left out" if (case.keyword, case.what) in LEFT_OUT else "narrower"
    return "wider" if found.not_expressed else "silent"


def texts(value: Any) -> list[str]:
    """Return the JSON texts of a value, up to the limit."""
    return list(dict.fromkeys(islice(_texts(value), ORDERS)))


def _texts(value: Any) -> Iterator[str]:
    """Yield the JSON texts of a value, in each member order, and integers without a point too."""
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
    """Check with llguidance."""
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
    """A tokenizer with a token for each byte, and an end token."""

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


def by_keyword(suite: Path) -> dict[str, list[Case]]:
    """Return the cases of each keyword."""
    found: dict[str, list[Case]] = defaultdict(list)
    for case in cases(suite):
        found[case.keyword].append(case)
    return dict(found)


def counted(chosen: Iterable[Case], judge: Judge = lark) -> Counter[str]:
    """Count the verdicts, cases and instances."""
    row: Counter[str] = Counter()
    for case in chosen:
        row["cases"] += 1
        row["instances"] += len(case.tests)
        for verdict in judged(case, judge):
            row[verdict.kind] += len(case.tests) if verdict.kind == "refused" else 1
        narrowed = judged(case, judge, standard=False)
        row["by default"] += sum(verdict.kind == "narrower" for verdict in narrowed)
    return row


def page(rows: Mapping[str, Counter[str]]) -> str:
    """Return the page with the counts of each keyword."""
    lines = [HEAD]
    total: Counter[str] = Counter()
    for keyword in sorted(rows, key=lambda name: (name.startswith("format"), name.lower())):
        lines.append(line(f"`{keyword}`", rows[keyword]))
        total += rows[keyword]
    lines.append(line("all", total))
    reasons = dict.fromkeys(LEFT_OUT.values())
    lines += ["", "What is left out:", "", *(f"- {reason}." for reason in reasons), "", TAIL]
    return "\n".join(lines)


def line(name: str, row: Counter[str]) -> str:
    """Return a row of the table."""
    return f"| {name} | {' | '.join(str(row[column] or '') for column in COLUMNS)} |"


if __name__ == "__main__":
    suite = by_keyword(Path(sys.argv[1]) if len(sys.argv) > 1 else beside())
    print(page({keyword: counted(chosen) for keyword, chosen in suite.items()}), end="")
