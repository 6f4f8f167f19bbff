"""Replacements for engines that are not installed: their names, and a scripted model.

`make test-loops` runs the examples with the real engines.
"""

from __future__ import annotations

import json
import runpy
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CALL = '<tool_call>{"name": "clock", "arguments": {"zone": "Asia/Tokyo"}}</tool_call>'
END = "<|im_end|>"


def example(name):
    """Return the names defined in an example's file."""
    return runpy.run_path(str(EXAMPLES / name))


def module(monkeypatch, name, **names):
    """Install a module with some names for the test, including its parent packages."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        above = ".".join(parts[:count])
        monkeypatch.setitem(sys.modules, above, sys.modules.get(above) or ModuleType(above))
    vars(sys.modules[name]).update(names)


class Asked(SimpleNamespace):
    """Accepts any keyword arguments, and records them."""


class Script:
    """The scripted output as token ids, up to a token limit."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.asked = []

    def ids(self, limit):
        ids = self.tokenizer.encode(CALL + END, add_special_tokens=False)
        return ids[:limit], "stop" if len(ids) <= limit else "length"

    def vllm(self, monkeypatch):
        script = self

        class LLM:
            def __init__(self, path):
                pass

            def get_tokenizer(self):
                return script.tokenizer

            def generate(self, prompts, sampling):
                script.asked.append(sampling)
                ids, reason = script.ids(sampling.max_tokens)
                answer = SimpleNamespace(token_ids=ids, finish_reason=reason)
                return [SimpleNamespace(outputs=[answer]) for _ in prompts]

        class AsyncLLM(LLM):
            @classmethod
            def from_engine_args(cls, args):
                return cls(args.model)

            async def generate(self, prompt, sampling, name):
                (request,) = super().generate([prompt], sampling)
                ids, reason = request.outputs[0].token_ids, request.outputs[0].finish_reason
                for at, id in enumerate(ids):
                    last = reason if at == len(ids) - 1 else None
                    yield SimpleNamespace(outputs=[Asked(token_ids=[id], finish_reason=last)])

            def shutdown(self):
                pass

        module(monkeypatch, "vllm", LLM=LLM, SamplingParams=Asked, AsyncEngineArgs=Asked)
        kinds = SimpleNamespace(DELTA="delta")
        names = {"StructuredOutputsParams": Asked, "RequestOutputKind": kinds}
        module(monkeypatch, "vllm.sampling_params", **names)
        module(monkeypatch, "vllm.v1.engine.async_llm", AsyncLLM=AsyncLLM)

    def sglang(self, monkeypatch):
        script = self

        class Engine:
            tokenizer_manager = SimpleNamespace(tokenizer=script.tokenizer)

            def __init__(self, model_path):
                pass

            def generate(self, *, input_ids, sampling_params, stream):
                script.asked.append(Asked(**sampling_params))
                ids, reason = script.ids(sampling_params["max_new_tokens"])
                for count in range(1, len(ids) + 1):
                    last = {"type": reason} if count == len(ids) else None
                    yield {"output_ids": ids[:count], "meta_info": {"finish_reason": last}}

            def shutdown(self):
                pass

        module(monkeypatch, "sglang", Engine=Engine)

    def llama_cpp(self, monkeypatch):
        script = self

        class Llama:
            _model = SimpleNamespace(vocab=None)

            def __init__(self, path, **options):
                pass

            def tokenize(self, text, *, add_bos, special):
                assert (add_bos, special) == (False, True)
                return script.tokenizer.encode(text.decode(), add_special_tokens=False)

            def generate(self, ids, *, grammar, temp):
                script.asked.append(grammar)
                yield from script.ids(1_000)[0]

        def is_eog(vocab, token):
            return token == script.tokenizer.eos_token_id

        grammar = SimpleNamespace(from_string=lambda text: Asked(grammar=text))
        names = {"Llama": Llama, "LlamaGrammar": grammar, "llama_vocab_is_eog": is_eog}
        module(monkeypatch, "llama_cpp", **names)

    def mlx_lm(self, monkeypatch):
        def load(path):
            model = SimpleNamespace(args=SimpleNamespace(vocab_size=len(self.tokenizer)))
            return model, _Wrapped(self.tokenizer)

        def stream_generate(model, tokenizer, prompt, *, max_tokens, logits_processors):
            self.asked.append(Asked(processors=logits_processors))
            ids, reason = self.ids(max_tokens)
            for at, id in enumerate(ids):
                yield SimpleNamespace(
                    token=id, finish_reason=reason if at == len(ids) - 1 else None
                )

        module(monkeypatch, "mlx_lm", load=load, stream_generate=stream_generate)
        module(monkeypatch, "mlx.core", array=list, where=None, inf=float("inf"))


class _Wrapped:
    """mlx-lm's wrapper of a tokenizer. It delegates other attributes to transformers."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)


def texts(limit):
    """Return the output up to a limit of characters, and True if it is complete."""
    text = CALL + END
    return [text[at : at + 7] for at in range(0, min(len(text), limit), 7)], len(text) <= limit


def completions(body):
    """Yield the events of `/v1/completions`."""
    written, whole = texts(body["max_tokens"])
    for text in written:
        yield {"choices": [{"text": text, "finish_reason": None}]}
    yield {"choices": [{"text": "", "finish_reason": "stop" if whole else "length"}]}
    yield {"choices": [], "usage": {"completion_tokens": len(written)}}


def llama_server(body):
    """Yield the events of llama-server's `/completion`."""
    written, whole = texts(body["n_predict"])
    yield from ({"content": text, "stop": False} for text in written)
    yield {"content": "", "stop": True, "stop_type": "eos" if whole else "limit"}


@contextmanager
def serving(events, props=None):
    """Run a local server that sends events. Yield its address and the received requests."""
    asked = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer(json.dumps(props).encode(), "application/json")

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path == "/tokenize":  # one token per character
                ids = [*map(ord, body["content"])]
                self.answer(json.dumps({"tokens": ids}).encode(), "application/json")
                return
            asked.append(body)
            sent = "".join(f"data: {json.dumps(event)}\n\n" for event in events(asked[-1]))
            self.answer(f"{sent}data: [DONE]\n\n".encode(), "text/event-stream")

        def answer(self, body, kind):
            self.send_response(200)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
