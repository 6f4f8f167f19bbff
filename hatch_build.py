"""The build's hook: a checkout without symbolic links is refused, before half a package is built.

In a source distribution the three folders are plain ones, and the hook finds nothing to say.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

__all__ = ["LinksHook", "check_links"]


class LinksHook(BuildHookInterface[Any]):
    """Runs before each build: of a wheel, of an editable install, of the source distribution."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Stop the build of a checkout that cannot be built."""
        del version, build_data
        check_links(Path(self.root))


def check_links(root: Path) -> None:
    """Exit with a sentence unless the package at `root` has its three folders."""
    package = root / "src" / "deltaparse"
    checkout = runpy.run_path(str(package / "checkout.py"))
    if not all((package / folder / "__init__.py").is_file() for folder in checkout["FOLDERS"]):
        raise SystemExit(checkout["NO_LINKS"])
