"""Handmade GGUF files: metadata, and a placeholder for the weights."""

from __future__ import annotations

import struct

NUMBERS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""The `struct` formats of the numeric types."""


def gguf(fields, order="<", version=3):
    """Return a GGUF file with the given fields of name, type and value."""

    def text(value):
        data = value.encode() if isinstance(value, str) else value
        return struct.pack(f"{order}Q", len(data)) + data

    def value(kind, given):
        if kind == 8:
            return text(given)
        if kind == 9:
            inner, values = given
            head = struct.pack(f"{order}IQ", inner, len(values))
            return head + b"".join(value(inner, one) for one in values)
        return struct.pack(order + NUMBERS[kind], given)

    body = b"".join(
        text(name) + struct.pack(f"{order}I", kind) + value(kind, given)
        for name, kind, given in fields
    )
    return b"GGUF" + struct.pack(f"{order}IQQ", version, 0, len(fields)) + body + b"weights"
