"""Prompts rendered with the tokenizer's template, for servers that do not pass the prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from deltaparse.analyzer import ChatTemplate
from deltaparse.partial import DeltaParseError

__all__ = ["rendered_prompt"]

OWN = ("messages", "tools")
"""Variables of the conversation itself, which are not switches."""


def rendered_prompt(tokenizer: Any, switches: Mapping[str, Any]) -> str:
    """Return the prompt of a short conversation with the switches of a request.

    The result is "" if rendering fails.
    """
    try:
        switches_text = json.dumps(dict(switches), sort_keys=True)
        template = ChatTemplate.load(tokenizer)
    except (DeltaParseError, TypeError, ValueError):
        return ""
    return _rendered(template, switches_text)


@lru_cache(maxsize=64)
def _rendered(template: ChatTemplate, switches: str) -> str:
    messages = [{"role": "user", "content": "Hi"}]
    context = {name: value for name, value in json.loads(switches).items() if name not in OWN}
    try:
        return template.render(messages, **{"add_generation_prompt": True, **context})
    except (DeltaParseError, TypeError):
        return ""
