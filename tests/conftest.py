"""How much properties draw, and what is not collected where there is no corpus.

Where a property says nothing else it is made for 100 examples; a profile, which
`HYPOTHESIS_PROFILE` names, takes so many percent of what each property is made for:

    default     what finds most mistakes soon; draws anew each time
    quick       the same, and does not shrink what fails: while you work
    ci          more of them, the same in each run: a failure belongs to the change that was tested
    thorough    a hundred times as many as they are made for

A property with many cases has its examples shared out between them, but in a thorough run.

A run of all tests, in the first two, takes one case in thirty of each test, and a quarter of the
places where an output may be cut in two (`cuts_of`), others each time; `DELTAPARSE_CASES=7` takes
those again that number 7 had, `DELTAPARSE_CASES=` all. CI has all, and so has a run of chosen
tests.
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
"""Percent of the examples that a property is made for, and how many of them each case has."""
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default")
WITH_CASES = 4
"""So many times as many examples has a property with cases, all of them together."""
SHARE_OF_CASES = 30
"""One in so many cases of a test is taken; one if it has fewer, or is costly."""

settings.register_profile("thorough", **COMMON)
settings.register_profile("default", **COMMON)
settings.register_profile("quick", phases=[Phase.explicit, Phase.reuse, Phase.generate], **COMMON)
settings.register_profile("ci", derandomize=True, print_blob=True, **COMMON)
settings.load_profile(PROFILE)

# One process analyses the same templates in many tests: more of them than users do.
analysis._remembered = lru_cache(maxsize=1000)(analysis._remembered.__wrapped__)


def examples(made_for, cases):
    """How many examples a case of a property draws, that was made for so many, in this profile."""
    percent, least = PROFILES[PROFILE]
    drawn = max(1, made_for * percent // 100)
    return min(drawn, max(least, WITH_CASES * drawn // cases))


def share_examples_out(items):
    """Set how many examples each property draws; a state machine is one."""
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
    """Draw the number of the cases; processes that this one starts have the same."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    chosen = config.option.keyword or config.option.markexpr
    if whole and not chosen and PROFILE in ("quick", "default"):
        os.environ.setdefault("DELTAPARSE_CASES", str(randrange(1_000)))
    if hasattr(config, "workerinput"):
        # The last of all: it would take seconds to free each object of a process that ends.
        atexit.register(os._exit, 0)


def left_out(items, number):
    """The cases that a run of this number leaves out.

    They are chosen by their names, so that what was made for a template serves all of its tests.
    """
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            cases[item.function].append(item)
    out = set()
    for each in cases.values():
        # Not by a checksum: of names that are alike those would always come in like order.
        each.sort(key=lambda item: blake2b(f"{number} {item.callspec.id}".encode()).digest())
        costly = each[0].get_closest_marker("costly")
        out.update(each[1 if costly else max(1, len(each) // SHARE_OF_CASES) :])
    return out


@pytest.fixture(autouse=True)
def formats_as_they_were():
    """Names of formats that a test registers are gone after it."""
    before = registry.Registered.entries
    yield
    registry.Registered.entries = before


@pytest.fixture(scope="module")
def own_garbage():
    """The garbage collector passes over what tests make only, where they run it themselves."""
    gc.collect()
    gc.freeze()


def together(nodeid):
    """What the tests are of that one process runs: a template where they name one, or a module.

    Those of the clients' packages too, which take seconds to import.
    """
    module, _, case = nodeid.partition("[")
    name = case.rpartition("]")[0].removesuffix(".jinja")
    if name in TEMPLATES:
        return name
    return "clients" if module.startswith(CLIENTS) else module.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let one process analyse a template, start a server, make a strategy, and not each of them."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return together(nodeid)

    return Together(config, log)


def pytest_runtest_setup(item):
    """Skip what is compared with the parser of transformers where that is not there."""
    if item.get_closest_marker("transformers") and judge() is None:
        pytest.skip("the installed transformers has no parser of responses")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Let a test that never ends fail, and not hold up all that comes after."""
    with no_hanging_test():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Nothing that collection makes is garbage: the collector would only pass over it, often."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    """Let the garbage collector pass over what was imported and collected, which is there to stay.

    It comes seldom, too: most of what tests make anew is no garbage of its kind, or is remembered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out tests of the corpus and of vocabularies where there are none, and some cases.

    First of all, so that no other plugin looks through what is left out.
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
    """Say in one line each what was left out."""
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
