"""Running a template in a sandbox, to its end or to that of its budget."""

from __future__ import annotations

from time import thread_time

import pytest

from deltaparse.analyzer.template.budget import LimitExceeded, Limits
from deltaparse.analyzer.template.sandbox import sandbox

USUAL = Limits(seconds=5)


def run(source, limits=USUAL, **variables):
    """What a template writes."""
    room = sandbox(limits)
    return room.run(room.from_string(room.guarded(source)), variables, limits)


def assert_refused(source, limits, words):
    """A template is refused soon, whatever its limit of time, and in these words."""
    began = thread_time()

    with pytest.raises(LimitExceeded, match=words):
        run(source, limits)
    assert thread_time() - began < 2
