"""Progress line of a replay, shown on terminals only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TextIO

__all__ = ["ProgressLine", "progress_line"]

EVERY = 0.2
"""Minimal number of seconds between two updates."""


class ProgressLine:
    """Progress line that overwrites itself on a terminal and is silent on other streams."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream is not None and self._stream.isatty()
        self._began = self._last = time.monotonic()
        self._first: tuple[int, int] | None = None

    def __call__(self, records: int, place: int, total: int) -> None:
        """Show the progress.

        Args:
            records: the number of finished records.
            place: the number of finished bytes.
            total: the number of all bytes.
        """
        now = time.monotonic()
        if not self._shown or (now - self._last < EVERY and place < total):
            return
        self._last = now
        # The first update is excluded from the rate: it includes resumed work and startup time.
        if self._first is None:
            self._first, self._began = (records, place), now
        before, start = self._first
        rate = (records - before) / max(now - self._began, 1e-6)
        share = place / total if total else 0
        words = f"{100 * share:3.0f} %  {records} records"
        if records > before:
            left = (total - place) / max(place - start, 1) * (now - self._began)
            words += f"  {rate:.0f} a second  {timedelta(seconds=int(left))} left"
        self._stream.write(f"\r{words:<70}")
        self._stream.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            self._stream.write(f"\r{'':<70}\r")
            self._stream.flush()


@contextmanager
def progress_line() -> Iterator[ProgressLine]:
    """Show a progress line until the end of the block."""
    line = ProgressLine()
    try:
        yield line
    finally:
        line.end()
