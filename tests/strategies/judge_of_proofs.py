"""Independent check of verified formats against their templates, without the analyzer.

The template renders conversations from outside the analysis: under each of its switches, with and
without tools, results and content, with awkward texts, and with several shapes of ids and
arguments. The text of the history after the prompt of the template is parsed with this prompt. The
result must be the original turn, at the end of the conversation and in the middle. A history
without the prompt at its start is parsed after a header, or with the open reasoning closed.
"""

from __future__ import annotations

import json
import random
import re
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from deltaparse import TemplateError, Tools, parse

SAID = "It stays dry in the city"
THOUGHT = "They ask for the weather"
ASKED = {"role": "user", "content": "Will it rain this week"}
NEXT = {"role": "user", "content": "Well, thank you"}
BEFORE = {
    "nothing": [],
    "a system message": [{"role": "system", "content": "Be kind."}],
    "a turn": [{"role": "user", "content": "Hello there"}, {"role": "assistant", "content": "Hi."}],
}
NAME, OTHER = "look_up_weather", "find_train"
RETURNED = "sunny spells"
PARTS = {"city": "string", "days": "integer", "exact": "boolean", "near": "array", "how": "object"}
SCHEMA = {key: {"type": kind, "description": "which"} for key, kind in PARTS.items()}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Says what comes",
            "parameters": {"type": "object", "properties": SCHEMA, "required": ["city"]},
        },
    }
    for name in (NAME, OTHER)
]
IDS = ("k3Qz81abc", "call_Ab12Cd34", "functions.{name}:{at}", "call_{at}_x9Yz", "7")
CONTENTS = (
    SAID,
    'Dry in the city.\n\nIn short: 2 < 3, {a: [b]} and "so on" — it\'s fine',
    "Dry as <b>dust</b> in the city; `code(1)` and &amp; ü 你好",
    "In the city:\n- dry\n- (warm) #1 * 2 = 50%",
)
THOUGHTS = (
    THOUGHT,
    'They ask.\n\n1. look at <b>maps</b> & {all: [of]} them\n2. "weather" isn\'t rain',
)
WANTED = (
    {"city": "Ghent", "days": 3},
    {"city": "Ghent"},
    {"city": 'Ghent "of the\nflowers" <b> \\ é', "exact": True, "near": ["a b", 1]},
    {"city": "Ghent", "how": {"by": "train", "at": [1, {"x": "y"}]}},
    {"city": "42", "days": -7, "exact": False},
)
LISTED = ["look_at_maps"]
KEYS = ("reasoning_content", "reasoning", "thinking", "thought", "inner_voice")
RENDERED = WeakKeyDictionary()
"""A cache of rendered conversations for each template."""
LONGEST_END = 60
"""The maximum length of a turn end in characters. Longer text is addressed to the model."""
FILLED_IN = "Hm"
"""Reasoning inserted after a prompt with open reasoning, if the history omits it."""


class Case(NamedTuple):
    """A turn of the model, and the conversation around it.

    Content of None is null, and `absent` omits it. `keys` are the keys of reasoning.
    """

    content: str | None = SAID
    absent: bool = False
    reasoning: str = ""
    keys: tuple[str, ...] = KEYS[:3]
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    ids: str = IDS[0]
    as_text: bool = False
    before: str = "nothing"
    tools: bool = False

    @property
    def message(self) -> dict[str, Any]:
        """Return the turn as a message."""
        made: dict[str, Any] = {"role": "assistant"}
        if not self.absent:
            made["content"] = self.content
        if self.reasoning:
            made |= dict.fromkeys(self.keys, self.reasoning)
        if self.calls:
            made["tool_calls"] = [
                {"id": self.id(at), "type": "function", "function": self.function(at)}
                for at in range(len(self.calls))
            ]
        return made

    def id(self, at: int) -> str:
        """Return the id of a call."""
        made = self.ids.format(name=self.calls[at][0], at=at)
        return made if at == 0 or "{" in self.ids else made[:-1] + "efgh"[at]

    def function(self, at: int) -> dict[str, Any]:
        """Return the function of a call, with arguments as an object or a string."""
        name, given = self.calls[at]
        return {"name": name, "arguments": json.dumps(given) if self.as_text else given}

    @property
    def results(self) -> list[dict[str, Any]]:
        """Return the results of the tools."""
        return [
            {"role": "tool", "tool_call_id": self.id(at), "name": name, "content": RETURNED}
            for at, (name, _) in enumerate(self.calls)
        ]


READ = Tools(TOOLS)
ONE = ((NAME, WANTED[0]),)
FIRST = (
    Case(),
    Case(tools=True),
    Case(reasoning=THOUGHT),
    Case("", calls=ONE, tools=True),
    Case(None, calls=ONE, tools=True),
    Case(calls=ONE, tools=True),
    Case("", reasoning=THOUGHT, calls=ONE, tools=True),
)
"""The plainest cases, which are always tried."""


