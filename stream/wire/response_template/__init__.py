"""Conversion between wire formats and the `response_template` of a transformers checkpoint.

Version 1 of this standard has a start anchor and fields. A field begins and ends at a text or a
pattern, and has a parser for the text between them. Markers and layouts become a `WireFormat`.
Anything else raises a `FormatError` with its name.

Some differences are intended. Arguments are streamed, but transformers buffers them until the
close. Whitespace around values belongs to the markers, but transformers trims it. Text outside of
all fields is content, but transformers drops it. A string by its schema stays a string, but
`allow_non_json` converts text that looks like JSON. The pattern inside a capture is ignored. A tag
without a close ends with its own closing tag.

In the other direction, transformers parses the same message with a written template as our parser
does. `response_template_limits` lists the exceptions.
"""

from .read_template import from_response_template
from .write_template import response_template_limits, to_response_template

__all__ = ["from_response_template", "response_template_limits", "to_response_template"]
