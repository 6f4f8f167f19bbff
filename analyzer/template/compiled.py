"""A template, compiled once: its code, and what its syntax tree says of it.

Jinja's `meta` would generate the code a second time to find the variables; here the generator notes
them on its way. And each node is asked for its children dozens of times, which was half of what
generating cost: they are remembered.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
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


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled template, the sandbox it runs in, and what its syntax tree says.

    `variables` are read and not defined; `constants` are its texts, in the order of the tree;
    `sought` those of them that may be looked for in what the template is given; `keys` are the
    names under which it reads parts of that.
    """

    template: Template
    room: Sandbox
    variables: frozenset[str]
    constants: tuple[str, ...]
    sought: tuple[str, ...]
    keys: frozenset[str]


@lru_cache(maxsize=64)
def compiled(source: str, limits: Limits) -> Program:
    """Compile a template within limits; whatever is wrong with it is raised as it is."""
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
    )


class NotingGenerator(CodeGenerator):
    """Notes the variables that are looked up and that nothing defines."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.noted: set[str] = set()

    def enter_frame(self, frame: Frame) -> None:
        """Note what the code of this frame resolves."""
        super().enter_frame(frame)
        resolved = (name for act, name in frame.symbols.loads.values() if act == VAR_LOAD_RESOLVE)
        self.noted.update(name for name in resolved if name not in self.environment.globals)


def _keys(tree: nodes.Node) -> Iterator[str]:
    """The names of attributes and items that are read: `x.name`, `x["name"]`, `x.get("name")`."""
    for attribute in tree.find_all(nodes.Getattr):
        yield attribute.attr
    items = [item.arg for item in tree.find_all(nodes.Getitem)]
    asked = [called.args[0] for called in tree.find_all(nodes.Call) if called.args]
    for arg in (*items, *asked):
        if isinstance(arg, nodes.Const) and isinstance(arg.value, str):
            yield arg.value


def _remember_children(node: nodes.Node) -> None:
    """Let each node of a tree, which does not change from here on, have its children at hand."""
    children, searched = tuple(node.iter_child_nodes()), node.iter_child_nodes

    def iter_child_nodes(
        exclude: Container[str] | None = None, only: Container[str] | None = None
    ) -> Iterator[nodes.Node]:
        return iter(children) if exclude is only is None else searched(exclude, only)

    node.iter_child_nodes = iter_child_nodes  # type: ignore[method-assign]
    for child in children:
        _remember_children(child)


def _texts(node: nodes.Node, *, shown: bool = False) -> Iterator[tuple[str, bool]]:
    """The texts of a tree, each with whether it may be looked for in a message.

    It is not where it is only written out, names a key, or is compared with a whole value.
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
