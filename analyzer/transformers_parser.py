"""transformers' own parser of responses, where it is installed: it judges response templates."""

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
"""Reads the chunks of a turn behind a prompt: a message, or why there is none."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The installed parser: its name and version, and what it is made of."""

    name: str
    load: Callable[[Any], Any]
    parser: Callable[..., Any]

    def reader(self, template: Any) -> Reader | str:
        """Make a reader of a response template; why not, where the parser refuses it."""
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
            except Exception as error:  # noqa: BLE001 - whatever it raises, the turn is lost
                return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
            return message

        return read


@cache
def judge() -> Judge | None:
    """Find the parser; None where transformers is not installed, or has none yet."""
    from importlib.metadata import PackageNotFoundError, version  # slow, and seldom needed

    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # it advises to install what is not needed here
    try:
        module = import_module(HOME)
        name = f"{PACKAGE} {version(PACKAGE)}"
        home = import_module(f"{HOME}.response_templates")
        return Judge(name, home.load_response_template, module.ResponseParser)
    except (ImportError, AttributeError, PackageNotFoundError):
        return None
    finally:
        logging.disable(before)
