"""Which claims stand in the way of a commit: exclusive ones of others that cover one of its files."""

from __future__ import annotations

import pytest

from moot.core.barred import barred, exclusive_of_others
from moot.core.claims import Claim, Claimed, ClaimFiles, ClaimsState, Overridden, OverrideClaim
from moot.core.deciders.claims import decide, evolve, in_the_way
from moot.core.errors import Refused, Unknown
from moot.core.kind import NOWHERE
from moot.core.paths import escape


def state(*claims: tuple[str, str, tuple[str, ...]], worktree: str | None = None) -> ClaimsState:
    live = ClaimsState()
    for number, (holder, mode, paths) in enumerate(claims):
        made = Claimed(id=f"c-{number:07}", holder=holder, paths=paths, mode=mode, ttl=60.0, worktree=worktree)
        live = evolve(live, made, NOWHERE)
    return live


def hit(live: ClaimsState, *files: str, me: str | None = "Bob#1", **where: object) -> dict[str, tuple[str, ...]]:
    given = {"worktree": None, "fold": False, **where}
    return {one.claim.holder: one.files for one in barred(exclusive_of_others(live, me), files, **given)}


def test_all_files_of_a_claim_are_named() -> None:
    live = state(("Ada#1", "exclusive", ("src/**", "b.py")))
    assert hit(live, "src/a.py", "b.py", "c.py", "src/deep/er.py") == {"Ada#1": ("src/a.py", "src/deep/er.py", "b.py")}
    assert hit(live, "c.py") == {}
    assert hit(live) == {}


def test_own_and_shared_claims_do_not_stand_in_the_way() -> None:
    live = state(("Bob#1", "exclusive", ("a",)), ("Ada#1", "shared", ("b",)))
    assert hit(live, "a", "b") == {}
    assert hit(live, "a", "b", me=None) == {"Bob#1": ("a",)}


def test_a_claim_of_another_worktree_does_not_stand_in_the_way() -> None:
    live = state(("Ada#1", "exclusive", ("a",)), worktree="side")
    assert hit(live, "a", worktree="side") == {"Ada#1": ("a",)}
    assert hit(live, "a", worktree=".") == {}
    assert hit(live, "a") == {"Ada#1": ("a",)}
    assert hit(state(("Ada#1", "exclusive", ("a",))), "a", worktree=".") == {"Ada#1": ("a",)}


def test_case_counts_where_the_file_system_says_so() -> None:
    live = state(("Ada#1", "exclusive", ("Src/*.py", "Read.me")))
    assert hit(live, "src/A.py", "read.ME") == {}
    assert hit(live, "src/A.py", "read.ME", fold=True) == {"Ada#1": ("src/A.py", "read.ME")}


@pytest.mark.parametrize("name", ["a\nb", "a\\b", "a\tb", "\udcff", "[x", "a*", "~x", "é", "e\u0301", " ", "**"])
def test_any_name_below_a_claimed_directory_is_covered(name: str) -> None:
    live = state(("Ada#1", "exclusive", ("src/**",)), ("Eve#1", "exclusive", ("other/**",)))
    assert list(hit(live, f"src/{name}")) == ["Ada#1"]


FILES = ("a", "a.py", "src/a.py", "src/[id].py", "src/i.py", "src/deep/x", "~home", "é", "A.py")
PATTERNS = ("a", "*", "**", "src/**", "src/[[]id].py", "src/[id].py", "**/x", "*.py", "./~home", "é", "src")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("fold", [False, True])
def test_a_file_is_covered_exactly_if_a_shared_claim_on_it_would_be_refused(pattern: str, fold: bool) -> None:
    live = state(("Ada#1", "exclusive", (pattern,)))
    for file in FILES:
        asked = escape(file) if not file.startswith("~") else f"./{file}"
        wanted = ClaimFiles(id="c-1111111", holder="Bob#1", paths=(asked,), mode="shared", ttl=60.0, fold=fold)
        assert bool(hit(live, file, fold=fold)) == bool(in_the_way(live, wanted)), file


def test_an_override_is_an_event_that_leaves_the_claim_as_it_is() -> None:
    live = state(("Ada#1", "exclusive", ("src/**",)))
    files = tuple(f"src/{number}" for number in range(150))
    command = OverrideClaim(id="c-0000000", who="Bob#1", act="commit", paths=files, reason="Now.")
    (event,) = decide(live, command)
    assert isinstance(event, Overridden)
    assert (event.holder, event.who, len(event.paths), event.count) == ("Ada#1", "Bob#1", 100, 150)
    assert evolve(live, event, NOWHERE) == live
    assert isinstance(live.live["c-0000000"], Claim)


def test_an_override_needs_a_claim_and_a_reason_that_fits() -> None:
    live = state(("Ada#1", "exclusive", ("src/**",)))
    command = OverrideClaim(id="c-0000000", who="Bob#1", act="commit", paths=("src/a",))
    with pytest.raises(Unknown):
        decide(live, command.replace(id="c-9999999"))
    with pytest.raises(Refused):
        decide(live, command.replace(reason="x" * 2001))
