"""A model's output as token ids: the vocabulary, and the parser that is fed with ids."""

from .token_parser import TokenParser
from .vocabulary import Spelling, Stretch, Vocabulary

__all__ = ["Spelling", "Stretch", "TokenParser", "Vocabulary"]
