"""What is kept beside the log to save work: believed as it was written, or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.mirrors.state_cache import Known, MirrorMemory
from moot.place import caches

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES, st.data())
def test_what_was_kept_is_recalled_and_a_changed_bit_or_a_lost_end_is_noticed(value, data):
    with TemporaryDirectory() as folder:
        path = Path(folder, "kept")
        caches.keep(str(path), value)
        assert caches.recall(str(path)) == value
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            content[at] ^= 1 << data.draw(st.integers(0, 7))
        else:
            del content[at:]
        path.write_bytes(content)
        assert caches.recall(str(path)) is None


def test_what_is_not_there_is_not_recalled(tmp_path):
    assert caches.recall(str(tmp_path / "none")) is None


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "kept").mkdir()
    with pytest.raises(OSError, match="kept"):
        caches.keep(str(tmp_path / "kept"), 7)
    assert os.listdir(tmp_path) == ["kept"]


@pytest.mark.promise(14)
def test_mirrors_whose_memory_is_wrong_in_a_letter_look_at_everything_anew(tmp_path):
    memory = MirrorMemory(str(tmp_path))
    memory.rendered, memory.files = 41, {"a.json": Known(memo=["m-1"])}
    memory.write()
    assert MirrorMemory(str(tmp_path)).read().rendered == 41
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes().replace(b"41", b"47"))
    assert MirrorMemory(str(tmp_path)).read().rendered == 0
    assert MirrorMemory(str(tmp_path)).read().files == {}


def test_files_that_rest_are_remembered_unless_they_were_woken_and_forgotten(tmp_path):
    memory = MirrorMemory(str(tmp_path))
    memory.files = {name: Known(memo=name, rests=name != "awake") for name in ("awake", "asleep", "gone", "changed")}
    memory.write()
    memory.read()
    assert list(memory.files) == ["awake"]
    assert memory.known("gone").memo == "gone"
    del memory.files["gone"]
    memory.files["changed"] = memory.known("changed").replace(memo="new")
    memory.write()
    later = MirrorMemory(str(tmp_path)).read()
    assert [later.known(name).memo for name in ("awake", "asleep", "gone", "changed")] == [
        "awake",
        "asleep",
        None,
        "new",
    ]
    later.wake_all()
    assert sorted(later.files) == ["asleep", "awake", "changed"]
    assert MirrorMemory(str(tmp_path)).read().known("gone").memo is None
