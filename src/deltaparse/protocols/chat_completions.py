"""Deltas as OpenAI `chat.completion.chunk` objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from deltaparse.stream import Delta

__all__ = ["chat_completion_chunks"]


def chat_completion_chunks(
    deltas: Iterable[Delta],
    *,
    id: str,
    model: str,
    created: int,
    finish_reason: str | Callable[[], str | None],
    usage: Mapping[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the chunks of one streamed choice, each as soon as its delta comes.

    The role comes once, in the first chunk; the finish reason once, in a chunk with an empty
    delta; `usage`, if there is any, last, in a chunk without choices. What is absent is left out:
    no empty content, no null fields in a delta.

    Args:
        deltas: those of one answer, from `feed` and `finish` or from `iter_deltas`.
        id: the id of the completion, the same in all of its chunks.
        model: the name of the model.
        created: seconds since 1970.
        finish_reason: "stop", "tool_calls" or "length"; or a function, which is called when the
            deltas have ended, because only then a parser knows: `lambda: parser.finish_reason`.
        usage: OpenAI's object of token counts.
    """
    head = {"id": id, "object": "chat.completion.chunk", "created": created, "model": model}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return head | {"choices": [choice]}

    role = {"role": "assistant"}
    for delta in deltas:
        yield chunk(role | delta.to_openai())
        role = {}
    if role:
        yield chunk(role)
    yield chunk({}, finish_reason if isinstance(finish_reason, str) else finish_reason())
    if usage is not None:
        yield head | {"choices": [], "usage": dict(usage)}
