"""answer: answer whatever has this id."""

from __future__ import annotations

from moot.api.catalogue import KEY, Param, Verb
from moot.core.errors import Refused, Unknown
from moot.core.identity import people_only
from moot.core.kind import kinds
from moot.core.text import command_line
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.answer import Answer
    from moot.api.call import Call

_CAN_BE = "A message (m-…) or a checkpoint (k-…) can be answered; `moot inbox` and `moot checkpoints` list them."


def answer(call: Call, id: str, text: str) -> Answer:  # noqa: A002
    store = call.engine.read()
    kind = next((k.name for k in kinds() if not k.single and states.state(store, k, id)[1]), None)
    match kind:
        case "message":
            from moot.api.verbs.mail.send import reply

            return reply(call, id, text, None)
        case "checkpoint":
            from moot.api.verbs.checkpoints import resolve

            people_only(call.caller, f"`{command_line('answer', id)}`")
            return resolve(call, id, text, None)
        case "task":
            note = f"@{text}" if text.startswith("@") else text
            raise Refused(
                "not_answerable",
                f"{id} is a task. {_CAN_BE}",
                f"Comment on it: `{command_line('task note', id, note)}`.",
                thing=id,
                kind=kind,
            )
        case None:
            raise Unknown("unknown_thing", f"Nothing is named {id[:80]!r}.", _CAN_BE, thing=id)
        case _:
            raise Refused(
                "not_answerable", f"{id} cannot be answered: its kind is {kind}.", _CAN_BE, thing=id, kind=kind
            )


VERBS = (
    Verb(
        "answer",
        "Answer a message or a checkpoint, whichever has this id.",
        answer,
        kind="own",
        params=(
            Param("id", "The message (m-…) or the checkpoint (k-…).", positional=True, required=True),
            Param("text", "The answer.", type="words", positional=True, required=True),
            KEY,
        ),
        examples=(
            "moot answer m-4k2xw9a 'Reviewed.'",
            "moot answer k-4k2xw9a yes",
        ),
        detail="For a message it is `moot reply`; for a checkpoint it is `moot checkpoint resolve`, only for people.",
    ),
)
