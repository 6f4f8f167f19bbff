"""Numbers of what a gateway does, in the text that Prometheus reads."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections import Counter as Sums
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Counter", "Gauge", "Histogram", "Metrics", "SharedNumbers"]


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

    def dump(self) -> Any:
        """Return the numbers as JSON has them."""
        return list(self.sums.items())

    def add_dump(self, dumped: Any) -> None:
        """Add the numbers of another process."""
        for values, number in dumped:
            self.sums[tuple(values)] += number

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

    def set(self, value: float) -> None:
        """Set the number, where there are no labels."""
        self.sums[()] = value  # type: ignore[assignment]


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

    def dump(self) -> Any:
        """Return the numbers as JSON has them."""
        return [super().dump(), list(self._found.items())]

    def add_dump(self, dumped: Any) -> None:
        """Add the numbers of another process."""
        sums, found = dumped
        super().add_dump(sums)
        for values, numbers in found:
            own = self._found.setdefault(tuple(values), [0] * (len(self.bounds) + 1))
            own[:] = [a + b for a, b in zip(own, numbers, strict=True)]

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
        self.faults = Counter("faults_total", "Answers that failed, by their status.", "status")
        self.gone = Counter("clients_gone_total", "Clients that left before the end.")
        self.tokens = Counter("tokens_total", "Tokens, by part.", "part")
        self.characters = Counter("characters_total", "Characters emitted, by part.", "part")
        self.open = Gauge("open_answers", "Answers that are being made.")
        self.held = Gauge("held_characters", "Characters held back now, in all open answers.")
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

    def dump(self) -> dict[str, Any]:
        """Return all numbers as JSON has them."""
        return {name: metric.dump() for name, metric in vars(self).items()}

    def add_dump(self, dumped: Mapping[str, Any], *, lives: bool) -> None:
        """Add the numbers of another process; what is now is only so where that still `lives`."""
        for name, metric in vars(self).items():
            if lives or not isinstance(metric, Gauge):
                metric.add_dump(dumped[name])


class SharedNumbers:
    """Numbers of several processes, each of which writes its own into a folder.

    Whichever is asked for metrics adds up those of all. What a process counted before it ended
    stays counted.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = folder / f"{os.getpid()}.json"
        self._written = ""

    def write(self, metrics: Metrics) -> None:
        """Write this process's numbers, where they have changed."""
        text = json.dumps(metrics.dump())
        if text == self._written:
            return
        new = self._own.with_suffix(".new")
        new.write_text(text, encoding="ascii")
        new.replace(self._own)
        self._written = text

    def total(self, metrics: Metrics) -> Metrics:
        """Return the numbers of all processes, this one's as they are now."""
        whole = Metrics()
        whole.add_dump(metrics.dump(), lives=True)
        for file in sorted(self._folder.glob("*.json")):
            if file != self._own:
                whole.add_dump(json.loads(file.read_bytes()), lives=is_alive(int(file.stem)))
        return whole


def is_alive(process: int) -> bool:
    """Return whether a process is there."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
