"""Names of a package that are imported when they are first used.

    if TYPE_CHECKING:
        from .json_text.heal import HealedJson, heal_json
    else:
        __getattr__, __dir__ = lazy_names(__name__, {".json_text.heal": "HealedJson heal_json"})

A program uses a few of a package's names, and what stands behind some of the others (Jinja,
`regex`, `ijson`, the grammars) costs more than all the rest. So `import deltaparse` imports next to
nothing, and a parser imports no more than it needs. Type checkers read the first list, Python the
second; `tests/test_exports.py` holds the two and `__all__` equal.

A function with the name of its module cannot be lazy: whoever imports that module sets it as an
attribute of the package, and Python asks `__getattr__` only for what is no attribute.
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
    """Make the `__getattr__` and the `__dir__` of a package (PEP 562).

    Args:
        package: the package's `__name__`.
        homes: for each module, relative to the package, the names that it has, with spaces between.
        modules: modules of the package that are attributes without having been imported.
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
        # An attribute like others from now on: nobody asks here again.
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *lazy_modules})

    return load, names
