"""Attacks on the rules: a repository's moot.toml takes away review or receipts, and nobody is asked."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from moot import Workspace
from moot.core.deciders import settings as recorded
from moot.core.errors import Refused
from moot.core.lifecycle import CORE, Edge, Lifecycle, State, reviewed
from moot.settings import Settings
from moot.settings.rules import judged
from moot.wiring import RECEIPTS
from tests.surfaces.command import Command, git, new_command

NO_REVIEW = "[tasks]\nreview = false\n"
RECEIPT = "[tasks]\nreceipt = true\n"
QUICK = Lifecycle(
    name="quick",
    states=(State("todo", "open"), State("doing", "working"), State("done", "done")),
    edges=(Edge("claim", "todo", "doing", holds="actor"), Edge("complete", "doing", "done", ("holder",))),
)


@pytest.fixture
def run(tmp_path: Path) -> Command:
    made = new_command(tmp_path)
    made.environment |= {"MOOT_PERSON": "1"}
    assert made("init").code == 0
    for name in ("Ada", "Bob"):
        assert made("join", name).code == 0
    return made


def settings(run: Command, text: str) -> None:
    (run.repo / "moot.toml").write_text(text)


def changes(run: Command) -> list[tuple[str, Any, Any]]:
    found = run("log", "--type", "settings:changed", "--limit", "100", "--json").result
    return [(event["data"]["key"], event["data"]["old"], event["data"]["new"]) for event in found]


def finished(run: Command, title: str) -> dict[str, Any] | None:
    """Add, claim and complete a task without anybody's review. What the refusal says, if it is refused."""
    task = run("task", "add", title, "--json", agent="Ada").result["id"]
    assert run("task", "claim", task, agent="Bob").code == 0
    ran = run("task", "complete", task, "--json", agent="Bob")
    return None if ran.code == 0 else ran.error


def test_a_clone_that_turns_review_off_is_not_obeyed(run: Command) -> None:
    settings(run, NO_REVIEW)
    refused = finished(run, "Sneak it in")
    assert refused is not None
    assert refused["error"] == "needs_review"
    assert "moot.toml sets tasks.review = false" in refused["remedy"]
    assert "`moot allow settings`" in refused["remedy"]
    added = run("task", "add", "Another", agent="Ada")
    assert "tasks.review = false; this is not in force until a person runs `moot allow settings`" in added.err
    assert changes(run) == [], "nothing has changed, so nothing is recorded"


def test_once_a_person_allowed_it_it_is_in_force_and_on_record(run: Command) -> None:
    settings(run, NO_REVIEW)
    assert "tasks.review = false weakens a rule" in run("allow", "settings", "--json").error["message"]
    assert run("allow", "settings", "--yes").out == "tasks.review = false weakens a rule, and is allowed here.\n"
    assert changes(run) == [], "to allow it is no writing commit"
    assert finished(run, "As agreed") is None
    assert changes(run) == [("tasks.review", True, False)]
    run("task", "add", "More", agent="Ada")
    assert changes(run) == [("tasks.review", True, False)], "once"
    told = run("log", "--type", "settings:changed").out
    assert "settings:changed settings by Ada" in told
    assert "changed tasks.review from true to false" in told
    assert "tasks.review" in run("explain", "settings").out
    settings(run, "")
    run("task", "add", "Strict again", agent="Ada")
    assert changes(run) == [("tasks.review", True, False), ("tasks.review", False, True)]
    assert run("verify").code == 0
    assert run("verify", "--rebuild").code == 0


def test_the_change_is_in_the_commit_that_follows_it(run: Command) -> None:
    settings(run, NO_REVIEW)
    run("allow", "settings", "--yes")
    before = run.head()
    for look in (("board",), ("agents",), ("log",), ("who-holds", "a.py"), ("allow",), ("search", "x")):
        run(*look)
    assert run.head() == before, "looks record nothing"
    run("send", "Bob", "hello", agent="Ada")
    sent, changed = run("log", "--limit", "2", "--json").result
    assert [sent["type"], changed["type"]] == ["message:sent", "settings:changed"]
    assert (sent["commit"], changed["stream"]) == (changed["commit"], "settings")


def test_other_keys_record_nothing(run: Command) -> None:
    settings(run, '[tasks]\nttl = "5m"\nattempts = 9\n[claims]\nttl = "5m"\n')
    run("task", "add", "One", agent="Ada")
    settings(run, "[tasks]\nreview = true\nreceipt = false\n")
    run("task", "add", "Two", agent="Ada")
    assert changes(run) == []


