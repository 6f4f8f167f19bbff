"""Factory of tool parsers by the type in a configuration.

    inference_service:
      tool_parser: "qwen25"      # the default

The types are the names and aliases of the built-in formats, and the names of registered parsers.
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
    """Return a new tool parser.

    Args:
        parser_type: the name of a registered parser or of a built-in format, or a `WireFormat`.
        options: arguments of the parser: `tools`, `prompt` and `policies` for `WireToolParser`.

    Raises:
        UsageError: the type is unknown. The message suggests similar names.
    """
    if isinstance(parser_type, WireFormat):
        return WireToolParser(parser_type, **options)
    if not isinstance(parser_type, str):
        raise UsageError(f"parser_type must be a str, for example 'qwen25', not {parser_type!r}")
    made = _registered.get(_spelling(parser_type))
    if made is not None:
        return made(**options)
    try:
        fmt = get_format(parser_type)
    except UsageError as error:
        known = [text for name, others in list_formats().items() for text in (name, *others)]
        close = nearest(parser_type, [*_registered, *known])
        raise UsageError(f"unknown tool parser {parser_type!r}: {close}") from error
    return WireToolParser(fmt, **options)


def register_tool_parser(name: str, made: Callable[..., BaseToolParser]) -> None:
    """Register a tool parser for `create_tool_parser(name)` in this process.

    A registered parser takes precedence over a built-in format of the same name.

    Args:
        name: the name.
        made: a class or function that returns a new parser.

    Raises:
        UsageError: the name is empty, or `made` is not callable.
    """
    spelled = _spelling(name)
    if not spelled or not callable(made):
        raise UsageError("register_tool_parser() requires a name and a tool parser class")
    _registered[spelled] = made


def tool_parser_from_config(
    config: Mapping[str, Any] | str | Path, **options: Any
) -> BaseToolParser:
    """Return a new tool parser for a configuration.

    Args:
        config: a mapping, or the path of a YAML or JSON file. The key `tool_parser` is read from
            the section `inference_service` or the top level (default: "qwen25").
        options: arguments of the parser.

    Raises:
        UsageError: the type is unknown, the file cannot be read, or PyYAML is missing.
    """
    given = config if isinstance(config, Mapping) else _from_file(config)
    section = given.get(SECTION)
    section = {} if section is None else section
    if not isinstance(section, Mapping):
        raise UsageError(f"{SECTION} in a configuration must be a mapping, not {section!r}")
    word = section.get(KEY, given.get(KEY))
    return create_tool_parser(DEFAULT if word is None else word, **options)


def _from_file(path: object) -> Mapping[str, Any]:
    if not isinstance(path, str | Path):
        raise UsageError(f"config must be a mapping or the path of a file, not {path!r}")
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
        raise UsageError(f"{path}: the configuration must be a mapping")
    return value


def _yaml(text: str) -> Any:
    """Parse a YAML text. PyYAML is an optional dependency: only YAML files require it."""
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise UsageError("a YAML file requires PyYAML (pip install pyyaml), or use JSON") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _spelling(name: object) -> str:
    return name.strip().lower().replace("-", "_") if isinstance(name, str) else ""
