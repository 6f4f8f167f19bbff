"""Whether what a verified format says of its template is true, judged without the analyzer.

The template renders conversations that were never used for the analysis, under each of its
switches, with tools and without, with content and null, with results and without. What the history
has behind the template's own prompt is parsed behind that prompt, and must be what was said. A
history that does not begin with the prompt is parsed behind a header.
"""

from __future__ import annotations

import json
import re

from deltaparse import TemplateError, parse

SAID = "It stays dry in the city"
THOUGHT = "They ask for the weather"
WANTED = {"city": "Ghent", "days": 3}
ASKED = {"role": "user", "content": "Will it rain this week"}
NEXT = {"role": "user", "content": "Well, thank you"}
NAME = "look_up_weather"
CALL = {"id": "k3Qz81abc", "type": "function", "function": {"name": NAME, "arguments": WANTED}}
RESULT = {"role": "tool", "tool_call_id": "k3Qz81abc", "name": NAME, "content": "sunny spells"}
PARTS = {"city": "string", "days": "integer"}
SCHEMA = {key: {"type": kind, "description": "which"} for key, kind in PARTS.items()}
TOOL = {"name": NAME, "description": "Says what comes"}
TOOL["parameters"] = {"type": "object", "properties": SCHEMA, "required": ["city"]}
TOOLS = [{"type": "function", "function": TOOL}]
THINKING = {"reasoning_content": THOUGHT, "thinking": THOUGHT}
CALLING = {"tool_calls": [CALL]}
TURNS = (
    ({"content": SAID}, None),
    ({"content": SAID}, TOOLS),
    ({"content": SAID} | THINKING, None),
    ({"content": ""} | CALLING, TOOLS),
    ({"content": None} | CALLING, TOOLS),
    ({"content": SAID} | CALLING, TOOLS),
    ({"content": ""} | CALLING | THINKING, TOOLS),
)
"""What is in a turn, and the tools of its conversation."""
ONCE = (ASKED["content"], SAID, THOUGHT, "Ghent", NEXT["content"])
LONGEST_END = 60
"""Characters of what may end a turn; more are words to the model."""
FILLED_IN = "Hm"
"""Stands where a prompt opens reasoning that the history does not show."""


def settings_of(template, fmt):
    """The settings to render under: none, and each value of each switch alone."""
    settings = [{}]
    for name in fmt.switches:
        values = (True, False, *template.choices.get(name, ()))
        settings += [{name: value} for value in values]
    return settings


def false_proofs(template, fmt):
    """The conversations that do not come back, of a format that is called verified."""
    found = []
    for setting in settings_of(template, fmt):
        for said, tools in TURNS:
            outputs = written(template, fmt, said, tools, setting)
            wrong = [problem for output in outputs if (problem := difference(fmt, *output, said))]
            if outputs and len(wrong) == len(outputs):
                found.append((setting, said, wrong[0]))
    return found


def written(template, fmt, said, tools, setting):
    """The prompts and outputs that may stand for a turn; none where that cannot be told."""
    message, found = {"role": "assistant"} | said, []
    results = [RESULT] if "tool_calls" in said else []
    try:
        prompt = rendered(template, [ASKED], tools, add_generation_prompt=True, **setting)
        texts = [
            rendered(template, [ASKED, message, *after], tools, **setting)
            for after in ([], [*results, NEXT])
        ]
    except TemplateError:
        return []
    if not any(header in prompt for header in fmt.turn.headers) or any(map(is_odd, texts)):
        return []
    last = rendered(template, [ASKED], tools, **setting).partition(ASKED["content"])[2]
    texts = [text.removesuffix(commonly_last(text, last)) for text in texts]
    for text in texts:
        outputs = [*outputs_in(text, prompt, fmt)]
        if not outputs:
            return []
        found += [(*output, tools) for output in outputs]
    return found


def rendered(template, messages, tools, **context):
    """A conversation as it is, not as the template reads it."""
    settings = {"add_generation_prompt": False} | context
    return template.render_within(template.limits, messages, tools, settings)


def is_odd(text):
    """Whether a history does not show what was in it: twice, spoilt, or calls without names."""
    turn = text.partition(ASKED["content"])[2]
    spoilt = "None" in turn or "null" in turn or ("Ghent" in turn and NAME not in turn)
    return spoilt or any(text.count(once) > 1 for once in ONCE)


def commonly_last(text, last):
    """What the template writes at the end of every conversation, where that is long."""
    pairs = enumerate(zip(reversed(text), reversed(last), strict=False))
    size = next((at for at, (one, other) in pairs if one != other), min(len(text), len(last)))
    return text[len(text) - size :] if size > LONGEST_END else ""


def outputs_in(text, prompt, fmt):
    """The prompt and what follows it in a history, up to each end that may be the turn's."""
    turn = text.partition(ASKED["content"])[2]
    for behind in (RESULT["content"], NEXT["content"]):
        turn = turn.partition(behind)[0]
    header = next((header for header in fmt.turn.headers if header in turn), None)
    if text.startswith(prompt):
        begins = len(prompt) - text.index(ASKED["content"]) - len(ASKED["content"])
        header, body = prompt, turn[begins:]
    elif header is not None:
        body = turn.partition(header)[2]
    else:
        return
    shown = max(body.find(part) for part in (SAID, THOUGHT, "Ghent"))
    ends = [
        at.start() + len(end.strip())
        for end in fmt.turn.ends
        for at in re.finditer(re.escape(end.strip()), body)
        if at.start() > shown
    ]
    for end in ends or [len(body)]:
        yield header, body[:end]


def difference(fmt, prompt, output, tools, said):
    """What comes back instead of what was said, None if that is it."""
    reasoning = fmt.reasoning
    thought = THOUGHT if "thinking" in said and THOUGHT in output else ""
    if reasoning.mode == "DELIMITER" and not thought:
        output = reasoning.end + output
    start, end = reasoning.start.strip(), reasoning.end.strip()
    so_far = fmt.facts.turn_so_far(prompt)
    opened = bool(start) and start in so_far and end not in so_far.rpartition(start)[2]
    if opened and not thought and end not in output:
        output, thought = FILLED_IN + reasoning.end + output, FILLED_IN
    message = parse(output, fmt, prompt=prompt, tools=tools, finish_reason="stop")
    calls = [(call.name, json.loads(call.arguments or "null")) for call in message.tool_calls]
    got = [message.content.strip(), message.reasoning_content.strip(), calls]
    content = SAID if said.get("content") and SAID in output else ""
    called = [(NAME, WANTED)] * ("tool_calls" in said and NAME in output)
    # Some templates show content beside calls as the reasoning before them.
    allowed = [[content, thought, called], *([["", content, called]] if called else [])]
    return None if got in allowed else (prompt, output, got, allowed[0])
