"""A scripted upstream, and gateways for it, on loopback sockets."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
httpx = pytest.importorskip("httpx")
uvicorn = pytest.importorskip("uvicorn")

from deltaparse import ChatTemplate, analyze  # noqa: E402
from deltaparse.gateway import Gateway, HttpClient, Model, Records, Settings  # noqa: E402,F401
from deltaparse.gateway.http_server import LimitedHttp  # noqa: E402
from deltaparse.gateway.upstreams.llama_cpp_upstream import LlamaCpp  # noqa: E402
from deltaparse.gateway.upstreams.openai_upstream import OpenAI  # noqa: E402
from deltaparse.gateway.upstreams.sglang_upstream import SGLang  # noqa: E402
from deltaparse.gateway.upstreams.tgi_upstream import TGI  # noqa: E402

from .asking import CLIENT  # noqa: E402
from .scripted import ScriptedUpstream  # noqa: E402

TEMPLATES = Path(__file__).parents[1] / "templates"
KINDS = {kind.kind: kind for kind in (OpenAI, LlamaCpp, SGLang, TGI)}


def model_of(name, **tokens):
    template = ChatTemplate((TEMPLATES / f"{name}.jinja").read_text(), **tokens)
    return Model(template, analyze(template))


class Running:
    """A gateway on its own port, in its own thread."""

    def __init__(
        self,
        upstream,
        *,
        model="json_in_tags",
        kind="openai",
        grammars="structured_outputs",
        options=(),
        records=None,
        **settings,
    ):
        self.model = model_of(model, bos_token="<s>")
        made = KINDS[kind](**({"grammars": grammars} if kind == "openai" else {}), **dict(options))
        chosen = Settings(**settings)
        client = HttpClient(upstream.url, chosen, key=chosen.upstream_key)
        self.gateway = Gateway(self.model, made, client, chosen, records)
        config = uvicorn.Config(
            self.gateway.app(),
            http=LimitedHttp,
            port=0,
            log_level="critical",
            timeout_graceful_shutdown=0.3,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=lambda: asyncio.run(self.server.serve()), daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        port = self.server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def stop(self):
        self.server.should_exit = True
        self.thread.join(10)

    def post(self, path, body, **options):
        return CLIENT.post(self.url + path, json=body, **options)


@pytest.fixture(scope="session", autouse=True)
def client():
    yield CLIENT
    CLIENT.close()


@pytest.fixture(scope="module")
def upstream():
    made = ScriptedUpstream()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def gateways(upstream):
    """Return a function that starts a gateway with given options, once per module.

    The gateways are stopped after the module. Their threads share `random` with the strategies of
    other tests.
    """
    running = {}

    def gateway(**options):
        key = repr(sorted(options.items()))
        if key not in running:
            running[key] = Running(upstream, **options)
        return running[key]

    yield gateway
    for one in running.values():
        one.server.should_exit = True
    for one in running.values():
        one.stop()


@pytest.fixture
def gateway(gateways, upstream):
    upstream.plays()
    return gateways()
