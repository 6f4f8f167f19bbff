"""The example clients with the example server, and a check of their output."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import threading
from http.server import ThreadingHTTPServer

import pytest

from .stand_ins import EXAMPLES, example

SHOWN = runpy.run_path(str(EXAMPLES.parent / "tools" / "loops" / "shown.py"))
NODE = os.environ.get("DELTAPARSE_NODE")


@pytest.fixture(scope="module")
def url():
    handler = example("clients/server.py")["Handler"]
    quiet = type("Quiet", (handler,), {"log_message": lambda *said: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("anthropic_client.py", "anthropic"),
        ("openai_client.py", "openai"),
        ("openai_responses.py", "openai"),
    ],
)
def test_python_clients_print_the_message(name, package, url, capsys):
    pytest.importorskip(package, reason=f"the {package} package is not installed")
    example(f"clients/{name}")["main"](url)
    assert SHOWN["client"](capsys.readouterr().out, answers=1, reasoning=1) == ""


@pytest.mark.skipif(
    NODE is None or shutil.which("node") is None,
    reason="DELTAPARSE_NODE names no folder with the JavaScript clients",
)
@pytest.mark.parametrize(
    ("name", "answers"),
    [("ai_sdk_client.mjs", 3), ("anthropic_client.mjs", 1), ("openai_client.mjs", 2)],
)
def test_javascript_clients_print_the_message(name, answers, url, tmp_path):
    shutil.copy(EXAMPLES / "clients" / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(f"{NODE}/node_modules")
    command = ["node", name, url]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, encoding="utf-8")
    assert SHOWN["client"](done.stdout, answers=answers, reasoning=answers) == ""


def test_check_detects_wrong_output():
    """Test the check itself."""
    engine, client = SHOWN["engine"], SHOWN["client"]
    run = "run clock {'zone': 'UTC'}\n"
    assert engine(f"{run}tool_calls ''\n", cut=False) == ""
    assert engine("length ''\n", cut=True) == ""
    for printed, cut in [
        ("", False),
        ("tool_calls ''\n", False),
        (f"{run}length ''\n", True),
        (f"{run}length ''\n", False),
        (run.replace("UTC", "x") + "tool_calls ''\n", False),
        (f"{run}tool_calls '<tool_call>'\n", False),
    ]:
        assert engine(printed, cut=cut) != ""
    good = (
        "reasoning Two zones: two calls.\n"
        'call a clock {"zone": "Asia/Tokyo"}\ncall b clock {"zone": "Europe/Lisbon"}\n'
        "tool_calls 50\nIt is nine in Tokyo, and one in Lisbon.\n"
    )
    assert client(good, answers=1, reasoning=1) == ""
    for old, new in [
        ("It is", "It"),
        ("Lisbon", "Paris"),
        ("call b", "call a"),
        ("two", "three"),
        ("tool_calls", "stop"),
        ("50", "None"),
        ("call b", "whole b"),
    ]:
        assert client(good.replace(old, new), answers=1, reasoning=1) != ""
