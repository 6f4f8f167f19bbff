"""From a chat template to a wire format."""

from .analyze import analyze
from .template.chat_template import ChatTemplate
from .trace import Comparison, Evidence, Rendering, Trace

__all__ = [
    "ChatTemplate",
    "Comparison",
    "Evidence",
    "Rendering",
    "Trace",
    "analyze",
]
