"""The targets of the fuzzers: each property and each state machine of tests/.

Every property is a target, unless it needs a fixture. With `parametrize`, each case is a target.
Failing inputs are kept in .fuzz/, in a folder with the target's name, in hypothesis's form. Both
drivers use these folders.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import shutil
import sys
import time
import traceback
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import UnsatisfiedAssumption
from hypothesis.reporting import with_reporter
from hypothesis.stateful import RuleBasedStateMachine, get_state_machine_test

from deltaparse.analyzer.transformers_parser import judge

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".fuzz"

sys.path.insert(0, str(ROOT))

from tests import corpus  # noqa: E402 - found by the line before
from tests.hangs import Hang, no_hang  # noqa: E402

SHRINKING = 20
"""Additional seconds for shrinking the input of a failed target."""
LONGEST_NAME = 30
"""Limit of characters in a case's name. A longer one is replaced by a number."""
DEFINED = re.compile(r"^(?:async def|def|class) (\w+)", re.MULTILINE)
MACHINE = "(RuleBasedStateMachine)"
EXPLORE = (Phase.reuse, Phase.generate, Phase.shrink)
REDO = (Phase.reuse,)


class OutOfTime(KeyboardInterrupt):
    """The turn is over. Hypothesis treats it like Ctrl-C: it stops and blames no input."""


class Target:
    """One property, with its number of inputs, its time and its failure.

    Args:
        name: its name in reports and in .fuzz/.
        test: a test decorated with `@given`.
    """

    def __init__(self, name: str, test: Any) -> None:
        self.name = name
        self.tried = 0
        self.seconds = 0.0
        self.failure = ""
        self.kept = KEPT / name
        self._test = test
        self._end = float("inf")
        self._before = 0
        self._failing = False
        test.hypothesis.inner_test = self._counted(test.hypothesis.inner_test)
        self._set(EXPLORE)

    def one_input(self) -> Callable[[bytes], object]:
        """Return the target as a function of bytes, for mutation by a fuzzer."""
        hook: Callable[[bytes], object] = self._test.hypothesis.fuzz_one_input
        return hook

    def run(self, seconds: float, phases: Sequence[Phase] = EXPLORE) -> None:
        """Run the target for some seconds, on one input at least. Kept inputs are first.

        The first failure is stored in `failure`.
        """
        self._set(phases)
        start = time.monotonic()
        self._end = start + seconds
        self._before = self.tried
        self._guarded(self._test)
        self.seconds += time.monotonic() - start
        self._end = float("inf")

    def redo(self) -> None:
        """Replay the kept inputs of the target, and delete the ones that pass."""
        self.run(float("inf"), REDO)

    def _guarded(self, body: Callable[[], object]) -> None:
        """Run a function and store its failure of any kind. A skipped target is untried."""
        self._failing = False
        try:
            # It explains how to reproduce each interrupted turn
            with with_reporter(lambda _: None):
                body()
        except pytest.skip.Exception:
            self.tried = 0  # a requirement is not installed
            shutil.rmtree(self.kept, ignore_errors=True)  # hypothesis treats the skip as a failure
        except unittest.SkipTest:
            pass  # no kept input can be drawn
        except OutOfTime:
            pass  # `failure` is set if the turn ended while shrinking
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - any exception is a finding
            self.failure = traceback.format_exc()

    def _set(self, phases: Sequence[Phase]) -> None:
        """Replace the settings of the test by the settings of a fuzzer."""
        # Hypothesis has no public function to replace the settings of a test.
        self._test._hypothesis_internal_use_settings = settings(  # noqa: SLF001
            max_examples=1_000_000,  # the clock ends it
            deadline=None,
            phases=phases,
            database=DirectoryBasedExampleDatabase(self.kept),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        )

    def _counted(self, inner: Callable[..., Any]) -> Callable[..., None]:
        """Return a replacement for the test's body, which counts inputs and limits the time."""

        @wraps(inner)
        def counted(*args: Any, **kwargs: Any) -> None:
            if time.monotonic() > self._end and self.tried > self._before:
                raise OutOfTime
            self.tried += 1
            try:
                with no_hang():
                    made = inner(*args, **kwargs)
                    if inspect.iscoroutine(made):
                        asyncio.run(made)
            except UnsatisfiedAssumption:
                raise
            except (Exception, pytest.fail.Exception, Hang) as error:
                if isinstance(error, Hang):  # hypothesis names the input of other errors
                    error.add_note(f"Hangs on {args or kwargs!r}")
                self._fails()
                raise

        return counted

    def _fails(self) -> None:
        self.failure = traceback.format_exc()
        if not self._failing:
            self._failing = True
            self._end += SHRINKING


