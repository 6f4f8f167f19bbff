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
    with pytest.raises(hangs.Hang, match=r"still running after 0\.05 seconds"), hangs.no_hang():
        run(lambda: time.process_time() > before + 5)
    assert signal.getsignal(signal.SIGPROF) is not hangs._raise


def test_what_others_take_of_the_processor_is_not_counted(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.02)
    with hangs.no_hang():
        time.sleep(0.1)


def test_what_waits_for_ever_fails(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.02)
    monkeypatch.setattr(hangs, "WAITS", 2)
    with pytest.raises(hangs.Hang, match=r"still waiting after 0\.04 seconds"), hangs.no_hang():
        time.sleep(5)


def test_no_alarm_goes_off_later(monkeypatch):
    monkeypatch.setattr(hangs, "LONGEST", 0.02)
    monkeypatch.setattr(hangs, "WAITS", 1)
    with hangs.no_hang(), hangs.no_hang():
        pass
    end = time.monotonic() + 0.1
    run(lambda: time.monotonic() > end)
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0
