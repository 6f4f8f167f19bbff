"""Run the examples in docstrings."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

from deltaparse import partial

MODULES = [info.name for info in pkgutil.walk_packages(partial.__path__, "deltaparse.partial.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples(name):
    assert doctest.testmod(import_module(name)).failed == 0