def find(match: str = "") -> list[Target]:
    """Return the targets of all test modules with `match` in their names and installed needs."""
    return [target for module in _modules(match) for target in targets_of(module, match)]


def _modules(match: str) -> Iterator[ModuleType]:
    """Yield the test modules with properties or state machines and `match` in their names."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(ROOT).with_suffix("").parts
        names = DEFINED.findall(text) if "\n@given(" in text or MACHINE in text else ()
        if any(match in ".".join((*parts[1:], name)) for name in names):
            with suppress(pytest.skip.Exception):
                yield import_module(".".join(parts))


def targets_of(module: ModuleType, match: str = "") -> Iterator[Target]:
    """Yield the targets defined in a module, without imported ones."""
    place = module.__name__.removeprefix("tests.")
    for name, value in vars(module).items():
        label = f"{place}.{name}"
        if getattr(value, "__module__", "") != module.__name__ or match not in label:
            continue
        if isinstance(value, type) and issubclass(value, RuleBasedStateMachine):
            yield Target(label, get_state_machine_test(value))
        elif name.startswith("test_") and hasattr(value, "hypothesis"):
            marks = [*_marks(module), *_marks(value)]
            for case, arguments in _cases(marks):
                test = fixed(value, arguments) if arguments else value
                if inspect.signature(test).parameters == {} and not _is_skipped(marks):
                    yield Target(label + case, test)


def fixed(test: Any, arguments: dict[str, Any]) -> Any:
    """Return a property with some arguments fixed. The others are drawn."""
    inner = test.hypothesis.inner_test
    signature = inspect.signature(inner)
    left = [each for name, each in signature.parameters.items() if name not in arguments]
    signature = signature.replace(parameters=left)

    @wraps(inner)
    def with_arguments(*args: Any, **kwargs: Any) -> Any:
        return inner(**arguments, **signature.bind(*args, **kwargs).arguments)

    vars(with_arguments)["__signature__"] = signature
    # Hypothesis has no public name for the strategies of a test.
    return given(**test.hypothesis._given_kwargs)(with_arguments)  # noqa: SLF001


def _is_skipped(marks: list[pytest.Mark]) -> bool:
    """Return True if a requirement of a test is missing."""
    here = corpus.FOLDER is not None
    return any(
        (mark.name == "skipif" and mark.args[0])
        or (mark.name == "corpus" and not here)
        or (mark.name == "transformers" and judge() is None)
        for mark in marks
    )


def _marks(marked: Any) -> list[pytest.Mark]:
    """Return the marks of a test or of a module."""
    marks = getattr(marked, "pytestmark", [])
    return [getattr(mark, "mark", mark) for mark in (marks if isinstance(marks, list) else [marks])]


def _cases(marks: list[pytest.Mark]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the named cases of the `parametrize` marks, or one case without marks."""
    rows = [list(_rows(*mark.args[:2])) for mark in marks if mark.name == "parametrize"]
    for chosen in product(*rows):
        names = "-".join(name for name, _ in chosen)
        case = f"[{names}]" if names else ""
        yield case, {name: value for _, row in chosen for name, value in row.items()}


def _rows(
    names: str | Sequence[str], values: Sequence[Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the arguments of each row of a `parametrize`, with a name valid for files."""
    keys = names.replace(",", " ").split() if isinstance(names, str) else names
    for at, value in enumerate(values):
        row = value.values if hasattr(value, "marks") else value if len(keys) > 1 else (value,)
        name = re.sub(r"\W+", "_", "-".join(map(repr, row))).strip("_")
        yield name if 0 < len(name) <= LONGEST_NAME else str(at), dict(zip(keys, row, strict=True))
