"""Names of models on a hub: a path that is not there may be one."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["not_fetched"]

HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*(?<!\.json)(?<!\.jinja)(?<!\.gguf)", re.ASCII)
"""How a hub names models; a path may look so, too."""

NOT_FETCHED = (
    "No such file or directory; models are not fetched from a hub: fetch it first (hf download {} "
    "--exclude '*.safetensors'), and give its folder"
)


def not_fetched(path: Path) -> str:
    """Return what to say of a path in whose place a hub's name was given; "" if it is none."""
    named = HUB_ID.fullmatch(path.as_posix()) and not path.parent.is_dir()
    return NOT_FETCHED.format(path.as_posix()) if named else ""
