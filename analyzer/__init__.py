"""Derivation of a wire format from a chat template, with a trace of the evidence.

Users import these names from here. No import is lazy, because every module needs Jinja.
"""

from .analysis import analyze
from .chat_template import ChatTemplate
from .response_template import ResponseTemplateCheck, check_response_template
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
