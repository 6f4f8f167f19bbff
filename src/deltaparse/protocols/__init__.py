"""Three protocols: deltas to events, events to a message, and requests.

ChatCompletions, Responses, AnthropicMessages              encoders: deltas to events or bytes
read_chat_completions, read_responses, read_messages       decoders: events to a `Message`
chat_completion_chunks, achat_completion_chunks            all chunks of a stream, in one call
message_deltas                                             a message as deltas
sse                                                        events as bytes
"""

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .decoders.anthropic_messages import read_messages
    from .decoders.chat_completions import read_chat_completions
    from .decoders.responses import read_responses
    from .encoders.anthropic_messages import AnthropicMessages
    from .encoders.chat_completions import (
        ChatCompletions,
        achat_completion_chunks,
        chat_completion_chunks,
    )
    from .encoders.encoder import Encoder
    from .encoders.responses import Responses
    from .message_parts import message_deltas
    from .requests.anthropic_messages import messages_request, read_messages_request
    from .requests.chat_completions import chat_completions_request, read_chat_completions_request
    from .requests.request import Request
    from .requests.responses import read_responses_request, responses_request
    from .wire_text import sse
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".decoders.anthropic_messages": "read_messages",
            ".decoders.chat_completions": "read_chat_completions",
            ".decoders.responses": "read_responses",
            ".encoders.anthropic_messages": "AnthropicMessages",
            ".encoders.chat_completions": "ChatCompletions achat_completion_chunks "
            "chat_completion_chunks",
            ".encoders.encoder": "Encoder",
            ".encoders.responses": "Responses",
            ".message_parts": "message_deltas",
            ".requests.anthropic_messages": "messages_request read_messages_request",
            ".requests.chat_completions": "chat_completions_request read_chat_completions_request",
            ".requests.request": "Request",
            ".requests.responses": "read_responses_request responses_request",
            ".wire_text": "sse",
        },
    )

__all__ = [
    "AnthropicMessages",
    "ChatCompletions",
    "Encoder",
    "Request",
    "Responses",
    "achat_completion_chunks",
    "chat_completion_chunks",
    "chat_completions_request",
    "message_deltas",
    "messages_request",
    "read_chat_completions",
    "read_chat_completions_request",
    "read_messages",
    "read_messages_request",
    "read_responses",
    "read_responses_request",
    "responses_request",
    "sse",
]
