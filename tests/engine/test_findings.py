"""Artifacts, decisions and checkpoints in the loop: what follows is in the same commit, also without a lock."""

from __future__ import annotations

import pytest

from moot.core.deciders.artifact import CreateArtifact, ModifyArtifact
from moot.core.deciders.checkpoint import ReachCheckpoint, ResolveCheckpoint
from moot.core.deciders.decision import MakeDecision, SupersedeDecision
from moot.core.deciders.dependency import DeclareNeed, DropNeed
from moot.core.errors import Refused
from moot.core.principal import Actor
from moot.views import queries
from tests.engine.harness import (
    ANNA,
    Command,
    Machine,
    add,
    claim_files,
    interrupted,
    join,
    leave,
    move,
    release_files,
    types,
)

pytestmark = pytest.mark.in_memory


def late(kind: str, key: str, command: object, by: str = ANNA) -> Command:
    return Command(f"{command}", by, lambda work: work.do(kind, key, command))


def need(name: str, needer: str, who: str | None = None) -> Command:
    return late("dependency", name, DeclareNeed(needer=needer, who=who or needer))


def make(path: str, *provides: str) -> Command:
    return late("artifact", path, CreateArtifact(creator="Keats#1", paths=(path,), provides=provides))


def decide(name: str, *, maker: str = ANNA, replaces: str | None = None, **fields: object) -> Command:
    command = MakeDecision(maker=maker, title=f"Title of {name}", replaces=replaces, **fields)

    def act(work) -> None:
        work.do("decision", name, command)
        if replaces:
            work.do("decision", replaces, SupersedeDecision(by=name, who=maker))

    return Command(f"decide {name}", ANNA, act)


def reach(name: str, who: str = "Yeats#1", task: str | None = None) -> Command:
    return late("checkpoint", name, ReachCheckpoint(who=who, kind="decision", question="Which?", task=task))


def resolve(name: str, answer: str, who: str = ANNA) -> Command:
    return late("checkpoint", name, ResolveCheckpoint(actor=Actor(who), answer=answer), by=who)


def mail(machine: Machine) -> list[tuple[str, tuple[str, ...]]]:
    """What reactions sent: the thread, and to whom."""
    return [(event.thread, tuple(event.data["to"])) for event in machine.events("message:sent")]


@pytest.fixture
def two(machines):
    one, other = machines(), machines()
    one.does(join("Yeats"), join("Keats"))
    return one, other


# Artifacts


def test_need_and_artifact_meet_in_the_commit_of_the_second(machine):
    machine.does(need("User", "Yeats"))
    outcome = machine.run(make("src/user.ts", "User"))
    assert types(outcome.events) == [
        "artifact:created",
        "dependency:provided",
        "dependency:provided",
        "dependency:satisfied",
        "message:sent",
    ]
    outcome = machine.run(need("src/user.ts", "Keats"))
    assert types(outcome.events) == ["dependency:declared", "dependency:satisfied", "message:sent"]
    assert mail(machine) == [("dependency/User", ("Yeats",)), ("dependency/src/user.ts", ("Keats",))]
    assert [d.message.kind for d in queries.inbox(machine.engine.read(), ("Yeats",), 10)] == ["dependency"]


def test_a_later_name_satisfies_and_an_old_one_does_not_again(machine):
    machine.does(make("src/user.ts", "User"), need("User", "Yeats"), need("Role", "Yeats"))
    more = ModifyArtifact(modifier="Keats#1", provides=("User", "Role"))
    outcome = machine.run(late("artifact", "src/user.ts", more))
    assert types(outcome.events) == ["artifact:modified", "dependency:provided", "dependency:satisfied", "message:sent"]


def test_a_task_waits_for_what_it_needs_and_its_holder_is_told(machine):
    machine.does(add("a"), need("User", "task/a", "Keats"), need("Role", "task/a", "Keats"))
    with pytest.raises(Refused) as caught:
        machine.does(move("claim", "a"))
    assert caught.value.code == "task_blocked"
    machine.does(make("src/user.ts", "User"))
    assert machine.task("a").waits == ("dependency/Role",)
    machine.does(late("dependency", "Role", DropNeed(needer="task/a")), move("claim", "a"))
    machine.does(need("Late", "task/a", "Keats"), make("late.ts", "Late"))
    assert mail(machine) == [("dependency/User", ("Keats",)), ("dependency/Late", ("Yeats",))]


