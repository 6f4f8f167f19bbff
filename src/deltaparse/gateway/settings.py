"""Settings of a gateway."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]

MEBI = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and keys of a gateway. Times are in seconds.

    models: the model names for clients, () for the upstream's names.
    api_key: the key that clients must send, "" for no key.
    upstream_key: the key for the upstream, "" for no key.
    forward_authorization: forward a client's `Authorization` header to the upstream.
    max_tokens: the token limit for requests without one, None for the upstream's default.
    max_body: bytes of a request.
    max_bodies: bytes of all requests that are being read.
    max_values: JSON values of a request.
    body_timeout: reading the body of a request.
    inspect: the number of recent turns at `/inspect`, 0 to disable the page.
    max_line: bytes of one upstream event.
    max_prompts: characters of all prompts of a request, one for each choice.
    max_answer: characters of a response with all its choices. A longer one is truncated like one at
     its token limit.
    max_streams: concurrent responses. Further requests are rejected with a retry hint.
    max_client_streams: the same for one client address, None for three quarters of `max_streams`.
    max_choices: `n` of a request.
    work_timeout: processor time for parsing a request, rendering its prompt and building its
     grammar. The limit of wall-clock time is three times as long.
    connect_timeout: connecting to the upstream.
    idle_timeout: the pause between two upstream events.
    total_timeout: one response.
    send_timeout: a pending write to a client.
    """

    models: tuple[str, ...] = ()
    api_key: str = ""
    upstream_key: str = ""
    forward_authorization: bool = False
    max_tokens: int | None = None
    max_body: int = 16 * MEBI
    max_bodies: int = 256 * MEBI
    max_values: int = 100_000
    max_line: int = 4 * MEBI
    max_prompts: int = 8 * MEBI
    max_answer: int = 8 * MEBI
    max_streams: int = 1024
    max_client_streams: int | None = None
    max_choices: int = 16
    inspect: int = 0
    body_timeout: float = 60.0
    work_timeout: float = 5.0
    connect_timeout: float = 5.0
    idle_timeout: float = 120.0
    total_timeout: float = 3600.0
    send_timeout: float = 120.0
