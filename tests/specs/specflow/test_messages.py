"""Addresses, operations, forms, roles, and what each message of the catalogue leads to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.specs.specflow.project import FIANNA, HAMILTON, KEANE, LEAD, SWIFT, YEATS, Project, issue


@pytest.mark.proves("S3-TEAM-02", "S3-TEAM-05", "S3-TEAM-01", "S3-BCAST-02", "S3-BCAST-03", "S3-BCAST-01")
def test_the_printed_team_is_a_team_of_five_and_each_broadcast_is_one_message(project: Project) -> None:
    project.plan(issue(50), issue(51))
    made = project.ask("specflow spawn-team", name="Fianna", config=FIANNA)
    members = [(m["name"], m["role"], m.get("issue")) for m in made["members"]]
    assert members == [
        ("Yeats", "issue-lifecycle", 50),
        ("Swift", "issue-lifecycle", 51),
        ("Hamilton", "db-coordinator", None),
        ("Keane", "quality-gate", None),
    ]
    outsider = project.join("Elsewhere")
    before = len(project.events("message:sent"))
    told = project.touch(YEATS, "src/lib/auth.ts")
    assert (told["state"], told["shared"]) == ("granted", True)
    assert len(project.events("message:sent")) == before + 1
    lead = project.wave().lead
    for other in (SWIFT, HAMILTON, KEANE, lead):
        (data,) = project.inbox(other, "TOUCHING_FILE")
        assert data["data"]["path"] == "src/lib/auth.ts"
    assert not project.inbox(YEATS, "TOUCHING_FILE")
    assert not project.inbox(outsider)
    said = project.ask("specflow broadcast", YEATS, message="lunch")
    assert said["recipients"] == 4
    project.ask("specflow request-shutdown", name="Swift")
    assert SWIFT not in project.ask("specflow broadcast", YEATS, message="again")["to"]


@pytest.mark.proves("S3-WRITE-02", "S3-DB-03", "S3-CAT-01", "S3-MSG-01", "S3-MSG-02", "S3-DB-01")
def test_a_request_for_a_migration_is_answered_in_the_same_commit(fianna: Project) -> None:
    fianna.put("supabase/migrations/174_init.sql", "create table accounts (id int);")
    before = fianna.head()
    said = fianna.write(YEATS, "db-coordinator", "REQUEST_MIGRATION #50 tables:[users, sessions]")
    assert (said["type"], said["to"], said["recipients"]) == ("REQUEST_MIGRATION", [HAMILTON], 1)
    answer = "MIGRATION_ASSIGNED 175 supabase/migrations/175_users_sessions.sql"
    assert said["replies"] == [answer]
    (asked,) = fianna.inbox(HAMILTON, "REQUEST_MIGRATION")
    assert (asked["data"]["issue"], asked["data"]["tables"]) == (50, ["users", "sessions"])
    assert asked["text"] == "REQUEST_MIGRATION #50 tables:[users, sessions]"
    assert len({event.commit for event in fianna.events(after=before)}) == 1
    assert fianna.texts(YEATS, "MIGRATION_ASSIGNED") == [answer]
    assert fianna.write(SWIFT, "Hamilton", "REQUEST_MIGRATION #51 tables:[logs]")["replies"] == [
        "MIGRATION_ASSIGNED 176 supabase/migrations/176_logs.sql"
    ]
    assert fianna.write(YEATS, "db-coord", "REQUEST_MIGRATION #50 tables:[sessions, users, users]")["replies"] == [
        answer
    ]
    for wrong in ("tables:[]", "tables:[users", "tables:[us-ers]", "users"):
        refusal = fianna.unwritten(YEATS, "db-coordinator", f"REQUEST_MIGRATION #50 {wrong}")
        assert refusal.code in ("not_the_text_form", "bad_message")
    assert fianna.unwritten(YEATS, "db-coordinator", "REQUEST_MIGRATION #50 users").details["position"] == 22


@pytest.mark.proves("S3-WRITE-01", "S3-WRITE-03", "S3-WRITE-04", "S3-TASK-07")
def test_every_address_of_a_member_is_one_inbox(fianna: Project) -> None:
    same = {
        YEATS: ("Yeats", "yeats", "YEATS", "#50", "issue-50", "w1.yeats"),
        HAMILTON: ("Hamilton", "db-coordinator", "db-coord", "DB-COORD"),
        KEANE: ("Keane", "quality-gate", "qa-gate"),
        fianna.wave().lead: ("waves-controller", "Waves-Controller", "Finn McCool"),
    }
    for box, addresses in same.items():
        for address in addresses:
            assert fianna.write(SWIFT, address, "hello")["to"] == [box]
    for wrong in ("Beckett", "issue-lifecycle", "Swift", "#99", "Yeats, Keane"):
        refusal = fianna.unwritten(SWIFT, wrong, "hello")
        assert refusal.code == "unknown_address"
        assert "Yeats" in refusal.details["addresses"]
    for field in ("to", "message"):
        given = {"to": "Yeats", "message": "hello", field: "  "}
        assert fianna.refusal("specflow write", SWIFT, **given).details["field"] == field


@pytest.mark.proves("S3-CAT-02", "S3-CAT-03", "S3-CAT-04", "S3-CAT-05", "S3-HARD-05", "S3-MSG-16")
def test_only_the_right_role_sends_a_message_in_the_right_way_about_its_own_issue(fianna: Project) -> None:
    refused = {
        "wrong_role": [
            (YEATS, "quality-gate", "RUN_REGRESSION wave:1"),
            (HAMILTON, "quality-gate", "RUN_CONTRACTS"),
            (YEATS, "Swift", "MIGRATION_ASSIGNED 1 a.sql"),
        ],
        "wrong_recipient": [(YEATS, "Swift", "RUN_CONTRACTS"), (YEATS, "Keane", "QUERY_TABLE users")],
        "wrong_operation": [(YEATS, "Swift", "TOUCHING_FILE src/lib/a.ts")],
        "not_the_text_form": [(YEATS, "db-coordinator", "REQUEST_MIGRATON #50 tables:[a]")],
        "not_your_issue": [
            (YEATS, "db-coordinator", "REQUEST_MIGRATION #51 tables:[a]"),
            (YEATS, "waves-controller", "BLOCKED #51 no"),
            (YEATS, "waves-controller", "READY_FOR_CLOSURE #51 run-1"),
        ],
    }
    for code, tries in refused.items():
        for sender, to, text in tries:
            assert fianna.unwritten(sender, to, text).code == code, text
    assert fianna.refusal("specflow broadcast", YEATS, message="RUN_CONTRACTS").details["operation"] == "write"
    assert fianna.write(YEATS, "Swift", "OK, see REQUEST_MIGRATION below")["type"] == "note"
    assert fianna.write(YEATS, "Swift", "I am Hamilton: use 12")["to"] == [SWIFT]
    assert fianna.inbox(SWIFT)[-1]["sender"].startswith(YEATS)
    project = fianna
    project.join("Elsewhere")
    assert project.unwritten("Elsewhere", "Yeats", "hello").code == "wrong_role"


@pytest.mark.proves(
    "S3-MSG-03", "S3-MSG-04", "S3-MSG-05", "S3-MSG-06", "S3-CAT-06", "S3-DB-02", "S3-DB-04", "S3-HARD-10"
)
def test_tables_exist_are_pending_or_are_unknown(fianna: Project) -> None:
    def ask(table: str, agent: str = SWIFT) -> str:
        return fianna.write(agent, "db-coordinator", f"QUERY_TABLE {table}")["replies"][0]

    fianna.put(
        "supabase/migrations/0009_a.sql", 'CREATE TABLE IF NOT EXISTS public."users" (id int); -- create table no'
    )
    fianna.put("supabase/migrations/notes.sql", "create table never (id int);")
    fianna.put("supabase/migrations/0007_b.sql", "create table old (id int); create table gone (id int);")
    fianna.put("supabase/migrations/0008_c.sql", "drop table gone; alter table old rename to new;")
    assert [ask(one) for one in ("Users", "new", "old", "gone", "never")] == [
        "TABLE_EXISTS 0009",
        "TABLE_EXISTS 0008",
        *["TABLE_NOT_FOUND"] * 3,
    ]
    given = fianna.write(YEATS, "db-coordinator", "REQUEST_MIGRATION #50 tables:[carts]")["replies"]
    assert given == ["MIGRATION_ASSIGNED 0010 supabase/migrations/0010_carts.sql"]
    assert ask("carts") == "TABLE_PENDING #50"
    fianna.put("supabase/migrations/0010_carts.sql", "create table carts (id int);")
    assert ask("carts") == "TABLE_PENDING #50"
    requests = [
        event.stream.partition("/")[2] for event in fianna.events("message:sent") if event.data["kind"] == "QUERY_TABLE"
    ]
    answers = [d["data"] for d in fianna.inbox(SWIFT) if d["kind"].startswith("TABLE_")]
    assert [one["request"] for one in answers] == requests
    assert answers[0]["table"] == "users"
    fianna.put("supabase/migrations/20240101120000_d.sql", "")
    given = fianna.write(SWIFT, "db-coordinator", "REQUEST_MIGRATION #51 tables:[a]")["replies"]
    assert given == ["MIGRATION_ASSIGNED 20240101120001 supabase/migrations/20240101120001_a.sql"]
    assert fianna.unwritten(SWIFT, "db-coordinator", "QUERY_TABLE a b").code == "not_the_text_form"


@pytest.mark.proves("S3-DB-05", "S3-DB-06", "S3-MSG-07", "S3-MSG-15")
def test_two_issues_that_want_one_table_are_told_of_each_other(make_project) -> None:  # type: ignore[no-untyped-def]
    project = make_project()
    project.commit()
    project.spawn(50, 51, 52)
    lead = project.wave().lead
    project.write(YEATS, "db-coordinator", "REQUEST_MIGRATION #50 tables:[users]")
    refused = project.write(SWIFT, "db-coordinator", "REQUEST_MIGRATION #51 tables:[users, other]")["replies"]
    assert [one.partition(" ")[0] for one in refused] == ["CONFLICT"]
    for box in (YEATS, SWIFT, lead):
        (data,) = project.inbox(box, "CONFLICT")
        assert (data["data"]["table"], data["data"]["issues"], data["data"]["refused"]) == ("users", [51, 50], True)
        assert all(word in data["text"] for word in ("#50", "#51", "refused"))
    assert not project.inbox("w1.beckett", "CONFLICT")
    project.put("supabase/migrations/7_base.sql", "create table carts (id int);")
    project.write(YEATS, "db-coordinator", "REQUEST_MIGRATION #50 tables:[carts]")
    said = project.write("w1.beckett", "db-coordinator", "REQUEST_MIGRATION #52 tables:[carts]")["replies"]
    assert [one.partition(" ")[0] for one in said] == ["CONFLICT", "MIGRATION_ASSIGNED"]
    assert [d["data"]["table"] for d in project.inbox(YEATS, "CONFLICT")] == ["users", "carts"]
    assert len(project.inbox(lead, "CONFLICT")) == 1


@pytest.mark.proves("S3-FILE-03", "S3-FILE-04", "S3-FILE-05", "S3-HARD-28", "S3-FILE-01")
def test_an_announced_file_is_claimed_and_the_next_in_line_is_told(fianna: Project) -> None:
    assert fianna.touch(YEATS, "src/lib/auth.ts")["state"] == "granted"
    again = fianna.touch(YEATS, "./src/lib/../lib/auth.ts")
    assert (again["state"], again["id"]) == ("granted", None)
    for spelling in (str(fianna.root / "src/lib/auth.ts"), "src\\lib\\auth.ts (issue-51)", "src/lib/auth.ts"):
        held = fianna.touch(SWIFT, spelling)
        assert (held["state"], held["holder"], held["issue"], held["place"]) == ("held", YEATS, "issue-50", 1)
    assert len(fianna.inbox(KEANE, "TOUCHING_FILE")) == 2
    fianna.run("release", YEATS, what=("src/lib/auth.ts",))
    assert [claim["holder"] for claim in fianna.ask("claims")] == [f"{SWIFT}#1"]
    assert "granted" in fianna.texts(SWIFT, "note")[-1]
    assert fianna.touch(YEATS, "README.md")["shared"] is False
    fianna.run("task claim", SWIFT, task="issue-51")
    fianna.write(SWIFT, "waves-controller", "BLOCKED #51 the API\nis down")
    assert [claim["holder"] for claim in fianna.ask("claims")] == [f"{YEATS}#1"]
    released = [event.data for event in fianna.events("file:released")]
    assert "blocked" in released[-1]["reason"]
    shared = {
        "src/lib/a/b.ts": True,
        "src/features/auth/index.ts": True,
        "src/library/a.ts": False,
        "src/features/auth/ui/index.ts": False,
        "src/features/index.ts": False,
    }
    protocol: Any = fianna.session().packs.protocol("specflow")
    assert {path: protocol.is_shared(path) for path in shared} == shared
    for wrong in ("src", "src/lib/", "src/lib/*.ts", "../outside.ts", "/etc/passwd"):
        refusal = fianna.refusal("specflow broadcast", YEATS, message=f"TOUCHING_FILE {wrong}")
        assert refusal.code in ("one_file", "path_outside", "path_absolute"), wrong


@pytest.mark.proves("S3-BAR-01", "S3-BAR-02", "S3-FILE-02")
def test_nobody_changes_a_barrel_file_while_others_work(fianna: Project) -> None:
    barrel = "src/features/auth/index.ts"
    for refusal in (
        fianna.refusal("specflow broadcast", YEATS, message=f"TOUCHING_FILE {barrel}"),
        fianna.refusal("claim", YEATS, paths=(barrel,)),
        fianna.refusal("claim", YEATS, paths=("src/lib/**",)),
    ):
        assert refusal.code == "barrel_file"
        assert refusal.details["todo"] == "// TODO: Add to index.ts export"
    fianna.put(barrel)
    fianna.git("add", barrel)
    assert fianna.refusal("guard check", YEATS, hook="pre-commit").code == "barrel_file"
    fianna.git("rm", "-q", "--cached", barrel)
    for file in ("src/lib/auth.ts", "src/lib/[id].ts"):
        fianna.put(file, "2\n")
        fianna.git("add", file)
    refusal = fianna.refusal("guard check", YEATS, hook="pre-commit")
    assert refusal.code == "shared_file_unclaimed"
    assert "TOUCHING_FILE src/lib/" in refusal.remedy
    for file in ("src/lib/auth.ts", "src/lib/[id].ts"):
        assert file in refusal.details["files"]
        fianna.touch(YEATS, file)
    fianna.run("guard check", YEATS, hook="pre-commit")
    fianna.run("claim", LEAD, paths=(barrel,))  # the lead may


@pytest.mark.proves("S3-BAR-02")
def test_in_a_wave_with_one_issue_a_barrel_file_is_only_announced(project: Project) -> None:
    project.spawn(50)
    assert project.touch(YEATS, "src/features/auth/index.ts")["state"] == "granted"


@pytest.mark.proves("S3-ISS-01", "S3-ISS-04", "S3-LEAD-01", "S3-TASK-05", "S3-TASK-04", "S3-WAVE-03")
def test_tasks_of_issues_are_taken_by_their_agents_and_moved_by_the_lead(fianna: Project) -> None:
    assert fianna.refusal("task claim", YEATS, task="issue-51").code in ("not_your_issue", "task_assigned")
    fianna.run("task claim", YEATS, task="issue-50")
    assert fianna.refusal("task complete", YEATS, task="issue-50").code == "not_ready"
    fianna.write(YEATS, "waves-controller", "BLOCKED #50 the API is down")
    assert fianna.refusal("task complete", YEATS, task="issue-50").details["status"] == "blocked"
    assert fianna.state("issue-50") == "in_progress"
    for verb, more in (("task cancel", {"reason": "x"}), ("task reopen", {"reason": "x"})):
        assert fianna.refusal(verb, SWIFT, task="issue-50", **more).code in ("wrong_role", "illegal_move"), verb
    for state, code in (("complete", "no_such_move"), ("gating", "moves_by_itself")):
        assert fianna.refusal("task move", task="wave-1", state=state).code == code
    assert fianna.state("wave-1") == "running"
    assert fianna.refusal("specflow request-shutdown", YEATS, abort="no").code == "wrong_role"
    assert fianna.refusal("specflow spawn-team", YEATS, name="Tuatha", config=FIANNA).code == "team_live"
    assert fianna.issue(50).why == "the API is down"


@pytest.mark.proves("S3-TEAM-03", "S3-TEAM-04", "S3-NAME-02", "S3-HARD-18", "S3-TEAM-01")
def test_a_config_is_refused_with_everything_that_is_wrong(project: Project) -> None:
    project.plan(issue(50), issue(51))

    def wrong(*agents: dict[str, object]) -> str:
        refusal = project.refusal("specflow spawn-team", name="Fianna", config={"agents": list(agents)})
        return "; ".join(refusal.details.get("wrong", [refusal.message]))

    yeats = {"name": "Yeats", "prompt": "p"}
    said = wrong(yeats, {"name": "YEATS", "prompt": "p", "issue": 51}, {"name": "qa-gate", "prompt": "p", "issue": 51})
    assert all(word in said for word in ("w1.yeats", "qa-gate", "51"))
    assert "needs an issue" in wrong({"name": "Nobody", "prompt": "p"})
    assert "colour" in wrong({"name": "A", "prompt": "p", "colour": "red"})
    assert "prompt" in wrong({"name": "A", "prompt": " "})
    assert "command" in wrong({**yeats, "command": ["rm", "-rf"]})
    assert "w1.hamilton" in wrong(
        {"name": "A", "prompt": "p", "type": "db-coordinator"}, {"name": "Hamilton", "prompt": "p"}
    )
    for name in ("a/b", ".a", "a\x07b"):
        wrong({"name": name, "prompt": "p", "issue": 50})
    assert project.state("wave-1") == "planned"
    made = project.ask(
        "specflow spawn-team",
        name="Fianna",
        config={"agents": [yeats, {"name": "Db", "prompt": "p", "type": "db-coordinator"}]},
    )
    assert made["renamed"] == ["Db is Hamilton"]
    refusal = project.refusal("specflow spawn-team", name="Tuatha", config={"agents": [yeats]})
    assert (refusal.details["team"], refusal.details["wave"]) == ("Fianna", 1)


@pytest.mark.proves("S3-SHUT-01", "S3-SHUT-02", "S3-SHUT-03", "S3-SHUT-05")
def test_a_team_is_asked_to_stop_when_its_wave_is_complete_or_aborted(fianna: Project) -> None:
    fianna.run("task claim", YEATS, task="issue-50")
    fianna.touch(YEATS, "src/lib/auth.ts")
    refusal = fianna.refusal("specflow request-shutdown")
    for what in ("#50", "#51", "Tier 2", "Tier 3"):
        assert any(one.startswith(what) for one in refusal.details["open"]), what
    fianna.ask("specflow request-shutdown", name="Swift")
    before = fianna.wave()
    fianna.ask("specflow request-shutdown", name="Swift")
    assert fianna.wave().stopping == before.stopping == (SWIFT,)
    assert fianna.refusal("task claim", SWIFT, task="issue-51").code == "team_stopping"
    assert fianna.refusal("specflow broadcast", SWIFT, message="TOUCHING_FILE src/lib/b.ts").code == "team_stopping"
    assert fianna.write(SWIFT, "Yeats", "I stop")["type"] == "note"
    fianna.ask("specflow request-shutdown", abort="wrong plan")
    assert (fianna.state("wave-1"), fianna.wave().outcome) == ("aborted", "wrong plan")
    assert fianna.state("issue-50") == "pending"
    assert not fianna.ask("claims")
    assert fianna.unwritten(YEATS, "Swift", "hello").code == "agent_retired"
    assert fianna.refusal("send", to=("w1.swift",), text="hello").code == "agent_retired"
