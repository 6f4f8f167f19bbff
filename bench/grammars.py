"""Measure the growth of grammars with their schemas: sizes, and times of writing and of engines.

    python bench/grammars.py [--quick] [--llama PROGRAM] [--suite FOLDER]

The schemas are realistic: many tools, OpenAPI imports, graphs of `$ref`, nested unions. Each is
measured at two sizes, one twice the other. The last column has the ratios of the times, of writing
and of each engine; 2 is linear. The output is Markdown tables. For comparison there are the sizes
of
llama.cpp's own conversion (PROGRAM, see `llama_schema.cpp`) of the same calls as JSON. With FOLDER,
both are also run on the JSON Schema test suite.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import deltaparse as dp
from deltaparse.grammar import GrammarRules

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
import schema_suite  # noqa: E402
from tests.grammar.machines import Gbnf, llguidance, xgrammar  # noqa: E402

Tool = dict[str, Any]
MEMBERS = 6
TYPES = ("string", "integer", "number", "boolean")


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller schemas")
    parser.add_argument("--llama", metavar="PROGRAM", help="llama.cpp's conversion program")
    parser.add_argument(
        "--suite", metavar="FOLDER", type=Path, help="folder of the JSON Schema test suite"
    )
    given = parser.parse_args()
    llama = LlamaCpp(given.llama) if given.llama else None
    print(
        "| schemas | format | GBNF, KB | Lark, KB | llama.cpp, KB | written, ms | llguidance, ms"
        " | xgrammar, ms | twice as much |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, make, size in SCHEMAS:
        for fmt in ("hermes", "qwen3_coder"):
            small, large = (measured(fmt, make(n)) for n in _sizes(size, quick=given.quick))
            growth = " / ".join(
                f"{after / before:.1f}"
                for before, after in zip(small[2:], large[2:], strict=True)
                if before
            )
            tools = make(_sizes(size, quick=given.quick)[1])
            theirs = f"{len(llama.converted(calls_of(tools)) or '') / 1e3:.0f}" if llama else ""
            shown = [f"{figure:.0f}" for figure in large]
            if not xgrammar():
                shown[4] = ""
            figures = " | ".join([*shown[:2], theirs if fmt == "hermes" else "", *shown[2:]])
            what = name.format(_sizes(size, quick=given.quick)[1])
            print(f"| {what} | {fmt} | {figures} | {growth} |", flush=True)
    if given.suite:
        compare(given.suite, llama)


def _sizes(size: int, *, quick: bool) -> tuple[int, int]:
    return (size // 8 or 1, size // 4 or 2) if quick else (size // 2, size)


def calls_of(tools: list[Tool]) -> dict[str, Any]:
    """Return the schema of a call of any tool, as llama.cpp creates it for JSON formats."""
    ways, definitions = [], {}
    for tool in (tool["function"] for tool in tools):
        definitions |= tool["parameters"].get("$defs", {})
        members = {"name": {"const": tool["name"]}, "arguments": tool["parameters"]}
        ways.append({"type": "object", "properties": members, "required": ["name", "arguments"]})
    return {"anyOf": ways, "$defs": definitions}


def measured(fmt: str, tools: list[Tool]) -> tuple[float, ...]:
    """Return the KB of GBNF and Lark, and the ms of writing both and of preparing each engine."""
    written, grammar = min((_written(fmt, tools) for _ in range(2)), key=lambda one: one[0])
    lark, tag = grammar.as_lark(), grammar.as_tag()
    ready = [min(_llguidance(lark) for _ in range(2)), min(_xgrammar(tag) for _ in range(2))]
    sizes = (len(grammar.text) / 1e3, len(lark) / 1e3)
    return *sizes, written * 1e3, *(time * 1e3 for time in ready)


def _written(fmt: str, tools: list[Tool]) -> tuple[float, dp.Grammar]:
    start = process_time()
    grammar = dp.gbnf(dp.get_format(fmt), tools, tool_choice="required")
    grammar.as_lark()
    return process_time() - start, grammar


def _llguidance(lark: str) -> float:
    engine, tokenizer = llguidance() or sys.exit("llguidance is not installed")
    start = process_time()
    matcher = engine(tokenizer, engine.grammar_from_lark(lark), log_level=0)
    matcher.compute_bitmask()
    if matcher.get_error():
        raise SystemExit(matcher.get_error())
    return process_time() - start


def _xgrammar(tag: dict[str, Any]) -> float:
    if not xgrammar():
        return 0.0
    _, compiler = xgrammar()
    start = process_time()
    compiler.compile_structural_tag(tag)
    taken = process_time() - start
    compiler.clear_cache()
    return taken


class LlamaCpp:
    """llama.cpp's conversion, in its own process."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def converted(self, schema: Any) -> str | None:
        """Return the grammar of a schema, None if the conversion rejects the schema."""
        given, found = self._process.stdin, self._process.stdout
        assert given
        assert found
        given.write(json.dumps(schema) + "\n")
        given.flush()
        kind, count = found.readline().split()
        text = "".join(found.readline() for _ in range(int(count)))
        return text if kind == "grammar" else None


