"""The kit for packs, used on the pack that moot ships and on the help desk."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moot.core.errors import Usage
from moot.packs import orchestrator
from moot.packs.orchestrator.protocol import Orchestrator
from moot.testing.mixing import Player, mix
from moot.testing.packs import SURFACES, FileAgent, Sample, defects, file_agent, load, pairs, play, samples
from moot.testing.rehearsal import Rehearsal, rehearse
from moot.testing.torture import TORTURES, Subject, torture
from tests.packs.conftest import DESK
from tests.packs.desk.protocol import Desk
from tests.packs.test_orchestrator_messages import SAMPLES

FOLDER = Path(orchestrator.__file__).parent
PACK = load(FOLDER, Orchestrator)
MIRRORS = {mirror.name: mirror for mirror in PACK.mirrors}
(LIFE,) = PACK.lifecycles


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rehearsal]:
    root = tmp_path / "stage"
    root.mkdir()
    generator = rehearse(root, monkeypatch.delenv, "orchestrator")
    rehearsal = next(generator)
    monkeypatch.setenv("MOOT_PERSON", "1")
    yield rehearsal
    next(generator, None)


def assignment(number: int) -> dict[str, Any]:
    return {**SAMPLES["task_assignment"], "taskId": f"task-{number:03}", "title": f"Number {number}"}


@pytest.mark.parametrize(("folder", "code"), [(FOLDER, Orchestrator), (DESK, Desk), (DESK, None)])
def test_a_pack_in_order_has_no_defects(folder: Path, code: type | None) -> None:
    assert defects(folder, code) == ""


def test_defects_are_a_text_for_a_snapshot(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(DESK, broken, ignore=shutil.ignore_patterns("__pycache__"))
    file = broken / "pack.toml"
    file.write_text(
        file.read_text()
        .replace('verb = "claim"\nfrom = "todo"', 'verb = "claim"\nfrom = "to_do"')
        .replace('form = "document"', 'form = "dokument"')
        .replace('default = "Hello"', "default = 7")
        .replace("minimum = 1\n", "minimun = 1\n")
    )
    (broken / "messages" / "escalation.json").write_text('{"type": "object", "patternProperties": {}}')
    assert defects(broken) == (DESK.parent / "broken.txt").read_text()


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("name = ", 1, "Invalid value"),
        ('name = "x"\ntitle = "X"\nroles = 3\n', 3, "roles: expected an object, got 3"),
        ('name = "x"\n', 1, "title is missing"),
        ('name = "core"\ntitle = "X"\n', 1, "is reserved; choose another name"),
        ('name = "x"\ntitle = "X"\n[messages.note]\nto = "@all"\n', 3, "a built-in message type"),
        ('name = "x"\ntitle = "X"\n[messages.m]\nto = "@requester"\n', 4, "requires `answers`"),
        ('name = "x"\ntitle = "X"\n[messages.m]\nto = "@all"\nmoves = "claim"\n', 5, "no verb 'claim'"),
        ('name = "x"\ntitle = "X"\n[messages.m]\nto = "@all"\nschema = "../m.json"\n', 5, "plain relative path"),
        ('name = "x"\ntitle = "X"\n[mirrors.m]\npath = ".git/x"\nform = "entries"\n', 4, "belongs to git"),
        ('name = "x"\ntitle = "X"\n[events."task:done"]\n', 3, "is reserved for moot's own events"),
        ('name = "x"\ntitle = "X"\n[settings.path]\ndefault = 1\n', 3, "other than path"),
        ('name = "x"\ntitle = "X"\n[lifecycle.states]\n[[lifecycle.edges]]\nverb = "a"\n', 4, "from is missing"),
    ],
)
def test_a_defect_has_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    (tmp_path / "pack.toml").write_text(text)
    found = defects(tmp_path).splitlines()
    assert any(one.startswith(f"pack.toml:{line}: ") and said in one for one in found), found


MIRRORED = """name = "x"
title = "X"
[roles.clerk]
delivery = "one"
[roles.guest]
[messages.ping]
to = "clerk"
[messages.pong]
to = "guest"
[mirrors.m]
path = "m.json"
"""


BOX = 'form = "entries"\nmailbox = "@clerk"\n'
FIELDS = "[mirrors.m.fields]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('form = "entries"\nmailbox = "clerk"\n', ["13: mailbox: there is no mailbox 'clerk'; did you mean @clerk?"]),
        ('form = "entries"\nmailbox = "@clrk"\n', ["13: mailbox: there is no mailbox '@clrk'; did you mean @clerk?"]),
        ('form = "entries"\nmailbox = "@guest"\n', ["13: mailbox: @guest has no mailbox of its own: "]),
        (BOX + 'types = ["ping", "pong"]\n', ["14: types[1]: a pong never goes to @clerk"]),
        (
            BOX + FIELDS + 'entry = "x"\nread = 3\ntype = ""\n',
            ["15: fields.entry: there is no field 'entry'; did you mean entries?", "16: fields.read: "],
        ),
        ('form = "entries"\nfields = { read = "seen" }\n', ["13: fields.read: a file that is a list"]),
        (
            'form = "document"\nfields = { author = "clerk", stamp = "at", initial = [] }\n',
            ["13: fields.stamp: ", "13: fields.initial: "],
        ),
        (
            'form = "document"\n' + FIELDS + 'author = "clrk"\nowners = { "/a" = "moot", "/b" = "gst", c = "guest" }\n'
            'keys = { list = "id" }\n',
            [
                "14: fields.author: there is no role 'clrk'",
                "15: fields.owners[\"/b\"]: there is no role 'gst'",
                "15: fields.owners.c: 'c': expected a pointer",
                "16: fields.keys.list: 'list': expected a pointer",
            ],
        ),
    ],
)
def test_every_wrong_field_of_a_mirror_is_named(tmp_path: Path, text: str, said: list[str]) -> None:
    (tmp_path / "pack.toml").write_text(MIRRORED + text)
    found = [line.replace("mirrors.m.", "", 1) for line in defects(tmp_path).splitlines()]
    assert len(found) == len(said), found
    for one, wanted in zip(found, said, strict=True):
        assert one.startswith(f"pack.toml:{wanted}"), found


def test_one_mistake_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "pack.toml").write_text(
        'name = "x"\ntitle = "X"\n[roles.Clerk]\n[messages.m]\nto = "Clerk"\ntask = "t"\n'
        'moves = ["a", "b"]\nreason = "why"\n'
    )
    (found,) = defects(tmp_path).splitlines()
    assert found.startswith("pack.toml:7: messages.m.moves: ")


@pytest.mark.parametrize("noun", ["task", "message", "file"])
def test_an_event_of_moots_own_can_be_bound_only_by_a_pack_with_code(tmp_path: Path, noun: str) -> None:
    (tmp_path / "pack.toml").write_text(
        f'name = "x"\ntitle = "X"\n[events."{noun}:stopped"]\ntask = "t"\ncreates = {{ title = "t" }}\n'
        '[lifecycle.states]\na = { phase = "open" }\nb = { phase = "done" }\n'
        '[[lifecycle.edges]]\nverb = "go"\nfrom = "a"\nto = "b"\nwho = ["anyone"]\n'
    )
    (found,) = defects(tmp_path).splitlines()
    assert "is reserved for moot's own events" in found
    assert defects(tmp_path, Desk) == ""


def test_an_empty_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pack.toml").write_text('name = "x"\ntitle = "X"\n[messages.m]\nto = "@all"\nschema = "m.json"\n')
    assert defects(tmp_path).startswith("pack.toml:5: messages.m.schema: m.json cannot be read")
    (tmp_path / "m.json").write_text("")
    assert defects(tmp_path).startswith("m.json:1: -: this is not valid JSON")


def test_a_folder_without_a_pack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize("pair", pairs(LIFE), ids=str)
def test_a_move_is_made_where_there_is_an_edge_and_nowhere_else(pair) -> None:
    assert pair.tried() in ([pair.edge.target] if pair.edge else ["no_such_move", "task_held"])


def test_samples_come_in_the_order_of_their_names() -> None:
    assert [(sample.name, sample.type) for sample in samples(DESK)] == [("1-question", "question")]


@pytest.mark.parametrize("surface", SURFACES)
def test_the_samples_of_the_protocol_come_to_the_same_over_every_surface(stage: Rehearsal, surface: str) -> None:
    said = [Sample(name=kind, type=kind, data=SAMPLES[kind]) for kind in SAMPLES]
    found = play(stage, PACK, said, surface)
    assert found == [
        {"type": kind, "to": [to], "data": SAMPLES[kind], "state": state}
        for kind, to, state in (
            ("task_assignment", "@developer", "in_progress"),
            ("completion_report", "@team-lead", "awaiting_review"),
        )
    ]


LISTED = """name = "lists"
title = "Lists"
[roles.clerk]
delivery = "one"
[messages.ping]
to = "clerk"
[messages.pong]
to = "clerk"
[mirrors.m]
path = ".lists/m.json"
form = "entries"
mailbox = "@clerk"
types = ["ping", "pong"]
fields = { type = "kind" }
"""


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rehearsal]:
    """A pack whose file is a list, with another key for the type."""
    root = tmp_path / "lists"
    (root / "pack").mkdir(parents=True)
    (root / "pack" / "pack.toml").write_text(LISTED)
    (root / "moot.toml").write_text('packs = ["lists"]\n[pack.lists]\npath = "pack"\n')
    monkeypatch.setenv("MOOT_PERSON", "1")
    generator = rehearse(root, monkeypatch.delenv)
    yield next(generator)
    next(generator, None)


def test_a_file_that_is_a_list_is_played(lists: Rehearsal) -> None:
    pack = load(Path(lists.path) / "pack")
    said = [Sample(name="1", type="ping", data={"type": "ping", "n": 0})]
    (stored,) = play(lists, pack, said, "file")
    assert (stored["to"], stored["data"]) == (["@clerk"], {"type": "ping", "n": 0})
    agent = FileAgent(lists.path, pack.mirrors[0])
    assert agent.content() == [{"kind": "ping", "n": 0}]
    agent.empty()
    assert agent.listed() == []


def test_a_sample_of_no_type_is_named(lists: Rehearsal) -> None:
    pack = load(Path(lists.path) / "pack")
    with pytest.raises(AssertionError, match="has no type 'pang'"):
        play(lists, pack, [Sample(name="2", type="pang", data={})], "file")


@pytest.mark.parametrize("name", TORTURES)
def test_a_file_that_is_a_list_loses_nothing(lists: Rehearsal, name: str) -> None:
    mirror = load(Path(lists.path) / "pack").mirrors[0]
    torture(lists, mirror, lambda number: {"kind": "ping", "n": number}, name)


def test_a_file_agent_follows_its_script(stage: Rehearsal) -> None:
    stage.person.mirror()
    agent = file_agent(stage.path, MIRRORS["to-developer"], [assignment(1), FileAgent.content, assignment(2)])
    stage.person.mirror()
    assert [entry["taskId"] for entry in agent.content()["messages"]] == ["task-001", "task-002"]


@pytest.mark.parametrize("name", TORTURES)
def test_nothing_is_lost_whatever_happens_to_the_file(stage: Rehearsal, name: str) -> None:
    torture(stage, MIRRORS["to-developer"], assignment, name)


class Queue(Subject):
    """The list of tasks. An entry without an id becomes a task."""

    def add(self, root: str, number: int) -> None:
        content = json.loads(self.read(root).decode("utf-8-sig"))
        content["tasks"].append({"title": f"Number {number}", "number": number})
        self.write(root, json.dumps(content).encode())

    def stored(self) -> int:
        return len(self.rehearsal.person.board(all=True).tasks)

    def shown(self, root: str) -> int:
        content = json.loads(self.read(root))
        return len(content["tasks"]) + len(content["completed"])

    def empty(self, root: str) -> None:
        self.write(root, b'{"tasks": []}')


@pytest.mark.parametrize("name", TORTURES)
def test_no_task_is_lost_or_added_twice_whatever_happens_to_the_queue(stage: Rehearsal, name: str) -> None:
    torture(stage, MIRRORS["queue"], Queue, name)
    assert [held.reason for held in stage.person.held()] == []


class Status(Subject):
    """What the agents are doing. Keys of others are kept in a document."""

    def add(self, root: str, number: int) -> None:
        content = json.loads(self.read(root).decode("utf-8-sig"))
        content.setdefault("developer", {})[f"note-{number}"] = number
        self.write(root, json.dumps(content).encode())

    def stored(self) -> int:
        changes = self.rehearsal.person.log(limit=1000, type="document:changed")
        return sum(pointer.startswith("/developer/note-") for change in changes for pointer in change.data["set"])

    def shown(self, root: str) -> int:
        return sum(key.startswith("note-") for key in json.loads(self.read(root))["developer"])


@pytest.mark.parametrize("name", TORTURES)
def test_nothing_in_the_status_is_lost_or_stored_twice_whatever_happens_to_it(stage: Rehearsal, name: str) -> None:
    torture(stage, MIRRORS["status"], Status, name)
    assert [held.reason for held in stage.person.held()] == []


class Log(Subject):
    """The journal. What others write into it are notes."""

    json = False

    def add(self, root: str, number: int) -> None:
        with open(self.path(root), "ab") as file:
            file.write(f"note {number}\n".encode())

    def stored(self) -> int:
        noted = self.rehearsal.person.log(limit=1000, type="feed:noted")
        return sum(event.data.get("who") != "moot" for event in noted)

    def shown(self, root: str) -> int:
        return sum(line.startswith(b"note ") for line in self.read(root).splitlines())


@pytest.mark.parametrize("name", TORTURES)
def test_no_note_is_lost_or_stored_twice_whatever_happens_to_the_journal(stage: Rehearsal, name: str) -> None:
    torture(stage, MIRRORS["log"], Log, name)
    assert [held.reason for held in stage.person.held()] == []


def test_a_scenario_ends_in_the_same_way_with_every_mix_of_surfaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Iterator[Rehearsal]] = []

    def make() -> Rehearsal:
        root = tmp_path / str(len(made))
        root.mkdir()
        made.append(rehearse(root, monkeypatch.delenv, "orchestrator"))
        rehearsal = next(made[-1])
        monkeypatch.setenv("MOOT_PERSON", "1")
        return rehearsal

    def scenario(cast: Mapping[str, Player]) -> None:
        cast["team-lead"].send("task_assignment", assignment(1))
        assert cast["developer"].read("task_assignment") == [assignment(1)]

    ends = mix(make, PACK, scenario)
    assert len(ends) == len(made) == len(SURFACES) ** 2
    assert {end.tasks[0]["state"] for end in ends.values()} == {"in_progress"}
    for one in made:
        next(one, None)


VALUES = ("3", "true", "[]", "{}", '"x"', "[[]]", "{a=1}", "1979-05-27", "nan", "-1", '"@all"', '["@requester"]')


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 500), st.sampled_from(["drop", "join", *VALUES])), min_size=1, max_size=5))
def test_a_changed_pack_is_loaded_or_refused_and_nothing_else(tmp_path: Path, changes: list[tuple[int, str]]) -> None:
    copy = tmp_path / "changed"
    if not copy.exists():
        shutil.copytree(DESK, copy, ignore=shutil.ignore_patterns("__pycache__"))
    lines = (DESK / "pack.toml").read_text().splitlines()
    for number, change in changes:
        at = number % len(lines)
        if change == "drop":
            del lines[at]
        elif change == "join":
            lines[at] += lines[at - 1]
        elif "=" in lines[at]:
            lines[at] = f"{lines[at].partition('=')[0]}= {change}"
    (copy / "pack.toml").write_text("\n".join(lines))
    for line in defects(copy).splitlines():
        assert re.match(r"(pack\.toml|messages/\w+\.json):\d+: ", line)
