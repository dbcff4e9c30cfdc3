"""What is said by the call that has upgraded the log. Loaded by that one alone."""

from __future__ import annotations

from moot.api.answer import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.log import Handle


def notice_of(handle: Handle) -> Notice:
    """It is said once."""
    before, now = handle.upgraded or (0, 0)
    handle.upgraded = None
    return Notice(
        "log_migrated",
        f"The log was upgraded from version {before} to {now}. Older versions of moot can no longer open it; end "
        "watchers and runners that are still running an older version.",
    )
