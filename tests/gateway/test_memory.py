"""The gateway keeps nothing of the requests that it has answered."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .asking import ASKED, PATHS, free_port, wait_for
from .conftest import TEMPLATES

REQUESTS = int(os.environ.get("DELTAPARSE_REQUESTS", "0"))
AT_A_TIME = 50
ALLOWED = 8 << 20
"""Bytes by which a process may grow once it is warm: what allocators do by themselves."""


def resident(process):
    status = Path(f"/proc/{process}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


async def ask(port, number, request, leaves):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    if leaves:
        await reader.read(200)
    else:
        answer = await reader.read(-1)
        assert answer.startswith(b"HTTP/1.1 200"), (number, answer)
    writer.close()


@pytest.mark.skipif(not REQUESTS, reason="takes minutes: make test-gateway")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_memory_does_not_grow_with_requests(upstream):
    upstream.plays(chunks=["<ponder>\nSo.\n</ponder>\n\n", *["The sum is 26. "] * 8])
    upstream.documents["/tokenize"] = {"tokens": []}
    port = free_port()
    command = ["serve", "--upstream", upstream.url, "--kind", "llama.cpp", "--port", str(port)]
    source = ["--template", str(TEMPLATES / "json_in_tags.jinja")]
    process = subprocess.Popen([sys.executable, "-m", "deltaparse", *command, *source])

    async def many(count):
        places = asyncio.Semaphore(AT_A_TIME)

        async def one(number):
            path = PATHS[number % 3]
            body = json.dumps(ASKED[path] | {"stream": number % 2 == 0}).encode()
            head = f"POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
            request = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
            async with places:
                await ask(port, number, request, leaves=number % 11 == 0)

        for start in range(0, count, 1000):
            await asyncio.gather(*[one(at) for at in range(start, min(start + 1000, count))])
            upstream.bodies.clear()
            upstream.heads.clear()

    try:
        wait_for(f"http://127.0.0.1:{port}")
        sizes = []
        for asked in range(1, 11):
            asyncio.run(many(REQUESTS // 10))
            sizes.append(resident(process.pid))
            print(f"{asked * REQUESTS // 10} requests: {sizes[-1] >> 10} KiB", flush=True)
        assert sizes[-1] - sizes[0] < ALLOWED
    finally:
        process.terminate()
        process.wait(20)
