"""Request bodies in memory, and the choice of the one to drop."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

pytest.importorskip("starlette", reason="the extra `serve` is not installed")

from deltaparse.gateway.faults import Fault
from deltaparse.gateway.uploads import SMALL, Uploads


@pytest.fixture
def stack():
    with ExitStack() as made:
        yield made


async def test_too_many_bodies_drop_the_oldest_of_the_largest_client(stack):
    uploads = Uploads(3, 1000)
    b, a1, a2 = (stack.enter_context(uploads.upload(client)) for client in ("b", "a", "a"))
    stack.enter_context(uploads.upload("c"))
    assert [one.is_given_up for one in (b, a1, a2)] == [False, True, False]
    assert a1.scope.cancel_called


async def test_complete_body_is_never_dropped(stack):
    uploads = Uploads(1, 1000)
    first = stack.enter_context(uploads.upload("a"))
    uploads.arrived(first)
    second = stack.enter_context(uploads.upload("a"))
    third = stack.enter_context(uploads.upload("a"))
    assert [one.is_given_up for one in (first, second, third)] == [False, True, False]


async def test_too_many_bytes_drop_a_body_of_the_largest_client(stack):
    uploads = Uploads(9, 100)
    a, b = (stack.enter_context(uploads.upload(client)) for client in "ab")
    uploads.add(b, b"x" * 20)
    uploads.add(a, b"x" * 70)
    uploads.add(b, b"x" * 15)
    assert (a.is_given_up, b.is_given_up) == (True, False)
    assert len(b.body) == 35


async def test_large_body_is_refused_if_no_other_can_be_dropped():
    uploads = Uploads(9, 10)
    with uploads.upload("a") as first:
        uploads.add(first, b"x" * 10)
        uploads.arrived(first)
        with uploads.upload("b") as small:
            uploads.arrived(small)
            uploads.add(small, b"x" * 10)
        with uploads.upload("b") as large:
            uploads.arrived(large)
            with pytest.raises(Fault, match="too many request bytes"):
                uploads.add(large, b"x" * (SMALL + 1))


async def test_bytes_are_counted_until_a_body_is_dropped():
    uploads = Uploads(9, 100)
    for _ in range(5):
        with uploads.upload("a") as one:
            uploads.add(one, b"x" * 60)
            uploads.arrived(one)
            uploads.drop(one)
    with uploads.upload("a") as one:
        uploads.add(one, b"x" * 60)
        assert not one.is_given_up
