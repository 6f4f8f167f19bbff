"""JSON values with one inner value replaced."""

from __future__ import annotations


def places(value, so_far=()):
    """Yield the paths of all values in a JSON value."""
    yield so_far
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else items:
        yield from places(inner, (*so_far, key))


def replaced(value, place, new):
    """Return a copy of a JSON value with another value at a path."""
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = replaced(value[place[0]], place[1:], new)
    return copy
