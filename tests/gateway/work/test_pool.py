"""The pool of workers: deadlines, turns by client, and killed workers."""

from __future__ import annotations

import asyncio
import operator
import re
import time
from functools import partial

import pytest

pytest.importorskip("starlette", reason="the extra `serve` is not installed")

from deltaparse.gateway.faults import Fault
from deltaparse.gateway.work import pool as pools
from deltaparse.gateway.work.pool import Pool
from deltaparse.gateway.work.worker import Worker, WorkerFailed

HANG = partial(re.sub, r"(a+)+$")
"""With `LONG`, a function that runs forever in C and cannot be stopped in a thread."""
LONG = "a" * 60 + "b"
TRUE = partial(operator.is_not, None)
"""Returns True immediately for any arguments."""


def hang(pool, client, param="messages"):
    return asyncio.create_task(pool.run(client, param, HANG, LONG))


async def until_slow(pool, count=1):
    async with asyncio.timeout(60):
        while sum(job.is_slow for job in pool._running) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest.fixture
async def make():
    """Return a function that creates pools, and close them afterwards."""
    made = []
    yield lambda seconds: made.append(Pool(seconds)) or made[-1]
    for pool in made:
        pool.close()


@pytest.fixture
def two_places(monkeypatch):
    """Limit the pool to two places."""
    monkeypatch.setattr(pools, "MOST", 2)


async def test_job_returns_result_or_raises_its_fault(make):
    pool = make(20)
    assert await pool.run("a", None, TRUE) is True
    with pytest.raises(WorkerFailed) as failed:
        await pool.run("a", None, time.sleep)  # without a number
    assert failed.value.kind == "TypeError"
    assert await pool.run("a", None, TRUE) is True


async def test_hanging_job_ends_at_the_deadline_with_its_member(make):
    pool = make(0.3)
    with pytest.raises(Fault, match=r"tools takes more than 0\.3 seconds") as ended:
        await pool.run("a", "tools", HANG, LONG)
    assert (ended.value.status, ended.value.param) == (400, "tools")
    assert await pool.run("a", None, TRUE) is True


async def test_reported_member_is_stored():
    worker = Worker()
    worker.ask(20, operator.call, "tools")
    assert worker.at == "tools"
    worker.kill()
    worker.close()


async def test_cancelled_job_ends_its_worker_and_frees_its_place(make, two_places):
    pool = make(60)
    tasks = [hang(pool, "a") for _ in range(2)]
    await asyncio.sleep(0.1)
    workers = [job.worker for job in pool._running]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert [worker.is_dead for worker in workers] == [True, True]
    assert await pool.run("b", None, TRUE) is True
    assert pool._taken == 0


async def test_hanging_jobs_do_not_delay_others(make):
    pool = make(60)
    tasks = [hang(pool, "a") for _ in range(3)]
    assert await pool.run("a", None, TRUE) is True
    assert not any(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_full_pool_kills_a_slow_job_of_the_largest_client(make, monkeypatch):
    monkeypatch.setattr(pools, "MOST", 3)
    pool = make(60)
    tasks = [hang(pool, client) for client in ("b", "a", "a")]
    await until_slow(pool, 3)
    assert await pool.run("c", None, TRUE) is True
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert done == {tasks[1]}
    fault = tasks[1].exception()
    assert (fault.status, fault.param, fault.retry_after) == (429, "messages", "1")
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert pool._taken == 0


async def test_waiting_clients_are_served_in_turns(make, two_places, monkeypatch):
    pool = make(60)
    hogs = [hang(pool, "x") for _ in range(2)]
    await asyncio.sleep(0)
    order = []

    async def ask(client):
        await pool.run(client, None, TRUE)
        order.append(client)

    waiting = [asyncio.create_task(ask(client)) for client in "aaabc"]
    await asyncio.sleep(0)
    monkeypatch.setattr(pools, "MOST", 1)  # from now on one job at a time
    for hog in hogs:
        hog.cancel()
    await asyncio.wait([*waiting, *hogs])
    assert order == ["a", "b", "c", "a", "a"]


async def test_large_jobs_take_more_places(make, two_places):
    pool = make(60)
    big = "a" * 60 + "b" * (2 << 20)
    first = asyncio.create_task(pool.run("a", None, HANG, big))
    await asyncio.sleep(0.05)
    assert pool._taken == 2
    first.cancel()
    await asyncio.wait([first])


async def test_job_is_refused_after_waiting_too_long(make, monkeypatch):
    monkeypatch.setattr(pools, "MOST", 0)
    monkeypatch.setattr(pools, "WAITING", 0.1)
    pool = make(60)
    with pytest.raises(Fault, match="too many requests") as refused:
        await pool.run("a", None, TRUE)
    assert refused.value.status == 503
    assert not pool._waiting
