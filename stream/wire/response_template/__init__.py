"""The `response_template` of a transformers checkpoint, as a wire format and back.

Version 1 of that standard: a start anchor, and fields that begin at one text or pattern and end at
another, each with a parser for the text between. What markers and layouts can express of it becomes
a `WireFormat`; the rest is a `FormatError` that names it. Four things differ on purpose: arguments
stream, where transformers holds their text until the close; white space round values belongs to the
markers, where it is trimmed there; text that no field takes is content, where it is dropped; and a
value that is a string by its schema stays one, where `allow_non_json` takes what looks like JSON.
What a capture matches is not looked at, and a tag that no close ends is ended by its own.

The other way, what transformers' parser reads through a template that was written is the message
that our parser makes, but for what `response_template_limits` names.
"""

from .read_template import from_response_template
from .write_template import response_template_limits, to_response_template

__all__ = ["from_response_template", "response_template_limits", "to_response_template"]
