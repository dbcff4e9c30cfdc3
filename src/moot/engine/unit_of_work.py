"""One attempt at one commit: the states it read, the events it decided, and the versions it depends on.

`Work` loads states from the views, passes them to the deciders, collects their events and runs the reactions. Every
stream whose state it reads or writes becomes a condition of the append. A list from the views does not: under the
writer lock nothing can move, and an engine without such a lock must not decide by lists alone.
"""

from __future__ import annotations

from moot.core import principal as principals
from moot.core.deciders.agent import acting, known
from moot.core.deciders.mailbox import MailboxEntry
from moot.core.errors import Refused
from moot.core.event import Draft
from moot.core.kind import Meta, kind_of
from moot.core.lifecycle import named
from moot.core.reactions import World
from moot.core.task import AddTask
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from moot.core.claims import ClaimsState
    from moot.core.deciders.agent import Agent
    from moot.core.deciders.decision import Decision
    from moot.core.deciders.graph import Graph
    from moot.core.deciders.mailbox import Mailbox
    from moot.core.deciders.message import Message
    from moot.core.errors import Unknown
    from moot.core.kind import Kind
    from moot.core.lifecycle import Lifecycle
    from moot.core.payload import Payload
    from moot.core.reactions import Reaction
    from moot.core.record import Record
    from moot.core.task import Task
    from moot.engine.facts import Facts
    from moot.views.store import Store

_EVENT_LIMIT = 10_000


