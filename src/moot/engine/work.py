"""One attempt at one commit: what was read, what was decided so far, and on which versions it rests.

`Work` loads states from the views, hands them to the deciders, keeps their events and lets the reactions
follow. Every stream it read or wrote becomes a condition of the append.
"""

from __future__ import annotations

from moot.core import claims as holdings
from moot.core import principal as principals
from moot.core import task as tasks
from moot.core.deciders import agent, claims, entry, graph, mailbox, message, task
from moot.core.errors import Held, Refused, Unknown
from moot.core.event import Draft
from moot.core.kind import Meta, find, kind_of
from moot.core.reactions import World
from moot.core.text import command_line
from moot.views import load, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from moot.core.deciders.decision import Decision
    from moot.core.deciders.effect import Effect
    from moot.core.deciders.mailbox import Entry
    from moot.core.deciders.message import Message
    from moot.core.lifecycle import Lifecycle
    from moot.core.payload import Payload
    from moot.core.reactions import Reaction
    from moot.core.record import Record
    from moot.engine.facts import Facts
    from moot.engine.savepoint import Savepoint
    from moot.views.store import Store

    State = TypeVar("State")

_EVENT_LIMIT = 10_000
_NAMED, _LISTED = 10, 1000  # known tasks that a refusal names to a reader, and to a program


