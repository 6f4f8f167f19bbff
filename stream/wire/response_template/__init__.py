"""The `response_template` of a transformers checkpoint, as a wire format and back.

Version 1 of that standard: a start anchor, and fields that begin at one text or pattern and end at
another, each with a parser for what is between. What of it markers and layouts can say becomes a
`WireFormat`, which streams the arguments where transformers gives raw text up to the close; the
rest is a `FormatError` that names it. White space round values is trimmed there and belongs to the
markers here; text that no field takes is dropped there and content here.
"""

from .reading import from_response_template
from .writing import to_response_template

__all__ = ["from_response_template", "to_response_template"]
