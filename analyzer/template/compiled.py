"""Compiled templates with facts from their syntax tree.

Jinja's `meta` would generate the code a second time to find the variables. Here the code generator
records them. The children of each node are cached, because generating code requests them dozens of
times, at half of its total cost.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from typing import Any

from jinja2 import Template, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.idtracking import VAR_LOAD_RESOLVE

from .budget import Limits
from .sandbox import Sandbox, sandbox

__all__ = ["Program", "compiled"]

OF_VALUES = frozenset({"first", "last", "map", "selectattr", "tojson"})
"""Filters that are applied only to values other than strings."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled template, its sandbox, and facts from its syntax tree.

    Attributes:
        template: the compiled template.
        room: its sandbox.
        variables: names read but not defined.
        constants: its texts, in the order of the tree.
        searched_constants: the constants that it may search for in its input.
        keys: names of the attributes and items read.
        content_part_keys: names read from a value called `content`.
        switches: the variables that it does not set itself.
        choices: the texts compared with each variable.
        taken_apart: variables that are not strings: it reads their parts or writes them as JSON.
    """

    template: Template
    room: Sandbox
    variables: frozenset[str]
    constants: tuple[str, ...]
    searched_constants: tuple[str, ...]
    keys: frozenset[str]
    content_part_keys: frozenset[str]
    switches: frozenset[str]
    choices: Mapping[str, tuple[str, ...]]
    taken_apart: frozenset[str]


@lru_cache(maxsize=64)
def compiled(source: str, limits: Limits) -> Program:
    """Compile a template within limits. Errors are raised unchanged."""
    room = sandbox(limits)
    tree = room.guarded(source)
    _remember_children(tree)
    texts = [(text, sought) for text, sought in _texts(tree) if text]
    python = StringIO()
    generator = NotingGenerator(room, None, None, python, optimized=room.optimized)
    generator.visit(tree)
    code = compile(python.getvalue(), "<template>", "exec")
    return Program(
        room.template_class.from_code(room, code, room.make_globals(None)),
        room,
        frozenset(generator.noted),
        tuple(dict.fromkeys(text for text, _ in texts)),
        tuple(dict.fromkeys(text for text, sought in texts if sought)),
        frozenset(_keys(tree)),
        frozenset(_keys_of_contents(tree)),
        frozenset(generator.noted - _own_names(tree)),
        _choices(tree, generator.noted),
        frozenset(_taken_apart(tree)) & generator.noted,
    )


class NotingGenerator(CodeGenerator):
    """A code generator that records variables without a definition."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.noted: set[str] = set()

    def enter_frame(self, frame: Frame) -> None:
        """Record the variables resolved by the code of this frame."""
        super().enter_frame(frame)
        resolved = (name for act, name in frame.symbols.loads.values() if act == VAR_LOAD_RESOLVE)
        self.noted.update(name for name in resolved if name not in self.environment.globals)


def _keys(tree: nodes.Node) -> Iterator[str]:
    """Yield the names of attributes and items read: `x.a`, `x["a"]`, `x.get("a")`."""
    for attribute in tree.find_all(nodes.Getattr):
        yield attribute.attr
    items = [item.arg for item in tree.find_all(nodes.Getitem)]
    asked = [called.args[0] for called in tree.find_all(nodes.Call) if called.args]
    for arg in (*items, *asked):
        if isinstance(arg, nodes.Const) and isinstance(arg.value, str):
            yield arg.value


def _keys_of_contents(tree: nodes.Node) -> Iterator[str]:
    """Yield names read from a `content` as from an object, except for methods."""
    methods = {id(called.node) for called in tree.find_all(nodes.Call)}
    parts: list[nodes.Getattr | nodes.Getitem] = [*tree.find_all(nodes.Getattr)]
    parts += tree.find_all(nodes.Getitem)
    for part in parts:
        key = _key(part)
        if key and _key(part.node) == "content" and id(part) not in methods:
            yield key


def _key(part: nodes.Node) -> str:
    """Return the name read by a node, or "" if there is no constant name."""
    if isinstance(part, nodes.Getattr):
        return part.attr
    if isinstance(part, nodes.Getitem) and isinstance(part.arg, nodes.Const):
        return part.arg.value if isinstance(part.arg.value, str) else ""
    return ""


