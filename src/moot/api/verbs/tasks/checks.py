"""check, receipts, receipt show: run a command and record its result."""

from __future__ import annotations

import os

from moot.api.answer import Answer, Table, warn_of_more
from moot.api.catalogue import Param, Verb
from moot.core.deciders import receipt as receipts
from moot.core.errors import Unknown, Usage
from moot.core.identity import without_person
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import counted, fence, one_line
from moot.engine.clock import local
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.deciders.receipt import Receipt
    from moot.engine.content_digest import Tree
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work


class Checked(Record):
    """A receipt, and why it does not apply to the current files (None: it does).

    changed: the files that differ from those that were checked, if that is known; `changed_more`: how many others.
    """

    receipt: Receipt
    doubt: str | None = None
    changed: tuple[str, ...] = ()
    changed_more: int = 0


def check(call: Call, command: tuple[str, ...], task: str | None, timeout: float | None) -> Answer:
    from moot.api.receipts import content
    from moot.engine.content_digest import changed_paths
    from moot.place import processes

    if timeout is not None and not timeout:
        raise Usage("bad_arguments", "--timeout must be more than 0.", "Omit --timeout, or give a duration: 10m.")
    if not command[0]:
        raise Usage("bad_arguments", "The command is empty.", "For example: moot check -- pytest -q")
    task = task or _own_task(call)
    call.try_out(lambda work: _check_may(call, work, task))  # refuse before the command runs, not after
    before = content(call)
    try:
        ran = processes.run(
            command,
            cwd=call.cwd,
            env=without_person(os.environ),
            keep=receipts.FAILED_TAIL_LIMIT,
            timeout=timeout,
            show=call.output,
            alive=call.stamp,
        )
    except processes.NotStarted as error:
        raise error.usage(command[0]) from None
    after = content(call, base=before.commit)
    wrote = (changed_paths(before.differs, after.differs) if before.name != after.name else None) or ()
    tail = ran.output.tail if ran.code or ran.timed_out else ran.output.tail[-receipts.TAIL_LIMIT :]

    def act(work: Work) -> None:
        _check_may(call, work, task)
        identity = f"r-{work.token(7)}"
        while work.state("receipt", identity).exists:
            identity = f"r-{work.token(7)}"
        record = receipts.RecordReceipt(
            by=call.actor(work).principal,
            argv=command,
            code=ran.code,
            seconds=ran.seconds,
            digest=ran.output.digest,
            size=ran.output.size,
            tail=tail.decode("utf-8", "replace"),
            tree=before.name,
            commit=before.commit,
            dirty=before.dirty,
            changed=before.name != after.name,
            timed_out=ran.timed_out,
            worktree=call.place.root,
            directory=call.cwd,
            task=task,
            attempt=work.known_task(task).attempt if task is not None else None,
            differs=before.differs,
            wrote=wrote[: receipts.PATHS_LIMIT],
        )
        work.do("receipt", identity, record)

    return _answer(call, call.commit(act), before, after, wrote)


def _answer(call: Call, outcome: Outcome, before: Tree, after: Tree, wrote: tuple[str, ...]) -> Answer:
    event = next(e for e in outcome.events if e.type == receipts.ReceiptRecorded.type)
    receipt: Receipt = states.state(call.engine.read(), "receipt", event.stream.partition("/")[2])[0]
    if before.why:
        call.warn("receipt_unbound", f"The receipt does not identify the content of the worktree: {before.why}")
    if receipt.passed and receipt.changed:
        call.warn(
            "check_wrote", f"The command changed files while it ran{receipts.with_paths(wrote)}. {receipts.IGNORE}"
        )
    doubt = receipt.doubt(after.name)
    return Answer(result=Checked(receipt, doubt), say=(_line(receipt, doubt),), code=0 if receipt.passed else _FAILED)


def _own_task(call: Call) -> str | None:
    """The task that the caller holds; None if it holds none, or several."""
    me = call.me()
    held = queries.tasks_held_by(call.engine.read(), me.principal) if me is not None else ()
    return held[0] if len(held) == 1 else None


_FAILED = 6  # the exit code for a failed check; the command's own exit code is in the receipt


def _check_may(call: Call, work: Work, task: str | None) -> None:
    call.actor(work)
    if task is not None:
        work.known_task(task)


