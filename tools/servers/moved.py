"""Report names that the plugins need but the servers' newest versions have moved or removed.

python tools/servers/moved.py            the newest wheels, a part of `make test-servers`
"""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from importlib import import_module

import peers

LOOKED_FOR = {
    "vllm": {
        "vllm.entrypoints.generate.base.protocol": "DeltaMessage ExtractedToolCallInformation",
        "vllm.envs": "VLLM_ENFORCE_STRICT_TOOL_CALLING",
        "vllm.parser.abstract_parser": "DelegatingParser",
        "vllm.reasoning.abs_reasoning_parsers": "ReasoningParser ReasoningParserManager",
        "vllm.sampling_params": "StructuredOutputsParams",
        "vllm.tool_parsers.abstract_tool_parser": "ToolParser ToolParserManager",
        "vllm.tool_parsers.utils": "get_json_schema_from_tools",
    },
    "sglang": {
        "sglang.srt.function_call.base_format_detector": "BaseFormatDetector",
        "sglang.srt.function_call.core_types": "StreamingParseResult StructureInfo ToolCallItem",
        "sglang.srt.function_call.function_call_parser": "FunctionCallParser",
        "sglang.srt.function_call.parser_names": "TOOL_CALL_PARSER_NAMES",
        "sglang.srt.parser.reasoning_parser": "BaseReasoningFormatDetector ReasoningParser",
        "sglang.srt.parser.reasoning_parser_names": "REASONING_PARSER_NAMES",
    },
}
"""The names needed by the plugins, by module."""


def newest(name: str) -> str:
    """Return the newest version of a package."""
    command = [sys.executable, "-m", "pip", "index", "versions", name]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"\(([^)]+)\)", said)
    return found[1] if found else peers.VERSIONS[name]


def main() -> int:
    """Print the missing names, and return 1 if there are any."""
    warnings.simplefilter("ignore")
    count = 0
    for server, modules in LOOKED_FOR.items():
        made_for, version = peers.VERSIONS[server], newest(server)
        peers.VERSIONS[server] = version
        peers.install((server,))
        moved = []
        for module, names in modules.items():
            try:
                found = import_module(module)
            except ImportError as error:
                moved.append(f"{module}: {error}")
                continue
            moved += [f"{module}.{one}" for one in names.split() if not hasattr(found, one)]
        print(f"{server} {version}, made for {made_for}:", "; ".join(moved) or "nothing moved")
        count += len(moved)
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
