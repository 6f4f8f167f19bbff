"""A scripted upstream on real sockets, with the protocol of each kind.

It shares no code with the gateway. The events follow the documentation of the servers.
"""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field

DIALECTS = {
    "/v1/completions": "openai",
    "/completion": "llama.cpp",
    "/generate": "sglang",
    "/generate_stream": "tgi",
}


@dataclass
class Script:
    """The script of the next responses.

    `after` is a pause after the finish reason and before the usage. `fault` follows the chunks:
    "die"
    (the connection breaks), "cut" (the stream ends without a reason), "rubbish", "hang", "error"
    (an
    event with an error), "line" (an endless line).
    """

    chunks: list = field(default_factory=lambda: ["Hi."])
    reason: str = "stop"
    stopped_at: str | int | None = None
    fault: str | None = None
    status: int = 200
    pause: float = 0.0
    wait: float = 0.0
    usage: object = True
    whole: bool = False
    after: float = 0.0
    headers: dict = field(default_factory=dict)


def likely(text, number):
    """Return the top tokens of a script: its own, and others."""
    return [(text, -0.5), *[(f"{n}?", -1.0 - n) for n in range(1, number)]]


def openai_events(script, body):
    top = body.get("logprobs")
    for at, text in enumerate(script.chunks):
        choice = {"index": 0, "text": text, "finish_reason": None, "token_ids": [at]}
        if top is not None:
            said = {"tokens": [text], "token_logprobs": [-0.5]}
            choice["logprobs"] = said | {"top_logprobs": [dict(likely(text, top))] if top else None}
        yield {"choices": [choice]}
    if script.fault:
        return
    end = {"index": 0, "text": "", "finish_reason": script.reason, "stop_reason": script.stopped_at}
    yield {"choices": [end]}
    yield script.after
    if script.usage is not False:
        count = len(script.chunks)
        usage = {"prompt_tokens": 7, "completion_tokens": count, "total_tokens": 7 + count}
        yield {"choices": [], "usage": usage if script.usage is True else script.usage}
    yield None


def llama_events(script, body):
    for text in script.chunks:
        event = {"index": 0, "content": text, "tokens": [1], "stop": False}
        if top := body.get("n_probs"):
            tops = [{"id": 1, "token": t, "bytes": [], "logprob": n} for t, n in likely(text, top)]
            event["completion_probabilities"] = [tops[0] | {"top_logprobs": tops}]
        yield event
    if script.fault:
        return
    kind = {"stop": "word" if script.stopped_at else "eos", "length": "limit", "none": "none"}
    end = {"index": 0, "content": "", "tokens": [], "stop": True, "stop_type": kind[script.reason]}
    numbers = {"tokens_predicted": len(script.chunks), "tokens_evaluated": 7}
    yield end | numbers | {"stopping_word": script.stopped_at or ""}


def sglang_events(script, body):
    text = ""
    for at, chunk in enumerate(script.chunks):
        text += chunk
        about = {"prompt_tokens": 7, "completion_tokens": at + 1, "finish_reason": None}
        if at == len(script.chunks) - 1 and not script.fault:
            about["finish_reason"] = {"type": script.reason, "matched": script.stopped_at or 9}
        if body.get("return_logprob"):
            so_far, top = script.chunks[: at + 1], body["top_logprobs_num"]
            about["output_token_logprobs"] = [[-0.5, 7, chunk] for chunk in so_far]
            about["output_top_logprobs"] = [
                [[n, 7, t] for t, n in likely(chunk, top)] if top else None for chunk in so_far
            ]
        yield {"text": text, "meta_info": about}
    if not script.fault:
        yield None


def tgi_events(script, body):
    for at, text in enumerate(script.chunks):
        token = {"id": 1, "text": text, "logprob": -0.5, "special": False}
        event = {"token": token, "generated_text": None}
        if top := body["parameters"].get("top_n_tokens"):
            event["top_tokens"] = [{"id": 1, "text": t, "logprob": n} for t, n in likely(text, top)]
        event["details"] = None
        if at == len(script.chunks) - 1 and not script.fault:
            reason = {"stop": "eos_token"}.get(script.reason, script.reason)
            event["generated_text"] = "".join(script.chunks)
            event["details"] = {"finish_reason": reason, "generated_tokens": at + 1}
        yield event


