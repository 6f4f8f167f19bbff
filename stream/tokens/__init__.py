"""A model's output as token ids: the vocabulary that says which bytes each id stands for."""

from .vocabulary import Spelling, Stretch, Vocabulary

__all__ = ["Spelling", "Stretch", "Vocabulary"]
