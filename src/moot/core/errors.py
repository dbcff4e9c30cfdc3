"""All errors, as one tree.

    MootError
    ├── Refused       a rule forbids it                         exit 1
    ├── Usage         the call itself is malformed              exit 2
    ├── Held          another holds it, or was faster           exit 3
    ├── Unknown       no such agent, task, message, type        exit 4
    ├── TimedOut      the wait timed out                        exit 5
    ├── AwaitedFailed the awaited task failed                   exit 6
    └── Unavailable   the workspace cannot be used now          exit 7

Every error has a stable `code` (snake_case, listed in docs/reference/errors.md), a `message` that states what is wrong,
and a `remedy` that states what to do. `details` is for programs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class MootError(Exception):
    """The base class. Never raised itself."""

    exit_code: ClassVar[int] = 1
    kind: ClassVar[str] = "error"

    def __init__(self, code: str, message: str, remedy: str, /, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.details = details
        self.add_note(f"→ {remedy} [{code}]")  # so that a traceback shows them, too

    def plain(self) -> dict[str, Any]:
        """The error as JSON-ready data."""
        error: dict[str, Any] = {"error": self.code, "kind": self.kind, "message": self.message, "remedy": self.remedy}
        return {**error, "details": self.details} if self.details else error


class Refused(MootError):
    """A rule of the workspace forbids it. Nothing was written."""

    exit_code = 1
    kind = "refused"


class Usage(MootError):
    """The call is malformed: a missing argument, a bad value, broken settings."""

    exit_code = 2
    kind = "usage"


class Held(MootError):
    """Somebody else holds it, or was faster."""

    exit_code = 3
    kind = "held"


class Unknown(MootError):
    """There is no such agent, task, message or other entity."""

    exit_code = 4
    kind = "unknown"


class TimedOut(MootError):
    """The wait timed out."""

    exit_code = 5
    kind = "timeout"


class AwaitedFailed(MootError):
    """The awaited task ended without success."""

    exit_code = 6
    kind = "failed"


class Unavailable(MootError):
    """The workspace cannot be used now: locked, full, read-only, newer than this program."""

    exit_code = 7
    kind = "unavailable"
