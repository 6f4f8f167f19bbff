"""Loading of chat templates from tokenizers, files, model folders and GGUF files.

Each source has one or more named templates, two special tokens and the added tokens.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream.tokens.gguf_file import is_gguf, read_gguf
from deltaparse.stream.tokens.hub_names import not_fetched

__all__ = ["Loaded", "load_template"]

PREFERRED = ("tool_use", "default")
"""Names of the default template, in order of preference."""

ALONE = ""
"""Name of an unnamed template."""

BESIDE = "chat_template.jinja"
MORE = "additional_chat_templates"
CONFIGURATIONS = ("tokenizer_config.json", "chat_template.json", "processor_config.json")
IN_GGUF = "tokenizer.chat_template"
"""Key of the template in a GGUF file. Keys of further templates append a dot and their name."""

GGUF_TOKENS, GGUF_TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
GGUF_IDS = {"bos": "tokenizer.ggml.bos_token_id", "eos": "tokenizer.ggml.eos_token_id"}
GGUF_KEYS = frozenset({GGUF_TOKENS, GGUF_TYPES, *GGUF_IDS.values()})
CONTROL, USER_DEFINED = 3, 4
"""Types of tokens in a GGUF file that are not plain text."""


class GgufKeys(Container[str]):
    """Keys of a GGUF file related to its template."""

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (key in GGUF_KEYS or key.startswith(IN_GGUF))


@dataclass(frozen=True, slots=True)
class Loaded:
    """Source of a template, with the tokens of its tokenizer."""

    source: str
    bos_token: str
    eos_token: str
    added_tokens: tuple[str, ...] = ()


def load_template(source: object, name: str | None) -> Loaded:
    """Load the template of a tokenizer or from a path.

    Raises:
        UsageError: the source has no template, or no template with this name.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _of_tokenizer(source, name)
    path = Path(source)
    if path.is_dir():
        return _of_folder(path, name)
    if is_gguf(path):
        return _of_gguf(path, name)
    if told := not_fetched(path):
        raise UsageError(f"{source}: {told}")
    if path.suffix.lower() == ".json":
        return _of_configuration(path, name)
    folder = path.parent.parent if path.parent.name == MORE else path.parent
    return _with_tokens({ALONE: _text(path)}, _configuration(folder), None, str(path))


def _of_tokenizer(tokenizer: object, name: str | None) -> Loaded:
    inner = getattr(tokenizer, "tokenizer", None)  # a processor wraps the tokenizer with the tokens
    found = getattr(tokenizer, "chat_template", None) or getattr(inner, "chat_template", None)
    kind = type(tokenizer).__name__
    if found is None:
        raise UsageError(f"source must be a path or a tokenizer with a chat template, not {kind}")
    known = inner if inner is not None else tokenizer
    added = getattr(known, "get_added_vocab", None)
    tokens = tuple(added()) if callable(added) else ()
    config = {key: getattr(known, key, None) for key in ("bos_token", "eos_token")}
    made = _with_tokens(_named(found, kind), config, name, kind)
    return Loaded(made.source, made.bos_token, made.eos_token, tokens or made.added_tokens)


def _of_folder(folder: Path, name: str | None) -> Loaded:
    templates: dict[str, str] = {}
    for path in (folder / file for file in CONFIGURATIONS):
        if path.is_file():
            templates |= _named(_json(path).get("chat_template"), path)
    if (folder / BESIDE).is_file():
        templates[ALONE] = _text(folder / BESIDE)
    for path in sorted((folder / MORE).glob("*.jinja")):
        templates[path.stem] = _text(path)
    if not templates:
        models = sorted(folder.glob("*.gguf"))
        if models:
            return _of_gguf(models[0], name)
        raise UsageError(
            f"{folder}: no chat template found, expected {BESIDE} or {CONFIGURATIONS[0]}"
        )
    return _with_tokens(templates, _configuration(folder), name, str(folder))


def _of_configuration(path: Path, name: str | None) -> Loaded:
    config = _json(path)
    templates = _named(config.get("chat_template"), path)
    beside = path.with_name(BESIDE)
    if not templates and beside.is_file():
        templates = {ALONE: _text(beside)}
    if not templates:
        raise UsageError(f"{path}: no chat_template in it, and no {BESIDE} in its folder")
    return _with_tokens(templates, _configuration(path.parent) | config, name, str(path))


