"""Numbers of examples of properties, and selection of tests and cases.

A property has 100 examples unless it sets another number. `HYPOTHESIS_PROFILE` selects a profile,
which takes a percentage of this number:

    default     5 %, random in each run: finds most mistakes quickly
    quick       5 % without shrinking failures, for use during development
    ci          25 %, the same in each run, so that a failure belongs to the tested change
    thorough    a hundred times the number

The cases of a property share its examples, except in a thorough run.

With the first two profiles, a run of all tests samples one case in thirty of each test, and a
quarter of the offsets for splitting a response (`cuts_of`). The sample changes with each run.
`DELTAPARSE_CASES=7` repeats sample number 7, and `DELTAPARSE_CASES=` runs all cases. CI and runs of
selected tests have all cases.
"""

from __future__ import annotations

import atexit
import gc
import os
from collections import Counter, defaultdict
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from random import randrange

import pytest
from hypothesis import HealthCheck, Phase, settings

from deltaparse.analyzer import analysis
from deltaparse.analyzer.transformers_parser import judge
from deltaparse.stream.wire.named import registry

from . import corpus, vocabularies
from .hangs import no_hanging_test

TEMPLATES = {
    path.stem
    for path in (
        *Path(__file__).parent.glob("templates/*.jinja"),
        *corpus.templates(),
        *corpus.newer_templates(),
    )
}
CLIENTS = ("tests/protocols/", "tests/gateway/test_clients.py")
FOLDERS = {"corpus": corpus.FOLDER, "vocabularies": vocabularies.FOLDER}

COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}
PROFILES = {"quick": (5, 1), "default": (5, 1), "ci": (20, 4), "thorough": (10_000, 10_000)}
"""Percentage of the examples of a property, and the minimum for each of its cases."""
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default")
WITH_CASES = 4
"""Factor for the total number of examples of a property with cases."""
SHARE_OF_CASES = 30
"""A sample takes 1/30 of the cases of a test, but at least one, and only one if costly."""

settings.register_profile("thorough", **COMMON)
settings.register_profile("default", **COMMON)
settings.register_profile("quick", phases=[Phase.explicit, Phase.reuse, Phase.generate], **COMMON)
settings.register_profile("ci", derandomize=True, print_blob=True, **COMMON)
settings.load_profile(PROFILE)

# Many tests analyze the same templates in one process, more than fit into the usual cache.
analysis._remembered = lru_cache(maxsize=1000)(analysis._remembered.__wrapped__)


def examples(made_for, cases):
    """Return the number of examples for each case of a property in this profile."""
    percent, least = PROFILES[PROFILE]
    drawn = max(1, made_for * percent // 100)
    return min(drawn, max(least, WITH_CASES * drawn // cases))


def share_examples_out(items):
    """Set the number of examples of each property and state machine."""
    cases = Counter(item.function for item in items if hasattr(item, "function"))
    for test, number in cases.items():
        if hasattr(test, "_hypothesis_internal_use_settings"):
            made = test._hypothesis_internal_use_settings or settings.default
            drawn = examples(made.max_examples, number)
            test._hypothesis_internal_use_settings = settings(made, max_examples=drawn)
    for machine in {getattr(item, "cls", None) for item in items}:
        made = getattr(machine, "settings", None)
        if isinstance(made, settings):
            machine.settings = settings(made, max_examples=examples(made.max_examples, 1))


def pytest_configure(config):
    """Draw the number of the sample, which child processes inherit."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    chosen = config.option.keyword or config.option.markexpr
    if whole and not chosen and PROFILE in ("quick", "default"):
        os.environ.setdefault("DELTAPARSE_CASES", str(randrange(1_000)))
    if hasattr(config, "workerinput"):
        # Registered to run last: freeing all objects at exit would take seconds.
        atexit.register(os._exit, 0)


def left_out(items, number):
    """Return the cases to leave out in the sample of this number.

    The choice depends on the names of cases, so all tests of a template share its cached analysis.
    """
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            cases[item.function].append(item)
    out = set()
    for each in cases.values():
        # A checksum would keep similar names in a similar order, so this is a hash.
        each.sort(key=lambda item: blake2b(f"{number} {item.callspec.id}".encode()).digest())
        costly = each[0].get_closest_marker("costly")
        out.update(each[1 if costly else max(1, len(each) // SHARE_OF_CASES) :])
    return out


@pytest.fixture(autouse=True)
def formats_as_they_were():
    """Remove formats registered by a test after it."""
    before = registry.Registered.entries
    yield
    registry.Registered.entries = before


@pytest.fixture(scope="module")
def own_garbage():
    """Freeze all objects, so that a test collects only its own garbage."""
    gc.collect()
    gc.freeze()


def together(nodeid):
    """Return the group of tests to run in one process: the same template or module.

    Tests with client packages share a group, since their imports take seconds.
    """
    module, _, case = nodeid.partition("[")
    name = case.rpartition("]")[0].removesuffix(".jinja")
    if name in TEMPLATES:
        return name
    return "clients" if module.startswith(CLIENTS) else module.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Schedule groups of tests, so that only one process builds their shared objects."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return together(nodeid)

    return Together(config, log)


def pytest_runtest_setup(item):
    """Skip comparisons with the parser of transformers if it is not installed."""
    if item.get_closest_marker("transformers") and judge() is None:
        pytest.skip("the installed transformers has no parser of responses")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Make an endless test fail, so that later tests run."""
    with no_hanging_test():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Disable the garbage collector, since collection makes only long-lived objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    """Exclude the long-lived objects of imports and collection from garbage collection.

    Collections are also rare, since tests make few reference cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Deselect cases outside the sample, and tests without their corpus or vocabularies.

    This runs before other plugins to save them the work.
    """
    absent_marks = [name for name, folder in FOLDERS.items() if folder is None]
    out = {item for item in items if any(map(item.get_closest_marker, absent_marks))}
    number = os.environ.get("DELTAPARSE_CASES")
    if number:
        out |= left_out([item for item in items if item not in out], number)
    if out:
        config.hook.pytest_deselected(items=[item for item in items if item in out])
        items[:] = [item for item in items if item not in out]
    share_examples_out(items)


def pytest_terminal_summary(terminalreporter):
    """Print one line for each kind of deselected tests."""
    number = os.environ.get("DELTAPARSE_CASES")
    if number:
        terminalreporter.write_line(
            f"one case in {SHARE_OF_CASES} of each test: the same with DELTAPARSE_CASES={number}"
        )
    if corpus.FOLDER is None:
        terminalreporter.write_line(
            "no corpus: tests of real templates are not collected; DELTAPARSE_CORPUS names a folder"
        )
    if vocabularies.FOLDER is None:
        terminalreporter.write_line(
            "no vocabularies: tests of real ones are not collected; `make test` downloads them"
        )
