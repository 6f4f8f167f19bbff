"""Cache of formats in a directory, shared between processes.

    DIRECTORY/SHA256.json     the wire format of one template

The name is a hash of everything that the format depends on: the template with its tokens and
limits, the switches, the version of this package, the version of the JSON document, and the fields
of a format. A file therefore never goes stale. An unreadable file is replaced. Files are written
under a temporary name and renamed, so readers never see an incomplete file. A format from an
analysis that ran out of time is not stored, because a less busy machine may finish it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from deltaparse.partial import FormatError, UsageError
from deltaparse.stream import WireFormat
from deltaparse.version import __version__

from .template.jinja_template import JinjaTemplate

__all__ = ["OUT_OF_TIME", "load_or_analyze", "ran_out_of_time"]

OUT_OF_TIME = "the template takes too long"
"""Prefix of the issue that reports an analysis out of time."""

CacheDirectory = str | os.PathLike[str]


def load_or_analyze(
    directory: CacheDirectory,
    template: JinjaTemplate,
    switches: Mapping[str, Any],
    make: Callable[[], WireFormat],
) -> WireFormat:
    """Return the format of a template from the cache, or derive and store it.

    A directory that cannot be written to is ignored, because the format is returned anyway.

    Raises:
        UsageError: `directory` exists but is not a directory.
    """
    folder = Path(directory)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"cache must be a directory, but {folder} is not one")
    path = folder / f"{_key(template, switches)}.json"
    with suppress(OSError, UnicodeError, FormatError):
        kept = WireFormat.from_json(path.read_text("utf-8", errors="surrogatepass"))
        if not ran_out_of_time(kept):
            return kept
    fmt = make()
    if ran_out_of_time(fmt):
        return fmt
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        _write(path, fmt.to_json())
    return fmt


def ran_out_of_time(fmt: WireFormat) -> bool:
    """Return True if the analysis of this format ran out of time."""
    return any(issue.startswith(OUT_OF_TIME) for issue in fmt.issues)


def _key(template: JinjaTemplate, switches: Mapping[str, Any]) -> str:
    parts = [__version__, WireFormat().to_json()]
    parts += [template.source, template.bos_token, template.eos_token]
    parts += template.added_tokens
    parts += [repr(sorted(switches.items())), repr(template.limits)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    """Write a file atomically, so that readers never see an incomplete file."""
    data = text.encode("utf-8", errors="surrogatepass")
    with NamedTemporaryFile(dir=path.parent, suffix=".new", delete=False) as new:
        written = Path(new.name)
        try:
            new.write(data)
            new.close()
            written.replace(path)
        except OSError:
            written.unlink(missing_ok=True)
            raise