def test_whoever_retired_is_not_written_to(machine):
    machine.does(need("User", "Yeats"), leave("Yeats", retire=True))
    assert types(machine.does(make("src/user.ts", "User")))[-1] == "dependency:satisfied"
    assert mail(machine) == []


def test_unrelated_names_never_conflict(two):
    one, other = two
    tries = []

    def act(work) -> None:
        tries.append(1)
        need("Mine", "Yeats").act(work)

    one.run(interrupted(Command("need", ANNA, act), lambda: other.does(make("their.ts", "Theirs"))))
    assert len(tries) == 1


# Decisions


def test_those_who_hold_what_a_decision_concerns_are_told_at_once(machine):
    machine.does(add("02-01"), add("03-01"), move("claim", "02-01", "Yeats"), move("claim", "03-01", "Keats"))
    machine.does(claim_files("c1", "Keats#1", "src/*.py"))
    machine.does(
        decide("d-1", affects=("02-*",)), decide("d-2", paths=("src/api.py",)), decide("d-3", paths=("docs/**",))
    )
    assert mail(machine) == [("d-1", ("Yeats",)), ("d-2", ("Keats",))]


def test_the_maker_is_not_told_and_a_mixed_case_path_counts_where_case_does_not(machine):
    machine.does(claim_files("c1", "Yeats#1", "Src/API.py"))
    machine.does(decide("d-1", maker="Yeats#1", paths=("Src/**",)), decide("d-2", paths=("src/api.py",)))
    machine.does(decide("d-3", paths=("src/api.py",), fold=True))
    assert mail(machine) == [("d-3", ("Yeats",))]


def test_who_begins_later_is_told_then_and_nobody_twice(machine):
    machine.does(add("a"), decide("d-1", affects=("a",), paths=("src/**",)))
    outcome = machine.run(move("claim", "a", "Yeats"))
    assert types(outcome.events) == ["task:started", "message:sent"]
    machine.does(claim_files("c1", "Yeats#1", "src/api.py"), release_files("Yeats#1", "src/api.py"))
    machine.does(claim_files("c2", "Keats#1", "src/api.py"))
    assert mail(machine) == [("d-1", ("Yeats",)), ("d-1", ("Keats",))]


def test_what_was_superseded_is_not_told_any_more_and_those_it_concerned_are_told_of_that(machine):
    machine.does(add("a"), add("b"), move("claim", "a", "Yeats"), move("claim", "b", "Keats"))
    machine.does(decide("d-1", affects=("a", "b")))
    outcome = machine.run(decide("d-2", affects=("a",), replaces="d-1"))
    assert types(outcome.events) == ["decision:made", "message:sent", "decision:superseded", "message:sent"]
    assert mail(machine)[1:] == [("d-2", ("Yeats",)), ("d-1", ("Keats",))]
    machine.does(move("release", "b", "Keats"), join("Blake"), move("claim", "b", "Blake"))
    assert len(mail(machine)) == 3
    assert [d.id for d in queries.things(machine.engine.read(), "decision", 10)] == ["d-2"]
    assert [d.id for d in queries.things(machine.engine.read(), "decision", 10, ended=True)] == ["d-2", "d-1"]


def test_a_decision_and_a_claim_of_files_of_the_same_moment_do_not_miss_each_other(two):
    one, other = two
    claim = claim_files("c1", "Yeats#1", "src/api.py")
    one.run(interrupted(decide("d-1", paths=("src/**",)), lambda: other.does(claim)))
    assert mail(one) == [("d-1", ("Yeats",))]


# Checkpoints


def test_the_answer_is_mail_in_the_same_commit(machine):
    machine.does(add("a"), move("claim", "a", "Keats"), reach("k-1", task="a"))
    outcome = machine.run(resolve("k-1", "blue"))
    assert types(outcome.events) == ["checkpoint:resolved", "message:sent"]
    sent = outcome.events[-1]
    assert (sent.thread, sent.data["to"], sent.data["sender"]) == ("k-1", ["Yeats", "Keats"], ANNA)
    assert sent.data["text"] == "blue\n\nThat answers k-1: Which?"
    assert list(queries.things(machine.engine.read(), "checkpoint", 10)) == []
    assert queries.things_of_task(machine.engine.read(), "a") == [("checkpoint", "k-1")]
