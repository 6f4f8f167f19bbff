"""From a chat template to a wire format, and the trace of how it was found.

Users import what is here. Nothing of it is lazy, because all of it needs Jinja.
"""

from .analysis import analyze
from .response_template import ResponseTemplateCheck, check_response_template
from .template.chat_template import ChatTemplate
from .trace import Comparison, Evidence, Rendering, Trace

__all__ = [
    "ChatTemplate",
    "Comparison",
    "Evidence",
    "Rendering",
    "ResponseTemplateCheck",
    "Trace",
    "analyze",
    "check_response_template",
]
