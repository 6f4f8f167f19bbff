"""Compare the gateway with a pass-through proxy: streams per second, and latency of a chunk.

    python bench/gateway.py [--streams 40] [--chunks 400] [--pace 0.02] [--litellm PYTHON]

There are three processes: a simulated llama-server, the proxy, and the client (this process). The
proxies are, in this order: none, a proxy that forwards bytes with the gateway's HTTP client, the
gateway in each protocol, and optionally litellm's proxy. For the latter, `--litellm` takes an
interpreter from a separate environment (`pip install 'litellm[proxy]'`), since its requirements
conflict with ours. Two measurements are made. Streams at full speed show the processor time of a
chunk. Streams at a fixed pace show the added latency, since each chunk contains its send time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "tests" / "templates" / "json_in_tags.jinja"
PATHS = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Hi"}]},
    "/v1/responses": {"input": "Hi"},
    "/v1/messages": {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9999},
}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LITELLM = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
}
"""Disables downloads of prices, and the key for clients."""

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def upstream(port: int, chunks: int, pace: float) -> None:
    """Run a simulated llama-server, and a server of completions for litellm."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while line := await reader.readline():
                path, size, ends = line.split()[1], 0, False
                while (line := await reader.readline()).strip():
                    if line.lower().startswith(b"content-length:"):
                        size = int(line.split(b":")[1])
                    ends = ends or line.lower().startswith(b"connection: close")
                body = json.loads(await reader.readexactly(size) or b"{}")
                if not body.get("stream"):
                    writer.write(b"HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n")
                    continue
                await stream(path, pace, writer)
                if ends:
                    break
        writer.close()

    async def stream(path: bytes, pace: float, writer: asyncio.StreamWriter) -> None:
        openai = path == b"/v1/completions"
        writer.write(HEAD)
        for _ in range(chunks):
            text = f"t{time.monotonic_ns()} "
            event = {"index": 0, "content": text, "tokens": [7], "stop": False, "id_slot": 0}
            if openai:
                event = {"object": "text_completion", "choices": [{"index": 0, "text": text}]}
            writer.write(chunked(f"data: {json.dumps(event)}\n\n".encode()))
            await writer.drain()
            await asyncio.sleep(pace)
        end = {"content": "", "stop": True, "stop_type": "eos"}
        end |= {"tokens_predicted": chunks, "tokens_evaluated": 9}
        last = [json.dumps(end)]
        if openai:
            choice = {"index": 0, "text": "", "finish_reason": "stop"}
            last = [json.dumps({"object": "text_completion", "choices": [choice]}), "[DONE]"]
        for one in last:
            writer.write(chunked(f"data: {one}\n\n".encode()))
        writer.write(b"0\r\n\r\n")

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    await server.serve_forever()


def pass_through(port: int, url: str) -> None:
    """Forward bytes: the minimum cost of any proxy."""
    import uvicorn

    from deltaparse.gateway import HttpClient, Settings

    client = HttpClient(url, Settings())

    async def app(scope: dict, receive: object, send: object) -> None:
        if scope["type"] != "http":
            return
        body = json.loads((await receive())["body"])
        answer = await client.ask("/completion", body | {"prompt": "Hi"})
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while data := await answer.read():
            await send({"type": "http.response.body", "body": data, "more_body": True})
        answer.close()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    uvicorn.run(app, port=port, log_level="error", lifespan="off")


async def read_stream(port: int, path: str, body: dict, late: list[float]) -> int:
    """Read one stream, record the latency of each chunk, and return the number of chunks."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    head += f"content-length: {len(data)}\r\nconnection: close\r\n\r\n"
    writer.write(head.encode() + data)
    stamps: set[bytes] = set()
    rest = b""
    while block := await reader.read(1 << 16):
        now = time.monotonic_ns()
        found = (rest + block).split(b'"t')
        rest = found[-1][-40:] if len(found) > 1 else (rest + block)[-40:]
        for one in found[1:]:
            stamp = one.partition(b" ")
            if stamp[1] and stamp[0].isdigit() and stamp[0] not in stamps:
                stamps.add(stamp[0])
                late.append((now - int(stamp[0])) / 1e3)
                rest = b""
    writer.close()
    return len(stamps)


def used(process: int) -> float:
    """Return the processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def measure(
    name: str, port: int, process: int | None, path: str, body: dict, streams: int
) -> dict:
    late: list[float] = []
    await read_stream(port, path, body | {"stream": True}, late)  # warm
    late.clear()
    before, began = used(process) if process else 0.0, time.perf_counter()
    ask = [read_stream(port, path, body | {"stream": True}, late) for _ in range(streams)]
    counts = await asyncio.gather(*ask)
    seconds = time.perf_counter() - began
    cpu = (used(process) - before if process else 0.0) / max(sum(counts), 1)
    return {"name": name, "streams": streams / seconds, "cpu": cpu * 1e6, "got": sum(counts)}


