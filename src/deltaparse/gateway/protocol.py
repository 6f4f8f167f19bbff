"""Protocols of clients: reading of requests, and writing of responses and errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from deltaparse.protocols import (
    AnthropicMessages,
    ChatCompletions,
    Encoder,
    Request,
    Responses,
    read_chat_completions_request,
    read_messages_request,
    read_responses_request,
)
from deltaparse.protocols.requests.chat_request import STATE, kept_elsewhere, state_member
from deltaparse.protocols.requests.responses_request import RESPONSES_STATE

from .faults import Fault, refusing
from .logprobs import TokenTexts
from .model import Thinking
from .request_shapes import CHAT, MESSAGES, RESPONSES, check_shape
from .sampling_parameters import Sampling, flag, mapping, member, read_sampling, whole_number

__all__ = ["PROTOCOLS", "Protocol"]

# OpenAI's own limit.
MOST_LOGPROBS = 20

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

OPENAI_TYPES = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    503: ("server_error", "overloaded"),
    504: ("server_error", "timeout"),
}
ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


class Protocol(ABC):
    """One protocol of clients."""

    name: ClassVar[str]
    path: ClassVar[str]
    id_prefix: ClassVar[str]
    limits: ClassVar[tuple[str, ...]]
    stop: ClassVar[str | None] = None
    state: ClassVar[tuple[str, ...]] = STATE
    refused: ClassVar[tuple[str, ...]] = ()
    switches: ClassVar[tuple[str, ...]] = ()
    """Members that are rejected even if empty, because their presence requests a feature."""
    messages: ClassVar[str] = "messages"
    shape: ClassVar[Any]
    """The shape of a request. Sampling parameters are checked separately."""
    has_choices: ClassVar[bool] = False
    schema_member: ClassVar[str]
    """The member that requests JSON of a schema."""
    repeated: ClassVar[tuple[str, ...]] = ()
    """Members of a request that are repeated in its response."""

    def request(self, body: Mapping[str, Any]) -> Request:
        """Parse a request.

        Raises:
            Fault: the request is invalid, or requests an unsupported feature.
        """
        self._refuse_state(body)
        for name in (*self.refused, *self.switches):
            given = body.get(name)
            if given or (given is not None and name in self.switches):
                raise Fault(f"{name} is not supported", param=name, code="unsupported_parameter")
        if not body.get(self.messages):
            raise Fault(f"{self.messages} is missing or empty", param=self.messages)
        check_shape(body, self.shape)
        self._check_tools(body.get("tools"))
        with refusing():
            request = self._read(body)
        for message in request.messages:
            if isinstance(message.get("content"), list):
                raise Fault("images and documents are not supported, only text")
        if request.choice.mode == "required" and not request.tools:
            raise Fault(
                "tool_choice requires a call, but the request has no tools", param="tool_choice"
            )
        allowed = {tool["function"]["name"] for tool in request.tools or ()}
        named = request.choice.function
        if named is not None and named not in allowed:
            raise Fault("tool_choice names an unknown function", param="tool_choice")
        return request

    def sampling(self, body: Mapping[str, Any], choices: int) -> Sampling:
        """Read the sampling parameters."""
        most = choices if self.has_choices else 1
        sampling = read_sampling(body, limits=self.limits, stop=self.stop, choices=most)
        return replace(sampling, logprobs=self._logprobs(body))

    def continues(self, body: Mapping[str, Any], request: Request) -> bool:  # noqa: ARG002
        """Return True if the last message is the beginning of the response.

        Raises:
            Fault: the last message cannot be continued.
        """
        return False

    def strict(self, body: Mapping[str, Any]) -> bool:
        """Return True if a tool requires calls that match its schema."""
        for tool in body.get("tools") or ():
            inner = tool.get("function")
            said = inner.get("strict") if isinstance(inner, Mapping) else tool.get("strict")
            if said is True:
                return True
        return False

    def thinking(self, body: Mapping[str, Any]) -> Thinking:
        """Read the reasoning options."""
        on, effort = self._effort(body)
        budget = self._budget(body)
        switches = mapping(body, "chat_template_kwargs")
        shown = body.get("include_reasoning") is not False
        return Thinking(on=on, effort=effort, budget=budget, shown=shown, switches=switches)

    def with_usage(self, body: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Return True if a stream includes the usage."""
        return True

    @abstractmethod
    def encoder(
        self,
        head: Mapping[str, Any],
        thinking: Thinking,
        tokens: TokenTexts | None = None,
        index: int = 0,
    ) -> Encoder:
        """Return an encoder for a response or one choice, with the `tokens` of its deltas."""

    @abstractmethod
    def add_raw(self, body: dict[str, Any], raw: str) -> None:
        """Add the raw output to a response, or to the last event of a stream."""

    def add_logprobs(  # noqa: B027 - a protocol may have no place for them
        self, body: dict[str, Any], entries: list[dict[str, Any]]
    ) -> None:
        """Add the log probabilities of content tokens to a complete response."""

    @abstractmethod
    def error(self, fault: Fault, id: str) -> dict[str, Any]:
        """Return the body of an error response."""

    def failure(self, fault: Fault) -> dict[str, str]:
        """Return the arguments of an encoder's error in a stream."""
        type, code = OPENAI_TYPES.get(fault.status, ("server_error", ""))
        return {"message": fault.message, "type": type, "code": fault.code or code}

    @abstractmethod
    def _read(self, body: Mapping[str, Any]) -> Request:
        """Parse the request, without the checks of this class."""

    def _effort(self, body: Mapping[str, Any]) -> tuple[bool | None, str | None]:
        return read_effort(body, "reasoning_effort")

    def _budget(self, body: Mapping[str, Any]) -> int | None:
        """Read the limit of reasoning tokens."""
        asked = mapping(body, "reasoning")
        return whole_number(asked, "max_tokens", least=0)

    def _logprobs(self, body: Mapping[str, Any]) -> int | None:  # noqa: ARG002
        """Read the number of top log probabilities, None for no log probabilities."""
        return None

    def _refuse_state(self, body: Mapping[str, Any]) -> None:
        """Reject members that refer to a conversation stored on a server.

        Such a request contains the new messages only, so these members cannot be ignored.
        """
        if name := state_member(body, self.state):
            raise Fault(kept_elsewhere(name), param=name, code="unsupported_parameter")

    def _check_tools(self, tools: Any) -> None:
        """Reject tools that a provider would run itself."""
        for tool in tools if isinstance(tools, list) else ():
            kind = tool.get("type", "function") if isinstance(tool, Mapping) else "function"
            if kind not in ("function", "custom") or (kind == "custom" and self.name != "messages"):
                raise Fault(f"tools: unsupported type {kind!r:.80}", param="tools")


