"""Check what would be released, from a clean clone: run by `make release-check`, and before a tag.

    builds the sdist and the wheel into dist/ and has twine look at them
    the sdist holds no link, and the changelog names the version
    each Python at hand installs the wheel into an empty environment, and runs the main job
    importing the package takes no longer than a tenth of a second

The clone is made of what is committed; a tree with changes is refused.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.14t")
LONGEST_IMPORT = 0.1
MAIN_JOB = """
import time
before = time.perf_counter()
import deltaparse
took = time.perf_counter() - before
message = deltaparse.parse('<tool_call>{"name": "f", "arguments": {}}</tool_call>', "hermes")
assert message.tool_calls[0].complete, message
print(deltaparse.__version__, f"imported in {1000 * took:.0f} ms")
assert took < LONGEST, took
""".replace("LONGEST", str(LONGEST_IMPORT))


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Return what a program prints; where it fails, say so and stop."""
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def built(top: Path) -> list[Path]:
    """Build from a clean clone; return the sdist and the wheel in dist/."""
    if run("git", "status", "--porcelain"):
        sys.exit("there are changes that are not committed")
    run("git", "clone", "-q", ROOT, top / "clone")
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", out, top / "clone")
    return sorted(out.iterdir())


def check_sdist(sdist: Path) -> None:
    """Check that a source distribution is plain files."""
    with tarfile.open(sdist) as archive:
        links = [one.name for one in archive.getmembers() if one.issym() or one.islnk()]
    if links:
        sys.exit(f"links in {sdist.name}: {', '.join(links)}")


def check_changelog(version: str) -> None:
    """Check that the changelog names the version, unless it is a development one."""
    if ".dev" not in version and f"## [{version}]" not in (ROOT / "CHANGELOG.md").read_text(
        "utf-8"
    ):
        sys.exit(f"CHANGELOG.md has no section for {version}")


def install(python: str, wheel: Path, top: Path) -> str:
    """Install a wheel for one Python and run the main job."""
    where = top / python
    run(f"python{python}", "-m", "venv", where)
    folder = where / ("Scripts" if sys.platform == "win32" else "bin")
    run(folder / "python", "-m", "pip", "-qq", "install", wheel)
    run(folder / "deltaparse", "formats", cwd=top)
    return run(folder / "python", "-c", MAIN_JOB, cwd=top)


def works(python: str) -> bool:
    """Whether a Python of this version is there."""
    found = shutil.which(f"python{python}")
    if found is None:
        return False
    return not subprocess.run([found, "-V"], capture_output=True, check=False).returncode


def main() -> None:
    """Run all checks."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        sdist, wheel = sorted(built(top), key=lambda path: path.suffix == ".whl")
        print(run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel))
        check_sdist(sdist)
        check_changelog(wheel.name.split("-")[1])
        for python in filter(works, PYTHONS):
            print(f"Python {python}: {install(python, wheel, top)}")


if __name__ == "__main__":
    main()
