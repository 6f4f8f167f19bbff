"""Calls in tags, written with the markers of a format, and values that quote them."""

from __future__ import annotations

from hypothesis import strategies as st


def argument(fmt, key, value):
    """Write a string argument."""
    marks = fmt.arguments
    head = marks.name_prefix + key + marks.name_suffix
    if marks.type_suffix:
        head += "string" + marks.type_suffix
    again = key + marks.key_suffix if marks.key_suffix else ""
    return head + marks.value_prefix + value + marks.value_suffix + again


def call(fmt, name, **arguments):
    """Write a call without the markers of its section."""
    tools, function, marks = fmt.tools, fmt.function, fmt.arguments
    written = marks.separator.join(argument(fmt, *one) for one in arguments.items())
    close = function.close + (name + function.close_suffix if function.close_suffix else "")
    head = tools.per_call_start + function.name_prefix + name + function.name_suffix
    return head + marks.start + written + marks.end + close + tools.per_call_end


def section(fmt, *calls):
    """Write calls with the markers of their section."""
    tools = fmt.tools
    return tools.section_start + tools.separator.join(calls) + tools.section_end


def turn(fmt, name, **arguments):
    """Write a response with one call, after the end of reasoning opened by the prompt."""
    made = section(fmt, call(fmt, name, **arguments))
    start, so_far = fmt.reasoning.start.strip(), fmt.derived.turn_so_far().strip()
    if start and so_far.endswith(start):
        made = fmt.reasoning.end + made
    channels = fmt.channels
    if not channels.message:
        return made
    return channels.recipient + name + channels.message + made + channels.ends[0]


def quotations(fmt):
    """Return values with balanced calls, of `g` or of the function of the value."""
    calls = st.sampled_from(
        [
            call(fmt, "g", y="1"),
            call(fmt, "g", x="1", y="2"),
            call(fmt, "f", x="1"),
            call(fmt, "g", y="a " + section(fmt, call(fmt, "f", x="1")) + " b"),
            call(fmt, "wipe"),
        ]
    )
    sections = st.lists(calls, min_size=1, max_size=3).map(lambda made: section(fmt, *made))
    # A single argument directly before a call looks like the end of the value and the next call.
    last = st.sampled_from([[], [argument(fmt, "z", "3")]])
    parts = st.builds(list.__add__, st.lists(calls | sections, min_size=1, max_size=3), last)
    text = st.sampled_from(["", "a ", "b\n", "ä<c>\n"])
    return st.tuples(text, parts.map("\n".join), text).map("".join).map(str.strip)


def halves(fmt):
    """Return values that quote a part of a call, or closers before a call."""
    whole = section(fmt, call(fmt, "g", y="1"))
    wipe = section(fmt, call(fmt, "wipe"))
    closers = section(fmt, call(fmt, "f")).rpartition("f")[2].removeprefix(fmt.function.name_suffix)
    places = st.integers(1, len(whole) - 1)
    parts = st.sampled_from([closers + wipe, closers + whole, fmt.tools.per_call_end + wipe])
    parts |= places.map(lambda at: whole[:at]) | places.map(lambda at: whole[at:])
    return parts.map(lambda part: f"a {part} b")
