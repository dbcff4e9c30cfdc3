"""moot: where coding agents meet.

`__all__` is the public API. Importing this module loads no other module of moot, because every command starts here.
No module inside the package imports it.

`python -m moot` puts the current directory first in `sys.path`, and that directory may be a stranger's repository. So
this module removes it before it imports anything; even `__future__` would be found there. It cannot help against a
`moot.py` in the current directory, because Python finds that file first. The command `moot` and `python -P -m moot`
are safe from it.
"""

import sys

if (
    sys.argv[:1] == ["-m"]  # only while Python looks for the module that it was told to run
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
