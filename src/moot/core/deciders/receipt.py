"""Receipts: a command that was run, its result, and the files it ran on.

What always holds:
- A receipt is recorded once, by the agent or person that ran the command, and never changes.
- It is bound to the content that was checked (`tree`), or to nothing if that content is unknown.
- It is valid only if the command succeeded, the files did not change while it ran, and the files still have the
  content that was checked. The caller determines their content and passes it in.
"""

from __future__ import annotations

from moot.core.errors import Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record
from moot.core.text import command_line, one_line, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.core.kind import Meta

TAIL_LIMIT = 4096  # bytes of output that are kept
FAILED_TAIL_LIMIT = 65_536  # the same of a command that failed
COMMAND_LIMIT = 100_000  # characters
PATHS_LIMIT = 200  # changed files that are kept or listed
_NAMED = 10  # changed files in a sentence
IGNORE = (
    "If the command writes them each time, let git ignore them (.gitignore), or go on without a receipt. "
    "If not, run the check again."
)


class RecordReceipt(Record):
    by: str
    argv: tuple[str, ...]
    code: int  # exit code of the command; 128 + n: killed by signal n
    seconds: float
    digest: str  # sha256 of the whole output
    size: int
    tail: str = ""
    tree: str | None = None  # the content of the worktree at the start
    commit: str | None = None
    dirty: bool = False  # the worktree differed from that commit
    changed: bool = False  # the files changed while it ran
    timed_out: bool = False
    worktree: str = ""
    directory: str = ""
    task: str | None = None
    attempt: int | None = None  # of the task
    differs: tuple[str, ...] | None = None  # how the files differed from that commit: see `moot.engine.content_digest`
    wrote: tuple[str, ...] = ()  # the files that changed while it ran, as far as they are known


class ReceiptRecorded(RecordReceipt, Payload):
    type = "receipt:recorded"
    said = "ran {argv:words} in {seconds} s: exit code {code}"
    words = ("argv",)
    quiet = ("tail", "differs", "wrote")
    names = ("task",)
    marks = ("by", "digest", "tree", "commit", "worktree", "directory")


EVENTS: dict[str, type[Payload]] = {ReceiptRecorded.type: ReceiptRecorded}


class Receipt(Record):
    id: str
    by: str = ""
    argv: tuple[str, ...] = ()
    code: int = 0
    seconds: float = 0.0
    digest: str = ""
    size: int = 0
    tail: str = ""
    tree: str | None = None
    commit: str | None = None
    dirty: bool = False
    changed: bool = False
    timed_out: bool = False
    worktree: str = ""
    directory: str = ""
    task: str | None = None
    attempt: int | None = None
    at: str = ""
    differs: tuple[str, ...] | None = None
    wrote: tuple[str, ...] = ()

    @property
    def exists(self) -> bool:
        return bool(self.digest)  # every receipt has one, even after its text was redacted

    @property
    def passed(self) -> bool:
        return self.code == 0 and not self.timed_out

    @property
    def outcome(self) -> str:
        """How it ended, in a few words."""
        if self.timed_out:
            return "timed out"
        if self.code:
            return f"failed with {self.code}"
        return "passed, but changed files" if self.changed else "passed"

    def doubt(self, tree: str | None) -> str | None:
        """Why it is not valid for files with this content; None if it is."""
        if not self.passed:
            return "the command failed"
        if self.changed:
            return "the files changed while it ran"
        if self.tree is None or tree is None:
            return "it is unknown which files it ran on"
        return None if self.tree == tree else "the files have changed since"


def check_task(receipt: Receipt, task: str | None) -> None:
    """Raise unless the receipt exists and is not for another task."""
    if not receipt.exists:
        raise Unknown(
            "unknown_receipt", f"There is no receipt {receipt.id!r}.", "`moot receipts` lists them.", receipt=receipt.id
        )
    if receipt.task not in (None, task):
        raise Refused(
            "receipt_of_another",
            f"{receipt.id} was recorded for {receipt.task}, not for {task}.",
            f"Run the check for {task}: `{command_line('check', options=option('--task', str(task)))} -- COMMAND`.",
            receipt=receipt.id,
            task=receipt.task,
        )


def check(receipt: Receipt, task: str, tree: str | None, changed: tuple[str, ...] = ()) -> None:
    """Raise unless the receipt is valid for this task and for files with this content. `changed`: what is different."""
    check_task(receipt, task)
    doubt = receipt.doubt(tree)
    if doubt is not None:
        changed = receipt.wrote if receipt.changed else changed
        how = f"exit code {receipt.code}" if not receipt.timed_out else "timed out"
        raise Refused(
            "receipt_stale" if receipt.passed else "receipt_failed",
            f"{receipt.id} is not valid: {doubt}{with_paths(changed)}{'' if receipt.passed else f' ({how})'}.",
            IGNORE if receipt.changed else "Run the check on the current files: `moot check -- COMMAND`.",
            receipt=receipt.id,
            code_of_command=receipt.code,
            checked=receipt.tree,
            now=tree,
            changed=list(changed[:PATHS_LIMIT]),
            changed_more=max(0, len(changed) - PATHS_LIMIT),
        )


def with_paths(changed: Sequence[str]) -> str:
    """The first changed paths and the number of others, to follow a doubt."""
    if not changed:
        return ""
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    return f": {', '.join(one_line(path, 200) for path in changed[:_NAMED])}{more}"


def decide(state: Receipt, command: RecordReceipt, _facts: object = None) -> list[Payload]:
    if state.exists:
        raise Refused("receipt_exists", f"{state.id} already exists.", "Omit the id.", receipt=state.id)
    if sum(map(len, command.argv)) > COMMAND_LIMIT:
        raise Refused(
            "command_too_long", "The command is too long to be recorded.", "Put it into a script and run that."
        )
    return [ReceiptRecorded(**command.__dict__)]


def evolve(state: Receipt, event: Payload, meta: Meta) -> Receipt:
    if isinstance(event, ReceiptRecorded):
        return Receipt(id=state.id, at=meta.at, **event.__dict__)
    raise TypeError(f"not an event of a receipt: {event!r}")


def columns(state: Receipt) -> dict[str, Any]:
    how = "passed" if state.passed else "failed"
    return {"open": state.exists, "task": state.task, "title": " ".join(state.argv), "state": how}


def text(data: Mapping[str, Any]) -> str:
    """The searchable text: command, outcome, task. Not the output: it would match every word that a test prints."""
    code = data.get("code")
    outcome = "timed out" if data.get("timed_out") else "passed" if code == 0 else f"failed with exit code {code}"
    about = [data["task"]] if data.get("task") else []
    return "\n".join([" ".join(word for word in data.get("argv", ()) if word), outcome, *about])


KIND = Kind(
    name="receipt",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Receipt,
    columns=columns,
    plural="receipts",
    made_by="`moot check`",
    text=text,
)