class Work(World):
    """See the module."""

    by = ""  # the principal that commits; empty if nothing will be appended
    now = 0.0  # the time of the commit, in seconds since 1970
    facts: Facts  # from outside the log

    def __init__(
        self,
        store: Store,
        at: str,
        lifecycles: Mapping[str, Lifecycle],
        reactions: Sequence[Reaction],
        token: Callable[[int], str],
    ) -> None:
        self.store = store
        self.conditions: dict[str, int] = {}
        self.drafts: list[Draft] = []
        self.rows: dict[int, dict[str, Any]] = {}  # data to replace in the log, by position: see `Archive.redact`
        self.via: str | None = None  # see `Commit`
        self._at = at
        self.lifecycles = lifecycles
        self._reactions = reactions
        self.token = token  # makes a random word of the given length
        self._states: dict[str, Any] = {}
        self._sent: dict[str, tuple[Payload, str | None]] = {}  # messages of this commit
        self._decisions: list[Decision] | None = None
        self._understood: set[str] = set()  # packs

    @property
    def at(self) -> str:
        return self._at

    # --- states, as of the events decided so far ---------------------------------------------------------------

    def state(self, kind: str, key: str = "", parts: Iterable[str] = ()) -> Any:
        """The state of an entity. A mailbox and the graph are loaded in part: at least the given parts."""
        match kind:
            case "message":
                return self.message(key)
            case "mailbox":
                return self.mailbox(key, parts)
            case "graph":
                return self.graph(parts)
        return self._once(kind_of(kind), key)

    def _once(self, kind: Kind, key: str, parts: Iterable[str] = (), *, stream: str = "") -> Any:
        stream = stream or kind.stream(key)
        if stream not in self._states:
            self._states[stream], version = states.state(self.store, kind, key, parts, stream)
            self.conditions.setdefault(stream, version)
        return self._states[stream]

    def agent(self, name: str) -> Agent:
        found: Agent = self._once(kind_of("agent"), name)
        return found

    def agents(self) -> list[Agent]:
        return queries.agents(self.store)

    def has_account(self, login: str) -> bool:
        return bool(self.facts.find("account", login))

    def agent_name(self, key: str) -> str:
        return self.agent(key).name

    def task(self, name: str) -> Task:
        found: Task = self._once(kind_of("task"), name)
        return found

    def task_before(self, name: str) -> Task:
        return states.task(self.store, name)[0]

    def claims(self) -> ClaimsState:
        found: ClaimsState = self._once(kind_of("claims"), "")
        return found

    def message(self, name: str) -> Message:
        kind = kind_of("message")
        stream = kind.stream(name)
        if stream in self._sent:
            payload, thread = self._sent[stream]
            sent: Message = kind.evolve(kind.new(name), payload, Meta(at=self._at, thread=thread))
            return sent
        found: Message = self._once(kind, name)
        return found

    def new_message(self) -> str:
        """A new message id. If the id is taken after all, its stream is not new, and the append conflicts."""
        kind = kind_of("message")
        while (stream := kind.stream(name := f"m-{self.token(7)}")) in self.conditions:
            pass
        self.conditions[stream] = 0
        self._states[stream] = kind.new(name)
        return name

    def mailbox(self, name: str, ids: Iterable[str]) -> Mailbox:
        """A mailbox with at least these entries loaded."""
        kind = kind_of("mailbox")
        stream = kind.stream(name)
        known: Mailbox | None = self._states.get(stream)
        missing = [i for i in ids if known is None or i not in known.entries]
        if known is None:
            known = self._once(kind, name, missing)
        elif missing:
            more, _ = states.state(self.store, kind, name, missing)
            known = known.replace(entries={**more.entries, **known.entries})
        if new := self._delivered(name, missing):
            known = known.replace(entries={**known.entries, **new})
        self._states[stream] = known
        return known

    def _delivered(self, box: str, ids: Iterable[str]) -> dict[str, MailboxEntry]:
        """Entries for those of these messages that this commit delivers to the mailbox."""
        streams = {name: f"message/{name}" for name in ids} if self._sent else {}
        sent = ((name, self._sent[stream][0]) for name, stream in streams.items() if stream in self._sent)
        return {
            name: MailboxEntry(id=name, wants=payload.__dict__["wants"])
            for name, payload in sent
            if box.lower() in (to.lower() for to in payload.__dict__["to"])
        }

    def messages_of_task(self, name: str, attempt: int | None = None, kind: str | None = None) -> list[Message]:
        """The messages about a task, oldest first, including those of this commit."""
        stored = queries.messages_of_task(self.store, name, attempt, kind)
        sent = (self.message(stream.partition("/")[2]) for stream in self._sent)
        return stored + [m for m in sent if m.task == name and attempt in (None, m.attempt) and kind in (None, m.kind)]

    def graph(self, names: Iterable[str]) -> Graph:
        kind = kind_of("graph")
        known: Graph | None = self._states.get(kind.name)
        found: Graph
        found, version = states.state(self.store, kind, "", names)
        self.conditions.setdefault(kind.name, version)
        merged = {**found.needs, **(known.needs if known else {})}  # what this commit changed, also what it removed
        found = self._states[kind.name] = found.replace(needs=merged)
        return found

    # --- queries for reactions -----------------------------------------------------------------------------------

    def dependents(self, name: str) -> list[str]:
        known = self._states["graph"] if "graph" in self._states else self.graph(())  # so a new edge is a conflict
        added = [n for n, needs in known.needs.items() if name in needs]
        return sorted({*queries.dependents(self.store, name), *added})

    def held_tasks(self) -> list[str]:
        return queries.held_tasks(self.store)

    def standing_decisions(self) -> list[Decision]:
        if self._decisions is None:
            self._decisions = list(queries.things(self.store, "decision", _EVENT_LIMIT))
        return self._decisions

    def told(self, thread: str) -> set[str]:
        return queries.told(self.store, thread)

    def mailbox_of(self, principal: str) -> str | None:
        if principal.startswith("person:"):
            return principal
        if principal.startswith("role:"):
            return f"@{principal.partition(':')[2]}"
        if principal.startswith(principals.HANDLER):
            return None
        state = self.agent(principals.name_of(principal))
        return state.name if state.exists and not state.retired else None

    def tasks_held_by(self, principal: str) -> list[str]:
        return queries.tasks_held_by(self.store, principal)

    def open_mail(self, mailbox: str) -> list[str]:
        return [d.entry.id for d in queries.inbox(self.store, (mailbox,), _EVENT_LIMIT)]

    def shown(self, mailbox: str, kinds: Iterable[str]) -> list[tuple[str, str | None, int]]:
        return [
            (d.entry.id, d.message.task, d.message.attempt or 0)
            for d in queries.shown_in_file(self.store, mailbox, kinds)
        ]

    # --- the caller -------------------------------------------------------------------------------------------------

    def actor(self, name: str, incarnation: int | None) -> principals.Actor:
        """The calling agent. Raises unless it is present and this is its current incarnation."""
        return acting(known(self.agent(name), self.agents, caller=True), incarnation)

    def lifecycle(self, name: str) -> Lifecycle:
        return named(self.lifecycles, name)

    def known_task(self, name: str) -> Task:
        found = self.task(name)
        if not found.exists:
            raise self._unknown_task(name)
        return found

    def _unknown_task(self, name: str) -> Unknown:
        from moot.core.task.refusals import unknown

        return unknown(name, queries.task_ids(self.store))

    def savepoint(self) -> Savepoint:
        """A context manager that undoes the decisions made inside it if an error is raised. The error propagates.

        Versions that were read remain conditions of the append, because the error depends on them.
        """
        return Savepoint(self)

    # --- commands -----------------------------------------------------------------------------------------------------

    def do(
        self,
        kind: str,
        key: str,
        command: Any,
        *,
        facts: Any = None,
        thread: str | None = None,
        pack: str | None = None,
    ) -> Any:
        """Let the kind decide a command, and add the resulting events. Returns the new state; None for a message.

        `facts`: what its rules need from outside. A message without a thread starts its own. `pack`: the pack that the
        command comes from.
        """
        known = kind_of(kind)
        stream = known.stream(key)
        state: Any
        if kind == "message":
            thread = thread or key
            new = stream in self._states and stream not in self._sent
            state = self._states[stream] if new else self.message(key)
        elif known.parts is not None:
            state = self.state(kind, key, known.parts(command))
        else:
            state = self._once(known, key, stream=stream)
        if kind == "task":
            facts = self._lifecycle_of(state, command)
        payloads = known.decide(state, command, facts)
        if known.pack is not None:
            pack = known.pack(key)
        if pack is not None and payloads and pack not in self._understood:
            self._check_understood(pack)
        self._happened(known, known.key(key), stream, payloads, thread, pack)
        return None if kind == "message" else self._states[stream]

    def _check_understood(self, pack: str) -> None:
        unknown = self.unknown_kind(pack)
        if unknown is not None:
            raise Refused(
                "pack_not_understood",
                f"The pack {pack} has entities of the kind {unknown}, which this version of moot does not know.",
                "Update moot. Until then you cannot change anything in this pack. Everything else works.",
                pack=pack,
                kind=unknown,
            )
        self._understood.add(pack)

    def unknown_kind(self, pack: str) -> str | None:
        """A kind of this pack's entities that this version of moot does not know; None if it knows all of them."""
        row = self.store.row("get_meta", f"foreign {pack}")
        return None if row is None else str(row[0])

    def _lifecycle_of(self, task: Task, command: Record) -> Lifecycle:
        if isinstance(command, AddTask):
            return named(self.lifecycles, command.lifecycle)
        if not task.exists:
            raise self._unknown_task(task.id)
        return named(self.lifecycles, task.lifecycle)

    def _step(self, kind: str, key: str, command: Record, pack: str | None = None) -> None:
        """Run a command of a reaction. For a message, `key` is the thread: a reaction does not know the id."""
        if kind == "message":
            self.do(kind, self.new_message(), command, thread=key, pack=pack)
        elif kind != "task" or self.task(key).lifecycle in self.lifecycles:
            self.do(kind, key, command, pack=pack)  # a task of an inactive pack does not change

    def _happened(
        self, kind: Kind, key: str, stream: str, payloads: list[Payload], thread: str | None, pack: str | None
    ) -> None:
        for payload in payloads:
            event = {"stream": stream, "type": payload.type, "data": payload.plain(), "v": payload.v}
            self.drafts.append(Draft.made({**event, "cause": None, "thread": thread, "pack": pack}))
            if len(self.drafts) > _EVENT_LIMIT:
                raise Refused(
                    "too_many_events",
                    f"The command would cause more than {_EVENT_LIMIT} events.",
                    "Split it into smaller commands.",
                )
            if kind.name == "message":  # its state is built on demand: few commits read it again
                self._sent[stream] = payload, thread
            else:
                self._states[stream] = kind.evolve(self._states[stream], payload, Meta(at=self._at, thread=thread))
            for reaction in self._reactions:
                for step in reaction(key, payload, self):
                    self._step(*step)


class Savepoint:
    """See `Work.savepoint`. States are immutable, so a shallow copy is enough."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __enter__(self) -> None:
        work = self._work
        self._before = len(work.drafts), dict(work._states), dict(work._sent)  # noqa: SLF001

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        if kind is not None:
            work = self._work
            decided, work._states, work._sent = self._before  # noqa: SLF001
            del work.drafts[decided:]
