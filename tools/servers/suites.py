"""Runs vLLM's own tests of its parsers with our plugins in the place of its parsers: `make suites`.

    python tools/servers/suites.py [FILE ...]

The tests come with vLLM's source distribution; SGLang publishes wheels only. In each test file the
server's parser is replaced by ours, of the same name. A test that fails is counted by what it
says; `REASONS` has the reason of each class that was looked into, others are printed. vLLM's
`conftest.py` is left out: tests that want its fixtures, or a tokenizer from a hub, cannot run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

import peers

PARTS = ("tests/tool_parsers", "tests/reasoning")
REASONS = (
    (r"OSError|ConnectionError|HTTPError|LocalEntryNotFound|offline", "needs a model's tokenizer"),
)


def source() -> Path:
    """Return the folder of vLLM's tests, fetched if it is not there."""
    folder = peers.KEPT / "vllm-source" / "tests"
    if not folder.exists():
        version = peers.VERSIONS["vllm"]
        kept = peers.KEPT / "sources"
        kept.mkdir(parents=True, exist_ok=True)
        # The source is wanted, not what a build of it would say of itself: that may fail.
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "vllm"]
        command += ["--no-build-isolation", "--no-clean", "--dest", str(kept), f"vllm=={version}"]
        environment = {"TMPDIR": str(kept), "PATH": "/usr/bin:/bin"}
        subprocess.run(command, check=False, capture_output=True, env=environment)
        for packed in kept.glob("vllm-*.tar.gz"):
            with tarfile.open(packed) as archive:
                archive.extractall(kept, filter="data")
        found = sorted(kept.glob("**/tests/tool_parsers"))
        if not found:
            raise SystemExit("vLLM's source distribution cannot be had here")
        folder.parent.mkdir(exist_ok=True)
        found[0].parent.rename(folder)
    return folder


def main(files: list[str]) -> int:
    """Run the tests, print what passed and each class of difference."""
    root = source()
    chosen = files or [
        str(path) for part in PARTS for path in sorted((root.parent / part).glob("test_*.py"))
    ]
    here = Path(__file__).parent
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "suites_plugin",
        "-p",
        "no:cacheprovider",
        "--noconftest",
    ]
    command += [
        "--tb=line",
        "-rfE",
        "--continue-on-collection-errors",
        "-c",
        "/dev/null",
        "--rootdir",
        str(root.parent),
    ]
    environment = {
        "COLUMNS": "300",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": f"{here}:{here.parents[1] / 'src'}:{root.parent}",
    }
    ran = subprocess.run(
        [*command, *chosen], capture_output=True, text=True, env=environment, check=False
    )
    counts: Counter[str] = Counter()
    unexplained = []
    for line in ran.stdout.splitlines():
        if not line.startswith(("FAILED", "ERROR")):
            continue
        said = line.partition(" - ")[2]
        reason = next((why for words, why in REASONS if re.search(words, said)), "")
        counts[reason or "without a reason"] += 1
        if not reason:
            unexplained.append(line)
    print(ran.stdout.splitlines()[-1] if ran.stdout else ran.stderr[-2000:])
    for reason, count in counts.most_common():
        print(f"{count:5}  {reason}")
    print("\n".join(unexplained[:20]))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
