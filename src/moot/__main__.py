"""`python -m moot`: the same as the command `moot`. What it may import from is settled in `moot/__init__.py`."""

from __future__ import annotations

import sys

from moot.surfaces.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
