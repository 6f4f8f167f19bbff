"""The command `deltaparse serve`: OpenAI's and Anthropic's APIs in front of raw completions."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltaparse as dp

from .inputs import BadInput, text_file
from .subcommand import TEMPLATES, Subcommand, complain

if TYPE_CHECKING:
    from deltaparse.gateway import Found, Settings

__all__ = ["SERVE"]

KINDS = ("auto", "openai", "llama.cpp", "sglang", "tgi")
GRAMMARS = ("auto", "structured_outputs", "guided", "gbnf", "none")
MOST_PORT = 65535
PATHS = "/v1/chat/completions, /v1/responses, /v1/messages"
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
    add(
        "--grammars",
        choices=GRAMMARS,
        default="auto",
        help="how an upstream of kind openai takes grammars: as vLLM, as vLLM before 0.11, as "
        "llama-server, or not; auto asks it (default)",
    )
    add("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    add(
        "--port",
        type=_whole(0, MOST_PORT),
        default=8080,
        help="the port to listen on (default: 8080)",
    )
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
        "--max-client-streams",
        type=_whole(1),
        metavar="N",
        help="answers at a time for one client address (default: three quarters of --max-streams)",
    )
    add(
        "--max-answer",
        type=_whole(1),
        metavar="N",
        default=8 << 20,
        help="end an answer after N characters (default: 8388608)",
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
        help="how long the upstream may be silent (120)",
    )
    add(
        "--total-timeout",
        type=_seconds,
        metavar="SECONDS",
        default=3600.0,
        help="how long an answer may take (3600)",
    )
    add("--workers", type=_whole(1), metavar="N", default=1, help="processes that serve (1)")
    add(
        "--grace",
        type=_whole(0),
        metavar="SECONDS",
        default=30,
        help="how long open answers may go on when the service is told to stop (30)",
    )
    add("--record", metavar="FILE", help="write each turn there: prompts and raw outputs, as JSONL")
    add(
        "--inspect",
        type=_whole(1),
        metavar="N",
        default=0,
        help="show the last N turns at /inspect: prompts and outputs, to who shows the key",
    )
    add("--log", action="store_true", help="write a line of JSON to stderr for each request")


def run(options: argparse.Namespace) -> None:
    """Serve until the process is told to stop.

    Raises:
        BadInput: an option cannot be used, the upstream does not say what it is, or the packages
            of the extra are not installed.
    """
    try:
        from deltaparse.gateway.serving import Service, bound_socket, serve
    except ImportError as error:
        raise BadInput(f"{MISSING} ({error})") from error
    if options.inspect and options.workers > 1:
        raise BadInput("--inspect shows what one process has answered: not with --workers")
    settings = _settings(options)
    record = _record(options.record)
    if options.log:
        _log_as_json()
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
        )
        serve(service, listening)
    except dp.DeltaParseError as error:
        raise BadInput(str(error)) from error


async def _discovered(options: argparse.Namespace, settings: Settings) -> Found:
    from deltaparse.gateway import HttpClient, discover

    async with HttpClient(options.upstream, settings, key=settings.upstream_key) as client:
        return await discover(client, options.kind, options.template, options.grammars)


def _record(name: str | None) -> Path | None:
    """Return the file for records, which can be written to."""
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


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    def number(text: str) -> int:
        if text.isascii() and text.isdigit() and least <= int(text):
            if most is None or int(text) <= most:
                return int(text)
        bounds = f"from {least} up" if most is None else f"from {least} to {most}"
        raise argparse.ArgumentTypeError(f"a whole number {bounds}, not {text!r}")

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
