"""Numbers of what a gateway does, in the text that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Sums

__all__ = ["Counter", "Gauge", "Histogram", "Metrics"]


class Counter:
    """A number for each set of labels, which only grows."""

    kind = "counter"

    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.name = f"deltaparse_{name}"
        self.help = help
        self.labels = labels
        self.sums: Sums[tuple[str, ...]] = Sums()

    def add(self, *values: str, by: float = 1) -> None:
        """Add to the number with these labels."""
        self.sums[values] += by  # type: ignore[assignment]

    def lines(self) -> list[str]:
        """Return the lines of the numbers."""
        sums = self.sums or ({} if self.labels else {(): 0})
        return [
            f"{self.name}{written_labels(self.labels, values)} {number}"
            for values, number in sorted(sums.items())
        ]


class Gauge(Counter):
    """A number that goes up and down."""

    kind = "gauge"


class Histogram(Counter):
    """How many values are below each of some bounds."""

    kind = "histogram"

    def __init__(self, name: str, help: str, *labels: str, bounds: tuple[float, ...]) -> None:
        super().__init__(name, help, *labels)
        self.bounds = bounds
        self._found: dict[tuple[str, ...], list[int]] = {}

    def observe(self, *values: str, value: float) -> None:
        """Count a value under these labels."""
        found = self._found.setdefault(values, [0] * (len(self.bounds) + 1))
        found[bisect_left(self.bounds, value)] += 1
        self.add(*values, by=value)

    def lines(self) -> list[str]:
        """Return the lines of the numbers."""
        made = []
        for values, found in sorted(self._found.items()):
            below = 0
            for bound, number in zip([*self.bounds, "+Inf"], found, strict=True):
                below += number
                labels = written_labels((*self.labels, "le"), (*values, str(bound)))
                made.append(f"{self.name}_bucket{labels} {below}")
            labels = written_labels(self.labels, values)
            made.append(f"{self.name}_sum{labels} {self.sums[values]}")
            made.append(f"{self.name}_count{labels} {below}")
        return made


def written_labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """Return labels as they stand behind a name."""
    pairs = []
    for name, value in zip(names, values, strict=True):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        pairs.append(f'{name}="{escaped}"')
    return f"{{{','.join(pairs)}}}" if pairs else ""


class Metrics:
    """What is counted. Labels are words of the gateway's own, never a client's."""

    def __init__(self) -> None:
        self.requests = Counter(
            "requests_total", "Requests answered, or refused.", "protocol", "status"
        )
        self.finished = Counter("turns_total", "Turns, by why they ended.", "reason")
        self.calls = Counter("calls_total", "Calls that were begun, by what became.", "status")
        self.issues = Counter("issues_total", "Issues that parsers reported.", "kind")
        self.truncated = Counter("truncated_total", "Turns that were cut off.")
        self.upstream = Counter("upstream_faults_total", "Faults of the upstream.", "status")
        self.gone = Counter("clients_gone_total", "Clients that left before the end.")
        self.tokens = Counter("tokens_total", "Tokens, by part.", "part")
        self.characters = Counter("characters_total", "Characters emitted, by part.", "part")
        self.open = Gauge("open_answers", "Answers that are being made.")
        self.first = Histogram(
            "first_delta_seconds",
            "Time from the request to the first delta.",
            bounds=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
        )
        self.seconds = Histogram(
            "answer_seconds",
            "Time from the request to the end of the answer.",
            bounds=(0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800),
        )

    def text(self) -> str:
        """Return all numbers in Prometheus's text."""
        lines = []
        for metric in vars(self).values():
            lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
            lines += metric.lines()
        return "\n".join(lines) + "\n"
