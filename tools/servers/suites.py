"""Run vLLM's own parser tests with our plugins instead of its parsers: `make suites`.

    python tools/servers/suites.py [FILE ...]

The tests are in vLLM's source distribution. SGLang publishes wheels only. The tests run twice.
Tests that fail with vLLM's own parsers are ignored, since tokenizers and engine are stubs. Tests
that fail only with ours need a reason in `suites_reasons.py`, or are printed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from suites_reasons import reason_of

import peers

PARTS = ("tests/tool_parsers", "tests/reasoning")
OPTIONS = "-q -p suites_plugin -p no:cacheprovider --noconftest --tb=no -c /dev/null"
Outcomes = dict[str, list[str]]
"""The outcome and the message of each test."""

MOST_DIFFERENT = 442
"""Number of differing tests with a reason. The patterns are wide, and may match new failures."""


def main(files: list[str]) -> int:
    """Run the tests, and print the numbers of passed tests and of each class of differences."""
    root = peers.source().parent
    chosen = files or [
        str(path) for part in PARTS for path in sorted((root / part).glob("test_*.py"))
    ]
    theirs, ours = (outcomes(root, whose, chosen) for whose in ("theirs", "ours"))
    fails = {test for test, (outcome, *_) in theirs.items() if outcome in ("failed", "error")}
    counts = Counter(outcome for test, (outcome, *_) in ours.items() if test not in fails)
    counts["fails with vLLM's own parsers too"] = len(fails)
    classes: Counter[str] = Counter()
    unexplained = []
    for test, (outcome, said, *_) in ours.items():
        if outcome not in ("failed", "error") or test in fails:
            continue
        reason = reason_of(test, said)
        classes[reason or "without a reason"] += 1
        if not reason:
            unexplained.append(f"{test}\n    {' '.join(said.split())[:300]}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    for reason, count in classes.most_common():
        print(f"{count:5}  {reason}")
    print("\n".join(unexplained))
    more = classes.total() > MOST_DIFFERENT
    if more:
        print(f"more than {MOST_DIFFERENT} tests differ: new differences match an existing pattern")
    return 1 if unexplained or more or not ours else 0


def outcomes(root: Path, whose: str, files: list[str]) -> Outcomes:
    """Run the tests with vLLM's parsers, or with ours."""
    here, kept = Path(__file__).parent, peers.KEPT / f"outcomes-{whose}.json"
    kept.unlink(missing_ok=True)
    paths = [here, here.parents[1] / "src", root]
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "SUITES_OUTCOMES": str(kept),
        "SUITES_PARSERS": whose,
    }
    command = [sys.executable, "-m", "pytest", *OPTIONS.split(), "--rootdir", str(root)]
    command += ["--continue-on-collection-errors", *files]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if not kept.exists():
        raise SystemExit(ran.stdout[-2000:] + ran.stderr[-2000:])
    found: Outcomes = json.loads(kept.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
