"""Records of turns, as lines of JSON for replay."""

from __future__ import annotations

import json
import logging
from collections import deque
from pathlib import Path
from typing import Any

from .choice_stream import Turn
from .parsed_request import ParsedRequest
from .record_file import RecordFile

__all__ = ["Records"]

LOG = logging.getLogger("deltaparse.gateway")


class Records:
    """Keeps the last turns in memory, writes all turns to a file, or both.

    Several processes may write to one file.

    Args:
        file: the path of the file, None for no file.
        latest: the number of turns kept in memory.

    Raises:
        OSError: the file is not writable.
    """

    def __init__(self, file: Path | None = None, *, latest: int = 0) -> None:
        self.latest: deque[dict[str, Any]] = deque(maxlen=latest)
        self._file = None if file is None else RecordFile(file)

    @property
    def wanted(self) -> bool:
        """True if turns are kept or written."""
        return self._file is not None or self.latest.maxlen != 0

    def add(self, id: str, model: str | None, asked: ParsedRequest, turn: Turn) -> None:
        """Record a turn: its output in the original chunks, and the parsed message.

        A write error is logged, and the request continues.
        """
        if not self.wanted:
            return
        record = record_of(id, model, asked, turn)
        self.latest.append(record)
        if self._file is not None:
            line = json.dumps(record, ensure_ascii=True) + "\n"
            try:
                self._file.append(line.encode("ascii"))
            except OSError as error:
                LOG.error("a turn was not recorded: %s", error.strerror)  # noqa: TRY400

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def record_of(id: str, model: str | None, asked: ParsedRequest, turn: Turn) -> dict[str, Any]:
    """Return the record of a turn, as read by `deltaparse replay`."""
    request = asked.request
    record = {
        "id": id,
        "model": model,
        "prompt": asked.prompt,
        "tools": list(request.tools or ()),
        "tool_choice": request.tool_choice if request.tools else "auto",
        "parallel_tool_calls": request.parallel_tool_calls,
        "extra_calls": asked.policies.extra_calls,
        "response_schema": request.response_schema,
        "calls": asked.constraint.calls if asked.constraint else "format",
        "chunks": turn.chunks,
        "token_ids": turn.ids or None,
        "finish_reason": turn.told,
        "stop_reason": turn.stopped_at,
        "issues": [
            {"kind": issue.kind, "span": issue.span, "detail": issue.detail}
            for issue in turn.parser.issues
        ],
        "expected": turn.parser.message.to_openai(),
    }
    return {name: value for name, value in record.items() if value is not None}
