"""What is wrong in a pack is named; and nothing is lost whatever happens to the files of a pack."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moot.core.errors import Usage
from moot.packs import orchestrator
from moot.packs.orchestrator.protocol import Orchestrator
from moot.testing.rehearsal import Rehearsal, rehearse
from tests.kit.packs import defects, load, wrong_moves
from tests.kit.torture import TORTURES, Entries, Subject, torture
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


@pytest.mark.parametrize(("folder", "code"), [(FOLDER, Orchestrator), (DESK, Desk), (DESK, None)])
def test_a_pack_in_order_has_no_defects(folder: Path, code: type | None) -> None:
    assert defects(folder, code) == ""


HEAD = 'name = "x"\ntitle = "X"\n'
LIFE_OF = """[lifecycle.states]
a = { phase = "open" }
b = { phase = "done" }
[[lifecycle.edges]]
verb = "go"
from = "a"
to = "b"
who = ["anyone"]
"""
DEFECTS = DESK.parent / "defects.txt"


def test_every_problem_of_a_pack_is_named_with_line_and_key(tmp_path: Path) -> None:
    """In the samples, `#! key` marks a line with a problem of that key."""
    wrong = []
    for text in DEFECTS.read_text().split("-----\n"):
        (tmp_path / "pack.toml").write_text(text)
        wanted = [f"{n}: {line.partition('#! ')[2]}" for n, line in enumerate(text.splitlines(), 1) if "#!" in line]
        found = [": ".join(line.split(":", 2)[1:])[:200] for line in defects(tmp_path).splitlines()]
        if [re.sub(r":  (\S+): .*", r": \1", line) for line in found] != wanted:
            wrong.append((text, found))
    assert wrong == []


def test_a_field_that_the_schema_of_a_message_does_not_have_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('{"type": "object", "properties": {"case": true, "what": true}}')
    fields = 'task = "cse"\nmoves = "go"\nreason = "why"\norder = ["what.x", "whn"]\n'
    (tmp_path / "pack.toml").write_text(f'{HEAD}[messages.m]\nto = "@all"\nschema = "m.json"\n{fields}{LIFE_OF}')
    found = [line.split(": ")[1] for line in defects(tmp_path).splitlines()]
    assert found == ["messages.m.task", "messages.m.reason", "messages.m.order[1]"]


@pytest.mark.parametrize("noun", ["task", "message", "file"])
def test_an_event_of_moots_own_can_be_bound_only_by_a_pack_with_code(tmp_path: Path, noun: str) -> None:
    (tmp_path / "pack.toml").write_text(
        f'{HEAD}[events."{noun}:stopped"]\ntask = "t"\ncreates = {{ title = "t" }}\n{LIFE_OF}'
    )
    (found,) = defects(tmp_path).splitlines()
    assert "is reserved for moot's own events" in found
    assert defects(tmp_path, Desk) == ""


def test_an_empty_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pack.toml").write_text('name = "x"\ntitle = "X"\n[messages.m]\nto = "@all"\nschema = "m.json"\n')
    (tmp_path / "m.json").write_text("")
    assert defects(tmp_path).startswith("m.json:1: -: this is not valid JSON")


def test_a_folder_without_a_pack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="cannot be read"):
        load(tmp_path)


def test_a_move_is_made_where_there_is_an_edge_and_nowhere_else() -> None:
    assert wrong_moves(LIFE) == []


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


class Pings(Entries):
    def entry(self, number: int) -> dict[str, Any]:
        return {"kind": "ping", "n": number}


@pytest.mark.parametrize("name", TORTURES)
def test_a_file_that_is_a_list_loses_nothing(lists: Rehearsal, name: str) -> None:
    torture(Pings(lists, load(Path(lists.path) / "pack").mirrors[0]), name)
    last = lists.person.log(limit=1000, type="message:sent")[0].data
    assert (last["to"], last["data"]) == (["@clerk"], {"type": "ping", "n": 0})


class Assignments(Entries):
    def entry(self, number: int) -> dict[str, Any]:
        return {**SAMPLES["task_assignment"], "taskId": f"task-{number:03}", "title": f"Number {number}"}


class Queue(Subject):
    """The list of tasks. An entry without an id becomes a task."""

    def add(self, root: str, number: int) -> None:
        self.update(root, lambda file: file["tasks"].append({"title": f"Number {number}", "number": number}))

    def stored(self) -> int:
        return len(self.rehearsal.person.board(all=True).tasks)

    def shown(self, root: str) -> int:
        return len(self.content(root)["tasks"]) + len(self.content(root)["completed"])

    def empty(self, root: str) -> None:
        self.write(root, b'{"tasks": []}')


class Status(Subject):
    """What the agents are doing. Keys of others are kept in a document."""

    def add(self, root: str, number: int) -> None:
        self.update(root, lambda file: file.setdefault("developer", {}).update({f"note-{number}": number}))

    def stored(self) -> int:
        changes = self.events("document:changed")
        return sum(pointer.startswith("/developer/note-") for change in changes for pointer in change.data["set"])

    def shown(self, root: str) -> int:
        return sum(key.startswith("note-") for key in self.content(root)["developer"])


class Log(Subject):
    """The journal. What others write into it are notes."""

    json = False

    def add(self, root: str, number: int) -> None:
        with open(self.path(root), "ab") as file:
            file.write(f"note {number}\n".encode())

    def stored(self) -> int:
        texts = [event.data["text"] for event in self.events("feed:noted") if event.data.get("who") != "moot"]
        return sum(line.startswith("note ") for text in texts for line in text.splitlines())

    def shown(self, root: str) -> int:
        return sum(line.startswith(b"note ") for line in self.read(root).splitlines())


SUBJECTS: dict[str, type[Subject]] = {"to-developer": Assignments, "queue": Queue, "status": Status, "log": Log}


@pytest.mark.parametrize("name", TORTURES)
@pytest.mark.parametrize("file", SUBJECTS)
def test_nothing_is_lost_or_stored_twice_whatever_happens_to_a_file(stage: Rehearsal, file: str, name: str) -> None:
    torture(SUBJECTS[file](stage, MIRRORS[file]), name)
    assert file == "to-developer" or [held.reason for held in stage.person.held()] == []


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
