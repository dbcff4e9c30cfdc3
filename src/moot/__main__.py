"""The program: the command `moot`, and `python -m moot`.

Most commands are short, so starting and ending the interpreter is most of their time. What this module may import from
is settled in `moot/__init__.py`.
"""

from __future__ import annotations

import gc
import os
import sys

_GARBAGE = 50_000  # new objects before garbage is collected: most commands never have so many


def command() -> None:
    """Run the command line and end the process."""
    gc.set_threshold(_GARBAGE)
    from moot.surfaces.cli.main import main

    end(main())


def end(code: int) -> None:
    """End the process at once, without taking the interpreter down. With threads or exit handlers, as usual."""
    if "threading" in sys.modules or "atexit" in sys.modules:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass  # `main` has reported what it could
    os._exit(code)


if __name__ == "__main__":
    command()