EVENTS = {
    "openai": openai_events,
    "llama.cpp": llama_events,
    "sglang": sglang_events,
    "tgi": tgi_events,
}


class ScriptedUpstream:
    """A server on a loopback port, in its own thread."""

    def __init__(self):
        self.script = Script()
        self.by_prompt = {}
        self.documents = {"/v1/models": {"data": [{"id": "tiny"}]}}
        self.bodies = []
        self.heads = []
        self.gone = threading.Event()
        self.sent = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._ready.wait(10)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def plays(self, **script):
        """Set the script, and clear the recorded requests."""
        self.script, self.by_prompt = Script(**script), {}
        self.bodies, self.heads, self.sent = [], [], 0
        self.gone.clear()

    def stop(self):
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)

    async def _serve(self):
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=1 << 26)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._ended.wait()
        server.close()

    async def _connection(self, reader, writer):
        try:
            while line := await reader.readline():
                method, path, _ = line.decode().split()
                head = {}
                while (line := (await reader.readline()).decode().strip()) != "":
                    name, _, value = line.partition(":")
                    head[name.lower()] = value.strip()
                body = await reader.readexactly(int(head.get("content-length", 0)))
                if not await self._answer(method, path, head, body, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()

    async def _answer(self, method, path, head, body, reader, writer):
        if path not in DIALECTS:
            found = self.documents.get(path)
            if callable(found):
                found = found(json.loads(body))
            status = 404 if found is None else 200
            await self._send(writer, status, json.dumps(found).encode(), {})
            return True
        asked = json.loads(body)
        self.bodies.append(asked)
        self.heads.append(head)
        prompt = asked.get("prompt") or asked.get("text") or asked.get("inputs")
        script = next((one for key, one in self.by_prompt.items() if key in prompt), self.script)
        await asyncio.sleep(script.wait)
        if script.status != 200:
            text = json.dumps({"error": {"message": "the reason of the upstream"}}).encode()
            await self._send(writer, script.status, text, script.headers)
            return True
        if script.whole:
            choice = {"text": "".join(script.chunks), "finish_reason": script.reason}
            await self._send(writer, 200, json.dumps({"choices": [choice]}).encode(), {})
            return True
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
        for name, value in script.headers.items():
            writer.write(f"{name}: {value}\r\n".encode())
        writer.write(b"transfer-encoding: chunked\r\n\r\n")
        watch = asyncio.ensure_future(reader.read(1))
        watch.add_done_callback(lambda one: one.cancelled() or self.gone.set())
        try:
            for event in EVENTS[DIALECTS[path]](script, asked):
                if isinstance(event, float):
                    await asyncio.sleep(event)
                    continue
                text = "[DONE]" if event is None else json.dumps(event)
                await self._chunk(writer, f"data: {text}\n\n".encode())
                self.sent += 1
                await asyncio.sleep(script.pause)
            if script.fault is None:  # further bytes belong to the next request
                watch.cancel()
                await asyncio.wait([watch])
            return await self._end(script.fault, writer)
        finally:
            watch.cancel()

    async def _end(self, fault, writer):
        if fault == "rubbish":
            await self._chunk(writer, b"data: {]\n\n")
        elif fault == "odd":
            await self._chunk(writer, b'data: {"surprise": 1}\n\n')
        elif fault == "error":
            await self._chunk(writer, b'data: {"error": {"message": "out of memory"}}\n\n')
        elif fault == "line":
            for _ in range(80):
                await self._chunk(writer, b"data: " + b"x" * 100_000)
        elif fault == "hang":
            await asyncio.sleep(30)
        elif fault == "die":
            writer.transport.abort()
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return fault is None

    async def _chunk(self, writer, data):
        writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await writer.drain()

    async def _send(self, writer, status, body, headers):
        said = {"content-type": "application/json", "content-length": len(body), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        writer.write(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + body)
        await writer.drain()