def show(call: Call, id: str) -> Answer:  # noqa: A002
    from moot.api.receipts import content, last
    from moot.engine.content_digest import changed_paths

    receipt: Receipt = states.state(call.engine.read(), "receipt", last(call) if id == "last" else id)[0]
    if not receipt.exists:
        raise Unknown("unknown_receipt", f"There is no receipt {id!r}.", "`moot receipts` lists them.", receipt=id)
    now = content(call, receipt, base=receipt.commit)
    doubt = receipt.doubt(now.name)
    changed = (changed_paths(receipt.differs, now.differs) if doubt and receipt.passed else None) or ()
    changed = receipt.wrote if receipt.changed else changed
    facts = {
        "run by": f"{name_of(receipt.by)}, {local(receipt.at)}",
        "in": receipt.directory,
        "files": f"{receipt.tree or 'unknown'}{' (not as committed)' if receipt.dirty else ''}",
        "commit": receipt.commit or "",
        "output": f"{counted(receipt.size, 'byte')}, sha256 {receipt.digest}",
        "task": receipt.task or "",
    }
    lines = [
        _line(receipt, doubt, changed),
        *(f"  {name}: {one_line(value, 500)}" for name, value in facts.items() if value),
    ]
    if receipt.tail:
        lines += fence(receipt.tail).splitlines()
    more = max(0, len(changed) - receipts.PATHS_LIMIT)
    return Answer(result=Checked(receipt, doubt, changed[: receipts.PATHS_LIMIT], more), say=tuple(lines))


def listed(call: Call, task: str | None, limit: int) -> Answer:
    store = call.engine.read()
    if task is not None:
        names = [name for kind, name in queries.things_of_task(store, task) if kind == "receipt"][::-1]
        found, total = [states.state(store, "receipt", name)[0] for name in names[:limit]], len(names)
    else:
        found = list(queries.things(store, "receipt", limit, ended=True))
        total = queries.count_things(store, "receipt", ended=True)
    warn_of_more(call, limit, total - len(found), "receipt")
    rows = tuple((r.id, r.outcome, f"{r.seconds:g} s", name_of(r.by), r.task or "", _command(r, 60)) for r in found)
    lines = tuple(f"{row[0]} {row[1]} {row[3]} {row[5]}" for row in rows)
    table = Table(("receipt", "result", "took", "by", "task", "command"), rows, title="Receipts") if rows else None
    return Answer(result=found, say=lines or ("No receipts yet: moot check -- COMMAND",), table=table)


def _line(receipt: Receipt, doubt: str | None, changed: tuple[str, ...] = ()) -> str:
    said = f"{receipt.id} {receipt.outcome} after {receipt.seconds:g} s: {_command(receipt, 200)}"
    return f"{said} ({doubt}{receipts.with_paths(changed)})" if doubt and receipt.passed else said


def _command(receipt: Receipt, width: int) -> str:
    from shlex import join

    return one_line(join(receipt.argv), width) or "[redacted]"


VERBS = (
    Verb(
        "check",
        "Run a command and record the result together with the exact content of the files.",
        check,
        kind="local-exec",
        params=(
            Param("command", "The command and its arguments, after --.", positional=True, many=True, required=True),
            Param("task", "The task that this checks. Default: the one that you hold."),
            Param("timeout", "Stop the command after this long: 90s, 30m.", type="seconds"),
        ),
        examples=("moot check -- git diff --check", "moot check --task task-001 --timeout 10m -- git fsck"),
        detail=(
            "The command runs without a shell and without input. The receipt has the command, its exit code, its "
            "duration, the digest and the end of its output, and the git tree of the worktree including uncommitted "
            "changes. It is stale as soon as the files differ, and never valid if the command changes files that "
            "git does not ignore. The exit code is 0 if the command succeeded, otherwise "
            "6. `moot task submit --receipt` attaches the receipt to a task; `receipt = true` under [tasks] in "
            "moot.toml requires one."
        ),
    ),
    Verb(
        "receipt show",
        "Show a receipt, the end of its output, and whether it is stale.",
        show,
        kind="look",
        params=(
            Param(
                "id",
                "The receipt, or `last`: your newest; for people, the newest of all.",
                positional=True,
                required=True,
            ),
        ),
        examples=("moot receipt show r-4k2xw9a", "moot receipt show last"),
        detail="If the files have changed since, the answer names those that differ. That needs git, and at most 200 "
        "uncommitted files.",
        writes=False,
    ),
    Verb(
        "receipts",
        "List receipts, newest first.",
        listed,
        kind="look",
        params=(
            Param("task", "Only receipts of this task."),
            Param("limit", "Maximum number of receipts.", type="int", default=50),
        ),
        examples=("moot receipts --task task-001",),
        writes=False,
    ),
)
