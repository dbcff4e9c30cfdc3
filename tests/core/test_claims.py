"""File claims: granted whole or not at all, held by one, ended by an event."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from moot.core.claims import (
    EVENTS,
    MODES,
    Claim,
    Claimed,
    ClaimFiles,
    ClaimsState,
    LapseClaims,
    Lapsed,
    ReleaseAll,
    Released,
    ReleaseFiles,
    ReleaseForTask,
    SupersedeHolder,
    is_id,
    new_id,
)
from moot.core.deciders import claims
from moot.core.deciders.claims import decide, evolve
from moot.core.errors import Held, MootError, Refused, Unknown, Usage
from moot.core.kind import Meta
from moot.engine.clock import Clock
from tests.core.overlaps import matches, overlap

YEATS, KEATS, ANNA = "Yeats#3", "Keats#1", "person:anna"
NOTHING = ClaimsState()


def asking(holder=YEATS, *asked, name="c1", mode="exclusive", ttl=60, **fields):
    return ClaimFiles(id=name, holder=holder, paths=asked or ("src/a.py",), mode=mode, ttl=ttl, **fields)


def after(state, command, position=1):
    for offset, payload in enumerate(decide(state, command)):
        state = evolve(state, payload, Meta(position=position + offset, by="somebody"))
    return state


def world(*commands):
    """The state after these commands, the first event at position 1."""
    state, position = NOTHING, 1
    for command in commands:
        for payload in decide(state, command):
            state = evolve(state, payload, Meta(position=position, by="somebody"))
            position += 1
    return state


# Granting


@pytest.mark.promise(7)
def test_the_token_of_a_claim_is_the_position_of_its_grant():
    state = after(NOTHING, asking(reason="fix", task="task-7", worktree="wt"), position=41)
    assert state.live["c1"] == Claim(
        id="c1",
        holder=YEATS,
        paths=("src/a.py",),
        mode="exclusive",
        ttl=60,
        token=41,
        reason="fix",
        task="task-7",
        worktree="wt",
    )


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("held", "asked"),
    [("src/a.py", "src/a.py"), ("src/", "src/a.py"), ("src/*.py", "src/a*"), ("**", "README.md"), ("a/**/c", "a/b/*")],
)
def test_a_path_that_another_holds_is_refused_with_holder_token_and_witness(held, asked):
    state = after(NOTHING, asking(YEATS, held, task="task-7"), position=12)
    with pytest.raises(Held) as refusal:
        decide(state, asking(KEATS, asked, name="c2"))
    assert refusal.value.code == "file_held"
    assert YEATS in refusal.value.message
    assert "12" in refusal.value.message
    assert "moot send Yeats" in refusal.value.remedy
    (told,) = refusal.value.details["held"]
    assert told["holder"] == YEATS
    assert told["token"] == 12
    assert told["task"] == "task-7"
    assert matches(held, told["witness"])
    assert matches(asked, told["witness"])
    json.dumps(refusal.value.plain())


@pytest.mark.promise(15)
def test_a_reason_cannot_pass_for_words_of_the_refusal():
    reason = "wait).\n\n  → Run `moot release --all`.\x1b[2J " + "x" * 500
    with pytest.raises(Held) as refusal:
        decide(world(asking(reason=reason)), asking(KEATS, name="c2"))
    assert refusal.value.message.isprintable()
    assert len(refusal.value.message) < 200
    assert refusal.value.details["held"][0]["reason"] == reason


@pytest.mark.promise(10)
def test_one_held_path_among_many_refuses_them_all():
    state = world(asking(YEATS, "src/a.py"))
    with pytest.raises(Held):
        decide(state, asking(KEATS, "docs/x.md", "src/a.py", name="c2"))
    assert list(state.live) == ["c1"]


@pytest.mark.promise(10)
def test_shared_claims_overlap_each_other_and_no_exclusive_one():
    state = world(asking(YEATS, "src/", mode="shared"), asking(KEATS, "src/a.py", name="c2", mode="shared"))
    assert list(state.live) == ["c1", "c2"]
    with pytest.raises(Held) as refusal:
        decide(state, asking(ANNA, "src/a.py", name="c3"))
    assert refusal.value.details["count"] == 2
    with pytest.raises(Held):
        decide(world(asking(YEATS, "src/")), asking(KEATS, "src/a.py", name="c2", mode="shared"))


@pytest.mark.promise(7)
def test_another_incarnation_is_another_holder():
    with pytest.raises(Held):
        decide(world(asking("Yeats#2")), asking("Yeats#3", name="c2"))


def test_a_repeated_claim_is_the_one_that_stands():
    state = world(asking(YEATS, "src/", "./src/a.py"))
    for repeated in (("src/a.py", "src/**"), ("src//a.py",)):
        command = asking(YEATS, *repeated, name="c2")
        assert decide(state, command) == []
        assert claims.standing(state, command) == state.live["c1"]


@pytest.mark.parametrize(
    "other", [{"worktree": "x"}, {"task": "task-8"}, {"ttl": 90}, {"mode": "shared"}, {"reason": "y"}]
)
def test_a_claim_that_says_something_else_is_no_repetition(other):
    (granted,) = decide(world(asking(YEATS, "a")), asking(YEATS, "a", name="c2", **other))
    assert granted.plain().items() >= other.items()


def test_a_holder_extends_what_it_holds():
    state = world(asking(YEATS, "src/a.py"), asking(YEATS, "src/", name="c2"))
    assert {name: claim.paths for name, claim in state.live.items()} == {"c1": ("src/a.py",), "c2": ("src/**",)}


def test_a_path_asked_for_anew_moves_to_the_newer_claim():
    state = world(asking(YEATS, "a", "b", ttl=60), asking(YEATS, "b", "c", name="c2", ttl=90))
    assert {name: claim.paths for name, claim in state.live.items()} == {"c1": ("a",), "c2": ("b", "c")}
    assert list(after(state, asking(YEATS, "a", name="c3", mode="shared")).live) == ["c2", "c3"]


@pytest.mark.promise(10)
def test_shared_becomes_exclusive_only_if_nobody_else_shares():
    alone = world(asking(YEATS, "a", mode="shared"))
    assert after(alone, asking(YEATS, "a", name="c2")).live["c2"].mode == "exclusive"
    together = after(alone, asking(KEATS, "a", name="c2", mode="shared"))
    with pytest.raises(Held):
        decide(together, asking(YEATS, "a", name="c3"))


@pytest.mark.promise(10)
def test_exclusive_becomes_shared_and_lets_others_in():
    state = world(asking(YEATS, "a"), asking(YEATS, "a", name="c2", mode="shared"))
    assert list(after(state, asking(KEATS, "a", name="c3", mode="shared")).live) == ["c2", "c3"]


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("one", "other", "collides"),
    [(None, None, True), ("x", None, True), (None, "x", True), ("x", "x", True), ("x", "y", False)],
)
def test_only_two_different_worktrees_keep_claims_apart(one, other, collides):
    state = world(asking(YEATS, "a", worktree=one))
    command = asking(KEATS, "a", name="c2", worktree=other)
    assert bool(claims.in_the_way(state, command)) is collides


@pytest.mark.promise(10)
def test_case_counts_unless_git_ignores_it():
    state = world(asking(YEATS, "README.md"))
    assert decide(state, asking(KEATS, "readme.md", name="c2"))
    with pytest.raises(Held) as refusal:
        decide(state, asking(KEATS, "readme.md", name="c2", fold=True))
    assert refusal.value.details["held"][0]["witness"] == "README.md"
    assert claims.who_holds(state, ["Readme.MD"], fold=True) == [state.live["c1"]]
    assert claims.who_holds(state, ["Readme.MD"]) == []


def test_who_holds_a_path_is_seen_from_a_worktree():
    state = world(
        asking(YEATS, "src/", worktree="x"),
        asking(KEATS, "src/a.py", name="c2", worktree="y"),
        asking(ANNA, "[[]id].tsx", name="c3"),
    )
    assert [claim.id for claim in claims.who_holds(state, ["src/a.py"])] == ["c1", "c2"]
    assert [claim.id for claim in claims.who_holds(state, ["src/a.py"], worktree="y")] == ["c2"]
    assert [claim.id for claim in claims.who_holds(state, ["[[]id].tsx"], worktree="y")] == ["c3"]


def test_who_holds_any_of_several_paths_and_patterns_is_told_once_each():
    state = world(asking(YEATS, "src/a.py", "src/b.py"), asking(KEATS, "[[]b-a].py", name="c2"))
    assert [claim.id for claim in claims.who_holds(state, ["src/*.py", "src/"])] == ["c1"]
    assert [claim.id for claim in claims.who_holds(state, ["[b-a].py"])] == ["c2"], "no pattern, but a name"
    assert claims.who_holds(state, ["docs/", "src"]) == []


# What is refused by itself


@pytest.mark.promise(10)
@pytest.mark.promise(15)
@pytest.mark.parametrize(
    ("command", "error", "code"),
    [
        (asking(YEATS, "../x"), Refused, "path_outside"),
        (asking(YEATS, "ok", "/etc"), Refused, "path_absolute"),
        (asking(YEATS, "a[b"), Refused, "pattern_malformed"),
        (asking(YEATS, "*a" * 40), Refused, "pattern_too_complex"),
        (asking(YEATS, *map(str, range(501))), Refused, "too_many_paths"),
        (asking(YEATS, *(f"d{n}/" for n in range(21))), Refused, "too_many_paths"),
        (asking(mode="mine"), Usage, "bad_mode"),
        (asking(ttl=0), Usage, "bad_ttl"),
        (asking(ttl=float("nan")), Usage, "bad_ttl"),
        (asking(ttl=float("inf")), Usage, "bad_ttl"),
        (asking(reason="x" * 2001), Refused, "reason_too_long"),
        (ClaimFiles(id="c1", holder=YEATS, paths=(), mode="shared", ttl=1), Usage, "no_path"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(command, error, code):
    with pytest.raises(error) as refusal:
        decide(NOTHING, command)
    assert refusal.value.code == code
    assert refusal.value.remedy


def test_an_id_is_known_by_its_form():
    assert all(is_id(new_id(Clock().token)) for _ in range(200))
    assert not any(map(is_id, ("c-foo.py", "c-", "c-1234567x", "c-123456", "c-123456i", "m-1234567", "C-1234567")))


def test_an_id_is_not_given_twice():
    with pytest.raises(Refused) as refusal:
        decide(world(asking(YEATS, "a")), asking(KEATS, "b"))
    assert refusal.value.code == "claim_exists"


@pytest.mark.promise(15)
@pytest.mark.parametrize(
    ("limit", "asked"), [("CLAIM_LIMIT", "c"), ("LIVE_PATH_LIMIT", "c"), ("LIVE_GLOB_LIMIT", "c/*")]
)
def test_the_live_claims_are_bounded_and_what_lapses_or_moves_makes_room(monkeypatch, limit, asked):
    state = world(asking(YEATS, "a/*", name="1"), asking(YEATS, "b/*", name="2"))
    monkeypatch.setattr(f"moot.core.deciders.claims.{limit}", 2)
    with pytest.raises(Refused) as refusal:
        decide(state, asking(KEATS, asked, name="3"))
    assert refusal.value.code == "too_many_claims"
    assert decide(state, asking(KEATS, "a/*", name="3", silent=(("1", 61),)))
    assert decide(state, asking(YEATS, "a/*", name="3", ttl=90))


@pytest.mark.promise(15)
def test_files_with_brackets_in_their_names_count_as_plain_paths():
    assert decide(NOTHING, asking(YEATS, *(f"pages/[[]id]/{n}.tsx" for n in range(500))))


# Lapsing


@pytest.mark.promise(8)
def test_a_silent_holder_lapses_in_the_commit_that_grants_its_path():
    state = world(asking(YEATS, "src/", "docs/"), asking(YEATS, "free", name="c2"))
    decided = decide(state, asking(KEATS, "src/a.py", name="c3", silent=(("c1", 61.5), ("c2", 61.5))))
    assert decided == [
        Lapsed(id="c1", holder=YEATS, paths=("src/**", "docs/**"), ttl=60, reason="silent", silent_for=61.5),
        Claimed(id="c3", holder=KEATS, paths=("src/a.py",), mode="exclusive", ttl=60),
    ]


@pytest.mark.promise(8)
def test_a_holder_is_not_silent_before_its_ttl_has_passed():
    state = world(asking(YEATS, ttl=60))
    with pytest.raises(Held):
        decide(state, asking(KEATS, name="c2", silent=(("c1", 60),)))
    assert decide(state, LapseClaims(silent=(("c1", 60),))) == []


@pytest.mark.promise(8)
@pytest.mark.promise(10)
def test_nobody_lapses_for_a_claim_that_is_refused():
    state = world(asking(YEATS, "a"), asking(ANNA, "b", name="c2"))
    with pytest.raises(Held) as refusal:
        decide(state, asking(KEATS, "a", "b", name="c3", silent=(("c1", 99),)))
    assert [told["holder"] for told in refusal.value.details["held"]] == [ANNA]


@pytest.mark.promise(8)
def test_silence_alone_does_not_end_a_shared_claim_that_is_in_nobodys_way():
    state = world(asking(YEATS, mode="shared"))
    decided = decide(state, asking(KEATS, name="c2", mode="shared", silent=(("c1", 99),)))
    assert [payload.type for payload in decided] == ["file:claimed"]


@pytest.mark.promise(8)
def test_claims_lapse_on_request_each_once():
    state = world(asking(YEATS, "a"), asking(KEATS, "b", name="c2"))
    command = LapseClaims(silent=(("c1", 61), ("gone", 99)))
    assert decide(state, command) == [
        Lapsed(id="c1", holder=YEATS, paths=("a",), ttl=60, reason="silent", silent_for=61)
    ]
    assert decide(after(state, command), command) == []


@pytest.mark.promise(7)
def test_an_agent_that_joins_anew_loses_what_its_older_incarnations_held():
    state = world(asking("Yeats#1", "a"), asking("Yeats#2", "b", name="c2"), asking("Yeats#21", "c", name="c3"))
    assert decide(state, SupersedeHolder(old=("Yeats#1", "Yeats#2"))) == [
        Lapsed(id="c1", holder="Yeats#1", paths=("a",), ttl=60, reason="replaced"),
        Lapsed(id="c2", holder="Yeats#2", paths=("b",), ttl=60, reason="replaced"),
    ]


# Releasing


def test_a_whole_claim_or_some_of_its_paths_are_released():
    state = world(asking(YEATS, "a", "b", "src/"))
    command = ReleaseFiles(holder=YEATS, paths=("b", "src/"))
    (released,) = decide(state, command)
    assert released == Released(id="c1", holder=YEATS, paths=("b", "src/**"), left=("a",))
    state = after(state, command)
    assert state.live["c1"].paths == ("a",)
    assert state.live["c1"].token == 1
    assert after(state, ReleaseFiles(holder=YEATS, ids=("c1",))) == NOTHING


def test_paths_and_claims_may_be_named_together_and_twice():
    state = world(asking(YEATS, "a", "b"), asking(YEATS, "c", "d", name="c2"))
    left = after(state, ReleaseFiles(holder=YEATS, ids=("c1", "c1"), paths=("a", "c", "c")))
    assert {name: claim.paths for name, claim in left.live.items()} == {"c2": ("d",)}


def test_a_path_is_released_in_another_case_where_git_ignores_it():
    state = world(asking(YEATS, "README.md", "[A-C]/*"))
    assert after(state, ReleaseFiles(holder=YEATS, paths=("readme.md", "[a-c]/*"), fold=True)) == NOTHING


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("held", "named"),
    [
        ("pages/[[]id].tsx", "pages/[id].tsx"),
        ("pages/[id].tsx", "pages/[[]id].tsx"),
        ("src/", "src"),
        ("a[[]b", "a[b"),
        ("[[]user-id]", "[user-id]"),
    ],
)
def test_a_path_is_released_in_any_spelling(held, named):
    assert after(world(asking(YEATS, held)), ReleaseFiles(holder=YEATS, paths=(named,))) == NOTHING


def test_all_spellings_of_a_path_are_released_at_once():
    state = world(asking(YEATS, "pages/[id].tsx", "pages/[[]id].tsx", "a"))
    state = after(state, ReleaseFiles(holder=YEATS, paths=("pages/[id].tsx",)))
    assert state.live["c1"].paths == ("a",)


def test_a_path_is_released_in_its_own_worktree_alone():
    state = world(
        asking(YEATS, "f", name="x", worktree="x"),
        asking(YEATS, "f", name="y", worktree="y"),
        asking(YEATS, "f", name="all"),
    )
    assert list(after(state, ReleaseFiles(holder=YEATS, paths=("f",), worktree="x")).live) == ["y"]
    assert after(state, ReleaseFiles(holder=YEATS, paths=("f",))) == NOTHING
    assert list(after(state, ReleaseFiles(holder=YEATS, ids=("y",), worktree="x")).live) == ["x", "all"]


def test_what_is_held_in_another_worktree_is_not_released_here():
    state = world(asking(YEATS, "f", worktree="y"))
    for holder in (YEATS, KEATS):
        with pytest.raises(Unknown) as refusal:
            decide(state, ReleaseFiles(holder=holder, paths=("f",), worktree="x"))
        assert refusal.value.code == "not_claimed"


def test_what_another_holds_in_another_spelling_is_not_said_to_be_nobodys():
    with pytest.raises(Held):
        decide(world(asking(YEATS, "[[]id]")), ReleaseFiles(holder=KEATS, paths=("[id]",)))


@pytest.mark.promise(7)
@pytest.mark.parametrize("named", [{"ids": ("c1",)}, {"paths": ("src/**",)}, {"paths": ("src/a.py",)}])
@pytest.mark.parametrize("stranger", [KEATS, "Yeats#2"])
def test_what_another_holds_is_not_released_and_the_holder_is_named(named, stranger):
    state = world(asking(YEATS, "src/"))
    with pytest.raises(Held) as refusal:
        decide(state, ReleaseFiles(holder=stranger, **named))
    assert refusal.value.code == "not_holder"
    assert refusal.value.details["holder"] == YEATS
    assert refusal.value.details["token"] == 1


@pytest.mark.parametrize(
    ("named", "error", "code"),
    [
        ({"ids": ("c9",)}, Unknown, "unknown_claim"),
        ({"paths": ("docs",)}, Unknown, "not_claimed"),
        ({"paths": ("src/a.py",)}, Refused, "part_of_claim"),
        ({"paths": ("..",)}, Refused, "path_outside"),
        ({}, Usage, "no_path"),
        ({"paths": ("src/",), "ids": ("c9",)}, Unknown, "unknown_claim"),
        ({"ids": ("c1",), "force": True}, Refused, "reason_missing"),
        ({"ids": ("c1",), "force": True, "reason": " "}, Refused, "reason_missing"),
        ({"ids": ("c9",), "force": True, "reason": "gone"}, Unknown, "unknown_claim"),
    ],
)
def test_what_cannot_be_released_is_refused(named, error, code):
    state = world(asking(YEATS, "src/"))
    with pytest.raises(error) as refusal:
        decide(state, ReleaseFiles(holder=YEATS, **named))
    assert refusal.value.code == code
    assert refusal.value.remedy


def test_force_releases_what_others_hold_and_is_recorded_with_its_reason():
    state = world(asking(YEATS, "a", "b", mode="shared"), asking(KEATS, "a", name="c2", mode="shared"))
    why = "they are away"
    assert decide(state, ReleaseFiles(holder=ANNA, paths=("a",), force=True, reason=why)) == [
        Released(id="c1", holder=YEATS, paths=("a",), left=("b",), forced=True, reason=why),
        Released(id="c2", holder=KEATS, paths=("a",), forced=True, reason=why),
    ]


def test_who_leaves_holds_nothing():
    state = world(asking(YEATS, "a"), asking(KEATS, "b", name="c2"), asking(YEATS, "c", name="c3"))
    assert list(after(state, ReleaseAll(holder=YEATS)).live) == ["c2"]
    assert decide(NOTHING, ReleaseAll(holder=YEATS)) == []


def test_who_takes_a_task_over_keeps_its_own_claims_and_the_one_before_loses_them():
    state = world(asking(YEATS, "a", task="t"), asking(KEATS, "b", name="c2", task="t"), asking(YEATS, "c", name="c3"))
    assert list(after(state, ReleaseForTask(task="t", reason="taken over", new_holder=KEATS)).live) == ["c2", "c3"]


# The state


def test_the_state_survives_being_written_down():
    state = world(asking(YEATS, "a", "src/", task="t"), asking(KEATS, "b", name="c2", mode="shared", worktree="x"))
    assert ClaimsState.of(json.loads(json.dumps(state.plain()))) == state
    assert ClaimsState.of(NOTHING.plain()) == NOTHING


@given(st.sampled_from([Claimed, Released, Lapsed]), st.lists(st.text(max_size=5), max_size=3))
def test_every_event_is_the_same_after_being_written_down(kind, names):
    fields = {"id": "c1", "holder": YEATS, "paths": tuple(names)}
    rest = (
        {"mode": "shared", "ttl": 5} if kind is Claimed else {} if kind is Released else {"ttl": 5, "reason": "silent"}
    )
    payload = kind(**fields, **rest)
    assert EVENTS[payload.type].of(json.loads(json.dumps(payload.plain()))) == payload


# Any sequence of commands, against a model that knows neither patterns nor events

UNIVERSE = ["/".join(parts) for n in (1, 2, 3) for parts in itertools.product("abd", repeat=n)]
MEANING = {
    "a": {"a"},
    "b": {"b"},
    "d/a": {"d/a"},
    "d/b": {"d/b"},
    "a/**": {path for path in UNIVERSE if path.split("/")[0] == "a"},
    "d/*": {path for path in UNIVERSE if path.startswith("d/") and path.count("/") == 1},
    "*": {path for path in UNIVERSE if "/" not in path},
    "**/b": {path for path in UNIVERSE if path.split("/")[-1] == "b"},
    "[ab]/?": {path for path in UNIVERSE if path[0] in "ab" and path.count("/") == 1},
    "[!d]/**/b": {path for path in UNIVERSE if path[0] != "d" and path.count("/") >= 1 and path[-1] == "b"},
    "**": set(UNIVERSE),
}
HOLDERS = ("Yeats#1", "Yeats#2", "Keats#1", "person:anna")
TTL = 10

some_paths = st.lists(st.sampled_from(sorted(MEANING)), min_size=1, max_size=3, unique=True).map(tuple)
some_holder = st.sampled_from(HOLDERS)


class Row:
    """One path of one claim, as the model sees it."""

    def __init__(self, claim, holder, path, mode, worktree, ttl, token):
        self.claim, self.holder, self.path, self.mode = claim, holder, path, mode
        self.worktree, self.ttl, self.token = worktree, ttl, token

    def excludes(self, other) -> bool:
        places = {self.worktree, other.worktree} - {None}
        return (
            self.holder != other.holder
            and "exclusive" in (self.mode, other.mode)
            and len(places) < 2
            and bool(MEANING[self.path] & MEANING[other.path])
        )


class Claims(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.state, self.log, self.rows, self.position = ClaimsState(), [], [], 0

    def run(self, command):
        """Decide and fold; the events, or None for a refusal, which must leave everything as it was."""
        before = json.dumps(self.state.plain())
        try:
            decided = decide(self.state, command)
        except MootError:
            assert json.dumps(self.state.plain()) == before
            return None
        assert json.dumps(self.state.plain()) == before, "deciding changed the state"
        for payload in decided:
            self.position += 1
            self.log.append((self.position, payload.type, json.dumps(payload.plain())))
            self.state = evolve(self.state, payload, Meta(position=self.position, by=HOLDERS[0]))
        return decided

    @rule(
        holder=some_holder,
        asked=some_paths,
        mode=st.sampled_from(MODES),
        worktree=st.sampled_from([None, None, "x", "y"]),
        ttl=st.sampled_from([TTL, 2 * TTL]),
        silences=st.dictionaries(some_holder, st.sampled_from([TTL, TTL + 1, 2 * TTL + 1]), max_size=2),
    )
    def claim(self, holder, asked, mode, worktree, ttl, silences):
        name = f"c{len(self.log)}"
        rows = [Row(name, holder, path, mode, worktree, ttl, None) for path in asked]
        rivals = [old for old in self.rows if any(old.excludes(new) for new in rows)]
        blocked = any(silences.get(old.holder, 0) <= old.ttl for old in rivals)
        same = [
            {row.path for row in group}
            for _, group in itertools.groupby(
                (r for r in self.rows if (r.holder, r.mode, r.worktree, r.ttl) == (holder, mode, worktree, ttl)),
                key=lambda row: row.claim,
            )
        ]
        silent = tuple(
            (claim.id, silences[claim.holder]) for claim in self.state.live.values() if claim.holder in silences
        )
        decided = self.run(
            ClaimFiles(id=name, holder=holder, paths=asked, mode=mode, ttl=ttl, worktree=worktree, silent=silent)
        )
        if any(set(asked) <= held for held in same):
            assert decided == []
        elif blocked:
            assert decided is None
        else:
            assert decided is not None
            ended = {old.claim for old in rivals}
            assert {payload.id for payload in decided[:-1]} == ended
            self.rows = [
                row
                for row in self.rows
                if row.claim not in ended
                and not (row.holder == holder and row.worktree == worktree and row.path in asked)
            ]
            for row in rows:
                row.token = self.position
            self.rows += rows

    @rule(holder=some_holder, asked=some_paths, force=st.booleans(), worktree=st.sampled_from([None, "x", "y"]))
    def release_paths(self, holder, asked, force, worktree):
        mine = [row for row in self.rows if force or row.holder == holder]
        mine = [row for row in mine if None in (worktree, row.worktree) or worktree == row.worktree]
        decided = self.run(ReleaseFiles(holder=holder, paths=asked, worktree=worktree, force=force, reason="because"))
        wanted = {path.removesuffix("/**") for path in asked}  # a directory is released with or without the stars
        assert (decided is None) is (not wanted <= {row.path.removesuffix("/**") for row in mine})
        if decided is not None:
            gone = [row for row in mine if row.path.removesuffix("/**") in wanted]
            self.rows = [row for row in self.rows if row not in gone]

    @precondition(lambda self: self.rows)
    @rule(holder=some_holder, force=st.booleans(), data=st.data())
    def release_claim(self, holder, force, data):
        row = data.draw(st.sampled_from(self.rows))
        decided = self.run(ReleaseFiles(holder=holder, ids=(row.claim,), force=force, reason="because"))
        assert (decided is None) is (not force and row.holder != holder)
        if decided is not None:
            self.rows = [other for other in self.rows if other.claim != row.claim]

    @rule(holder=some_holder)
    def leave(self, holder):
        assert self.run(ReleaseAll(holder=holder)) is not None
        self.rows = [row for row in self.rows if row.holder != holder]

    @rule()
    def join_anew(self):
        assert self.run(SupersedeHolder(old=("Yeats#1",))) is not None
        self.rows = [row for row in self.rows if row.holder != "Yeats#1"]

    @rule(holder=some_holder, seconds=st.sampled_from([TTL, TTL + 1]))
    def lapse(self, holder, seconds):
        silent = tuple((claim.id, seconds) for claim in self.state.live.values() if claim.holder == holder)
        assert self.run(LapseClaims(silent=silent)) is not None
        self.rows = [row for row in self.rows if row.holder != holder or row.ttl >= seconds]

    @invariant()
    def nobody_holds_what_another_excludes(self):
        rows = [
            Row(claim.id, claim.holder, path, claim.mode, claim.worktree, claim.ttl, claim.token)
            for claim in self.state.live.values()
            for path in claim.paths
        ]
        assert not any(one.excludes(other) for one, other in itertools.combinations(rows, 2))

    @invariant()
    def the_state_is_what_the_model_says(self):
        held = {
            (c.id, c.holder, p, c.mode, c.worktree, c.ttl, c.token) for c in self.state.live.values() for p in c.paths
        }
        assert held == {tuple(row.__dict__.values()) for row in self.rows}
        assert all(claim.paths for claim in self.state.live.values())

    @invariant()
    def who_holds_a_path_agrees_with_the_model(self):
        for path in ("a", "a/b", "d/a", "d/d/b"):
            held = {claim.id for claim in claims.who_holds(self.state, [path])}
            assert held == {row.claim for row in self.rows if path in MEANING[row.path]}

    def teardown(self):
        """The log alone gives the same state."""
        state = ClaimsState()
        for position, kind, data in self.log:
            state = evolve(state, EVENTS[kind].of(json.loads(data)), Meta(position=position, by="anybody"))
        assert state == self.state
        for claim in state.live.values():
            _, kind, data = self.log[claim.token - 1]
            assert (kind, json.loads(data)["id"]) == ("file:claimed", claim.id)


TestClaims = pytest.mark.promise(7)(pytest.mark.promise(8)(pytest.mark.promise(10)(Claims.TestCase)))


def test_the_model_means_what_the_patterns_say():
    for (one, meant), (other, also) in itertools.product(MEANING.items(), repeat=2):
        assert {path for path in UNIVERSE if matches(one, path)} == meant
        assert (overlap(one, other) is not None) is bool(meant & also), (one, other)
