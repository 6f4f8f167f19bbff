"""How grammars grow with their schemas: text, the time to write it, and that of llguidance.

    python bench/grammars.py [--quick]

Schemas as people have them: many tools, imports of OpenAPI, graphs of `$ref`, unions in unions.
Each is measured at a size and at twice that; the last column is how many times as long twice as
much takes, all in all, so that 2 is linear. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time
from typing import Any

import deltaparse as dp

Tool = dict[str, Any]
MEMBERS = 6
TYPES = ("string", "integer", "number", "boolean")


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller schemas")
    quick = parser.parse_args().quick
    print("| schemas | format | GBNF, KB | Lark, KB | written, ms | compiled, ms | twice as much |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, make, size in SCHEMAS:
        for fmt in ("hermes", "qwen3_coder"):
            small, large = (measured(fmt, make(n)) for n in _sizes(size, quick=quick))
            growth = sum(large[2:]) / max(sum(small[2:]), 1e-9)
            figures = " | ".join(f"{figure:.0f}" for figure in large)
            what = name.format(_sizes(size, quick=quick)[1])
            print(f"| {what} | {fmt} | {figures} | {growth:.1f} |", flush=True)


def _sizes(size: int, *, quick: bool) -> tuple[int, int]:
    return (size // 8 or 1, size // 4 or 2) if quick else (size // 2, size)


def measured(fmt: str, tools: list[Tool]) -> tuple[float, float, float, float]:
    """Kilobytes of GBNF and Lark, milliseconds to write both, and for llguidance to be ready."""
    written, grammar, lark = min(_written(fmt, tools) for _ in range(2))
    compiled = min(_compiled(lark) for _ in range(2))
    return len(grammar) / 1e3, len(lark) / 1e3, written * 1e3, compiled * 1e3


def _written(fmt: str, tools: list[Tool]) -> tuple[float, str, str]:
    start = process_time()
    grammar = dp.gbnf(dp.get_format(fmt), tools, tool_choice="required")
    lark = grammar.as_lark()
    return process_time() - start, grammar.text, lark


def _compiled(lark: str) -> float:
    engine, tokenizer = _llguidance()
    start = process_time()
    matcher = engine(tokenizer, engine.grammar_from_lark(lark), log_level=0)
    matcher.compute_bitmask()
    if matcher.get_error():
        raise SystemExit(matcher.get_error())
    return process_time() - start


class _Bytes:
    """A tokenizer with a token for each byte, and one for the end."""

    eos_token_id = 256
    bos_token_id = None
    special_token_ids = (256,)
    tokens = (*(bytes([byte]) for byte in range(256)), b"<end>")

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


_ready: list[Any] = []


def _llguidance() -> tuple[Any, Any]:
    if not _ready:
        import llguidance

        tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(_Bytes()))
        _ready.extend((llguidance.LLMatcher, tokenizer))
    return _ready[0], _ready[1]


def _properties(at: int) -> dict[str, Any]:
    return {f"field_{at}_{n}": {"type": TYPES[n % 4], "description": "d"} for n in range(MEMBERS)}


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)[:2], **more}


def _tool(name: str, schema: dict[str, Any]) -> Tool:
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def many_tools(count: int) -> list[Tool]:
    """Tools with a few arguments each."""
    return [_tool(f"tool_{at}", _object(_properties(at))) for at in range(count)]


def openapi(count: int) -> list[Tool]:
    """Operations of an API: path, query and body as objects in objects, with formats and enums."""

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
    """Definitions that refer to one another, round and round."""
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
    """Unions in unions: expressions of a query, say."""
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
