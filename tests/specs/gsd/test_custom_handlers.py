"""Event Handlers: which run, in which order, and what a configuration that is wrong leads to."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.specs.gsd.handling import COMPLETED, DECIDED, FAILED, SAMPLE, STARTED, Site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    found = Site(tmp_path)
    monkeypatch.setenv("HOME", found.moot.environment["HOME"])  # where consent is kept, for this process, too
    monkeypatch.delenv("XDG_STATE_HOME")
    return found


@pytest.mark.proves("S4-HAN-06")
def test_the_five_built_in_handlers_act_without_configuration_and_are_addressed_by_name(site: Site) -> None:
    site.emit(STARTED)
    site.emit(COMPLETED)
    site.emit(FAILED)
    site.emit(DECIDED)
    site.emit(
        {"type": "checkpoint:reached", "plan": "01-03", "task": 2, "checkpointType": "decision", "awaiting": "you"}
    )
    site.plan("01-04", "needs: [src/a.ts]")
    created = site.emit({"type": "artifact:created", "path": "src/a.ts", "createdBy": "01-02"})
    context = site.board("shared-context")
    assert [task["task"] for task in context["completed_tasks"]] == [1]  # blackboard-sync
    assert context["blocked_plans"] == ["01-02"]  # error-handler
    assert [one["decision"] for one in site.board("decisions")["decisions"]] == ["Use jose"]  # decision-tracker
    assert [one["awaiting"] for one in site.moot("checkpoints", "--json").result] == ["you"]  # orchestrator
    satisfied = [one for one in site.board("events")["events"] if one["type"] == "dependency:satisfied"]
    assert [(one["artifact"], one["requiredBy"]) for one in satisfied] == [
        ("src/a.ts", ["01-04"])
    ]  # dependency-resolver
    assert created.code == 0
    named = {
        "task:completed": "builtin:blackboard-sync",
        "artifact:created": "builtin:dependency-resolver",
        "decision:made": "builtin:decision-tracker",
        "checkpoint:reached": "builtin:orchestrator",
        "task:failed": "builtin:error-handler",
    }
    site.configure({"event_handlers": {kind: [name] for kind, name in named.items()}})
    assert site.check() == (0, [])
    site.emit({**DECIDED, "decision": "Use zod"})
    assert [one["decision"] for one in site.board("decisions")["decisions"]] == ["Use jose", "Use zod"]


@pytest.mark.proves("S4-CUS-01")
def test_the_configuration_is_read_and_never_written_and_its_other_keys_are_ignored(site: Site) -> None:
    others = {"mode": "yolo", "model_profile": {"executor": ["x", 1, None]}, "builtin:x": 7}
    path = site.configure(json.dumps({**others, **SAMPLE}) + "\n\n")
    before, mode = path.read_bytes(), stat.S_IMODE(path.stat().st_mode)
    site.script("slack-notify")
    site.script("pagerduty-alert")
    for event in (STARTED, COMPLETED, FAILED):
        site.emit(event)
    assert site.check() == (0, [])
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (before, mode)
    assert site.effects() == {"gsd/slack-notify": "not-allowed", "gsd/pagerduty-alert": "not-allowed"}


@pytest.mark.proves("S4-CUS-02")
def test_the_list_of_a_type_is_complete_and_runs_in_its_order(site: Site) -> None:
    for name in ("one", "two", "three"):
        site.script(name)
    site.handlers(task_completed=["custom:two", "custom:three", "custom:one"], decision_made=[])
    site.emit(STARTED)
    site.emit(COMPLETED)
    site.emit(DECIDED)
    site.emit(FAILED)
    # A built-in that is left out does not run: the log has the event, the file of the handler shows nothing.
    assert site.board("shared-context")["completed_tasks"] == []
    assert site.board("decisions")["decisions"] == []
    assert [one["type"] for one in site.board("events")["events"]] == [
        "task:started",
        "task:completed",
        "decision:made",
        "task:failed",
    ]
    # A type that is not mentioned keeps its built-in handler.
    assert site.board("shared-context")["blocked_plans"] == ["01-02"]
    site.allow()
    assert site.handle() == [("gsd/two", "done"), ("gsd/three", "done"), ("gsd/one", "done")]
    assert site.order() == ["two", "three", "one"]
    code, found = site.check()
    assert code == 0
    off = {one["place"]: one["message"] for one in found if one["note"]}
    assert off == {
        'event_handlers["task:completed"]': "builtin:blackboard-sync is switched off for task:completed",
        'event_handlers["decision:made"]': "builtin:decision-tracker is switched off for decision:made",
    }


def test_the_check_names_a_built_in_handler_that_stands_behind_a_custom_one(site: Site) -> None:
    site.script("one")
    site.handlers(
        task_completed=["custom:one", "builtin:blackboard-sync"], task_failed=["builtin:error-handler", "custom:one"]
    )
    code, found = site.check()
    assert (code, [(one["place"], one["note"]) for one in found]) == (0, [('event_handlers["task:completed"]', True)])
    assert found[0]["message"].startswith("builtin:blackboard-sync runs in the commit of the event")


@pytest.mark.proves("S4-CUS-03")
@pytest.mark.parametrize("file", ["tell", "tell.sh", "tell.py", "tell.js"])
def test_a_custom_handler_is_an_executable_with_any_extension_that_gets_the_complete_event(
    site: Site, file: str
) -> None:
    bodies = {
        "tell.py": "#!/usr/bin/env python3\nimport sys\n"
        f"open('{site.out}/tell', 'a').write(sys.stdin.read() + '\\n')\n",
        "tell.js": "#!/usr/bin/env node\nconst fs = require('fs');\n"
        f"fs.appendFileSync('{site.out}/tell', fs.readFileSync(0, 'utf-8') + '\\n');\n",
    }
    site.script(file, bodies.get(file, ""))
    site.handlers(task_completed=["custom:tell"])
    site.emit(STARTED)
    site.emit({**COMPLETED, "extra": {"kept": ["as", "sent"]}})
    site.allow("gsd/tell")
    assert site.handle() == [("gsd/tell", "done")]
    assert site.got("tell") == [site.board("events")["events"][-1]]
    (event,) = site.got("tell")
    assert (event["type"], event["eventId"], event["extra"]) == ("task:completed", 2, {"kept": ["as", "sent"]})


WRONG = ["blackboard-sync", "builtin:blackbord-sync", "custom:nobody", "custom:plain", "custom:twice"]


@pytest.mark.proves("S4-CUS-04")
def test_a_name_that_leads_to_nothing_is_reported_and_the_others_of_the_list_run(site: Site) -> None:
    site.script("good")
    site.script("plain", mode=0o644)
    site.script("twice.sh")
    site.script("twice.py")
    site.handlers(task_completed=["builtin:blackboard-sync", *WRONG, "custom:good"])
    code, found = site.check()
    assert code == 6
    said = "\n".join(one["message"] for one in found)
    expected = [
        '"blackboard-sync" has no known prefix',
        'there is no built-in handler "blackbord-sync"; did you mean builtin:blackboard-sync?',
        "custom:nobody leads to nothing",
        "plain is not executable",
        "custom:twice is ambiguous",
    ]
    assert [text for text in expected if text not in said] == []
    assert all(one["line"] for one in found)
    site.emit(STARTED)
    ran = site.emit(COMPLETED)
    told = "\n".join(site.warnings(ran, "handler_unusable"))
    assert [text for text in expected if text not in told] == []
    assert [task["task"] for task in site.board("shared-context")["completed_tasks"]] == [1]
    site.allow("gsd/good")
    assert site.handle() == [("gsd/good", "done")]
    assert [one["type"] for one in site.board("events")["events"]] == ["task:started", "task:completed"]


@pytest.mark.proves("S4-CUS-04")
def test_an_event_in_the_file_is_reported_about_by_the_call_that_takes_it_in(site: Site) -> None:
    site.handlers(task_failed=["builtin:error-handler", "custom:nobody"])
    site.write_event({**FAILED, "timestamp": "2024-01-15T10:30:00Z"})
    ran = site.moot("board", "--json")
    assert "custom:nobody leads to nothing" in "".join(site.warnings(ran, "handler_unusable"))
    assert site.board("shared-context")["blocked_plans"] == ["01-02"]


@pytest.mark.proves("S4-CUS-05")
@pytest.mark.parametrize(
    ("content", "place"),
    [
        (None, None),
        ('{"event_handlers": {"task:failed": []}', (1, 39)),
        ('{\n  "event_handlers": {},\n  "event_handlers": {}\n}', (3, 3)),
        ('{\n  "event_handlers": ["custom:x"]\n}', (2, 21)),
        ('{\n  "event_handlers": {\n    "task:failed": "custom:x"\n  }\n}', (3, 20)),
        ("[]", (1, 1)),
        ("", (1, 1)),
    ],
)
def test_without_a_usable_configuration_the_built_in_handlers_apply(
    site: Site, content: str | None, place: tuple[int, int] | None
) -> None:
    import os

    if content is not None:
        path = site.configure(content)
        os.utime(path, (1_700_000_000, 1_700_000_000))  # nobody is writing it any more
    ran = site.emit(FAILED)
    assert site.board("shared-context")["blocked_plans"] == ["01-02"]
    code, found = site.check()
    if place is None:
        assert (code, found, site.warnings(ran, "source_defective")) == (0, [], [])
    else:
        assert code == 6
        assert [(one["file"], one["line"], one["column"]) for one in found] == [(".planning/config.json", *place)]
        assert f"line {place[0]}, column {place[1]}" in "".join(site.warnings(ran, "source_defective"))


@pytest.mark.proves("S4-CUS-05")
def test_a_configuration_that_is_being_written_changes_nothing_yet(site: Site) -> None:
    site.script("page")
    site.handlers(task_failed=["custom:page"])
    site.emit(FAILED)
    site.configure('{"event_handlers": {"task:')
    ran = site.emit({**FAILED, "task": 3})
    assert "not valid yet" in "".join(site.warnings(ran, "mirror_pending"))
    site.allow("gsd/page")
    assert site.handle() == [("gsd/page", "done"), ("gsd/page", "done")]


@pytest.mark.proves("S4-CUS-06")
def test_a_change_counts_for_the_events_after_it_without_a_restart(site: Site) -> None:
    site.script("old")
    site.script("new")
    site.handlers(task_failed=["builtin:error-handler", "custom:old"])
    with site.person() as open_all_along:  # a process that was there before the change

        def fail(task: int) -> None:
            data = {key: value for key, value in FAILED.items() if key != "type"}
            open_all_along.emit("task:failed", data={**data, "task": task})

        fail(1)
        site.handlers(task_failed=["custom:new"])
        fail(2)
        (site.root / ".planning" / "config.json").unlink()
        fail(3)
    site.allow("gsd/old", "gsd/new")
    assert sorted(site.handle()) == [("gsd/new", "done"), ("gsd/old", "done")]
    assert [event["task"] for event in site.got("old")] == [1]
    assert [event["task"] for event in site.got("new")] == [2]
    assert [error["task"] for error in site.board("errors")["errors"]] == [1, 3]


@pytest.mark.proves("S4-CUS-07")
def test_the_sample_configuration_with_two_recording_scripts(site: Site) -> None:
    site.configure(SAMPLE)
    site.script("slack-notify")
    site.script("pagerduty-alert.sh")
    site.emit(STARTED)
    site.emit(COMPLETED)
    assert [task["task"] for task in site.board("shared-context")["completed_tasks"]] == [1]
    assert site.order() == []  # blackboard-sync, and then slack-notify
    site.emit(FAILED)
    assert site.board("shared-context")["blocked_plans"] == ["01-02"]
    site.allow()
    assert sorted(site.handle()) == [("gsd/pagerduty-alert", "done"), ("gsd/slack-notify", "done")]
    assert site.handle() == []
    events = site.board("events")["events"]
    assert (site.got("slack-notify"), site.got("pagerduty-alert")) == ([events[1]], [events[2]])


@pytest.mark.proves("S4-BEN-04")
def test_an_outside_service_is_attached_by_naming_a_handler_and_no_agent_changes(site: Site) -> None:
    emitter = {"type": "deploy:finished", "timestamp": "2024-01-15T10:30:00Z", "version": "1.2"}
    site.write_event(emitter)  # an agent that knows only the file
    assert site.moot("board").code == 0
    site.settings(f'[pack.gsd.handlers.announce]\nrun = ["sh", "-c", "cat >> {site.out}/announce"]\n')
    site.handlers(deploy_finished=["custom:announce"])
    site.write_event({**emitter, "version": "1.3"})  # the same agent
    assert site.moot("board").code == 0
    site.allow("gsd/announce")
    assert site.handle() == [("gsd/announce", "done")]
    (event,) = site.got("announce")
    assert event["version"] == "1.3"


@pytest.mark.proves("S4-CUS-04")
def test_the_report_at_the_first_event_names_the_file(site: Site) -> None:
    site.configure('{"event_handlers": {"task:started": ["slack"]}}')
    (told,) = site.warnings(site.emit(STARTED), "handler_unusable")
    assert ".planning/config.json, line 1, column " in told


@pytest.mark.proves("S4-CUS-04")
@pytest.mark.parametrize(
    ("table", "line", "said"),
    [
        ("runs = ['true']", 4, "unknown key pack.gsd.handlers.page.runs; did you mean run?"),
        ("attempts = 2", 3, "has no action"),
    ],
)
def test_a_wrong_registration_stops_only_that_handler(site: Site, table: str, line: int, said: str) -> None:
    site.script("good")
    site.handlers(task_started=["custom:page", "custom:good"])
    site.settings(f"[pack.gsd.handlers.page]\n{table}\n")
    (told,) = site.warnings(site.emit(STARTED), "handler_unusable")
    assert f"moot.toml, line {line}: " in told
    assert said in told
    site.write_event({**COMPLETED, "timestamp": "2024-01-15T10:30:00Z"})
    assert site.moot("mirror").code == 0
    assert [one["type"] for one in site.board("events")["events"]] == ["task:started", "task:completed"]
    site.allow("gsd/good")
    assert ("gsd/good", "done") in site.handle()
    code, problems = site.check()
    assert code == 6
    found = {(one["file"], one["line"]): one for one in problems}
    assert said in "".join(one["message"] for one in problems if one["file"] == "moot.toml")
    assert found["moot.toml", line]["remedy"]
    assert {file for file, _ in found} == {"moot.toml"}
    site.settings("[pack.gsd.handlers.page]\nrun = ['true']\n")
    assert site.check() == (0, [])
