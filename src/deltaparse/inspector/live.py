"""Inspector page for a server's recent turns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deltaparse.replay import Replayer
from deltaparse.stream import Policies, Vocabulary, WireFormat

from .html_page import page
from .inspection import Inspection
from .outputs import inspect_record

__all__ = ["live_page"]


def live_page(
    records: Iterable[Any],
    fmt: WireFormat | None = None,
    *,
    policies: Policies = Policies(),  # noqa: B008 - frozen
    vocabulary: Vocabulary | None = None,
) -> str:
    """Return an HTML page of outputs. The first output is selected.

    Args:
        records: inspections, or records as in `deltaparse.replay`: `chunks` or `text`, and
            optionally `id`, `prompt`, `tools`, `finish_reason`, `format`. An unreadable record
            is shown with its error.
        fmt: the format for records without `format` and `template`.
        policies: the handling of malformed output.
        vocabulary: decodes `token_ids`.
    """
    replayer = Replayer(fmt, policies=policies, vocabulary=vocabulary)
    return page(
        one if isinstance(one, Inspection) else inspect_record(one, replayer, number)
        for number, one in enumerate(records, 1)
    )
