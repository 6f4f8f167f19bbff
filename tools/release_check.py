"""Check a release from a clean clone: run by `make release-check`, and before a tag.

    build the sdist and the wheel into dist/, and check them and their README with twine
    check that the sdist has no links and all required files, the wheel exactly the modules
    check that the changelog has a section for the version
    install the wheel with each available Python into an empty environment, and run an example
    install the sdist with one of them, too
    check that the import takes at most a tenth of a second of processor time

    python tools/release_check.py                 the checks that apply at any time
    python tools/release_check.py --tag v1.2.3    also the checks of a tag: it matches the
                                                  version, the changelog has a date for it, and
                                                  the owner is in the URLs

The clone contains committed files only. An unclean working tree is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email import message_from_string
from pathlib import Path

from check_package import omissions
from owner import UNKNOWN, owner

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.14t", "3.15", "3.15t")
IN_THE_SDIST = (
    *("LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "hatch_build.py"),
    *("src/deltaparse/version.py", "partial/window.py", "tests/test_exports.py"),
    *("docs/start.md", "examples/plain_loop.py", "PKG-INFO"),
)
RELATIVE = re.compile(r"\]\((?!https?:|#)[^)]*\)")
LONGEST_IMPORT = 0.1
MAIN_JOB = """
import time
before = time.process_time()
import deltaparse
took = time.process_time() - before
message = deltaparse.parse('<tool_call>{"name": "f", "arguments": {}}</tool_call>', "hermes")
assert message.tool_calls[0].complete, message
print(deltaparse.__version__, took)
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Return the output of a program. If it fails, print the output and exit."""
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def built(top: Path) -> list[Path]:
    """Build from a clean clone, and return the sdist and the wheel in dist/."""
    if run("git", "status", "--porcelain"):
        sys.exit("the working tree has uncommitted changes")
    run("git", "clone", "-q", ROOT, top / "clone")
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", out, top / "clone")
    return sorted(out.iterdir())


def check_sdist(sdist: Path) -> None:
    """Check that a source distribution has all required files and no links."""
    with tarfile.open(sdist) as archive:
        links = [one.name for one in archive.getmembers() if one.issym() or one.islnk()]
        names = {name.partition("/")[2] for name in archive.getnames()}
    if links:
        sys.exit(f"links in {sdist.name}: {', '.join(links)}")
    missing = [name for name in IN_THE_SDIST if name not in names]
    if missing:
        sys.exit(f"missing from {sdist.name}: {', '.join(missing)}")


def check_wheel(wheel: Path) -> None:
    """Check the files of a wheel, and that the links of its README are absolute."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (place,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_string(archive.read(place).decode("utf-8"))
    faults = omissions(names)
    if faults:
        sys.exit("\n".join(faults))
    nowhere = RELATIVE.findall(str(metadata.get_payload()))
    if nowhere:
        sys.exit(f"relative links in the README, broken on a package index: {nowhere}")


def check_changelog(version: str) -> str:
    """Check that the changelog has a section for a version, unless it is a development version.

    Returns:
        The heading of the section, "" if there is none.
    """
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    head = next((line for line in text.splitlines() if line.startswith(f"## [{version}]")), "")
    if not head and ".dev" not in version:
        sys.exit(f"CHANGELOG.md has no section for {version}")
    return head


def check_tag(tag: str | None, version: str, head: str) -> None:
    """Check the conditions of a tag. Without a tag, print the conditions that are not met yet."""
    faults = []
    if tag not in (None, f"v{version}"):
        faults.append(f"the tag is {tag}, but the version is {version}")
    if not re.search(r"\d{4}-\d\d-\d\d$", head):
        faults.append(f"CHANGELOG.md has no date for {version}: {head!r}")
    if owner() == UNKNOWN:
        faults.append("the owner of the repository is not set: make owner OWNER=name")
    if faults and tag is not None:
        sys.exit("\n".join(faults))
    for fault in faults:
        print(f"before a tag: {fault}")


def install(python: str, archive: Path, top: Path) -> str:
    """Install a wheel or an sdist for one Python, and run the example."""
    where = top / f"{python}{archive.suffix}"
    run(f"python{python}", "-m", "venv", where)
    folder = where / ("Scripts" if sys.platform == "win32" else "bin")
    run(folder / "python", "-m", "pip", "-qq", "install", archive)
    run(folder / "deltaparse", "formats", cwd=top)
    said = [run(folder / "python", "-c", MAIN_JOB, cwd=top).split() for _ in range(3)]
    took = min(float(seconds) for _, seconds in said)  # the minimum, since the machine may be busy
    if took > LONGEST_IMPORT:
        sys.exit(f"Python {python} imports the package in {took:.3f} s")
    return f"{said[0][0]} imported in {1000 * took:.0f} ms"


def works(python: str) -> bool:
    """Return True if this version of Python is available."""
    found = shutil.which(f"python{python}")
    if found is None:
        return False
    return not subprocess.run([found, "-V"], capture_output=True, check=False).returncode


def main() -> None:
    """Run all checks."""
    tag = sys.argv[2] if sys.argv[1:2] == ["--tag"] else None
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        sdist, wheel = sorted(built(top), key=lambda path: path.suffix == ".whl")
        version = wheel.name.split("-")[1]
        print(run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel))
        check_sdist(sdist)
        check_wheel(wheel)
        check_tag(tag, version, check_changelog(version))
        pythons = [*filter(works, PYTHONS)]
        if not pythons:
            raise SystemExit(
                f"no Python found for the installation, expected one of: {', '.join(PYTHONS)}"
            )
        for python in pythons:
            print(f"Python {python}: {install(python, wheel, top)}")
        for python in pythons[-1:]:
            print(f"Python {python}, from the sdist: {install(python, sdist, top)}")


if __name__ == "__main__":
    main()
