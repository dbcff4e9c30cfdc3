"""Waiting for claimed files: granted whole, in the order of asking, in the commit that frees them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core import claim_queue
from moot.core.claims import (
    AwaitFiles,
    ClaimAwaited,
    Claimed,
    ClaimFiles,
    ClaimsState,
    ClaimUnawaited,
    LapseClaims,
    ReleaseAll,
    Released,
    ReleaseFiles,
    ReleaseForTask,
    SupersedeHolder,
)
from moot.core.deciders.claims import decide, evolve
from moot.core.errors import Held, MootError, Refused
from moot.core.kind import Meta

A, B, C = "Ada#1", "Bob#1", "Cid#1"


class World:
    def __init__(self):
        self.state, self.position = ClaimsState(), 0

    def do(self, command):
        decided = decide(self.state, command)
        for payload in decided:
            self.position += 1
            self.state = evolve(self.state, payload, Meta(position=self.position, by="x"))
        return decided

    def wait(self, holder, *paths, name, **more):
        return self.do(AwaitFiles(id=name, holder=holder, paths=paths, mode="exclusive", ttl=60, **more))

    def free(self, holder, *paths):
        return self.do(ReleaseFiles(holder=holder, paths=paths))

    def holders(self):
        return {path: claim.holder for claim in self.state.live.values() for path in claim.paths}


@pytest.fixture
def world():
    return World()


def kinds(decided):
    return [type(payload) for payload in decided]


def test_free_files_are_granted_at_once(world):
    assert kinds(world.wait(A, "f", name="1")) == [Claimed]
    assert world.state.waiting == {}


def test_the_first_who_waits_gets_the_file_in_the_releasing_commit(world):
    world.wait(A, "f", name="1")
    assert kinds(world.wait(B, "f", name="2")) == [ClaimAwaited]
    assert kinds(world.wait(C, "f", name="3")) == [ClaimAwaited]
    decided = world.free(A, "f")
    assert kinds(decided) == [Released, Claimed]
    assert (decided[1].id, decided[1].holder) == ("2", B)
    assert list(world.state.waiting) == ["3"]
    world.free(B, "f")
    assert world.holders() == {"f": C}
    assert world.state.waiting == {}


def test_several_paths_are_granted_together_or_not_at_all(world):
    world.wait(A, "f", name="1")
    world.wait(B, "g", name="2")
    world.wait(C, "f", "g", name="3")
    assert kinds(world.free(A, "f")) == [Released]
    assert kinds(world.free(B, "g")) == [Released, Claimed]
    assert world.holders() == {"f": C, "g": C}


def test_nobody_who_waits_overtakes_an_earlier_one(world):
    world.wait(A, "f", name="1")
    world.wait(B, "f", "g", name="2")
    assert kinds(world.wait(C, "g", name="3")) == [ClaimAwaited]  # g is free, but B has waited longer for it
    assert [payload.id for payload in world.free(A, "f")[1:]] == ["2"]
    assert [payload.id for payload in world.free(B, "g")[1:]] == ["3"]


def test_one_release_serves_all_who_no_longer_conflict(world):
    world.wait(A, "f", "g", name="1")
    world.wait(B, "f", name="2")
    world.wait(C, "g", name="3")
    assert [payload.holder for payload in world.do(ReleaseAll(holder=A))[1:]] == [B, C]


def test_a_lapsed_claim_is_passed_on_too(world):
    world.wait(A, "f", name="1")
    world.wait(B, "f", name="2")
    world.do(LapseClaims(silent=(("1", 61.0),)))
    assert world.holders() == {"f": B}


@pytest.mark.parametrize(
    "end",
    [
        ReleaseAll(holder=B),
        SupersedeHolder(old=(B,)),
        LapseClaims(silent=(("1", 1.0), ("2", 61.0))),
        ReleaseForTask(task="task-1", reason="task-1 is done"),
        ReleaseFiles(holder=B, paths=("./f",)),
        ReleaseFiles(holder=B, ids=("2",)),
    ],
)
def test_a_holder_that_is_gone_or_gives_up_no_longer_waits(world, end):
    world.wait(A, "f", name="1")
    world.wait(B, "f", name="2", task="task-1")
    world.wait(C, "f", name="3")
    assert kinds(world.do(end)) == [ClaimUnawaited]
    world.free(A, "f")
    assert world.holders() == {"f": C}


def test_who_gives_up_lets_the_next_one_pass(world):
    world.wait(A, "f", name="1")
    world.wait(B, "f", "g", name="2")
    world.wait(C, "g", name="3")
    with pytest.raises(Held):
        world.do(ReleaseFiles(holder=C, ids=("2",)))
    assert kinds(world.free(B, "g")) == [ClaimUnawaited, Claimed]
    assert world.holders() == {"f": A, "g": C}


def test_force_frees_a_file_for_the_next_in_line(world):
    world.wait(A, "f", name="1")
    world.wait(B, "f", name="2")
    world.wait(C, "f", name="3")
    assert [claim.id for claim in claim_queue.blockers(world.state, world.state.waiting["3"])] == ["1", "2"]
    world.do(ReleaseFiles(holder="P", paths=("f",), force=True, reason="stuck"))
    assert (world.holders(), list(world.state.waiting)) == ({"f": B}, ["3"])


def test_asking_again_keeps_the_place_in_line(world):
    world.wait(A, "f", name="1")
    world.wait(B, "f", name="2")
    assert world.wait(B, "./f", name="9") == []
    assert world.wait(A, "f", name="8") == []  # it has the file
    assert list(world.state.waiting) == ["2"]


def test_the_line_is_bounded(world, monkeypatch):
    monkeypatch.setattr(claim_queue, "OWN_CLAIM_LIMIT", 2)
    world.wait(A, "a", "b", "c", name="0")
    world.wait(B, "a", name="1")
    world.wait(B, "b", name="2")
    with pytest.raises(Refused) as refused:
        world.wait(B, "c", name="3")
    assert refused.value.code == "too_many_waiting"
    monkeypatch.setattr(claim_queue, "CLAIM_LIMIT", 3)
    world.wait(C, "a", name="4")
    with pytest.raises(Refused):
        world.wait(C, "b", name="5")


def test_the_state_survives_storing(world):
    world.wait(A, "f", name="1")
    world.wait(B, "f", name="2")
    again = ClaimsState.of({"live": {"1": _plain(world, "live")}, "waiting": {"2": _plain(world, "waiting")}})
    assert again == world.state


def _plain(world, part):
    (claim,) = getattr(world.state, part).values()
    return dict(claim.__dict__)


_HOLDERS, _PATHS = st.sampled_from([A, B, C]), st.sampled_from(["f", "g", "h"])
_STEPS = st.lists(
    st.tuples(st.sampled_from(["wait", "claim", "free", "leave"]), _HOLDERS, st.sets(_PATHS, min_size=1)), max_size=40
)


@given(_STEPS)
def test_no_file_has_two_holders_and_nobody_waits_for_nothing(steps):
    world = World()
    for number, (what, holder, paths) in enumerate(steps):
        name = str(number)
        try:
            if what == "wait":
                world.wait(holder, *sorted(paths), name=name)
            elif what == "claim":
                world.do(ClaimFiles(id=name, holder=holder, paths=tuple(paths), mode="exclusive", ttl=60))
            elif what == "free":
                world.free(holder, *paths)
            else:
                world.do(ReleaseAll(holder=holder))
        except MootError:
            continue
        held = [path for claim in world.state.live.values() for path in claim.paths]
        assert len(held) == len(set(held))
        first = next(iter(world.state.waiting.values()), None)
        assert first is None or any(world.holders().get(path, first.holder) != first.holder for path in first.paths)
