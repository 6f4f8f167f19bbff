"""Registry of built-in formats, with the names that users of vLLM and SGLang type.

Each format is a JSON file in this folder: a document of `WireFormat.to_json()` without default
values. `names.json` lists the formats with aliases and models. If a template is available,
`analyze` finds more. Built-in formats serve outputs without a template, and templates that do not
show the notation of calls.

`"source"` names the origin of a format that was written without a template. `"unproved"` lists
aliases for models whose template was not compared with the format. Servers parse calls and
reasoning of these models as in the format, but their headers are unknown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from dataclasses import replace as replaced
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, TypeVar

from deltaparse.partial import FormatError, UsageError

from ..format import WireFormat

__all__ = [
    "all_formats",
    "get_format",
    "list_formats",
    "models_of",
    "nearest",
    "of_all_formats",
    "register_format",
    "unproved_aliases",
]

NAMES = "names.json"
REGISTERING = Lock()
SERVERS = ("vllm:", "sglang:")
"""Prefixes of names, because two servers may use one name for two formats."""

CLOSENESS = 0.5
"""Similarity from 0 to 1 that a suggested name needs."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A registered name. Without a format, the file of this name contains it."""

    aliases: tuple[str, ...]
    models: str = ""
    format: WireFormat | None = None
    by_token: tuple[tuple[str, str], ...] = ()
    """Special tokens, each with the format to use if the tokenizer has the token."""
    unproved: tuple[str, ...] = ()
    """Aliases for models whose template was not compared with the format."""


def get_format(name: str, tokenizer: object = None) -> WireFormat:
    """Return the built-in format with this name or alias.

    Case does not matter, and `-` equals `_`. The format is not `verified`: it is hand-written, and
    no template was rendered. `deltaparse.testing.check_template(template, fmt=...)` verifies it.
    Pass the rendered prompt to the parser, as always. Without it, the format's own generation
    prompt sets the initial state.

    Args:
        name: the name or an alias.
        tokenizer: the model's tokenizer, with `get_vocab()`. Some names, e.g. "mistral", cover
            several versions of a format. Tokens of only one version decide.

    Raises:
        UsageError: unknown name. The message suggests similar names, and the command that lists
            all.
    """
    own = _own_name(name)
    if own is None:
        raise UsageError(f"no format is called {name!r:.80}; {nearest(name, _all_names())}")
    entries = _entries()
    # An alias means one version, but the name of a server may mean any.
    whichever = _plain(name) == own or _normalized(name).startswith(SERVERS)
    if entries[own].by_token and whichever:
        # A tokenizer without `get_vocab` does not decide, so the name means the default.
        vocabulary: Container[str] = getattr(tokenizer, "get_vocab", dict)()
        others = (other for token, other in entries[own].by_token if token in vocabulary)
        # The format of a token may have been replaced by a user, who may have removed its name.
        own = next((other for other in others if other in entries), own)
    return entries[own].format or _built_in(own)


def list_formats() -> Mapping[str, tuple[str, ...]]:
    """Return the names of all formats, each with its aliases."""
    entries = _entries()
    return {name: entries[name].aliases for name in sorted(entries)}


def register_format(
    name: str,
    fmt: WireFormat | str | Path,
    aliases: Iterable[str] = (),
    *,
    replace: bool = False,
) -> WireFormat:
    """Register a format under a name, for the lifetime of this process.

    Args:
        name: the name for `get_format`. Case does not matter, and `-` equals `_`.
        fmt: the format, or the path of a JSON file for `WireFormat.from_json`.
        aliases: other names of the format.
        replace: take the name over from another format, which loses it.

    Returns:
        The registered format.

    Raises:
        UsageError: the name is empty or taken, or the file cannot be read.
        FormatError: the file does not contain a format.
    """
    # A string is iterable, so its letters would become aliases.
    if isinstance(aliases, str):
        raise UsageError(f"aliases must be a list of names, not {aliases!r}")
    made = fmt if isinstance(fmt, WireFormat) else _from_file(fmt)
    # Different spellings of an alias may be equal after normalization.
    own, others = _normalized(name), tuple(dict.fromkeys(map(_normalized, aliases)))
    # The first use takes the lock itself, which is not reentrant.
    _entries()
    with REGISTERING:
        # Checked inside the lock, because another thread may register the same name.
        taken = [known for known in (own, *others) if _own_name(known) is not None]
        if taken and not replace:
            raise UsageError(
                f"a format called {taken[0]!r} already exists, pass replace=True to replace it"
            )
        entries = {}
        for known, entry in _entries().items():
            # A format disappears if its own name is taken. Others lose only the taken aliases.
            # Entries are immutable, because other threads may use them.
            if known not in (own, *others):
                kept = (
                    alias for alias in entry.aliases if _normalized(alias) not in (own, *others)
                )
                entries[known] = replaced(entry, aliases=tuple(kept))
        # A registered format has its value, so `_built_in` must not look for a file.
        entries[own] = _Entry(tuple(alias for alias in others if alias != own), "", made)
        # A new mapping, because other threads may be reading the old one.
        Registered.entries = entries
    return made


