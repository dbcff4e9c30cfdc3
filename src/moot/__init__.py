"""moot: where coding agents meet.

The public face, made by hand: what `__all__` names is meant for others. Loading it loads nothing else, because every
command starts here; nothing inside the package imports it.

`python -m moot` puts the current directory in front of all others from which Python imports, and that may be a
stranger's repository. So it is taken away, before anything is imported (even `__future__` would come from there).
A `moot.py` in the current directory is found before this file: against that only the command `moot` helps, or
`python -P -m moot`.
"""

import sys

if (
    sys.argv[:1] == ["-m"]  # so it is only while Python looks for the module that it was told to run
    and not sys.flags.safe_path
    and any(
        said.startswith("-") and f"{said} {module}".endswith(("m moot", "m moot.__main__"))
        for said, module in zip(sys.orig_argv[1:], sys.orig_argv[2:], strict=False)
    )
):
    del sys.path[0]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.errors import AwaitedFailed, Held, MootError, Refused, TimedOut, Unavailable, Unknown, Usage
    from moot.surfaces.python import Workspace

__version__ = "0.1.0"
__all__ = [
    "AwaitedFailed",
    "Held",
    "MootError",
    "Refused",
    "TimedOut",
    "Unavailable",
    "Unknown",
    "Usage",
    "Workspace",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name == "Workspace":
        from moot.surfaces.python import Workspace

        return Workspace
    if name in __all__:
        from moot.core import errors

        return getattr(errors, name)
    raise AttributeError(f"module 'moot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
