"""Wire formats by the names that users of vLLM and SGLang type.

Each format is a file beside this one: a document of `WireFormat.to_json()` that leaves out what
has its default. `names.json` lists them, with their aliases and the models that write so. Where
a template is at hand, `analyze` finds more: these are for outputs without one, and for templates
that do not say how calls are written. `"source"` names the origin of a format that was written
without a template; `"unproved"` has the aliases for models whose template nobody has compared: a
server reads their calls and their reasoning as the format has them, and their headers are unknown.
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
"""What may stand before a name: whose name it is, where two servers mean two formats by one."""

CLOSENESS = 0.5
"""How alike two names must be, of 1, for a message to suggest one for the other."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A registered name; without a format, the file of that name holds it."""

    aliases: tuple[str, ...]
    models: str = ""
    format: WireFormat | None = None
    by_token: tuple[tuple[str, str], ...] = ()
    """Tokens, and the formats that the name stands for where a tokenizer has them."""
    unproved: tuple[str, ...] = ()
    """Aliases for models whose template was not compared with the format."""


def get_format(name: str, tokenizer: object = None) -> WireFormat:
    """Return the wire format of this name or alias, in upper or lower case, with `-` or `_`.

    It is not `verified`: it was written down, and no template was rendered to prove it.
    `deltaparse.testing.check_template(template, fmt=...)` proves it. Give the parser the rendered
    prompt, as always; without it, the format's own generation prompt sets the state.

    Args:
        name: the name, or an alias.
        tokenizer: the model's tokenizer, with `get_vocab()`. Some names cover several versions of
            a format, such as "mistral"; tokens that only one of them has tell which it is.

    Raises:
        UsageError: there is no such format; the text suggests names that are spelled like it, and
            says what lists all.
    """
    own = _own_name(name)
    if own is None:
        raise UsageError(f"no format is called {name!r:.80}; {nearest(name, _all_names())}")
    entries = _entries()
    # An alias means one version; what a server calls so may be any.
    whichever = _plain(name) == own or _normalized(name).startswith(SERVERS)
    if entries[own].by_token and whichever:
        vocabulary: Container[str] = getattr(tokenizer, "get_vocab", dict)()
        others = (other for token, other in entries[own].by_token if token in vocabulary)
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
    """Add a format under a name, for the rest of this process; return it.

    Args:
        name: the name that `get_format` finds it by; case and `-` or `_` make no difference.
        fmt: the format, or the path of a JSON file that `WireFormat.from_json` reads.
        aliases: other names for it.
        replace: take a name over from another format, which loses it.

    Raises:
        UsageError: an empty or taken name; a file that cannot be read.
        FormatError: a file that holds no format.
    """
    if isinstance(aliases, str):
        raise UsageError(f"aliases is a list of names, not {aliases!r}")
    made = fmt if isinstance(fmt, WireFormat) else _from_file(fmt)
    own, others = _normalized(name), tuple(dict.fromkeys(map(_normalized, aliases)))
    _entries()  # takes the lock itself where nothing is registered yet
    with REGISTERING:
        taken = [known for known in (own, *others) if _own_name(known) is not None]
        if taken and not replace:
            raise UsageError(
                f"a format called {taken[0]!r} is there already; replace=True replaces it"
            )
        entries = {}
        for known, entry in _entries().items():
            if known not in (own, *others):
                kept = (
                    alias for alias in entry.aliases if _normalized(alias) not in (own, *others)
                )
                entries[known] = replaced(entry, aliases=tuple(kept))
        entries[own] = _Entry(tuple(alias for alias in others if alias != own), "", made)
        # Replaced as a whole: other threads may be reading the old one.
        Registered.entries = entries
    return made


def all_formats() -> list[tuple[str, WireFormat]]:
    """Each format with its name, the common ones first."""
    return _formats(_entries())


def of_all_formats(make: Callable[[list[tuple[str, WireFormat]]], T]) -> T:
    """What a function makes of all formats: remembered until another is registered."""
    entries = _entries()
    source, made = Registered.made.get(make, (None, None))
    if source is not entries:
        made = make(_formats(entries))
        Registered.made[make] = entries, made
    return made  # type: ignore[no-any-return]


def models_of(name: str) -> str:
    """Which models write in this format, in words; "" where that is not known."""
    own = _own_name(name)
    return _entries()[own].models if own else ""


def unproved_aliases(name: str) -> tuple[str, ...]:
    """The aliases of a format for models whose template was not compared with it."""
    own = _own_name(name)
    return _entries()[own].unproved if own else ()


def nearest(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: those spelled like it, and what lists all."""
    spelled = str(name).lower().replace("-", "_")
    close = get_close_matches(spelled, list(known), 3, CLOSENESS)
    meant = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f"{meant}`deltaparse formats` lists all"


def _own_name(name: object) -> str | None:
    """The name that a name or an alias stands for."""
    spelled = _normalized(name)
    entries = _entries()
    if spelled in entries:
        return spelled
    own = next((own for own in entries if spelled in map(_normalized, entries[own].aliases)), None)
    if own is None and _plain(name) != spelled:
        # What a server calls it, where that is no other format than its plain name stands for.
        return _own_name(_plain(name))
    return own


def _plain(name: object) -> str:
    """A name without the server that calls something so."""
    spelled = _normalized(name)
    return spelled.partition(":")[2] if spelled.startswith(SERVERS) else spelled


def _all_names() -> list[str]:
    """All names and aliases."""
    return [text for name, entry in _entries().items() for text in (name, *entry.aliases)]


def _normalized(name: object) -> str:
    """The one spelling of a name that all its spellings are compared by."""
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"the name of a format is a text, like 'hermes', not {name!r}")
    return name.strip().lower().replace("-", "_")


def _from_file(path: object) -> WireFormat:
    if not isinstance(path, str | Path):
        raise UsageError(f"a format is a WireFormat or the path of a JSON file, not {path!r}")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
    try:
        return WireFormat.from_json(text)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


class Registered:
    """Holds all names: the one thing in the library that a caller can change for all others."""

    entries: ClassVar[Mapping[str, _Entry] | None] = None
    made: ClassVar[dict[Callable[..., Any], tuple[object, Any]]] = {}
    """What a function made, and of which entries."""


def _entries() -> Mapping[str, _Entry]:
    """All entries by name; the built-in ones are read when they are first asked for."""
    entries = Registered.entries
    if entries is None:
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
            # Another thread may have been quicker, and have added to it.
            if Registered.entries is None:
                Registered.entries = built_in
            entries = Registered.entries
    return entries


def _formats(entries: Mapping[str, _Entry]) -> list[tuple[str, WireFormat]]:
    return [(name, entry.format or _built_in(name)) for name, entry in entries.items()]


@cache
def _built_in(name: str) -> WireFormat:
    return WireFormat.from_json((files(__package__) / f"{name}.json").read_text(encoding="utf-8"))
