"""The fail-closed gate between what a model wrote and what is executed.

    primary      <tool name="search_web">{"query": "..."}</tool>     anywhere in the prose
    fallback A   {"tool": "search_web", "arguments": {"query": "..."}}      the whole output
    fallback B   [search_web(query="...")]                                  the whole output

Two phases. `ToolGate.extract` finds candidates in text; it executes nothing, decides nothing and
knows no tool. `ToolGate.validate` holds them to the allow-list and to each tool's schema, and alone
makes calls that may be executed. In doubt the answer is no, with a reason in a word and, if the
model meant to call, a request to write the call again.

Users import what is here. The rules of each step stand at the top of its module: `tags` for the
primary format, `fallbacks`, `payload` for arguments, `schemas`, and `validation` for the decision.
"""

from .gate import ToolGate
from .records import Candidate, Candidates, Decision, ExecutableCall, Reason
from .telemetry import ParseMode, ResultStatus, Telemetry, TelemetrySink

__all__ = [
    "Candidate",
    "Candidates",
    "Decision",
    "ExecutableCall",
    "ParseMode",
    "Reason",
    "ResultStatus",
    "Telemetry",
    "TelemetrySink",
    "ToolGate",
]
