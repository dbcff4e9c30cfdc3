"""needs-me: list everything that waits for a person, or answer one item."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import KEY, Param, Verb
from moot.core.errors import Usage
from moot.core.text import command_line, one_line, option
from moot.engine.clock import local
from moot.needs_me import answer as give_answer
from moot.needs_me import question, waiting

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
        raise Usage("bad_arguments", "The id of the item to answer is missing.", "moot needs-me --answer ID 'text'")
    found = waiting(call)
    lines, rows = [], []
    for item in found:
        about = f" about {item.task}" if item.task and item.task != item.id else ""
        asked = question(item)
        what = f"{item.kind} ({item.checkpoint_type})" if item.checkpoint_type else item.kind
        whose = f" from {item.who}" if item.who else ""
        since = f" since {local(item.since)}" if item.since else ""
        lines += [
            one_line(f"{item.id} {what}{whose}{about}{since}: {asked}", 600),
            f"  → {item.command}",
        ]
        task = one_line(item.task or "", 40)
        rows.append((item.id, one_line(what, 60), one_line(item.who, 60), task, one_line(asked, 160), item.command))
    headings = ("id", "what", "from", "task", "", "answer it with")
    table = Table(headings, tuple(rows), title="Needs you") if rows else None
    return Answer(result=found, say=tuple(lines) or ("Nothing waits for you.",), table=table)


VERBS = (
    Verb(
        "needs-me",
        "List what waits for a person, each with the command that answers it; or answer one item.",
        needs_me,
        kind="look",
        params=(
            Param("text", "With --answer: your answer.", type="words", positional=True),
            Param("answer", "The id of the item to answer.", limit=200, person=True),
            KEY,
        ),
        past=True,
        examples=("moot needs-me", "moot needs-me --answer k-4k2xw9a yes"),
        detail=(
            "Lists checkpoints, requests in your mailbox, held entries, tasks that ran out of attempts, failed tasks "
            "that others wait for, reviews that no agent here can do, parked effects, handlers that nobody has "
            "allowed on this machine, review that is switched off, and what active packs report. An answer resolves a "
            "checkpoint, replies to a request, reopens a task with your text as the reason, or retries an effect. A "
            "held entry is dropped, with your text as the reason. For a review, `yes` approves the task. For a "
            "handler, `yes` shows what it does and allows it. Listing writes nothing."
        ),
    ),
)
