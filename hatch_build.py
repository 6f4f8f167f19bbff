"""The build's hooks.

A checkout without symbolic links is refused, before half a package is built; in a source
distribution the three folders are plain ones, and there is nothing to say. And the README, which
the package index shows too, has links there that lead to the repository.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

__all__ = ["LinksHook", "ReadmeHook", "check_links", "whole_links"]

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([\w./-]+)(#[^)\s]*)?\)")


class LinksHook(BuildHookInterface[Any]):
    """Runs before each build: of a wheel, of an editable install, of the source distribution."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Stop the build of a checkout that cannot be built."""
        del version, build_data
        check_links(Path(self.root))


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


def check_links(root: Path) -> None:
    """Exit with a sentence unless the package at `root` has its three folders."""
    package = root / "src" / "deltaparse"
    checkout = runpy.run_path(str(package / "checkout.py"))
    if not all((package / folder / "__init__.py").is_file() for folder in checkout["FOLDERS"]):
        raise SystemExit(checkout["NO_LINKS"])
