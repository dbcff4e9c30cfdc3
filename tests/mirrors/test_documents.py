"""The form `document`, in a pack that exists in this file only: owned leaves, keyed lists, foreign keys, deletions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from moot.api.protocol import MirrorSpec, Pack, Packs, Protocol
from moot.api.protocol.form import Form, Rendering, Taken
from moot.api.protocol.source_form import SourceForm, sources
from moot.core.deciders.document import ChangeDocument
from moot.core.errors import Usage
from moot.mirrors.forms import form_of
from moot.mirrors.sync import FileMirrors
from moot.place import worktrees
from moot.views import queries
from moot.wiring import open_workspace
from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.person import AS_A_PERSON

OWNERS = {"/phase": "moot", "/agents/*/state": "scout", "/agents/*/score": "moot"}
FIELDS = {"author": "scout", "owners": OWNERS, "keys": {"/agents": "id"}}
INITIAL = {"phase": "begun", "agents": []}


class Count(Form):
    """How many documents there are. Nothing is taken from the file."""

    def read(self, data):
        return data

    def authors(self, content):  # noqa: ARG002
        return ()

    def take(self, *_):
        return Taken()

    def render(self, store, one):  # noqa: ARG002
        return Rendering(data=f"{len(list(queries.things(store, 'document', 100)))}\n".encode())


class Source(SourceForm):
    """A text that moot only reads."""

    def leaves(self, content, subject):  # noqa: ARG002
        return {"/text": content.decode()}


class Fieldnotes(Protocol):
    forms = {"count": Count, "text": Source}  # noqa: RUF012


def mirror(name: str, **more: object) -> MirrorSpec:
    spec = {"name": name, "pack": "fieldnotes", "path": f"notes/{name}.json", "form": "document", "emptied": "restore"}
    return MirrorSpec(**{**spec, "fields": FIELDS, **more})


class Place:
    """A workspace with the mirrors of a test, and the document `board` among them."""

    def __init__(self, root: Path, *mirrors: MirrorSpec) -> None:
        self.root = root
        if not (root / ".git").exists():
            subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=30)
            Admin(str(root), AS_A_PERSON).create(())
        names = dict.fromkeys(("fieldnotes", *(spec.pack for spec in mirrors)))
        made = [
            Pack(name=name, title=name, mirrors=tuple(m for m in mirrors if m.pack == name), parts=("forms",))
            for name in names
        ]
        packs = Packs(made, Fieldnotes)
        self.call = open_call(str(root), AS_A_PERSON)
        self.workspace = self.call.workspace
        self.workspace.setup = self.workspace.setup.replace(packs=packs, mirrors=FileMirrors(packs))
        self.call.close()
        self.call = self.workspace.call(self.call.caller)

    def sync(self) -> list[str]:
        return [notice.code for notice in self.call.mirrors.sync(self.call)]

    def path(self, name: str = "board") -> Path:
        return self.root / "notes" / f"{name}.json"

    def shown(self, name: str = "board") -> dict[str, object]:
        return json.loads(self.path(name).read_text())

    def write(self, content: object, name: str = "board") -> None:
        self.path(name).parent.mkdir(exist_ok=True)
        self.path(name).write_text(json.dumps(content))

    def change(self, document: str = "fieldnotes.-.board", **leaves: object) -> None:
        """From inside, as a verb or a stage of the pack does it."""
        found = {f"/{name}": value for name, value in leaves.items()}
        command = ChangeDocument(author="moot", set=found, owners=OWNERS)
        self.call.engine.commit("moot", lambda work: work.do("document", document, command))

    def types(self) -> list[str]:
        return [event.type for event in self.call.engine.log.read(0, 1000) if event.stream.startswith("document/")]

    def last(self) -> dict[str, object]:
        return self.call.engine.log.read(0, 1000)[-1].data

    def verify(self) -> None:
        assert self.call.run("verify", {}).result.problems == ()


@pytest.fixture
def place(tmp_path):
    places = []

    def make(*mirrors: MirrorSpec, root: Path = tmp_path) -> Place:
        places.append(Place(root, *mirrors))
        return places[-1]

    yield make
    for made in places:
        made.call.close()
        made.workspace.close()


def test_a_document_begins_with_what_the_pack_says_and_is_opened_by_the_first_change(place):
    here = place(mirror("board", fields={**FIELDS, "initial": INITIAL}))
    assert here.sync() == []
    assert here.shown() == {"phase": "begun", "agents": []}
    assert here.types() == []
    here.write({"phase": "begun", "agents": [{"id": "a", "state": "idle"}]})
    assert here.sync() == []
    assert here.types() == ["document:opened", "document:changed"]
    assert here.shown()["agents"] == [{"id": "a", "state": "idle"}]
    here.verify()


def test_a_document_without_a_beginning_has_no_file_until_somebody_writes_one(place):
    here = place(mirror("board"))
    assert here.sync() == []
    assert not here.path().exists()
    here.write({"phase": "found", "extra": {"kept": True}})
    here.sync()
    assert here.types() == ["document:opened"]
    here.path().unlink()
    here.sync()
    assert here.shown() == {"phase": "found", "extra": {"kept": True}}
    here.verify()


def test_what_belongs_to_another_is_refused_and_written_back(place):
    here = place(mirror("board"))
    here.write({"phase": "one", "agents": [{"id": "a", "state": "idle", "score": 1}]})
    here.sync()
    here.write({"phase": "mine", "agents": [{"id": "a", "state": "busy", "score": 9}], "note": "hello"})
    assert here.sync() == ["change_refused"]
    assert here.shown() == {"phase": "one", "agents": [{"id": "a", "state": "busy", "score": 1}], "note": "hello"}
    events = {event.type: event.data for event in here.call.engine.log.read(0, 100)}
    assert events["document:refused"]["set"] == {"/phase": "mine", "/agents/a/score": 9}
    assert events["document:changed"]["set"] == {"/agents/a/state": "busy", "/note": "hello"}
    here.verify()


def test_changes_of_log_and_file_to_different_leaves_meet(place):
    here = place(mirror("board"))
    here.write({"phase": "one", "agents": [{"id": "a", "state": "idle"}]})
    here.sync()
    here.change(phase="two")
    here.write({"phase": "one", "agents": [{"id": "b", "state": "new"}, {"id": "a", "state": "busy"}]})
    assert here.sync() == []
    assert here.shown()["phase"] == "two"
    assert {agent["id"]: agent["state"] for agent in here.shown()["agents"]} == {"a": "busy", "b": "new"}
    here.verify()


@pytest.mark.parametrize(("wins", "left"), [("log", "inside"), ("file", "outside")])
def test_where_both_changed_the_same_one_wins_and_the_log_has_both(place, wins, left):
    here = place(mirror("board", wins=wins))
    here.write({"note": "before"})
    here.sync()
    here.change(note="inside")
    here.write({"note": "outside"})
    assert here.sync() == ["change_conflicted"]
    assert here.shown() == {"note": left}
    events = {event.type: event.data for event in here.call.engine.log.read(0, 100)}
    conflict = events["document:conflicted"]
    assert (conflict["log"], conflict["file"], conflict["won"]) == ({"/note": "inside"}, {"/note": "outside"}, wins)
    here.verify()


def test_a_file_whose_writer_is_not_known_adds_and_does_not_overwrite(place):
    here = place(mirror("board"))
    here.write({"note": "new"})
    here.sync()
    shutil.rmtree(Path(here.call.place.state) / "mirrors")
    here.write({"note": "old", "more": 1})
    assert here.sync() == ["change_conflicted"]
    assert here.shown() == {"note": "new", "more": 1}


def test_a_copy_with_an_older_stamp_changes_nothing_and_one_with_an_equal_stamp_does(place):
    here = place(mirror("board", fields={**FIELDS, "stamp": "/updatedAt"}))
    old = {"updatedAt": "2026-01-01T00:00:00.000Z", "note": "old"}
    new = {"updatedAt": "2026-01-02T00:00:00.000Z", "note": "new"}
    for content, shown in ((old, old), (new, new), (old, new), ({**new, "note": "x"}, {**new, "note": "x"})):
        here.write(content)
        here.sync()
        assert here.shown() == shown


def test_a_reformatted_file_is_no_change(place):
    here = place(mirror("board"))
    here.write({"a": 1, "agents": [{"id": "x"}, {"id": "y"}]})
    here.sync()
    before = len(here.types())
    here.path().write_text('{"agents":[{"id":"y"},{"id":"x"}],\n"a":1}')
    here.sync()
    assert len(here.types()) == before


def test_an_emptied_file_is_written_again_at_once(place):
    here = place(mirror("board"))
    here.write({"note": "kept"})
    here.sync()
    path, empty = here.path(), here.root / "empty"
    for how in (
        lambda: path.write_bytes(b""),
        lambda: path.write_bytes(b"{}"),
        lambda: (empty.touch(), empty.rename(path)),
    ):
        how()
        assert here.sync() == []
        assert here.shown() == {"note": "kept"}
    assert here.types() == ["document:opened"]


def test_where_the_system_cannot_say_who_writes_an_empty_file_is_filled_after_a_while(place, monkeypatch):
    here = place(mirror("board"))
    here.write({"note": "kept"})
    here.sync()
    monkeypatch.setattr("moot.mirrors.files.open_for_writing", lambda _fd: None)
    here.path().write_bytes(b"")
    assert here.sync() == ["mirror_pending"]
    assert here.path().read_bytes() == b""
    now = here.call.clock.monotonic()
    monkeypatch.setattr(type(here.call.clock), "monotonic", lambda _self: now + 6)
    assert here.sync() == []
    assert here.shown() == {"note": "kept"}
    assert [event.type for event in here.call.engine.log.read(0, 100) if event.type == "file:quarantined"] == []


def test_an_empty_file_that_somebody_is_writing_is_left_alone(place):
    here = place(mirror("board"))
    here.write({"note": "kept"})
    here.sync()
    with open(here.path(), "wb") as file:
        assert here.sync() == ["mirror_pending"]
        file.write(b'{"note": "changed"}')
    here.sync()
    assert here.shown() == {"note": "changed"}


@pytest.mark.parametrize(
    ("missing", "event", "left"),
    [
        ("restore", "document:restored", {**INITIAL, "note": "x"}),
        ("reset", "document:reset", INITIAL),
        ("ignore", None, None),
    ],
)
def test_a_deleted_file_is_restored_reset_or_left_as_the_mirror_says(place, missing, event, left):
    here = place(mirror("board", missing=missing, fields={**FIELDS, "initial": INITIAL}))
    here.write({"note": "x"})
    here.sync()
    before = here.types()
    here.path().unlink()
    here.sync()
    here.sync()
    assert here.types() == [*before, *([event] if event else [])]
    assert (here.shown() if here.path().exists() else None) == left
    here.verify()


@pytest.mark.parametrize("missing", ["restore", "reset"])
def test_a_deleted_directory_resets_nothing_and_is_not_made_again(place, missing):
    here = place(mirror("board", missing=missing, fields={**FIELDS, "initial": INITIAL}))
    here.write({"note": "x"})
    here.sync()
    before = here.types()
    shutil.rmtree(here.path().parent)
    here.sync()
    here.sync()
    assert here.types() == before
    here.call.run("task add", {"title": "The log moves on."})
    here.sync()
    assert not here.path().parent.exists()
    here.path().parent.mkdir()
    here.sync()
    assert here.shown()["note"] == "x"
    assert here.types() == before


def test_a_directory_that_comes_back_with_its_file_shows_what_the_log_got_meanwhile(place):
    here = place(mirror("board", fields={**FIELDS, "initial": INITIAL}))
    here.write({**INITIAL, "note": "x"})
    here.sync()
    folder, aside = here.path().parent, here.root / "aside"
    folder.rename(aside)
    here.sync()
    here.change(phase="on its way")
    here.sync()
    aside.rename(folder)
    assert here.sync() == []
    assert here.shown() == {"phase": "on its way", "agents": [], "note": "x"}
    assert "document:conflicted" not in here.types()


def test_a_template_has_a_document_for_each_file(place):
    here = place(mirror("note", path="notes/{name}.json"))
    here.write({"a": 1}, "one*")
    here.write({"a": 2}, "[two]")
    (here.root / "notes" / "other.txt").write_text("not one of them")
    here.sync()
    assert here.types() == ["document:opened"] * 2
    here.path("one*").unlink()
    here.sync()
    assert here.shown("one*") == {"a": 1}
    here.verify()


@pytest.mark.parametrize("scope", ["workspace", "worktree"])
def test_a_document_belongs_to_one_worktree_or_to_all(place, scope, tmp_path):
    here = place(mirror("board", scope=scope))
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, "commit", "-qm", "x", "--allow-empty"], cwd=here.root, env=env, check=True, timeout=30)
    other = tmp_path.with_name("linked")
    subprocess.run(["git", "worktree", "add", "-q", str(other)], cwd=here.root, env=env, check=True, timeout=30)
    here.write({"note": "x"})
    here.sync()
    there = other / "notes" / "board.json"
    assert there.exists() == (scope == "workspace")
    shutil.rmtree(other)


@pytest.mark.proves("S2-HARD-08")
@pytest.mark.proves("S1-ISS-02")
def test_a_document_is_synced_to_the_disk_before_it_takes_its_place(place, monkeypatch):
    here = place(mirror("board"))
    synced, real = [], os.fsync

    def fsync(fd):
        synced.append((os.readlink(f"/proc/self/fd/{fd}"), "x" in here.path().read_text()))
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    here.write({"note": "w"})
    here.sync()
    here.change(note="x")
    here.sync()
    assert [there for path, there in synced if path.startswith(f"{here.path().parent}/.moot.")][-1:] == [False]
    assert (str(here.path().parent), True) in synced


def test_a_form_of_the_packs_own_is_rendered_and_takes_nothing(place):
    here = place(mirror("board"), mirror("count", path="notes/count.txt", form="count"))
    here.write({"note": "x"})
    here.sync()
    count = here.root / "notes" / "count.txt"
    assert count.read_text() == "1\n"
    before = here.types()
    count.write_text("999\n")
    here.sync()
    assert (count.read_text(), here.types()) == ("1\n", before)


def test_an_unknown_form_is_refused_with_those_that_there_are(place):
    here = place(mirror("board", form="scroll"))
    with pytest.raises(Usage, match=r"'scroll'") as refused:
        here.sync()
    known = "board, count, document, entries, feed, feed-list, line-parts, lines, source, text"
    assert refused.value.remedy == f"Choose one of {known}."


def test_a_content_is_vetted_without_storing_anything(place):
    here = place(mirror("board"))
    form = form_of(here.call.packs.mirrors[0], here.call.packs)
    assert form.vet(b'{"agents": []}') == []
    for agents in (b"[1]", b'[{"id": "a"}, {"id": "a"}]'):
        (defect,) = form.vet(b'{"agents": %s}' % agents)
        assert defect.found == "each item of the list /agents needs a unique text 'id'"
    assert form.vet(b'{"agents": [')
    assert list(form.instances(here.call.engine.read(), worktrees(here.call.place)))
    assert here.types() == []


def test_the_past_of_a_document_can_be_looked_at(place):
    here = place(mirror("board"))
    here.write({"note": "first"})
    here.sync()
    then = here.call.engine.log.head()
    here.write({"note": "second"})
    here.sync()
    with open_workspace(str(here.root), AS_A_PERSON, at=then) as past:
        (document,) = queries.things(past.call(here.call.caller).engine.read(), "document", 10)
    assert document.leaves == {"/note": "first"}


def test_mirrors_of_two_packs_with_the_same_name_show_each_their_own(place):
    other = mirror("board", pack="other", path="other/board.json", fields={**FIELDS, "initial": {"phase": "other"}})
    here = place(mirror("board", fields={**FIELDS, "initial": INITIAL}), other)
    here.sync()
    assert here.shown() == INITIAL
    assert json.loads((here.root / "other" / "board.json").read_text()) == {"phase": "other"}


def test_a_source_that_comes_back_in_the_main_worktree_counts_again(place, tmp_path):
    """Meanwhile the one of a linked worktree counted."""
    root, tree = tmp_path / "repo", tmp_path / "tree"
    here = place(mirror("plan", form="text", path="plan.txt", fields={}), root=root)
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "begin"], check=True, timeout=30)
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True, timeout=30)

    def text() -> object:
        here.sync()
        (found,) = sources(here.call.engine.read(), "fieldnotes", "plan")
        return found.leaves.get("/text")

    (root / "plan.txt").write_text("main")
    (tree / "plan.txt").write_text("linked")
    assert text() == "main"
    (root / "plan.txt").rename(root / "aside.txt")
    assert text() == "linked"
    (root / "aside.txt").rename(root / "plan.txt")
    assert text() == "main"


def test_a_bare_repository_without_worktrees_has_no_files_and_no_trouble(place, tmp_path):
    root, tree = tmp_path / "bare.git", tmp_path / "tree"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", str(tmp_path / "start")], check=True, timeout=30)
    subprocess.run([*git, "-C", str(tmp_path / "start"), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "clone", "-q", "--bare", str(tmp_path / "start"), str(root)], check=True, timeout=30)
    subprocess.run([*git, "-C", str(root), "worktree", "add", "-q", str(tree)], check=True, timeout=30)
    Admin(str(tree), AS_A_PERSON).create(())
    specs = mirror("plan", form="text", path="plan.txt", fields={}), mirror("board", fields={"initial": INITIAL})
    (tree / "plan.txt").write_text("linked")
    here = place(*specs, root=tree)
    here.sync()
    assert (tree / "notes" / "board.json").exists()
    subprocess.run([*git, "-C", str(root), "worktree", "remove", "--force", str(tree)], check=True, timeout=30)
    there = open_workspace(str(root), AS_A_PERSON, named=True)
    there.setup = there.setup.replace(packs=here.workspace.setup.packs, mirrors=here.workspace.setup.mirrors)
    with there, there.call(here.call.caller) as call:
        assert call.mirrors is not None
        assert call.mirrors.sync(call) == ()
        assert call.mirrors.folders(call) != []