def test_receipts_that_were_demanded_are_not_given_up_by_an_edit(run: Command) -> None:
    """An agent that may write moot.toml takes the line out, and hands in what was never checked."""
    settings(run, RECEIPT)
    assert finished(run, "One") is not None
    assert changes(run) == [("tasks.receipt", False, True)]
    for text in ("[tasks]\nreceipt = false\n", ""):
        settings(run, text)
        run("task", "add", "Two", "--id", f"two-{len(text)}", "--no-review", agent="Ada")
        run("task", "claim", f"two-{len(text)}", agent="Bob")
        refused = run("task", "complete", f"two-{len(text)}", "--json", agent="Bob").error
        assert refused["error"] == "receipt_missing"
        assert "moot.toml sets tasks.receipt = false" in refused["remedy"]
        assert "`moot allow settings`" in refused["remedy"]
    assert run("allow", "settings", "--yes").code == 0
    assert run("task", "complete", "two-0", agent="Bob").code == 0
    assert changes(run) == [("tasks.receipt", False, True), ("tasks.receipt", True, False)]
    assert run("verify").code == 0


def test_an_init_that_is_not_a_persons_says_what_a_person_has_to_allow(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    ran = command("init", "--pack", "gsd", "--json", agent="Ada")
    assert (ran.code, ran.result.get("allowed", [])) == (0, [])
    (withheld,) = ran.result["withheld"]
    assert withheld.startswith('packs = ["gsd"]; in force instead: ')
    (warning,) = [one["message"] for one in json.loads(ran.out)["warnings"] if one["code"] == "settings_withheld"]
    assert "`moot allow settings`" in warning
    command.environment |= {"MOOT_PERSON": "1"}
    assert command("init", "--json").result["allowed"] == ['packs = ["gsd"]']
    assert "settings_withheld" not in command("init", agent="Ada").err


def test_an_agent_cannot_allow_settings(run: Command) -> None:
    settings(run, NO_REVIEW)
    assert run("allow", "settings", "--yes", "--json", agent="Ada").code != 0
    assert run("allow", "settings", "--yes", "--json", CLAUDECODE="1").code != 0, "whatever is said there"
    assert finished(run, "Still reviewed") is not None


def test_init_by_a_person_allows_what_is_there_and_says_so(run: Command, tmp_path: Path) -> None:
    settings(run, NO_REVIEW)
    said = run("init").out
    assert "This `moot init` allows settings in moot.toml that weaken a rule: tasks.review = false." in said
    assert "moot allow settings --revoke" in said
    assert finished(run, "As agreed") is None


@pytest.mark.parametrize("who", [{"MOOT_AGENT": "Ada"}, {"MOOT_PERSON": ""}, {"CLAUDECODE": "1"}], ids=str)
def test_init_by_anybody_else_allows_nothing(run: Command, who: dict[str, str]) -> None:
    settings(run, NO_REVIEW)
    assert "In force" not in run("init", **who).out
    assert finished(run, "Still reviewed") is not None


def test_a_clone_does_not_inherit_what_was_allowed(run: Command, tmp_path: Path) -> None:
    settings(run, NO_REVIEW)
    run("allow", "settings", "--yes")
    git(run.repo, "add", "moot.toml")
    git(run.repo, "commit", "-q", "-m", "settings")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(run.repo), str(clone))
    assert run("init", cwd=clone, MOOT_PERSON="", MOOT_AGENT="Ada").code == 0
    run("join", "Ada", cwd=clone)
    run("task", "add", "One", cwd=clone, agent="Ada")
    run("task", "claim", "task-001", cwd=clone, agent="Ada")
    assert run("task", "complete", "task-001", "--json", cwd=clone, agent="Ada").error["error"] == "needs_review"


def test_consent_is_for_one_value(run: Command) -> None:
    known = {one.digest for one in judged(Settings(task_review=False), CORE, {}, ()).weak}
    quick = Settings(task_lifecycle="quick", packs=("quick",))
    assert judged(quick, CORE, {"quick": QUICK}, known).withheld
    other = {one.digest for one in judged(quick, CORE, {"quick": QUICK}, ()).weak}
    assert not judged(quick, CORE, {"quick": QUICK}, other).withheld
    slow = quick.replace(task_lifecycle="slow", packs=("slow",))
    assert len(judged(slow, CORE, {"slow": QUICK.replace(name="slow")}, other).withheld) == 2


