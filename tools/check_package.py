"""Check that every way of building the package gives the same wheel.

The wheel is built from the checkout, from the source distribution, from a `git archive` ZIP, and
from a clone made with `core.symlinks=false`, as on Windows. All wheels must hold the same files
with the same bytes. The editable install must be visible to mypy and pyright.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "deltaparse"
FOLDERS = ("partial", "stream", "analyzer")
"""The packages of `deltaparse` that are folders at the top of the repository."""


def run(*command: str | Path, cwd: Path) -> None:
    """Run a program, and exit with its output if it fails."""
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")


def build(kind: str, source: Path, out: Path) -> Path:
    """Build a "wheel" or an "sdist" from `source` and return the archive."""
    run(
        *(sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", out, source),
        cwd=out.parent,
    )
    (archive,) = out.iterdir()
    return archive


def sources(top: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and the folder of each source that users build from."""
    yield "the checkout", ROOT
    shutil.unpack_archive(build("sdist", ROOT, top / "sdist"), top / "unpacked")
    (unpacked,) = (top / "unpacked").iterdir()
    yield "the sdist", unpacked
    if (ROOT / ".git").exists():
        run("git", "archive", "--output", top / "archive.zip", "HEAD", cwd=ROOT)
        shutil.unpack_archive(top / "archive.zip", top / "archive")
        yield "git archive", top / "archive"
        clone = ("git", "-c", "core.symlinks=false", "clone", "--quiet", ROOT.as_uri())
        run(*clone, top / "clone", cwd=top)
        yield "git clone", top / "clone"


def contents(wheel: Path) -> dict[str, str]:
    """Return the hash of each file in a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def differences(first: dict[str, str], other: dict[str, str], source: str) -> list[str]:
    """Describe how the wheel from another source differs from the first, one line per file."""
    faults = []
    for name in sorted(first.keys() | other.keys()):
        if name not in other:
            faults.append(f"missing from the wheel built from {source}: {name}")
        elif name not in first:
            faults.append(f"only in the wheel built from {source}: {name}")
        elif first[name] != other[name]:
            faults.append(f"different in the wheel built from {source}: {name}")
    return faults


def omissions(names: set[str]) -> list[str]:
    """List the files that a wheel with these names lacks, and the files that it should not have."""
    wanted = {"deltaparse/py.typed"}
    for top in (PACKAGE, *(ROOT / folder for folder in FOLDERS)):
        base = PACKAGE if top == PACKAGE else ROOT
        paths = (path for path in top.rglob("*") if path.suffix in {".py", ".json"})
        wanted |= {f"deltaparse/{path.relative_to(base).as_posix()}" for path in paths}
    info = {name.split("/")[0] for name in names if ".dist-info/" in name}
    wanted |= {f"{folder}/licenses/LICENSE" for folder in info}
    strays = {name for name in names if name.split("/")[0] not in {"deltaparse", *info}}
    return [f"missing from the wheel: {name}" for name in sorted(wanted - names)] + [
        f"does not belong in the wheel: {name}" for name in sorted(strays)
    ]


def check_types(top: Path) -> None:
    """Check that mypy and pyright find the linked packages of the editable install."""
    program = top / "program.py"
    program.write_text("from deltaparse.stream import parse\nparse('Hi', 'hermes').content\n")
    run(sys.executable, "-m", "mypy", program, cwd=top)
    # An environment of its own: pyright brings Node.js, which nothing else needs.
    run(sys.executable, "-m", "venv", top / "types", cwd=top)
    python = top / "types" / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "--quiet", "install", "pyright[nodejs]", cwd=top)
    run(python, "-m", "pyright", "--pythonpath", sys.executable, program, cwd=top)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        wheels = {
            source: contents(build("wheel", folder, top / f"wheel-{number}"))
            for number, (source, folder) in enumerate(sources(top))
        }
        check_types(top)
    first = wheels.pop("the checkout")
    faults = omissions(set(first))
    for source, wheel in wheels.items():
        faults += differences(first, wheel, source)
    if faults:
        sys.exit("\n".join(faults))
    print(f"the wheels from the checkout and {', '.join(wheels)} agree on {len(first)} files")


if __name__ == "__main__":
    main()
