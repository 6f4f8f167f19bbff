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

__all__ = ["POLICY", "page"]


@cache
def _own(name: str) -> str:
    """A file of the page."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _policy() -> str:
    allowed = {
        "default": "'none'",
        "script": _hash(_own("page.js")),
        "style": _hash(_own("page.css")),
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
        f"<style>{_own('page.css')}</style>\n</head>\n<body>\n"
    )
    data = [f'<script type="application/json" id="index">{script_text(index)}</script>\n']
    for one in shown:
        text = script_text(page_data(one))
        data.append(f'<script type="application/json" class="record">{text}</script>\n')
    script = f"<script>{_own('page.js')}</script>\n"
    return "".join([head, _own("page.html"), *data, script, "</body>\n</html>\n"])
