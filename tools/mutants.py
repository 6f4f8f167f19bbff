"""Mutation testing: find small changes of a module that all tests miss.

    python tools/mutants.py stream/parser.py --most 200    try up to 200 mutants of a module
    python tools/mutants.py stream gate                    try 20 mutants of each module in folders
    python tools/mutants.py stream --threshold 0.95        exit with 1 if fewer than 95 % are killed
    python tools/mutants.py --record                       record the tests of each line again

A mutant is a function with one change in its code: a different comparison, a condition that is
always true, a removed statement. The mutants are drawn with a fixed seed. One process collects all
tests and forks for each mutant. The child replaces the code of the functions, and runs the tests of
the changed line until one fails. Surviving mutants are printed. A survivor indicates a missing
test, dead code, or a change without effect. The threshold leaves room for the latter.

Some code is not changed: default arguments, class bodies outside of methods, texts of errors, and
code that runs only at import. Objects created while tests are collected use the original code.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import json
import os
import random
import resource
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import coverage
import pytest
from hypothesis import settings

__all__ = ["Mutant", "mutants"]

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "deltaparse"
KEPT = ROOT / ".mutants"
SUITES = {
    "partial": "tests/partial",
    "stream": "tests/stream",
    "analyzer": "tests/analyzer",
    "templates": "tests/test_templates.py",
    "gate": "tests/gate",
    "grammar": "tests/grammar",
}
"""The recorded test suites."""

SLOWER = 5
"""Limit of a test's time in a mutant, relative to its recorded time, plus two seconds."""
MOST_MEMORY = 4 << 30
OWN_FIRST = 20
"""Number of cases of a module's own tests that run before the tests of other modules."""

