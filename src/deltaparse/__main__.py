"""`python -m deltaparse`: the command."""

from __future__ import annotations

import sys

from deltaparse.command.main import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
