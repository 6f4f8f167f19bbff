"""What a gateway is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]

MEBI = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and keys of a gateway. Times are in seconds.

    models: the names under which clients ask for the model; () for those of the upstream.
    api_key: what clients must show, "" for nothing.
    upstream_key: what is shown to the upstream, "" for nothing.
    forward_authorization: whether a client's own `Authorization` goes to the upstream.
    max_tokens: for requests that name no number; None leaves it to the upstream.
    max_body: bytes of a request.
    max_bodies: bytes of all requests that are being read.
    max_values: JSON values of a request.
    body_timeout: until a request is there.
    inspect: how many of the last turns are kept for `/inspect`; 0 for none, and no such page.
    max_line: bytes of one event of the upstream.
    max_prompts: characters of the prompts of a request: it has one for each choice.
    max_answer: characters of an answer, all its choices together; it ends as if at its limit of
        tokens.
    max_streams: answers at a time; more are refused, and told to come again.
    max_client_streams: the same for one client, which is an address; None for three quarters of
        `max_streams`.
    max_choices: `n` of a request.
    work_timeout: of the processor, to read a request, render its prompt and make its grammar; by
        the clock three times as long.
    connect_timeout: until the upstream takes a connection.
    idle_timeout: between two events of the upstream.
    total_timeout: of one answer.
    send_timeout: until a client takes what it is sent.
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