def compare(suite: Path, llama: LlamaCpp | None) -> None:
    """Print the results of the test suite for us and llama.cpp, with xgrammar as the judge."""

    def ours(grammar: GrammarRules) -> Callable[[str], bool]:
        return Gbnf(grammar).accepts

    rows: dict[str, Counter[str]] = {
        "ours, by the standard": Counter(),
        "ours, by default": Counter(),
    }
    for name, standard in zip(rows, (True, False), strict=True):
        for case in schema_suite.cases(suite):
            for verdict in schema_suite.judged(case, ours, standard=standard):
                kind = "narrower" if verdict.kind == "left out" else verdict.kind
                rows[name][kind] += len(case.tests) if kind == "refused" else 1
    if llama:
        rows["llama.cpp"] = _of_llama(suite, llama)
    print("\n| conversion | exact | wider, listed | wider in silence | narrower | refused |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, row in rows.items():
        kinds = ("exact", "wider", "silent", "narrower", "refused")
        print(f"| {name} | {' | '.join(str(row[kind]) for kind in kinds)} |")


def _of_llama(suite: Path, llama: LlamaCpp) -> Counter[str]:
    row: Counter[str] = Counter()
    module, compiler = xgrammar()
    for case in schema_suite.cases(suite):
        # xgrammar rejects an empty alternative without quotes.
        text = (llama.converted(case.schema) or "").replace("::= | ", '::= "" | ')
        try:
            compiled = text and compiler.compile_grammar(module.Grammar.from_ebnf(text))
        except RuntimeError:
            compiled = None
        if not compiled:
            row["refused"] += len(case.tests)
            continue
        for _, value, valid in case.tests:
            taken = any(_accepts(module, compiled, one) for one in schema_suite.texts(value))
            row["exact" if taken == valid else "narrower" if valid else "silent"] += 1
    return row


def _accepts(module: Any, compiled: Any, text: str) -> bool:
    matcher = module.GrammarMatcher(compiled, terminate_without_stop_token=True)
    return bool(matcher.accept_string(text.encode()) and matcher.is_completed())


def _properties(at: int) -> dict[str, Any]:
    return {f"field_{at}_{n}": {"type": TYPES[n % 4], "description": "d"} for n in range(MEMBERS)}


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)[:2], **more}


def _tool(name: str, schema: dict[str, Any]) -> Tool:
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def many_tools(count: int) -> list[Tool]:
    """Return tools with a few arguments each."""
    return [_tool(f"tool_{at}", _object(_properties(at))) for at in range(count)]


def openapi(count: int) -> list[Tool]:
    """Return operations of an API with nested objects, formats and enums."""

    def operation(at: int) -> dict[str, Any]:
        body = _object(
            {
                **_properties(at),
                "when": {"type": "string", "format": "date-time"},
                "status": {"enum": ["open", "closed", "pending"]},
                "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 8},
                "owner": _object(_properties(at + 1)),
            }
        )
        path = _object({"id": {"type": "string", "maxLength": 36}})
        return _object({"path": path, "query": _object(_properties(at + 2)), "body": body})

    return [_tool(f"operation_{at}", operation(at)) for at in range(count)]


def graph(count: int) -> list[Tool]:
    """Return a tool whose definitions refer to each other in cycles."""
    definitions = {
        f"Node{at}": _object(
            {
                **_properties(at),
                "next": {"$ref": f"#/$defs/Node{(at + 1) % count}"},
                "others": {"type": "array", "items": {"$ref": f"#/$defs/Node{at * 7 % count}"}},
            }
        )
        for at in range(count)
    }
    root = {"start": {"$ref": "#/$defs/Node0"}}
    return [_tool("walk", _object(root, **{"$defs": definitions}))]


def unions(depth: int) -> list[Tool]:
    """Return a tool with nested unions, such as the expressions of a query."""
    schema: dict[str, Any] = {"type": "integer"}
    for at in range(depth):
        ways = [
            {"type": "string", "maxLength": 20},
            {"type": "null"},
            _object({"op": {"const": f"op{at}"}, "of": schema}),
        ]
        schema = {"anyOf": ways}
    return [_tool("query", _object({"where": schema}))]


SCHEMAS: tuple[tuple[str, Callable[[int], list[Tool]], int], ...] = (
    ("{} tools of 6 arguments", many_tools, 200),
    ("{} operations of an API", openapi, 60),
    ("{} definitions in a graph", graph, 100),
    ("{} unions in unions", unions, 12),
)


if __name__ == "__main__":
    main()
