"""Mutants of templates, with the usual differences within a family and with worse changes.

A mutant is made from a number, so failures are reproducible.
"""

from __future__ import annotations

import random
import re
from itertools import pairwise

from .templates import TOKEN, compiles

MARKER = re.compile(r"<[^<>{}%'\"\s]{1,40}>|\[[A-Z_/]{2,30}\]")
MARKERS = ["<call>", "</call>", "<think>", "[ACT]", "<|end|>", "<", "((", "##", ":", "<q>", "\\n"]
STRAYS = [
    "<x>",
    "{{ '<x>' }}",
    " ",
    "{{ ' ' }}",
    "{{ '\\n' }}",
    "\n",
    "text",
    ".",
    "{{ '</x>\\n' }}",
]
STRAYS += ["{{ eos_token }}", "{{ bos_token }}", "{{ '<think></think>' }}", "\\n", "\\n\\n"]
TOKENS = ["{% if tools %}", "{% endif %}", "{% else %}", "{% endfor %}", "{{", "-%}", "'", "}}"]
TOKENS += ["{# #}", "{% set x = 1 %}"]
TRIM = re.compile(r"\s*\|\s*trim\b|\.(?:[lr]?strip)\([^()]*\)")
CONTENT = re.compile(r"\b(\w+)(\.content\b|\['content'\]|\[\"content\"\])")
WITH_CALLS = re.compile(r"(\bif\s+[^%]*tool_calls[^%]*?)(\s*-?%\})")
IDS = re.compile(r"(\b\w+)(\.id\b|\['id'\]|\[\"id\"\])(?!\s*=)")
AS_JSON = re.compile(r"\s*\|\s*tojson(?:\([^()]*\))?")
ARGUMENTS = re.compile(r"\b[\w.]+(?:\.arguments\b|\['arguments'\]|\[\"arguments\"\])(?!\s+is)")
PRINTED = re.compile(r"\{\{-?\s*([^{}'\"]+?)\s*-?\}\}")
SWITCH = re.compile(r"\b(?:enable_thinking|thinking|reasoning_effort|add_\w+|\w*think\w*)\b")
BOOLEAN = re.compile(r"\b(?:true|false|True|False)\b")
BLOCK = re.compile(r"\{%-?\s*(if|for|macro|set|elif|else|end\w+)\b(.*?)-?%\}", re.DOTALL)
CONDITIONS = ["{m}.content", "not {m}.content", "tools", "loop.last", "not loop.last", "with_calls"]
CONDITIONS += ["{m}.content is none", "{m}.content is defined", "loop.index0 > 1"]
RENAMED = {
    "reasoning_content": ["inner_voice", "reasoning", "thinking"],
    "name": ["tool", "function_name"],
    "arguments": ["parameters", "args"],
    "tool_calls": ["calls"],
    "thinking": ["inner_voice", "reasoning_content"],
}
NEW_KEYS = ("inner_voice",)
"""New keys of reasoning for mutants."""


def mutant(sources, seed):
    """Return a mutant of a template and a list of its changes, both derived from `seed`."""
    rng = random.Random(seed)
    while True:
        name = rng.choice(sorted(sources))
        source, done = sources[name], [name]
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
            change = rng.choice(CHANGES)
            source = change(rng, source)
            done.append(change.__name__)
        if source != sources[name] and compiles(source):
            return source, done


def replaced(rng, source, pattern, make, *, every=None):
    """Replace matches of a pattern in the source, one or all."""
    found = list(re.finditer(pattern, source))
    if not found:
        return source
    if every if every is not None else rng.random() < 0.3:
        return re.sub(pattern, make, source)
    at = rng.choice(found)
    return source[: at.start()] + make(at) + source[at.end() :]


def other_marker(rng, source):
    """Replace a marker by another, once or everywhere."""
    found = sorted(set(MARKER.findall(source)))
    if not found:
        return source
    old, new = rng.choice(found), rng.choice([*found, *MARKERS, "", "<|zap|>", "[FIN]"])
    return source.replace(old, new, rng.choice([-1, -1, 1]))


def doubled_marker(rng, source):
    """Double a marker."""
    space = rng.choice(["", " ", "\\n"])
    return replaced(rng, source, MARKER, lambda at: at[0] + space + at[0])


def stray_at_marker(rng, source):
    """Insert text after a marker, or before it."""
    stray = rng.choice(STRAYS)
    stray = stray if "{{" not in stray else "<x>"
    before = rng.random() < 0.3
    return replaced(rng, source, MARKER, lambda at: stray + at[0] if before else at[0] + stray)


def stray_between(rng, source):
    """Insert text between two statements."""
    parts = TOKEN.findall(source)
    parts.insert(rng.randrange(len(parts) + 1), rng.choice(STRAYS))
    return "".join(parts)


def other_default(rng, source):
    """Invert the default of a switch."""
    how = rng.choice(["set", "not", "boolean", "defined"])
    if how == "set":
        names = sorted(set(SWITCH.findall(source)))
        if not names:
            return source
        name, default = rng.choice(names), rng.choice(["true", "false"])
        return f"{{%- set {name} = not ({name} | default({default})) -%}}" + source
    if how == "not":
        return replaced(rng, source, SWITCH, lambda at: f"(not {at[0]})", every=False)
    if how == "defined":
        return replaced(rng, source, r"is defined", lambda _: "is not defined", every=False)
    swap = {"true": "false", "false": "true", "True": "False", "False": "True"}
    return replaced(rng, source, BOOLEAN, lambda at: swap[at[0]], every=False)


