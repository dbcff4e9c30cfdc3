"""wait: wait for something to do, for tasks or for events, without polling."""

from __future__ import annotations

from moot.api.answer import Answer, Notice, typed
from moot.api.catalogue import TIMEOUT, Param, Verb
from moot.api.explain import line
from moot.api.message_view import waiting_messages
from moot.core.errors import AwaitedFailed, TimedOut, Unavailable, Unknown, Usage
from moot.core.record import Record
from moot.core.sentences import sentence
from moot.core.task import is_in
from moot.core.task.leases import has_lapsed
from moot.core.task.refusals import unknown
from moot.core.text import REASON, command_line, counted, one_line
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.log import Log

_REMEMBERED = 1000  # commits
_NEAR = 100  # events before the start that are all remembered; before those, fewer and fewer
_ROUND = 2.0  # seconds between checks for what no event announces: silent agents, and changed files
_LONGEST = 24 * 3600.0
_DEFAULT = 600.0  # seconds
_AGENTS = 100.0  # seconds: the clients of agents end a command after two minutes
_ENOUGH = 1000  # message ids in one answer
PAUSE = 1.0  # seconds before an endless command retries what failed


class Awaited(Record):
    """The events that were waited for."""

    events: tuple[Event, ...]
    position: int


def wait(
    call: Call,
    type: tuple[str, ...],  # noqa: A002
    stream: tuple[str, ...],
    task: tuple[str, ...],
    mail: bool,
    fail_on: tuple[str, ...],
    count: int,
    after: int | None,
    timeout: float | None,
) -> Answer:
    asked = [bool(mail), bool(task), bool(type or stream)]
    if sum(asked) > 1 or (fail_on and not asked[-1]):
        raise Usage(
            "bad_arguments",
            "`wait` waits for mail, for tasks or for events, not for several of them.",
            "Wait twice, or wait for events (--type, --stream). --fail-on needs --type or --stream.",
        )
    if count < 1:
        raise Usage("bad_arguments", "--count must be at least 1.", "Omit --count, or use 1 or more.")
    check_types((*type, *fail_on))
    start = call.engine.log.head() if after is None else after
    deadline = deadline_of(call, timeout)
    if mail:
        return _wait_for_mail(call, start, deadline)
    if task:
        return _wait_for_tasks(call, task, start, deadline)
    if not any(asked):
        from moot.api.to_do import wait_for_work

        return wait_for_work(call, start, deadline)
    found: list[Event] = []

    def look_at(events: list[Event]) -> Answer | None:
        for event in events:
            if any(_fits(event.type, pattern) for pattern in fail_on):
                raise _failed(event)
            if matches(event, type, stream):
                found.append(event)
                if len(found) >= count:
                    return Answer(
                        result=Awaited(events=tuple(found), position=found[-1].position), say=tuple(map(line, found))
                    )
        return None

    return until(call, start, deadline, look_at, lambda: f"{len(found)} of {counted(count, 'event')}")


def _fits(word: str, pattern: str) -> bool:
    return word == pattern or (pattern.endswith("*") and word.startswith(pattern[:-1]))


def matches(event: Event, types: tuple[str, ...], streams: tuple[str, ...]) -> bool:
    """Stream names ignore case, as agent names do."""
    typed = not types or any(_fits(event.type, pattern) for pattern in types)
    return typed and (not streams or any(_fits(event.stream.lower(), pattern.lower()) for pattern in streams))


def check_types(patterns: tuple[str, ...]) -> None:
    """Refuse to wait for an event type that does not exist."""
    if not any("*" not in pattern for pattern in patterns):
        return
    from moot.core.deciders.custom_event import is_type
    from moot.core.kind import NOUNS, event_types
    from moot.core.text import closest

    known = list(event_types())
    for pattern in patterns:
        free = is_type(pattern) and pattern.partition(":")[0] not in NOUNS
        if "*" not in pattern and pattern not in known and not free:
            near = closest(pattern, known)
            hint = f"Did you mean {near}? " if near else ""
            raise Unknown(
                "unknown_event_type",
                f"{pattern!r} is not an event type.",
                f"{hint}docs/reference/events.md lists them; `task:*` matches all task events.",
                type=pattern,
                known=known,
            )


