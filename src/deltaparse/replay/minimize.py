"""The smallest output that still shows a fault: chunks are merged, text is left out (ddmin).

`breaks` says whether chunks show it: that a parser of chunks makes something else of them than of
the whole, that another format makes something else of the text, or whatever a program asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pprint import pformat
from typing import Any

from deltaparse.partial import DeltaParseError, UsageError
from deltaparse.stream import Message, Policies

from .classes import difference
from .expected import made_of, read_expected
from .records import Record, read_record
from .replayer import Replayer

__all__ = [
    "as_test",
    "breaks_against",
    "breaks_ours",
    "breaks_peer",
    "minimal",
    "peer_named",
    "without_chunks",
]

Breaks = Callable[[list[str]], bool]
Peer = Callable[[list[str], Mapping[str, Any]], Any]
"""Another parser: chunks and the record in, an OpenAI message or its chunks out."""


def minimal(chunks: list[str], breaks: Breaks) -> list[str]:
    """Return the least that breaks: no chunk can be merged, and no character left out.

    Raises:
        UsageError: the chunks do not break.
    """
    chunks = [chunk for chunk in chunks if chunk] or [""]
    if not breaks(chunks):
        raise UsageError("there is nothing to make small: these chunks do not show the fault")
    while True:
        before = chunks
        chunks = _merged(chunks, breaks)
        chunks = _shortened(chunks, breaks)
        if chunks == before:
            return chunks


def _merged(chunks: list[str], breaks: Breaks) -> list[str]:
    """Remove as many cuts as can go."""
    text = "".join(chunks)
    places, at = [], 0
    for chunk in chunks[:-1]:
        at += len(chunk)
        places.append(at)

    def cut(places: list[int]) -> list[str]:
        return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]

    return cut(_least(places, lambda left: breaks(cut(left))))


def _shortened(chunks: list[str], breaks: Breaks) -> list[str]:
    """Remove as many characters as can go; the cuts stay where they are."""
    marked = [(at, char) for at, chunk in enumerate(chunks) for char in chunk]

    def joined(left: list[tuple[int, str]]) -> list[str]:
        made: dict[int, list[str]] = {}
        for at, char in left:
            made.setdefault(at, []).append(char)
        return ["".join(chars) for chars in made.values()] or [""]

    return joined(_least(marked, lambda left: breaks(joined(left))))


def _least(items: list[Any], breaks: Callable[[list[Any]], bool]) -> list[Any]:
    """Delta debugging: remove ever smaller stretches as long as what is left breaks."""
    size = len(items)
    while size:
        at, removed = 0, False
        while at < len(items):
            left = items[:at] + items[at + size :]
            if breaks(left):
                items, removed = left, True
            else:
                at += size
        size = min(size, len(items)) if removed and size == 1 else size // 2
    return items


def breaks_ours(replayer: Replayer, record: Mapping[str, Any]) -> Breaks:
    """Whether our own parser makes something else of chunks than of the whole: a bug."""
    record = without_chunks(record)

    def breaks(chunks: list[str]) -> bool:
        try:
            one = _read(record, chunks)
            whole, apart = replayer.parsed(one), replayer.parsed(one, chunks)
        except DeltaParseError:
            return False
        bug = any(issue.kind == "internal_error" for issue in apart.issues)
        return bug or whole.message != apart.message

    return breaks


def breaks_peer(
    replayer: Replayer, record: Mapping[str, Any], peer: Peer, kind: str | None = None
) -> Breaks:
    """Whether another parser makes something else of chunks than ours: of this class, or any."""
    record = without_chunks(record)

    def breaks(chunks: list[str]) -> bool:
        ours = _message(replayer, record, chunks)
        if ours is None:
            return False
        try:
            answer = peer(chunks, record)
        except Exception:  # noqa: BLE001 - a parser that raises has broken
            return kind in (None, "raised")
        found = difference(made_of(ours), read_expected(answer)).kind
        return found == kind if kind else found not in ("same", "whitespace")

    return breaks


def breaks_against(
    replayer: Replayer, record: Mapping[str, Any], kind: str | None = None
) -> Breaks:
    """Whether the replayer's other format or policies make something else of the text."""
    other = replayer.against
    if other is None:
        raise UsageError("there is nothing to compare with: a replayer with `against`, or a peer")
    record = without_chunks(record)

    def breaks(chunks: list[str]) -> bool:
        one, two = (_message(each, record, chunks) for each in (replayer, other))
        if one is None or two is None:
            return False
        found = difference(made_of(one), made_of(two)).kind
        return found == kind if kind else found != "same"

    return breaks


def peer_named(name: str) -> Peer:
    """Import a function that is written `module:function`.

    Raises:
        UsageError: there is none.
    """
    module, _, function = name.partition(":")
    try:
        peer: Peer = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"{name}: write module:function: {error}") from error
    return peer


def as_test(replayer: Replayer, record: Mapping[str, Any], chunks: list[str], fmt: str) -> str:
    """Write a module with a test of these chunks.

    What the record was asked, and the policies that it was read with, stand in it; `fmt` is the
    text of an expression that makes the format, where deltaparse is `dp`.

    Raises:
        DeltaParseError: the record cannot be parsed.
    """
    read = _read(without_chunks(record), chunks)
    _, prompt, arguments = replayer.arguments(read)
    named = {"tools": read.tools, "prompt": prompt or None, **read.request}
    given = "".join(f", {name}={value!r}" for name, value in named.items() if value is not None)
    if arguments["policies"] != Policies():
        given += f", policies=dp.{arguments['policies']!r}"
    message = replayer.parsed(read, chunks).message.to_openai()
    return (
        "import deltaparse as dp\n\n\n"
        "def test_this_output():\n"
        f"    chunks = {_indented(chunks)}\n"
        f"    parser = dp.StreamParser({fmt}{given})\n"
        "    for chunk in chunks:\n"
        "        parser.feed(chunk)\n"
        f"    parser.finish({read.finish_reason!r})\n"
        f"    assert parser.message.to_openai() == {_indented(message)}\n"
    )


def _indented(value: Any) -> str:
    return pformat(value, width=92, sort_dicts=False).replace("\n", "\n    ")


def without_chunks(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record that has its text as one, and what only its chunks said: why it ended."""
    read = read_record(record)
    whole = {"text": read.text, "chunks": None, "token_ids": None}
    return {**record, **whole, "finish_reason": read.finish_reason}


def _read(record: Mapping[str, Any], chunks: list[str]) -> Record:
    return read_record({**record, "text": "".join(chunks)})


def _message(replayer: Replayer, record: Mapping[str, Any], chunks: list[str]) -> Message | None:
    try:
        return replayer.parsed(_read(record, chunks)).message
    except DeltaParseError:
        return None