def some_case(rng: random.Random) -> Case:
    """Return a random case."""
    count = rng.choice([0, 0, 1, 1, 1, 2, 3])
    calls = [(rng.choice([NAME, NAME, OTHER]), rng.choice(WANTED)) for _ in range(count)]
    content = rng.choice(CONTENTS)
    if calls:
        content = rng.choice(["", None, content, ""])
    return Case(
        content=content,
        absent=bool(calls) and not content and rng.random() < 0.3,
        reasoning=rng.choice(["", "", *THOUGHTS]),
        keys=rng.choice([KEYS[:3], KEYS, *[(key,) for key in KEYS]]),
        calls=tuple(calls),
        ids=rng.choice(IDS),
        as_text=rng.random() < 0.3,
        before=rng.choice([*BEFORE, "nothing"]),
        tools=bool(calls) or rng.random() < 0.4,
    )


class Wrong(NamedTuple):
    """A conversation that a verified format does not parse back."""

    setting: dict[str, Any]
    case: Case
    prompt: str
    output: str
    got: list[Any]
    wanted: list[Any]


class Tried:
    """A counter of the compared conversations."""

    conversations = 0


def settings_of(template, fmt):
    """Return the settings for rendering: the defaults, and each value of each switch alone."""
    settings = [{}]
    for name in fmt.switches:
        values = (True, False, *template.choices.get(name, ()))
        values += (LISTED,) * refuses(template, {name: True})
        settings += [{name: value} for value in values]
    return settings


def refuses(template, setting):
    """Return whether a template rejects a setting; it may expect a list instead."""
    try:
        return not rendered(template, [ASKED], None, **setting)
    except TemplateError:
        return True


def false_proofs(template, fmt, rng=None, more=0):
    """Return the conversations that a verified format does not parse back.

    `more` is the number of random cases after the plainest, each under one or two settings.
    """
    settings = settings_of(template, fmt)
    tried = [(setting, case) for setting in settings for case in FIRST]
    for _ in range(more):
        both = rng.choice(settings) | rng.choice([{}, {}, *settings])
        tried.append((both, some_case(rng)))
    return [found for setting, case in tried for found in judged(template, fmt, setting, case)]


def judged(template, fmt, setting, case):
    """Yield the failures of a turn, at the end and in the middle of the conversation."""
    if any(holds_a_marker(fmt, text) for text in texts_of(case)):
        return
    for then in ([], [*case.results, NEXT]):
        outputs = [*outputs_of(template, fmt, setting, case, then)]
        Tried.conversations += bool(outputs)
        wrong = [found for output in outputs if (found := difference(fmt, setting, case, *output))]
        if outputs and len(wrong) == len(outputs):
            yield wrong[0]


def texts_of(case):
    """Return the texts of a turn."""
    yield case.content or ""
    yield case.reasoning
    yield from (json.dumps(given, ensure_ascii=False) for _, given in case.calls)
    yield from (str(value) for _, given in case.calls for value in given.values())


def holds_a_marker(fmt, text):
    """Return whether a text contains a marker with a letter, which any parser would recognize."""
    return any(len(mark) > 1 and mark in text for mark in marks_of(fmt))


@lru_cache(maxsize=1)
def marks_of(fmt):
    """Return the strings of a format with a letter in them, since each may be a marker."""
    document = json.loads(fmt.to_json())
    groups = [part for name, part in document.items() if name not in ("issues", "proved")]
    texts = [text for group in groups for text in strings(group)]
    return {text.strip() for text in texts if any(map(str.isalpha, text))}


