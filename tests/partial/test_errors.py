"""The exceptions: the documented tree equals the real one."""

from __future__ import annotations

import inspect

import pytest

from deltaparse import partial
from deltaparse.partial import errors

CLASSES = {name: getattr(errors, name) for name in errors.__all__}


def documented_parents():
    """Return each name in the tree of the module's docstring, with its parent."""
    parents, above = {}, []
    for line in inspect.cleandoc(errors.__doc__).splitlines():
        name = line.split()[0] if line.strip() else ""
        if name in CLASSES:
            depth = (len(line) - len(line.lstrip())) // 4
            above = [*above[: depth - 1], name]
            parents[name] = above[-2] if len(above) > 1 else "Exception"
    return parents


def test_the_tree_is_as_documented():
    assert documented_parents() == {name: cls.__base__.__name__ for name, cls in CLASSES.items()}


def test_every_exception_of_the_module_is_public():
    found = {name for name, cls in vars(errors).items() if inspect.isclass(cls)}

    assert found == set(errors.__all__)


@pytest.mark.parametrize("name", errors.__all__)
def test_exceptions_share_a_base_and_have_docstrings(name):
    assert issubclass(CLASSES[name], errors.DeltaParseError)
    assert CLASSES[name].__doc__
    assert getattr(partial, name) is CLASSES[name]


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name != "DeltaParseError"])
def test_a_caller_who_knows_only_python_catches_it_too(name):
    with pytest.raises(ValueError, match="what happened"):
        raise CLASSES[name]("what happened")


@pytest.mark.parametrize("cls", [errors.MalformedOutput])
def test_malformed_output_has_kind_and_span(cls):
    error = cls("no colon", kind="malformed_json", span=(3, 4))

    assert (str(error), error.kind, error.span) == ("no colon", "malformed_json", (3, 4))


def test_malformed_output_need_not_say_more_than_that():
    error = errors.MalformedOutput("odd")

    assert (str(error), error.kind, error.span) == ("odd", "malformed", (0, 0))
