"""The protocols that clients speak: how each request is read, and how each failure is said."""

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

from .error_bodies import CHAT, MESSAGES, RESPONSES, check_shape
from .faults import Fault, refusing
from .logprobs import TokenTexts
from .model import Thinking
from .sampling_parameters import Sampling, flag, mapping, member, read_sampling, whole_number

__all__ = ["PROTOCOLS", "Protocol"]

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
    """One way in which a client asks."""

    name: ClassVar[str]
    path: ClassVar[str]
    id_prefix: ClassVar[str]
    limits: ClassVar[tuple[str, ...]]
    stop: ClassVar[str | None] = None
    state: ClassVar[tuple[str, ...]] = STATE
    refused: ClassVar[tuple[str, ...]] = ()
    switches: ClassVar[tuple[str, ...]] = ()
    """Members that are refused empty as well: that they are there asks for something."""
    messages: ClassVar[str] = "messages"
    shape: ClassVar[Any]
    """What its members are; the settings of the sampler are checked where they are read."""
    has_choices: ClassVar[bool] = False
    schema_member: ClassVar[str]
    """What asks for JSON of a schema."""
    repeated: ClassVar[tuple[str, ...]] = ()
    """Members of a request that its answer has as well."""

    def request(self, body: Mapping[str, Any]) -> Request:
        """Read what a model is asked.

        Raises:
            Fault: the request is not what the protocol says, or asks for what is not served.
        """
        self._refuse_state(body)
        for name in (*self.refused, *self.switches):
            given = body.get(name)
            if given or (given is not None and name in self.switches):
                raise Fault(f"{name} is not served here", param=name, code="unsupported_parameter")
        if not body.get(self.messages):
            raise Fault(f"{self.messages} is missing, or empty", param=self.messages)
        check_shape(body, self.shape)
        self._check_tools(body.get("tools"))
        with refusing():
            request = self._read(body)
        for message in request.messages:
            if isinstance(message.get("content"), list):
                raise Fault("images and documents: the upstream takes text only")
        if request.choice.mode == "required" and not request.tools:
            raise Fault("tool_choice asks for a call, and there are no tools", param="tool_choice")
        allowed = {tool["function"]["name"] for tool in request.tools or ()}
        named = request.choice.function
        if named is not None and named not in allowed:
            raise Fault("tool_choice names a function that is not there", param="tool_choice")
        return request

    def sampling(self, body: Mapping[str, Any], choices: int) -> Sampling:
        """Read how the model is to be sampled."""
        most = choices if self.has_choices else 1
        sampling = read_sampling(body, limits=self.limits, stop=self.stop, choices=most)
        return replace(sampling, logprobs=self._logprobs(body))

    def continues(self, body: Mapping[str, Any], request: Request) -> bool:  # noqa: ARG002
        """Return whether the last message is the beginning of the answer.

        Raises:
            Fault: it cannot be.
        """
        return False

    def strict(self, body: Mapping[str, Any]) -> bool:
        """Return whether a tool asks that its calls be held to its schema."""
        for tool in body.get("tools") or ():
            inner = tool.get("function")
            said = inner.get("strict") if isinstance(inner, Mapping) else tool.get("strict")
            if said is True:
                return True
        return False

    def thinking(self, body: Mapping[str, Any]) -> Thinking:
        """Read what is said of reasoning."""
        on, effort = self._effort(body)
        budget = self._budget(body)
        switches = mapping(body, "chat_template_kwargs")
        shown = body.get("include_reasoning") is not False
        return Thinking(on=on, effort=effort, budget=budget, shown=shown, switches=switches)

    def with_usage(self, body: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Return whether a stream says what it took."""
        return True

    @abstractmethod
    def encoder(
        self,
        head: Mapping[str, Any],
        thinking: Thinking,
        tokens: TokenTexts | None = None,
        index: int = 0,
    ) -> Encoder:
        """Return what writes a response, or one choice of it, with the `tokens` of its deltas."""

    @abstractmethod
    def add_raw(self, body: dict[str, Any], raw: str) -> None:
        """Add the output as it came to a response, or to the event of a stream that ends it."""

    def add_logprobs(  # noqa: B027 - a protocol may have no place for them
        self, body: dict[str, Any], entries: list[dict[str, Any]]
    ) -> None:
        """Add the log probabilities of the tokens of content to a whole response."""

    @abstractmethod
    def error(self, fault: Fault, id: str) -> dict[str, Any]:
        """Return the body that says what went wrong."""

    def failure(self, fault: Fault) -> dict[str, str]:
        """Return what an encoder is told of a failure in a stream."""
        type, code = OPENAI_TYPES.get(fault.status, ("server_error", ""))
        return {"message": fault.message, "type": type, "code": fault.code or code}

    @abstractmethod
    def _read(self, body: Mapping[str, Any]) -> Request:
        """Read the request; all but what this class checks itself."""

    def _effort(self, body: Mapping[str, Any]) -> tuple[bool | None, str | None]:
        return read_effort(body, "reasoning_effort")

    def _budget(self, body: Mapping[str, Any]) -> int | None:
        """Read how many tokens of reasoning there may be."""
        asked = mapping(body, "reasoning")
        return whole_number(asked, "max_tokens", least=0)

    def _logprobs(self, body: Mapping[str, Any]) -> int | None:  # noqa: ARG002
        """Read how many of the likeliest tokens are wanted, None for no probabilities."""
        return None

    def _refuse_state(self, body: Mapping[str, Any]) -> None:
        """Refuse members that stand for a conversation that a server keeps.

        The rest of such a request has the new messages only, so no such member may be ignored.
        """
        if name := state_member(body, self.state):
            raise Fault(kept_elsewhere(name), param=name, code="unsupported_parameter")

    def _check_tools(self, tools: Any) -> None:
        """Refuse tools that a provider would run itself: none is run here."""
        for tool in tools if isinstance(tools, list) else ():
            kind = tool.get("type", "function") if isinstance(tool, Mapping) else "function"
            if kind not in ("function", "custom") or (kind == "custom" and self.name != "messages"):
                raise Fault(f"tools of type {kind!r:.80} are not served here", param="tools")


class _OpenAI(Protocol):
    def error(self, fault: Fault, id: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the body that says what went wrong."""
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
        """Return whether an answer says what it took: a stream if it is asked to."""
        options = mapping(body, "stream_options")
        if options and not body.get("stream"):
            raise Fault("stream_options is for streams", param="stream_options")
        return flag(options, "include_usage") or not body.get("stream")

    def continues(self, body: Mapping[str, Any], request: Request) -> bool:
        """Return whether the last message is the beginning of the answer: where it is asked for.

        The members are vLLM's.
        """
        continued = flag(body, "continue_final_message")
        opened = member(
            body, "add_generation_prompt", lambda value: isinstance(value, bool), "true or false"
        )
        if not continued:
            if opened is False:
                message = "add_generation_prompt: false is for continue_final_message"
                raise Fault(message, param="add_generation_prompt")
            return False
        if opened or request.messages[-1]["role"] != "assistant":
            message = "continue_final_message continues a last message of the assistant's"
            raise Fault(message, param="continue_final_message")
        return True

    def encoder(
        self,
        head: Mapping[str, Any],
        thinking: Thinking,
        tokens: TokenTexts | None = None,
        index: int = 0,
    ) -> Encoder:
        """Return what writes a response, or one choice of it, with the `tokens` of its deltas."""
        reasoning: Any = "reasoning_content" if thinking.shown else "none"
        logprobs = tokens.of if tokens is not None else None
        return ChatCompletions(**head, index=index, reasoning=reasoning, logprobs=logprobs)

    def add_raw(self, body: dict[str, Any], raw: str) -> None:
        """Add the output as it came to the choice that has ended."""
        for choice in body["choices"]:
            if choice["finish_reason"] is not None:
                choice["raw"] = raw

    def add_logprobs(self, body: dict[str, Any], entries: list[dict[str, Any]]) -> None:
        """Add the log probabilities of the tokens of content to the one choice."""
        body["choices"][0]["logprobs"] = {"content": entries, "refusal": None}

    def _budget(self, body: Mapping[str, Any]) -> int | None:
        own = whole_number(body, "thinking_budget", least=0)
        return super()._budget(body) if own is None else own

    def _logprobs(self, body: Mapping[str, Any]) -> int | None:
        top = whole_number(body, "top_logprobs", least=0, most=MOST_LOGPROBS)
        if flag(body, "logprobs"):
            return top or 0
        if top is not None:
            raise Fault("top_logprobs is for logprobs", param="top_logprobs")
        return None

    def _read(self, body: Mapping[str, Any]) -> Request:
        if body.get("modalities") not in (None, ["text"]):
            raise Fault("modalities: text only is served here", param="modalities")
        return json_asked_for(read_chat_completions_request(body), body.get("response_format"))


LOGPROBS = "message.output_text.logprobs"
"""What a request includes to be told the log probabilities of its answer."""

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
        """Return what writes a response, with the `tokens` of its deltas."""
        del index
        logprobs = tokens.of if tokens is not None else None
        reasoning: Any = "text" if thinking.shown else "none"
        return Responses(**head, reasoning=reasoning, logprobs=logprobs)

    def add_raw(self, body: dict[str, Any], raw: str) -> None:
        """Add the output as it came to the response."""
        if body.get("object") == "response":
            body["raw"] = raw
        elif body["type"] in ENDS:
            body["response"]["raw"] = raw

    def add_logprobs(self, body: dict[str, Any], entries: list[dict[str, Any]]) -> None:
        """Add the log probabilities of the tokens to the texts of the response that they are of.

        Each text takes those that it is as long as.
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
            raise Fault("truncation: nothing is left out here", param="truncation")
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
        """Read how the model is to be sampled."""
        if body.get("max_tokens") is None:
            raise Fault("max_tokens is missing", param="max_tokens")
        return super().sampling(body, choices)

    def continues(self, body: Mapping[str, Any], request: Request) -> bool:  # noqa: ARG002
        """Return whether the last message is the beginning of the answer: the assistant's is."""
        return bool(request.messages) and request.messages[-1]["role"] == "assistant"

    def encoder(
        self,
        head: Mapping[str, Any],
        thinking: Thinking,
        tokens: TokenTexts | None = None,
        index: int = 0,
    ) -> Encoder:
        """Return what writes a response; the protocol has no place for tokens."""
        del tokens, index
        return AnthropicMessages(**head, reasoning=thinking.shown)

    def add_raw(self, body: dict[str, Any], raw: str) -> None:
        """Add the output as it came to the message, or beside what ends it."""
        if body["type"] in ("message", "message_delta"):
            body["raw"] = raw

    def error(self, fault: Fault, id: str) -> dict[str, Any]:
        """Return the body that says what went wrong."""
        said: dict[str, Any] = {**self.failure(fault)}
        if fault.details is not None:
            said["details"] = fault.details
        return {"type": "error", "error": said, "request_id": id}

    def failure(self, fault: Fault) -> dict[str, str]:
        """Return what an encoder is told of a failure in a stream."""
        client = "invalid_request_error" if fault.status < 500 else "api_error"
        return {"message": fault.message, "type": ANTHROPIC_TYPES.get(fault.status, client)}

    def thinking(self, body: Mapping[str, Any]) -> Thinking:
        """Read what is said of reasoning; what is disabled is not shown either."""
        found = super().thinking(body)
        return replace(found, shown=found.shown and found.on is not False)

    def _refuse_state(self, body: Mapping[str, Any]) -> None:
        """Refuse a thread in the words after which clients send whole conversations."""
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
            raise Fault(f"thinking of type {kind!r:.80} is not known", param="thinking")
        _, effort = read_effort(output, "effort")
        return {"enabled": True, "disabled": False}.get(kind or ""), effort


def read_effort(body: Mapping[str, Any], name: str) -> tuple[bool | None, str | None]:
    """Read how much a model is to reason: whether at all, and the word for it."""
    effort = member(body, name, lambda value: value in EFFORTS, f"one of {', '.join(EFFORTS)}")
    if effort is None:
        return None, None
    return (False, None) if effort == "none" else (True, effort)


def json_asked_for(request: Request, wanted: Any) -> Request:
    """Add the schema of any object, where a request asks for JSON without a schema."""
    kind = wanted.get("type", "text") if isinstance(wanted, Mapping) else "text"
    if kind == "json_object":
        return replace(request, response_schema={"type": "object"})
    if kind not in ("text", "json_schema"):
        raise Fault(f"a response format of type {kind!r:.80} is not served here")
    return request


def by_path(protocols: Iterable[Protocol]) -> dict[str, Protocol]:
    """Return protocols by their paths."""
    return {protocol.path: protocol for protocol in protocols}


PROTOCOLS = by_path((Chat(), ResponsesProtocol(), Messages()))
