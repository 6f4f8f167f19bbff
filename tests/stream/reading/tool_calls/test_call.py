"""A call while it is read."""

from __future__ import annotations

import pytest

from deltaparse import MalformedOutput, Policies, parse

from ....strategies.wire_by_hand import TAGS, fed

STRICT = Policies(duplicate_keys="error")


@pytest.mark.parametrize(
    ("arguments", "twice"),
    [
        ('{"a": {"b": 1}, "b": 2}', False),
        ('{"a": [{"c": 1}, {"c": 2}], "c": [{}, []]}', False),
        ('{"a": "a", "b": ["a", "b"]}', False),
        ('{"a": {"b": 1}, "a": 2}', True),
        ('{"a": [{"c": 1, "c": 2}]}', True),
        ('{"a": [{}], "b": {"c": {}, "c": {}}}', True),
        ('{"\\u0061": 1, "a": 2}', True),
    ],
)
def test_a_key_stands_twice_where_it_does_in_one_object(arguments, twice):
    text = f'<call>\n{{"name": "f", "arguments": {arguments}}}\n</call>'
    if twice:
        with pytest.raises(MalformedOutput, match="twice"):
            parse(text, TAGS, policies=STRICT)
    else:
        assert fed(TAGS, text, policies=STRICT).issues == []
