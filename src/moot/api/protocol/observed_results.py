"""Results of commands in messages: observed by moot, or claimed by their sender.

A message type with `receipt` in pack.toml has a field with the result of a command. `moot send --receipt` takes it from
the receipt of a check that moot ran: then it is observed. A result that a caller or a file writes is claimed, whatever
it says about itself. The event of the message records which, so nothing in the message can change it. A file shows it
by a mark in the field; the mark is ignored when a file is read, and written again from the log.
"""

from __future__ import annotations

from moot.core.deciders.message import CLAIMED
from moot.core.deciders.receipt import check_task
from moot.core.errors import Refused, Usage
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import MessageType, Saying
    from moot.core.deciders.message import SendMessage
    from moot.core.deciders.receipt import Receipt
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work


def taken_from_receipt(
    call: Call, spec: MessageType, data: Mapping[str, Any], receipt: str
) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    """The message with the result of a receipt, the id of the receipt, and flags. `receipt`: an id, or `last`."""
    from moot.api.receipts import content, last

    if spec.receipt is None:
        raise Refused(
            "no_result", f"A {spec.name} does not contain the result of a command.", "Omit --receipt.", type=spec.name
        )
    field = spec.receipt["field"]
    if field in data:
        raise Usage(
            "bad_arguments",
            f"The message has {field}, and --receipt gives it another one.",
            f"Omit {field} from the message, or omit --receipt.",
        )
    task = data.get(spec.task or "")
    name = last(call, str(task)) if receipt == "last" else receipt
    found: Receipt = states.state(call.engine.read(), "receipt", name)[0]
    check_task(found, str(task))
    doubt = found.doubt(content(call, found, base=found.commit).name) if found.passed else None
    flags = (f"result_stale: {found.id} passed, but {doubt}",) if doubt else ()
    return {**data, field: result_of(spec, found)}, found.id, flags


def result_of(spec: MessageType, receipt: Receipt) -> dict[str, Any]:
    """The result of a command as the protocol writes it."""
    from shlex import join

    assert spec.receipt is not None
    rule = spec.receipt
    made = dict(rule["passed"] if receipt.passed else rule["failed"])
    made[rule["command"]] = join(receipt.argv)
    output = _output(receipt)
    return {**made, rule["output"]: output} if output else made


def _output(receipt: Receipt) -> str:
    """The captured output. If its beginning was not kept, a line says so; a failure is never without a word."""
    kept = len(receipt.tail.encode("utf-8", "replace"))
    cut = f"[the last {kept:,} of {receipt.size:,} bytes; moot kept no more]\n" if receipt.size > kept else ""
    end = "" if receipt.passed else f"[moot: {receipt.outcome} after {receipt.seconds:g} s, no output]"
    return f"{cut}{receipt.tail}" if receipt.tail else end


def with_evidence(work: Work, saying: Saying, command: SendMessage, task: Task | None) -> SendMessage:
    """The command that stores the message, with its evidence and the checks of its attempt."""
    assert saying.spec.receipt is not None
    if saying.evidence is not None:
        check_task(work.state("receipt", saying.evidence), task.id if task else None)
    runs = runs_of(work, task) if task is not None else ()
    return command.replace(evidence=saying.evidence or CLAIMED, runs=runs)


def runs_of(work: Work, task: Task) -> tuple[str, ...]:
    """The receipts of the current attempt, oldest first."""
    names = [name for kind, name in queries.things_of_task(work.store, task.id) if kind == "receipt"]
    found = ((name, states.state(work.store, "receipt", name)[0].attempt) for name in names)
    return tuple(name for name, attempt in found if attempt in (None, task.attempt))


def marked(spec: MessageType, data: Mapping[str, Any], evidence: str | None) -> dict[str, Any]:
    """The message as a file shows it: an observed result names its receipt."""
    rule = spec.receipt
    if rule is None or evidence in (None, CLAIMED) or not isinstance(result := data.get(rule["field"]), dict):
        return dict(data)
    return {**data, rule["field"]: {**result, rule["mark"]: evidence}}
