"""Handlers that answer events in the file itself, where nobody can see who wrote an entry."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from moot.core.deciders import effect
from moot.core.deciders.effect import GUESSES
from moot.packs.gsd.effects import DEEPEST
from tests.faults.crew import until
from tests.specs.gsd.handling import Site

pytestmark = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")

EVENTS = ".planning/blackboard/events.json"
# The step of the specification, with another event.
STEP = """
EVENT=$(cat <<EOF
{{
  "type": "{type}",
  "timestamp": "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
}}
EOF
)
jq ".events += [$EVENT] | .lastEventId += 1" \\
  .planning/blackboard/events.json > {tmp} && mv {tmp} .planning/blackboard/events.json
"""
LIMIT = DEEPEST * GUESSES
PERHAPS = "effects, each caused by the one before, or by what was written into a file while that one ran: "


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def step(kind: str, tmp: str = "tmp.json") -> str:
    return STEP.format(type=kind, tmp=tmp)


def noting(site: Site, name: str) -> str:
    """Write down that the handler runs, and for which event."""
    return f'it=$(cat); printf "%s\\n" "$it" >> {site.out}/{name}\n'


def events(site: Site) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = site.moot("gsd", "events", "--all", "--json").result
    return found


def ran(site: Site) -> dict[int, str]:
    """The handler of each event that has one: its effect."""
    return {one["number"]: run["effect"] for one in events(site) for run in one["handlers"]}


@pytest.mark.proves("S4-HRD-21")
def test_a_handler_that_answers_its_own_event_in_the_file_is_cut_after_thirty(site: Site) -> None:
    site.script("echo", noting(site, "echo") + step("ping:sent"))
    site.handlers(ping_sent=["custom:echo"])
    site.emit({"type": "ping:sent"})
    site.allow("gsd/echo")
    assert site.handle() == [("gsd/echo", "done")] * (
        LIMIT + 1
    )  # the event, and those that were written while it was answered
    assert site.handle() == []
    (parked,) = site.moot("effects", "--json").result
    assert parked["state"] == "parked"
    assert parked["reason"].startswith(
        f"31 {PERHAPS}gsd/echo on ping:sent ({ran(site)[1]}) → gsd/echo on ping:sent (e-"
    )

    # Each answer names the effect that ran, and claims no cause. Nothing is lost: all of them are in the file.
    effects = ran(site)
    last = effects[LIMIT + 1]
    told = f"requested gsd/echo for ping:sent of feed/gsd (its event was written while gsd/echo ({last}) ran)"
    assert told in site.moot("explain", parked["id"]).out
    assert [(one["number"], one["cause"], one["during"]) for one in events(site)] == [
        (1, 0, {}),
        *((n, 0, {effects[n - 1]: "gsd/echo"}) for n in range(2, LIMIT + 3)),
    ]
    assert [event["eventId"] for event in site.board("events")["events"]] == list(range(1, LIMIT + 3))
    assert [event["eventId"] for event in site.got("echo")] == list(range(1, LIMIT + 2))
    assert site.moot("verify").code == 0


@pytest.mark.proves("S4-HRD-21")
def test_a_person_sees_the_cut_and_can_have_the_last_event_handled_after_a_change(site: Site) -> None:
    site.script("echo", step("ping:sent"))
    site.handlers(ping_sent=["custom:echo"])
    site.emit({"type": "ping:sent"})
    site.allow("gsd/echo")
    site.handle()
    (parked,) = site.moot("effects", "--json").result
    code, problems = site.check()
    (cut,) = [problem for problem in problems if "was stopped" in problem["message"]]
    assert code == 6
    assert (cut["file"], cut["place"]) == (".planning/config.json", 'event_handlers["ping:sent"]')
    assert cut["message"].startswith(f"custom:echo was stopped: 31 {PERHAPS}gsd/echo on ping:sent (e-")
    assert f"moot effects retry {parked['id']}" in cut["remedy"]
    (waiting,) = [one for one in site.moot("needs-me", "--json").result if one["kind"] == "effect"]
    assert (waiting["id"], waiting["who"]) == (parked["id"], "gsd/echo")
    assert PERHAPS in waiting["text"]

    site.script("echo")  # it writes down what it gets, and answers nothing
    site.allow("gsd/echo")
    assert site.moot("effects", "retry", parked["id"]).code == 0
    assert site.handle() == [("gsd/echo", "done")]
    assert [event["eventId"] for event in site.got("echo")] == [LIMIT + 2]
    assert [problem for problem in site.check()[1] if "was stopped" in problem["message"]] == []


@pytest.mark.proves("S4-HRD-21")
def test_explain_says_that_an_event_was_written_while_a_handler_ran(site: Site) -> None:
    site.script("once", noting(site, "once") + step("pong:sent"))
    site.handlers(ping_sent=["custom:once"])
    site.emit({"type": "ping:sent", "note": "n" * 300})
    site.allow("gsd/once")
    site.handle()
    lines = site.moot("explain", "feed/gsd").out.splitlines()
    (effect,) = ran(site).values()
    (pong,) = [line for line in lines if "pong:sent" in line]
    assert pong.endswith(f"(written while gsd/once ({effect}) ran)")
    assert "ran)" not in next(line for line in lines if "ping:sent" in line)
    assert f"  via file {EVENTS}; written while gsd/once ran" in site.moot("gsd", "events").out.splitlines()


@pytest.mark.proves("S4-HRD-21")
def test_two_handlers_that_answer_each_other_in_the_file_are_cut(site: Site) -> None:
    site.script("ping", noting(site, "ping") + step("pong:sent"))
    site.script("pong", noting(site, "pong") + step("ping:sent"))
    site.handlers(ping_sent=["custom:ping"], pong_sent=["custom:pong"])
    site.emit({"type": "ping:sent"})
    site.allow("gsd/ping", "gsd/pong")
    assert site.handle() == [("gsd/ping", "done"), ("gsd/pong", "done")] * (LIMIT // 2) + [("gsd/ping", "done")]
    assert site.effects() == {"gsd/pong": "parked"}
    assert len(events(site)) == LIMIT + 2


@pytest.mark.proves("S4-HRD-21")
def test_a_chain_through_the_file_and_through_moot_is_one_chain(site: Site) -> None:
    import sys

    from tests.surfaces.command import SOURCES

    site.script("wire", f"PYTHONPATH={SOURCES} {sys.executable} -m moot gsd emit pong:sent")
    site.script("paper", step("ping:sent"))
    site.handlers(ping_sent=["custom:wire"], pong_sent=["custom:paper"])
    site.emit({"type": "ping:sent"})
    site.allow("gsd/wire", "gsd/paper")
    assert sorted(site.handle()) == [("gsd/paper", "done")] * 5 + [("gsd/wire", "done")] * 6
    (parked,) = site.moot("effects", "--json").result
    assert parked["reason"].startswith(f"11 {PERHAPS}")  # the last link is certain, the one before it is not
    found = [(one["cause"], next(iter(one["during"].values()), "")) for one in events(site)]
    assert found[1:5] == [(1, ""), (0, "gsd/paper"), (3, ""), (0, "gsd/paper")]


@pytest.mark.proves("S4-HRD-21")
def test_two_handlers_that_answer_themselves_at_the_same_time_both_end(site: Site) -> None:
    lock = site.out / "lock"
    for name in ("one", "two"):  # they take turns, because the step loses what is written beside it
        enter, leave = f"until mkdir {lock} 2>/dev/null; do sleep 0.01; done\n", f"rmdir {lock}"
        site.script(name, noting(site, name) + enter + step(f"{name}:sent", f"{name}.json") + leave)
    site.handlers(one_sent=["custom:one"], two_sent=["custom:two"])
    site.emit({"type": "one:sent"})
    site.emit({"type": "two:sent"})
    site.allow("gsd/one", "gsd/two")
    done = site.handle()
    assert {name for name, _ in done} == {"gsd/one", "gsd/two"}
    assert {outcome for _, outcome in done} == {"done"}
    runs = {name: len(site.got(name)) for name in ("one", "two")}
    assert max(runs.values()) <= LIMIT + 1 <= sum(runs.values())  # an answer may come from either, so they end sooner
    found = site.moot("effects", "--json").result
    assert {(one["handler"], one["state"]) for one in found} == {("gsd/one", "parked"), ("gsd/two", "parked")}
    # Every answer is in the log: each run wrote one, and each was handled or is parked.
    assert len(events(site)) == 2 + sum(runs.values()) == len(done) + len(found)


@pytest.mark.proves("S4-HRD-21")
def test_beside_a_slow_handler_an_answer_may_come_from_both_and_the_longer_chain_counts(site: Site) -> None:
    site.script("slow", f"until test -e {site.out}/go; do sleep 0.02; done")
    site.script("echo", noting(site, "echo") + step("ping:sent"))
    site.handlers(ping_sent=["custom:echo"], build_begun=["custom:slow"])
    site.emit({"type": "build:begun"})
    site.allow("gsd/slow", "gsd/echo")
    process = site.moot.popen("handle")
    try:
        until(lambda: site.effects() == {"gsd/slow": "taken"}, "the slow one runs")
        site.emit({"type": "ping:sent"})
        until(lambda: site.effects().get("gsd/echo") == "parked", "the other one is cut")
        (site.out / "go").touch()
        until(lambda: site.effects() == {"gsd/echo": "parked"}, "the slow one has ended")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert len(site.got("echo")) == LIMIT + 1
    effects = ran(site)
    during = {one["number"]: list(one["during"]) for one in events(site)}
    assert all(effects[1] in during[n] for n in range(3, LIMIT + 4))  # the slow one ran all the time
    assert [during[n][0] for n in range(4, LIMIT + 4)] == [
        effects[n - 1] for n in range(4, LIMIT + 4)
    ]  # the deepest comes first


@pytest.mark.proves("S4-HRD-21")
def test_what_somebody_else_writes_meanwhile_is_marked_and_handled(site: Site) -> None:
    site.script("slow", f"until test -e {site.out}/go; do sleep 0.02; done")
    site.script("note")
    site.handlers(build_begun=["custom:slow"], build_ended=["custom:note"])
    site.emit({"type": "build:begun"})
    site.allow("gsd/slow", "gsd/note")
    site.write_event({"type": "build:ended", "n": 1})  # before the handler runs
    process = site.moot.popen("handle")
    try:
        until(lambda: site.effects().get("gsd/slow") == "taken", "the handler runs")
        site.write_event({"type": "build:ended", "n": 2})
        site.emit({"type": "build:ended", "n": 3})  # the call takes in the file first
        until(lambda: len(site.got("note")) == 3, "all of them are handled")
        (site.out / "go").touch()
        until(lambda: site.effects() == {}, "everything has ended")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    during = {one["event"].get("n"): set(one["during"].values()) - {"gsd/note"} for one in events(site)}
    assert during == {None: set(), 1: set(), 2: {"gsd/slow"}, 3: set()}


@pytest.mark.proves("S4-HRD-21")
def test_a_process_that_a_handler_leaves_running_is_still_that_handler(site: Site) -> None:
    site.script(
        "echo",
        noting(site, "echo")
        + f"( n=0; until test -e {site.out}/go || test $n = 2000; do sleep 0.02; n=$((n + 1)); done"
        + f"{step('ping:sent')}touch {site.out}/gone ) "
        + ">/dev/null 2>&1 &",
    )
    site.handlers(ping_sent=["custom:echo"])
    site.emit({"type": "ping:sent"})
    site.allow("gsd/echo")
    for number in range(1, LIMIT + 2):
        assert site.handle() == [("gsd/echo", "done")], number  # the file is untouched so far
        site.write_event({"type": "other:sent"})
        (site.out / "go").touch()
        until((site.out / "gone").exists, "it has answered")
        (site.out / "go").unlink()
        (site.out / "gone").unlink()
    assert site.handle() == []
    assert site.effects() == {"gsd/echo": "parked"}
    assert list((site.root / ".git" / "moot" / "effects").iterdir()) == []  # nothing is remembered of them


def test_a_handler_that_says_that_it_emits_nothing_is_no_cause(site: Site) -> None:
    site.script("slow", f"until test -e {site.out}/go; do sleep 0.02; done")
    site.settings("[pack.gsd.handlers.slow]\nrun = ['.planning/handlers/slow']\nemits = false\n")
    site.handlers(build_begun=["custom:slow"])
    site.emit({"type": "build:begun"})
    site.allow("gsd/slow")
    process = site.moot.popen("handle")
    try:
        until(lambda: site.effects() == {"gsd/slow": "taken"}, "the handler runs")
        site.write_event({"type": "build:ended"})
        assert [one["during"] for one in events(site)] == [{}, {}]
        (site.out / "go").touch()
        until(lambda: site.effects() == {}, "it has ended")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert json.loads(site.moot("allow", "--json").result[0]["content"])["emits"] is False


def test_a_handler_of_moot_toml_that_answers_in_a_file_is_cut_after_forty_eight(site: Site) -> None:
    own = effect.DEEPEST * GUESSES
    script = site.script("echo", noting(site, "echo") + step("ping:sent"))
    site.settings(f"[[handlers]]\nname = 'echo'\non = ['feed:posted']\nrun = ['{script.relative_to(site.root)}']\n")
    site.emit({"type": "ping:sent"})
    site.allow("echo")
    assert site.handle() == [("echo", "done")] * (own + 1)
    assert site.effects() == {"echo": "parked"}
    assert len(site.got("echo")) == own + 1
