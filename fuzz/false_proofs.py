"""Search for templates that are verified wrongly: mutants of real ones, checked independently.

    python fuzz/false_proofs.py --seconds 60            start at a random mutant
    python fuzz/false_proofs.py --from 1000 --to 2000   these mutants only

Each number defines a mutant. If its analysis is verified, new conversations are rendered, parsed,
and compared (`tests/strategies/judge_of_proofs.py`).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests import corpus  # found by the line before
from tests.hangs import no_hang
from tests.strategies.judge_of_proofs import Tried, false_proofs
from tests.strategies.mutants import mutant
from tests.strategies.templates import SOURCES

from deltaparse import ChatTemplate, analyze

CONVERSATIONS = 24
"""Number of conversations per mutant, in addition to the plainest one."""


def sources(own: bool) -> dict[str, str]:
    """Return the templates to mutate."""
    paths = (*corpus.templates(), *corpus.newer_templates())
    real = {path.name: path.read_text(encoding="utf-8") for path in paths}
    return SOURCES | real if own or not real else real


def main() -> int:
    """Run, and return 1 if a proof is false."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    options.add_argument("--seconds", type=float, default=0)
    options.add_argument("--from", type=int, dest="first", default=random.randrange(10**9))
    options.add_argument("--to", type=int, dest="last", default=10**10)
    options.add_argument(
        "--own", action="store_true", help="also mutate the templates of this project"
    )
    given = options.parse_args()
    templates, start = sources(given.own), time.monotonic()
    found = verified = mutants = 0
    for seed in range(given.first, given.last):
        if given.seconds and time.monotonic() - start > given.seconds:
            break
        source, done = mutant(templates, seed)
        mutants += 1
        with no_hang():
            template = ChatTemplate(source)
            fmt = analyze(template)
            if not fmt.verified:
                continue
            verified += 1
            wrong = false_proofs(template, fmt, random.Random(seed), CONVERSATIONS)
        if wrong:
            found += 1
            print(f"{seed} {' '.join(done)}: {len(wrong)} conversations", flush=True)
            one = wrong[0]
            print(f"  {one.setting} {one.case}\n  {one.prompt[-100:]!r}\n  {one.output!r}")
            print(f"  got  {one.got}\n  want {one.wanted}", flush=True)
    print(f"{mutants} mutants, {verified} verified, {Tried.conversations} conversations")
    print(f"{found} false proofs")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
