"""Responses as token ids: vocabularies, the parser of token ids, and accounting by token role."""

from .accounting import DeltaTokens, loss_mask, openai_logprobs, part_values, token_counts
from .token_parser import TokenParser
from .token_provenance import RoleSpan, TokenRole
from .tokenizer_check import TokenizerFinding, check_tokenizer
from .traced_parser import TracedParser
from .vocabulary import Spelling, Stretch, Vocabulary

__all__ = [
    "DeltaTokens",
    "RoleSpan",
    "Spelling",
    "Stretch",
    "TokenParser",
    "TokenRole",
    "TokenizerFinding",
    "TracedParser",
    "Vocabulary",
    "check_tokenizer",
    "loss_mask",
    "openai_logprobs",
    "part_values",
    "token_counts",
]
