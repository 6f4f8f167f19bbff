"""Ways of writing the parts of a message for clients."""

from .chat_completions import chat_completion_chunks

__all__ = ["chat_completion_chunks"]
