"""Two files change places; what is between them after a crash is told by names."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from moot.mirrors import exchange
from moot.mirrors.exchange import Kept, bring, has_kept, kept_in, stamp


@pytest.fixture(params=["native", "link and rename"])
def way(request, monkeypatch):
    """Each way to exchange, where this system has it."""
    if request.param == "link and rename":
        monkeypatch.setattr(exchange, "_rename_with", lambda _linux, _macos: None)
    return request.param


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "new").write_text("new")
    (tmp_path / "there").write_text("old")
    return tmp_path


def names(folder):
    return sorted(os.listdir(folder))


def swap(folder):
    return exchange.exchange(*(str(folder / name) for name in ("new", "there", "side")))


def test_the_two_files_change_places(folder, way):
    old = (folder / "there").stat().st_ino
    out = swap(folder)
    assert (folder / "there").read_text() == "new"
    assert Path(out).read_text() == "old"
    assert os.stat(out).st_ino == old
    assert len(names(folder)) == 2


def test_where_the_native_call_works_there_is_no_second_name(folder):
    if exchange._rename_with(2, 2) is None:
        pytest.skip("this system has no native exchange")
    assert swap(folder) == str(folder / "new")


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.ENOTSUP])
def test_a_file_system_that_refuses_is_served_by_link_and_rename(folder, monkeypatch, code):
    monkeypatch.setattr(exchange, "_rename_with", lambda _linux, _macos: lambda _a, _b: code)
    assert swap(folder) == str(folder / "side")
    assert (folder / "there").read_text() == "new"


def test_another_error_is_raised_with_both_names(folder, monkeypatch):
    monkeypatch.setattr(exchange, "_rename_with", lambda _linux, _macos: lambda _a, _b: errno.EXDEV)
    with pytest.raises(OSError, match=r"new.*there") as raised:
        swap(folder)
    assert raised.value.errno == errno.EXDEV


def test_nothing_to_exchange_with_is_said_and_nothing_happens(folder, way):
    (folder / "there").unlink()
    with pytest.raises(FileNotFoundError):
        swap(folder)
    assert names(folder) == ["new"]


def test_a_file_is_placed_only_where_nothing_is(folder, way):
    with pytest.raises(FileExistsError):
        exchange.place(str(folder / "new"), str(folder / "there"))
    assert (folder / "there").read_text() == "old"
    (folder / "there").unlink()
    exchange.place(str(folder / "new"), str(folder / "there"))
    assert names(folder) == ["there"]


def test_a_dangling_link_is_something(folder, way):
    (folder / "there").unlink()
    (folder / "there").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        exchange.place(str(folder / "new"), str(folder / "there"))
    assert os.readlink(swap(folder)) == "nowhere"


def test_without_hard_links_a_file_is_still_placed_without_clobbering(folder, monkeypatch):
    if exchange._rename_with(1, 4) is None:
        pytest.skip("this system has no native rename with flags")

    def refuse(*_names):
        raise PermissionError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(exchange, "_link", refuse)
    with pytest.raises(FileExistsError):
        exchange.place(str(folder / "new"), str(folder / "there"))
    (folder / "there").unlink()
    exchange.place(str(folder / "new"), str(folder / "there"))
    assert names(folder) == ["there"]


def kept(folder, **changes) -> Kept:
    return Kept(str(folder), "mirror", "out", stamp(), 1, "aa", "-", "n").replace(**changes)


def test_a_name_says_everything_again(folder):
    one = kept(folder, inode=255, stamp=123_456, seen="bb")
    Path(one.path).touch()
    assert kept_in(str(folder), "mirror") == [one]
    assert kept_in(str(folder), "another") == []


@pytest.mark.parametrize(
    "name", [".moot.mirror.", ".moot.mirror.out.x.1.aa.-.n", ".moot.mirror.out.1.zz.aa.-.n", "mail.json"]
)
def test_names_of_others_are_passed_over(folder, name):
    (folder / name).touch()
    assert kept_in(str(folder), "mirror") == []


def test_a_directory_that_is_not_there_keeps_nothing(folder):
    assert kept_in(str(folder / "nowhere"), "mirror") == []


@pytest.mark.parametrize("settled", [True, False])
def test_a_kept_file_is_noticed_at_once_and_a_directory_that_does_not_change_is_listed_once(
    folder, settled, monkeypatch
):
    monkeypatch.setattr(exchange, "_YOUNG_NS", -(10**12) if settled else 10**12)
    monkeypatch.setattr(exchange, "_listed", {})
    listed = []
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda home: (listed.append(home), real(home))[1])
    assert [has_kept(str(folder), "mirror") for _ in range(3)] == [False] * 3
    assert len(listed) == (1 if settled else 3)
    Path(kept(folder).path).touch()
    assert has_kept(str(folder), "mirror")
    assert not has_kept(str(folder), "another")
    for one in kept_in(str(folder), "mirror"):
        os.unlink(one.path)
    assert not has_kept(str(folder), "mirror")
    assert not has_kept(str(folder / "nowhere"), "mirror")


def test_age_is_counted_on_the_monotonic_clock_and_a_restart_makes_everything_old(folder):
    now = stamp()
    assert kept(folder, stamp=now - 1_500_000_000).age(now) == 1.5
    assert kept(folder, stamp=now + 5).age(now) == 0
    assert kept(folder, stamp=now + 10**12).age(now) == float("inf")


def test_bringing_says_what_came_out(folder, way):
    out, path = kept(folder), str(folder / "there")
    os.rename(folder / "new", out.path)
    came = bring(out, path)
    assert came is not None
    assert Path(came.path).read_text() == "old"
    assert (came.kind, came.render, came.seen) == ("out", "aa", "-")


def test_bringing_to_an_empty_place_brings_nothing_out(folder, way):
    out = kept(folder)
    os.rename(folder / "new", out.path)
    (folder / "there").unlink()
    assert bring(out, str(folder / "there")) is None
    assert names(folder) == ["there"]


def test_a_file_that_comes_and_goes_is_given_up_after_some_attempts(folder, monkeypatch):
    def gone(*_names):
        raise FileNotFoundError

    def back(*_names):
        raise FileExistsError

    monkeypatch.setattr(exchange, "exchange", gone)
    monkeypatch.setattr(exchange, "place", back)
    with pytest.raises(OSError, match="too fast"):
        bring(kept(folder), str(folder / "there"))


def test_a_mark_shows_any_later_write_and_is_not_put_on_a_file_with_another_name(folder):
    one = kept(folder)
    os.rename(folder / "there", one.path)
    os.link(one.path, folder / "twin")
    one.mark(os.lstat(one.path))
    assert one.touched()
    (folder / "twin").unlink()
    one.mark(os.lstat(one.path))
    assert not one.touched()
    with open(one.path, "r+") as file:
        file.write("o")
    assert one.touched()
