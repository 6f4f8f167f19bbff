"""Pages of the documentation site that are made when it is built.

The README is its first page; SECURITY.md and CHANGELOG.md stand at the root of the repository,
where people look for them; the reference is the public names with their docstrings.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

__all__ = ["on_files", "on_page_markdown"]

ROOT = Path(__file__).parents[1]
COPIED = {"index.md": "README.md", "security.md": "SECURITY.md", "changelog.md": "CHANGELOG.md"}
ROOMS = (
    "",
    "partial",
    "analyzer",
    "grammar",
    "inspector",
    "protocols",
    "replay",
    "servers",
    "testing",
)
ELSEWHERE = re.compile(r"\[([^\]]+)\]\((?:\.\./)?(?!https?:)([\w./-]+)\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made."""
    from mkdocs.structure.files import File  # type: ignore[import-not-found]

    for name, source in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text.replace("](docs/", "](")))
    files.append(File.generated(config, "reference.md", content=reference()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Let links to files that are on no page be their names, and those to pages lead there."""
    made = {source: name for name, source in COPIED.items()}

    def written(link: re.Match[str]) -> str:
        words, path = link.groups()
        path = made.get(path, path)
        known = files.get_file_from_path(path.partition("#")[0])
        return f"[{words}]({path})" if known else words

    return ELSEWHERE.sub(written, markdown)


def reference() -> str:
    """Return the page of all public names."""
    lines = ["# Reference", ""]
    for room in ROOMS:
        module = f"deltaparse.{room}".strip(".")
        lines += [f"## {module}", ""]
        names = __import__(module, fromlist=["__all__"]).__all__
        lines += [f"::: {module}.{name}\n" for name in names if name not in ROOMS]
    return "\n".join(lines)
