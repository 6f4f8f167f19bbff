"""The command `deltaparse serve`: OpenAI's and Anthropic's APIs in front of raw completions."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import deltaparse as dp

from .inputs import BadInput, text_file
from .subcommand import TEMPLATES, Subcommand, complain, whole_number

if TYPE_CHECKING:
    from deltaparse.gateway import Found, Settings

__all__ = ["SERVE"]

KINDS = ("auto", "openai", "llama.cpp", "sglang", "tgi")
GRAMMARS = ("auto", "structured_outputs", "guided", "gbnf", "none")
MOST_PORT = 65535
PATHS = "/v1/chat/completions, /v1/responses, /v1/messages"
MISSING = "serve needs the packages of an extra: pip install 'deltaparse[serve]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add = parser.add_argument
    add("--upstream", metavar="URL", required=True, help="URL of the raw-completion server")
    add(
        "--kind",
        choices=KINDS,
        default="auto",
        help="type of the upstream server (default: auto, ask it)",
    )
    add(
        "--template",
        metavar="SOURCE",
        default="auto",
        help="chat template of the model, or its folder (default: auto, ask the upstream)",
    )
    add(
        "--grammars",
        choices=GRAMMARS,
        default="auto",
        help="grammar parameter of an openai upstream: as in vLLM, vLLM before 0.11, llama-server, "
        "or none (default: auto, ask it)",
    )
    add("--host", default="127.0.0.1", help="listen on this address (default: 127.0.0.1)")
    add(
        "--port",
        type=whole_number(0, MOST_PORT),
        default=8080,
        help="listen on this port (default: 8080)",
    )
    add(
        "--model",
        metavar="NAME",
        action="append",
        help="model name for clients (repeatable, default: the upstream's)",
    )
    add("--api-key-file", metavar="FILE", help="require the API key in FILE from clients")
    add("--upstream-key-file", metavar="FILE", help="send the API key in FILE to the upstream")
    add(
        "--forward-authorization",
        action="store_true",
        help="forward the Authorization header of clients to the upstream",
    )
    add(
        "--max-tokens",
        type=whole_number(),
        metavar="N",
        help="token limit for requests without one",
    )
    add(
        "--max-streams",
        type=whole_number(),
        metavar="N",
        default=1024,
        help="concurrent responses (default: 1024)",
    )
    add(
        "--max-client-streams",
        type=whole_number(),
        metavar="N",
        help="concurrent responses for one client address (default: 3/4 of --max-streams)",
    )
    add(
        "--max-answer",
        type=whole_number(),
        metavar="N",
        default=8 << 20,
        help="truncate a response after N characters (default: 8388608)",
    )
    add(
        "--work-timeout",
        type=_seconds,
        metavar="SECONDS",
        default=5.0,
        help="limit the processor time for the prompt and the grammar of a request (default: 5)",
    )
    add(
        "--idle-timeout",
        type=_seconds,
        metavar="SECONDS",
        default=120.0,
        help="wait SECONDS for the next data of the upstream (default: 120)",
    )
    add(
        "--total-timeout",
        type=_seconds,
        metavar="SECONDS",
        default=3600.0,
        help="limit the duration of a response (default: 3600)",
    )
    add(
        "--workers",
        type=whole_number(),
        metavar="N",
        default=1,
        help="number of server processes (default: 1)",
    )
    add(
        "--grace",
        type=whole_number(0),
        metavar="SECONDS",
        default=30,
        help="wait SECONDS for open responses at shutdown (default: 30)",
    )
    add("--record", metavar="FILE", help="append each prompt and raw output to FILE, as JSONL")
    add(
        "--inspect",
        type=whole_number(),
        metavar="N",
        default=0,
        help="serve the last N turns at /inspect, with prompts (requires the API key)",
    )
    add("--log", action="store_true", help="write one JSON line per request to stderr")


def run(options: argparse.Namespace) -> None:
    """Serve until the process is stopped.

    Raises:
        BadInput: an option is invalid, the upstream cannot be identified, or the packages of the
            extra are not installed.
    """
    try:
        from deltaparse.gateway.serving import Service, bound_socket, serve
    except ImportError as error:
        raise BadInput(f"{MISSING} ({error})") from error
    if options.inspect and options.workers > 1:
        raise BadInput(
            "--inspect shows the turns of one process, so it cannot be used with --workers"
        )
    settings = _settings(options)
    record = _record(options.record)
    try:
        found = asyncio.run(_discovered(options, settings))
        listening = bound_socket(options.host, options.port)
        for line in found.said:
            complain(line)
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        complain(f"listening http://{shown}:{port}: {PATHS}")
        service = Service(
            found=found,
            settings=settings,
            url=options.upstream,
            record=record,
            workers=options.workers,
            grace=options.grace,
            log=options.log,
        )
        serve(service, listening)
    except dp.DeltaParseError as error:
        raise BadInput(str(error)) from error


async def _discovered(options: argparse.Namespace, settings: Settings) -> Found:
    from deltaparse.gateway import HttpClient, discover

    async with HttpClient(options.upstream, settings, key=settings.upstream_key) as client:
        return await discover(client, options.kind, options.template, options.grammars)


def _record(name: str | None) -> Path | None:
    """Return the path of a writable file for records."""
    if name is None:
        return None
    try:
        with Path(name).open("a", encoding="ascii"):
            pass
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror}") from error
    return Path(name).absolute()


def _settings(options: argparse.Namespace) -> Settings:
    from deltaparse.gateway import Settings

    return Settings(
        models=tuple(options.model or ()),
        api_key=_key(options.api_key_file),
        upstream_key=_key(options.upstream_key_file),
        forward_authorization=options.forward_authorization,
        max_tokens=options.max_tokens,
        max_streams=options.max_streams,
        max_client_streams=options.max_client_streams,
        max_answer=options.max_answer,
        work_timeout=options.work_timeout,
        inspect=options.inspect,
        idle_timeout=options.idle_timeout,
        total_timeout=options.total_timeout,
    )


def _key(name: str | None) -> str:
    """Read a key from a file, because other users can read the command line."""
    if not name:
        return ""
    key = text_file(name).strip()
    if not key:
        raise BadInput(f"{name}: the file must contain a key")
    return key


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, not {text!r}")
    return seconds


SERVE = Subcommand(
    name="serve",
    help="serve OpenAI- and Anthropic-compatible endpoints for a raw-completion server",
    add_arguments=add_arguments,
    run=run,
    epilog=TEMPLATES,
)
