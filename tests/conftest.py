"""Profiles of hypothesis, and what is not collected where there is no corpus.

`HYPOTHESIS_PROFILE=thorough` tries a hundred times as much. In CI each run draws the same, so that
a failure there belongs to the change that was tested; runs elsewhere, and `make fuzz`, draw anew.
"""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, Phase, settings

from deltaparse.stream.wire.named import registry

from . import corpus, vocabularies

FOLDERS = {"corpus": corpus.FOLDER, "vocabularies": vocabularies.FOLDER}

COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}

settings.register_profile("default", max_examples=100, **COMMON)
settings.register_profile("thorough", max_examples=10_000, **COMMON)
settings.register_profile(
    "quick", max_examples=50, phases=[Phase.explicit, Phase.reuse, Phase.generate], **COMMON
)
settings.register_profile("ci", max_examples=40, derandomize=True, print_blob=True, **COMMON)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default")
)


@pytest.fixture(autouse=True)
def formats_as_they_were():
    """Names of formats that a test registers are gone after it."""
    before = registry.Registered.entries
    yield
    registry.Registered.entries = before


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    """Let the garbage collector pass over what was imported and collected: it is there to stay."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config, items):
    """Leave out the tests of the corpus, and of real vocabularies, where there are none."""
    absent_marks = [name for name, folder in FOLDERS.items() if folder is None]
    absent = [item for item in items if any(map(item.get_closest_marker, absent_marks))]
    if absent:
        out = set(absent)
        items[:] = [item for item in items if item not in out]
        config.hook.pytest_deselected(items=absent)


def pytest_terminal_summary(terminalreporter):
    """Say in one line each that they were left out."""
    if corpus.FOLDER is None:
        terminalreporter.write_line(
            "no corpus: tests of real templates are not collected; DELTAPARSE_CORPUS names a folder"
        )
    if vocabularies.FOLDER is None:
        terminalreporter.write_line(
            "no vocabularies: tests of real ones are not collected; `make test` downloads them"
        )
