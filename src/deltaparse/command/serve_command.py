"""The command `deltaparse serve`: OpenAI's and Anthropic's APIs in front of raw completions."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltaparse as dp

from .inputs import BadInput, text_file
from .subcommand import TEMPLATES, Subcommand, complain

if TYPE_CHECKING:
    from deltaparse.gateway import Found, Settings

__all__ = ["SERVE"]

KINDS = ("auto", "openai", "llama.cpp", "sglang", "tgi")
MISSING = "serve needs the packages of an extra: pip install 'deltaparse[serve]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the command takes."""
    add = parser.add_argument
    add("--upstream", metavar="URL", required=True, help="the server of raw completions")
    add("--kind", choices=KINDS, default="auto", help="what server that is; auto asks it (default)")
    add(
        "--template",
        metavar="SOURCE",
        default="auto",
        help="the model's chat template, or the model's folder; auto asks the upstream (default)",
    )
    add("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    add("--port", type=_whole(0), default=8080, help="the port to listen on (default: 8080)")
    add(
        "--model",
        metavar="NAME",
        action="append",
        help="a name for clients, instead of the upstream's; may be given again",
    )
    add("--api-key-file", metavar="FILE", help="holds the key that clients must show")
    add("--upstream-key-file", metavar="FILE", help="holds the key that the upstream is shown")
    add(
        "--forward-authorization",
        action="store_true",
        help="show the upstream what clients show as Authorization",
    )
    add("--max-tokens", type=_whole(1), metavar="N", help="for requests that say no number")
    add("--max-streams", type=_whole(1), metavar="N", default=1024, help="answers at a time (1024)")
    add(
        "--idle-timeout",
        type=_seconds,
        metavar="SECONDS",
        default=120.0,
        help="how long the upstream may be silent (120)",
    )
    add(
        "--total-timeout",
        type=_seconds,
        metavar="SECONDS",
        default=3600.0,
        help="how long an answer may take (3600)",
    )
    add("--record", metavar="FILE", help="write each turn there: prompts and raw outputs, as JSONL")
    add("--log", action="store_true", help="write a line of JSON to stderr for each request")


def run(options: argparse.Namespace) -> None:
    """Serve until the process is told to stop.

    Raises:
        BadInput: an option cannot be used, the upstream does not say what it is, or the packages
            of the extra are not installed.
    """
    try:
        import uvicorn

        from deltaparse.gateway import Gateway, upstream_client
    except ImportError as error:
        raise BadInput(f"{MISSING} ({error})") from error
    settings = _settings(options)
    found = asyncio.run(_discovered(options, settings))
    fmt = found.model.fmt
    if not fmt.verified:
        why = fmt.issues[0] if fmt.issues else "nothing proves it"
        complain(f"note: what was found in the template is not verified: {why}")
    if options.log:
        _log_as_json()
    with ExitStack() as stack:
        record = None
        if options.record:
            try:
                record = stack.enter_context(Path(options.record).open("a", encoding="utf-8"))
            except OSError as error:
                raise BadInput(f"{options.record}: {error.strerror}") from error
        client = upstream_client(options.upstream, settings)
        gateway = Gateway(found.model, found.upstream, client, settings, record)
        complain(f"{found.upstream.kind} at {options.upstream}, on port {options.port}")
        uvicorn.run(
            gateway.app(),
            host=options.host,
            port=options.port,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=30,
        )


async def _discovered(options: argparse.Namespace, settings: Settings) -> Found:
    import httpx

    from deltaparse.gateway import discover, upstream_client

    try:
        async with upstream_client(options.upstream, settings) as client:
            if settings.upstream_key:
                client.headers["authorization"] = f"Bearer {settings.upstream_key}"
            return await discover(client, options.kind, options.template)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise BadInput(f"{options.upstream}: not the URL of a server: {error}") from error
    except dp.DeltaParseError as error:
        raise BadInput(str(error)) from error


def _settings(options: argparse.Namespace) -> Settings:
    from deltaparse.gateway import Settings

    return Settings(
        models=tuple(options.model or ()),
        api_key=_key(options.api_key_file),
        upstream_key=_key(options.upstream_key_file),
        forward_authorization=options.forward_authorization,
        max_tokens=options.max_tokens,
        max_streams=options.max_streams,
        idle_timeout=options.idle_timeout,
        total_timeout=options.total_timeout,
    )


def _key(name: str | None) -> str:
    """Read a key from a file: on a command line, all users of the machine would see it."""
    if not name:
        return ""
    key = text_file(name).strip()
    if not key:
        raise BadInput(f"{name}: no key in it")
    return key


class _JsonLines(logging.Formatter):
    """Writes a record with the fields that the gateway gave it."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {"time": round(record.created, 3), "event": record.getMessage()}
        plain = vars(logging.makeLogRecord({}))
        given = {name: value for name, value in vars(record).items() if name not in plain}
        return json.dumps(fields | given, default=str)


def _log_as_json() -> None:
    log = logging.getLogger("deltaparse.gateway")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    log.addHandler(handler)
    log.setLevel(logging.INFO)


def _whole(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if text.isascii() and text.isdigit() and int(text) >= least:
            return int(text)
        raise argparse.ArgumentTypeError(f"a whole number from {least} up, not {text!r}")

    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"a number of seconds, not {text!r}")
    return seconds


SERVE = Subcommand(
    name="serve",
    help="answer OpenAI's and Anthropic's clients from a server of raw completions",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
