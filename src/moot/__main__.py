"""`python -m moot`: the same as the command `moot`."""

from __future__ import annotations

import sys

from moot.surfaces.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
