"""Tests of copying the caller's values to plain types."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, IntEnum

import pytest

from deltaparse import UsageError
from deltaparse.analyzer.template.plain_values import plain_copy, plain_dicts


class Colour(str, Enum):  # noqa: UP042 - the kind whose `str` is not its value
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Number(float):
    def __str__(self):
        return "not this"


@dataclass
class Turn:
    role: str
    content: object = None


class Model:
    def model_dump(self):
        return {"role": Colour.RED, "content": "modelled"}


class Scalar:
    """Looks like a number of NumPy's."""

    shape = ()

    def item(self):
        return 7


class Image:
    def save(self):
        raise AssertionError


def test_values_are_copied_to_plain_types(monkeypatch):
    monkeypatch.setattr(Scalar, "__module__", "numpy")
    messages = [
        Turn("user", [Colour.RED, Level.HIGH, Number(2.5)]),
        Model(),
        OrderedDict(role=(1, Scalar())),
        {"role": Image(), "content": Image, 1: print},
    ]
    plain = [
        {"role": "user", "content": ["red", 3, 2.5]},
        {"role": "red", "content": "modelled"},
        {"role": (1, 7)},
        {"role": "<Image>", "content": "<type>", 1: "<builtin_function_or_method>"},
    ]

    # As text: an enum's member is equal to its value, and is another object all the same.
    assert repr(plain_copy("messages", messages)) == repr(plain)


def test_a_class_is_not_one_of_its_objects():
    assert plain_copy("x", [Turn, Model, dict]) == ["<type>"] * 3


def test_an_array_is_not_a_number(monkeypatch):
    monkeypatch.setattr(Scalar, "__module__", "numpy")
    monkeypatch.setattr(Scalar, "shape", (2,))
    assert plain_copy("x", Scalar()) == "<Scalar>"


def test_lookalike_of_a_numpy_number_is_not_a_number():
    assert plain_copy("x", Scalar()) == "<Scalar>"


def test_copy_is_deep():
    given = {"content": [{"type": "text"}]}
    made = plain_copy("x", given)

    made["content"][0]["type"] = "image"
    assert given == {"content": [{"type": "text"}]}


def test_recursive_value_cannot_be_copied():
    given = []
    given.append(given)

    with pytest.raises(UsageError, match=r"^x must not contain itself or nest hundreds of levels$"):
        plain_copy("x", given)


def test_dicts_are_asked_for_by_an_example():
    assert plain_dicts("tools", ({"a": 1},), "{...}") == [{"a": 1}]
    with pytest.raises(UsageError, match=r"^tools must be a list of dicts like"):
        plain_dicts("tools", "a", "{...}")
    with pytest.raises(UsageError, match=r"^tools\[1\] must be a dict like"):
        plain_dicts("tools", [{}, 1], "{...}")
