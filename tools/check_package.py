"""Check what would be published: the sdist, the wheel, and the wheel built from the sdist.

The two wheels must hold the same files with the same bytes: the first is built through the links in
`src/deltaparse`, the second from a source distribution that has plain files in their place.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "deltaparse"
LINKED = ("partial", "stream", "analyzer")


def build(kind: str, source: Path, out: Path) -> Path:
    """Build a "wheel" or an "sdist" from `source` and return the archive."""
    command = [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", str(out)]
    done = subprocess.run(
        [*command, str(source)], cwd=out.parent, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"building the {kind} from {source} failed:\n{done.stdout}{done.stderr}")
    (archive,) = out.iterdir()
    return archive


def contents(wheel: Path) -> dict[str, str]:
    """Return the hash of each file in a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def differences(direct: dict[str, str], from_sdist: dict[str, str]) -> list[str]:
    """Say how two wheels differ, one line per file."""
    faults = []
    for name in sorted(direct.keys() | from_sdist.keys()):
        if name not in from_sdist:
            faults.append(f"only in the wheel built directly: {name}")
        elif name not in direct:
            faults.append(f"only in the wheel built from the sdist: {name}")
        elif direct[name] != from_sdist[name]:
            faults.append(f"not the same in both wheels: {name}")
    return faults


def omissions(names: set[str]) -> list[str]:
    """Say what a wheel with these files lacks, and what it should not have."""
    wanted = {"deltaparse/py.typed"}
    for folder in (PACKAGE, *(PACKAGE / linked for linked in LINKED)):
        sources = [path for path in folder.rglob("*") if path.suffix in {".py", ".json"}]
        wanted |= {f"deltaparse/{path.relative_to(PACKAGE).as_posix()}" for path in sources}
    info = {name.split("/")[0] for name in names if ".dist-info/" in name}
    wanted |= {f"{folder}/licenses/LICENSE" for folder in info}
    strays = {name for name in names if name.split("/")[0] not in {"deltaparse", *info}}
    return [f"missing from the wheel: {name}" for name in sorted(wanted - names)] + [
        f"does not belong in the wheel: {name}" for name in sorted(strays)
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        sdist = build("sdist", ROOT, top / "sdist")
        shutil.unpack_archive(sdist, top / "unpacked")
        (source,) = (top / "unpacked").iterdir()
        direct = contents(build("wheel", ROOT, top / "direct"))
        from_sdist = contents(build("wheel", source, top / "from-sdist"))
    faults = differences(direct, from_sdist) + omissions(set(direct))
    if faults:
        sys.exit("\n".join(faults))
    print(f"{sdist.name} and both wheels agree on {len(direct)} files")


if __name__ == "__main__":
    main()
