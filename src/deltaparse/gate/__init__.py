"""The fail-closed gate between what a model wrote and what is executed.

    primary      <tool name="search_web">{"query": "..."}</tool>     anywhere in the prose
    fallback A   {"tool": "search_web", "arguments": {"query": "..."}}      the whole output
    fallback B   [search_web(query="...")]                                  the whole output

Two phases. `extract` finds candidates in text and executes nothing, decides nothing, knows no
tool; `validate` holds them to the allow-list and to each tool's schema, and alone makes calls that
may be executed. In doubt the answer is no, with a reason in a word and, if the model meant to
call, a request to write the call again. The rules are those of the seed `safe-tool-calls.md`;
where it is silent, `tags`, `fallbacks`, `payload`, `schemas` and `validation` say at their top
what was chosen.
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
