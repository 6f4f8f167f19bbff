"""Decoder for Responses: events, or a complete `response`, to a `Message`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import index as as_index
from typing import Any

from deltaparse.stream import Content, Message, Reasoning, ToolCall
from deltaparse.stream.finish_reasons import how_it_ended

from .drafts import Draft, Outcome, error_text
from .objects import Objects, read_objects

__all__ = ["read_responses"]

TEXTS: dict[str, tuple[str, str]] = {
    "output_text": ("content", "text"),
    "refusal": ("content", "refusal"),
    "reasoning_text": ("reasoning", "text"),
    "reasoning_summary_text": ("summary", "text"),
}
"""The kinds of text with events: the part, and the member with the complete text."""


def read_responses(events: Objects) -> Message:
    """Read the events of a response, or a complete one, and return the `Message`.

    Items keep their order, even if their events are interleaved. A complete text in an event
    replaces the deltas before it, so deltas may be missing. A call is `complete` if its item is
    "completed" and has one JSON object. Reasoning is the text of its item, or its summary. If the
    server failed, or the events end early, the message has an issue (`stream_error`, `stream_cut`).
    A refusal is content.

    Args:
        events: mappings, objects of a client, or the text or bytes of server-sent events, cut
            anywhere, or a complete response.
    """
    reader = ResponseReader()
    read_objects(events, reader.read, "event of Responses")
    return reader.outcome.message(reader.drafts())


class Item:
    """The state of one output item: its drafts by kind and index."""

    def __init__(self) -> None:
        self._drafts: dict[tuple[str, int], Draft] = {}

    def text(self, what: str, index: int) -> Draft:
        """Return the draft of a text, creating it if needed."""
        draft = self._drafts.get((what, index))
        if draft is None:
            draft = Draft(Content if what == "content" else Reasoning)
            self._drafts[what, index] = draft
        return draft

    def call(self) -> Draft:
        """Return the draft of a call."""
        return self._drafts.setdefault(("call", 0), Draft(ToolCall))

    def drafts(self) -> Iterator[Draft]:
        """Iterate over the drafts in order. A reasoning text replaces its summary."""
        has_text = any(
            what == "reasoning" and draft.text.tell() for (what, _), draft in self._drafts.items()
        )
        for (what, _), draft in sorted(self._drafts.items()):
            if not (what == "summary" and has_text):
                yield draft

    def take(self, item: Mapping[str, Any]) -> None:
        """Read the complete content of the item."""
        if item.get("type") == "function_call":
            draft = self.call()
            draft.identify(item.get("call_id"), item.get("name"))
            if item.get("arguments"):
                draft.replace(item["arguments"])
            status = item.get("status")
            draft.complete = None if status is None else status == "completed"
            return
        for member in ("content", "summary"):
            for index, part in enumerate(item.get(member) or ()):
                what = "content" if item.get("type") == "message" else "reasoning"
                text = part.get("text") or part.get("refusal")
                if text:
                    self.text("summary" if member == "summary" else what, index).replace(text)


class ResponseReader:
    """The state of a response while its events are read."""

    def __init__(self) -> None:
        self._items: dict[int, Item] = {}
        self.outcome = Outcome()

    def drafts(self) -> Iterator[Draft]:
        """Iterate over the drafts of all items in order."""
        for _, item in sorted(self._items.items()):
            yield from item.drafts()

    def read(self, event: Mapping[str, Any]) -> None:
        """Read an event, or a complete response."""
        type = event.get("type")
        if type == "error":
            self.outcome.errors.append(error_text(event.get("error") or event))
        elif type is None or event.get("response") is not None:
            self._read_response(event.get("response") or event)
        elif "output_index" in event:
            self._read_item(str(type), event)

    def _read_item(self, type: str, event: Mapping[str, Any]) -> None:
        """Read an event of one item."""
        item = self._items.setdefault(as_index(event["output_index"]), Item())
        name, _, what = type.removeprefix("response.").rpartition(".")
        if name == "output_item":
            item.take(event.get("item") or {})
        elif name == "function_call_arguments":
            if what == "delta":
                item.call().text.write(event["delta"])
            else:
                item.call().replace(event["arguments"])
        elif name in TEXTS:
            kind, member = TEXTS[name]
            index = as_index(event.get("content_index", event.get("summary_index", 0)))
            if what == "delta":
                item.text(kind, index).text.write(event["delta"])
            else:
                item.text(kind, index).replace(event[member])

    def _read_response(self, response: Mapping[str, Any]) -> None:
        """Read the response in an event. The last event has the complete one."""
        status = response.get("status")
        if how_it_ended(status) == "unknown":
            return  # the response is not finished
        self.outcome.ends(status)
        if status == "failed" and not self.outcome.errors:
            self.outcome.errors.append(error_text(response.get("error") or "the response failed"))
        output = response.get("output") or ()
        if len(output) >= len(self._items):
            self._items = {}
            for place, item in enumerate(output):
                self._items[place] = Item()
                self._items[place].take(item)
