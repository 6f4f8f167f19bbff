"""Reduction of an output to the smallest one that still shows a fault (ddmin).

Chunks are merged and text is removed as long as `breaks` returns True for the rest. For example,
the result depends on the chunks, or another format returns a different message.
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
"""Another parser: takes chunks and the record, returns an OpenAI message or its chunks."""


def minimal(chunks: list[str], breaks: Breaks) -> list[str]:
    """Return the smallest chunks that show the fault.

    No two chunks can be merged, and no character can be removed.

    Raises:
        UsageError: the given chunks do not show the fault.
    """
    chunks = [chunk for chunk in chunks if chunk] or [""]
    if not breaks(chunks):
        raise UsageError("the record does not show the fault, so it cannot be reduced")
    while True:
        before = chunks
        chunks = _merged(chunks, breaks)
        chunks = _shortened(chunks, breaks)
        if chunks == before:
            return chunks


def _merged(chunks: list[str], breaks: Breaks) -> list[str]:
    """Remove as many cuts as possible."""
    text = "".join(chunks)
    places, at = [], 0
    for chunk in chunks[:-1]:
        at += len(chunk)
        places.append(at)

    def cut(places: list[int]) -> list[str]:
        return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]

    return cut(_least(places, lambda left: breaks(cut(left))))


def _shortened(chunks: list[str], breaks: Breaks) -> list[str]:
    """Remove as many characters as possible and keep the cuts."""
    marked = [(at, char) for at, chunk in enumerate(chunks) for char in chunk]

    def joined(left: list[tuple[int, str]]) -> list[str]:
        made: dict[int, list[str]] = {}
        for at, char in left:
            made.setdefault(at, []).append(char)
        return ["".join(chars) for chars in made.values()] or [""]

    return joined(_least(marked, lambda left: breaks(joined(left))))


def _least(items: list[Any], breaks: Callable[[list[Any]], bool]) -> list[Any]:
    """Remove ever smaller stretches of items while the rest breaks (delta debugging)."""
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
    """Return a check for results of deltaparse that depend on the chunks, which is a bug."""
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
    """Return a check for different results of deltaparse and another parser.

    Args:
        replayer: the replay function.
        record: the record.
        peer: the other parser.
        kind: the class of the difference, or "raised" (default: any except whitespace).
    """
    record = without_chunks(record)

    def breaks(chunks: list[str]) -> bool:
        ours = _message(replayer, record, chunks)
        if ours is None:
            return False
        try:
            answer = peer(chunks, record)
        except Exception:  # noqa: BLE001 - an exception of the other parser is a fault
            return kind in (None, "raised")
        found = difference(made_of(ours), read_expected(answer)).kind
        return found == kind if kind else found not in ("same", "whitespace")

    return breaks


def breaks_against(
    replayer: Replayer, record: Mapping[str, Any], kind: str | None = None
) -> Breaks:
    """Return a check for different results of the replayer and its `against`.

    Raises:
        UsageError: the replayer has no `against`.
    """
    other = replayer.against
    if other is None:
        raise UsageError("no comparison: pass a replayer with `against`, or a peer")
    record = without_chunks(record)

    def breaks(chunks: list[str]) -> bool:
        one, two = (_message(each, record, chunks) for each in (replayer, other))
        if one is None or two is None:
            return False
        found = difference(made_of(one), made_of(two)).kind
        return found == kind if kind else found != "same"

    return breaks


def peer_named(name: str) -> Peer:
    """Import a function from a name of the form `module:function`.

    Raises:
        UsageError: the module or function was not found.
    """
    module, _, function = name.partition(":")
    try:
        peer: Peer = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"{name}: expected MODULE:FUNCTION: {error}") from error
    return peer


def as_test(replayer: Replayer, record: Mapping[str, Any], chunks: list[str], fmt: str) -> str:
    """Return the source of a module with a test of these chunks.

    The test contains the arguments of the request and the policies.

    Args:
        replayer: the replay function.
        record: the record.
        chunks: the chunks to feed.
        fmt: a Python expression for the format, with deltaparse imported as `dp`.

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
    """Return a record with its text and without chunks. Keep the finish reason of the chunks."""
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
