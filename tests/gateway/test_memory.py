"""The gateway's memory does not grow with completed requests."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

from .asking import ASKED, PATHS, free_port, wait_for
from .conftest import TEMPLATES

REQUESTS = int(os.environ.get("DELTAPARSE_REQUESTS", "0"))
AT_A_TIME = 50
ALLOWED = 8 << 20
"""Allowed growth of a warm process in bytes, caused by allocators."""


def resident(process):
    status = Path(f"/proc/{process}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


async def ask(session, number):
    path = PATHS[number % 3]
    body = ASKED[path] | {"stream": number % 2 == 0}
    async with session.post(path, json=body) as answer:
        assert answer.status == 200, (number, answer)
        if number % 11 == 0:
            await answer.content.readany()
            answer.close()  # the client disconnects
        else:
            await answer.read()


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
        numbers = iter(range(count))

        async def client():
            for number in numbers:
                await ask(session, number)
                upstream.bodies.clear()
                upstream.heads.clear()

        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            await asyncio.gather(*[client() for _ in range(AT_A_TIME)])

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
