"""Lazy imports: names of a package are imported on first use.

    if TYPE_CHECKING:
        from .json_text.heal import HealedJson, heal_json
    else:
        __getattr__, __dir__ = lazy_names(__name__, {".json_text.heal": "HealedJson heal_json"})

A program uses only a few names, but some dependencies (Jinja, `regex`, `ijson`, the grammars) are
expensive to import. So `import deltaparse` imports almost no modules, and a parser only the modules
that it needs. Type checkers read the first list, and Python reads the second.
`tests/test_exports.py` checks that both lists equal `__all__`.

A function with the name of its module cannot be lazy. An import of the module sets it as an
attribute of the package, and Python calls `__getattr__` only for missing attributes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, str], modules: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package (PEP 562).

    Args:
        package: the `__name__` of the package.
        homes: the names in each module (relative to the package), separated by spaces.
        modules: submodules that are imported on first use as attributes.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    lazy_modules = modules.split()

    def load(name: str) -> Any:
        if name in lazy_modules:
            value: Any = import_module(f".{name}", package)
        elif name in home:
            value = getattr(import_module(home[name], package), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # Cache the value as an attribute, so that `__getattr__` is called only once.
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *lazy_modules})

    return load, names
