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
    body_timeout: until a request is there.
    inspect: how many of the last turns are kept for `/inspect`; 0 for none, and no such page.
    max_line: bytes of one event of the upstream.
    max_streams: answers at a time; more are refused, and told to come again.
    max_choices: `n` of a request.
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
    max_line: int = 4 * MEBI
    max_streams: int = 1024
    max_choices: int = 16
    inspect: int = 0
    body_timeout: float = 60.0
    connect_timeout: float = 5.0
    idle_timeout: float = 120.0
    total_timeout: float = 3600.0
    send_timeout: float = 120.0
