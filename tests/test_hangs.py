"""What never ends fails, and nothing else does."""

from __future__ import annotations

import signal
import time

import pytest

from . import hangs

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="no alarms here")


def run(ended):
    while not ended():
        pass


def test_what_runs_for_ever_fails(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.05)
    before = time.process_time()
    with pytest.raises(hangs.Hang, match="still running"), hangs.no_hang():
        run(lambda: time.process_time() > before + 5)


def test_what_others_take_of_the_processor_is_not_counted(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.02)
    with hangs.no_hang():
        time.sleep(0.1)


def test_what_waits_for_ever_fails(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.02)
    monkeypatch.setattr(hangs, "WAITS", 2)
    with pytest.raises(hangs.Hang, match="still waiting"), hangs.no_hang():
        time.sleep(5)


def test_no_alarm_goes_off_later(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.02)
    monkeypatch.setattr(hangs, "WAITS", 1)
    before = signal.getitimer(signal.ITIMER_PROF)[0]
    with hangs.no_hang(), hangs.no_hang():
        pass
    end = time.monotonic() + 0.1
    run(lambda: time.monotonic() > end)
    assert signal.getitimer(signal.ITIMER_PROF)[0] <= before


def test_one_around_another_goes_off_behind_it(monkeypatch):
    monkeypatch.setattr(hangs, "WAITS", 1)
    ended = []
    with pytest.raises(hangs.Hang), hangs.no_hang(0.05):
        waits_inside(0.1, ended)
    assert ended == [0.1]


def waits_inside(seconds, ended):
    with hangs.no_hang(20):
        time.sleep(seconds)
    ended.append(seconds)
    time.sleep(5)


def test_what_handles_it_and_goes_on_fails_again():
    with pytest.raises(hangs.Hang), hangs.no_hang(0.02, again=0.02):
        runs_on()


def runs_on():
    try:
        run(lambda: False)
    except hangs.Hang:
        run(lambda: False)


def test_each_test_has_such_alarms():
    assert signal.getsignal(signal.SIGPROF) is hangs._raise
    assert 0 < signal.getitimer(signal.ITIMER_PROF)[0] < 2 * hangs.LONGEST_TEST
