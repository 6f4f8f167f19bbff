"""The fail-closed gate between what a model wrote and what is executed.

    primary      <tool name="search_web">{"query": "..."}</tool>     anywhere in the prose
    fallback A   {"tool": "search_web", "arguments": {"query": "..."}}      the whole output
    fallback B   [search_web(query="...")]                                  the whole output

Two phases. `ToolGate.extract` finds candidates in text; it executes nothing, decides nothing and
knows no tool. `ToolGate.validate` holds them to the allow-list and to each tool's schema, and alone
makes calls that may be executed. In doubt the answer is no, with a reason in a word and, if the
model meant to call, a request to write the call again.

What a candidate is, and its neighbours that are none (SECURITY.md has the same at length):

    where                    a candidate                     none, or refused
    -----------------------  ------------------------------  -----------------------------------
    parser, text and format  what the parser calls a call    all else, a tag in content too
    what is round a call     prose, what is closed           a fence, a quotation, an element
    message                  its calls, or a tag in content  both; a tag before reasoning
    the call                 whole                           cut off, repaired, a member twice
    a call in no markers     alone in its turn               with text before or behind it
    the turn                 no issue, or a harmless one     any other issue of the parser
    reasoning                behind it                       in it, or before its end
    quotation marks          behind the closing one          between, beside, behind one left open
    code                     behind it                       in a fence, a span, indented
    a line                   prose, lists                    block quotes, tables, prompts
    struck out               behind it                       between ~~ or ~
    elements                 behind them                     between both ends, before the end alone
    the end of the turn      before it                       behind it, or if more follows
    a fallback               all of the output, with intent  beside anything

Users import what is here. The rules of each step stand at the top of its module: `tags` for the
primary format, `fallbacks`, `payload` for arguments, `schemas`, and `validation` for the decision.
"""

from .decision import Candidate, Candidates, Decision, ExecutableCall, Reason
from .gate import ToolGate
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
