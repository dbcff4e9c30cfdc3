"""specflow status, catalogue: how a wave stands, and which messages its agents exchange."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import Param, Verb
from moot.core.templates import form_of
from moot.core.text import one_line
from moot.packs.specflow import looking, team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call

# The catalogue has no results of the wave's gates; moot adds them, and CONFLICT to the lead.
_ADDED = ("JOURNEY_TIER2_RESULTS", "REGRESSION_RESULTS")
_REPLIES = {
    "REQUEST_MIGRATION": ("MIGRATION_ASSIGNED", "CONFLICT"),
    "QUERY_TABLE": ("TABLE_EXISTS", "TABLE_PENDING", "TABLE_NOT_FOUND"),
    "RUN_CONTRACTS": ("CONTRACT_RESULTS",),
    "RUN_JOURNEY_TIER2": ("JOURNEY_TIER2_RESULTS",),
    "RUN_REGRESSION": ("REGRESSION_RESULTS",),
}


def status(call: Call, wave: int | None) -> Answer:
    found = looking.status(call, looking.shown(call.engine.read(), wave))
    return Answer(result=found, say=tuple(looking.status_lines(found)))


def catalogue(call: Call) -> Answer:
    """`fields`: in the text, each with its kind. `beside`: those that are not in it."""
    found, rows = [], []
    for spec in call.packs.protocol(team.PACK).pack.messages:
        parts = [part for form in map(form_of, spec.text) for part in form.parts if not isinstance(part, str)]
        entry = {
            "type": spec.name,
            "operation": "broadcast" if spec.to == ("@all",) else "write",
            "forms": spec.text,
            "fields": {part.name: part.kind for part in parts},
            "beside": spec.beside,
            "sender": spec.senders,
            "recipient": spec.to,
            "replies": _REPLIES.get(spec.name, ()),
            "supplementary": spec.name in _ADDED,
        }
        found.append(entry)
        rows.append((" | ".join(spec.text), str(entry["operation"]), spec.senders[0], ", ".join(spec.to)))
    table = Table(("message", "operation", "from", "to"), tuple(rows), title="Messages")
    return Answer(result=found, say=tuple(one_line("; ".join(row), 500) for row in rows), table=table)


STATUS = Verb(
    "specflow status",
    "Show a wave: its team, issues, gates and files; its report, if it has ended.",
    status,
    kind="look",
    params=(Param("wave", "Its number. Default: the one that runs, else the newest.", type="int"),),
    examples=("moot specflow status", "moot specflow status --wave 1"),
    writes=False,
)
CATALOGUE = Verb(
    "specflow catalogue",
    "List the messages of the protocol: operation, text form, fields, roles and replies.",
    catalogue,
    kind="look",
    examples=("moot specflow catalogue --json",),
    writes=False,
)