OTHER: dict[type[ast.AST], type[Any]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
TRIMS = {"strip", "lstrip", "rstrip", "lower", "upper", "casefold", "copy", "removeprefix"}
NAMES = {"any": "all", "all": "any", "min": "max", "max": "min"}
TYPE_VARIABLES = {"TypeVar", "ParamSpec", "NewType"}
SKIPPED = {"annotation", "returns", "decorator_list", "args", "type_params", "bases", "keywords"}


@dataclass(frozen=True)
class Mutant:
    """One change of a module."""

    place: str
    """The changed function, or the changed name."""
    change: str
    first: int
    last: int
    tree: ast.Module
    """The module without the change."""
    parent: ast.AST
    field: str
    at: int | None
    new: ast.AST

    @property
    def key(self) -> str:
        """The identity of the mutant, independent of its line number."""
        return f"{self.place}: {self.change}"

    @contextmanager
    def made(self) -> Iterator[ast.Module]:
        """Apply the change, and yield the changed module."""
        old = _put(self.parent, self.field, self.at, self.new)
        try:
            yield ast.fix_missing_locations(self.tree)
        finally:
            _put(self.parent, self.field, self.at, old)


def _alternatives(node: ast.AST) -> Iterator[ast.AST]:
    """Yield replacements of a node."""
    match node:
        case ast.Compare():
            for at, op in enumerate(node.ops):
                if type(op) in OTHER:
                    ops = [*node.ops[:at], OTHER[type(op)](), *node.ops[at + 1 :]]
                    yield ast.Compare(node.left, ops, node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(OTHER[type(node.op)](), node.values)
            for at in range(len(node.values)):
                left = node.values[:at] + node.values[at + 1 :]
                yield left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.BinOp() if type(node.op) in OTHER:
            yield ast.BinOp(node.left, OTHER[type(node.op)](), node.right)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int(number)):
            yield ast.Constant(number + 1)
        case ast.Constant(value=str(text)):
            yield ast.Constant("" if text else "?")
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.If():
            for holds in (True, False):
                yield ast.If(ast.Constant(holds), node.body, node.orelse)
        case ast.comprehension(ifs=[_, *_]):
            yield ast.comprehension(node.target, node.iter, [], node.is_async)
        case ast.Return(value=ast.expr()) if not isinstance(node.value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.YieldFrom() | ast.Await()) | ast.Raise():
            yield ast.Pass()
        case ast.AugAssign():
            yield ast.Pass()
            if type(node.op) in OTHER:
                yield ast.AugAssign(node.target, OTHER[type(node.op)](), node.value)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Delete():
            yield ast.Pass()
        case ast.Break() | ast.Continue():
            yield OTHER[type(node)]()
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield ast.Call(ast.Name(NAMES[name], ast.Load()), node.args, node.keywords)
            if len(node.args) > 1:
                yield from node.args
        case ast.Call(func=ast.Attribute(value=trimmed, attr=name)) if name in TRIMS:
            yield trimmed
        case ast.Slice():
            if node.lower:
                yield ast.Slice(None, node.upper, node.step)
            if node.upper:
                yield ast.Slice(node.lower, None, node.step)


def _said(node: ast.AST) -> str:
    """Return a node as one line. A statement with a body is shortened to its first line."""
    if isinstance(node, ast.comprehension):
        return ast.unparse(ast.fix_missing_locations(node)).strip()
    if isinstance(node, ast.Slice):
        return f"[{ast.unparse(node)}]"
    return ast.unparse(ast.fix_missing_locations(node)).partition("\n")[0]


def mutants(source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of the source."""
    tree = ast.parse(source)
    found: list[Mutant] = []
    seen: Counter[tuple[str, str]] = Counter()

    def change(parent: ast.AST, field: str, at: int | None, place: str, line: int) -> None:
        node: Any = getattr(parent, field) if at is None else getattr(parent, field)[at]
        told = parent if isinstance(node, ast.Constant) and isinstance(parent, ast.expr) else node
        for new in _alternatives(node):
            if not hasattr(new, "lineno"):
                ast.copy_location(new, node)
            before = _said(told)
            _put(parent, field, at, new)
            text = f"{before} -> {_said(told if told is parent else new)}"
            _put(parent, field, at, node)
            seen[place, text] += 1
            text += f" ({seen[place, text]})" if seen[place, text] > 1 else ""
            first = getattr(node, "lineno", line)
            last = getattr(node.test if isinstance(node, ast.If) else node, "end_lineno", first)
            found.append(Mutant(place, text, first, last, tree, parent, field, at, new))

    def walk(node: ast.AST, names: tuple[str, ...], line: int) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = (*names, node.name)
        place = ".".join(names)
        for field, value in ast.iter_fields(node):
            if field in SKIPPED and not isinstance(node, ast.Call):
                continue
            many = isinstance(value, list)
            for at, child in enumerate(value if many else [value]):
                if not isinstance(child, ast.AST) or _left(child, node):
                    continue
                here = getattr(child, "lineno", line)
                owner = place or _assigned(child)
                if owner and _changed_in(node, child):
                    change(node, field, at if many else None, owner, here)
                walk(child, names or ((owner,) if owner else ()), here)

    walk(tree, (), 1)
    return found


def _put(parent: ast.AST, field: str, at: int | None, node: ast.AST) -> ast.AST:
    """Replace a child of a node, and return the old child."""
    if at is None:
        old: ast.AST = getattr(parent, field)
        setattr(parent, field, node)
    else:
        old = getattr(parent, field)[at]
        getattr(parent, field)[at] = node
    return old


def _left(node: ast.AST, parent: ast.AST) -> bool:
    """Return True if a node and its children are never changed."""
    match node:
        case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.expr_context():
            return True
        case ast.FunctionDef(name="__repr__") | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise() if isinstance(parent, ast.ClassDef | ast.Module):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.keyword(arg="slots" | "frozen"):
            return True
    if isinstance(parent, ast.Raise):
        return True
    if isinstance(parent, ast.ClassDef):
        return not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if isinstance(parent, ast.Module):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return not isinstance(node, kinds) and not _assigned(node)
    return False


def _assigned(node: ast.AST) -> str:
    """Return the name to which a statement assigns a value."""
    match node:
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return ""
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            value = node.value
            types = isinstance(value, ast.Subscript | ast.BinOp)  # `Literal["a"]`, `str | int`
            types |= isinstance(value, ast.Call) and ast.unparse(value.func) in TYPE_VARIABLES
            return "" if value is None or types else name
    return ""


def _made_by(statement: ast.stmt) -> set[str]:
    """Return the name assigned or augmented by a statement."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name)):
            return {name}
    return {_assigned(statement)} - {""}


def _remade(tree: ast.Module, name: str) -> tuple[list[ast.stmt], set[str]]:
    """Return the statements that assign a name of the module and names derived from it."""
    made: list[ast.stmt] = []
    names: set[str] = set()
    for statement in tree.body:
        here = _made_by(statement)
        read = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if here and (name in here or read & names):
            made.append(statement)
            names |= here
    return made, names


def _changed_in(parent: ast.AST, node: ast.AST) -> bool:
    """Return True if a node may be changed at its position."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    return not isinstance(node, kinds) and not isinstance(parent, ast.Module | ast.ClassDef)


@dataclass
class Record:
    """The tests of each line, and their times."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]
    most: float
    """Limit of recorded test time for one mutant."""
    chosen: bool
    """True if the tests were chosen by hand. Then unrecorded tests run for each mutant."""

    def tests(self, file: str, mutant: Mutant, collected: Collection[str]) -> list[str]:
        """Return the tests of a mutant: first one case of each test, quick ones first.

        Cases of the module's own tests precede them. The module's tests that did not run the line
        are last,
        since lines may have moved after the recording.
        """
        name = Path(file).stem
        ran = self.lines.get(file, {})
        names = {test for at in range(mutant.first, mutant.last + 1) for test in ran.get(at, ())}
        own = [test for test in collected if f"test_{name}.py" in test]
        if mutant.place.isupper():
            names = {test for tests in ran.values() for test in tests}.union(own)
        names &= self.seconds.keys() & set(collected)
        turn: Counter[str] = Counter()
        ranked = []
        for test in sorted(names, key=self.seconds.__getitem__):
            function = test.partition("[")[0]
            beside = f"test_{name}.py" in test
            first = beside and turn[function] < OWN_FIRST
            ranked.append((-1 if first else turn[function], self.seconds[test], test))
            turn[function] += 1
        new = collected if self.chosen else own
        chosen = [test for test in new if test not in self.seconds]
        others = [test for test in own if test in self.seconds and test not in names]
        ranked += ((len(names), self.seconds[test], test) for test in others)
        left = self.most
        for _, seconds, test in sorted(ranked):
            if seconds < left or not chosen:
                chosen.append(test)
                left -= seconds
        return chosen

    def only_imported(self, file: str, mutant: Mutant) -> bool:
        """Return True if the mutant's lines ran only at import of the module, never in a test."""
        ran = self.lines.get(file, {})
        tests = {test for at in range(mutant.first, mutant.last + 1) for test in ran.get(at, ())}
        return tests == {""} and not mutant.place.isupper()


class Recorder:
    """Records the lines and the time of each test."""

    def __init__(self, name: str) -> None:
        self.times: dict[str, float] = {}
        self.file = KEPT / f"{name}.json"
        self.coverage = coverage.Coverage(
            KEPT / f"{name}.coverage", source_pkgs=["deltaparse"], config_file=False
        )

    def pytest_sessionstart(self) -> None:
        self.coverage.erase()
        self.coverage.start()

    def pytest_collection_finish(self) -> None:
        found = [thing for thing in gc.get_objects() if isinstance(thing, CACHED)]
        self.caches = [each for each in found if str(each.__module__).startswith("deltaparse.")]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        for cache in self.caches:
            cache.cache_clear()  # results cached by one test would hide lines from the next
        self.coverage.switch_context(item.nodeid)
        before = time.process_time()
        result = yield
        self.times[item.nodeid] = round(time.process_time() - before, 4)
        self.coverage.switch_context("")
        return result

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        self.file.write_text(json.dumps(self.times), encoding="utf-8")


class Server:
    """Runs the tests of mutants, each mutant in its own process."""

    def __init__(self, modules: list[Path], most: int, seed: int, record: Record) -> None:
        self.modules, self.most, self.seed, self.record = modules, most, seed, record
        self.sound: dict[str, bool] = {}
        self.tried = self.killed = 0

    def pytest_collection(self) -> None:
        quick = settings.get_profile("quick")
        settings.register_profile("mutants", quick, derandomize=True, database=None)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()
        self.items = {item.nodeid: item for item in session.items}
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                self.functions[_place(thing.__code__)].append(thing)
        _forget()
        gc.freeze()
        for module in self.modules:
            self.run(module)
        return True

    def run(self, path: Path) -> None:
        """Run the mutants of a module, and print the survivors."""
        name = str(path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT))
        every = mutants(path.read_text(encoding="utf-8"))
        random.Random(self.seed).shuffle(every)
        known, now = _read(KEPT / "results.json").get(name, {}), {}
        every = [mutant for mutant in every if not self.record.only_imported(str(path), mutant)]
        for mutant in sorted(every[: self.most], key=lambda mutant: mutant.first):
            killer = known.get(mutant.key)
            if not killer:
                tests = self.record.tests(str(path), mutant, self.items)
                killer = self.killer(path, mutant, tests)
                if not killer:
                    said = "" if tests else "   (not run by any test)"
                    print(f"{name}:{mutant.first}: {mutant.key}{said}", flush=True)
            now[mutant.key] = killer or ""
        _write(KEPT / "results.json", _read(KEPT / "results.json") | {name: now})
        killed = sum(map(bool, now.values()))
        self.tried += len(now)
        self.killed += killed
        print(f"{name}: {killed} of {len(now)} mutants killed", flush=True)

    def killer(self, path: Path, mutant: Mutant, tests: list[str]) -> str:
        """Return the test that fails for a mutant, "" if all pass."""
        while tests:
            found = self.fork(tests, path, mutant)
            if found == "time" or self.is_sound(found):
                return found
            tests = [test for test in tests if test != found]
        return ""

    def is_sound(self, test: str) -> bool:
        """Return True if a test passes in a fork without a change."""
        if test and test not in self.sound:
            self.sound[test] = not self.fork([test])
        return not test or self.sound[test]

    def fork(self, tests: list[str], path: Path | None = None, mutant: Mutant | None = None) -> str:
        """Run tests in a process until one fails, and return that test."""
        seconds = 60 + 20 * SLOWER * sum(self.record.seconds.get(test, 1) for test in tests)
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            self.live([self.items[test] for test in tests], path, mutant, theirs)
        os.close(theirs)
        with os.fdopen(ours, encoding="utf-8") as said:
            ends = select.select([said], [], [], seconds)[0]
            if not ends:
                os.kill(child, signal.SIGKILL)
            found = said.read()
        status = os.waitpid(child, 0)[1]
        return found or ("time" if status else "")

    def live(
        self, items: list[pytest.Item], path: Path | None, mutant: Mutant | None, to: int
    ) -> None:
        """Run the tests in the forked process, and exit."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)

        def end(test: str) -> None:
            os.write(to, test.encode())
            os._exit(0)

        class Watch:
            def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
                if report.failed:
                    end(report.nodeid)

        try:
            if path and mutant:
                self.change(path, mutant)
            for item, after in zip(items, [*items[1:], None], strict=True):
                if item is items[0]:
                    item.config.pluginmanager.register(Watch())
                limit = 2 + SLOWER * self.record.seconds.get(item.nodeid, 1)
                # Counts processor time, and kills the process
                signal.setitimer(signal.ITIMER_VIRTUAL, limit)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        except BaseException:  # noqa: BLE001 - the mutant is to blame
            end("time")
        end("")

    def change(self, path: Path, mutant: Mutant) -> None:
        """Replace the code of functions by the mutant's, or a name's value."""
        modules = list(sys.modules.values())
        module = next(each for each in modules if _file(each) == path)
        with mutant.made() as tree:
            for code in _codes(compile(tree, str(module.__file__), "exec")):
                for function in self.functions.get(_place(code), ()):
                    if function.__code__ != code:
                        function.__code__ = code
            made, names = _remade(tree, mutant.place)
            scope = dict(vars(module))
            exec(compile(ast.Module(made, []), str(path), "exec"), scope)  # noqa: S102
            for name in names:
                old, new = vars(module)[name], scope[name]
                for each in modules:
                    if vars(each).get(name) is old:
                        setattr(each, name, new)


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects of a module and of all its functions."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


@functools.cache
def _resolved(file: str) -> Path:
    return Path(file).resolve()


def _file(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return _resolved(file) if file and module.__name__.startswith("deltaparse.") else None


CACHED = type(functools.cache(len))


def _forget() -> None:
    """Clear the caches of functions and objects."""
    for thing in gc.get_objects():
        if isinstance(thing, CACHED):
            thing.cache_clear()
            continue
        if not str(type(thing).__module__).startswith("deltaparse."):
            continue
        if hasattr(type(thing), "__missing__"):
            thing.clear()
        if hasattr(thing, "__dict__"):
            for name in list(vars(thing)):
                if isinstance(getattr(type(thing), name, None), functools.cached_property):
                    del vars(thing)[name]


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _write(file: Path, value: object) -> None:
    new = file.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(value, indent=0, sort_keys=True), encoding="utf-8")
    new.replace(file)  # another run may read the file


def _modules(names: list[str]) -> list[Path]:
    found = []
    for name in names:
        path = (PACKAGE / name).resolve()  # resolves the folders that are links
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [path for path in found if path.name != "__init__.py"]


def _run(tests: list[str], plugin: object) -> None:
    args = ["-pno:xdist", "-pno:cacheprovider", "-pno:warnings", "-qq", "-s", "--no-header"]
    pytest.main([*args, *tests], plugins=[plugin])


def _record(again: bool, most: float, chosen: bool) -> Record:
    """Return the record of the tests, and record missing suites."""
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    KEPT.mkdir(exist_ok=True)
    for name, tests in SUITES.items():
        if again or not (KEPT / f"{name}.json").exists():
            child = os.fork()
            if not child:
                _run([tests], Recorder(name))
                os._exit(0)
            os.waitpid(child, 0)
        seconds |= _read(KEPT / f"{name}.json")
        data = coverage.CoverageData(str(KEPT / f"{name}.coverage"))
        data.read()
        for file in data.measured_files():
            for line, contexts in data.contexts_by_lineno(file).items():
                lines[file][line] += contexts
    return Record(seconds, lines, most, chosen)


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=[])
    parser.add_argument("--most", type=int, default=20, help="mutants of each module (default: 20)")
    parser.add_argument("--tests", nargs="*", help="run only these test files")
    parser.add_argument(
        "--seconds", type=float, default=20, help="test time for each mutant (default: 20)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the choice (default: 1)")
    parser.add_argument("--record", action="store_true", help="record the tests of each line again")
    parser.add_argument(
        "--threshold",
        type=float,
        default=0.9,
        help="share of mutants that the tests must kill (default: 0.9)",
    )
    asked = parser.parse_args()
    os.chdir(ROOT)
    os.environ |= {"HYPOTHESIS_PROFILE": "quick", "DELTAPARSE_CORPUS": "", "DELTAPARSE_CASES": ""}
    if not asked.modules and not asked.record:
        parser.error("name a module, a folder, or --record")
    record = _record(asked.record, asked.seconds, bool(asked.tests))
    if not asked.modules:
        return 0
    server = Server(_modules(asked.modules), asked.most, asked.seed, record)
    _run(asked.tests or list(SUITES.values()), server)
    print(f"{server.killed} of {server.tried} mutants killed, threshold {asked.threshold:.0%}")
    return int(server.killed < asked.threshold * server.tried)


if __name__ == "__main__":
    sys.exit(main())
