"""Compare the token parser with the text parser on the same chunks, with one token per chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import deltaparse as dp
from settings import Settings
from timing import Reader, Trial, measure, parts
from workloads import WORKLOADS, Workload

__all__ = ["Row", "measure_tokens"]


@dataclass(frozen=True)
class Row:
    """The cost of a token, in floors beyond a chunk of text, with and without spans."""

    workload: str
    kind: str
    more: float
    without_spans: float


class Ids:
    """Chunks as token ids. Each chunk is a token, and markers are special tokens."""

    def __init__(self, workload: Workload, texts: Sequence[Sequence[str]]) -> None:
        fmt = workload.fmt
        markers = [
            *fmt.derived.openers,
            *fmt.derived.closers,
            fmt.reasoning.start,
            fmt.reasoning.end,
        ]
        special = sorted({marker.strip() for marker in (*markers, *fmt.turn.ends)} - {""})
        known: dict[str, int] = {}
        for text in (*special, *(chunk for part in texts for chunk in part)):
            known.setdefault(text, len(known))
        tokens = {id: text.encode() for text, id in known.items()}
        tokens |= {len(known) + byte: bytes([byte]) for byte in range(256)}
        self.vocabulary = dp.Vocabulary(tokens, special=range(len(special)))
        self.parts: Any = [[known[chunk] for chunk in part] for part in texts]
        self._first_byte = len(known)

    def start(self, text: str) -> list[int]:
        """Return the ids of a text, as bytes and special tokens."""
        ids: list[int] = []
        for part in self.vocabulary.spelled(text).stretches:
            spelled = [self._first_byte + byte for byte in part.text.encode()]
            ids += spelled if part.id is None else [part.id]
        return ids


def by_ids(workload: Workload, ids: Ids, spans: bool) -> Callable[[Any], Any]:
    """Return the `feed` of a token parser in the state before `unit`."""
    parser = dp.TokenParser(workload.fmt, ids.vocabulary, tools=workload.tools, spans=spans)
    parser.feed(ids.start(workload.start))
    return parser.feed


def measure_tokens(how: Settings) -> list[Row]:
    """Measure all workloads except calls, whose chunks may contain parts of markers."""
    trials: dict[tuple[str, str], Trial] = {}
    workloads = [workload for workload in WORKLOADS if workload.kind != "calls"]
    for workload in workloads:
        texts = parts(workload.text(how.medium))
        ids = Ids(workload, texts)
        trials[workload.name, ""] = Trial(Reader(workload.feed), texts)
        for name, spans in {"more": True, "without_spans": False}.items():
            feed = partial(by_ids, workload, ids, spans)
            trials[workload.name, name] = Trial(Reader(feed), ids.parts)
    costs = measure(trials, how.rounds)
    rows = []
    for workload in workloads:
        text = costs[workload.name, ""].floors
        found: Mapping[str, float] = {
            name: costs[workload.name, name].floors - text for name in ("more", "without_spans")
        }
        rows.append(Row(workload.name, workload.kind, **found))
    return rows
