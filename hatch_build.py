"""Build hooks: add the top-level folders to the package, and make the README's links absolute.

`partial`, `stream` and `analyzer` are folders at the top of the repository and packages of
`deltaparse`. A wheel contains them as files. An editable install imports them through links in
`src/deltaparse`, because type checkers follow links and do not run import hooks. Git tracks no
link, so every checkout and archive can be installed.
"""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

__all__ = ["FOLDERS", "FoldersHook", "ReadmeHook", "link_folder", "whole_links"]

FOLDERS = ("partial", "stream", "analyzer")
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([\w./-]+)(#[^)\s]*)?\)")


class FoldersHook(BuildHookInterface[Any]):
    """Adds the top-level folders to a wheel, or links them for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Prepare a build.

        Args:
            version: `"editable"` or `"standard"`.
            build_data: hatchling's build data, to which the folders of a wheel are added.
        """
        root = Path(self.root)
        for folder in FOLDERS:
            if version == "editable":
                link_folder(root / folder, root / "src" / "deltaparse" / folder)
            elif self.target_name == "wheel":
                build_data["force_include"][str(root / folder)] = f"deltaparse/{folder}"


def link_folder(folder: Path, link: Path) -> None:
    """Make `link` a link to `folder`, unless it is one already.

    Windows gets a junction, because a symbolic link needs a privilege there.
    """
    if link.exists():
        return
    if os.path.lexists(link):  # A junction is absolute, so it breaks when the checkout is moved.
        link.unlink()
    if os.name == "nt":
        import _winapi

        _winapi.CreateJunction(str(folder), str(link))  # type: ignore[attr-defined, unused-ignore]
    else:
        link.symlink_to(os.path.relpath(folder, link.parent), target_is_directory=True)


class ReadmeHook(MetadataHookInterface):
    """Runs where the metadata is asked for."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description: the README, with links that lead somewhere from anywhere."""
        root = Path(self.root)
        version = runpy.run_path(str(root / "src" / "deltaparse" / "version.py"))["__version__"]
        text = (root / "README.md").read_text(encoding="utf-8")
        text = whole_links(text, metadata["urls"]["Repository"], f"v{version}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def whole_links(text: str, repository: str, tag: str) -> str:
    """Make links to files of the repository URLs: of pages to read, and of pictures to load."""

    def written(link: re.Match[str]) -> str:
        picture, words, path, anchor = link.groups()
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({repository}/{kind}/{tag}/{path}{anchor or ''})"

    return LINK.sub(written, text)
