"""Receipts: recorded once, bound to what was checked, and worth nothing for anything else."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moot.core.deciders.receipt import COMMAND_LIMIT, Receipt, RecordReceipt, check, decide, evolve
from moot.core.errors import MootError, Refused
from moot.core.kind import Meta

T0 = "2030-01-01T00:00:00.000Z"
TREES = ("git:one", "git:two")
TASKS = ("task-001", "task-002")


def run(**more):
    return RecordReceipt(
        **{
            "by": "Ada#1",
            "argv": ("make",),
            "code": 0,
            "seconds": 1.0,
            "digest": "d",
            "size": 3,
            "tree": TREES[0],
            **more,
        }
    )


def recorded(name="r-1", **more):
    (event,) = decide(Receipt(id=name), run(**more))
    return evolve(Receipt(id=name), event, Meta(at=T0))


def verdict(receipt, task=TASKS[0], tree=TREES[0]):
    try:
        check(receipt, task, tree)
    except MootError as error:
        return error.code
    return None


@pytest.mark.promise(11)
def test_it_proves_something_about_the_content_that_it_saw():
    assert verdict(recorded()) is None
    assert verdict(recorded(task=TASKS[0])) is None


@pytest.mark.promise(11)
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"code": 1}, "receipt_failed"),
        ({"timed_out": True}, "receipt_failed"),
        ({"changed": True}, "receipt_stale"),
        ({"tree": None}, "receipt_stale"),
        ({"tree": TREES[1]}, "receipt_stale"),
        ({"task": TASKS[1]}, "receipt_of_another"),
    ],
)
def test_it_proves_nothing_otherwise(fields, code):
    assert verdict(recorded(**fields)) == code


def test_where_the_files_cannot_be_told_it_proves_nothing():
    assert verdict(recorded(), tree=None) == "receipt_stale"
    assert verdict(Receipt(id="r-9")) == "unknown_receipt"


def test_a_command_has_a_limit():
    assert decide(Receipt(id="r-1"), run(argv=("x" * COMMAND_LIMIT,)))
    with pytest.raises(Refused) as caught:
        decide(Receipt(id="r-1"), run(argv=("x" * COMMAND_LIMIT, "y")))
    assert caught.value.code == "command_too_long"


class Receipts(RuleBasedStateMachine):
    """Files change and change back, commands pass and fail, and receipts are shown for this task and that one."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = TREES[0]
        self.known: dict[str, Receipt] = {}
        self.first: dict[str, Receipt] = {}

    @rule(tree=st.sampled_from(TREES))
    def edit(self, tree):
        self.tree = tree

    @rule(
        name=st.sampled_from(("r-1", "r-2", "r-3")),
        code=st.sampled_from((0, 0, 1, 137)),
        changed=st.booleans(),
        timed_out=st.booleans(),
        told=st.booleans(),
        task=st.sampled_from((None, *TASKS)),
    )
    def record(self, name, code, changed, timed_out, told, task):
        state = self.known.get(name, Receipt(id=name))
        command = run(code=code, changed=changed, timed_out=timed_out, tree=self.tree if told else None, task=task)
        if state.exists:
            with pytest.raises(Refused) as caught:
                decide(state, command)
            assert caught.value.code == "receipt_exists"
        else:
            (event,) = decide(state, command)
            self.known[name] = self.first[name] = evolve(state, event, Meta(at=T0))

    @invariant()
    def none_ever_changes(self):
        assert self.known == self.first

    @invariant()
    def each_proves_exactly_what_it_saw(self):
        for receipt in self.known.values():
            for task in TASKS:
                good = receipt.code == 0 and not receipt.timed_out and not receipt.changed
                fits = receipt.task in (None, task) and receipt.tree == self.tree
                assert (verdict(receipt, task, self.tree) is None) == (good and fits)


TestReceipts = pytest.mark.promise(11)(Receipts.TestCase)
