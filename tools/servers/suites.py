"""Runs vLLM's own tests of its parsers with our plugins in the place of its parsers: `make suites`.

    python tools/servers/suites.py [FILE ...]

The tests come with vLLM's source distribution; SGLang publishes wheels only. They run twice: with
vLLM's own parsers, for what fails so says nothing of ours (the tokenizers are stand-ins, the engine
is none), and with ours in their place. What fails only then has a reason in `suites_reasons.py`, or
is printed.
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
"""What came of each test, and what it said."""

MOST_DIFFERENT = 442
"""Tests that differ with a reason: the patterns of reasons are wide, and might fit a new one."""


def main(files: list[str]) -> int:
    """Run the tests, print what passed and each class of difference."""
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
        print(
            f"more than {MOST_DIFFERENT} differ: some that did not now do, and a pattern fits them"
        )
    return 1 if unexplained or more or not ours else 0


def outcomes(root: Path, whose: str, files: list[str]) -> Outcomes:
    """Run the tests with parsers of vLLM's, or of ours."""
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
