"""Small blocks, so that few records suffice for several blocks."""

from __future__ import annotations

import pytest

from deltaparse.replay import blocks


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "SIZE", 1 << 15)
