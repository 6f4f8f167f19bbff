"""Real chat templates, recorded responses and cases of other projects, from a corpus folder.

The environment variable DELTAPARSE_CORPUS contains the path of the folder; an empty value means no
corpus. The default is ../shared/corpus next to the checkout, if it exists. Tests of the corpus are
marked `corpus`, and are not collected without it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "corpus"


def _folder():
    named = os.environ.get("DELTAPARSE_CORPUS")
    if named is None:
        return BESIDE if BESIDE.is_dir() else None
    if named and not Path(named).is_dir():
        raise NotADirectoryError(f"DELTAPARSE_CORPUS names no folder: {named}")
    return Path(named).resolve() if named else None


FOLDER = _folder()
needs_corpus = pytest.mark.corpus


def templates():
    """Return the paths of all chat templates."""
    return sorted(FOLDER.glob("templates/*.jinja")) if FOLDER else []


def newer_templates():
    """Return the paths of the chat templates added later."""
    return sorted(FOLDER.glob("templates-2026/*.jinja")) if FOLDER else []


def template(name):
    """Return the source of one chat template."""
    folders = [FOLDER / folder / name for folder in ("templates", "templates-2026")]
    return next(path for path in folders if path.is_file()).read_text(encoding="utf-8")


def rows(name):
    """Return the values of a JSON Lines file."""
    if FOLDER is None:
        return []
    lines = (FOLDER / name).read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]
