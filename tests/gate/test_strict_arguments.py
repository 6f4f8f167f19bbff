"""Payloads: strict and bounded JSON without text after it."""

from __future__ import annotations

import json

import pytest

from ..strategies.gate_samples import called, decided, reason, tag


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ("", "not_json"),
        (" ", "not_json"),
        ("{", "not_json"),
        ("{}}", "not_json"),
        ("{} {}", "not_json"),
        ("{},", "not_json"),
        ("{'a': 1}", "not_json"),
        ("{a: 1}", "not_json"),
        ('{"a": 1,}', "not_json"),
        ('{"a": True}', "not_json"),
        ('{"a": 01}', "not_json"),
        ('{"a": ١}', "not_json"),
        ('{"a": "\n"}', "not_json"),
        ('{"a": 1} // so', "not_json"),
        ("\ufeff{}", "not_json"),
        ("\u00a0{}", "not_json"),
        ('"{}"', "wrong_shape"),
        ("[]", "wrong_shape"),
        ("null", "wrong_shape"),
        ("1", "wrong_shape"),
        ('{"a": NaN}', "non_finite"),
        ('{"a": [Infinity]}', "non_finite"),
        ('{"a": -Infinity}', "non_finite"),
        ('{"a": 1e999}', "non_finite"),
        ('{"a": -1.0e400}', "non_finite"),
        ('{"a": 9007199254740993.0}', "non_finite"),
        ('{"a": [0.99999999999999999999]}', "non_finite"),
        ('{"a": 100.00000000000000000001}', "non_finite"),
        ('{"a": -1e-400}', "non_finite"),
        ('{"a": 1e-99999999999999999999}', "non_finite"),
        ('{"a": 1, "a": 1}', "duplicate_key"),
        ('{"a": 1, "\\u0061": 2}', "duplicate_key"),
        ('{"a": [{"b": 1, "b": 2}]}', "duplicate_key"),
        ('{"a": "\\ud83d"}', "not_text"),
        ('{"\\udc00": 1}', "not_text"),
        ('{"a": "\ud83d"}', "not_text"),
        ('{"a": ' + "9" * 5000 + "}", "not_json"),
        ('{"a": ' + "[" * 32 + "]" * 32 + "}", "too_deep"),
        ('{"a":' * 5000, "too_deep"),
        ("[" * 60000, "too_deep"),
    ],
)
def test_invalid_strict_json_is_refused(payload, why):
    assert reason(tag(payload, "any")) == why


@pytest.mark.parametrize(
    "payload",
    [
        "{}",
        ' \r\n\t{"a" : [1, 2.50, -0.0, 1e2, true, null]} ',
        '{"a": [1.0, 6.022e23, 1e23, 0.1, 3.14159265358979323846, 1e-5, 0e-9, 1E5]}',
        '{"a": "[[[[[{{{{{\\"[", "é\\u00e9\\ud83d\\ude00": "\x7f"}',
        '{"a": ' + "[" * 31 + "]" * 31 + "}",
        '{"a": [' + "[], " * 40 + "{}]}",
        '{"a": ' + "9" * 4000 + "}",
        '{"a": "' + '\\"' * 1000 + '"}',
    ],
)
def test_strict_json_is_parsed_like_json_loads(payload):
    assert called(tag(payload, "any")) == [{"name": "any", "arguments": json.loads(payload)}]


@pytest.mark.parametrize("payload", ["{", '{"a" 1}', "{}}", '{"a": "\n"}'])
def test_refusal_contains_only_the_decoder_message(payload):
    with pytest.raises(json.JSONDecodeError) as failed:
        json.loads(payload)
    said = f"the payload is not one JSON value: {failed.value.msg}"
    assert decided(tag(payload, "any")).detail == said


def test_refusal_of_a_huge_integer_names_the_exception():
    said = "the payload is not one JSON value: ValueError"
    assert decided(tag("9" * 5000, "any")).detail == said
