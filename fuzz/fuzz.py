"""Try the properties of the test suite on far more inputs than the suite does, for a time.

    python fuzz/fuzz.py --seconds 60        run all targets in turn
    python fuzz/fuzz.py --redo              replay the failures that were found and kept

A target is a property of tests/: what it draws, and what it asserts of that. An input that
breaks one is made small and kept in .fuzz/, from where `--redo` replays it; make it a test.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

ROOT = Path(__file__).parents[1]
ROUND = 25
"""Inputs for one target before the next has its turn."""

sys.path.insert(0, str(ROOT))

# Properties with settings of their own keep them.
settings.register_profile(
    "fuzz",
    max_examples=ROUND,
    deadline=None,
    phases=[Phase.reuse] if "--redo" in sys.argv else [Phase.reuse, Phase.generate, Phase.shrink],
    database=DirectoryBasedExampleDatabase(ROOT / ".fuzz"),
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fuzz")


def modules() -> list[ModuleType]:
    """The test modules that have properties and whose needs are installed."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if "\n@given(" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            with suppress(pytest.skip.Exception):
                found.append(import_module(name))
    return found


class Target:
    """One property, with a count of the inputs it was tried on."""

    def __init__(self, module: ModuleType, name: str) -> None:
        self.name = f"{module.__name__.removeprefix('tests.')}.{name}"
        self.tried = 0
        self.failure = ""
        self._property: Callable[[], None] = getattr(module, name)
        handle: Any = self._property
        inner = handle.hypothesis.inner_test

        @wraps(inner)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.tried += 1
            return inner(*args, **kwargs)

        handle.hypothesis.inner_test = counted

    def run(self) -> None:
        """Try it on a round of inputs; keep the account of the first failure."""
        try:
            self._property()
        except pytest.skip.Exception:
            self.tried = 0  # what it needs is not installed
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            self.failure = traceback.format_exc()


def targets() -> list[Target]:
    """All properties of the modules that need nothing but what they draw."""
    return [
        Target(module, name)
        for module in modules()
        for name, value in vars(module).items()
        if name.startswith("test_") and hasattr(value, "hypothesis") and _is_plain(value)
    ]


def _is_plain(test: Any) -> bool:
    code = test.hypothesis.inner_test.__code__
    return not code.co_flags & 0x80 and not getattr(test, "pytestmark", None)  # no coroutine


def main() -> int:
    """Run; return 1 if a property broke."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60, help="how long to run")
    parser.add_argument("--redo", action="store_true", help="replay the failures that were kept")
    options = parser.parse_args()
    found = targets()
    end = time.monotonic() + options.seconds
    # In another order each time: a short run does not come to all.
    random.shuffle(found)
    while True:
        for target in found:
            if not target.failure:
                target.run()
            if time.monotonic() > end and target.tried and not options.redo:
                break
        if options.redo or time.monotonic() > end:
            break
    for target in found:
        verdict = "broken" if target.failure else "holds" if target.tried else "untried"
        print(f"{verdict:8}{target.tried:9,} inputs  {target.name}")
    broken = [target for target in found if target.failure]
    for target in broken:
        print(f"\n{target.name}\n{target.failure}")
    tried = [target for target in found if target.tried]
    inputs = sum(target.tried for target in tried)
    held = len(tried) - len(broken)
    print(f"\n{held} of {len(found)} properties held on {inputs:,} inputs")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