def _wait_for_mail(call: Call, start: int, deadline: float) -> Answer:
    me = call.me()
    if me is not None:
        call.try_out(lambda _work: None)  # refuses a caller that cannot get mail
    reader = me.principal if me is not None and me.exists else call.mailboxes()[0]

    def look_at(events: list[Event]) -> Answer | None:
        if events and not any(event.type == "message:sent" for event in events):
            return None
        new = waiting_messages(call, reader, _ENOUGH, seen=False)
        if not new.mail:
            return None
        count = len(new.mail) + new.more
        ids = [delivery.entry.id for delivery in new.mail]
        return Answer(
            result={"new": count, "ids": ids}, say=(f"{counted(count, 'new message')}: {typed(call, 'moot inbox')}",)
        )

    return look_at([]) or until(call, start, deadline, look_at, lambda: "no mail")


def _wait_for_tasks(call: Call, tasks: tuple[str, ...], start: int, deadline: float) -> Answer:
    def look_at(_events: list[Event]) -> Answer | None:
        store = call.engine.read()
        found = []
        for name in tasks:
            state, _ = states.task(store, name)
            if not state.exists:
                raise unknown(name, queries.task_ids(store))
            if state.phase == "stopped":
                why = state.setbacks[-1].reason if state.setbacks else state.state
                raise AwaitedFailed(
                    "task_stopped",
                    f"{name} {is_in(state.state)}: {one_line(why or '', 200)}.",
                    f"`{command_line('explain', name)}` shows its history; "
                    f"`{command_line('task reopen', name, options=REASON)}` tries again.",
                    task=name,
                    state=state.state,
                )
            _lapse_silent(call, name)
            found.append(state)
        if all(state.phase == "done" for state in found):
            said = tuple(one_line(f"{state.id} {state.state}", 200) for state in found)
            return Answer(result={"tasks": found}, say=said)
        return None

    return look_at([]) or until(call, start, deadline, look_at, lambda: f"not all of {', '.join(tasks)} done")


def _lapse_silent(call: Call, name: str) -> None:
    """Release the task if its holder has fallen silent. A waiter without an identity cannot do that."""
    if call.caller.nobody:
        return
    state, _ = states.task(call.engine.store, name)
    if state.holder is not None and has_lapsed(call.silence(state.holder), state.ttl):
        from moot.api.verbs.tasks.claiming import lapse_if_silent

        call.commit_aside(lambda work: lapse_if_silent(work, work.task(name)))  # checked again inside the commit


def _failed(event: Event) -> AwaitedFailed:
    kind, _, name = event.stream.partition("/")
    thing = event.stream if kind == "topic" or not name else name
    return AwaitedFailed(
        "awaited_failed",
        f"{event.type} occurred at position {event.position}: {sentence(event)}.",
        f"`{command_line('explain', thing)}` shows the history.",
        event=event.full(),
    )


def deadline_of(call: Call, timeout: float | None) -> float:
    """When to give up; None: after the default time for this caller."""
    if timeout is None:
        timeout = _AGENTS if call.caller.agent or call.caller.mark else _DEFAULT
    return call.clock.monotonic() + min(max(timeout, 0.0), _LONGEST)


def until(
    call: Call,
    start: int,
    deadline: float,
    look_at: Callable[[list[Event]], Answer | None],
    missing: Callable[[], str],
    remedy: str | None = None,
) -> Answer:
    """Pass new events to `look_at` until it returns an answer. Silent agents and files are checked every round."""
    position = LogPosition(call.engine.log, start)
    while True:
        left = max(0.0, deadline - call.clock.monotonic())
        position.lost()  # if the log was replaced, wait for events in the new one
        for events in call.engine.log.follow(position.after, timeout=min(left, _ROUND)):
            if position.lost():
                break
            position.pass_by(events)
            if answer := look_at(events):
                return answer
            if call.clock.monotonic() > deadline:
                break
        call.sync()
        call.stamp()
        if answer := look_at([]):
            return answer
        if call.clock.monotonic() >= deadline:
            break
    raise TimedOut(
        "timeout",
        f"Nothing yet: {missing()}.",
        remedy or f"Continue with --after {position.after} to miss no event in between.",
        position=position.after,
    )


