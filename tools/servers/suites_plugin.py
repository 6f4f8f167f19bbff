"""The pytest plugin of `suites.py`: replace vLLM's parsers by our plugins.

For each name with a format, the registries and the defining modules are changed. With
`SUITES_PARSERS=theirs` vLLM's own parsers stay. Tokenizers from a hub are replaced
(`stand_ins.py`). Streams are ended as in vLLM's serving, a step missing in its tests.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

import peers

warnings.simplefilter("ignore")
peers.install(("vllm",))

import tests.reasoning.utils as reasoning_utils  # noqa: E402
import tests.tool_parsers.utils as tool_utils  # noqa: E402
import transformers  # noqa: E402
import vllm.tokenizers  # noqa: E402
from stand_ins import stand_in  # noqa: E402
from vllm.reasoning import ReasoningParserManager  # noqa: E402
from vllm.tool_parsers import ToolParserManager  # noqa: E402

from deltaparse.servers import vllm_reasoning_parser, vllm_tool_parser  # noqa: E402

OURS = os.environ.get("SUITES_PARSERS") != "theirs"


def tool_parser(name: str) -> type:
    """Return our tool parser of a name. Without tools, it accepts calls of any function.

    vLLM does not use the tool parser for requests without tools, but its tests do.
    """
    ours: Any = vllm_tool_parser(f"vllm:{name}")

    class Asked(ours):  # type: ignore[misc]
        def _parser_of(self, request: Any) -> Any:
            tools = getattr(request, "tools", None)
            if request is None or isinstance(request, Mock) or not tools:
                request = SimpleNamespace(tools=None, tool_choice="auto")
            return super()._parser_of(request)

    Asked.__name__ = Asked.__qualname__ = ours.__name__
    return Asked


def replace(listed: dict[str, tuple[str, str]], registered: dict[str, Any], made: Any) -> None:
    """Replace the parsers listed by vLLM by our classes, in all loaded modules."""
    ours: dict[type, Any] = {}
    for name, (path, class_name) in listed.items():
        # If a stub is not sufficient for a module, its tests do not run either.
        with suppress(Exception):
            theirs = getattr(import_module(path), class_name)
            registered[name] = made(name)
            # A class with several names gets the one of its file.
            if theirs not in ours or name in path:
                ours[theirs] = registered[name]
    for module in [one for name, one in sys.modules.items() if name.startswith("vllm.")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and value in ours:
                setattr(module, name, ours[value])


def ended(run: Any) -> Any:
    """Return a streaming helper of the tests that also ends the stream."""

    def running(parser: Any, *args: Any, **named: Any) -> Any:
        reconstructor = run(parser, *args, **named)
        finish = getattr(parser, "finish_streaming", None)
        last = finish() if finish is not None and parser.engine_based_streaming else None
        if last is not None:
            reconstructor.append_delta(last)
        # Some tests reuse the parser, but a server creates a new one.
        for name in ("_parser", "_split", "_answer"):
            if hasattr(parser, name):
                setattr(parser, name, None)
        return reconstructor

    return running


if OURS:
    replace(ToolParserManager.lazy_parsers, ToolParserManager.tool_parsers, tool_parser)
    replace(
        ReasoningParserManager.lazy_parsers,
        ReasoningParserManager.reasoning_parsers,
        lambda name: vllm_reasoning_parser(f"vllm:{name}"),
    )
    tool_utils.run_tool_extraction_streaming = ended(tool_utils.run_tool_extraction_streaming)
    reasoning_utils.run_reasoning_extraction_streaming = ended(
        reasoning_utils.run_reasoning_extraction_streaming
    )


def from_hub(name: Any = "", *args: Any, **named: Any) -> Any:
    """Replace a tokenizer from a hub."""
    del args
    return stand_in(str(named.get("tokenizer_name", name)))


transformers.AutoTokenizer.from_pretrained = from_hub
vllm.tokenizers.get_tokenizer = from_hub


@pytest.fixture(scope="module")
def default_tokenizer() -> Any:
    """Return the tokenizer of tests without a specific one."""
    return stand_in("gpt2")


class Outcomes:
    """The outcomes of all tests, written as JSON at the end."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the outcome and the message of a test."""
        if report.when != "call" and report.outcome == "passed":
            return
        said = getattr(getattr(report.longrepr, "reprcrash", None), "message", None)
        where = getattr(getattr(report.longrepr, "reprcrash", None), "path", "")
        said = str(report.longrepr or "") if said is None else said
        outcome = "expected to fail" if hasattr(report, "wasxfail") else str(report.outcome)
        if said.startswith("[XPASS"):
            outcome = "passed, and expected to fail"
        self.found[report.nodeid] = [outcome, said, Path(where).name]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a file that cannot be collected."""
        if report.failed:
            said = str(report.longrepr).strip().splitlines()
            self.found[report.nodeid] = ["error", said[-1] if said else "", ""]

    def pytest_sessionfinish(self) -> None:
        """Write all outcomes."""
        Path(os.environ["SUITES_OUTCOMES"]).write_text(json.dumps(self.found), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder."""
    config.pluginmanager.register(Outcomes())
