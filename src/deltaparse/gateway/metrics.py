"""Numbers of what a gateway does, for Prometheus."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["Metrics", "forget_process", "share_numbers"]

FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """What is counted. Labels are words of the gateway's own, never a client's.

    prometheus_client decides when it is imported whether the numbers are those of one process, or
    are kept in a folder that several share: so it is imported here, and not above.
    """

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        own = CollectorRegistry()
        self._registry = own

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(f"deltaparse_{name}", help, labels, registry=own)

        def gauge(name: str, help: str) -> Gauge:
            return Gauge(f"deltaparse_{name}", help, registry=own, multiprocess_mode="livesum")

        def histogram(name: str, help: str, *bounds: float) -> Histogram:
            return Histogram(f"deltaparse_{name}", help, registry=own, buckets=bounds)

        self.requests = counter(
            "requests_total", "Requests answered, or refused.", "protocol", "status"
        )
        self.finished = counter("turns_total", "Turns, by why they ended.", "reason")
        self.calls = counter("calls_total", "Calls that were begun, by what became.", "status")
        self.issues = counter("issues_total", "Issues that parsers reported.", "kind")
        self.truncated = counter("truncated_total", "Turns cut off at a limit of tokens.")
        self.faults = counter("faults_total", "Answers that failed, by their status.", "status")
        self.gone = counter("clients_gone_total", "Clients that left before the end.")
        self.tokens = counter("tokens_total", "Tokens, by part.", "part")
        self.characters = counter("characters_total", "Characters emitted, by part.", "part")
        self.open = gauge("open_answers", "Answers that are being made.")
        self.held = gauge("held_characters", "Characters held back now, in all open answers.")
        self.first = histogram(
            "first_delta_seconds",
            "Time from the request to the first delta.",
            *(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
        )
        self.seconds = histogram(
            "answer_seconds",
            "Time from the request to the end of the answer.",
            *(0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800),
        )

    @property
    def are_shared(self) -> bool:
        """Whether other processes show these numbers too."""
        return FOLDER in os.environ

    @staticmethod
    def leave_out_times() -> None:
        """Say of no number, in this process, when it was begun: each would be a number more."""
        from prometheus_client import disable_created_metrics

        disable_created_metrics()

    def text(self) -> bytes:
        """Return all numbers in Prometheus's text: those of all processes that share them."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        if not self.are_shared:
            return generate_latest(self._registry)
        everyone = CollectorRegistry()
        MultiProcessCollector(everyone)
        return generate_latest(everyone)


def share_numbers(folder: Path) -> None:
    """Let the processes that are started from here on keep their numbers in a folder."""
    os.environ[FOLDER] = str(folder)


def forget_process(process: int) -> None:
    """Forget what was true of a process that has ended; what it counted stays counted."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(process)
