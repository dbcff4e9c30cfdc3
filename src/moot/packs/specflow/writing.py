"""`moot specflow write` and `broadcast`: the two operations by which the agents of a wave talk."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.core import paths
from moot.core.deciders.message import SendMessage, Sent
from moot.core.errors import Refused, Usage
from moot.core.principal import name_of, same_agent
from moot.core.text import command_line
from moot.packs.specflow import team
from moot.packs.specflow.protocol import file_of, is_shared, no_messages
from moot.packs.specflow.team import LEAD, SUBAGENTS
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import MessageType
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work

ALL = "@all"


def write(call: Call, to: str, message: str, within: float | None) -> Answer:
    _check(to=to, message=message)
    return _written(_said(call, message, _typed(call, message, "write"), to, within))


def broadcast(call: Call, message: str) -> Answer:
    _check(message=message)
    typed = _typed(call, message, "broadcast")
    outcome = _said(call, message, typed)
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
    address: str | None = None,
    within: float | None = None,
) -> Outcome:
    """Store it for this address, or for the whole team."""
    saying = call.packs.saying(call, typed[0], {"type": typed[0].word, **typed[1]}) if typed is not None else None

    def act(work: Work) -> None:
        sender, wave = call.actor(work), team.running(work)
        role = wave.role_of(sender.principal)
        if wave.mode == SUBAGENTS and role != LEAD:
            raise no_messages(wave)
        if not role:
            team.only_lead(wave, sender.principal)
        me = sender.principal
        to = (team.recipient(wave, address, me),) if address is not None else wave.everybody_but(me)
        if saying is not None:
            call.packs.hear(work, saying.replace(sender=sender, to=to, within=within))
            return
        size, limit = len(message.encode()), call.settings.message_limit
        note = SendMessage("note", sender.principal, to, "nothing", size, limit, message, role=role)
        work.do("message", work.new_message(), note)

    return call.commit(act)


def _written(outcome: Outcome) -> Answer:
    """`replies`: the answers of moot's own services, which came at once."""
    first, *rest = (event for event in outcome.events if event.type == Sent.type)
    to, sender = first.data["to"], first.data["sender"]
    replies = [one.data["text"] for one in rest if any(same_agent(box, sender) for box in one.data["to"])]
    stored = {"id": first.stream.partition("/")[2], "type": first.data["kind"], "to": to, "position": first.position}
    said = f"{stored['id']} stored for {', '.join(to)}"
    return Answer(result={**stored, "recipients": len(to), "replies": replies}, say=(said, *replies))


def _touched(call: Call, text: str, outcome: Outcome) -> Answer:
    """What a TOUCHING_FILE gave: `granted`, or `held` by whom, for which issue, since when, and the place in line."""
    from moot.core.claim_queue import blockers

    path = file_of(call, text)["path"]
    state, wanted = states.claims(call.engine.read())[0], paths.escape(path)
    sent = next((event.stream.partition("/")[2] for event in outcome.events if event.type == Sent.type), None)
    shared = is_shared(path, call.packs.protocol(team.PACK).settings)
    result = {"path": path, "state": "granted", "shared": shared, "id": sent}
    waiting = [one for one in state.waiting.values() if wanted in one.paths]
    mine = next((one for one in waiting if same_agent(one.holder, call.caller.agent or "")), None)
    if mine is None:
        said = f"granted: {path} is yours{'' if shared else '. It is not a shared file, so this was not needed'}"
        return Answer(result=result, say=(said,))
    first, place = blockers(state, mine)[0], waiting.index(mine) + 1
    since = call.engine.log.read(after=first.token - 1, limit=1)[0].at
    holder = name_of(first.holder)
    said = f"held: {path} is claimed by {holder} ({first.task}) since {since}; you are number {place} in line"
    held = {"state": "held", "holder": holder, "issue": first.task, "since": since, "place": place}
    return Answer(result={**result, **held}, say=(said, "You are told when it is yours."))


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
