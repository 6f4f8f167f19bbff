"""Tool parsers by the word in a configuration.

    inference_service:
      tool_parser: "qwen25"      # the default

The words are the names and aliases of the formats, and the names under which users register
classes of their own.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from deltaparse.partial import UsageError
from deltaparse.stream import WireFormat, get_format, list_formats
from deltaparse.stream.wire.named.registry import nearest

from .base import BaseToolParser
from .wire_parser import WireToolParser

__all__ = ["create_tool_parser", "register_tool_parser", "tool_parser_from_config"]

DEFAULT = "qwen25"
SECTION, KEY = "inference_service", "tool_parser"

_registered: dict[str, Callable[..., BaseToolParser]] = {}


def create_tool_parser(parser_type: str | WireFormat = DEFAULT, **options: Any) -> BaseToolParser:
    """Make the tool parser of this type: a registered one, or that of a named format.

    `parser_type` may be a `WireFormat`, too. `options` are those of the parser: `WireToolParser`
    takes `tools`, `prompt` and `policies`.

    Raises:
        UsageError: an unknown type; the text names those that are spelled like it.
    """
    if isinstance(parser_type, WireFormat):
        return WireToolParser(parser_type, **options)
    if not isinstance(parser_type, str):
        raise UsageError(f"the type of a tool parser is a text, like 'qwen25', not {parser_type!r}")
    made = _registered.get(_spelling(parser_type))
    if made is not None:
        return made(**options)
    try:
        fmt = get_format(parser_type)
    except UsageError as error:
        known = [text for name, others in list_formats().items() for text in (name, *others)]
        close = nearest(parser_type, [*_registered, *known])
        raise UsageError(f"no tool parser is called {parser_type!r}; {close}") from error
    return WireToolParser(fmt, **options)


def register_tool_parser(name: str, made: Callable[..., BaseToolParser]) -> None:
    """Let `create_tool_parser(name)` return what `made`, a class or a function, returns.

    It goes before a named format, for the rest of this process.

    Raises:
        UsageError: no name, or nothing that can be called.
    """
    spelled = _spelling(name)
    if not spelled or not callable(made):
        raise UsageError("register_tool_parser() takes a name and a class of tool parsers")
    _registered[spelled] = made


def tool_parser_from_config(
    config: Mapping[str, Any] | str | Path, **options: Any
) -> BaseToolParser:
    """Make the tool parser that a configuration names.

    `config` is a mapping, or the path of a YAML or JSON file that holds one. Its key is
    `tool_parser`, in `inference_service` or at the top; without, it is the default.

    Raises:
        UsageError: an unknown type; a file that cannot be read; YAML without PyYAML.
    """
    given = config if isinstance(config, Mapping) else _from_file(config)
    section = given.get(SECTION)
    section = {} if section is None else section
    if not isinstance(section, Mapping):
        raise UsageError(f"{SECTION} in a configuration is a mapping, not {section!r}")
    word = section.get(KEY, given.get(KEY))
    return create_tool_parser(DEFAULT if word is None else word, **options)


def _from_file(path: object) -> Mapping[str, Any]:
    if not isinstance(path, str | Path):
        raise UsageError(f"a configuration is a mapping or the path of a file, not {path!r}")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        value = json.loads(text) if str(path).lower().endswith(".json") else _yaml(text)
    except UsageError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UsageError(f"{path}: a configuration is a mapping")
    return value


def _yaml(text: str) -> Any:
    """Return the value of a YAML text. PyYAML is no dependency: who writes YAML has it."""
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise UsageError("a YAML file needs PyYAML (pip install pyyaml), or write JSON") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _spelling(name: object) -> str:
    return name.strip().lower().replace("-", "_") if isinstance(name, str) else ""
