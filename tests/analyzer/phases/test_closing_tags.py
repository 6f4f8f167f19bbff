"""Closing markers derived from opening markers."""

from __future__ import annotations

import pytest

from deltaparse.analyzer.phases.closing_tags import closings


@pytest.mark.parametrize(
    ("marker", "closed"),
    [
        ("<muse>", ["</muse>", "<m/use>"]),
        ("<|muse|>", ["</|muse|>", "<|/muse|>"]),
        ("<|muse>", ["</|muse>", "<|/muse>", "<muse|>"]),
        ("[BEGIN_MUSE]", ["[/BEGIN_MUSE]", "[B/EGIN_MUSE]", "[END_MUSE]"]),
        ("[START_MUSE]", ["[/START_MUSE]", "[S/TART_MUSE]", "[END_MUSE]"]),
        ("<|muse_open|>", ["</|muse_open|>", "<|/muse_open|>", "<|muse_close|>"]),
    ],
)
def test_closings_are_derived_from_the_marker_name(marker, closed):
    assert list(closings(marker)) == closed
