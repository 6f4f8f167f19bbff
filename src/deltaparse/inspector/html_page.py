"""The page: one file of HTML with its style, its script and what it shows, and nothing else.

What a model wrote is hostile. It stands in the page as data only, in which nothing can end the
script that holds it; the page's own script, a constant, shows it as text; and the content security
policy lets nothing run, load or be sent but that script and that style, which it knows by hash.
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
"""The files of the script, of which each uses those before it."""


@cache
def own_file(name: str) -> str:
    """Return a file of the page."""
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
"""The content security policy of the page, for servers that send it as a header, too."""


def page(inspections: Iterable[Inspection], *, beside: int | None = None) -> str:
    """Return the page of inspections; it opens with the first, and with `beside` at its side."""
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
