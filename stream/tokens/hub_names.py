"""Detection of model names of a hub, given instead of a path."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["not_fetched"]

HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*(?<!\.json)(?<!\.jinja)(?<!\.gguf)", re.ASCII)
"""A pattern of model names; a path may match too."""

# Without the weights, which a vocabulary does not need.
NOT_FETCHED = (
    "No such file or directory. Models are not downloaded from a hub: download it first "
    "(hf download {} --exclude '*.safetensors'), and pass its folder"
)


def not_fetched(path: Path) -> str:
    """Return an error message for a path with the form of a model name, "" for other paths."""
    # If the folder exists, the path is meant as a path.
    named = HUB_ID.fullmatch(path.as_posix()) and not path.parent.is_dir()
    return NOT_FETCHED.format(path.as_posix()) if named else ""
