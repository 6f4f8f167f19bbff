"""Write the repository's owner into all URLs: `make owner OWNER=name`.

    python tools/owner.py name     write it
    python tools/owner.py          print the current owner

The owner is defined in `pyproject.toml`, and copied to files without variables: badges of the
README, the security policy, and issue forms. Until it is known it is OWNER, and
`make release-check` reports that.
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
"""The files with URLs of the repository."""


def owner(root: Path = ROOT) -> str:
    """Return the owner of the repository."""
    urls = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    return str(URL.findall(urls["Repository"])[0])


def write(name: str, root: Path = ROOT) -> None:
    """Write the owner of the repository into all files.

    Raises:
        ValueError: the name is not a valid account name.
    """
    if not re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", name):
        raise ValueError(f"{name!r} is not a valid account name")
    for place in PLACES:
        path = root / place
        path.write_text(URL.sub(name, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(sys.argv[1])
    print(owner())
