"""Texts, images and documents in messages, in the shapes of protocols and templates.

Between the protocols, images and documents have the shape of Chat Completions:

    {"type": "image_url", "image_url": {"url": ...}}
    {"type": "file", "file": {"file_data": ..., "filename": ...}}       a document

Templates use other names for them, and most render none. The shape that a template accepts is found
by rendering each one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from deltaparse.partial import DeltaParseError, UsageError

__all__ = ["Content", "Part", "Template", "as_template_takes", "data_url", "joined", "parts_of"]

Part = dict[str, Any]
Content = str | list[Part]

PROBE = "7f3a"
LIKENESS = "data:image/png;base64,AA=="


class Template(Protocol):
    """The required part of `ChatTemplate`."""

    def render(self, messages: Any, /) -> str:
        """Return the prompt of a conversation."""


def joined(parts: Iterable[Part], between: str) -> Content:
    """Return parts as content: one string if all are texts, else the list."""
    kept = list(parts)
    if all(part.get("type") == "text" for part in kept):
        return between.join(part["text"] for part in kept)
    return kept


def parts_of(content: Any) -> list[Any]:
    """Return content of any protocol as a list of parts."""
    if content is None or content == "":
        return []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def data_url(source: Mapping[str, Any]) -> str:
    """Return the URL of Anthropic's source object.

    Raises:
        UsageError: the source is a file stored elsewhere.
    """
    if source.get("type") == "url":
        return str(source["url"])
    if source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source['data']}"
    raise UsageError(
        f"a source of type {source.get('type')!r} is not supported: pass it by url or base64"
    )


def image_shapes(part: Part) -> list[Part]:
    """Return an image in the shapes that templates know."""
    return [part, {"type": "image", "image": part["image_url"]["url"]}]


def file_shapes(part: Part) -> list[Part]:
    """Return a document in the shapes that templates know."""
    data = part["file"].get("file_data")
    return [part, {"type": "document", "document": data}]


KINDS: dict[str, tuple[str, Callable[[Part], list[Part]]]] = {
    "image_url": ("images", image_shapes),
    "file": ("documents", file_shapes),
}
LIKENESSES = {
    "image_url": {"type": "image_url", "image_url": {"url": LIKENESS}},
    "file": {"type": "file", "file": {"file_data": LIKENESS}},
}


def as_template_takes(
    messages: Iterable[dict[str, Any]], template: Template | None
) -> list[dict[str, Any]]:
    """Return messages with images and documents in the template's shape.

    Without a template they keep the shape of Chat Completions.

    Raises:
        UsageError: the template renders none of the shapes.
    """
    shown: dict[str, int | None] = {}

    def taken(part: Part) -> Part:
        kind = part.get("type", "")
        if template is None or kind not in KINDS:
            return part
        if kind not in shown:
            shown[kind] = _shape_shown(template, kind)
        shape = shown[kind]
        if shape is None:
            raise UsageError(f"{KINDS[kind][0]}: the template does not render them")
        return KINDS[kind][1](part)[shape]

    made = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            message = {**message, "content": [taken(part) for part in content]}  # noqa: PLW2901
        made.append(message)
    return made


def _shape_shown(template: Template, kind: str) -> int | None:
    """Return the first shape of a part that the template renders, or None."""
    text: Part = {"type": "text", "text": PROBE}
    for place, shape in enumerate(KINDS[kind][1](LIKENESSES[kind])):
        plain, with_part = (_rendered(template, parts) for parts in ([text], [shape, text]))
        if PROBE in plain and PROBE in with_part and repr(shape) not in with_part:
            if with_part != plain:
                return place
    return None


def _rendered(template: Template, parts: list[Part]) -> str:
    try:
        return template.render([{"role": "user", "content": parts}])
    except DeltaParseError:
        return ""
