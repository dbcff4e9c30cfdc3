"""What every decider's events have in common: a type and a version beside their fields."""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Payload(Record):
    """The data of one event. Subclasses set `type`, and raise `v` when a field changes its meaning."""

    type: ClassVar[str] = ""
    v: ClassVar[int] = 1
