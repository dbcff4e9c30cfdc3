"""The log in one SQLite file, for all agents of one machine, without a server.

It knows events, streams and commits, but no views, rules or agents.
"""

from __future__ import annotations

from moot.logs.sqlite.log import SqliteLog

__all__ = ["SqliteLog"]
