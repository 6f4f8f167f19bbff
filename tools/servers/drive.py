"""Run the servers' own serving code with our plugins: `make test-servers`.

    python tools/servers/drive.py [vllm] [sglang] [FORMAT ...]

All built-in formats are run, streamed in five chunkings and complete, with each possible prompt.
Each result must equal the result of our own parser. Differences without an entry in `REASONS` are
printed.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from importlib import import_module

from cases import cases

import peers

CLOSED = "the prompt closed reasoning, and the model reasons: vLLM asks the tool parser alone"
REASONS: dict[tuple[str, str, str, str], str] = {
    ("vllm", name, "own", "thinks"): CLOSED for name in ("command_r7b", "deepseekv31", "qwq")
}
for server in peers.VERSIONS:
    for name in ("gpt_oss", "muse_glimmer"):
        REASONS[server, name, "own", "thinks"] = "no field for reasoning in the tool parser"
"""Accepted differences, by server, format, prompt and output."""


def main(arguments: list[str]) -> int:
    """Run the named servers, or all. Return the number of unexplained differences."""
    warnings.simplefilter("ignore")
    servers = [one for one in peers.VERSIONS if one in arguments] or list(peers.VERSIONS)
    names = [one for one in arguments if one not in peers.VERSIONS]
    peers.install(tuple(servers))
    unexplained = 0
    for server in servers:
        differences = import_module(f"drive_{server}").differences
        counts: Counter[str] = Counter()
        for case in cases():
            if names and case.name not in names:
                continue
            found = differences(case)
            reason = REASONS.get((server, case.name, case.prompt_kind, case.kind))
            counts["the same" if not found else "explained" if reason else "different"] += 1
            if found and not reason:
                unexplained += 1
                print(
                    f"{server} {case.name}, prompt {case.prompt_kind}, {case.kind}: {case.text!r}"
                )
                print("   " + "\n   ".join(found[:3]))
        print(f"{server} {peers.VERSIONS[server]}:", dict(counts))
    return unexplained


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
