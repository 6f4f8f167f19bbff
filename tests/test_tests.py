"""Rules for the tests themselves."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from . import conftest

TESTS = Path(__file__).parent
CHECKS = ("check_", "assert_")


@cache
def modules():
    """Return the syntax trees of all test modules."""
    return {
        str(path.relative_to(TESTS)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(TESTS.rglob("*.py"))
    }


def name_of(node):
    """Return the last part of a name, or of the called name for a call."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def inside(body, *, optional=False):
    """Yield the nodes of a function without nested functions, each with an `optional` flag."""
    for node in body:
        yield node, optional
        if isinstance(node, ast.If):
            whole = bool(node.orelse)
            yield from inside([node.test], optional=optional)
            yield from inside(node.body, optional=optional or not whole)
            yield from inside(node.orelse, optional=optional)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from inside(ast.iter_child_nodes(node), optional=optional)


def asserts(node):
    """Return whether a node is an assertion, or a call of a function for assertions."""
    is_call = isinstance(node, ast.Call)
    named = name_of(node) if is_call else ""
    return isinstance(node, ast.Assert) or named == "raises" or named.startswith(CHECKS)


def statements(body):
    """Yield the statements of a body and nested ones, without their expressions to save time."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, inner, ()))


@cache
def decorated():
    """Return the decorated functions of all modules with their places."""
    return [
        (f"{module}:{node.lineno} {node.name}", node)
        for module, tree in modules().items()
        for node in statements(tree.body)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.decorator_list
    ]


def functions(*marks):
    """Yield the functions with one of these decorators."""
    for place, node in decorated():
        if {name_of(mark) for mark in node.decorator_list} & set(marks):
            yield place, node


def returns(function):
    """Return the `return` statements of a function, without those of nested functions."""
    return [node for node, _ in inside(function.body) if isinstance(node, ast.Return)]


def test_properties_have_no_early_return():
    """Use strategies or `assume` instead of an early return."""
    assert [place for place, function in functions("given") if returns(function)] == []


def test_properties_assert_unconditionally():
    """Forbid properties that check only some drawn values."""
    found = []
    for place, function in functions("given"):
        optional = [optional for node, optional in inside(function.body) if asserts(node)]
        found += [place] * (optional != [] and all(optional))
    assert found == []


def test_rules_return_only_at_their_end():
    """Return from a rule only for a bundle."""
    assert [
        place
        for place, function in functions("rule", "initialize", "invariant")
        if any(node.value is None or node is not function.body[-1] for node in returns(function))
    ] == []


def test_modules_of_tests_are_not_imported():
    """Keep shared helpers in their own modules, and shared strategies in `strategies`."""
    files = {Path(module).stem for module in modules() if Path(module).name.startswith("test_")}
    found = []
    for module, tree in modules().items():
        for node in statements(tree.body):
            if isinstance(node, ast.ImportFrom) and (node.level or node.module == "tests"):
                names = {*(node.module or "").split("."), *(alias.name for alias in node.names)}
                found += [f"{module}:{node.lineno}"] * bool(names & files)
    assert found == []


class Case:
    """A fake of a collected case of a test."""

    def __init__(self, test, callspec, *, costly):
        self.function, self.callspec, self.costly = test, callspec, costly

    def get_closest_marker(self, name):
        return self.costly if name == "costly" else None


def cases(test, ids, *, costly=False):
    """Return the cases of a test."""
    return [Case(test, SimpleNamespace(id=each), costly=costly) for each in ids]


@pytest.mark.parametrize("number", ["0", "7", "853"])
def test_sample_keeps_each_test_and_the_same_case_names(number):
    names = [f"n{at}" for at in range(100)]
    few = cases("few", names[:1])
    many, more = cases("many", names), cases("more", names[::-1])
    out = conftest.left_out([*few, *many, *more], number)
    taken, again = ({one.callspec.id for one in each if one not in out} for each in (many, more))
    assert not out & set(few)
    assert taken == again
    assert len(taken) == 100 // conftest.SHARE_OF_CASES
    one = cases("one", names[:3], costly=True)
    assert len(conftest.left_out(one, number)) == 2


def test_each_case_is_in_some_sample():
    items = cases("many", range(100))
    never = set.intersection(*(conftest.left_out(items, str(number)) for number in range(300)))
    assert never == set()


@pytest.mark.parametrize("profile", conftest.PROFILES)
def test_examples_are_limited_per_case_and_in_total(profile, monkeypatch):
    monkeypatch.setattr(conftest, "PROFILE", profile)
    percent, least = conftest.PROFILES[profile]
    alone = conftest.examples(100, 1)
    assert alone == percent
    for number in (1, 2, 6, 40, 1_000):
        drawn = conftest.examples(100, number)
        assert min(least, alone) <= drawn <= alone
        assert drawn * number <= max(conftest.WITH_CASES * alone, least * number)
    assert conftest.examples(1, 1) >= 1


def test_tests_of_a_template_run_together():
    together = conftest.together
    assert together("tests/a.py::test_x[hermes]") == "tests/a.py"
    assert together("tests/a.py::Test::test_x") == "tests/a.py"
    assert together("tests/a.py::test_x[json_in_tags]") == "json_in_tags"
    assert together("tests/b.py::test_y[json_in_tags.jinja]") == "json_in_tags"
    clients = ("tests/protocols/test_a.py::test_x", "tests/gateway/test_clients.py::test_x[a]")
    assert set(map(together, clients)) == {"clients"}
