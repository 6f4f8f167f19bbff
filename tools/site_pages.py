"""Generated pages of the documentation site, and checks of all pages.

The README is the first page. SECURITY.md and others are at the root of the repository, as usual.
The reference contains the public names with their docstrings. Pages do not load external
resources, so the site works offline.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from posixpath import normpath
from typing import Any

__all__ = ["on_files", "on_page_markdown", "on_post_build", "public_names", "reference"]

ROOT = Path(__file__).parents[1]
COPIED = {
    "index.md": "README.md",
    "examples.md": "examples/README.md",
    "security.md": "SECURITY.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
MADE = {source: name for name, source in COPIED.items()}
ROOMS = (
    "deltaparse",
    "deltaparse.partial",
    "deltaparse.stream",
    "deltaparse.stream.tokens",
    "deltaparse.analyzer",
    "deltaparse.grammar",
    "deltaparse.gate",
    "deltaparse.tool_parsers",
    "deltaparse.protocols",
    "deltaparse.servers",
    "deltaparse.gateway",
    "deltaparse.replay",
    "deltaparse.inspector",
    "deltaparse.testing",
)
"""The packages with public names, most used first."""

LINK = re.compile(r"(!?)\[([^\]]+)\]\((?!https?:)([\w./-]+)(#[^)\s]*)?\)")
FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
SESSION = re.compile(r"\A```python\n>>> ")
BADGES = re.compile(r"^\[!\[.*\n+", re.MULTILINE)
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc=[\"']?(?:https?:)?//[^\"'>\s]*"
    r"|<link\b[^>]*rel=[\"']?(?:stylesheet|preload|preconnect|icon)\b[^>]*href=[\"']?(?:https?:)?//[^\"'>\s]*"
    r"|url\([\"']?(?:https?:)?//[^)]*\)"
    r"|@import\s+[\"'](?:https?:)?//[^\"']*"
)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for name, source in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=BADGES.sub("", text)))
    files.append(File.generated(config, "reference.md", content=reference()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Change links to pages of the site, or else to files in the repository.

    Raises:
        FileNotFoundError: a linked file does not exist.
    """
    source = COPIED.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def written(link: re.Match[str]) -> str:
        picture, words, path, anchor = link.groups()
        whole = normpath(f"{source.rpartition('/')[0]}/{path}".lstrip("/"))
        name = MADE.get(whole, whole.removeprefix("docs/"))
        if files.get_file_from_path(name):
            return f"{picture}[{words}]({name}{anchor or ''})"
        if not (ROOT / whole).exists():
            raise FileNotFoundError(f"{source} has a link to a missing file: {path}")
        return f"[{words}]({config.extra['repository']}/blob/main/{whole}{anchor or ''})"

    pieces = FENCED.split(markdown)
    pieces[::2] = [LINK.sub(written, text) for text in pieces[::2]]
    # As a session, so that copying omits its prompts and output.
    pieces[1::2] = [SESSION.sub("```pycon\n>>> ", text) for text in pieces[1::2]]
    return "".join(pieces)


def on_post_build(config: Any) -> None:
    """Add `llms.txt` with links to pages, and check for external resources.

    Raises:
        ValueError: a page or a stylesheet loads an external resource.
    """
    listed = (ROOT / "llms.txt").read_text(encoding="utf-8")
    (Path(config.site_dir) / "llms.txt").write_text(absolute(listed, config), encoding="utf-8")
    for path in Path(config.site_dir).rglob("*"):
        if path.suffix in {".html", ".css"}:
            found = LOADED.search(path.read_text(encoding="utf-8"))
            if found:
                raise ValueError(f"{path.name} loads an external resource: {found[0]}")


def absolute(text: str, config: Any) -> str:
    """Return a text of the repository's root with absolute links to the site or the repository."""

    def written(link: re.Match[str]) -> str:
        _, words, path, anchor = link.groups()
        page = MADE.get(path, path.removeprefix("docs/")).removesuffix(".md")
        there = path.startswith("docs/") or path in MADE
        file = f"{config.extra['repository']}/blob/main/{path}"
        return f"[{words}]({f'{config.site_url}{page}.html' if there else file}{anchor or ''})"

    return LINK.sub(written, text)


def public_names() -> Iterator[tuple[str, list[str]]]:
    """Yield each package with its public names. Shared names are in the first package only."""
    seen: set[tuple[str, int]] = set()
    for room in ROOMS:
        module = import_module(room)
        names = []
        for name in module.__all__:
            value = getattr(module, name)
            if not inspect.ismodule(value) and (name, id(value)) not in seen:
                seen.add((name, id(value)))
                names.append(name)
        yield room, names


def reference() -> str:
    """Return the page of all public names."""
    lines = [
        "# Reference",
        "",
        "What each package exports, with what goes in and what comes out. A name that several",
        "packages have stands under the first. The words are those of the [glossary](glossary.md).",
        "",
    ]
    for room, names in public_names():
        lines += [f"## {room}", "", (import_module(room).__doc__ or "").partition("\n")[0], ""]
        lines += [f"::: {room}.{name}\n" for name in names]
    return "\n".join(lines)