def no_trim(rng, source):
    """Remove an operation that strips text."""
    return replaced(rng, source, TRIM, lambda _: "")


def trim(rng, source):
    """Strip a text."""
    how = rng.choice([" | trim", ".strip()", " | lstrip", " | string"])
    how = ".lstrip()" if how == " | lstrip" else how
    return replaced(rng, source, CONTENT, lambda at: f"({at[0]}{how})", every=False)


def other_space(rng, source):
    """Keep or strip the whitespace around statements."""
    old, new = rng.choice(
        [("{%-", "{%"), ("-%}", "%}"), ("{{-", "{{"), ("{% ", "{%- "), (" %}", " -%}")]
    )
    return replaced(rng, source, re.escape(old), lambda _: new)


def other_escape(rng, source):
    """Remove, replace or double an escaped newline."""
    return replaced(rng, source, r"\\n", lambda _: rng.choice(["", " ", "\\n\\n"]))


def swapped(rng, source):
    """Swap two blocks or statements."""
    spans = blocks(source) if rng.random() < 0.6 else [m.span() for m in TOKEN.finditer(source)]
    pairs = [
        (one, other)
        for one, other in pairwise(spans)
        if one[1] <= other[0] and not source[one[1] : other[0]].strip()
    ]
    if not pairs:
        return source
    (a, b), (c, d) = rng.choice(pairs)
    return source[:a] + source[c:d] + source[b:c] + source[a:b] + source[d:]


def moved(rng, source):
    """Move a block."""
    spans = blocks(source)
    if not spans:
        return source
    start, end = rng.choice(spans)
    rest = source[:start] + source[end:]
    places = [at.start() for at in TOKEN.finditer(rest)]
    at = rng.choice(places) if places else 0
    return rest[:at] + source[start:end] + rest[at:]


def dropped(rng, source):
    """Drop a block, a statement or a line."""
    lines = [at.span() for at in re.finditer(r".+\n", source)]
    tokens = [at.span() for at in TOKEN.finditer(source)]
    spans = rng.choice([blocks(source), lines, tokens])
    if not spans:
        return source
    start, end = rng.choice(spans)
    return source[:start] + source[end:]


def doubled(rng, source):
    """Double a block or a statement."""
    spans = rng.choice([blocks(source), [at.span() for at in TOKEN.finditer(source)]])
    if not spans:
        return source
    start, end = rng.choice(spans)
    return source[:end] + source[start:end] + source[end:]


def other_token(rng, source):
    """Insert a statement."""
    parts = TOKEN.findall(source)
    parts.insert(rng.randrange(len(parts) + 1), rng.choice(TOKENS))
    return "".join(parts)


def other_condition(rng, source):
    """Add a condition for rendering calls."""
    names = CONTENT.findall(source)
    name = rng.choice(names)[0] if names else "message"
    more = rng.choice(CONDITIONS).format(m=name)
    return replaced(rng, source, WITH_CALLS, lambda at: f"{at[1]} and ({more}){at[2]}")


def other_key(rng, source):
    """Rename a key."""
    old = rng.choice(sorted(RENAMED))
    new = rng.choice(RENAMED[old])
    return replaced(rng, source, rf"\b{old}\b", lambda _: new)


def other_ids(rng, source):
    """Render a part of each id."""
    how = rng.choice(["[-3:]", "[:4]", ".split('_')[-1]", ".split(':')[0]", " | length"])
    return replaced(rng, source, IDS, lambda at: f"({at[0]}{how})", every=False)


def other_arguments(rng, source):
    """Render arguments as a string or as an object."""
    if rng.random() < 0.5:
        new = rng.choice(["", " | tojson | tojson", " | string", " | tojson(indent=2)"])
        return replaced(rng, source, AS_JSON, lambda _: new, every=False)
    new = rng.choice([" | tojson", " | string", " | items | list"])
    return replaced(rng, source, ARGUMENTS, lambda at: f"({at[0]}{new})", every=False)


def other_content(rng, source):
    """Test content for None instead of emptiness, or the reverse."""
    how = rng.choice(
        ["({} or '')", "({} | string)", "({} or none)", "({} | upper)", "({} | tojson)"]
    )
    return replaced(rng, source, CONTENT, lambda at: how.format(at[0]), every=False)


def other_text(rng, source):
    """Print an expression with changed letters."""
    how = rng.choice(["lower", "upper", "title", "capitalize", "trim"])
    return replaced(rng, source, PRINTED, lambda at: f"{{{{ ({at[1]}) | {how} }}}}", every=False)


def without_a_span(rng, source):
    """Delete some characters."""
    start = rng.randrange(len(source) + 1)
    return source[:start] + source[start + rng.choice([1, 1, 2, 5, 20]) :]


def blocks(source):
    """Return the spans of complete blocks, from `{% if %}` to `{% endif %}`."""
    found, opened = [], []
    for at in BLOCK.finditer(source):
        kind = at[1]
        if kind in ("if", "for", "macro") or (kind == "set" and "=" not in at[2]):
            opened.append(at.start())
        elif kind.startswith("end") and opened:
            found.append((opened.pop(), at.end()))
    return sorted(found)


CHANGES = [
    other_marker,
    doubled_marker,
    stray_at_marker,
    stray_at_marker,
    stray_between,
    other_default,
    no_trim,
    trim,
    other_space,
    other_escape,
    swapped,
    moved,
    dropped,
    doubled,
    other_token,
    other_condition,
    other_condition,
    other_key,
    other_ids,
    other_arguments,
    other_content,
    without_a_span,
    other_text,
]
