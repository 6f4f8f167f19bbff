"""JSON values with one value in them replaced."""

from __future__ import annotations


def places(value, so_far=()):
    """The ways to all values in a JSON value."""
    yield so_far
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else items:
        yield from places(inner, (*so_far, key))


def replaced(value, place, new):
    """A copy of a JSON value with another at a place."""
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = replaced(value[place[0]], place[1:], new)
    return copy
