"""The inspector: what became of each character of an output, chunk by chunk, as a page.

    outputs.py, inspection.py    one pass over an output, and what is written down of it
    why_held.py                 why text is held back
    html_page.py, page_data.py  the page: one file, of those in web/
    svg.py, terminal.py         the same as a picture, and for a terminal

Users import what is here.
"""

from .html_page import POLICY, page
from .inspection import Held, InspectedPart, Inspection, Span, inspect_output
from .live import live_page
from .outputs import inspect_record
from .svg import svg_picture
from .terminal import text_picture

__all__ = [
    "POLICY",
    "Held",
    "InspectedPart",
    "Inspection",
    "Span",
    "inspect_output",
    "inspect_record",
    "live_page",
    "page",
    "svg_picture",
    "text_picture",
]
