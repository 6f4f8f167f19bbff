"""Error message for a checkout without symbolic links.

The folders `partial`, `stream` and `analyzer` are at the top of the repository, and the package
links to them. If git or an archive tool does not create links, it writes small text files instead.
"""

from __future__ import annotations

__all__ = ["FOLDERS", "NO_LINKS"]

FOLDERS = ("partial", "stream", "analyzer")
"""Folders of the package that are links in a checkout."""

NO_LINKS = (
    "deltaparse was checked out without symbolic links: partial, stream and analyzer in "
    "src/deltaparse must link to the folders at the top of the repository; run `git config "
    "core.symlinks true` and `git checkout -- src/deltaparse` (on Windows in developer mode), or "
    "replace the three with copies of the folders"
)