class Work(World):
    """See the module."""

    now = 0.0  # the time of the commit, in seconds since 1970
    facts: Facts  # of the world outside the log

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
        self.rules: Mapping[str, Any] | None = None  # those in force, if the log has recorded others
        self.drafts: list[Draft] = []
        self.trace: str | None = None
        self.via: str | None = None  # see `Commit`
        self._at = at
        self.lifecycles = lifecycles
        self._reactions = reactions
        self.token = token  # a random word of so many letters
        self._states: dict[str, Any] = {}
        self._said: dict[str, tuple[Payload, str | None]] = {}  # messages of this commit

    @property
    def at(self) -> str:
        return self._at

    # --- states, as of the events decided so far ---------------------------------------------------------------

    def agent(self, name: str) -> agent.Agent:
        stream = principals.agent_stream(name)
        known: agent.Agent | None = self._states.get(stream)
        if known is None:
            known, version = load.agent(self.store, stream, name)
            self._states[stream] = known
            self.conditions.setdefault(stream, version)
        return known

    def agent_name(self, key: str) -> str:
        return self.agent(key).name

    def task(self, name: str) -> tasks.Task:
        return self._once(tasks.stream(name), lambda: load.task(self.store, name))

    def message(self, name: str) -> message.Message:
        stream = message.stream(name)
        if stream in self._said:
            payload, thread = self._said[stream]
            return message.evolve(message.Message(id=name), payload, position=-1, at=self._at, thread=thread)
        return self._once(stream, lambda: load.message(self.store, name))

    def new_message(self) -> str:
        """An id that no message has: if one does after all, its stream is not new, and the append a conflict."""
        while (stream := message.stream(name := f"m-{self.token(7)}")) in self.conditions:
            pass
        self.conditions[stream] = 0
        self._states[stream] = message.Message(id=name)
        return name

    def entry(self, name: str) -> entry.Entry:
        return self._once(entry.stream(name), lambda: load.entry(self.store, name))

    def claims(self) -> holdings.ClaimsState:
        return self._once(holdings.STREAM, lambda: load.claims(self.store))

    def mailbox(self, name: str, ids: Iterable[str]) -> mailbox.Mailbox:
        """The slice of a mailbox with (at least) these entries."""
        stream = principals.mailbox_stream(name)
        known: mailbox.Mailbox | None = self._states.get(stream)
        missing = [i for i in ids if known is None or i not in known.entries]
        if known is None:
            known = self._once(stream, lambda: load.mailbox(self.store, name, missing))
        elif missing:
            more, _ = load.mailbox(self.store, name, missing)
            known = known.replace(entries={**more.entries, **known.entries})
        if new := self._delivered(name, missing):
            known = known.replace(entries={**known.entries, **new})
        self._states[stream] = known
        return known

    def _delivered(self, box: str, ids: Iterable[str]) -> dict[str, Entry]:
        """Those of these messages that this commit puts into the mailbox."""
        sent = ((name, self._said[message.stream(name)][0]) for name in ids if message.stream(name) in self._said)
        return {
            name: mailbox.Entry(id=name, wants=payload.__dict__["wants"])
            for name, payload in sent
            if box.lower() in (to.lower() for to in payload.__dict__["to"])
        }

    def messages_of_task(self, name: str, attempt: int | None = None, kind: str | None = None) -> list[Message]:
        """What was said about a task, oldest first, this commit included."""
        stored = look.messages_of_task(self.store, name, attempt, kind)
        said = (self.message(stream.partition("/")[2]) for stream in self._said)
        return stored + [m for m in said if m.task == name and attempt in (None, m.attempt) and kind in (None, m.kind)]

    def graph(self, names: Iterable[str]) -> graph.Graph:
        more, version = load.graph(self.store, names)
        self.conditions.setdefault(graph.STREAM, version)
        known = self._states.get(graph.STREAM)
        merged = dict(more.needs)
        for name, needs in (known.needs if known else {}).items():
            merged[name] = merged.get(name, frozenset()) | needs
        slice_ = graph.Graph(needs=merged)
        self._states[graph.STREAM] = slice_
        return slice_

    def state(self, kind: str, key: str) -> Any:
        return self._once(f"{kind}/{key}", lambda: load.late(self.store, kind, key))

    def _once(self, stream: str, read: Callable[[], tuple[State, int]]) -> State:
        if stream not in self._states:
            self._states[stream], version = read()
            self.conditions.setdefault(stream, version)
        state: State = self._states[stream]
        return state

    # --- what reactions look at ----------------------------------------------------------------------------------

    def dependents(self, name: str) -> list[str]:
        if graph.STREAM not in self.conditions:
            self.graph(())  # an edge added meanwhile must not be missed
        added = [n for n, needs in self._states[graph.STREAM].needs.items() if name in needs]
        return sorted({*look.dependents(self.store, name), *added})

    def held_tasks(self) -> list[str]:
        return look.held_tasks(self.store)

    def standing_decisions(self) -> list[Decision]:
        return list(look.things(self.store, "decision", _EVENT_LIMIT))

    def told(self, thread: str) -> set[str]:
        return look.told(self.store, thread)

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
        return look.tasks_held_by(self.store, principal)

    def open_mail(self, mailbox: str) -> list[str]:
        return [d.entry.id for d in look.inbox(self.store, (mailbox,), _EVENT_LIMIT)]

    def shown(self, mailbox: str, kinds: Iterable[str]) -> list[tuple[str, str | None]]:
        return [(d.entry.id, d.message.task) for d in look.shown_in_file(self.store, mailbox, kinds)]

    # --- who acts ---------------------------------------------------------------------------------------------------

    def actor(self, name: str, incarnation: int | None) -> principals.Actor:
        """The agent that calls, provided that it is here and is the current incarnation."""
        state = self.agent(name)
        if not state.exists:
            raise agent.unknown(name, closest_agent(self.store, name), caller=True)
        if incarnation is not None and incarnation != state.incarnation:
            raise Held(
                "stale_incarnation",
                f"You are {principals.agent(state.name, incarnation)}; the name is now held by {state.principal}.",
                "Stop, or join anew under another name. What you held was given back.",
                holder=state.principal,
                incarnation=state.incarnation,
            )
        if state.retired:
            raise Refused("agent_retired", f"{state.name} was retired.", "Join under another name.", agent=state.name)
        if not state.here:
            raise Refused(
                "not_joined",
                f"{state.name} has left.",
                f"Join again: `{command_line('join', state.name)}`.",
                agent=state.name,
            )
        return principals.Actor.made({"principal": state.principal, "roles": state.roles})

    def lifecycle(self, name: str) -> Lifecycle:
        if name not in self.lifecycles:
            raise Refused(
                "unknown_lifecycle",
                f"No active pack brings the lifecycle {name!r}.",
                f'Known: {", ".join(self.lifecycles)}. Packs are turned on in moot.toml: packs = ["{name}"].',
                lifecycle=name,
            )
        return self.lifecycles[name]

    def known_task(self, name: str) -> tasks.Task:
        found = self.task(name)
        if not found.exists:
            raise unknown_task(self.store, name)
        return found

    def savepoint(self) -> Savepoint:
        """A context that undoes what was decided inside it when an error leaves it, and lets the error pass.

        Versions that were read stay conditions: the error rests on them.
        """
        from moot.engine.savepoint import Savepoint

        return Savepoint(self)

    # --- doing --------------------------------------------------------------------------------------------------------

    def do_task(self, name: str, command: Any, lifecycle: str | None = None) -> None:
        state = self.task(name) if lifecycle else self.known_task(name)
        life = self.lifecycle(lifecycle or state.lifecycle)
        self._happened("task", name, tasks.stream(name), task.decide(life, state, command))

    def do_agent(self, name: str, command: Any) -> None:
        payloads = agent.decide(self.agent(name), command)
        self._happened("agent", name.lower(), principals.agent_stream(name), payloads)

    def do_message(self, name: str, command: Any, thread: str | None, pack: str | None = None) -> None:
        stream = message.stream(name)
        said = stream in self._said or stream not in self._states
        payloads = message.decide(self.message(name) if said else self._states[stream], command)
        self._happened("message", name, stream, payloads, thread=thread or name, pack=pack)

    def do_mailbox(self, name: str, command: Any) -> None:
        fields = command.__dict__
        ids = fields["ids"] if "ids" in fields else (fields["id"],)
        payloads = mailbox.decide(self.mailbox(name, ids), command)
        self._happened("mailbox", name.lower(), principals.mailbox_stream(name), payloads)

    def do_claims(self, command: Any) -> None:
        self._happened("claims", "", holdings.STREAM, claims.decide(self.claims(), command))

    def do_graph(self, command: Any) -> None:
        payloads = graph.decide(self.graph((command.task, *command.needs)), command)
        self._happened("graph", "", graph.STREAM, payloads)

    def do_entry(self, name: str, command: Any) -> None:
        self._happened("entry", name, entry.stream(name), entry.decide(self.entry(name), command))

    def do_late(self, kind: str, key: str, command: Any) -> None:
        self._happened(kind, key, f"{kind}/{key}", kind_of(kind).decide(self.state(kind, key), command, None))

    def effect(self, name: str) -> Effect:
        from moot.core.deciders import effect
        from moot.views import project_effects

        return self._once(effect.stream(name), lambda: project_effects.load(self.store, name))

    def do_effect(self, name: str, command: Any) -> None:
        from moot.core.deciders import effect

        self._happened("effect", name, effect.stream(name), effect.decide(self.effect(name), command))

    def do_settings(self, values: Mapping[str, Any]) -> None:
        """Record which rules are in force now, as far as that has changed."""
        from moot.core.deciders import settings
        from moot.views import project_settings

        state = self._once(settings.STREAM, lambda: project_settings.load(self.store))
        self._happened(settings.STREAM, "", settings.STREAM, settings.decide(state, values))

    def do_topic(self, command: Any, thread: str | None) -> None:
        from moot.core.deciders import topic
        from moot.views import project_effects

        stream, payloads = topic.stream(command.topic), topic.decide(command)
        self._once(stream, lambda: (None, project_effects.version(self.store, stream)))
        self._happened("topic", command.topic, stream, payloads, thread=thread)

    def _step(self, kind: str, key: str, command: Record) -> None:
        match kind:
            case "task":
                if self.task(key).lifecycle in self.lifecycles:  # of a pack that was turned off it stays as it is
                    self.do_task(key, command)
            case "mailbox":
                self.do_mailbox(key, command)
            case "claims":
                self.do_claims(command)
            case "message":
                self.do_message(self.new_message(), command, thread=key)
            case "dependency":
                self.do_late(kind, key, command)
            case _:
                raise TypeError(f"no reaction may address a {kind}")

    def _happened(
        self,
        kind: str,
        key: str,
        stream: str,
        payloads: list[Payload],
        thread: str | None = None,
        pack: str | None = None,
    ) -> None:
        if self.trace is not None:
            payloads = [p.replace(trace=self.trace) if "trace" in p.__dict__ else p for p in payloads]
        for payload in payloads:
            said = {"stream": stream, "type": payload.type, "data": payload.plain(), "v": payload.v}
            self.drafts.append(Draft.made({**said, "cause": None, "thread": thread, "pack": pack, "digest": None}))
            if len(self.drafts) > _EVENT_LIMIT:
                raise Refused("too_many_events", "One command would cause too many events.", "Do it in smaller steps.")
            if kind == "message":
                self._said[stream] = payload, thread
            else:
                self._states[stream] = self._evolved(kind, key, payload)
            for reaction in self._reactions:
                for step in reaction(key, payload, self):
                    self._step(*step)

    def _evolved(self, kind: str, key: str, payload: Payload) -> Any:
        match kind:
            case "task":
                return task.evolve(self.task(key), payload, position=0, at=self._at, by="")
            case "agent":
                return agent.evolve(self.agent(key), payload, at=self._at)
            case "mailbox":
                return mailbox.evolve(self._states[principals.mailbox_stream(key)], payload)
            case "claims":
                return claims.evolve(self.claims(), payload, position=0, by="")
            case "graph":
                return graph.evolve(self._states[graph.STREAM], payload)
            case _ if (known := find(kind)) is not None and known.evolve is not None:
                return known.evolve(self.state(kind, key), payload, Meta(at=self._at))
            case "effect":
                from moot.core.deciders import effect

                return effect.evolve(self.effect(key), payload, position=0, n=0, commit="", at=self._at)
            case "topic":
                return None
            case "settings":
                from moot.core.deciders import settings

                return settings.evolve(self._states[settings.STREAM], payload)
            case _:
                return entry.evolve(self.entry(key), payload, at=self._at)


def closest_agent(store: Store, name: str) -> str | None:
    from moot.core.text import closest

    return closest(name, [a.name for a in look.agents(store) if not a.retired])


def unknown_task(store: Store, name: str) -> Unknown:
    from moot.core.text import closest

    known = look.task_ids(store)
    near = closest(name, known)
    hint = f"Did you mean {near}? " if near else ""
    some = ", ".join(known[:_NAMED]) + (", …" if len(known) > _NAMED else "")
    return Unknown(
        "unknown_task",
        f"There is no task {name!r}.",
        f"{hint}Known: {some or 'none yet'}; `moot board` lists them.",
        task=name,
        known=known[:_LISTED],
    )
