"""Worker processes, forked or started separately."""

from __future__ import annotations

import operator
import re
import time
from functools import partial

import pytest

pytest.importorskip("starlette", reason="the extra `serve` is not installed")

from deltaparse.gateway.work import worker as workers
from deltaparse.gateway.work.worker import Idle, Worker, WorkerDied, WorkerFailed

TRUE = partial(operator.is_not, None)
"""Returns True for any arguments."""


@pytest.fixture(params=[True, False], ids=["forked", "alone"])
def worker(request, monkeypatch):
    if request.param and not workers.FORKS:
        pytest.skip("this system has no fork")
    monkeypatch.setattr(workers, "FORKS", request.param)
    made = Worker()
    yield made
    made.kill()
    made.close()


def test_worker_answers_job_after_job(worker):
    assert worker.ask(60, TRUE) is True
    worker.ask(60, operator.call, "tools")
    assert worker.at == "tools"
    with pytest.raises(WorkerFailed, match="TypeError"):
        worker.ask(60, time.sleep)
    assert worker.ask(60, TRUE) is True


def test_killed_worker_raises(worker):
    assert worker.ask(60, TRUE) is True
    worker.kill()
    with pytest.raises(WorkerDied):
        worker.ask(60, TRUE)


def test_job_beyond_its_deadline_ends_the_process(worker):
    """This works even without the gateway's own timer."""
    hang = partial(re.sub, r"(a+)+$")
    with pytest.raises(WorkerDied):
        worker.ask(0.3, hang, "a" * 60 + "b")
    assert worker.is_dead


def test_dead_nursery_is_replaced():
    if not workers.FORKS:
        pytest.skip("this system has no fork")
    first = Worker()
    assert first.ask(60, TRUE) is True
    workers.NURSERY_OF_PROCESS._process.kill()
    workers.NURSERY_OF_PROCESS._process.wait()
    second = Worker()
    assert second.ask(60, TRUE) is True
    for one in (first, second):
        one.kill()
        one.close()


def test_dead_worker_is_not_kept():
    idle, dead = Idle(), Worker()
    dead.kill()
    idle.give(dead)
    taken = idle.take()
    assert taken is not dead
    assert taken.ask(60, TRUE) is True
    idle.give(taken)
    assert idle.take() is taken
    taken.kill()
    taken.close()
