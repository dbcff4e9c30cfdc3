"""One event on its way into the log: what it says, what is odd about it, and what follows from it.

A `Telling` exists only while its event is decided. `post` gives the event its number.
"""

from __future__ import annotations

from moot.core import timestamps
from moot.core.deciders.feed import ListRows, PostEntry, fingerprint
from moot.core.deciders.message import SendMessage
from moot.core.json_codec import dumps
from moot.packs.gsd.handlers import CUSTOM, of_event
from moot.packs.gsd.ids import is_task, phase_name, plan_of, task_id
from moot.packs.gsd.rows import rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from moot.engine.unit_of_work import Work
    from moot.packs.gsd.rows import Rows

FEED = "gsd"
NUMBER, ALSO = "eventId", "id"
ONLY = "-"  # the key of a list with one row
EXECUTORS, ORCHESTRATORS = "@gsd-executor", "@orchestrator"  # mailboxes of the roles
PLANS = ("plan", "createdBy", "modifiedBy", "madeBy")  # fields with the plan that an event belongs to
PROCESS = "process:"  # the principals of callers without a name
_NO_LIMIT = 1 << 30


def instance_of(plan: str, agent: str) -> str:
    """The principal of an agent that is known only by its plan and name."""
    found = plan_of(plan)
    return f"plan:{found.name if found else plan}/{agent}"


def plan_principal(plan: str) -> str:
    found = plan_of(plan)
    return f"plan:{found.name if found else plan}"


class Telling:
    """See the module."""

    number = 0  # once it is posted

    def __init__(
        self,
        work: Work,
        event: dict[str, Any],
        *,
        by: str,
        flags: Iterable[str] = (),
        source: str | None = None,
        settings: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
        limit: int = _NO_LIMIT,
    ) -> None:
        self.work, self.event, self.by = work, event, by
        self.flags = list(flags)
        self.source, self.limit = source, limit
        self.settings, self.facts = settings or {}, facts or {}
        self.cause = 0
        self.wanted: int | None = None  # the number that it has in a file
        self.adopting = False
        self.prints: tuple[str, ...] = ()
        self.group_plan: str | None = None  # the plan that it belongs to, if the event does not say so
        self.keys: dict[str, list[str]] = {}  # besides those that follow from its fields
        self.series: dict[str, int] = {}

    @property
    def type(self) -> str:
        return str(self.event["type"])

    @property
    def at(self) -> str:
        return str(self.event["timestamp"])

    @property
    def seconds(self) -> float | None:
        return timestamps.parse(self.at)

    @property
    def from_file(self) -> bool:
        return self.source is not None

    @property
    def nameless(self) -> bool:
        """Whether the event comes from a file, or from a caller without a name: it is known only by what it says."""
        return self.from_file or self.by.startswith(PROCESS)

    @property
    def rows(self) -> Rows:
        return rows_of(self.work, FEED)

    @property
    def plan(self) -> str | None:
        """The plan that the event belongs to, as it was sent."""
        return next((self.event[key] for key in PLANS if isinstance(self.event.get(key), str)), self.group_plan)

    @property
    def task(self) -> str:
        """The id of the task that the event names."""
        return task_id(self.event["plan"], self.event["task"])

    def flag(self, text: str) -> None:
        if text not in self.flags:
            self.flags.append(text)

    def fill(self, key: str, value: Any, *, after: str = "") -> None:
        """Add a field that is missing, after another one or at the end."""
        if after and after in self.event:
            keys = list(self.event)
            place = keys.index(after) + 1
            items = [(name, self.event[name]) for name in keys]
            self.event.clear()
            self.event.update([*items[:place], (key, value), *items[place:]])
        else:
            self.event[key] = value

    def put(self, name: str, key: str, value: Any) -> None:
        """Add or replace a row of a list."""
        self.work.do("feed", FEED, ListRows(list=name, puts={key: value}))

    def change(self, name: str, key: str, changes: dict[str, Any]) -> None:
        """Change some keys of a row; None removes one."""
        self.work.do("feed", FEED, ListRows(list=name, puts={key: changes}, merges=True))

    def drop(self, name: str, *keys: str) -> None:
        there = tuple(key for key in keys if self.rows.get(name, key) is not None)
        if there:
            self.work.do("feed", FEED, ListRows(list=name, drops=there))

    def tell(self, to: Sequence[str], text: str, *, thread: str | None = None, task: str | None = None) -> None:
        """Send a note to principals and mailboxes. An agent that is known only from files is reached by its role."""
        boxes: dict[str, str] = {}
        for one in to if not self.adopting else ():  # nobody is told of what happened before moot
            box = EXECUTORS if one.startswith("plan:") else one if one.startswith("@") else self.work.mailbox_of(one)
            if box is not None:
                boxes.setdefault(box.lower(), box)
        if not boxes:
            return
        note = SendMessage(
            kind="note",
            sender="moot",
            to=tuple(boxes.values()),
            wants="nothing",
            size=len(text.encode()),
            limit=_NO_LIMIT,
            text=text,
            task=task,
        )
        self.work.do("message", self.work.new_message(), note, thread=thread, pack=FEED)

    # --- posting -----------------------------------------------------------------------------------------------------

    def post(self, *, repeat: bool = False) -> int:
        """Put the event on the blackboard. Returns its number. `repeat`: no handler acts on it."""
        own = ALSO in self.event
        handled = () if repeat else of_event(self.work, self.type)
        if self.adopting:  # custom handlers do not hear of what happened before moot
            handled = tuple(name for name in handled if not name.startswith(CUSTOM))
        entry = PostEntry(
            event=self.event,
            stamps=(NUMBER,) if own else (NUMBER, ALSO),
            number=self.wanted,
            adopting=self.adopting,
            size=len(dumps(self.event).encode("utf-8", "replace")),
            limit=self.limit,
            flags=tuple(self.flags),
            source=self.source,
            keys={key: tuple(dict.fromkeys(values)) for key, values in self._keys().items()},
            prints=(*self.prints, fingerprint(self.event)),
            handled=handled,
            series=self.series,
            cause=self.cause,
        )
        self.number = self.work.do("feed", FEED, entry).last
        return self.number

    def _keys(self) -> dict[str, list[str]]:
        """What the event is found by: ids in one spelling, so that `1-2` finds `01-02`."""
        event = self.event
        found: dict[str, list[str]] = {"type": [self.type], "noun": [self.type.partition(":")[0]]}
        said = [event.get(key) for key in PLANS] + [self.group_plan, *_texts(event.get("requiredBy"))]
        plans = [plan for text in said if (plan := plan_of(text)) is not None]
        found["plan"] = [plan.name for plan in plans]
        found["phase"] = [phase_name(plan.phase) for plan in plans]
        if plan_of(event.get("plan")) is not None and is_task(event.get("task")):
            found["task"] = [self.task]
        for key, names in (("agent", ("agent",)), ("path", ("path", "artifact"))):
            found[key] = [event[name] for name in names if _is_key(event.get(name))]
        for key, values in self.keys.items():
            found.setdefault(key, []).extend(values)
        return found


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _is_key(value: Any) -> bool:
    """Whether a field of an event can be looked up. A custom event may have anything there."""
    return isinstance(value, str) and 0 < len(value) <= 4096 and value.isprintable()
