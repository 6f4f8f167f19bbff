"""Statistics of results: verdicts, and classes by model, format, tool and truncation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .replayer import verdict

__all__ = ["NOTHING", "Tally"]

NOTHING = "not compared"
"""The class of a result without an expected message."""

MOST = 1000
"""Maximum number of keys of one kind. A limit is necessary because models invent tool names."""

OTHERS = "(others)"
EXAMPLES = 5


class Tally:
    """Counters of results. Tallies of several processes can be merged.

    Attributes:
        records: the number of results.
        errors: the number of unreadable records.
        examples: the messages of the first errors.
        by: the classes by "model", "format", "tool" (each called tool once per result),
            "truncation" ("whole" or "cut off"), and in total under "".
        unrendered: the number of records with messages that were not rendered to a prompt.
    """

    KINDS = ("", "model", "format", "tool", "truncation")

    def __init__(self) -> None:
        self.records = 0
        self.errors = 0
        self.unrendered = 0
        self.examples: list[str] = []
        self.by: dict[str, dict[str, Counter[str]]] = {kind: {} for kind in self.KINDS}
        self.verdicts: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.issues: Counter[str] = Counter()

    def add(self, result: Mapping[str, Any], number: int, file: str | None = None) -> None:
        """Count a result.

        Args:
            result: the result.
            number: the number of its record.
            file: the file of the record, if there are several files.
        """
        self.records += 1
        if "message" not in result:
            if "class" in result:
                self._count("", "", result["class"])
                return
            self.errors += 1
            if len(self.examples) < EXAMPLES:
                where = f"record {number}" if file is None else f"{file}, record {number}"
                self.examples.append(f"{where}: {result['error']}")
            return
        kind = result.get("class", NOTHING)
        self._count("", "", kind)
        if "model" in result:
            self._count("model", str(result["model"]), kind)
        if "format" in result:
            self._count("format", result["format"], kind)
        calls = result["message"].get("tool_calls")
        if calls:
            for name in {call["function"]["name"] for call in calls}:
                self._count("tool", name, kind)
        cut = result["finish_reason"] == "length"
        self._count("truncation", "cut off" if cut else "whole", kind)
        self.unrendered += "unrendered" in result
        self.verdicts[verdict(result)] += 1
        for attempt in result["attempts"]:
            self.statuses[attempt["status"]] += 1
        for issue in result["issues"]:
            self.issues[issue["kind"]] += 1

    def _count(self, kind: str, key: str, value: str, times: int = 1) -> None:
        rows = self.by[kind]
        if key not in rows:
            if len(rows) >= MOST:
                key = OTHERS
            rows.setdefault(key, Counter())
        rows[key][value] += times

    def merge(self, other: Tally) -> None:
        """Add the counts of a tally of later records."""
        self.records += other.records
        self.errors += other.errors
        self.unrendered += other.unrendered
        self.examples = [*self.examples, *other.examples][:EXAMPLES]
        for kind, rows in other.by.items():
            for key, counts in rows.items():
                for value, times in counts.items():
                    self._count(kind, key, value, times)
        self.verdicts += other.verdicts
        self.statuses += other.statuses
        self.issues += other.issues

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON-serializable data."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tally:
        """Return the tally from the data of `to_json`."""
        tally = cls()
        tally.records, tally.errors = data["records"], data["errors"]
        tally.unrendered = data["unrendered"]
        tally.examples = list(data["examples"])
        for kind, rows in data["by"].items():
            tally.by[kind] = {key: Counter(counts) for key, counts in rows.items()}
        for name in ("verdicts", "statuses", "issues"):
            setattr(tally, name, Counter(data[name]))
        return tally

    @classmethod
    def of(cls, results: Iterable[Mapping[str, Any]]) -> Tally:
        """Return the tally of results, numbered from 1."""
        tally = cls()
        for number, result in enumerate(results, 1):
            tally.add(result, number)
        return tally
