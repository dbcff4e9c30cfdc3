"""What a pack is: a protocol as data, plus a `Protocol` with code for what data cannot express.

`Packs` are the active packs of a workspace. Only `moot.wiring` knows which packs exist and where. The other modules of
this package do what the data of a pack says.
"""

from __future__ import annotations

from moot.core.principal import Actor
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.api.protocol.pack_files import FileProblem, PackFiles
    from moot.api.protocol.pack_views import Concern, PackView
    from moot.core.deciders.message import Message
    from moot.core.handler import Handler
    from moot.core.lifecycle import Lifecycle
    from moot.core.pack_code import PackCode
    from moot.core.reactions import Reaction
    from moot.core.schema import Defect
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.runs.stage import PipelineSpec, Stage
    from moot.views.journal import Happening
    from moot.views.store import Store

NOBODY = Actor(principal="")
LAST = 2  # rounds without a change while files are taken: then everything is taken or held


class Role(Record):
    name: str
    title: str = ""
    does: str = ""
    delivery: str = "each"  # each (every member gets a copy), one (a mailbox of the role; the first to ack takes it)
    also: tuple[str, ...] = ()  # who may act in the role without joining with it
    brief: str = ""  # the file with its brief, if it has one of its own


class MessageType(Record):
    """A message type, or an event type that the pack binds: the same without recipients."""

    name: str
    pack: str
    senders: tuple[str, ...] = ()  # the roles that may send it; empty: anybody
    also: tuple[str, ...] = ()  # who else may send it, without such a role
    to: tuple[str, ...] = ()  # roles, @requester, @all
    schema: dict[str, Any] = {}  # noqa: RUF012
    order: tuple[str, ...] = ()
    wants: str = "nothing"
    stamp: str | None = None
    task: str | None = None  # the field that names the task
    paths: tuple[str, ...] = ()
    answers: str | None = None  # the message type that it answers
    creates: Mapping[str, Any] | None = None  # the lifecycle of the task it creates; fields for title, body, extra
    moves: str | None = None  # the verb that moves its task
    reason: str | None = None  # the field with the reason of the move
    receipt: Mapping[str, Any] | None = None  # see `moot.api.protocol.observed_results`
    repeat: str = "store"  # store, ignore (an equal one has no effect, a different one is refused)
    how: str = "message"  # or event
    text: tuple[str, ...] = ()  # its text forms: see `moot.core.templates`
    beside: tuple[str, ...] = ()  # fields that are not in its text

    @property
    def sender(self) -> str:
        """The role that sends it through a file."""
        return self.senders[0] if self.senders else self.pack

    @property
    def word(self) -> str:
        """The name inside the protocol: without the pack in `pack/name`."""
        return self.name.rpartition("/")[2]

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(to if to.startswith("@") else f"@{to}" for to in self.to)

    def render(self, data: Mapping[str, Any], evidence: str | None = None) -> dict[str, Any]:
        """The message as the protocol writes it. `evidence`: of a result in it."""
        from moot.api.protocol.content import render

        if self.receipt is not None:
            from moot.api.protocol.observed_results import marked

            data = marked(self, data, evidence)
        return render(self.word, data, self.order)


class MirrorSpec(Record):
    """A file of the protocol. `fields` are options of the form."""

    name: str
    pack: str
    path: str
    form: str
    about: str = ""
    mailbox: str = ""
    types: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()  # prefixes of streams; empty: the form decides
    scope: str = "workspace"  # or worktree
    missing: str = "restore"  # or reset, ignore
    emptied: str = "clear"  # or restore
    wins: str = "log"  # or file, if both changed the same value
    counts: bool = False  # whether the file is part of the content that receipts are bound to
    flat: str = ""  # its path in the other layout of the protocol's folder
    fields: Mapping[str, Any] = {}


class Pack(Record):
    name: str
    title: str
    version: str = ""
    roles: tuple[Role, ...] = ()
    messages: tuple[MessageType, ...] = ()
    events: tuple[MessageType, ...] = ()  # custom events that are commands of this pack; a name may end in `*`
    mirrors: tuple[MirrorSpec, ...] = ()
    lifecycles: tuple[Lifecycle, ...] = ()
    stages: tuple[Stage, ...] = ()
    pipeline: PipelineSpec | None = None  # if it has stages
    message_limit: int = 0
    settings: Mapping[str, dict[str, Any]] = {}  # a schema for each key of [pack.NAME], with its default
    values: Mapping[str, Any] = {}  # the values in force
    digest: str = ""  # of its files
    code: str = ""  # "module:attribute" of its `Protocol`, if it has one
    parts: tuple[str, ...] = ()  # the parts of `Protocol` that it overrides
    forms: Mapping[str, str] = {}  # its own forms as "module:attribute", so that they load without its `Protocol`
    folder: str = ""  # with its files, if it is a folder of the repository: then all its text is untrusted

    def role(self, name: str) -> Role | None:
        return next((role for role in self.roles if role.name == name), None)


