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
    from .decoders.chat_completions_decoder import read_chat_completions
    from .decoders.messages_decoder import read_messages
    from .decoders.responses_decoder import read_responses
    from .encoders.chat_completions_encoder import (
        ChatCompletions,
        achat_completion_chunks,
        chat_completion_chunks,
    )
    from .encoders.encoder import Encoder
    from .encoders.messages_encoder import AnthropicMessages
    from .encoders.responses_encoder import Responses
    from .message_parts import message_deltas
    from .requests.chat_completions_request import (
        chat_completions_request,
        read_chat_completions_request,
    )
    from .requests.chat_request import Request
    from .requests.messages_request import messages_request, read_messages_request
    from .requests.responses_request import read_responses_request, responses_request
    from .sse_writer import sse
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".decoders.messages_decoder": "read_messages",
            ".decoders.chat_completions_decoder": "read_chat_completions",
            ".decoders.responses_decoder": "read_responses",
            ".encoders.messages_encoder": "AnthropicMessages",
            ".encoders.chat_completions_encoder": "ChatCompletions achat_completion_chunks "
            "chat_completion_chunks",
            ".encoders.encoder": "Encoder",
            ".encoders.responses_encoder": "Responses",
            ".message_parts": "message_deltas",
            ".requests.messages_request": "messages_request read_messages_request",
            ".requests.chat_completions_request": (
                "chat_completions_request read_chat_completions_request"
            ),
            ".requests.chat_request": "Request",
            ".requests.responses_request": "read_responses_request responses_request",
            ".sse_writer": "sse",
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
