"""specflow write, broadcast: the two operations by which the agents of a wave talk."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.core.deciders.message import SendMessage, Sent
from moot.core.errors import Refused, Usage
from moot.core.principal import name_of, same_agent
from moot.core.record import Record
from moot.core.text import command_line
from moot.packs.specflow import team
from moot.packs.specflow.protocol import no_messages
from moot.packs.specflow.team import LEAD, SUBAGENTS
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import MessageType
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work
    from moot.packs.specflow.team import Wave

ALL = "@all"


class WrittenMessage(Record):
    """A message that was stored. `replies`: the answers of moot's own services, which came at once."""

    id: str
    type: str
    to: tuple[str, ...]
    position: int
    recipients: int
    replies: tuple[str, ...] = ()


class Touched(Record):
    """What a TOUCHING_FILE gave: `granted`, or `held` by whom, for which issue, since when, and the place in line."""

    path: str
    state: str
    shared: bool
    id: str | None = None
    holder: str | None = None
    issue: str | None = None
    since: str | None = None
    place: int = 0


def write(call: Call, to: str, message: str, within: float | None) -> Answer:
    _check(to=to, message=message)
    typed = _typed(call, message, "write")

    def recipients(wave: Wave, sender: str) -> tuple[str, ...]:
        found = team.recipient(wave, to, sender)
        if typed is not None and wave.role_of(found) not in typed[0].to:
            raise Refused(
                "wrong_recipient",
                f"A {typed[0].name} goes to the {' or '.join(typed[0].to)}; {to} is {wave.role_of(found)}.",
                f"Write it to {typed[0].to[0]}.",
                type=typed[0].name,
                required=list(typed[0].to),
                found=wave.role_of(found),
            )
        return (found,)

    return _written(_said(call, message, typed, recipients, within))


def broadcast(call: Call, message: str) -> Answer:
    _check(message=message)
    typed = _typed(call, message, "broadcast")

    def recipients(wave: Wave, sender: str) -> tuple[str, ...]:
        every = (wave.agent_in(LEAD), *(one.agent for one in wave.members if one.agent not in wave.stopping))
        return tuple(one for one in every if not same_agent(one, sender))

    outcome = _said(call, message, typed, recipients)
    return _written(outcome) if typed is None else _touched(call, typed[1]["path"], outcome)


def _check(**given: str) -> None:
    for field, text in given.items():
        if not text.strip():
            raise Usage("bad_arguments", f"{field} is empty.", "Give it a text.", field=field)


def _typed(call: Call, message: str, operation: str) -> tuple[MessageType, dict[str, Any]] | None:
    """The type and the data of a message of the catalogue. None: it is a note."""
    found = call.packs.typed(message)
    spec = call.packs.find(found[0], team.PACK) if found is not None else None
    if found is None or spec is None:
        return None
    due = "broadcast" if spec.to == (ALL,) else "write"
    if due != operation:
        raise Refused(
            "wrong_operation",
            f"A {spec.name} is sent by {due}.",
            f"`{command_line(f'specflow {due}', *(() if due == 'broadcast' else (spec.to[0],)), message[:200])}`",
            type=spec.name,
            operation=due,
        )
    return spec, found[1]


def _said(
    call: Call,
    message: str,
    typed: tuple[MessageType, dict[str, Any]] | None,
    recipients: Callable[[Wave, str], tuple[str, ...]],
    within: float | None = None,
) -> Outcome:
    saying = call.packs.saying(call, typed[0], {"type": typed[0].word, **typed[1]}) if typed is not None else None

    def act(work: Work) -> None:
        sender, wave = call.actor(work), team.running(work)
        role = wave.role_of(sender.principal)
        if wave.mode == SUBAGENTS and role != LEAD:
            raise no_messages(wave)
        if not role:
            team.only_lead(wave, sender.principal)
        to = recipients(wave, sender.principal)
        if saying is not None:
            call.packs.hear(work, saying.replace(sender=sender, to=to, within=within))
            return
        size, limit = len(message.encode()), call.settings.message_limit
        note = SendMessage("note", sender.principal, to, "nothing", size, limit, message, role=role)
        work.do("message", work.new_message(), note)

    return call.commit(act)


def _written(outcome: Outcome) -> Answer:
    sent = [event for event in outcome.events if event.type == Sent.type]
    first, *rest = sent
    to = tuple(first.data["to"])
    answers = tuple(one.data["text"] for one in rest if _is_to(one.data, first.data))
    identity = first.stream.partition("/")[2]
    result = WrittenMessage(identity, first.data["kind"], to, first.position, len(to), answers)
    return Answer(result=result, say=(f"{identity} stored for {', '.join(to)}", *answers))


def _time(call: Call, position: int) -> str:
    return call.engine.log.read(after=position - 1, limit=1)[0].at


def _is_to(data: dict[str, Any], asked: dict[str, Any]) -> bool:
    return any(same_agent(one, asked["sender"]) for one in data["to"])


def _touched(call: Call, text: str, outcome: Outcome) -> Answer:
    from moot.core import paths
    from moot.packs.specflow.protocol import file_of

    protocol: Any = call.packs.protocol(team.PACK)
    store, me = call.engine.read(), call.caller.agent or ""
    path = file_of(call, text)["path"]
    state, _ = states.claims(store)
    wanted = paths.escape(path)
    waiting = [one for one in state.waiting.values() if wanted in one.paths]
    mine = next((n for n, one in enumerate(waiting, 1) if same_agent(one.holder, me)), 0)
    holder = next((one for one in state.live.values() if wanted in one.paths), None)
    sent = next((event.stream.partition("/")[2] for event in outcome.events if event.type == Sent.type), None)
    shared = protocol.is_shared(path)
    if not mine or holder is None:
        said = f"granted: {path} is yours{'' if shared else '. It is not a shared file, so this was not needed'}"
        return Answer(result=Touched(path, "granted", shared, sent), say=(said,))
    held = Touched(path, "held", shared, sent, name_of(holder.holder), holder.task, _time(call, holder.token), mine)
    said = f"held: {path} is claimed by {held.holder} ({held.issue}) since {held.since}; you are number {mine} in line"
    return Answer(result=held, say=(said, "You are told when it is yours."))


_MESSAGE = Param("message", "The text.", type="words", positional=True, required=True)

WRITE = Verb(
    "specflow write",
    "Send a message to one agent of the team.",
    write,
    kind="speak",
    params=(
        Param(
            "to",
            "A name, a role such as db-coordinator, or #N for the agent of issue N.",
            positional=True,
            required=True,
        ),
        _MESSAGE,
        Param("within", "When the answer of a gate is due. Default: a setting of the pack.", type="seconds"),
        KEY,
    ),
    examples=("moot specflow write db-coordinator 'REQUEST_MIGRATION #50 tables:[users, sessions]'",),
    detail=(
        "Text that begins with a keyword of `moot specflow catalogue` is a message of the protocol: it is checked, and "
        "moot's services answer it at once or after they ran a gate. Any other text is a note."
    ),
)
BROADCAST = Verb(
    "specflow broadcast",
    "Send a message to the whole team, or announce a file.",
    broadcast,
    kind="speak",
    params=(_MESSAGE, KEY),
    examples=("moot specflow broadcast 'TOUCHING_FILE src/lib/auth.ts'",),
    detail=(
        "TOUCHING_FILE also claims the file. If another agent holds it you are in line, and told when it is yours: do "
        "not change it before. The claim ends with your issue, or with `moot release`."
    ),
)