class Saying(Record):
    """An incoming message, or an event that a pack binds: from a caller, or from a file (`source`)."""

    spec: MessageType
    data: dict[str, Any]
    given: Mapping[str, Any] = {}  # the data as received, before moot set a timestamp
    type: str = ""  # as received; `spec` may be for a family of events
    sender: Actor = NOBODY
    id: str = ""  # of the message
    limit: int = 0
    roots: tuple[str, ...] = ()  # of the worktrees, to make paths relative
    now: float = 0.0
    ttl: float = 0.0  # of a task that it creates
    source: str | None = None
    thread: str | None = None
    facts: Mapping[str, Any] = {}  # the result of `Protocol.observe`
    flags: tuple[str, ...] = ()  # each a code, a colon and a sentence
    evidence: str | None = None  # the receipt that a result in it was taken from
    defects: tuple[Defect, ...] = ()
    was: str = ""  # the state of its task when its file was read
    idle: int = LAST  # see `moot.api.protocol.form.in_rounds`
    behind: int = 0  # entries about the same task that follow it in its file
    number: int | None = None  # the number that the entry of a file has there
    adopting: bool = False  # the file existed before the log, so its numbers are kept
    prints: tuple[str, ...] = ()  # the fingerprint of that entry: see `moot.core.deciders.feed`
    to: tuple[str, ...] = ()  # the mailboxes of its recipients, if its protocol has chosen them
    asked: Message | None = None  # what it answers, if its protocol knows
    within: float | None = None  # seconds until its answer is due


_TABLES = ("reactions", "closers", "forms", "verbs", "effects", "pipeline")
PARTS = (
    "observe",
    "hear",
    "same",
    "move",
    "lines",
    *_TABLES,
    "address",
    "task_id",
    "guard",
    "check",
    "due",
    "watch",
    "concerns",
    "adopted",
)


class Protocol:
    """The code of a pack. All parts are optional; the defaults do what the data says.

    Only `observe` may read files or clocks, and it runs before the commit. Everything else is pure, or decides through
    `Work`.
    """

    reactions: tuple[Reaction, ...] = ()  # commands that follow from an event, in the same commit
    closers: tuple[Callable[[Work], None], ...] = ()  # run after everything is decided, before the append
    forms: Mapping[str, Any] = {}  # forms of mirrors, besides the shared ones: classes, or "module:attribute"
    pipeline: str = ""  # "module:attribute" of its `Pipeline`: the code of its stages (see `moot.runs.contract`)
    verbs: Mapping[str, str] = {}  # `moot PACK WORD`: each word with the "module:attribute" of its `Verb`
    methods: str = ""  # "module:attribute" of the `PackMethods` with these verbs
    effects: str = ""  # "module:attribute" of its `PackEffects`: handlers that its own configuration names
    driver: str = ""  # "module:attribute" of its `PackDriver`: `moot run PACK` (see `moot.runs.drivers`)

    def __init__(self, pack: Pack, settings: Mapping[str, Any] | None = None) -> None:
        self.pack, self.settings = pack, settings or {}

    def observe(self, _call: Call, _saying: Saying) -> Mapping[str, Any]:
        """Look up what `hear` needs from outside the log. It gets the result as `saying.facts`."""
        return {}

    def hear(self, work: Work, saying: Saying) -> int | None:
        """Take a message or an event into the log. Raises if it is refused. Returns its number, if it has one."""
        from moot.api.protocol import hearing

        hearing.hear(work, self, saying)
        return None

    def same(self, spec: MessageType, data: Mapping[str, Any], roots: Sequence[str]) -> str:
        """A text that is equal for equal messages, however they were formatted."""
        from moot.api.protocol.content import canonical

        return canonical(spec, data, roots)

    def move(self, _work: Work, _task: Task, _verb: str, _reason: str | None) -> tuple[str, ...]:
        """Flags for a move of one of its tasks. Raises if the move is refused."""
        return ()

    def lines(self, _store: Store, happened: Happening) -> Sequence[str]:
        """An event as lines of the journal."""
        from moot.api.protocol.journal_lines import line_of

        return (line_of(happened),)

    def address(self, _work: Work, _text: str) -> str | None:
        """Translate an address of the protocol to one of moot; None if it is not one."""
        return None

    def task_id(self, _title: str) -> str | None:
        """The id of the task, with the pack's lifecycle, that a title is for; None: it is not of that form."""
        return None

    def guard(self, _work: Work, _actor: Actor, _paths: Sequence[str], *, committed: bool) -> None:
        """Raise if this actor may not claim these paths, or, if they are `committed`, not change them in a commit."""

    def programs(self, _call: Call) -> Iterable[Handler]:
        """The programs that come with the repository and that its built-in stages run: each needs consent."""
        return ()

    def check(self, _call: Call, _files: PackFiles) -> Iterable[FileProblem]:
        """Problems for `moot pack check` and `moot doctor`, besides those of the mirrored files. Changes nothing."""
        return ()

    def due(self, _call: Call) -> Callable[[Work], None] | None:
        """A decision for what the clock has made due; None: nothing is. See `moot.api.protocol.due`."""

    def watch(self, _call: Call) -> PackView | None:
        """Its section of `moot watch`. Reads only."""

    def adopted(self, _call: Call) -> Iterable[str]:
        """What `moot init` found in the files of the project, in lines. Reads only."""
        return ()

    def concerns(self, _call: Call) -> Iterable[Concern]:
        """What a person should look at: for `moot needs-me`, `watch` and `doctor`. Reads only."""
        return ()


