"""Why a test of vLLM's may fail with our parsers in the place of its own.

Each rule is a pattern for the test, a pattern for what it said, and the reason. The first that fits
counts. What fits none has no reason, and `make suites` fails for it.
"""

from __future__ import annotations

import re

__all__ = ["reason_of"]

INSIDE = "looks into vLLM's own parser: its attributes, its helpers, its class"
NO_PROMPT = (
    "gives no prompt, and a switch of the request says that it opens or closes reasoning; ours "
    "reads the prompt, which vLLM's serving always passes on"
)
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
TYPES = "arguments are what the call says, with the types of the schema; none is unwrapped or renamed"
JSON_TEXT = "JSON is passed on as it was written, also in its white space"
CHUNKS = "wants the calls of a chunk one by one, or a call's arguments all at once"
SPELLING = "a grammar holds to the format as the template writes it, white space too"
STRICT = "asks for strictness by a level of vLLM's own"
MISSPELLED = "a misspelled marker is text"
OTHER_FORM = "a spelling that has a format of its own here, or none: see the names"
MARKER = "a start marker without the name of its channel, or an end marker alone, is text"
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
    (r"", r"isinstance\(<deltaparse|<class '(deltaparse|suites_plugin)|isinstance\(None", INSIDE),
    (r"", r"assert 'deltaparse' ==|^assert \[\] == \[False\]", INSIDE),
]


def reason_of(test: str, said: str) -> str:
    """Return the reason of a difference, "" if there is none."""
    text = " ".join(said.split())
    fitting = (
        reason for where, words, reason in RULES if re.search(where, test) and re.search(words, text)
    )
    return next(fitting, "")
