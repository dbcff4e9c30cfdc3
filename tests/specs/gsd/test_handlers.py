"""Event Handlers: the built-in ones, custom ones that are named in the configuration, and what happens to them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

import pytest

from tests.faults.crew import alive, until
from tests.specs.gsd.handling import COMPLETED, DECIDED, FAILED, SAMPLE, STARTED, Site
from tests.surfaces.command import SOURCES

EVIL = "$(touch pwned) `touch pwned` ; touch pwned | & \\(env.HOME) %s {0} \"' --option\n-x"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    found = Site(tmp_path)
    monkeypatch.setenv("HOME", found.moot.environment["HOME"])  # where consent is kept, for this process, too
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return found


@pytest.mark.proves("S4-HAN-06", "S4-CUS-02")
@pytest.mark.parametrize(
    "content", [None, {}, {"task:completed": [], "decision:made": ["custom:one"], "task:failed": []}]
)
def test_the_five_built_in_handlers_act_whatever_the_configuration_names(site: Site, content: object) -> None:
    site.script("one")
    if content is not None:
        site.configure({"event_handlers": content})
    asks = {"type": "checkpoint:reached", "plan": "01-03", "task": 2, "checkpointType": "decision", "awaiting": "you"}
    site.plan("01-04", "needs: [src/a.ts]")
    made = {"type": "artifact:created", "path": "src/a.ts", "createdBy": "01-02"}
    for event in (STARTED, COMPLETED, FAILED, DECIDED, asks, made):
        site.emit(event)
    context = site.board("shared-context")
    assert [task["task"] for task in context["completed_tasks"]] == [1]  # blackboard-sync
    assert context["blocked_plans"] == ["01-02"]  # error-handler
    assert [one["decision"] for one in site.board("decisions")["decisions"]] == ["Use jose"]  # decision-tracker
    assert [one["awaiting"] for one in site.moot("checkpoints", "--json").result] == ["you"]  # orchestrator
    satisfied = [one for one in site.board("events")["events"] if one["type"] == "dependency:satisfied"]
    assert [one["requiredBy"] for one in satisfied] == [["01-04"]]  # dependency-resolver


@pytest.mark.proves("S4-CUS-01", "S4-CUS-03", "S4-CUS-07")
def test_the_sample_configuration_runs_registered_handlers_with_the_event_and_is_never_written(site: Site) -> None:
    others = {"mode": "yolo", "model_profile": {"executor": ["x", 1, None]}, "builtin:x": 7}
    path = site.configure(json.dumps({**others, **SAMPLE}) + "\n\n")
    before = path.read_bytes()
    for name in ("slack-notify", "pagerduty-alert"):
        site.script(name)
    for event in (STARTED, {**COMPLETED, "extra": {"kept": ["as", "sent"]}}, FAILED):
        site.emit(event)
    assert site.check() == (0, [])
    assert site.effects() == {"gsd/slack-notify": "not-allowed", "gsd/pagerduty-alert": "not-allowed"}
    site.allow()
    assert sorted(site.handle()) == [("gsd/pagerduty-alert", "done"), ("gsd/slack-notify", "done")]
    assert site.handle() == []
    events = site.board("events")["events"]
    assert (site.got("slack-notify"), site.got("pagerduty-alert")) == ([events[1]], [events[2]])
    assert events[1]["extra"] == {"kept": ["as", "sent"]}
    assert path.read_bytes() == before


@pytest.mark.proves("S4-CUS-04")
def test_a_name_that_leads_to_no_handler_is_reported_once_and_the_others_run(site: Site) -> None:
    wrong = ["slack", "builtin:blackbord-sync", "custom:nobody", 7]
    site.script("good")
    site.handlers(task_failed=["builtin:error-handler", *wrong, "custom:good"])  # type: ignore[list-item]
    told = "".join(site.warnings(site.moot("board", "--json"), "source_defective"))
    assert [name for name in map(str, wrong[:3]) if name not in told] == []
    site.write_event({**FAILED, "timestamp": "2024-01-15T10:30:00Z"})
    assert site.warnings(site.moot("board", "--json"), "source_defective") == []
    code, found = site.check()
    assert (code, len(found)) == (6, len(wrong))
    assert site.board("shared-context")["blocked_plans"] == ["01-02"]
    site.allow("gsd/good")
    assert site.handle() == [("gsd/good", "done")]
    assert site.effects() == {"gsd/nobody": "no-handler"}


@pytest.mark.proves("S4-CUS-05")
@pytest.mark.parametrize("content", [None, '{"event_handlers": {"task:failed": []}', '{"event_handlers": 7}', "[]", ""])
def test_without_a_usable_configuration_the_built_in_handlers_run_and_it_is_reported_once(
    site: Site, content: str | None
) -> None:
    if content is not None:
        os.utime(site.configure(content), (1_700_000_000, 1_700_000_000))  # nobody is writing it any more
    said = site.warnings(site.emit(FAILED), "source_defective")
    assert site.board("shared-context")["blocked_plans"] == ["01-02"]
    assert len(said) == (content is not None)
    assert site.warnings(site.emit(FAILED), "source_defective") == []
    assert site.check()[0] == (0 if content is None else 6)


@pytest.mark.proves("S4-CUS-06", "S4-BEN-04")
def test_a_change_of_the_configuration_counts_for_the_events_after_it_without_a_restart(site: Site) -> None:
    for name in ("old", "new"):
        site.script(name)
    deployed = {"type": "deploy:finished", "timestamp": "2024-01-15T10:30:00Z"}
    with site.person() as open_all_along:  # a process that was there before the change
        for task, named in enumerate(([], ["custom:old"], ["custom:new"]), 1):
            site.handlers(deploy_finished=named)
            open_all_along.emit("deploy:finished", data={"task": task, "timestamp": deployed["timestamp"]})
        (site.root / ".planning" / "config.json").unlink()
    site.write_event(deployed)  # an agent that knows only the file, and has not changed
    site.allow("gsd/old", "gsd/new")
    assert sorted(site.handle()) == [("gsd/new", "done"), ("gsd/old", "done")]
    assert [event["task"] for event in (*site.got("old"), *site.got("new"))] == [2, 3]


@pytest.mark.proves("S4-HRD-18", "S4-INS-04")
def test_failing_hanging_and_crashing_handlers_stop_nobody_and_the_effects_show_what_came_of_each(site: Site) -> None:
    fast = 'attempts = 2\nbackoff = "0.05s"\n'
    site.script("fails", "echo no room; exit 3", 'attempts = 4\nbackoff = "0.2s"\n')
    site.script("hangs", f"echo $$ > {site.out}/pid; exec sleep 1000", "attempts = 1\ntimeout = 0.5\n")
    site.script("crashes", "kill -SEGV $$", fast)
    site.script("works", "echo sent to 3 people")
    site.script("later")
    site.handlers(task_completed=[f"custom:{name}" for name in ("fails", "hangs", "crashes", "works", "later")])
    site.emit(STARTED)
    site.emit(COMPLETED)
    assert [task["task"] for task in site.board("shared-context")["completed_tasks"]] == [1]
    shown = {one["handler"]: json.loads(one["content"])["timeout"] for one in site.moot("allow", "--json").result}
    assert (shown["gsd/works"], shown["gsd/hangs"]) == (30.0, 0.5)
    site.allow("gsd/fails", "gsd/hangs", "gsd/crashes", "gsd/works")
    process = site.moot.popen("handle")
    try:
        until(lambda: [*site.effects().values()].count("parked") == 3, "all others have given up")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    found = {name.removeprefix("gsd/"): one for name, one in site.ran().items()}
    assert {name: (one["state"], one["attempt"], one["detail"] or one["reason"]) for name, one in found.items()} == {
        "fails": ("parked", 4, "exit code 3: no room"),
        "hangs": ("parked", 1, "not done within 0.5 s"),
        "crashes": ("parked", 2, f"killed by signal {signal.SIGSEGV.value}"),
        "works": ("done", 1, "sent to 3 people"),
        "later": ("not-allowed", 0, ""),
    }
    assert len({one["event"] for one in found.values()}) == 1
    assert not alive(int((site.out / "pid").read_text()))
    waits = [one["data"] for one in site.moot("log", "--type", "effect:failed", "--json").result]
    pauses = [one["wait"] for one in waits if "no room" in one["reason"]]
    assert all(low <= wait <= 2 * low for wait, low in zip(pauses, (0.1, 0.2, 0.4), strict=True))
    site.script("fails", "echo room again")
    site.allow("gsd/fails")
    assert site.moot("effects", "retry", found["fails"]["id"]).code == 0
    assert site.handle() == [("gsd/fails", "done")]


@pytest.mark.proves("S4-HRD-19")
def test_every_handler_runs_once_however_many_runners_and_ways_in_there_are(site: Site) -> None:
    site.script("note")
    site.handlers(task_completed=["custom:note"])
    site.allow("gsd/note")
    runners = [site.moot.popen("handle") for _ in range(3)]
    try:
        calls = [threading.Thread(target=site.emit, args=({**COMPLETED, "task": task},)) for task in range(1, 5)]
        for thread in calls:
            thread.start()
        for thread in calls:
            thread.join()
        site.write_event(*({**COMPLETED, "task": task, "timestamp": "2024-01-15T10:30:00Z"} for task in range(5, 9)))
        assert site.moot("board").code == 0
        until(lambda: len(site.got("note")) >= 8 and not site.effects(), "all have run")
    finally:
        for process in runners:
            process.send_signal(signal.SIGINT)
        for process in runners:
            process.communicate(timeout=60)
    assert sorted(event["task"] for event in site.got("note")) == list(range(1, 9))
    assert sorted(task["task"] for task in site.board("shared-context")["completed_tasks"]) == list(range(1, 9))


@pytest.mark.proves("S4-HRD-19")
def test_an_event_whose_handler_had_not_finished_is_handled_again_after_a_crash(site: Site) -> None:
    wait = f"[ -e {site.out}/go ] || {{ echo $$ > {site.out}/pid; exec sleep 1000; }}"
    site.script("slow", f"cat >> {site.out}/slow; echo >> {site.out}/slow; {wait}")
    site.handlers(task_completed=["custom:slow"])
    site.emit(COMPLETED)
    site.emit(COMPLETED)  # a repeat: no handler hears of it
    site.allow("gsd/slow")
    runner = site.moot.popen("handle")
    until(lambda: (site.out / "pid").exists() and (site.out / "pid").read_text() != "", "it has begun")
    runner.kill()
    runner.communicate(timeout=60)
    os.kill(int((site.out / "pid").read_text()), signal.SIGKILL)
    (site.out / "go").touch()
    until(lambda: ("gsd/slow", "done") in site.handle(), "another runner has taken it over")
    first, second = site.got("slow")
    assert first == second == site.board("events")["events"][0]
    assert site.handle() == []


@pytest.mark.proves("S4-HRD-19")
def test_built_in_handlers_give_the_same_result_when_they_are_repeated(site: Site) -> None:
    for event in (STARTED, COMPLETED, COMPLETED, FAILED, DECIDED):
        site.emit(event)
    names = ("shared-context", "decisions", "errors", "events")
    before = {name: site.board(name) for name in names}
    assert [task["task"] for task in before["shared-context"]["completed_tasks"]] == [1]
    for path in (*(site.root / ".planning" / "blackboard").iterdir(), *(site.root / ".git" / "moot").glob("views*")):
        if path.is_file():
            path.unlink()
    assert site.moot("board").code == 0  # everything is computed from the log once more
    assert {name: site.board(name) for name in names} == before


@pytest.mark.proves("S4-HRD-20", "S4-CUS-03")
def test_a_handler_runs_only_after_a_person_allowed_exactly_it_on_this_machine(site: Site, tmp_path: Path) -> None:
    path = site.script("page")
    site.handlers(task_failed=["custom:page"])
    site.emit(FAILED)
    assert (site.handle(), site.effects(), site.got("page")) == ([], {"gsd/page": "not-allowed"}, [])
    assert site.moot("--agent", "Eve", "allow", "gsd/page", "--yes", "--json").error["error"] == "people_only"
    asked = site.moot("allow", "gsd/page", "--json").error
    assert ("not_confirmed" in asked["error"], "handlers/page" in asked["message"]) == (True, True)
    site.allow("gsd/page")
    assert site.handle() == [("gsd/page", "done")]
    copy = tmp_path / "copy"
    shutil.copytree(site.root, copy)
    shown = {one.get("handler"): one["allowed"] for one in site.moot("allow", "--json", cwd=copy).result}
    assert shown["gsd/page"] is False  # what was allowed in one project is not allowed in its copy
    path.write_text(path.read_text() + "# one more line\n")  # a changed handler has to be allowed again
    site.emit({**FAILED, "task": 3})
    assert site.handle() == []
    site.allow("gsd/page")
    assert site.handle() == [("gsd/page", "done")]
    site.script("other")  # so has a newly named one
    site.handlers(task_failed=["custom:page", "custom:other"])
    site.emit({**FAILED, "task": 4})
    assert site.handle() == [("gsd/page", "done")]
    assert site.effects() == {"gsd/other": "not-allowed"}


@pytest.mark.proves("S4-HRD-20")
def test_event_data_is_never_on_a_command_line_or_in_a_shell(site: Site) -> None:
    site.script(
        "seen",
        f'printf "%s" "$*" > {site.out}/words; tr "\\0" "\\n" < /proc/$$/cmdline > {site.out}/line; '
        f"env > {site.out}/environment; cat > {site.out}/seen",
    )
    site.handlers(task_failed=["custom:seen"])
    site.emit({**FAILED, "error": EVIL})
    site.allow("gsd/seen")
    assert site.handle() == [("gsd/seen", "done")]
    assert json.loads((site.out / "seen").read_text())["error"] == EVIL
    others = [(site.out / name).read_text() for name in ("words", "line", "environment")]
    assert (others[0], [text for text in others if "touch" in text]) == ("", [])
    assert not list(site.root.rglob("pwned"))


@pytest.mark.proves("S4-HRD-21")
def test_a_handler_that_answers_its_own_event_is_cut_after_ten_causes(site: Site) -> None:
    moot = f"PYTHONPATH={SOURCES} {sys.executable} -m moot"
    site.script("echo", f"cat >> {site.out}/echo; echo >> {site.out}/echo; {moot} gsd emit ping:sent")
    site.handlers(ping_sent=["custom:echo"])
    site.emit({"type": "ping:sent"})
    site.allow("gsd/echo")
    assert site.handle() == [("gsd/echo", "done")] * 11  # the event, and ten that each follow from the one before
    (parked,) = site.moot("effects", "--json").result
    assert (parked["state"], parked["reason"].partition(" ")[0]) == ("parked", "11")
    chain = [(one["number"], one["cause"]) for one in site.moot("gsd", "events", "--all", "--json").result]
    assert chain == [(1, 0), *((n, n - 1) for n in range(2, 13))]
    assert [event["eventId"] for event in site.got("echo")] == list(range(1, 12))
