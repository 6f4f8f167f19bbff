"""What clients read: deltas as the events of a protocol. Users import what is here."""

from .chat_completions import chat_completion_chunks

__all__ = ["chat_completion_chunks"]
