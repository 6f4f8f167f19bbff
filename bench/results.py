"""All results of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import analysis
import interleaved
import ordinary
import partial
import protocols
import tokens
from counts import Counts
from families import FAMILIES
from settings import Settings
from streams import Row
from targets import Check, check
from timing import Cost

__all__ = ["Results"]


@dataclass(frozen=True)
class Results:
    """The figures of a run by workload or name. `where` describes the time and the machine."""

    where: str
    settings: Settings
    streams: Sequence[Row]
    transformers: Mapping[str, Cost]
    transformers_large: Mapping[str, Cost]
    servers: Mapping[str, Mapping[str, Cost]]
    bare: Mapping[str, Cost]
    passes: Mapping[str, float]
    families: Mapping[str, Mapping[str, Cost]]
    construction: Mapping[str, Cost]
    answer: Cost
    decisions: Mapping[str, Cost]
    growth: Mapping[str, float]
    bytes_of_call: float
    interleaved: Sequence[interleaved.Row]
    memory: Mapping[str, int]
    counts: Mapping[str, Counts]
    primitives: Sequence[partial.Row]
    primitives_grow: Mapping[str, float]
    scanner_bytes: int
    analysis: Sequence[analysis.Row]
    ordinary: Sequence[ordinary.Row]
    protocols: Sequence[protocols.Row]
    tokens: Sequence[tokens.Row]
    missing: Sequence[str]

    def checks(self) -> list[Check]:
        """Return the result of each target."""
        figures = [
            *((row.workload, row.kind, "floors", row.four) for row in self.streams),
            *((row.workload, row.kind, "grows", row.grows) for row in self.streams),
            *((row.workload, row.kind, "whole", row.whole) for row in self.streams),
            *(
                (FAMILIES[name][column].name, FAMILIES[name][column].kind, "floors", cost.floors)
                for name, columns in self.families.items()
                for column, cost in columns.items()
            ),
            *((name, "", "construction", cost.floors) for name, cost in self.construction.items()),
            ("a whole short answer", "", "answer", self.answer.floors),
            *((name, "", "decision", cost.floors) for name, cost in self.decisions.items()),
            *((name, "", "counted growth", ratio) for name, ratio in self.growth.items()),
            ("a call of no arguments", "", "bytes of a call", self.bytes_of_call),
            *(
                (f"{row.workload}, {way}", row.kind, "interleaved", getattr(row, way))
                for row in self.interleaved
                if row.workload != interleaved.BARE
                for way in ("loop", "tasks", "threads")
            ),
            *((name, "", "memory", size) for name, size in self.memory.items()),
            *(
                (f"{row.writer}, {row.workload}", "", "written", row.more)
                for row in self.protocols
                if row.writer in protocols.MACHINES
            ),
            *((f"ids, {row.workload}", row.kind, "token", row.more) for row in self.tokens),
            *(("templates", "", name, value) for name, value in analysis.figures(self.analysis)),
        ]
        return [checked for figure in figures for checked in check(*figure)]

    def to_json(self) -> dict[str, Any]:
        """Return the figures and the targets as JSON."""
        return asdict(self) | {"targets": [asdict(checked) for checked in self.checks()]}