def _of_gguf(path: Path, name: str | None) -> Loaded:
    found = read_gguf(path, GgufKeys())
    templates = {
        key.removeprefix(IN_GGUF).lstrip(".") or "default": text.decode(errors="replace")
        for key, text in found.items()
        if key.startswith(IN_GGUF) and isinstance(text, bytes)
    }
    texts, types = found.get(GGUF_TOKENS, []), found.get(GGUF_TYPES, [])
    listed = isinstance(texts, list) and isinstance(types, list)
    if not listed or not isinstance(next(iter(texts), b""), bytes):  # items of one type
        kinds = f"{GGUF_TOKENS} or {GGUF_TYPES} has the wrong type"
        raise UsageError(f"{path}: not a GGUF file: {kinds}")
    tokens = [text.decode(errors="replace") for text in texts]
    special = [
        text for text, kind in zip(tokens, types, strict=False) if kind in (CONTROL, USER_DEFINED)
    ]
    config: dict[str, Any] = {}
    for which, key in GGUF_IDS.items():
        at = found.get(key)
        if isinstance(at, int) and 0 <= at < len(tokens):
            config[f"{which}_token"] = tokens[at]
    if not templates:
        raise UsageError(f"{path}: no chat template found")
    made = _with_tokens(templates, config, name, str(path))
    return Loaded(made.source, made.bos_token, made.eos_token, tuple(special))


def _with_tokens(
    templates: Mapping[str, str], config: Mapping[str, Any], name: str | None, where: str
) -> Loaded:
    """Choose one of the templates, and read the tokens from the configuration."""
    order = [name] if name is not None else [*PREFERRED, ALONE]
    if name == "default":
        order.append(ALONE)
    chosen = next((templates[key] for key in order if key in templates), None)
    if chosen is None:
        known = ", ".join(repr(key) if key else "an unnamed one" for key in sorted(templates))
        asked = f"named {name!r}" if name is not None else 'named "tool_use" or "default"'
        raise UsageError(f"{where}: no chat_template {asked}; available: {known}")
    added = config.get("added_tokens_decoder") or config.get("added_tokens")
    values = added.values() if isinstance(added, Mapping) else added
    tokens = tuple(_token(value) for value in values) if isinstance(values, Iterable) else ()
    bos, eos = _token(config.get("bos_token")), _token(config.get("eos_token"))
    return Loaded(chosen, bos, eos, tuple(filter(None, tokens)))


def _named(found: object, where: object) -> dict[str, str]:
    """Return templates by name, from a single one, a list of named ones, or a mapping."""
    if found is None:
        return {}
    if isinstance(found, list):
        entries = [entry for entry in found if isinstance(entry, Mapping)]
        found = {str(entry.get("name")): entry.get("template") for entry in entries}
    named: Mapping[Any, Any] = found if isinstance(found, Mapping) else {ALONE: found}
    if not all(isinstance(text, str) for text in named.values()):
        raise UsageError(f"{where}: chat_template must be a string")
    return {str(key): text for key, text in named.items()}


def _configuration(folder: Path) -> dict[str, Any]:
    """Return the tokenizer configuration in a folder, or {} if there is none."""
    known: dict[str, Any] = {}
    for name in ("special_tokens_map.json", CONFIGURATIONS[0]):
        if (folder / name).is_file():
            known |= _json(folder / name)
    if not known.get("added_tokens_decoder") and (folder / "tokenizer.json").is_file():
        known["added_tokens"] = _json(folder / "tokenizer.json").get("added_tokens")
    return known


def _token(token: object) -> str:
    """Return the text of a special token, which may be an object."""
    if isinstance(token, Mapping):
        token = token.get("content")
    return str(token) if token is not None and not isinstance(token, (list, dict)) else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise UsageError(f"{path}: not UTF-8 text: byte {byte:#x} at {error.start}") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error


def _json(path: Path) -> dict[str, Any]:
    text = _text(path)
    try:
        made = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from error
    if not isinstance(made, dict):
        raise UsageError(f"{path}: not a tokenizer configuration: expected a JSON object")
    return made
