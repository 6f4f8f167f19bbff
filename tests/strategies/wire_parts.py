"""Building blocks of formats and turns: markers, whitespace, text and values."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

HEADER = "<|header|>model\n"
WORDS = ("think", "call", "calls", "tool", "end", "start", "final", "x", "think2")
SHAPES = ("<{}>", "</{}>", "<|{}|>", "[{}]", "[/{}]", "{}:>")
TEASING = "<[{|\\\"'/>]}:, \nabthinkcal_é😀"
"""Characters from the start of markers and JSON."""


@dataclass(frozen=True)
class Written:
    """A turn to be written and parsed back, with optional `ids` from the model."""

    reasoning: str
    content: str
    calls: tuple[tuple[str, dict], ...]
    ids: tuple[str, ...] = ()


spaces = st.sampled_from(["", "", "\n", "\n\n", " "])
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(TEASING),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(TEASING), inner, max_size=3)
    ),
    max_leaves=6,
)
arguments = st.dictionaries(st.text("abkey<", min_size=1, max_size=6), json_values, max_size=4)


@st.composite
def marker_sets(draw, count):
    """Draw distinct markers, some as prefixes of others, some with whitespace at their edges."""
    names = st.builds(
        lambda shape, word: shape.format(word), st.sampled_from(SHAPES), st.sampled_from(WORDS)
    )
    return draw(st.lists(names, min_size=count, max_size=count, unique=True))


def markers_of(fmt):
    """Return all markers of a format."""
    tools, function, arguments, channels = fmt.tools, fmt.function, fmt.arguments, fmt.channels
    found = (
        fmt.reasoning.start,
        fmt.reasoning.end,
        *fmt.reasoning.alternatives,
        fmt.content.start,
        fmt.content.end,
        tools.section_start,
        tools.section_end,
        tools.per_call_start,
        tools.per_call_end,
        tools.separator * any(map(str.isalnum, tools.separator)),
        # A name prefix may be the only start of a call, e.g. `>>>` of Functionary.
        function.name_prefix
        * (not tools.per_call_start or any(map(str.isalnum, function.name_prefix))),
        function.name_suffix,
        function.close,
        *[text for way in arguments.ways for text in way[1:]],
        arguments.type_suffix,
        arguments.start,
        arguments.end,
        arguments.value_prefix,
        fmt.call_id.prefix,
        fmt.call_id.suffix,
        fmt.code.start,
        channels.start,
        channels.channel,
        channels.message,
        channels.constrain,
        channels.recipient,
        *channels.ends,
        *fmt.turn.ends,
        *fmt.turn.headers,
    )
    return [text for text in found if text.strip()]


def is_unmarked(fmt):
    """Return whether calls are unmarked."""
    tools = fmt.tools
    return not (tools.section_start or tools.per_call_start or fmt.function.name_prefix)


def plain_texts(markers, alphabet=TEASING):
    """Return text without the markers and without whitespace at its edges."""
    literals = [marker.strip() for marker in markers]

    def is_plain(text):
        return not any(literal in text for literal in literals)

    return st.text(alphabet, max_size=30).map(str.strip).filter(is_plain)


def without(markers, text):
    """Remove all markers from the text, including those formed by a removal."""
    literals = [marker.strip() for marker in markers]
    while any(literal in text for literal in literals):
        for literal in literals:
            text = text.replace(literal, "")
    return text


def fragments(markers):
    """Return markers with and without their whitespace, and their prefixes."""
    whole = [text for marker in markers for text in (marker, marker.strip())]
    return whole + [marker[:cut] for marker in whole for cut in (1, 3)]


def mixed(parts, *, most=14):
    """Return text of these parts in any order."""
    return st.lists(st.sampled_from(parts), max_size=most).map("".join)
