"""The interface for Python programs: `from moot import Workspace`."""

from __future__ import annotations

from moot.surfaces.python.workspace import Workspace

__all__ = ["Workspace"]