def all_formats() -> list[tuple[str, WireFormat]]:
    """Return each format with its name, the most common formats first."""
    return _formats(_entries())


def of_all_formats(make: Callable[[list[tuple[str, WireFormat]]], T]) -> T:
    """Return the result of `make` for all formats, cached until another format is registered."""
    entries = _entries()
    # Indexes of all formats are costly, and registrations are rare.
    source, made = Registered.made.get(make, (None, None))
    # Compared by identity: each registration creates a new mapping.
    if source is not entries:
        made = make(_formats(entries))
        Registered.made[make] = entries, made
    return made  # type: ignore[no-any-return]


def models_of(name: str) -> str:
    """Return the models that use this format, in words.

    Args:
        name: name of the format.

    Returns:
        The models, "" if they are unknown.
    """
    own = _own_name(name)
    return _entries()[own].models if own else ""


def unproved_aliases(name: str) -> tuple[str, ...]:
    """Return the aliases for models whose template was not compared with the format."""
    own = _own_name(name)
    return _entries()[own].unproved if own else ()


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name.

    It suggests similar names, and names the command that lists all.
    """
    # Any object, because the name may have the wrong type.
    spelled = str(name).lower().replace("-", "_")
    close = get_close_matches(spelled, list(known), 3, CLOSENESS)
    meant = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f"{meant}`deltaparse formats` lists all"


def _own_name(name: object) -> str | None:
    """Return the registered name for a name or an alias, None for an unknown name."""
    spelled = _normalized(name)
    entries = _entries()
    # Fast path: most names are not aliases, and need no search.
    if spelled in entries:
        return spelled
    own = next((own for own in entries if spelled in map(_normalized, entries[own].aliases)), None)
    if own is None and _plain(name) != spelled:
        # Most names of servers mean the same format without the prefix.
        return _own_name(_plain(name))
    return own


def _plain(name: object) -> str:
    """Return a name without the prefix of a server."""
    spelled = _normalized(name)
    return spelled.partition(":")[2] if spelled.startswith(SERVERS) else spelled


def _all_names() -> list[str]:
    """Return all names and aliases."""
    # Aliases are suggested too, because they are the names of vLLM and SGLang.
    return [text for name, entry in _entries().items() for text in (name, *entry.aliases)]


def _normalized(name: object) -> str:
    """Return the canonical spelling of a name."""
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"the name of a format must be a string, e.g. 'hermes', not {name!r}")
    return name.strip().lower().replace("-", "_")


def _from_file(path: object) -> WireFormat:
    if not isinstance(path, str | Path):
        raise UsageError(f"fmt must be a WireFormat or the path of a JSON file, not {path!r}")
    try:
        # Editors on Windows may add a byte order mark, which JSON does not allow.
        text = Path(path).read_text(encoding="utf-8-sig")
    # ValueError: bytes that are not UTF-8, or a path with NUL.
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
    try:
        return WireFormat.from_json(text)
    # A service may load many files at startup, so the message needs the path.
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


class Registered:
    """The global registry: the only state of the library that callers can change for each other."""

    entries: ClassVar[Mapping[str, _Entry] | None] = None
    # Cached outside of the functions, so that a registration invalidates all results.
    made: ClassVar[dict[Callable[..., Any], tuple[object, Any]]] = {}
    """Cached results by function, each with the entries it was made from."""


def _entries() -> Mapping[str, _Entry]:
    """Return all entries by name. The built-in entries are read on first use."""
    entries = Registered.entries
    if entries is None:
        # Read outside of the lock, so that other threads do not wait for the file.
        text = (files(__package__) / NAMES).read_text(encoding="utf-8")
        built_in = {
            name: _Entry(
                tuple(entry["aliases"]),
                entry["models"],
                by_token=tuple(entry.get("by_token", {}).items()),
                unproved=tuple(entry.get("unproved", ())),
            )
            for name, entry in json.loads(text).items()
        }
        with REGISTERING:
            # Another thread may have been faster, and may have registered formats already.
            if Registered.entries is None:
                Registered.entries = built_in
            entries = Registered.entries
    return entries


def _formats(entries: Mapping[str, _Entry]) -> list[tuple[str, WireFormat]]:
    return [(name, entry.format or _built_in(name)) for name, entry in entries.items()]


# Read on demand and once, because most programs use one format.
@cache
def _built_in(name: str) -> WireFormat:
    return WireFormat.from_json((files(__package__) / f"{name}.json").read_text(encoding="utf-8"))
