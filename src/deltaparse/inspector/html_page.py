"""HTML page of the inspector: a single file with style, script and data.

Model output is untrusted. It is embedded as JSON data that cannot end its script element. The
constant script of the page displays it as text. The content security policy allows only the
page's own script and style, by hash, and no requests.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from .inspection import Inspection
from .page_data import page_data, script_text

__all__ = ["POLICY", "page", "script"]


SCRIPTS = ("texts.js", "output.js", "raw.js", "view.js", "page.js")
"""Files of the script. Each file uses the previous ones."""


@cache
def own_file(name: str) -> str:
    """Return the text of a file in web/."""
    return files(__package__).joinpath("web", name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """Return the script of the page."""
    return "".join(['"use strict";\n(() => {\n', *map(own_file, SCRIPTS), "})();\n"])


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _policy() -> str:
    allowed = {
        "default": "'none'",
        "script": _hash(script()),
        "style": _hash(own_file("page.css")),
    }
    sources = [f"{kind}-src {source}" for kind, source in allowed.items()]
    return "; ".join([*sources, "base-uri 'none'", "form-action 'none'"])


POLICY = _policy()
"""Content security policy of the page, for servers that also send it as a header."""


def page(inspections: Iterable[Inspection], *, beside: int | None = None) -> str:
    """Return the page of inspections as HTML.

    Args:
        inspections: the inspections. The first one is selected.
        beside: the index of an inspection to show next to it (default: none).
    """
    shown = list(inspections)
    index: dict[str, Any] = {"outputs": [one.title for one in shown]}
    if beside is not None:
        index["beside"] = beside
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        "<title>deltaparse inspector</title>\n"
        f"<style>{own_file('page.css')}</style>\n</head>\n<body>\n"
    )
    data = [f'<script type="application/json" id="index">{script_text(index)}</script>\n']
    for one in shown:
        text = script_text(page_data(one))
        data.append(f'<script type="application/json" class="record">{text}</script>\n')
    end = f"<script>{script()}</script>\n</body>\n</html>\n"
    return "".join([head, own_file("page.html"), *data, end])
