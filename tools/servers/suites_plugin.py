"""The pytest plugin of `suites.py`: our plugins stand where vLLM's parsers stood.

Under the names of their registries and in the modules that define them, for each name that we have
a format for. `SUITES_PARSERS=theirs` leaves vLLM's own parsers there: what fails with them too says
nothing of ours. Tokenizers from a hub are stood in for (`stand_ins.py`). Streams are ended, as
vLLM's serving ends them; its tests leave that out.
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
    """Our tool parser of a name; asked without tools, it takes any function's call.

    vLLM takes a request without tools for one that wants no calls, and does not ask the tool
    parser; its tests do.
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
    """Put our classes in the place of those that vLLM lists, wherever they are at hand."""
    ours: dict[type, Any] = {}
    for name, (path, class_name) in listed.items():
        # Where a stub is not enough for a module, its tests do not run either.
        with suppress(Exception):
            theirs = getattr(import_module(path), class_name)
            registered[name] = made(name)
            # A class of several names has that of its file.
            if theirs not in ours or name in path:
                ours[theirs] = registered[name]
    for module in [one for name, one in sys.modules.items() if name.startswith("vllm.")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and value in ours:
                setattr(module, name, ours[value])


def ended(run: Any) -> Any:
    """A helper of the tests that reads a stream, with the stream's end."""

    def running(parser: Any, *args: Any, **named: Any) -> Any:
        reconstructor = run(parser, *args, **named)
        finish = getattr(parser, "finish_streaming", None)
        last = finish() if finish is not None and parser.engine_based_streaming else None
        if last is not None:
            reconstructor.append_delta(last)
        # Some tests go on with the same parser, for which a server makes a new one.
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
    """Stand in for a tokenizer from a hub."""
    del args
    return stand_in(str(named.get("tokenizer_name", name)))


transformers.AutoTokenizer.from_pretrained = from_hub
vllm.tokenizers.get_tokenizer = from_hub


@pytest.fixture(scope="module")
def default_tokenizer() -> Any:
    """The tokenizer of tests that do not want a certain one."""
    return stand_in("gpt2")


class Outcomes:
    """What came of each test, written as JSON at the end."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test came to, and what it said."""
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
        """Keep which file could not be read."""
        if report.failed:
            said = str(report.longrepr).strip().splitlines()
            self.found[report.nodeid] = ["error", said[-1] if said else "", ""]

    def pytest_sessionfinish(self) -> None:
        """Write all of it."""
        Path(os.environ["SUITES_OUTCOMES"]).write_text(json.dumps(self.found), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the tests."""
    config.pluginmanager.register(Outcomes())
