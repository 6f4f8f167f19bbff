"""Running a template in a sandbox, to its end or to that of its budget."""

from __future__ import annotations

from time import thread_time

import pytest

from deltaparse.analyzer.template.budget import STEP, Budget, LimitExceeded, Limits
from deltaparse.analyzer.template.sandbox import sandbox

USUAL = Limits(seconds=5)


def run(source, limits=USUAL, **variables):
    """Render a template."""
    room = sandbox(limits)
    return room.run(room.from_string(room.guarded(source)), variables, limits)


def assert_refused(source, limits, words):
    """A template is refused soon, whatever its limit of time, and in these words."""
    began = thread_time()

    with pytest.raises(LimitExceeded, match=words):
        run(source, limits)
    assert thread_time() - began < 2


def paid(source, **variables):
    """Return the total cost of a template."""
    costs = []

    class Counted(Budget):
        def pay(self, cost=STEP):
            costs.append(cost)
            super().pay(cost)

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr("deltaparse.analyzer.template.sandbox.Budget", Counted)
        run(source, **variables)
    assert min(costs, default=0) >= 0
    return sum(costs)
