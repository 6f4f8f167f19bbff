"""The response parser of transformers, if installed, as the reference for response templates."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["Judge", "Reader", "judge"]

PACKAGE = "transformers"
HOME = "transformers.utils.chat_parsing"

Tools = Sequence[Mapping[str, Any]] | None
Reader = Callable[[Sequence[str], str, Tools], "Mapping[str, Any] | str"]
"""Parses the chunks of a turn after a prompt. Returns a message, or an error text."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The installed parser: its name with version, template loader and parser class."""

    name: str
    load: Callable[[Any], Any]
    parser: Callable[..., Any]

    def reader(self, template: Any) -> Reader | str:
        """Return a reader for a response template, or the error if the parser refuses it."""
        try:
            loaded = self.load(template)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return f"{PACKAGE} refuses it: {error}"

        def read(chunks: Sequence[str], prompt: str, tools: Tools) -> Mapping[str, Any] | str:
            given = deepcopy(list(tools)) if tools else None
            try:
                parser = self.parser(loaded, prefix=prompt, tools=given)
                for chunk in chunks:
                    parser.feed(chunk)
                message: Mapping[str, Any] = parser.finalize()[0]
            except Exception as error:  # noqa: BLE001 - any exception means that the turn is lost
                return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
            return message

        return read


@cache
def judge() -> Judge | None:
    """Find the parser, or return None if transformers is missing or too old to have one."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, rarely needed

    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # transformers warns about packages that are not needed here
    try:
        module = import_module(HOME)
        name = f"{PACKAGE} {version(PACKAGE)}"
        home = import_module(f"{HOME}.response_templates")
        return Judge(name, home.load_response_template, module.ResponseParser)
    except (ImportError, AttributeError, PackageNotFoundError):
        return None
    finally:
        logging.disable(before)
