"""What to say where a checkout has no symbolic links.

The folders `partial`, `stream` and `analyzer` stand at the top of the repository, and the package
links to them. Where git or an archive tool writes no links, small text files stand in their place.
"""

from __future__ import annotations

__all__ = ["FOLDERS", "NO_LINKS"]

FOLDERS = ("partial", "stream", "analyzer")
"""The folders of the package that are links in a checkout."""

NO_LINKS = (
    "deltaparse was checked out without symbolic links: in src/deltaparse, partial, stream and "
    "analyzer are not the folders that stand at the top of the repository; run `git config "
    "core.symlinks true` and `git checkout -- src/deltaparse` (on Windows in developer mode), or "
    "replace the three with copies of the folders"
)
