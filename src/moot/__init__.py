"""moot: where coding agents meet.

The public face, made by hand: what `__all__` names is meant for others. Loading it loads nothing else, because every
command starts here; nothing inside the package imports it.
"""

from __future__ import annotations

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
