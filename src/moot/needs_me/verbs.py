"""needs-me: everything that waits for a person, and answering it there."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import KEY, Param, Verb
from moot.core.errors import Usage
from moot.core.text import command_line, one_line, option
from moot.needs_me import answer as give_answer
from moot.needs_me import waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call


def needs_me(call: Call, text: str | None, answer: str | None) -> Answer:
    if answer is not None:
        if text is None:
            raise Usage(
                "bad_arguments",
                "The answer is missing.",
                f"{command_line('needs-me', options=option('--answer', answer))} 'text'",
            )
        return give_answer(call, answer, text)
    if text is not None:
        raise Usage("bad_arguments", "An answer to what?", "Name it: moot needs-me --answer ID 'text'")
    found = waiting(call)
    lines = []
    for item in found:
        about = f" about {item.task}" if item.task and item.task != item.id else ""
        choice = f" [{' | '.join(item.options)}]" if item.options else ""
        lines.append(
            one_line(f"{item.id} {item.kind} from {item.who}{about} since {item.since}: {item.text}{choice}", 600)
        )
        lines.append(f"  → {item.command}")
    rows = tuple(
        (
            item.id,
            item.kind,
            one_line(item.who, 60),
            one_line(item.task or "", 40),
            one_line(item.text + (f" [{' | '.join(item.options)}]" if item.options else ""), 160),
            item.command,
        )
        for item in found
    )
    table = Table(("id", "what", "from", "task", "", "answer it with"), rows, title="Needs you") if rows else None
    return Answer(result=found, say=tuple(lines) or ("Nothing waits for you.",), table=table)


VERBS = (
    Verb(
        "needs-me",
        "What waits for a person, and how to answer each of it; or answer one here.",
        needs_me,
        kind="look",
        params=(
            Param("text", "With --answer: what you say.", type="words", positional=True),
            Param("answer", "The id of what you answer.", limit=200, person=True),
            KEY,
        ),
        past=True,
        examples=("moot needs-me", "moot needs-me --answer k-4k2xw9a yes"),
        detail=(
            "Checkpoints, requests in your mailbox, entries that are held, tasks that ran out of attempts, or that "
            "failed and keep others waiting, effects that were parked, and handlers that nobody has allowed on this "
            "machine. An answer resolves the checkpoint, replies to the request, drops the held entry with these words "
            "as its reason, opens the task again with them, or lets the effect be tried again; `yes` allows the "
            "handler, and shows what it does. Listing writes nothing."
        ),
    ),
)
