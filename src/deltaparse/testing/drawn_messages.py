"""Strategy for assistant messages, with calls that fit their tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from deltaparse.grammar import schema_rules
from deltaparse.stream import Content, Message, Part, Reasoning, ToolCall, Tools
from deltaparse.stream.message.ids import CallPlace, mistral_call_id

from .grammar_samples import texts_of

__all__ = ["messages"]

EMPTY_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}

SAID = (
    st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n<[{|}]>'\""))
    .map(str.strip)
    .filter(lambda text: text != "")
)
"""Text of content and reasoning, without outer whitespace, because templates strip it."""


def messages(
    tools: Sequence[Mapping[str, Any]] | None = None,
    *,
    reasoning: bool = True,
    most_calls: int = 3,
) -> st.SearchStrategy[Message]:
    """Draw assistant messages with optional reasoning, content and calls.

    Args:
        tools: the tools to call, in any shape for `Tools`. Arguments fit their schemas, except
            for keywords that a grammar cannot express.
        reasoning: allow reasoning.
        most_calls: the maximum number of calls.

    Raises:
        UsageError: a tool is invalid, or its schema has no values.
    """
    schemas = {} if tools is None else Tools(tools).schemas
    arguments = {name: _arguments(schema) for name, schema in schemas.items()}
    return _messages(arguments, st.booleans() if reasoning else st.just(False), most_calls)


@st.composite
def _messages(
    draw: st.DrawFn,
    arguments: Mapping[str, st.SearchStrategy[str]],
    reasons: st.SearchStrategy[bool],
    most_calls: int,
) -> Message:
    parts: list[Part] = []
    if draw(reasons):
        parts.append(Reasoning(draw(SAID)))
    none: st.SearchStrategy[str] = st.nothing()
    named = st.sampled_from(sorted(arguments)) if arguments else none
    names = draw(st.lists(named, max_size=most_calls if arguments else 0))
    if not names or draw(st.booleans()):
        parts.append(Content(draw(SAID)))
    for at, name in enumerate(names):
        text = draw(arguments[name])
        id = mistral_call_id(CallPlace(name=name, index=at, offset=at, prompt=text))
        parts.append(ToolCall(id, name, text, complete=True))
    return Message(parts)


def _arguments(schema: Any) -> st.SearchStrategy[str]:
    rules = schema_rules(schema or EMPTY_SCHEMA, name="arguments")
    return texts_of(rules.grammar(), size=30)