def strings(value):
    """Return the strings in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def rendered(template, messages, tools, **context):
    """Render a conversation unchanged, without adapting it to the template."""
    settings = {"add_generation_prompt": False} | context
    known = RENDERED.setdefault(template, {})
    key = repr((messages, tools is None, settings))
    if key not in known:
        try:
            known[key] = template.render_within(template.limits, messages, tools, settings)
        except TemplateError as error:
            known[key] = error
    if isinstance(known[key], TemplateError):
        raise known[key]
    return known[key]


def outputs_of(template, fmt, setting, case, then):
    """Yield the possible prompts and responses of a turn, or none if they are unknown."""
    asked, tools = [*BEFORE[case.before], ASKED], TOOLS if case.tools else None
    try:
        prompt = rendered(template, asked, tools, add_generation_prompt=True, **setting)
        text = rendered(template, [*asked, case.message, *then], tools, **setting)
        plain = rendered(template, asked, tools, **setting)
        opened = rendered(template, [NEXT], tools, **setting).partition(NEXT["content"])[0]
    except TemplateError:
        return
    turn = text.partition(ASKED["content"])[2]
    asked = [ASKED, *(message for message in then if message["role"] == "user")]
    if any(message["content"] not in text for message in asked):
        return  # the borders of the turn are unknown
    if case.calls and then and RETURNED not in text:
        return  # the start of the results is unknown
    if not any(header in prompt for header in fmt.turn.headers) or is_odd(case, text, turn):
        return
    always = common_suffix(text, plain.partition(ASKED["content"])[2]) if not then else ""
    if len(always) > LONGEST_END:
        text = text.removesuffix(always)
        turn = text.partition(ASKED["content"])[2]
    for behind in (RETURNED, NEXT["content"]):
        turn = turn.partition(behind)[0]
    for begins, body in bodies(text, turn, prompt, fmt):
        # At the end of a conversation, only the end of the text can end the turn.
        ends = ends_in(fmt, case, body) if then else [len(body)]
        if body.endswith(always) and always:
            ends.append(len(body) - len(always))  # it follows messages of other roles too
        if not ends and not case.calls:
            ends = [len(without_opening(body, opened))]
        yield from ((begins, body[:end]) for end in ends)


def bodies(text, turn, prompt, fmt):
    """Yield the part of a turn written by the model, and the text before it."""
    if text.startswith(prompt):
        yield prompt, turn[len(prompt) - text.index(ASKED["content"]) - len(ASKED["content"]) :]
        return
    header = next((header for header in fmt.turn.headers if header in turn), None)
    if header is not None:
        yield header, turn.partition(header)[2]


def ends_in(fmt, case, body):
    """Return the possible ends of a turn: after each turn end of the format."""
    names = [name for name, _ in case.calls]
    shown = max((body.rfind(text) for text in [*texts_of(case), *names] if text), default=-1)
    return [
        at.start() + len(end.strip())
        for end in fmt.turn.ends
        if end.strip()
        for at in re.finditer(re.escape(end.strip()), body)
        if at.start() > shown
    ]


def without_opening(turn, opened):
    """Remove the start of the next user message: the common suffix, cut at complete markers."""
    cut = turn.removesuffix(common_suffix(turn, opened))
    inside = re.search(r"<[^<>\n]*\Z|\[[A-Z_/]*\Z", cut)
    closed = re.match(r"[^<>\n]*>|[A-Z_/]*\]", turn[len(cut) :])
    return turn[: len(cut) + closed.end()] if inside and closed else cut


def common_suffix(one, other):
    """Return the common suffix of two texts."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    size = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return one[len(one) - size :]


def is_odd(case, text, turn):
    """Return whether a history repeats or damages its texts, or omits the names of calls."""
    spoilt = not case.content and any(word in turn.casefold() for word in ("none", "null"))
    named = [name in turn for name, _ in case.calls]
    unnamed = bool(case.calls) and "city" in turn and not all(named)
    said = [case.content or "", case.reasoning, ASKED["content"], NEXT["content"]]
    return spoilt or unnamed or any(text.count(once) > 1 for once in said if once)


def difference(fmt, setting, case, prompt, output):
    """Return the wrong result, or None if it equals the original turn."""
    reasoning = fmt.reasoning
    thought = in_output(case.reasoning, output)
    if reasoning.mode == "DELIMITER" and not thought and reasoning.end.strip() not in output:
        output = reasoning.end + output
    start, end = reasoning.start.strip(), reasoning.end.strip()
    so_far = fmt.derived.turn_so_far(prompt)
    opened = bool(start) and start in so_far and end not in so_far.rpartition(start)[2]
    if opened and not thought and end not in output:
        output, thought = FILLED_IN + reasoning.end + output, FILLED_IN
    tools = READ if case.tools else None
    message = parse(output, fmt, prompt=prompt, tools=tools, finish_reason="stop")
    calls = [(call.name, value(call.arguments)) for call in message.tool_calls]
    got = [message.content.strip(), message.reasoning_content.strip(), calls]
    content = in_output(case.content or "", output)
    shown = sum(output.count(name) for name in (NAME, OTHER))
    called = list(case.calls)[:shown]
    # Some templates render content of a turn with calls as reasoning.
    allowed = [[content, thought, called], *([["", content, called]] if called else [])]
    if got in allowed and fmt.derived.writes_ids:
        got.append([call.id for call in message.tool_calls])
        ids = [case.id(at) for at in range(len(called))]
        pairs = zip(ids, got[3], strict=False)
        shown = [one if len(one) > 4 and one in output else other for one, other in pairs]
        allowed = [[*got[:3], shown]]
    return None if got in allowed else Wrong(setting, case, prompt, output, got, allowed[0])


def in_output(text, output):
    """Return the stripped text if the response contains it, else an empty string."""
    return text.strip() if text.strip() in output else ""


def value(arguments):
    """Return the value of the arguments of a call."""
    try:
        return json.loads(arguments or "null")
    except ValueError:
        return arguments