def test_what_was_allowed_can_be_revoked(run: Command) -> None:
    settings(run, NO_REVIEW)
    run("allow", "settings", "--yes")
    assert run("allow", "settings", "--revoke").code == 0
    assert finished(run, "Reviewed again") is not None


def test_a_store_that_a_repository_brings_along_allows_nothing(run: Command) -> None:
    settings(run, NO_REVIEW)
    run("allow", "settings", "--yes")
    shutil.move(Path(run.environment["HOME"]) / ".local/state", run.repo / "state")
    run.environment["XDG_STATE_HOME"] = str(run.repo / "state")
    assert finished(run, "Still reviewed") is not None
    assert run("allow", "settings", "--yes", "--json").error["error"] == "unsafe_file"


def test_a_session_that_stays_open_follows_what_is_allowed_meanwhile(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", run.environment["HOME"])
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    with Workspace(run.repo, agent="Ada") as ada:
        ada.send("Bob", "one")
        settings(run, NO_REVIEW)
        os.utime(run.repo / "moot.toml", (1, 1))
        run("allow", "settings", "--yes")
        run("send", "Ada", "two", agent="Bob")
        ada.send("Bob", "three")
        run("send", "Ada", "four", agent="Bob")
    assert changes(run) == [("tasks.review", True, False)], "they do not overrule each other"


def test_nobody_emits_a_change_by_hand(run: Command) -> None:
    assert run("emit", "settings:changed", "--json", agent="Ada").error["error"] == "event_owned"


# Lifecycles and packs


def test_which_lifecycles_have_a_review() -> None:
    assert reviewed(CORE)
    assert not reviewed(QUICK)
    own = (*QUICK.edges[:1], Edge("submit", "doing", "look", ("holder",)), Edge("approve", "look", "done", ("holder",)))
    assert not reviewed(QUICK.replace(states=(*QUICK.states, State("look", "review")), edges=own)), "of one's own work"
    for who in ("anyone", "holder"):
        edges = (*CORE.edges, Edge("release-it", "review", "done", ("desk", who)))
        assert not reviewed(CORE.replace(edges=edges)), "the verb of a pack's own counts as well"
    assert not reviewed(CORE.replace(exhausted="done")), "failing often enough makes it done"


def test_a_lifecycle_without_review_is_not_in_force_before_it_is_allowed() -> None:
    settings = Settings(packs=("quick",), task_lifecycle="quick")
    strict = judged(settings, CORE, {"quick": QUICK}, ())
    assert [one.said for one in strict.withheld] == ['tasks.lifecycle = "quick"', 'packs = ["quick"]']
    assert (strict.settings.task_lifecycle, strict.values) == ("core", {})
    assert strict.lifecycles["quick"].withheld
    allowed = judged(settings, CORE, {"quick": QUICK}, [one.digest for one in strict.weak])
    assert allowed.settings.task_lifecycle == "quick"
    assert allowed.values == {"tasks.lifecycle": "quick", "packs": ["quick"]}
    assert not allowed.lifecycles["quick"].withheld


def test_no_task_of_a_withheld_lifecycle_is_added_or_moved(run: Command) -> None:
    with Workspace(run.repo, agent="Ada") as ada:
        here = ada._workspace
        life = QUICK.replace(asks='packs = ["quick"]', withheld=True)
        here.setup = here.setup.replace(lifecycles={**here.setup.lifecycles, "quick": QUICK})
        ada.task_add("Before", lifecycle="quick")
        here.setup = here.setup.replace(lifecycles={**here.setup.lifecycles, "quick": life})
        for act in (lambda: ada.task_add("After", lifecycle="quick"), lambda: ada.task_claim("task-001")):
            with pytest.raises(Refused, match="has no review, and no person has allowed that") as caught:
                act()
            assert caught.value.code == "setting_not_allowed"
            assert "`moot allow settings`" in caught.value.remedy


def test_the_short_form_of_the_rules_is_the_real_one() -> None:
    assert recorded.text({"tasks.receipt": True}) == RECEIPTS
    assert judged(Settings(task_receipt=True), CORE, {}, ()).text == RECEIPTS
    assert judged(Settings(), CORE, {}, ()).text == ""
