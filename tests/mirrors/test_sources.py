"""Files that moot only reads: what they say is in the log, and the files stay as they are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from moot.api.protocol import MirrorSpec
from tests.mirrors.test_documents import Place, place

__all__ = ["place"]

ONE = MirrorSpec(name="setup", pack="fieldnotes", path="notes/setup.json", form="source")
MANY = MirrorSpec(name="sites", pack="fieldnotes", path="notes/{site}.json", form="source")
DOCUMENT = "document/fieldnotes.-.setup"


def old(path: Path) -> None:
    """Nobody is writing the file any more."""
    os.utime(path, (1_700_000_000, 1_700_000_000))


def leaves(here: Place, document: str = "fieldnotes.-.setup") -> dict[str, Any]:
    from moot.core.kind import kind_of
    from moot.views import states

    found = states.state(here.call.engine.read(), kind_of("document"), document)[0].leaves
    return {at: value for at, value in found.items() if at != "/path"}


def test_a_file_is_taken_into_the_log_when_it_changes_and_is_never_written(place):
    here = place(ONE)
    assert here.sync() == []
    assert not here.path("setup").exists()  # nothing is made of nothing
    here.path("setup").parent.mkdir()
    here.path("setup").write_text('{"b": 1,\n\n "a": {"c": [true]}}')
    for _ in range(2):
        assert here.sync() == []
        assert leaves(here) == {"/b": 1, "/a/c": [True]}
    here.write({"b": 2}, "setup")
    before = here.path("setup").read_bytes()
    assert here.sync() == []
    assert (leaves(here), here.types()) == ({"/b": 2}, ["document:opened", "document:changed"])
    assert here.path("setup").read_bytes() == before
    here.verify()


def test_a_deleted_file_leaves_an_empty_document_and_may_come_back(place):
    here = place(ONE)
    here.write({"a": 1}, "setup")
    here.sync()
    here.path("setup").unlink()
    for _ in range(2):
        assert here.sync() == []
        assert leaves(here) == {}
    here.write({"a": 1}, "setup")
    assert here.sync() == []
    assert leaves(here) == {"/a": 1}
    assert here.types() == ["document:opened", "document:reset", "document:changed"]


def test_a_folder_that_is_gone_is_a_deletion_too(place):
    here = place(ONE)
    here.write({"a": 1}, "setup")
    here.sync()
    here.path("setup").unlink()
    here.path("setup").parent.rmdir()
    assert here.sync() == []
    assert leaves(here) == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": ', "the text ends in the middle of a value"),
        (b"", "the file is empty"),
        (b"[1]", "the file is not an object"),
        (b'{"a": 1, "a": 2}', 'the key "a" stands twice in one object (line 1, column 10)'),
        (b'{"a": "\xff"}', "the text is not UTF-8"),
    ],
)
def test_a_file_that_stays_broken_is_reported_once_and_not_quarantined(place, content, said):
    here = place(ONE)
    here.path("setup").parent.mkdir()
    here.path("setup").write_bytes(content)
    old(here.path("setup"))
    assert here.sync() == ["source_defective"]
    assert here.sync() == []
    (problem,) = leaves(here)["/problems"]
    assert said in problem
    assert here.path("setup").read_bytes() == content
    assert here.call.run("held", {}).result == []
    here.write({"a": 1}, "setup")
    assert here.sync() == []
    assert leaves(here) == {"/a": 1}


def test_a_file_that_is_being_written_leaves_what_it_said_before(place):
    here = place(ONE)
    here.write({"a": 1}, "setup")
    here.sync()
    here.path("setup").write_text('{"a": ')
    assert here.sync() == ["mirror_pending"]
    assert leaves(here) == {"/a": 1}


def test_links_and_large_files_are_reported_and_not_read(place, tmp_path):
    here = place(ONE)
    secret = tmp_path / "secret.json"
    secret.write_text('{"secret": 1}')
    here.path("setup").parent.mkdir()
    here.path("setup").symlink_to(secret)
    assert here.sync() == ["source_defective"]
    assert here.sync() == []
    assert leaves(here) == {"/problems": ["it is a symbolic link"]}
    here.path("setup").unlink()
    here.path("setup").write_text(json.dumps({"a": "x" * (1 << 20)}))
    here.sync()
    assert leaves(here) == {"/problems": [f"it is larger than {1 << 20} bytes"]}


def test_several_files_are_several_documents(place):
    here = place(MANY)
    here.write({"a": 1}, "one")
    here.write({"a": 2}, "two")
    assert here.sync() == []
    assert [leaves(here, f"fieldnotes.-.sites.{name}") for name in ("one", "two")] == [{"/a": 1}, {"/a": 2}]
    here.path("one").unlink()
    assert here.sync() == []
    assert [leaves(here, f"fieldnotes.-.sites.{name}") for name in ("one", "two")] == [{}, {"/a": 2}]
