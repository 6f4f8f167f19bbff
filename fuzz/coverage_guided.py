"""Try targets on inputs that lead to code that no input led to before, with atheris.

    python fuzz/coverage_guided.py --seconds 60     what `fuzz.py` runs for half of its time

An input is bytes, from which hypothesis draws what a property asks for. The bytes that led
somewhere new stay in .fuzz/corpus/, and the next run begins with them. Each target has a process
of its own; those whose turn is longest ago come first. Hypothesis keeps what fails, as it keeps its
own failures; what kills the process is kept in .fuzz/ as bytes, which `--redo` tries once more.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from fuzz_targets import KEPT, ROOT, Target, find

CORPUS = KEPT / "corpus"
LOG = KEPT / "coverage_guided.log"
TURN = 3
"""Seconds that a target has at least: the inputs of earlier runs come first."""
LEAST = 10
"""Seconds that a run takes at least: instrumenting the package takes some of them."""
SEEDS, SEED_SIZE = 8, 1024
NEVER = 1_000_000
"""Seconds beyond any input's."""
FAILED = 3
"""The exit status of a process in which the target failed."""


class Run(NamedTuple):
    """The figures of one target: inputs, seconds, and how its process ended if not by itself."""

    name: str
    tried: int
    seconds: float
    ended: str


def is_possible() -> bool:
    """Return whether atheris is installed."""
    return find_spec("atheris") is not None


def raw(name: str = "*") -> list[Path]:
    """Return the files with bytes that killed the process of a target, or of any."""
    return sorted(KEPT.glob(f"{name}.raw-*"))


def guided(seconds: float, match: str, *, redo: bool = False) -> list[Run]:
    """Run this module in a process of its own, where the package is instrumented."""
    KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, LOG.open("w") as log:
        report = Path(folder) / "report.json"
        command = [sys.executable, __file__, "--seconds", str(seconds), "--match", match]
        command += ["--json", str(report), *["--redo"] * redo]
        done = subprocess.run(command, stdout=log, stderr=log, check=False)
        if done.returncode:
            raise SystemExit(f"fuzz/coverage_guided.py failed; see {LOG.relative_to(ROOT)}")
        return [Run(*row) for row in json.loads(report.read_text(encoding="utf-8"))]


def explore(found: list[Target], end: float) -> list[Run]:
    """Run the targets in turns until the time is over, first those whose turn is longest ago."""
    random.shuffle(found)
    found.sort(key=_last_turn)
    runs = []
    for at, target in enumerate(found):
        left = end - time.monotonic()
        if left < TURN / 2:
            break
        runs.append(_turn(target, max(TURN, int(left / (len(found) - at)))))
    return runs


def _last_turn(target: Target) -> float:
    folder = CORPUS / target.name
    return folder.stat().st_mtime if folder.is_dir() else 0


def _turn(target: Target, seconds: int) -> Run:
    """Run a target, beginning with the inputs that led to new code before."""
    corpus = CORPUS / target.name
    if not corpus.is_dir():
        corpus.mkdir(parents=True)
        for at in range(SEEDS):
            (corpus / f"seed{at}").write_bytes(random.randbytes(SEED_SIZE))
    os.utime(corpus)
    limit = f"-max_total_time={max(1, seconds - 1)}"  # libFuzzer stops when the second is over
    return _run(target, [limit, "-max_len=4096", "-len_control=0"], corpus)


def redo(found: list[Target]) -> list[Run]:
    """Replay the bytes that killed the process; delete those that do not any more."""
    runs = []
    for target in found:
        for path in raw(target.name):
            run = _run(target, [], path)
            if not run.ended:
                path.unlink()
            runs.append(run)
    return runs


def _run(target: Target, options: list[str], inputs: Path) -> Run:
    """Run libFuzzer in a forked process, which need not instrument the package once more."""
    tried = mmap.mmap(-1, 8)  # shared with the child
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        _fuzz(target, [*options, str(inputs)], tried)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended = {0: "", FAILED: "failed under coverage guidance; --redo says how"}
    how = ended.get(code, f"its process was killed under coverage guidance, exit status {code}")
    return Run(target.name, int.from_bytes(tried[:8], "big"), time.monotonic() - start, how)


def _fuzz(target: Target, options: list[str], tried: mmap.mmap) -> NoReturn:
    """Let libFuzzer run the target, in the child, which ends with it."""
    import atheris

    one_input = target.one_input()

    def counted(data: bytes) -> None:
        code = None
        try:
            one_input(data)
        except pytest.skip.Exception:
            code = 0  # a package that it needs is not installed
        except BaseException:  # noqa: BLE001 - hypothesis has kept it
            code = FAILED
        tried[:8] = target.tried.to_bytes(8, "big")
        if code is not None:
            os._exit(code)

    # Our own alarm reports what hangs; libFuzzer's would end the process, and keep no example.
    # It counts the seconds of the clock, and takes 0 for none at all.
    limits = [f"-timeout={NEVER}", f"-report_slow_units={NEVER}", "-rss_limit_mb=2048"]
    limits.append(f"-artifact_prefix={KEPT / target.name}.raw-")
    atheris.Setup([sys.argv[0], "-verbosity=0", *limits, *options], counted)
    atheris.Fuzz()
    os._exit(0)


def arguments(about: str | None) -> argparse.ArgumentParser:
    """Return the arguments that both programs take; `about` is the docstring of one."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0] if about else None)
    parser.add_argument("--seconds", type=float, default=60, help="how long to run")
    parser.add_argument("--redo", action="store_true", help="replay the inputs that were kept")
    parser.add_argument("--match", default="", help="only targets with this in their names")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    return parser


def main() -> int:
    """Run; write the figures of each target."""
    options = arguments(__doc__).parse_args()
    end = time.monotonic() + options.seconds
    import atheris

    with atheris.instrument_imports(include=["deltaparse"]):
        found = find(options.match)
    runs = redo(found) if options.redo else explore(found, end)
    if options.json:
        options.json.write_text(json.dumps(runs), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
