"""Endless tests fail, and other tests do not."""

from __future__ import annotations

import signal
import time

import pytest

from . import hangs

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="no alarms here")


def run(ended):
    while not ended():
        pass


def test_endless_loop_fails(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.05)
    before = time.process_time()
    with pytest.raises(hangs.Hang, match="still running"), hangs.no_hang():
        run(lambda: time.process_time() > before + 5)
    assert left()[0] > 5  # the alarm of the test is active again


def left():
    return [signal.getitimer(timer)[0] for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL)]


def test_cpu_time_of_other_processes_is_not_counted(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.02)
    with hangs.no_hang():
        time.sleep(0.1)


def test_endless_wait_fails(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.02)
    monkeypatch.setattr(hangs, "WAITS", 2)
    with pytest.raises(hangs.Hang, match="still waiting"), hangs.no_hang():
        time.sleep(5)


def test_alarm_does_not_fire_later(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.02)
    monkeypatch.setattr(hangs, "WAITS", 1)
    with hangs.no_hang(), hangs.no_hang():
        pass
    end = time.monotonic() + 0.1
    run(lambda: time.monotonic() > end)


def test_outer_alarm_fires_after_inner_alarm(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.05)
    ended = []
    with pytest.raises(hangs.Hang), hangs.no_hang():
        runs_inside(0.1, ended)
    assert ended == [0.1]


def runs_inside(seconds, ended):
    with hangs.no_hanging_test():
        end = time.process_time() + seconds
        run(lambda: time.process_time() > end)
    ended.append(seconds)
    run(lambda: time.process_time() > end + 5)


def test_handled_alarm_fires_again(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.02)
    monkeypatch.setattr(hangs, "LONGEST_TEST", 0.02)
    with pytest.raises(hangs.Hang), hangs.no_hanging_test():
        runs_on()


def runs_on():
    try:
        run(lambda: False)
    except hangs.Hang:
        run(lambda: False)


def test_each_test_has_alarms():
    assert signal.getsignal(signal.SIGPROF) is signal.getsignal(signal.SIGALRM) is hangs._raise
    runs, waits = left()
    assert hangs.LONGEST_TEST / 2 < runs < waits < 30 * 60  # CI has 90 minutes
