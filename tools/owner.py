"""Write whose repository it is into every URL that has it: `make owner OWNER=name`.

    python tools/owner.py name     writes it
    python tools/owner.py          prints who it is

It stands in `pyproject.toml`, and is copied to where no variable can be: to the badges of the
README, to where a fault of security is reported, to the forms for issues. Until it is known it is
OWNER, and `make release-check` says so.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

__all__ = ["PLACES", "UNKNOWN", "owner", "write"]

ROOT = Path(__file__).resolve().parents[1]
UNKNOWN = "OWNER"
URL = re.compile(r"(?<=github\.com/)[\w.-]+(?=/deltaparse\b)|[\w-]+(?=\.github\.io/deltaparse\b)")
PLACES = (
    ".github/ISSUE_TEMPLATE/config.yml",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "README.md",
    "SECURITY.md",
    "mkdocs.yml",
    "pyproject.toml",
)
"""The files that have it."""


def owner(root: Path = ROOT) -> str:
    """Return whose repository it is."""
    urls = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    return str(URL.findall(urls["Repository"])[0])


def write(name: str, root: Path = ROOT) -> None:
    """Write whose repository it is into all files.

    Raises:
        ValueError: nobody can have this name.
    """
    if not re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", name):
        raise ValueError(f"{name!r} is not the name of an account")
    for place in PLACES:
        path = root / place
        path.write_text(URL.sub(name, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(sys.argv[1])
    print(owner())
