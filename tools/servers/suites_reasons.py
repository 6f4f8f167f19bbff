"""Reasons why a test of vLLM may fail with our parsers.

Each rule has a pattern for the test, a pattern for its message, and the reason. The first match
counts. `make suites` fails for tests without a match.
"""

from __future__ import annotations

import re

__all__ = ["reason_of"]

INSIDE = "looks into vLLM's own parser: its attributes, its helpers, its class"
NO_PROMPT = (
    "gives no prompt, and a switch of the request says that it opens or closes reasoning; ours "
    "reads the prompt, which vLLM's serving always passes on"
)
NONEMPTY = (
    "a switch by which an answer that is all reasoning is content: `unclosed_reasoning='copy'`"
)
OUTPUT = "asks of an answer what the server asks of a prompt: whether it has closed reasoning"
DECODE = "reads tokens with a tokenizer that has no text for them"
WORDS = "passes words where tokens belong"
ALONE = (
    "asks one parser for what two do in the server: markers of content are read by the tool "
    "parser, and structural tags are attached before it adjusts a request"
)
CALL_IN_REASONING = "a call in reasoning is a draft: `call_ends_reasoning` has it end reasoning"
AROUND = "text round calls is content, in the place where it stands, with its white space"
UNKNOWN = "a call of an unknown function, or with unknown arguments, is a call: `Policies`"
CUT = "a call that is cut or broken is a call that is not complete: `Policies`"
TYPES = (
    "arguments are what the call says, with the types of the schema; none is unwrapped or renamed"
)
JSON_TEXT = "JSON is passed on as it was written, also in its white space"
CHUNKS = "wants the calls of a chunk one by one, or a call's arguments all at once"
SPELLING = "a grammar holds to the format as the template writes it, white space too"
STRICT = "asks for strictness by a level of vLLM's own"
MISSPELLED = "a misspelled marker is text"
OTHER_FORM = "a spelling that has a format of its own here, or none: see the names"
MARKER = (
    "a start marker without the name of its channel is text; an end marker alone is left for the "
    "tool parser, which drops it"
)
SPACE = "white space that the template writes at markers belongs to them, and no more"
FLAGS = "the stand-in tokenizer has no special tokens, so that none has to be asked for"
BROKEN_PYTHON = "what is no Python breaks a call, which is then not complete"
NO_ERROR = "refuses requests of a form of its own"
REPEATED = "keys that repeat are kept, and the last one counts: `Policies`"
UNCLOSED = "a value goes on to its end marker, or to the end of the call"
EMPTY = "nothing is None"

RULES = [
    (r"", r"DummyTokenizer' object has no attribute 'decode'", DECODE),
    (r"", r"'str' object cannot be interpreted as an integer", WORDS),
    (r"", r"AttributeError|does not have the attribute", INSIDE),
    (r"", r"isinstance\(<deltaparse|<class '(deltaparse|suites_plugin)", INSIDE),
    (r"", r"assert 'deltaparse' ==|^assert \[\] == \[False\]", INSIDE),
    (r"test_gptoss_reasoning", r"in channels cannot be split off", "channels: one parser for all"),
    # Reasoning.
    (r"test_granite_reasoning_parser", r"", INSIDE),
    (r"reasoning_parser.py", r"assert None == ''", EMPTY),
    (r"nonempty|promotes|moves_into", r"", NONEMPTY),
    (r"reasoning_parser.py", r"^assert False == True$", OUTPUT),
    (r"new_line", r"<think>|reasoning section \? \+ \+", SPACE),
    (r"whitespace_only|leading_newlines|newlines_only", r"", SPACE),
    (
        r"tool_(call|section)|handoff|explicit_and_implicit",
        r"read the file|reasoning'|plan",
        CALL_IN_REASONING,
    ),
    (r"test_gemma4_reasoning\[", r"'This|'thous|'This\\n|re\.\.\.", MARKER),
    (r"leading_end|only_end_think|drops_leading", r"</(mm:)?think>", MARKER),
    (r"test_hunyuan_reasoning|kimi_k3_reasoning", r"<answer>|response", ALONE),
    (r"adjust_request|skip_special_tokens", r"", FLAGS),
    (r"invalid_reasoning_effort", r"DID NOT RAISE", NO_ERROR),
    (r"_reasoning_parser.py", r"", NO_PROMPT),
    # Calls.
    (r"test_k2_horizon_tool", r"DID NOT RAISE", NO_ERROR),
    (r"character_split_streaming|large_integer\[True-xml", r"JSONDecodeError", CHUNKS),
    (
        r"test_k2_horizon.*(json|xml_typed|tool_request|mismatched|ifm\|tool_call|character)",
        r"",
        OTHER_FORM,
    ),
    (r"test_k2_horizon.*(malformed|flushes_incomplete)", r"", CUT),
    (r"gigachat3|granite_tool_parser", r"", OTHER_FORM),
    (r"granite4.*complex", r"Here goes", SPACE),
    (r"llama3_json.*simple|surrounding_text|arguments_key", r"called", OTHER_FORM),
    (r"only one tool call per update|", r"only one tool call per update", CHUNKS),
    (r"streaming_incremental|before_end_marker", r"", CHUNKS),
    (r"structured_outputs|native_syntax|skips_json_schema|ifm_parser", r"", ALONE),
    (r"rejected_without_structural_tag", r"DID NOT RAISE", NO_ERROR),
    (r"strict_level|default_level|operator_level", r"", STRICT),
    (r"structural_tag_registry", r"", SPELLING),
    (r"missing_closing", r"", UNCLOSED),
    (r"duplicate|nested_tool_call", r"", REPEATED),
    (r"lfm2.*(set_arg|nested_|leading_zero)", r"", BROKEN_PYTHON),
    (r"unknown|alias|extra_arg|zero_arg|wrapped|case_sensitive|filters", r"", UNKNOWN),
    (
        r"coerced|number_param|wrapper|conversion|multiple_params|header_and_params|types",
        r"",
        TYPES,
    ),
    (
        r"malformed|[Bb]are_|opener|collapsed|space_marker|sentencepiece|noise|colon|mixed_calls",
        r"",
        MISSPELLED,
    ),
    (r"incomplete|invalid|cut", r"", CUT),
    (r"test_single_tool_call", r"'\{\"location\"", JSON_TEXT),
    (
        r"",
        r"'(\\n)*(Thank|Checking)|hellohi|prefix|check|Outro|Tail|After tools|grocer|think>|called",
        AROUND,
    ),
    (r"jamba", r"'' == ' '", AROUND),
    (r"dots.*fallback", r"", OTHER_FORM),
]


def reason_of(test: str, said: str) -> str:
    """Return the reason of a difference, "" if there is none."""
    text = " ".join(said.split())
    fitting = (
        reason
        for where, words, reason in RULES
        if re.search(where, test) and re.search(words, text)
    )
    return next(fitting, "")