class Packs:
    """The active packs."""

    def __init__(
        self,
        packs: Sequence[Pack] = (),
        protocol: Callable[[Pack], Protocol] = Protocol,
        read: Callable[[Pack, str], bytes] | None = None,
    ) -> None:
        self.packs = tuple(packs)
        self.read = read  # a file of a pack, by its name in `pack.toml`
        self._make = protocol
        self._made: dict[str, Protocol] = {}
        self._named = {pack.name: pack for pack in packs}
        self.shared_roles = frozenset(r.name for p in packs for r in p.roles if r.delivery == "one")

    def protocol(self, pack: str) -> Protocol:
        if pack not in self._made:
            with self._code(pack, "__init__"):
                self._made[pack] = self._make(self._named[pack])
        return self._made[pack]

    def _code(self, pack: str, part: str) -> PackCode:
        """A context for code that may be the pack's own."""
        from moot.core.pack_code import PackCode

        return PackCode(pack if self._named[pack].parts else "", part)

    def having(self, part: str) -> list[Protocol]:
        """The protocols of the packs that override this part."""
        return [self.protocol(pack.name) for pack in self.packs if part in pack.parts]

    def forms(self, pack: str) -> Mapping[str, Any]:
        """The forms of mirrors that a pack defines: classes, or "module:attribute"."""
        if "forms" not in self._named[pack].parts:
            return {}
        return self._named[pack].forms or self.protocol(pack).forms

    def addresses(self, work: Work, to: Sequence[str]) -> Sequence[str]:
        """Translate addresses of protocols to those of moot; others stay unchanged."""
        for one in self.having("address"):
            with self._code(one.pack.name, "address"):
                to = [one.address(work, text) or text for text in to]
        return to

    def guard(self, work: Work, actor: Actor, paths: Sequence[str], *, committed: bool = False) -> None:
        """Raise if a pack does not let this actor claim these paths, or change them in a commit."""
        for protocol in self.having("guard"):
            with self._code(protocol.pack.name, "guard"):
                protocol.guard(work, actor, paths, committed=committed)

    def task_id(self, title: str) -> tuple[str, str] | None:
        """The id and the lifecycle of the task that a title of a protocol's form is for."""
        for protocol in self.having("task_id"):
            with self._code(protocol.pack.name, "task_id"):
                if (name := protocol.task_id(title)) is not None:
                    return name, protocol.pack.name
        return None

    def same(self, spec: MessageType, data: Mapping[str, Any], roots: Sequence[str]) -> str:
        """See `Protocol.same`."""
        if "same" not in self._named[spec.pack].parts:
            from moot.api.protocol.content import canonical

            return canonical(spec, data, roots)
        with self._code(spec.pack, "same"):
            return self.protocol(spec.pack).same(spec, data, roots)

    @property
    def instructed(self) -> str:
        """The mailbox that gets the messages that create tasks."""
        starting = (spec for pack in self.packs for spec in pack.messages if spec.creates)
        return next((address for spec in starting for address in spec.addresses), "")

    @property
    def mirrors(self) -> tuple[MirrorSpec, ...]:
        return tuple(mirror for pack in self.packs for mirror in pack.mirrors)

    def lifecycles(self) -> dict[str, Lifecycle]:
        return {life.name: life for pack in self.packs for life in pack.lifecycles}

    def reactions(self) -> tuple[Reaction, ...]:
        if not self.packs:
            return ()
        from moot.api.protocol.clearing import clearing
        from moot.core.pack_code import reacting

        usual = (clearing(pack) for pack in self.packs if pack.mirrors)
        own = (reacting(one.pack.name, reaction) for one in self.having("reactions") for reaction in one.reactions)
        return (*usual, *own)

    def closers(self) -> tuple[Callable[[Work], None], ...]:
        """The closers of the packs, and one that records which packs are active."""
        if not self.packs:
            return ()
        from moot.core.pack_code import closing, recording

        own = (closing(one.pack.name, run) for one in self.having("closers") for run in one.closers)
        return (*own, recording(self.packs))

    def find(self, kind: str, pack: str | None = None) -> MessageType | None:
        """The message type with this name or `pack/name`; with `pack`, only among those of one pack."""
        types = [spec for p in self.packs if pack in (None, p.name) for spec in p.messages]
        return next((spec for spec in types if kind in (spec.name, f"{spec.pack}/{spec.name}")), None)

    def typed(self, text: str) -> tuple[str, dict[str, Any]] | None:
        """The type and the data of a text that has a text form. None: it begins like none. Raises if it nearly has."""
        specs = [spec for pack in self.packs for spec in pack.messages if spec.text]
        if not specs:
            return None
        from moot.api.protocol.sending import typed

        return typed(specs, text)

    def binding(self, kind: str) -> MessageType | None:
        """The binding of this event type by a pack."""
        bound = [spec for pack in self.packs for spec in pack.events]
        fitting = [spec for spec in bound if spec.name.endswith("*") and kind.startswith(spec.name[:-1])]
        exact = next((spec for spec in bound if spec.name == kind), None)
        return exact or max(fitting, key=lambda spec: len(spec.name), default=None)

    def move(self, work: Work, task: Task, verb: str, reason: str | None) -> tuple[str, ...]:
        pack = task.lifecycle.partition("/")[0]
        if pack not in self._named or "move" not in self._named[pack].parts:
            return ()
        with self._code(pack, "move"):
            return self.protocol(pack).move(work, task, verb, reason)

    def saying(
        self,
        call: Call,
        spec: MessageType,
        data: dict[str, Any],
        *,
        kind: str = "",
        roots: tuple[str, ...] | None = None,
        source: str | None = None,
        sender: Actor = NOBODY,
        thread: str | None = None,
        adopting: bool = False,
    ) -> Saying:
        """An incoming message or event, with everything that must be known before the commit."""
        if roots is None:
            from moot.place import worktrees

            roots = tuple(tree.root for tree in worktrees(call.place))
        saying = Saying(
            spec=spec,
            data=data,
            type=kind or spec.name,
            sender=sender,
            limit=max(call.settings.message_limit, self._named[spec.pack].message_limit),
            roots=roots,
            now=call.clock.wall_seconds(),
            ttl=call.settings.task_ttl,
            source=source,
            thread=thread,
            adopting=adopting,
        )
        if "observe" not in self._named[spec.pack].parts:
            return saying
        with self._code(spec.pack, "observe"):
            return saying.replace(facts=self.protocol(spec.pack).observe(call, saying))

    def hear(self, work: Work, saying: Saying) -> str | int | None:
        """Take it into the log, inside a commit. Returns the id of a message, or what the pack returns for an event."""
        if saying.spec.how == "message" and not saying.id:
            saying = saying.replace(id=work.new_message())
        with self._code(saying.spec.pack, "hear"):
            number = self.protocol(saying.spec.pack).hear(work, saying)
        return saying.id or number

    def send(self, call: Call, kind: str, *given: Any, **options: Any) -> Answer:
        """Send a message of a pack from a surface: see `moot.api.protocol.sending.send`."""
        from moot.api.protocol.sending import send, unknown_type

        spec = self.find(kind)
        if spec is None:
            raise unknown_type(self.packs, kind)
        return send(call, spec, *given, **options)
