"""A mirror file is looked at and replaced; what others did to it meanwhile is given to the caller."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from moot.core.errors import Unavailable, Usage
from moot.mirrors import exchange, file_reading, files, lock
from moot.mirrors.exchange import Kept
from moot.mirrors.file_reading import Changed, Missing, Signature, Unchanged, Unreadable
from moot.mirrors.files import MirrorFile, Unwritable, Written
from moot.mirrors.lock import MirrorLock, open_for_writing

HOUR = 3600.0


class Tree:
    def __init__(self, place: Path) -> None:
        self.root, self.keep, self.path = place / "tree", place / "keep", place / "tree" / "box" / "mail.json"
        self.root.mkdir()
        self.keep.mkdir(mode=0o700)

    def mirror(self, **options) -> MirrorFile:
        return MirrorFile(str(self.root), "box/mail.json", str(self.keep), **options)

    def write(self, data: bytes, seen: Signature | None = None) -> Written:
        written = self.mirror().write(data, seen)
        assert isinstance(written, Written), written
        return written

    def kept(self) -> list[str]:
        """The kinds of the kept files."""
        return sorted(name.split(".")[3] for name in os.listdir(self.keep))


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def between(monkeypatch, act):
    """Do something after `write` has looked and before it exchanges; once."""
    real = exchange.bring

    def bring(out, path):
        monkeypatch.setattr(files, "bring", real)
        act()
        return real(out, path)

    monkeypatch.setattr(files, "bring", bring)


# ---------------------------------------------------------------- looking


def test_a_file_is_missing_changed_or_as_moot_wrote_it_even_if_somebody_touched_it(tree):
    assert tree.mirror().look(None) == Missing()
    known = tree.write(b"one").signature
    look = tree.mirror().look(None)
    assert (type(look), look.data) == (Changed, b"one"), "what is unknown is given whole"
    assert isinstance(tree.mirror().look(known), Unchanged)
    os.utime(tree.path, (0, 0))
    look = tree.mirror().look(known)
    assert (type(look), look.signature.mtime_ns) == (Unchanged, 0)


def test_a_young_file_is_not_trusted_by_its_looks(tree):
    """The same size, inode and times, as a write within one tick of the clock leaves them."""
    known = tree.write(b"one").signature
    tree.path.write_bytes(b"two")
    status = tree.path.stat()
    known = known.replace(mtime_ns=status.st_mtime_ns, ctime_ns=status.st_ctime_ns)
    look = tree.mirror().look(known)
    assert isinstance(look, Changed)
    assert look.data == b"two"


def test_a_settled_file_is_not_read_again_and_one_whose_clock_was_set_back_is_young(tree, monkeypatch):
    known = tree.write(b"one").signature
    assert Signature.of(known.plain()) == known
    assert not known.replace(taken_ns=known.taken_ns - 3_600_000_000_000).settled
    settled = known.replace(taken_ns=max(known.mtime_ns, known.ctime_ns) + 2_000_000_000)
    monkeypatch.setattr(files, "read", lambda *_args: pytest.fail("it was read"))
    assert tree.mirror().look(settled) == Unchanged(settled)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.mkdir(), "directory"),
        (os.mkfifo, "regular"),
        (lambda path: path.symlink_to("/etc/passwd"), "link"),
        (lambda path: path.symlink_to("nowhere"), "link"),
        (lambda path: path.write_bytes(b"x" * 101), "larger"),
    ],
)
def test_what_is_no_mirror_is_reported_and_left_alone(tree, make, reason):
    tree.path.parent.mkdir()
    make(tree.path)
    before = tree.path.lstat()
    mirror = tree.mirror(limit=100)
    look = mirror.look(None)
    assert isinstance(look, Unreadable)
    assert reason in look.reason
    written = mirror.write(b"render", None)
    assert isinstance(written, Unwritable)
    assert reason in written.reason
    assert tree.path.lstat() == before


def test_a_file_of_just_the_limit_is_read(tree):
    tree.write(b"x" * 100)
    assert isinstance(tree.mirror(limit=100).look(None), Changed)


# ---------------------------------------------------------------- staying inside


@pytest.mark.parametrize("relative", ["", "/etc/passwd", "../mail.json", "a/../../b", "a//b", "./a", "a/", "a\0b"])
def test_a_path_that_may_lead_out_is_refused(tmp_path, relative):
    with pytest.raises(Usage) as refused:
        MirrorFile(str(tmp_path), relative, str(tmp_path / "keep"))
    assert refused.value.code == "path_outside"


def test_a_directory_that_leads_out_through_a_link_is_refused(tree, tmp_path):
    (tmp_path / "outside").mkdir()
    (tree.root / "box").symlink_to(tmp_path / "outside")
    assert isinstance(tree.mirror().look(None), Unreadable)
    assert isinstance(tree.mirror().write(b"render", None), Unwritable)
    assert os.listdir(tmp_path / "outside") == []


def test_a_link_that_stays_inside_is_followed(tree):
    (tree.root / "elsewhere").mkdir()
    (tree.root / "box").symlink_to("elsewhere")
    tree.write(b"one")
    assert (tree.root / "elsewhere" / "mail.json").read_bytes() == b"one"


def test_a_worktree_that_is_gone_is_not_made_again(tree):
    tree.root.rmdir()
    assert isinstance(tree.mirror().look(None), Unreadable)
    assert isinstance(tree.mirror().write(b"render", None), Unwritable)
    assert not tree.root.exists()


# ---------------------------------------------------------------- replacing


def test_directories_and_file_are_made(tree):
    assert tree.write(b"one").displaced == ()
    assert tree.path.read_bytes() == b"one"
    assert tree.kept() == []


def test_a_new_file_has_the_usual_mode_and_a_replacement_the_mode_of_what_it_replaces(tree):
    before = os.umask(0o027)
    try:
        first = tree.write(b"one")
    finally:
        os.umask(before)
    assert tree.path.stat().st_mode & 0o777 == 0o640
    tree.path.chmod(0o660)
    tree.write(b"two", first.signature)
    assert tree.path.stat().st_mode & 0o777 == 0o660


def test_the_same_content_is_not_written_again(tree):
    first = tree.write(b"one")
    inode = tree.path.stat().st_ino
    assert isinstance(tree.mirror().write(b"one", None), Written)
    assert isinstance(tree.mirror().write(b"one", first.signature), Written)
    assert tree.path.stat().st_ino == inode


def test_what_was_seen_is_not_displaced_and_what_nobody_had_seen_comes_out(tree):
    assert tree.write(b"two", tree.write(b"one").signature).displaced == ()
    assert tree.kept() == ["old"]
    (found,) = tree.write(b"three", None).displaced
    assert found.data == b"two"


@pytest.mark.parametrize("by_renaming", [True, False])
def test_what_somebody_wrote_between_look_and_exchange_comes_out(tree, monkeypatch, by_renaming):
    first = tree.write(b"one")

    def agent():
        target = tree.path.with_name("tmp") if by_renaming else tree.path
        target.write_bytes(b"agent")
        target.rename(tree.path)

    between(monkeypatch, agent)
    (found,) = tree.write(b"two", first.signature).displaced
    assert found.data == b"agent"
    assert tree.path.read_bytes() == b"two"


def test_a_file_that_appears_in_an_empty_place_comes_out(tree, monkeypatch):
    between(monkeypatch, lambda: tree.path.write_bytes(b"agent"))
    (found,) = tree.write(b"two").displaced
    assert found.data == b"agent"


def test_a_file_that_vanishes_is_written_again(tree, monkeypatch):
    first = tree.write(b"one")
    between(monkeypatch, tree.path.unlink)
    assert tree.write(b"two", first.signature).displaced == ()
    assert tree.path.read_bytes() == b"two"


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("kind", ["directory", "fifo", "link", "large"])
def test_what_is_no_mirror_and_came_in_between_is_put_back(tree, monkeypatch, native, kind):
    if not native:
        monkeypatch.setattr(exchange, "_rename_with", lambda _linux, _macos: None)
    first = tree.write(b"one")
    make = {"directory": os.mkdir, "fifo": os.mkfifo, "link": lambda p: os.symlink("away", p), "large": large}[kind]

    def agent():
        tree.path.unlink()
        make(tree.path)

    between(monkeypatch, agent)
    assert isinstance(tree.mirror(limit=100).write(b"two", first.signature), Unwritable)
    assert isinstance(tree.mirror(limit=100).look(None), Unreadable)
    assert tree.mirror(limit=100).graves() == []


def large(path):
    Path(path).write_bytes(b"x" * 101)


def test_the_signature_of_a_write_is_of_what_was_written_even_if_somebody_writes_at_once(tree, monkeypatch):
    real = exchange.bring

    def bring(out, path):
        came = real(out, path)
        tree.path.write_bytes(b"ONE")
        return came

    monkeypatch.setattr(files, "bring", bring)
    written = tree.write(b"one")
    monkeypatch.setattr(files, "bring", real)
    look = tree.mirror().look(written.signature)
    assert isinstance(look, Changed)
    assert look.data == b"ONE"


def test_a_full_disk_is_a_reason_not_an_end_and_the_file_stays_whole(tree):
    first = tree.write(b"one")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        written = tree.mirror().write(b"x" * 200_000, first.signature)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(written, Unwritable)
    assert os.strerror(errno.EFBIG) in written.reason
    assert tree.path.read_bytes() == b"one"
    assert tree.kept() == []
    assert tree.write(b"two", first.signature).displaced == ()


def test_a_directory_that_may_not_be_written_is_a_reason():
    with tempfile.TemporaryDirectory() as place:  # not pytest's own, which nobody else may enter
        os.chmod(place, 0o755)
        tree = Tree(Path(place))
        tree.write(b"one")
        for path in (tree.keep, tree.path.parent):
            path.chmod(0o555)
        script = (
            "import os, sys; from moot.mirrors.files import MirrorFile\n"
            "mirror = MirrorFile(sys.argv[1], 'box/mail.json', sys.argv[2])\n"
            "os.geteuid() or os.setuid(65534)\n"
            "print(mirror.write(b'two', None))"
        )
        command = [sys.executable, "-c", script, str(tree.root), str(tree.keep)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30, env=environment).stdout
        assert said.startswith("Unwritable")
        assert os.strerror(errno.EACCES) in said
        for path in (tree.keep, tree.path.parent):
            path.chmod(0o755)


@pytest.mark.proves("S4-HRD-02")
def test_the_new_file_is_written_beside_the_old_one_under_a_hidden_name_of_its_own(tree, monkeypatch):
    seen, names = tree.write(b"one").signature, []
    for number in range(3):
        between(monkeypatch, lambda: names.append(set(os.listdir(tree.path.parent)) - {"mail.json"}))
        seen = tree.write(b"%d" % number, seen).signature
        assert os.listdir(tree.path.parent) == ["mail.json"], "the replaced file does not stay in the project"
    assert [len(found) for found in names] == [1, 1, 1]
    assert all(name.startswith(".moot.") for found in names for name in found)
    assert len(set.union(*names)) == 3


@pytest.mark.proves("S4-HRD-02")
@pytest.mark.parametrize("moment", ["before the exchange", "after it"])
def test_what_a_killed_process_leaves_beside_the_file_is_removed_later(tree, moment):
    tree.write(b"one")
    script = (
        "import os, signal, sys\nfrom moot.mirrors import files\n"
        "real = files.bring\n"
        "def bring(out, path):\n"
        "    if sys.argv[3] == 'after it':\n        real(out, path)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.bring = bring\n"
        "mirror = files.MirrorFile(sys.argv[1], 'box/mail.json', sys.argv[2])\n"
        "mirror.write(b'two', mirror.look(None).signature)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", script, str(tree.root), str(tree.keep), moment]
    assert subprocess.run(words, check=False, timeout=30, env=environment).returncode == -signal.SIGKILL
    assert tree.path.read_bytes() == (b"two" if moment == "after it" else b"one")
    assert len(os.listdir(tree.path.parent)) == 2
    assert tree.mirror().graves(time.monotonic() + HOUR) == []
    tree.mirror().graves(time.monotonic() + 2 * HOUR)
    assert os.listdir(tree.path.parent) == ["mail.json"]
    assert tree.kept() == []


def test_on_another_device_old_files_are_kept_hidden_beside(tree):
    if not os.access("/dev/shm", os.W_OK) or os.stat("/dev/shm").st_dev == os.stat(tree.root).st_dev:
        pytest.skip("there is no second device here")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as keep:
        mirror = MirrorFile(str(tree.root), "box/mail.json", keep)
        mirror.write(b"one", None)
        written = mirror.write(b"two", None)
        assert isinstance(written, Written)
        assert [found.data for found in mirror.graves()] == [b"one"]
        assert os.listdir(keep) == []
        assert [name for name in os.listdir(tree.path.parent) if not name.startswith(".")] == ["mail.json"]
        mirror.absorbed(written.displaced[0])
        mirror.graves(time.monotonic() + HOUR)
        assert os.listdir(tree.path.parent) == ["mail.json"]


def test_two_mounts_of_one_device_are_noticed_when_it_comes_to_it(tree, monkeypatch):
    first = tree.write(b"one")
    real = exchange.Kept.renamed

    def renamed(kept, **changes):
        if changes.get("home") == str(tree.keep):
            raise OSError(errno.EXDEV, "cross-device")
        return real(kept, **changes)

    monkeypatch.setattr(exchange.Kept, "renamed", renamed)
    assert tree.write(b"two", first.signature).displaced == ()
    assert tree.path.read_bytes() == b"two"
    assert tree.kept() == []
    assert [name.split(".")[3] for name in os.listdir(tree.path.parent) if name.startswith(".moot.")] == ["old"]


# ---------------------------------------------------------------- graves


def test_what_is_written_into_a_replaced_file_is_found_until_it_is_absorbed(tree):
    first = tree.write(b"one")
    with open(tree.path, "r+b") as late:
        tree.write(b"two", first.signature)
        assert tree.mirror().graves() == []
        late.write(b"late")
    (again,), (found,) = tree.mirror().graves(), tree.mirror().graves()
    assert again.data == found.data == b"late"
    tree.mirror().absorbed(found)
    assert tree.mirror().graves() == []


def test_what_comes_after_the_absorbed_is_found_again(tree):
    first = tree.write(b"one")
    with open(tree.path, "wb", buffering=0) as slow:
        (torn,) = tree.write(b"two", first.signature).displaced
        assert torn.data == b""
        for _ in range(2):
            tree.mirror().absorbed(torn)
        slow.write(b"whole")
    (found,) = tree.mirror().graves()
    assert found.data == b"whole"


def test_graves_come_in_the_order_in_which_they_came_out(tree):
    for data in (b"1", b"2", b"3", b"4"):
        tree.write(data)
    assert [found.data for found in tree.mirror().graves()] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("later", [HOUR, -HOUR], ids=["an hour later", "after a boot"])
def test_a_grave_is_forgotten_only_when_its_time_is_up(tree, later):
    tree.write(b"two", tree.write(b"one").signature)
    tree.mirror().graves()
    assert tree.kept() == ["old"]
    tree.mirror().graves(time.monotonic() + later)
    assert tree.kept() == []


def test_what_was_never_absorbed_is_never_forgotten(tree):
    tree.write(b"one")
    tree.write(b"two")
    for _ in range(3):
        (found,) = tree.mirror().graves(time.monotonic() + HOUR)
        assert found.data == b"one"


def test_what_was_written_late_is_found_even_if_nobody_looked_before_its_time_was_up(tree):
    first = tree.write(b"one")
    with open(tree.path, "r+b") as late:
        tree.write(b"two", first.signature)
        late.write(b"late")
    (found,) = tree.mirror().graves(time.monotonic() + HOUR)
    assert found.data == b"late"


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux'")
def test_a_grave_that_somebody_holds_open_for_writing_is_not_forgotten(tree):
    first = tree.write(b"one")
    with open(tree.path, "r+b") as late:
        tree.write(b"two", first.signature)
        assert tree.mirror().graves(time.monotonic() + HOUR) == []
        assert tree.kept() == ["old"]
        late.write(b"late")
    (found,) = tree.mirror().graves(time.monotonic() + HOUR)
    assert found.data == b"late"


def test_where_nobody_can_say_who_has_it_open_a_grave_stays_longer(tree, monkeypatch):
    monkeypatch.setattr(files, "open_for_writing", lambda _fd: None)
    tree.write(b"two", tree.write(b"one").signature)
    tree.mirror().graves(time.monotonic() + files.SETTLED + 1)
    assert tree.kept() == ["old"]
    tree.mirror().graves(time.monotonic() + files.LINGER + 1)
    assert tree.kept() == []


def test_the_wall_clock_of_a_grave_means_nothing(tree):
    first = tree.write(b"one")
    with open(tree.path, "r+b", buffering=0) as late:
        tree.write(b"two", first.signature)
        late.write(b"late")
        os.utime(late.fileno(), (0, 0))
        (found,) = tree.mirror().graves()
    assert found.data == b"late"
    assert found.age < 60


def test_a_grave_that_grew_too_large_is_reported_and_held(tree):
    first = tree.write(b"one")
    with open(tree.path, "r+b") as late:
        tree.write(b"two", first.signature)
        late.write(b"x" * 101)
    mirror = tree.mirror(limit=100)
    (found,) = mirror.graves()
    assert found.unreadable is not None
    assert "larger" in found.unreadable
    mirror.absorbed(found)
    assert mirror.graves(time.monotonic() + HOUR) == []
    assert tree.kept() == ["held"]


def test_what_a_dead_process_left_is_cleared_up_unless_somebody_wrote_into_it(tree):
    tree.write(b"one")
    name = tree.mirror()._mirror
    new = Kept(str(tree.keep), name, "new", 0, 0, file_reading.digest_of(b"r"), "-", "n1")
    ours, touched = new.replace(kind="out", nonce="n2"), new.replace(kind="out", nonce="n3")
    Path(new.path).write_bytes(b"half a ren")
    for out, data in ((ours, b"r"), (touched, b"agent")):
        Path(out.path).write_bytes(data)
        inode = os.stat(out.path).st_ino
        out.renamed(inode=inode)
    (found,) = tree.mirror().graves()
    assert found.data == b"agent"
    assert tree.kept() == ["out"]


def test_mirrors_that_share_a_place_do_not_see_each_others_graves(tree):
    other = MirrorFile(str(tree.root), "box/other.json", str(tree.keep))
    tree.write(b"one")
    tree.write(b"two")
    assert other.graves(time.monotonic() + HOUR) == []
    assert len(tree.mirror().graves()) == 1


# ---------------------------------------------------------------- turns


def never() -> bool:
    return False


def turn(state: Path, timeout: float, done) -> MirrorLock:
    return MirrorLock(str(state), str(state / "gate"), timeout, done)


def test_one_has_the_turn_and_others_time_out_or_find_it_done(tmp_path):
    with contextlib.suppress(KeyError), turn(tmp_path, 0, never) as first:
        assert first == "ours"
        for timeout, done, said in ((0.01, never, "timeout"), (10, lambda: True, "done"), (0, never, "timeout")):
            with turn(tmp_path, timeout, done) as got:
                assert got == said
        raise KeyError  # a failure inside gives the turn back
    with turn(tmp_path, 0, lambda: True) as got:
        assert got == "done"
        with turn(tmp_path, 0, never) as other:
            assert other == "ours", "a turn for what is already done is not taken"


def test_a_turn_ends_with_its_process(tmp_path):
    script = (
        "import sys, time; from moot.mirrors.lock import MirrorLock\n"
        "with MirrorLock(sys.argv[1], sys.argv[1] + '/gate', 5, lambda: False) as got:\n"
        "    print(got, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ours\n"
        with turn(tmp_path, 0, never) as got:
            assert got == "timeout"
        holder.send_signal(signal.SIGKILL)
    with turn(tmp_path, 5, never) as got:
        assert got == "ours"


def test_nothing_that_is_deleted_in_the_state_directory_lets_a_second_one_in(tmp_path):
    with turn(tmp_path, 0, never) as first:
        assert first == "ours"
        for path in tmp_path.iterdir():
            path.unlink()
        with turn(tmp_path, 0.01, never) as second:
            assert second == "timeout"
    with turn(tmp_path, 0, never) as third:
        assert third == "ours"


def test_a_state_directory_that_was_replaced_is_locked_anew(tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    (tmp_path / "gate").touch()
    waiting = lock._FolderLock(str(state))
    assert waiting.take()
    waiting.leave()
    held = lock._FolderLock(str(state))
    assert held.take()
    state.rename(tmp_path / "old")
    state.mkdir()
    assert waiting.take()
    for one in (waiting, held):
        one.leave()


def test_a_lock_that_cannot_be_made_is_unavailable(tmp_path):
    with pytest.raises(Unavailable) as error, turn(tmp_path / "no", 0, never):
        pass
    assert error.value.code == "mirror_lock_unusable"


def test_who_comes_later_stands_behind_who_waits_at_the_gate_even_if_the_turn_is_free(tmp_path):
    waiter = lock.FileLock(str(tmp_path / "gate"))
    assert waiter.take()
    with turn(tmp_path, 0.01, never) as got:
        assert got == "timeout"
    waiter.leave()
    with turn(tmp_path, 0, never) as got:
        assert got == "ours"
        assert waiter.take()  # whoever has the turn has left the gate to the next
        (tmp_path / "gate").unlink()
    with turn(tmp_path, 0.01, never) as got:
        assert got == "ours", "a gate that is deleted stops nobody"
    waiter.leave()


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux'")
def test_writers_of_a_file_are_noticed_and_readers_are_not(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with open(path, "rb") as reader, open(path, "rb") as other:
        assert open_for_writing(other.fileno()) is False
        assert reader.read() == b""
    with open(path, "ab"), open(path, "rb") as other:
        assert open_for_writing(other.fileno()) is True