def _taken_apart(tree: nodes.Node) -> Iterator[str]:
    """Yield the variables looped over, read in parts or written as JSON."""
    places: list[nodes.Node] = [loop.iter for loop in tree.find_all(nodes.For)]
    places += [part.node for part in tree.find_all(nodes.Getattr)]
    places += [part.node for part in tree.find_all(nodes.Getitem)]
    filtered = (made for made in tree.find_all(nodes.Filter) if made.name in OF_VALUES)
    places += [made.node for made in filtered if made.node is not None]
    yield from filter(None, map(_compared_name, places))


def _own_names(tree: nodes.Node) -> set[str]:
    """Return the names that the template sets without ever testing whether they are defined."""
    own: set[str] = set()
    places: list[Any] = [*tree.find_all(nodes.Assign), *tree.find_all(nodes.AssignBlock)]
    for made in (*places, *tree.find_all(nodes.For)):
        targets = [made.target, *made.target.find_all(nodes.Name)]
        own.update(name.name for name in targets if isinstance(name, nodes.Name))
    for test in tree.find_all((nodes.Test, nodes.Filter)):
        if test.name in ("defined", "undefined", "default", "d") and test.node is not None:
            own.discard(_compared_name(test.node))
    return own


def _choices(tree: nodes.Node, variables: Container[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the texts that each variable, or a name set from it, is compared with."""
    sources: dict[str, str] = {}
    for made in tree.find_all(nodes.Assign):
        names = [name.name for name in made.node.find_all(nodes.Name)]
        names += [made.node.name] if isinstance(made.node, nodes.Name) else []
        origins = (sources.get(name, name) for name in names)
        origin = next((name for name in origins if name in variables), None)
        if origin and isinstance(made.target, nodes.Name) and made.target.name not in variables:
            sources.setdefault(made.target.name, origin)
    found: dict[str, dict[str, None]] = {}
    for compared in tree.find_all(nodes.Compare):
        sides = [compared.expr, *(operand.expr for operand in compared.ops)]
        texts = [text for side in sides for text in _constants(side)]
        for side in sides:
            name = _compared_name(side)
            name = sources.get(name, name)
            if name in variables:
                found.setdefault(name, {}).update(dict.fromkeys(texts))
    return {name: tuple(texts) for name, texts in found.items() if texts}


def _constants(node: nodes.Node) -> Iterator[str]:
    """Yield the constant texts in a side of a comparison."""
    node = _unfiltered(node)
    parts = node.items if isinstance(node, nodes.List | nodes.Tuple) else [node]
    for part in parts:
        if isinstance(part, nodes.Const) and isinstance(part.value, str) and part.value:
            yield part.value


def _compared_name(node: nodes.Node) -> str:
    """Return the variable name of a node without its filters, or ""."""
    node = _unfiltered(node)
    return node.name if isinstance(node, nodes.Name) else ""


def _unfiltered(node: nodes.Node) -> nodes.Node:
    """Return the node without its filters."""
    while isinstance(node, nodes.Filter) and node.node is not None:
        node = node.node
    return node


def _remember_children(node: nodes.Node) -> None:
    """Cache the children of each node. The tree must not change afterwards."""
    children, searched = tuple(node.iter_child_nodes()), node.iter_child_nodes

    def iter_child_nodes(
        exclude: Container[str] | None = None, only: Container[str] | None = None
    ) -> Iterator[nodes.Node]:
        return iter(children) if exclude is only is None else searched(exclude, only)

    node.iter_child_nodes = iter_child_nodes  # type: ignore[method-assign]
    for child in children:
        _remember_children(child)


def _texts(node: nodes.Node, *, shown: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield each text of a tree with True if the template may search for it in a message.

    It is not searched for if it is only written out, names a key, or is compared with == or !=.
    """
    if isinstance(node, nodes.TemplateData):
        yield node.data, False
    elif isinstance(node, nodes.Const):
        if isinstance(node.value, str):
            yield node.value, not shown
    else:
        for child in node.iter_child_nodes():
            yield from _texts(child, shown=_only_shown(node, child, shown=shown))


def _only_shown(node: nodes.Node, child: nodes.Node, *, shown: bool) -> bool:
    match node:
        case nodes.Output():
            return True
        case nodes.Filter():
            return shown and child is node.node
        case nodes.CondExpr():
            return shown and child is not node.test
        case nodes.Add() | nodes.List():
            return shown
        case nodes.Getitem():
            return child is node.arg
        case nodes.Compare() if all(operand.op in ("eq", "ne") for operand in node.ops):
            return child is node.expr
        case nodes.Operand():
            return node.op in ("eq", "ne")
    return False
