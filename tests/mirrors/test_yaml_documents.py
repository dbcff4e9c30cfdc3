"""The form `document` in YAML, with hundreds of documents that are looked at only while a run on them is open."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from moot.api.protocol import MirrorSpec, Pack, Packs
from moot.api.protocol.document_folders import project_folder
from moot.core.deciders.document import ChangeDocument, OpenDocument, ShowDocument, key
from moot.core.run import EndRun, OpenRun, StartStage
from moot.mirrors.sync import FileMirrors
from moot.place import MAIN
from moot.runs.stage import PipelineSpec, Stage
from moot.views import states
from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.person import AS_A_PERSON

if TYPE_CHECKING:
    from moot.core.event import Event

FIELDS = {
    "repair": False,
    "while_open": True,
    "order": {"": ["analyzer", "automation"], "/automation": ["outline_completed", "errors"]},
    "quoted": ["/automation/errors"],
}
STAGES = (
    Stage(name="outline", owns=("/analyzer",), marker="/automation/outline_completed"),
    Stage(name="review", owns=("/review",), marker="/automation/review_completed"),
)
PIPELINE = PipelineSpec(document="metadata", errors="/automation/errors")
FIRST = {
    "/extra": "kept",
    "/analyzer/completed": True,
    "/automation/errors": ["outline: it is late"],
    "/automation/outline_completed": True,
    "/states": ["yes", "no"],
}


def mirror(**more: object) -> MirrorSpec:
    spec = {"name": "metadata", "pack": "notes", "path": "tmp/metadata/metadata_{slug}.yml", "form": "document"}
    return MirrorSpec(**{**spec, "scope": "worktree", "missing": "reset", "emptied": "clear", "fields": FIELDS, **more})


class Place:
    """A workspace with a pipeline whose targets have YAML documents."""

    def __init__(self, root: Path, *mirrors: MirrorSpec) -> None:
        self.root, self.runs = root, list[str]()
        if not (root / ".git").exists():
            subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=30)
            Admin(str(root), AS_A_PERSON).create(())
        pack = Pack(name="notes", title="Notes", mirrors=mirrors or (mirror(),), stages=STAGES, pipeline=PIPELINE)
        packs = Packs([pack])
        call = open_call(str(root), AS_A_PERSON)
        self.workspace = call.workspace
        self.workspace.setup = self.workspace.setup.replace(packs=packs, mirrors=FileMirrors(packs))
        call.close()
        self.call = self.workspace.call(call.caller)

    def begin(self, subject: str = "a", path: str = "", leaves: dict[str, object] = FIRST) -> str:
        """Open the document of a target and its run, as the engine does."""
        name = key("notes", MAIN, f"metadata.{subject}")
        command = OpenDocument(mirror="notes/metadata", worktree=MAIN, subject=subject, path=path, leaves=leaves)
        self.open_run(name)
        self.commit(name, command)
        return name

    def open_run(self, document: str, stage: str = "") -> None:
        """Open a run on a document, and start a stage of it."""
        run, opening = (
            f"run-{len(self.runs) + 1}",
            OpenRun(pack="notes", stages=("outline", "review"), document=document),
        )
        self.runs.append(run)

        def act(work):
            work.do("run", run, opening.replace(stages=(stage,) if stage else opening.stages))
            if stage:
                work.do("run", run, StartStage(stage=stage))

        self.call.engine.commit("moot", act)

    def end_runs(self) -> None:
        for run in self.runs:
            if states.state(self.call.engine.read(), "run", run)[0].open:
                self.call.engine.commit("moot", lambda work, run=run: work.do("run", run, EndRun(outcome="stopped")))

    def commit(self, name: str, command: object) -> None:
        outcome = self.call.engine.commit("moot", lambda work: work.do("document", name, command))
        self.call.mirrors.sync(self.call, outcome.events)

    def change(self, name: str, **leaves: object) -> None:
        found = {f"/{at.replace('__', '/')}": value for at, value in leaves.items()}
        self.commit(name, ChangeDocument(author="moot", set=found))

    def sync(self, *, everything: bool = False) -> list[str]:
        return [notice.code for notice in self.call.mirrors.sync(self.call, everything=everything)]

    def path(self, subject: str = "a") -> Path:
        return self.root / "tmp" / "metadata" / f"metadata_{subject}.yml"

    def text(self, subject: str = "a") -> str:
        """What the file shows, without the line that names the version."""
        version, _, rest = self.path(subject).read_text().partition("\n")
        assert version.startswith("# moot: version ")
        return rest

    def shown(self, subject: str = "a") -> object:
        return yaml.safe_load(self.path(subject).read_text())

    def leaves(self, name: str) -> dict[str, object]:
        found, _ = states.state(self.call.engine.read(), "document", name)
        return dict(found.leaves)

    def events(self, kind: str = "document:") -> list[Event]:
        return [event for event in self.call.engine.log.read(0, 1000) if event.type.startswith(kind)]

    def types(self) -> list[str]:
        return [event.type.partition(":")[2] for event in self.events()]

    def close(self) -> None:
        self.call.close()
        self.workspace.close()


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.close()


@pytest.mark.proves("S1-META-04", "S1-INSP-02", "S1-INSP-03", "S1-INSP-04")
def test_a_document_is_shown_in_block_style_with_the_declared_keys_first(place):
    place.begin()
    assert place.text() == (
        "analyzer:\n  completed: true\n"
        'automation:\n  outline_completed: true\n  errors:\n    - "outline: it is late"\n'
        'extra: kept\nstates:\n  - "yes"\n  - "no"\n'
    )


@pytest.mark.proves("S2-META-04", "S2-HARD-08")
@pytest.mark.proves("S1-META-09")
def test_changes_of_file_and_log_to_different_keys_meet_and_the_writer_is_named(place):
    name = place.begin()
    place.open_run(name, "review")
    edited = place.path().read_text() + "review: good\nown: {a: 1}\n"
    place.call.engine.commit(
        "moot", lambda work: work.do("document", name, ChangeDocument(author="moot", set={"/states": ["on"]}))
    )
    place.path().write_text(edited)
    assert place.sync() == []
    assert place.shown()["review"] == "good"
    assert place.shown()["own"] == {"a": 1}
    assert place.shown()["states"] == ["on"]
    changed = place.events("document:changed")[-1].data
    assert (changed["author"], changed["set"]) == ("review", {"/review": "good", "/own/a": 1})
    place.change(name, extra="later")
    assert place.shown()["own"] == {"a": 1}


@pytest.mark.proves("S2-HARD-08")
def test_an_edit_of_an_older_rendering_is_merged_key_by_key(place):
    name = place.begin()
    old = place.path().read_text()
    place.change(name, extra="by the log", newer=1)
    assert place.shown()["newer"] == 1
    place.path().write_text(old.replace('- "no"', '- "maybe"'))
    assert place.sync() == []
    assert place.leaves(name) == {**FIRST, "/extra": "by the log", "/newer": 1, "/states": ["yes", "maybe"]}
    assert (place.shown()["extra"], place.shown()["newer"]) == ("by the log", 1)
    place.change(name, extra="again")
    place.path().write_text(old.replace("extra: kept", "extra: edited"))
    assert place.sync() == ["change_conflicted"]
    assert place.leaves(name)["/extra"] == "again"
    assert place.events("document:conflicted")[-1].data["file"] == {"/extra": "edited"}
    place.path().write_text(old)
    assert place.sync() == []
    assert place.leaves(name)["/newer"] == 1
    assert place.shown()["newer"] == 1


@pytest.mark.parametrize(
    "line", ["# moot: version 99999 of {}", "# moot: version x of {}", "# moot: version 1 of other"]
)
def test_a_version_that_cannot_be_right_is_not_believed(place, line):
    name = place.begin()
    place.change(name, analyzer__newer=1)
    place.path().write_text(line.format(name) + "\n" + place.text().replace("  newer: 1\n", ""))
    assert place.sync() == []
    assert "/analyzer/newer" not in place.leaves(name)


@pytest.mark.proves("S2-ENR-01")
@pytest.mark.proves("S1-LIFE-01")
@pytest.mark.parametrize(
    ("stage", "old", "new", "owner"),
    [
        ("review", "completed: true\nautomation", "completed: false\nautomation", "outline"),
        ("outline", "extra: kept", "extra: kept\nreview: mine", "review"),
        ("file", "outline_completed: true", "outline_completed: false", "moot"),
        ("file", "it is late", "all is well", "moot"),
    ],
)
def test_a_key_of_another_stage_is_written_back_and_the_refused_value_is_on_record(place, stage, old, new, owner):
    name, before = place.begin(), place.text()
    if stage != "file":
        place.open_run(name, stage)
    assert old in before
    place.path().write_text(before.replace(old, new))
    assert place.sync() == ["change_refused"]
    assert place.text() == before
    refused = place.events("document:refused")[-1].data
    assert (refused["author"], refused["owners"]) == (stage, [owner])
    assert refused["set"]


@pytest.mark.proves("S1-META-09")
def test_a_person_may_change_what_a_stage_has_written_while_none_runs(place):
    place.begin()
    text = place.path().read_text()
    place.path().write_text(text.replace("completed: true\nautomation", "completed: false\nautomation"))
    assert place.sync() == []
    assert place.events("document:changed")[-1].data["author"] == "file"


@pytest.mark.proves("S2-HARD-08")
@pytest.mark.proves("S1-HARD-09", "S1-TEST-02")
@pytest.mark.parametrize("bad", [b"invalid yaml [[[\n", b"a: 1\na: 2\n", b"a: \xff\n", b"", b"a: &x 1\n", b"[1]\n"])
def test_a_file_that_cannot_be_parsed_is_put_aside_and_stays_until_it_is_restored(place, bad):
    name = place.begin()
    good, leaves = place.text(), place.leaves(name)
    place.path().write_bytes(bad)
    os.utime(place.path(), (0, 0))  # no program is in the middle of writing it
    assert place.sync() == ["entry_held"]
    assert place.sync() == []
    place.change(name, more="from the log")
    assert place.path().read_bytes() == bad
    assert place.leaves(name) == {**leaves, "/more": "from the log"}
    held = next(event.data for event in place.call.engine.log.read(0, 100) if event.stream.startswith("entry/"))
    assert place.call.blob(held["sha256"]) == bad
    (found,) = place.call.mirrors.document_files(place.call, name)
    assert found.leaves is None
    assert found.line >= 1
    assert "(line" in found.fault
    place.call.mirrors.restore(place.call, name)
    assert place.text() == good + "more: from the log\n"
    assert place.sync() == []


def test_a_bad_file_that_is_corrected_by_hand_counts_again(place):
    name = place.begin()
    good = place.path().read_text()
    place.path().write_text("a: [\n")
    os.utime(place.path(), (0, 0))
    assert place.sync() == ["entry_held"]
    place.path().write_text(good + "fixed: true\n")
    assert place.sync() == []
    assert place.leaves(name)["/fixed"] is True


@pytest.mark.proves("S1-ISS-02")
def test_a_young_bad_file_is_left_alone_and_named_and_a_restore_does_not_wait(place):
    name = place.begin()
    good = place.text()
    place.path().write_text("a: [\n")
    assert place.sync() == ["mirror_pending"]
    assert place.path().read_text() == "a: [\n"
    (found,) = place.call.mirrors.document_files(place.call, name)
    assert "line 2, column 1" in found.fault
    place.call.mirrors.restore(place.call, name)
    assert place.text() == good


def test_yaml_that_was_cut_off_in_the_middle_of_a_line_is_not_a_change(place):
    name = place.begin()
    leaves, whole = place.leaves(name), place.path().read_bytes()
    for end in range(1, len(whole)):
        if whole[:end].endswith(b"\n"):
            continue
        place.path().write_bytes(whole[:end])
        place.sync()
        assert place.leaves(name) == leaves, whole[:end]
    place.path().write_bytes(whole)
    assert place.sync() == []


def test_whole_lines_missing_at_the_end_are_a_change_only_after_a_while_or_by_a_stage(place):
    name = place.begin()
    short = place.path().read_text().partition("states:")[0]
    place.path().write_text(short)
    assert place.sync() == ["mirror_pending"]
    assert place.leaves(name) == FIRST
    os.utime(place.path(), (0, 0))
    assert place.sync() == []
    assert "/states" not in place.leaves(name)
    place.open_run(name, "review")
    place.path().write_text(place.path().read_text().partition("extra:")[0])
    assert place.sync() == []
    assert "/extra" not in place.leaves(name)


def test_a_file_that_a_program_has_open_for_writing_is_left_alone_until_it_is_closed(place):
    name = place.begin()
    whole = place.path().read_text()
    with place.path().open("w") as file:
        file.write("analyzer:\n  completed: true\n")
        file.flush()
        assert place.sync() == ["mirror_pending"]
        assert place.types() == ["opened"]
        file.write(whole.partition("true\n")[2] + "more: 1\n")
    assert place.sync() == []
    assert place.leaves(name) == {**FIRST, "/more": 1}


@pytest.mark.proves("S2-META-01")
@pytest.mark.proves("S1-META-01")
def test_the_directory_is_made_on_first_use_and_a_deleted_file_resets_the_document(place):
    name = place.begin()
    place.path().unlink()
    assert place.sync() == []
    assert place.types() == ["opened", "reset"]
    assert place.leaves(name) == {}
    assert not place.path().exists()
    place.change(name, again=1)
    assert place.shown() == {"again": 1}


def test_documents_without_an_open_run_are_looked_at_only_when_there_is_a_reason(place):
    names = [place.begin(f"target-{number}") for number in range(3)]
    place.end_runs()
    for number in range(3):
        path = place.path(f"target-{number}")
        path.write_text(path.read_text() + "note: edited\n")
    assert place.sync() == []
    assert place.types() == ["opened"] * 3
    place.change(names[0], other=1)  # its document changes: it is looked at, the others are not
    assert place.leaves(names[0])["/note"] == "edited"
    assert place.shown("target-0")["other"] == 1
    assert "/note" not in place.leaves(names[1])
    place.open_run(names[1])
    place.sync()
    assert place.leaves(names[1])["/note"] == "edited"
    assert "/note" not in place.leaves(names[2])
    place.sync(everything=True)
    assert place.leaves(names[2])["/note"] == "edited"


def test_the_watcher_looks_at_documents_that_rest(place):
    name = place.begin()
    place.end_runs()
    place.path().write_text(place.path().read_text() + "note: edited\n")
    place.call.mirrors.sync(place.call, patient=True)
    assert place.leaves(name)["/note"] == "edited"
    assert (str(place.path().parent), str(place.root)) in place.call.mirrors.folders(place.call)


def test_a_file_that_rested_while_its_document_changed_is_merged_and_not_overwritten(place):
    name = place.begin()
    place.end_runs()
    place.path().write_text(place.path().read_text() + "note: edited\n")
    place.call.engine.commit(  # as by a process that is killed before it writes the file
        "moot", lambda work: work.do("document", name, ChangeDocument(author="moot", set={"/other": 1}))
    )
    place.sync()
    assert "other" not in place.shown()
    place.sync(everything=True)
    assert place.shown()["other"] == 1
    assert place.shown()["note"] == "edited"
    assert place.sync(everything=True) == []


def test_the_deletion_of_a_resting_file_is_noticed_when_it_is_looked_at_again(place):
    name = place.begin()
    place.end_runs()
    place.sync()
    place.path().unlink()
    place.sync()
    assert place.types() == ["opened"]
    place.sync(everything=True)
    assert place.types() == ["opened", "reset"]
    assert place.leaves(name) == {}


@pytest.mark.proves("S1-HARD-03")
def test_of_two_documents_in_one_file_the_one_of_the_current_run_is_shown_and_edits_go_to_the_one_that_was_read(place):
    path = "tmp/metadata/metadata_a.yml"
    one = place.begin("a.process", path, {"/target": "process"})
    place.end_runs()
    two = place.begin("a.refund", path, {"/target": "refund"})
    assert place.shown() == {"target": "refund"}
    place.path().write_text("target: refund\nnote: for refund\n")
    place.end_runs()
    place.open_run(one)
    place.commit(one, ShowDocument())
    assert place.leaves(two) == {"/target": "refund", "/note": "for refund"}
    assert place.leaves(one) == {"/target": "process"}
    assert place.shown() == {"target": "process"}
    place.end_runs()
    place.open_run(two)
    place.commit(two, ShowDocument())
    assert place.shown() == {"target": "refund", "note": "for refund"}


def test_a_document_can_be_outside_the_worktree_and_its_folder_is_not_made_again(place, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fallback") / "project_metadata"
    project_folder(str(folder), f"{folder}-2", str(place.root), "a setting")
    name = place.begin(path=str(folder / "metadata_a.yml"))
    file = folder / "metadata_a.yml"
    assert yaml.safe_load(file.read_text())["extra"] == "kept"
    file.write_text(file.read_text() + "note: edited\n")
    assert place.sync() == []
    assert place.leaves(name)["/note"] == "edited"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    shutil.rmtree(folder)
    place.sync()
    place.change(name, other=1)
    assert not folder.exists()
    folder.symlink_to(place.root)
    place.change(name, other=2)
    assert not (place.root / "metadata_a.yml").exists()


@pytest.mark.parametrize(
    "path",
    [
        ".git/metadata_a.yml",
        "config/metadata_a.yml",
        "tmp/metadata/database.yml",
        "../metadata/metadata_a.yml",
        "tmp/.hidden/metadata/metadata_a.yml",
        "tmp/metadata/metadata_a.yml/../metadata_b.yml",
        "OUTSIDE/metadata_a.yml",
        "OUTSIDE/../prepared/metadata_a.yml",
    ],
)
def test_a_path_in_the_log_cannot_lead_to_another_file(place, tmp_path_factory, path):
    outside = tmp_path_factory.mktemp("outside")
    place.begin(path=path.replace("OUTSIDE", str(outside)))
    place.sync(everything=True)
    assert list(outside.iterdir()) == []
    assert not list(place.root.rglob("metadata_*.yml"))
    assert [one.state for one in place.call.run("doc list", {}).result] == ["not shown"]


@pytest.mark.proves("S1-ISS-02")
def test_a_reader_at_any_moment_sees_a_whole_document(place):
    name = place.begin()
    seen: list[object] = []
    done = threading.Event()

    def read():
        while not done.is_set():
            seen.append(yaml.safe_load(place.path().read_text())["extra"])

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(30):
            place.change(name, extra=number)
    finally:
        done.set()
        reader.join(30)
    assert [value for value in seen if value != "kept"] == sorted(value for value in seen if value != "kept")
    assert place.shown()["extra"] == 29
