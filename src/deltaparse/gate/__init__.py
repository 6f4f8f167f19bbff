"""A fail-closed gate between a model's response and the execution of its calls.

    primary      <tool name="search_web">{"query": "..."}</tool>     anywhere in the prose
    fallback A   {"tool": "search_web", "arguments": {"query": "..."}}     the complete response
    fallback B   [search_web(query="...")]                                 the complete response

The gate has two phases. `ToolGate.extract` finds candidates in text, without the list of tools.
`ToolGate.validate` checks them against the allow-list and each tool's schema. Only phase two
creates executable calls. In doubt the calls are refused, with a reason code. If the model meant to
call a tool, the decision includes a request to write the call again.

Accepted candidates and refused text (SECURITY.md has the details):

    subject                  accepted                        refused or ignored
    -----------------------  ------------------------------  -----------------------------------
    parser, text and format  the calls of the parser         anything else, also tags in content
    text around a call       prose, closed delimiters        a fence, a quotation, an element
    message                  its calls, or a tag in content  both; a tag before reasoning
    the call                 complete                        truncated, repaired, duplicate members
    unmarked calls           alone in the turn               with text before or after them
    the turn                 no issue, or a harmless one     any other issue of the parser
    reasoning                after it                        in it, or before its end
    quotation marks          after the closing mark          between, next to, after an unclosed one
    code                     after it                        in a fence, in a span, indented
    a line                   prose, lists                    block quotes, tables, prompts
    struck out               after it                        between ~~ or ~
    elements                 after them                      between the tags, before a lone end tag
    the end of the turn      before it                       after it, or if more text follows
    a fallback               the response, with intent       next to any other text

Import the public names from here. Each module starts with its rules: `tags` for the primary format,
`fallbacks`, `strict_arguments`, `schemas`, and `validation` for the decision.
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
