"""A second pack uses every seam otherwise than the first, and works in every verb without a line changed elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from moot import Workspace
from moot.api.protocol.loading import check_for_clashes
from moot.core.errors import MootError, Refused, Unknown, Usage
from tests.kit.packs import SURFACES, load, wrong_moves
from tests.packs.conftest import DESK, repository, settings
from tests.packs.desk.protocol import Desk

QUESTION = {"case": "case-1", "subject": "It hums", "product": "kettle"}
Crew = dict[str, Workspace]


def ask(crew: Crew, **more: object) -> str:
    return crew["asker"].send(type="question", data={**QUESTION, **more}).id


def states(workspace: Workspace) -> dict[str, str]:
    return {task.id: task.state for task in workspace.board(all=True).tasks}


def command(root: Path, *words: str, agent: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **({"MOOT_AGENT": agent} if agent else {"MOOT_PERSON": "1"})}
    return subprocess.run(
        [sys.executable, "-m", "moot", *words],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# Messages


def test_anybody_may_ask_and_the_question_creates_a_case(crew: Crew) -> None:
    ask(crew, details="All night.")
    task = crew["clerk"].task_show("case-1").task
    assert (task.title, task.body, task.state) == ("It hums", "All night.", "asked")
    assert (task.lifecycle, task.extra) == ("desk/case", {"product": "kettle"})
    (letter,) = crew["clerk"].inbox().new
    assert (letter.type, letter.task) == ("question", "case-1")


def test_all_defects_are_named_at_once(crew: Crew) -> None:
    with pytest.raises(Refused) as caught:
        ask(crew, subject="", product="lamp")
    assert [defect["path"] for defect in caught.value.details["defects"]] == ["subject", "product"]


def test_a_message_for_several_goes_to_each_expert_and_to_the_clerks_mailbox(crew: Crew) -> None:
    ask(crew)
    crew["clerk"].emit("call:taken", data={"case": "case-1"})
    sent = crew["clerk"].send(type="escalation", data={"case": "case-1", "why": "I do not know."})
    assert set(sent.to) == {"Ed", "@clerk"}
    task = crew["clerk"].task_show("case-1").task
    assert (task.state, task.holder, task.setbacks[-1].reason) == ("escalated", "Carla#1", "I do not know.")


def test_an_equal_message_once_more_changes_nothing_and_another_one_is_refused(crew: Crew) -> None:
    ask(crew)
    crew["clerk"].task_claim("case-1")
    said = {"case": "case-1", "why": "Too hard."}
    crew["clerk"].send(type="escalation", data=said)
    assert crew["clerk"].send(type="escalation", data=said).repeated
    with pytest.raises(Refused, match="cannot escalate"):
        crew["clerk"].send(type="escalation", data={**said, "why": "Still too hard."})


def test_an_answer_goes_to_the_one_who_asked_and_settles_the_question(crew: Crew) -> None:
    asked = ask(crew)
    crew["clerk"].task_claim("case-1")
    answer = crew["clerk"].send(type="advice", data={"case": "case-1", "text": "Descale it."})
    assert answer.to == ("Ann",)
    assert states(crew["asker"]) == {"case-1": "closed"}
    kinds = {(letter.type, letter.thread == asked) for letter in crew["asker"].inbox().new}
    assert kinds == {("advice", True), ("note", False)}  # the other one is the reaction's thanks
    assert crew["asker"].overdue() == []


@pytest.mark.parametrize("case", [None, 7, "", ["case-1"]])
def test_what_moves_a_task_has_to_name_it(desk: Workspace, crew: Crew, case: object) -> None:
    ask(crew)
    data = {"text": "Hm."} if case is None else {"text": "Hm.", "case": case}
    for say in (
        lambda: crew["clerk"].send(type="advice", data=data),
        lambda: crew["clerk"].emit("call:taken", data=data),
    ):
        with pytest.raises(Refused) as caught:
            say()
        assert caught.value.code == "bad_message"
        assert [defect["path"] for defect in caught.value.details["defects"]] == ["case"]
    assert [event.data["kind"] for event in desk.log(type="message:sent")] == ["question"]


def test_what_answers_nothing_is_refused(desk: Workspace, crew: Crew) -> None:
    desk.task_add("Nobody asked", id="case-1", lifecycle="desk/case")
    crew["clerk"].task_claim("case-1")
    with pytest.raises(Unknown, match="there is none to answer"):
        crew["clerk"].send(type="advice", data={"case": "case-1"})


def test_a_thread_says_what_is_answered(crew: Crew) -> None:
    asked = ask(crew)
    ask(crew, case="case-2")
    crew["clerk"].task_claim("case-1")
    answer = crew["clerk"].send(type="advice", data={"case": "case-1"}, thread=asked)
    assert answer.thread == asked
    with pytest.raises(Unknown, match="no message"):
        crew["clerk"].send(type="advice", data={"case": "case-2"}, thread="m-nothing")


@pytest.mark.parametrize("name", ["desk/notice", "desk/question"])
def test_a_type_can_always_be_written_with_its_pack(crew: Crew, name: str) -> None:
    sender = crew["clerk"]
    if name == "desk/question":
        assert sender.send(type=name, data=QUESTION).to == ("@clerk",)
    else:
        sent = sender.send(type=name, data={"text": "Closed on Friday."})
        assert set(sent.to) == {"Ed", "Ann"}
        (event,) = sender.log(type="message:sent")
        assert event.data["data"]["type"] == "notice"
        assert "saidAt" in event.data["data"]


def test_a_role_that_may_not_send_it_is_named(crew: Crew) -> None:
    with pytest.raises(Refused) as caught:
        crew["asker"].send(type="desk/notice", data={})
    assert caught.value.code == "wrong_role"


def test_a_role_that_no_pack_has_is_warned_of(desk: Workspace) -> None:
    said = command(Path(desk.root), "join", "Zoe", "--role", "clrk", agent="Zoe")
    assert said.returncode == 0
    assert "No active pack has the role 'clrk'. Did you mean clerk?" in said.stderr
    assert "No active pack" not in command(Path(desk.root), "join", "Yan", "--role", "Clerk", agent="Yan").stderr


# Events


def test_an_event_of_a_family_moves_the_case(crew: Crew) -> None:
    ask(crew)
    assert crew["clerk"].emit("call:returned", data={"case": "case-1"}).type == "task:started"
    assert states(crew["clerk"]) == {"case-1": "with_clerk"}
    with pytest.raises(Refused, match="Only the clerk can send"):
        crew["asker"].emit("call:taken", data={"case": "case-1"})


def test_a_bound_event_that_moves_nothing_is_stored_as_it_was_said(crew: Crew) -> None:
    said = crew["clerk"].emit("desk:opened", data={"counter": 3})
    (event,) = crew["clerk"].log(type="desk:opened")
    assert (said.type, event.data, event.stream) == ("desk:opened", {"counter": 3}, "topic/desk")


# Lifecycles


@pytest.mark.parametrize("life", load(DESK, Desk).lifecycles, ids=lambda life: life.name)
def test_every_pair_of_state_and_verb_does_what_the_edges_say(life) -> None:
    assert wrong_moves(life) == []


def test_a_verb_of_the_packs_own_is_given_to_task_move(desk: Workspace, crew: Crew) -> None:
    desk.task_add("Order tea", id="t-1", lifecycle="desk")
    asker = crew["asker"]
    asker.task_claim("t-1")
    with pytest.raises(Refused) as caught:
        asker.task_move("t-1", "park")
    assert "moot task move t-1 park --reason" in caught.value.remedy
    assert asker.task_move("t-1", "park", reason="No money.").holder == "Ann#1"
    (event,) = asker.log(type="task:moved")
    assert (event.data["verb"], event.data["flags"]) == ("park", ["parked_often: once more"])
    assert desk.task_move("t-1", "hand_over", owner="Ed").holder == "Ed#1"
    with pytest.raises(Refused) as caught:
        desk.task_move("t-1", "polish")
    assert "its verbs are claim, park" in caught.value.remedy


def test_the_attempts_of_the_pack_are_not_those_of_the_workspace(desk: Workspace, crew: Crew) -> None:
    desk.task_add("Order tea", id="t-1", lifecycle="desk")
    crew["asker"].task_claim("t-1")
    crew["asker"].task_submit("t-1")
    with pytest.raises(Refused) as caught:
        crew["expert"].task_reject("t-1", reason="Green tea.")
    assert (caught.value.code, caught.value.details["limit"]) == ("attempts_exhausted", 1)


def test_moot_mails_about_reviews_that_no_message_of_the_pack_carries(desk: Workspace, crew: Crew) -> None:
    assert [life.carried for life in load(DESK, Desk).lifecycles] == [False, False]
    desk.task_add("Order tea", id="t-1", lifecycle="desk")
    crew["asker"].task_claim("t-1")
    crew["asker"].task_submit("t-1")
    crew["expert"].task_approve("t-1")
    told = [(event.data["kind"], event.data["to"]) for event in desk.log(type="message:sent")]
    assert told == [("note", ["Carla", "Ed"]), ("note", ["Ann"])]
    ask(crew)
    shown = json.loads((Path(desk.root) / ".desk" / "questions.json").read_text())
    assert [entry["case"] for entry in shown["items"]] == ["case-1"]


def test_moot_does_not_mail_about_reviews_that_a_message_of_the_pack_carries(site: Path) -> None:
    """The same pack, once the advice of an expert is what hands a task in."""
    file = site / "helpdesk" / "pack.toml"
    file.write_text(file.read_text().replace('moves = "resolve"', 'moves = "submit"'))
    (life, _) = load(site / "helpdesk", Desk).lifecycles
    assert life.carried


# What only code can do


def test_reactions_and_closers_are_in_the_same_commit(crew: Crew) -> None:
    ask(crew)
    crew["clerk"].task_claim("case-1")
    crew["clerk"].send(type="advice", data={"case": "case-1"})
    (counted,) = crew["clerk"].log(type="desk:counted")
    same = [event.type for event in crew["clerk"].log(limit=50) if event.commit == counted.commit]
    assert {"task:moved", "message:sent", "desk:counted"} <= set(same)
    assert same.count("message:sent") == 2  # the answer, and the thanks
    assert counted.data == {"cases": ["task/case-1"]}


def test_settings_and_facts_reach_the_code(crew: Crew) -> None:
    with pytest.raises(Refused, match="Hello! That is too long"):
        ask(crew, subject="x" * 21)
    ask(crew, subject="x" * 20)


def test_addresses_guards_and_findings_of_the_pack(desk: Workspace, crew: Crew) -> None:
    assert crew["asker"].send("front desk", "Hello?").to == ("@clerk",)
    with pytest.raises(Refused, match="Only clerks"):
        crew["asker"].claim("vault/gold.txt")
    crew["clerk"].claim("vault/gold.txt")
    assert "pack desk" in {finding.check for finding in Workspace.doctor(desk.root)}
    hours = Path(desk.root) / ".desk" / "hours.json"
    hours.write_text('{\n  "open": "never"\n}\n')
    (one,) = desk.pack_check().problems
    assert (one.file, one.line, one.column, one.pack) == (".desk/hours.json", 2, 11, "desk")
    with pytest.raises(Refused, match="the desk is closed"):
        Workspace.doctor(desk.root)
    hours.write_text('{\n  "open": "never"')
    (one,) = desk.pack_check().problems
    assert (one.line, one.column) == (2, 18)
    assert "ends in the middle" in one.message or "delimiter" in one.message


def test_a_check_that_fails_is_a_problem(desk: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["helpdesk.protocol"].Desk, "check", broken)
    (one,) = desk.pack_check().problems
    assert "the pack desk failed in `check`" in one.message
    assert desk.pack_check().files


# Code that fails


def broken(*_: object) -> None:
    raise KeyError("subject")


@pytest.mark.parametrize("part", ["hear", "observe"])
def test_an_entry_on_which_the_code_of_the_pack_fails_is_held(
    desk: Workspace, crew: Crew, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(sys.modules["helpdesk.protocol"].Desk, part, broken)
    questions = Path(desk.root) / ".desk" / "questions.json"
    questions.write_text(json.dumps({"items": [{"type": "question", "case": "c-2", "subject": "New"}]}))
    assert crew["clerk"].board(all=True).tasks == ()
    (held,) = desk.held()
    assert held.code == "pack_failed"
    assert f"the pack desk failed in `{part}` (test_desk.py, line " in held.reason
    assert "KeyError: 'subject'" in held.reason
    with pytest.raises(Refused) as caught:
        ask(crew)
    assert (caught.value.code, caught.value.details["pack"]) == ("pack_failed", "desk")


def test_a_reaction_that_fails_takes_back_what_it_follows_from(
    desk: Workspace, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["helpdesk.protocol"].Desk, "reactions", (broken,))
    with Workspace(desk.root, person=True) as person:
        with pytest.raises(Refused) as caught:
            person.task_add("One")
        assert caught.value.details["part"] == "reactions"
        assert person.board(all=True).tasks == ()


def test_a_closer_that_fails_leaves_the_file_as_it_is_and_blocks_no_reader(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["helpdesk.protocol"].Desk, "closers", (broken,))
    questions = Path(desk.root) / ".desk" / "questions.json"
    written = json.dumps({"items": [{"type": "question", "case": "c-2", "subject": "New"}]})
    questions.write_text(written)
    with Workspace(desk.root, person=True) as person:
        assert person.board(all=True).tasks == ()
        assert questions.read_text() == written
        monkeypatch.undo()
    with Workspace(desk.root, person=True) as person:
        assert states(person) == {"c-2": "asked"}


@pytest.mark.parametrize("found", [None, ["a text"], [3], 7])
def test_doctor_says_that_the_check_of_a_pack_is_wrong(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch, found: object
) -> None:
    monkeypatch.setattr(sys.modules["helpdesk.protocol"].Desk, "check", lambda _: found)
    with pytest.raises(Refused) as caught:
        Workspace.doctor(desk.root)
    said = {one["check"]: one["message"] for one in caught.value.details["findings"]}
    assert "check" in said["pack desk"]
    assert said["settings"].endswith("; packs: desk")


# Files


def test_its_files_have_its_own_words(desk: Workspace, crew: Crew) -> None:
    questions = Path(desk.root) / ".desk" / "questions.json"
    assert json.loads(questions.read_text()) == {"items": [], "seenAt": None}
    ask(crew)
    (item,) = json.loads(questions.read_text())["items"]
    assert list(item) == ["type", "case", "subject", "product"]
    questions.write_text(json.dumps({"items": [item, {"type": "question", "case": "c-2", "subject": "New"}]}))
    assert crew["clerk"].task_show("c-2").task.state == "asked"


def test_a_document_is_rendered_and_taken_back(desk: Workspace, crew: Crew) -> None:
    rota = Path(desk.root) / ".desk" / "rota.json"
    desk.mirror()
    assert json.loads(rota.read_text()) == {"today": "nobody"}
    rota.write_text(json.dumps({"today": "Carla"}))
    desk.mirror()
    assert [event.by for event in desk.log(type="document:changed")] == ["role:clerk"]


# Over every surface, and in every verb


@pytest.mark.parametrize("surface", SURFACES)
def test_a_question_is_the_same_over_every_surface(desk: Workspace, crew: Crew, surface: str) -> None:
    root = Path(desk.root)
    if surface == "python":
        ask(crew)
    elif surface == "cli":
        ran = command(root, "send", "--type", "question", "--data", json.dumps(QUESTION), agent="Ann")
        assert ran.returncode == 0, ran.stderr
    else:
        content = {"items": [{"type": "question", **QUESTION}], "seenAt": None}
        (root / ".desk" / "questions.json").write_text(json.dumps(content))
        desk.mirror()
    (event,) = desk.log(type="message:sent")
    assert event.data["data"] == {"type": "question", **QUESTION}
    assert (event.data["to"], states(desk)) == (["@clerk"], {"case-1": "asked"})


def test_every_way_to_look_understands_it(desk: Workspace, crew: Crew) -> None:
    asked = ask(crew)
    crew["clerk"].emit("call:taken", data={"case": "case-1"})
    crew["clerk"].send(type="escalation", data={"case": "case-1", "why": "Ask Ed."})
    root = Path(desk.root)
    for words in (
        ("board",), ("task", "show", "case-1"), ("log",), ("explain", "case-1"), ("thread", asked), ("agents",),
        ("mailbox", "@clerk"), ("instructions", "case-1"), ("search", "hums"), ("verify",), ("doctor",), ("needs-me",),
        ("export", "-"), ("log", "--at", "3"),
    ):  # fmt: skip
        ran = command(root, *words)
        assert ran.returncode in (0, 1), (words, ran.stderr)
        assert "Traceback" not in ran.stderr
    assert "escalate" in command(root, "explain", "case-1").stdout


def test_activation_is_recorded_once_per_change(desk: Workspace, crew: Crew) -> None:
    (first,) = desk.log(type="pack:activated")
    assert (first.data["name"], first.data["version"], first.stream) == ("desk", "2.1", "pack/desk")
    assert first.commit == desk.log(after=0, limit=1)[0].commit  # that of the first thing that happened
    ask(crew)
    assert len(desk.log(type="pack:activated")) == 1


# As a folder of a repository


def test_a_folder_brings_its_data_and_none_of_its_code(folder: Path) -> None:
    with Workspace.init(folder, person=True) as person:
        before = set(sys.modules)
        person.send(type="question", data={**QUESTION, "subject": "x" * 30})  # the code would refuse it
        assert states(person) == {"case-1": "asked"}
        assert [name for name in set(sys.modules) - before if "desk" in name] == []
        assert (folder / ".desk" / "questions.json").exists()


def test_a_changed_folder_is_activated_anew(folder: Path) -> None:
    with Workspace.init(folder, person=True) as person:
        person.task_add("One")
    file = folder / "protocols" / "desk" / "pack.toml"
    file.write_text(file.read_text().replace('version = "2.1"', 'version = "2.2"'))
    with Workspace(folder, person=True) as person:
        person.task_add("Two")
        versions = [event.data["version"] for event in person.log(type="pack:activated")]
    assert sorted(versions) == ["2.1", "2.2"]


def test_all_problems_of_a_folder_are_named_with_their_lines(folder: Path) -> None:
    file = folder / "protocols" / "desk" / "pack.toml"
    text = file.read_text().replace('to = "clerk"', 'to = "clrk"').replace('to = "@all"', 'to = "@al"')
    file.write_text(text)
    with pytest.raises(Usage) as caught:
        Workspace.init(folder, person=True)
    assert caught.value.code == "bad_pack"
    lines = text.splitlines()
    found = {problem["key"]: lines[problem["line"] - 1] for problem in caught.value.details["problems"]}
    assert found == {'messages["desk/notice"].to': 'to = "@al"', "messages.question.to": 'to = "clrk"'}


@pytest.mark.parametrize("path", ["/tmp", "../elsewhere", "linked", ""])
def test_a_folder_outside_of_the_repository_is_refused(tmp_path: Path, folder: Path, path: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "pack.toml").write_text((DESK / "pack.toml").read_text())
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    settings(folder, f'packs = ["desk"]\n\n[pack.desk]\npath = "{path}"\n')
    with pytest.raises(Usage) as caught:
        Workspace.init(folder, person=True)
    assert caught.value.code == "bad_settings"
    assert "line 4" in caught.value.message


def test_a_file_that_is_a_link_out_of_the_folder_or_too_large_is_refused(tmp_path: Path, folder: Path) -> None:
    schema = folder / "protocols" / "desk" / "messages" / "question.json"
    outside = tmp_path / "secret.json"
    outside.write_text("{}")
    schema.unlink()
    schema.symlink_to(outside)
    (folder / "protocols" / "desk" / "messages" / "escalation.json").write_text(" " * (1 << 20) + "{}")
    with pytest.raises(Usage) as caught:
        Workspace.init(folder, person=True)
    said = {problem["key"]: problem["text"] for problem in caught.value.details["problems"]}
    assert "points out of the folder" in said["messages.question.schema"]
    assert "larger than 1 MiB" in said["messages.escalation.schema"]


def test_settings_of_a_pack_are_checked_with_their_lines(folder: Path) -> None:
    settings(folder, 'packs = ["desk"]\n\n[pack.desk]\npath = "protocols/desk"\nlargest = 101\ngreetin = "Hi"\n')
    with pytest.raises(Usage) as caught:
        Workspace.init(folder, person=True)
    assert caught.value.code == "bad_settings"
    assert [(one["line"], one["key"]) for one in caught.value.details["problems"]] == [
        (5, "pack.desk.largest"), (6, "pack.desk.greetin"),
    ]  # fmt: skip
    assert "did you mean greeting?" in caught.value.message


# Beside another


def test_two_packs_with_the_same_role_and_type_are_refused_together(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    for name in ("one", "two"):
        (root / name).mkdir()
        (root / name / "pack.toml").write_text(
            f'name = "{name}"\ntitle = "{name}"\n[roles.clerk]\ndelivery = "one"\n[messages.ping]\nto = "clerk"\n'
            f'[mirrors.m]\npath = ".{name}/m.json"\nform = "entries"\nmailbox = "@clerk"\ntypes = ["ping"]\n'
        )
    settings(root, 'packs = ["one", "two"]\n[pack.one]\npath = "one"\n[pack.two]\npath = "two"\n')
    with pytest.raises(Usage) as caught:
        Workspace.init(root, person=True)
    assert caught.value.code == "packs_clash"
    assert caught.value.details["clashes"] == [
        "one and two both have the role clerk",
        "one and two both have the message ping",
    ]


def test_two_packs_cannot_have_one_file() -> None:
    pack = load(DESK, Desk)
    other = pack.replace(name="other", roles=(), messages=(), events=())
    with pytest.raises(Usage) as caught:
        check_for_clashes([pack, other])
    assert caught.value.details["clashes"] == [
        "desk and other both have the file .desk/questions.json",
        "desk and other both have the file .desk/rota.json",
    ]


@pytest.mark.parametrize("path", [".env", "README.md", ".other/x.json", ".desk", ".desk/../.env", ".desk/a\\nb"])
def test_a_folder_pack_writes_only_below_a_directory_of_its_name(folder: Path, path: str) -> None:
    (folder / ".env").write_text("SECRET=1\n")
    file = folder / "protocols" / "desk" / "pack.toml"
    file.write_text(file.read_text().replace('".desk/rota.json"', f'"{path}"'))
    with pytest.raises(Usage) as caught:
        Workspace.init(folder, person=True)
    assert {problem["key"] for problem in caught.value.details["problems"]} == {"mirrors.rota.path"}
    assert (folder / ".env").read_text() == "SECRET=1\n"


def test_it_works_beside_the_orchestrator(tmp_path: Path, site: Path) -> None:
    root = repository(tmp_path / "repo")
    with Workspace.init(root, ("orchestrator", "desk"), person=True) as person:
        person.send(type="question", data=QUESTION)
        assert (root / ".desk" / "questions.json").exists()
        assert {event.stream for event in person.log(type="pack:activated")} == {"pack/desk", "pack/orchestrator"}


def test_a_pack_that_is_not_there_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    settings(root, 'packs = ["dsk"]\n')
    with pytest.raises(MootError) as caught:
        Workspace.init(root, person=True)
    assert caught.value.code == "unknown_pack"
    assert "orchestrator" in caught.value.remedy
