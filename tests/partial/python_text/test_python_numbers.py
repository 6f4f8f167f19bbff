"""Python numbers and names: accepted words, and their maximum length."""

from __future__ import annotations

import pytest

from deltaparse.partial import MAX_TOKEN, is_python_name, python_value

from ...support import drive


# "²" is not a digit in Python, but a letter in `re` and therefore for simple tokens.
@pytest.mark.parametrize("name", ["a", "_", "a1", "user-id", "a.b", "a-", "नाम", "e\u0301-b", "a²"])
def test_names(name):
    assert is_python_name(name)


@pytest.mark.parametrize(
    "word", ["", "1", "1a", "-", "-a", ".a", "-e\u0301", "a b", "\u0301a", "a="]
)
def test_invalid_python_names(word):
    assert not is_python_name(word)


@pytest.mark.parametrize(("digits", "state"), [(MAX_TOKEN, "done"), (MAX_TOKEN + 1, "broken")])
def test_the_length_of_a_number_in_another_base_is_that_of_its_digits(digits, state):
    number = 10 ** (digits - 1)
    read = drive(lambda src, emit: python_value(src, emit, lambda *_: None), [f"[{number:#x}]"])

    assert read.result.state == state
    assert "".join(read.emitted) == ("[1" + "0" * (digits - 1) + "]" if state == "done" else "[")
