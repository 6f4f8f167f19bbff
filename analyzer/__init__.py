"""From a chat template to a wire format."""

from .analyze import analyze
from .grammar import Grammar, NotExpressed, Trigger, gbnf, structural_tag
from .template import ChatTemplate
from .trace import Comparison, Evidence, Rendering, Trace

__all__ = [
    "ChatTemplate",
    "Comparison",
    "Evidence",
    "Grammar",
    "NotExpressed",
    "Rendering",
    "Trace",
    "Trigger",
    "analyze",
    "gbnf",
    "structural_tag",
]