async def paced(port: int, path: str, body: dict) -> float:
    late: list[float] = []
    await read_stream(port, path, body | {"stream": True}, late)  # warm
    late.clear()
    asked = [read_stream(port, path, body | {"stream": True}, late) for _ in range(4)]
    await asyncio.gather(*asked)
    return statistics.median(late)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def running(command: list[str], port: int, log: Path) -> Iterator[int]:
    """Run a server during the block."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), **LITELLM}
    with log.open("w") as out:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=out)
        try:
            for _ in range(1800):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.1)
            else:
                raise SystemExit(log.read_text()[-2000:])
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the gateway with a pass-through proxy.")
    parser.add_argument("--streams", type=int, default=40, help="concurrent streams (default: 40)")
    parser.add_argument(
        "--chunks", type=int, default=400, help="chunks of each stream (default: 400)"
    )
    parser.add_argument(
        "--pace", type=float, default=0.02, help="seconds between two chunks (default: 0.02)"
    )
    parser.add_argument(
        "--litellm", metavar="PYTHON", help="interpreter with litellm's proxy installed"
    )
    parser.add_argument("--play", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--pass-on", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.play:
        port, chunks, pace = args.play
        asyncio.run(upstream(int(port), int(chunks), float(pace)))
        return
    if args.pass_on:
        pass_through(int(args.pass_on[0]), args.pass_on[1])
        return
    print(f"{'':28}{'streams/s':>10}{'us of CPU a chunk':>20}{'us on the way':>16}")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(args, Path(folder)):
            print(f"{row['name']:28}{row['streams']:10.1f}{row['cpu']:20.1f}{row['late']:16.0f}")


def rows(args: argparse.Namespace, folder: Path) -> Iterator[dict]:
    fast, slow = free_port(), free_port()
    play = [sys.executable, __file__, "--play"]
    with (
        running([*play, str(fast), str(args.chunks), "0"], fast, folder / "fast"),
        running([*play, str(slow), "100", str(args.pace)], slow, folder / "slow"),
    ):
        for name, path, body, command in text_between(folder, args.litellm):
            row, made = {}, []
            for upstream_port in (fast, slow):
                port = free_port()
                if command is None:
                    made.append((upstream_port, None))
                    continue
                made.append((port, command(port, upstream_port)))
            for at, (port, line) in enumerate(made):
                with running(line, port, folder / "log") if line else nothing() as process:
                    if at == 0:
                        row = asyncio.run(measure(name, port, process, path, body, args.streams))
                    else:
                        row["late"] = asyncio.run(paced(port, path, body))
            if row["got"] != args.streams * args.chunks:
                row["name"] += f" ({row['got']} of {args.streams * args.chunks} chunks!)"
            yield row


@contextmanager
def nothing() -> Iterator[None]:
    yield None


def text_between(folder: Path, python: str | None) -> Iterator[tuple]:
    def passing(port: int, upstream: int) -> list[str]:
        return [sys.executable, __file__, "--pass-on", str(port), f"http://127.0.0.1:{upstream}"]

    def gateway(port: int, upstream: int) -> list[str]:
        said = ["--upstream", f"http://127.0.0.1:{upstream}", "--kind", "llama.cpp"]
        where = ["--template", str(TEMPLATE), "--port", str(port)]
        return [sys.executable, "-m", "deltaparse", "serve", *said, *where]

    def litellm(port: int, upstream: int) -> list[str]:
        said = {"model": "text-completion-openai/tiny", "api_key": "x"}
        said["api_base"] = f"http://127.0.0.1:{upstream}/v1"
        config = {"model_list": [{"model_name": "tiny", "litellm_params": said}]}
        file = folder / f"litellm{upstream}.yaml"
        file.write_text(json.dumps(config))
        start = "from litellm.proxy.proxy_cli import run_server; run_server()"
        return [str(python), "-c", start, "--config", str(file), "--port", str(port)]

    yield "nothing in between", "/completion", {"prompt": "Hi"}, None
    yield "passed on as bytes", "/completion", {"prompt": "Hi"}, passing
    for path, body in PATHS.items():
        yield f"gateway {path}", path, body, gateway
    if python is not None:
        chat = "/v1/chat/completions"
        yield f"litellm {chat}", chat, PATHS[chat] | {"model": "tiny"}, litellm


if __name__ == "__main__":
    main()
