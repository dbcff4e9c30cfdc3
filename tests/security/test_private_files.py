"""Files of moot's own are opened by one helper, which no planted file can deceive."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moot.core.errors import MootError, Unavailable
from moot.core.ids import file_name, is_plain
from moot.place import user_state
from moot.place.private_files import is_exhausted, open_private, read_private, write_private


def test_a_link_is_not_followed_and_its_target_is_not_changed(tmp_path: Path) -> None:
    victim = tmp_path / "bashrc"
    victim.write_bytes(b"precious")
    (tmp_path / "device").symlink_to(victim)
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(MootError, match="link") as refused:
            open_private(str(tmp_path / "device"), flags)
        assert refused.value.code == "unsafe_file"
    write_private(str(tmp_path / "device"), b"new")
    assert (victim.read_bytes(), (tmp_path / "device").read_bytes()) == (b"precious", b"new")
    assert not (tmp_path / "device").is_symlink()


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY, os.O_RDWR])
def test_a_fifo_is_refused_and_nobody_waits_for_it(tmp_path: Path, flags: int) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MootError, match="not a regular file"):
        open_private(str(tmp_path / "pipe"), flags)


def test_a_file_that_everybody_may_write_is_refused_with_the_command_that_mends_it(tmp_path: Path) -> None:
    path = tmp_path / "a file"
    path.write_bytes(b"x")
    path.chmod(0o666)
    with pytest.raises(MootError) as refused:
        read_private(str(path))
    assert f"chmod o-w '{path}'" in refused.value.remedy
    path.chmod(0o664)
    assert read_private(str(path)) == b"x"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file to another account")
def test_a_file_of_another_account_is_refused_unless_its_directory_is_theirs(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    os.chown(path, 12345, 12345)
    with pytest.raises(MootError, match="another account"):
        read_private(str(path))
    os.chown(tmp_path, 12345, 12345)
    assert read_private(str(path)) == b"x"


def test_a_file_is_read_only_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 11)
    with pytest.raises(MootError, match="larger than 10 bytes"):
        read_private(str(tmp_path / "file"), limit=10)


@pytest.mark.parametrize("odd", ["../x", "a/b", ".x", "-x", "", "a b", "$(touch PWN)", "é", "x" * 101, "a\nb", "~a"])
def test_an_odd_id_becomes_a_digest_that_no_plain_id_equals(odd: str) -> None:
    name = file_name(odd)
    assert not is_plain(odd)
    assert name.startswith("~")
    assert "/" not in name
    assert not is_plain(name)
    assert name != file_name(f"{odd}x")


def test_a_plain_id_names_its_file() -> None:
    assert file_name("task-7.a_B") == "task-7.a_B"


def test_the_users_store_is_not_used_where_everybody_may_write(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "open" / "state")}
    user_state.write(env, "allowed", "x", content=b"one")
    assert user_state.read(env, "allowed", "x") == b"one"
    (tmp_path / "open").chmod(0o777)
    for use in (lambda: user_state.read(env, "allowed", "x"), lambda: user_state.write(env, "allowed", content=b"")):
        with pytest.raises(MootError) as refused:
            use()
        assert refused.value.code == "unsafe_file"
    assert user_state.read(env, "allowed", "none") is None


def test_an_error_that_is_its_own_cause_ends_the_search_for_causes() -> None:
    own = Unavailable("disk_full", "Full.", "Free some.")
    own.__cause__ = own
    assert not is_exhausted(own)
    first, second = ValueError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    assert not is_exhausted(first)
    second.__cause__ = OSError(24, "Too many open files")
    assert is_exhausted(first)
