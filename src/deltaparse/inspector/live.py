"""The page of turns that a server has answered, as it serves it."""

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
    """Return the page of outputs, the first of which is shown: one file of HTML.

    Args:
        records: inspections, or records as `deltaparse.replay` reads them: `chunks` or `text`, and
            maybe `id`, `prompt`, `tools`, `finish_reason`, `format`. What cannot be read is on
            the page, with the reason.
        fmt: how the model writes, for records that have no `format` or `template`.
        policies: what to do where an output is odd.
        vocabulary: what `token_ids` are read with.
    """
    replayer = Replayer(fmt, policies=policies, vocabulary=vocabulary)
    return page(
        one if isinstance(one, Inspection) else inspect_record(one, replayer, number)
        for number, one in enumerate(records, 1)
    )
