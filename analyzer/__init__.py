"""From a chat template to a wire format."""

from .analyze import analyze
from .template import ChatTemplate

__all__ = ["ChatTemplate", "analyze"]