def in_trouble(error: Unavailable) -> Notice:
    """The warning of an endless command about a failure that it retries.

    Raises the error if this moot does not support the log, because retrying cannot help then.
    """
    if error.code == "log_version":
        raise error
    return Notice(error.code, f"{error.message} Retrying. {error.remedy}")


TYPES = Param("type", "Only events of this type; task:* matches all task events (repeatable).", many=True)
STREAMS = Param("stream", "Only events of this stream, such as task/task-001 or mailbox/* (repeatable).", many=True)


class LogPosition:
    """The position of a follower, which remembers the commits it has passed to notice that the log was replaced.

    Starts at a position. `after` is the last position that was passed. Call `lost` before each step.
    """

    def __init__(self, log: Log, after: int) -> None:
        self._log = log
        self._marks: list[tuple[int, str | None]] = [(after, None)]
        self._begun = False

    def _begin(self, after: int) -> None:
        near = max(0, after - _NEAR)
        self._marks = [(0, None)]
        self._marks += [(position, self._commit_at(position)) for position in _spread(near)]
        self._marks += [(e.position, e.commit) for e in self._log.read(near, after - near)]
        if self.after != after:  # the log does not reach this position yet
            self._marks.append((after, None))
        self._begun = True

    @property
    def after(self) -> int:
        return self._marks[-1][0]

    def pass_by(self, events: Sequence[Event]) -> None:
        self._marks += [(e.position, e.commit) for e in events if e.commit != self._marks[-1][1]]
        self._marks[-1] = (events[-1].position, events[-1].commit)
        del self._marks[1:-_REMEMBERED]

    def lost(self) -> bool:
        """Whether the log was replaced. Then `after` moves back to where both logs diverge, or to before that."""
        if not self._begun:
            self._begin(self.after)
        lost = False
        while not self._holds(*self._marks[-1]):
            self._marks.pop()
            lost = True
        return lost

    def _holds(self, position: int, commit: str | None) -> bool:
        return commit is None or self._commit_at(position) == commit

    def _commit_at(self, position: int) -> str | None:
        found = self._log.read(position - 1, 1) if position else []
        return found[0].commit if found and found[0].position == position else None


def _spread(position: int) -> list[int]:
    """Positions up to this one, further and further apart towards the start."""
    found, step = [], _NEAR
    while position > 0:
        found.append(position)
        position -= step
        step *= 2
    return found[::-1]


VERBS = (
    Verb(
        "wait",
        "Wait until there is something for you to do: mail, a task, a review. Or wait for tasks or events.",
        wait,
        kind="look",
        params=(
            Param("mail", "Wait until there is mail that you have not seen.", type="flag"),
            Param("task", "Wait until this task is done; fails as soon as it is stopped (repeatable).", many=True),
            TYPES,
            STREAMS,
            Param("fail_on", "An event type that means failure (repeatable).", many=True),
            Param("count", "Number of matching events to wait for.", type="int", default=1),
            Param("after", "Count events after this position. Default: the current end of the log.", type="int"),
            Param("timeout", f"Give up after this long. {TIMEOUT}", type="seconds"),
        ),
        examples=(
            "moot wait",
            "moot wait --mail --timeout 30m",
            "moot wait --task task-001 --task task-002",
        ),
        detail=(
            "Without arguments it returns as soon as you have new mail, a task that you can claim, or a review that "
            "you can do, and prints a command for each. It returns at once if there is one already. "
            "Exit codes: 0 arrived, 5 timeout, 6 failed (a task was stopped, or a --fail-on event occurred). With "
            "--json the result has `reason` (mail, review or task) and `items`; with --mail `new` and `ids` of the "
            "mail; otherwise the `tasks` or the `events`."
        ),
    ),
)