class _OpenAI(Protocol):
    def error(self, fault: Fault, id: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the body of an error response."""
        client = "invalid_request_error" if fault.status < 500 else "server_error"
        type, code = OPENAI_TYPES.get(fault.status, (client, ""))
        said = {"message": fault.message, "type": type, "param": fault.param}
        return {"error": {**said, "code": fault.code or code or None}}


class Chat(_OpenAI):
    """Chat Completions."""

    name = "chat"
    shape = CHAT
    path = "/v1/chat/completions"
    id_prefix = "chatcmpl-"
    limits = ("max_completion_tokens", "max_tokens")
    stop = "stop"
    has_choices = True
    schema_member = "response_format"
    refused = (
        "audio",
        "chat_template",
        "documents",
        "functions",
        "function_call",
        "logit_bias",
        "prediction",
        "store",
    )
    switches = ("web_search_options",)

    def with_usage(self, body: Mapping[str, Any]) -> bool:
        """Return True if the response includes the usage. In streams this is optional."""
        options = mapping(body, "stream_options")
        if options and not body.get("stream"):
            raise Fault("stream_options requires stream=true", param="stream_options")
        return flag(options, "include_usage") or not body.get("stream")

    def continues(self, body: Mapping[str, Any], request: Request) -> bool:
        """Return True if the last message is the beginning of the response.

        The request must ask for it, with vLLM's members.
        """
        continued = flag(body, "continue_final_message")
        opened = member(
            body, "add_generation_prompt", lambda value: isinstance(value, bool), "true or false"
        )
        if not continued:
            if opened is False:
                message = "add_generation_prompt=false requires continue_final_message=true"
                raise Fault(message, param="add_generation_prompt")
            return False
        if opened or request.messages[-1]["role"] != "assistant":
            message = "continue_final_message requires a last message with role 'assistant'"
            raise Fault(message, param="continue_final_message")
        return True

    def encoder(
        self,
        head: Mapping[str, Any],
        thinking: Thinking,
        tokens: TokenTexts | None = None,
        index: int = 0,
    ) -> Encoder:
        """Return an encoder for a response or one choice, with the `tokens` of its deltas."""
        reasoning: Any = "reasoning_content" if thinking.shown else "none"
        logprobs = tokens.of if tokens is not None else None
        return ChatCompletions(**head, index=index, reasoning=reasoning, logprobs=logprobs)

    def add_raw(self, body: dict[str, Any], raw: str) -> None:
        """Add the raw output to the completed choice."""
        for choice in body["choices"]:
            if choice["finish_reason"] is not None:
                choice["raw"] = raw

    def add_logprobs(self, body: dict[str, Any], entries: list[dict[str, Any]]) -> None:
        """Add the log probabilities of content tokens to the only choice."""
        body["choices"][0]["logprobs"] = {"content": entries, "refusal": None}

    def _budget(self, body: Mapping[str, Any]) -> int | None:
        own = whole_number(body, "thinking_budget", least=0)
        return super()._budget(body) if own is None else own

    def _logprobs(self, body: Mapping[str, Any]) -> int | None:
        top = whole_number(body, "top_logprobs", least=0, most=MOST_LOGPROBS)
        if flag(body, "logprobs"):
            return top or 0
        if top is not None:
            raise Fault("top_logprobs requires logprobs=true", param="top_logprobs")
        return None

    def _read(self, body: Mapping[str, Any]) -> Request:
        if body.get("modalities") not in (None, ["text"]):
            raise Fault("modalities must be ['text']", param="modalities")
        return json_asked_for(read_chat_completions_request(body), body.get("response_format"))


LOGPROBS = "message.output_text.logprobs"
"""The value of `include` that requests log probabilities."""

ENDS = ("response.completed", "response.incomplete")


class ResponsesProtocol(_OpenAI):
    """Responses."""

    name = "responses"
    shape = RESPONSES
    path = "/v1/responses"
    id_prefix = "resp_"
    limits = ("max_output_tokens",)
    messages = "input"
    schema_member = "text.format"
    state = RESPONSES_STATE
    refused = ("background", "background_options", "context_management", "max_tool_calls", "store")
    repeated = (
        "instructions",
        "max_output_tokens",
        "metadata",
        "parallel_tool_calls",
        "reasoning",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_p",
    )

    def encoder(
        self,
        head: Mapping[str, Any],
        thinking: Thinking,
        tokens: TokenTexts | None = None,
        index: int = 0,
    ) -> Encoder:
        """Return an encoder for a response, with the `tokens` of its deltas."""
        del index
        logprobs = tokens.of if tokens is not None else None
        reasoning: Any = "text" if thinking.shown else "none"
        return Responses(**head, reasoning=reasoning, logprobs=logprobs)

    def add_raw(self, body: dict[str, Any], raw: str) -> None:
        """Add the raw output to the response."""
        if body.get("object") == "response":
            body["raw"] = raw
        elif body["type"] in ENDS:
            body["response"]["raw"] = raw

    def add_logprobs(self, body: dict[str, Any], entries: list[dict[str, Any]]) -> None:
        """Add the log probabilities of tokens to the texts of the response.

        Each text takes tokens until its length is reached.
        """
        waiting = deque(entries)
        for item in body["output"]:
            for part in item.get("content") or () if item["type"] == "message" else ():
                size = 0
                while waiting and size < len(part["text"]):
                    entry = waiting.popleft()
                    part["logprobs"].append(entry)
                    size += len(entry["token"])

    def _logprobs(self, body: Mapping[str, Any]) -> int | None:
        top = whole_number(body, "top_logprobs", least=0, most=MOST_LOGPROBS)
        included = member(body, "include", lambda value: isinstance(value, list), "a list") or ()
        return top if top is not None or LOGPROBS not in included else 0

    def _read(self, body: Mapping[str, Any]) -> Request:
        if body.get("truncation") not in (None, "disabled"):
            raise Fault(
                "truncation must be 'disabled', since input is never truncated", param="truncation"
            )
        text = mapping(body, "text")
        return json_asked_for(read_responses_request(body), text.get("format"))

    def _effort(self, body: Mapping[str, Any]) -> tuple[bool | None, str | None]:
        asked = mapping(body, "reasoning")
        return read_effort(asked, "effort")


class Messages(Protocol):
    """Anthropic's Messages."""

    name = "messages"
    shape = MESSAGES
    path = "/v1/messages"
    id_prefix = "msg_"
    limits = ("max_tokens",)
    stop = "stop_sequences"
    schema_member = "output_config.format"
    refused = ("context_management", "mcp_servers")
    switches = ("compaction",)

    def sampling(self, body: Mapping[str, Any], choices: int) -> Sampling:
        """Read the sampling parameters. `max_tokens` is required."""
        if body.get("max_tokens") is None:
            raise Fault("max_tokens is missing", param="max_tokens")
        return super().sampling(body, choices)

    def continues(self, body: Mapping[str, Any], request: Request) -> bool:  # noqa: ARG002
        """Return True if the last message is the assistant's. It is then continued."""
        return bool(request.messages) and request.messages[-1]["role"] == "assistant"

    def encoder(
        self,
        head: Mapping[str, Any],
        thinking: Thinking,
        tokens: TokenTexts | None = None,
        index: int = 0,
    ) -> Encoder:
        """Return an encoder for a response. The protocol has no log probabilities."""
        del tokens, index
        return AnthropicMessages(**head, reasoning=thinking.shown)

    def add_raw(self, body: dict[str, Any], raw: str) -> None:
        """Add the raw output to the message, or to the `message_delta` event."""
        if body["type"] in ("message", "message_delta"):
            body["raw"] = raw

    def error(self, fault: Fault, id: str) -> dict[str, Any]:
        """Return the body of an error response."""
        said: dict[str, Any] = {**self.failure(fault)}
        if fault.details is not None:
            said["details"] = fault.details
        return {"type": "error", "error": said, "request_id": id}

    def failure(self, fault: Fault) -> dict[str, str]:
        """Return the arguments of an encoder's error in a stream."""
        client = "invalid_request_error" if fault.status < 500 else "api_error"
        return {"message": fault.message, "type": ANTHROPIC_TYPES.get(fault.status, client)}

    def thinking(self, body: Mapping[str, Any]) -> Thinking:
        """Read the reasoning options. Disabled reasoning is not shown either."""
        found = super().thinking(body)
        return replace(found, shown=found.shown and found.on is not False)

    def _refuse_state(self, body: Mapping[str, Any]) -> None:
        """Reject a thread with the error code that makes clients send the full conversation."""
        if body.get("thread") is not None:
            details = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
            raise Fault(kept_elsewhere("thread"), param="thread", details=details)
        super()._refuse_state(body)

    def _read(self, body: Mapping[str, Any]) -> Request:
        return read_messages_request(body)

    def _budget(self, body: Mapping[str, Any]) -> int | None:
        asked = mapping(body, "thinking")
        return whole_number(asked, "budget_tokens", least=0)

    def _effort(self, body: Mapping[str, Any]) -> tuple[bool | None, str | None]:
        asked = mapping(body, "thinking")
        output = mapping(body, "output_config")
        kind = asked.get("type")
        if kind not in (None, "enabled", "disabled", "adaptive"):
            raise Fault(f"unsupported thinking type: {kind!r:.80}", param="thinking")
        _, effort = read_effort(output, "effort")
        return {"enabled": True, "disabled": False}.get(kind or ""), effort


def read_effort(body: Mapping[str, Any], name: str) -> tuple[bool | None, str | None]:
    """Read the reasoning effort: on, off or None, and its name."""
    effort = member(body, name, lambda value: value in EFFORTS, f"one of {', '.join(EFFORTS)}")
    if effort is None:
        return None, None
    return (False, None) if effort == "none" else (True, effort)


def json_asked_for(request: Request, wanted: Any) -> Request:
    """Add a schema for any object if a request asks for JSON without a schema."""
    kind = wanted.get("type", "text") if isinstance(wanted, Mapping) else "text"
    if kind == "json_object":
        return replace(request, response_schema={"type": "object"})
    if kind not in ("text", "json_schema"):
        raise Fault(f"unsupported response format type: {kind!r:.80}")
    return request


def by_path(protocols: Iterable[Protocol]) -> dict[str, Protocol]:
    """Return protocols by their paths."""
    return {protocol.path: protocol for protocol in protocols}


PROTOCOLS = by_path((Chat(), ResponsesProtocol(), Messages()))
