"""Real chat templates, recorded outputs and cases of other projects, where a folder has them.

The environment variable DELTAPARSE_CORPUS names the folder, or none where it is empty; where it is
not set, ../shared/corpus beside the checkout is taken if it is there. Tests of what is in it are
marked `corpus`, and not collected where there is none.
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
    """The paths of all chat templates."""
    return sorted(FOLDER.glob("templates/*.jinja")) if FOLDER else []


def newer_templates():
    """The paths of the chat templates that were added later."""
    return sorted(FOLDER.glob("templates-2026/*.jinja")) if FOLDER else []


def template(name):
    """The source of one chat template."""
    folders = [FOLDER / folder / name for folder in ("templates", "templates-2026")]
    return next(path for path in folders if path.is_file()).read_text(encoding="utf-8")


def rows(name):
    """The values of a file that has one in JSON on each line."""
    if FOLDER is None:
        return []
    lines = (FOLDER / name).read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]
