"""Turns written down, to be read again: one line of JSON for each."""

from __future__ import annotations

import json
from typing import TextIO

from .asked import Asked
from .turn import Turn

__all__ = ["write_record"]


def write_record(file: TextIO, id: str, asked: Asked, turn: Turn) -> None:
    """Write the raw output of a turn, in the chunks in which it came, with its prompt."""
    tools = asked.request.tools
    record = {
        "id": id,
        "prompt": asked.prompt,
        "tools": None if tools is None else list(tools),
        "chunks": turn.chunks,
        "finish_reason": turn.finish_reason,
    }
    file.write(json.dumps(record, ensure_ascii=True) + "\n")
    file.flush()
