"""Inspector: an HTML page that shows chunk by chunk how an output is parsed.

    outputs.py, inspection.py   recording of one pass over an output
    why_held.py                 reasons for buffered text
    html_page.py, page_data.py  the page, assembled from the files in web/
    svg.py, terminal_view.py    an SVG picture, and text for a terminal

Import the public names from this package.
"""

from .html_page import POLICY, page
from .inspection import Held, InspectedPart, Inspection, Span, inspect_output
from .live import live_page
from .outputs import inspect_record
from .svg import svg_picture
from .terminal_view import text_picture

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
