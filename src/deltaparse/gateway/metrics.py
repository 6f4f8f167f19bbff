"""Prometheus metrics of a gateway."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["Metrics", "forget_process", "share_numbers"]

FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """The metrics. Labels are constants of the gateway, never input of a client.

    prometheus_client decides at import if metrics are stored in this process or in a shared folder.
    So it is imported lazily.
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
            "requests_total", "Requests, by protocol and status.", "protocol", "status"
        )
        self.finished = counter("turns_total", "Turns, by finish reason.", "reason")
        self.calls = counter("calls_total", "Tool calls, by status.", "status")
        self.issues = counter("issues_total", "Issues reported by parsers.", "kind")
        self.truncated = counter("truncated_total", "Turns truncated at a token limit.")
        self.faults = counter("faults_total", "Failed responses, by status.", "status")
        self.gone = counter("clients_gone_total", "Clients that disconnected early.")
        self.tokens = counter("tokens_total", "Tokens, by part.", "part")
        self.characters = counter("characters_total", "Characters emitted, by part.", "part")
        self.open = gauge("open_answers", "Responses in progress.")
        self.held = gauge("held_characters", "Characters buffered in all open responses.")
        self.first = histogram(
            "first_delta_seconds",
            "Time from the request to the first delta.",
            *(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
        )
        self.seconds = histogram(
            "answer_seconds",
            "Time from the request to the end of the response.",
            *(0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800),
        )

    @property
    def are_shared(self) -> bool:
        """True if several processes share the metrics."""
        return FOLDER in os.environ

    @staticmethod
    def leave_out_times() -> None:
        """Omit creation times in this process, since they would double the number of series."""
        from prometheus_client import disable_created_metrics

        disable_created_metrics()

    def text(self) -> bytes:
        """Return all metrics in Prometheus text format, of all processes that share them."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        if not self.are_shared:
            return generate_latest(self._registry)
        everyone = CollectorRegistry()
        MultiProcessCollector(everyone)
        return generate_latest(everyone)


def share_numbers(folder: Path) -> None:
    """Store the metrics of all processes started from now on in a folder."""
    os.environ[FOLDER] = str(folder)


def forget_process(process: int) -> None:
    """Remove the gauges of an ended process. Its counters are kept."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(process)
