"""The log in one SQLite file: for all agents of one machine, without any server.

It knows nothing of views, rules or agents; only of events, streams and commits.
"""

from __future__ import annotations

from moot.logs.sqlite.log import SqliteLog

__all__ = ["SqliteLog"]
